//! Rollouts of Codex, one for each era and feature: what a person sees of them.

mod reading;

use panewire_core::agent::Caps;
use panewire_core::agent::codex::{CodexReader, RULES_VERSION};
use reading::{page, read_with};

const VECTORS: &[(&str, &[u8])] = &[
    ("2025-08-bare", include_bytes!("vectors/codex/2025-08-bare.jsonl")),
    ("2025-09-events-behind-items", include_bytes!("vectors/codex/2025-09-events-behind-items.jsonl")),
    ("2026-08-items-and-a-patch", include_bytes!("vectors/codex/2026-08-items-and-a-patch.jsonl")),
    ("beside-the-conversation", include_bytes!("vectors/codex/beside-the-conversation.jsonl")),
    ("fork-and-things-of-tomorrow", include_bytes!("vectors/codex/fork-and-things-of-tomorrow.jsonl")),
    ("things-of-tomorrow", include_bytes!("vectors/codex/things-of-tomorrow.jsonl")),
    ("tools-of-every-kind", include_bytes!("vectors/codex/tools-of-every-kind.jsonl")),
];

/// Entries of each vector under [`RULES_VERSION`] 3.
const COUNTS: &[(&str, usize)] = &[
    ("2025-08-bare", 5),
    ("2025-09-events-behind-items", 10),
    ("2026-08-items-and-a-patch", 10),
    ("beside-the-conversation", 14),
    ("fork-and-things-of-tomorrow", 8),
    ("things-of-tomorrow", 9),
    ("tools-of-every-kind", 20),
];

#[test]
fn conversations_read_as_they_were() {
    for (name, bytes) in VECTORS {
        insta::assert_snapshot!(*name, page(&read_with(&CodexReader, bytes, &Caps::WIRE)));
    }
}

/// Clients resume by seq, so a count that moves must be seen: raise `RULES_VERSION` and write the new table down.
#[test]
fn counts_move_only_with_the_version_of_the_rules() {
    let counts: Vec<(&str, usize)> =
        VECTORS.iter().map(|(name, bytes)| (*name, read_with(&CodexReader, bytes, &Caps::WIRE).len())).collect();
    assert_eq!((RULES_VERSION, counts.as_slice()), (3, COUNTS));
}
