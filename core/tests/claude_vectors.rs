//! Ten short conversations, one for each era and feature: what a person sees of them.

mod reading;

use panewire_core::agent::Caps;
use panewire_core::agent::claude::{RULES_VERSION, Selection};
use reading::{page, read_as};

macro_rules! vectors {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!("vectors/claude/", $name, ".jsonl")))),*]
    };
}

const VECTORS: &[(&str, &[u8])] = vectors![
    "era-1-0-with-a-child-inside",
    "era-2-0-tools-and-progress",
    "era-2-1-modern-bookkeeping",
    "commands-and-shell-lines",
    "compaction",
    "background-work",
    "refusals-and-failures",
    "questions-plans-and-lists",
    "damaged",
    "things-of-tomorrow",
];

/// Entries of each vector as a session's own file and as a child's, under [`RULES_VERSION`] 1.
const COUNTS: &[(&str, usize, usize)] = &[
    ("era-1-0-with-a-child-inside", 8, 10),
    ("era-2-0-tools-and-progress", 12, 12),
    ("era-2-1-modern-bookkeeping", 9, 9),
    ("commands-and-shell-lines", 12, 12),
    ("compaction", 8, 8),
    ("background-work", 11, 11),
    ("refusals-and-failures", 14, 14),
    ("questions-plans-and-lists", 16, 16),
    ("damaged", 11, 11),
    ("things-of-tomorrow", 8, 8),
];

#[test]
fn conversations_read_as_they_were() {
    for (name, bytes) in VECTORS {
        insta::assert_snapshot!(*name, page(&read_as(Selection::Main, bytes, &Caps::WIRE)));
    }
}

/// Clients resume by seq, so a count that moves must be seen: raise `RULES_VERSION` and write the new table down.
#[test]
fn counts_move_only_with_the_version_of_the_rules() {
    let counts: Vec<(&str, usize, usize)> = VECTORS
        .iter()
        .map(|(name, bytes)| {
            let count = |selection| read_as(selection, bytes, &Caps::WIRE).len();
            (*name, count(Selection::Main), count(Selection::Child))
        })
        .collect();
    assert_eq!((RULES_VERSION, counts.as_slice()), (1, COUNTS));
}
