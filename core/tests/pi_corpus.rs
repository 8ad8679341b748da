//! Every pi file of the corpus, when it is at hand: `PANEWIRE_SHARED=<directory> cargo test`.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test that reads files")]

mod corpus;

use panewire_core::agent::pi::{PiReader, recorded};

#[test]
fn the_corpus_is_read_without_loss() {
    corpus::is_read_without_loss("pi", 0.005, &[], |_| Box::new(PiReader), |head| drop(recorded(head)));
}
