//! Every Codex file of the corpus, when it is at hand: `PANEWIRE_SHARED=<directory> cargo test`.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test that reads files")]

mod corpus;

use panewire_core::agent::codex::{CodexReader, recorded};

/// Files whose unreadable lines are meant to be unreadable, by the end of their names, and why.
const WRONG_ON_PURPOSE: &[(&str, &str)] = &[
    ("droid/session_store_large.jsonl", "another agent's file, kept beside those of Codex"),
    ("Fixtures/session_branch.jsonl", "hand-made: an error record that no Codex writes"),
    ("codex/schema_drift.jsonl", "hand-made: what a later version might write, a message without content among it"),
];

#[test]
fn the_corpus_is_read_without_loss() {
    corpus::is_read_without_loss(
        "codex",
        0.005,
        WRONG_ON_PURPOSE,
        |_| Box::new(CodexReader),
        |head| drop(recorded(head)),
    );
}
