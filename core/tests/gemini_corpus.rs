//! Every Gemini CLI session of the corpus, when it is at hand: `PANEWIRE_SHARED=<directory> cargo test`.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test that reads files")]

mod corpus;

use panewire_core::agent::gemini::layout::recorded;
use panewire_core::agent::gemini::read_whole;

/// Files whose unreadable lines are meant to be unreadable, by the end of their names, and why.
const WRONG_ON_PURPOSE: &[(&str, &str)] = &[
    ("telemetry/gemini_logs.json", "an index of prompts, which is no session"),
    ("gemini/schema_drift.json", "hand-made: a history in place of messages, which no Gemini CLI writes"),
];

#[test]
fn the_corpus_is_read_without_loss() {
    corpus::documents_are_read_without_loss("gemini", 0.005, WRONG_ON_PURPOSE, |bytes, entries| {
        drop(recorded(&bytes[..bytes.len().min(64 * 1024)]));
        read_whole(bytes, entries);
    });
}
