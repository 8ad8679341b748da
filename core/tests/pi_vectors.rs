//! Sessions of pi, one for each version and feature: what a person sees of them.

mod reading;

use panewire_core::agent::Caps;
use panewire_core::agent::pi::{PiReader, RULES_VERSION};
use reading::{page, read_with};

const VECTORS: &[(&str, &[u8])] = &[
    ("version-1", include_bytes!("vectors/pi/version-1.jsonl")),
    ("version-3-with-branches", include_bytes!("vectors/pi/version-3-with-branches.jsonl")),
    ("damaged-and-of-tomorrow", include_bytes!("vectors/pi/damaged-and-of-tomorrow.jsonl")),
];

/// Entries of each vector under [`RULES_VERSION`] 1.
const COUNTS: &[(&str, usize)] = &[("version-1", 6), ("version-3-with-branches", 16), ("damaged-and-of-tomorrow", 9)];

#[test]
fn conversations_read_as_they_were() {
    for (name, bytes) in VECTORS {
        insta::assert_snapshot!(*name, page(&read_with(&PiReader, bytes, &Caps::WIRE)));
    }
}

/// Clients resume by seq, so a count that moves must be seen: raise `RULES_VERSION` and write the new table down.
#[test]
fn counts_move_only_with_the_version_of_the_rules() {
    let counts: Vec<(&str, usize)> =
        VECTORS.iter().map(|(name, bytes)| (*name, read_with(&PiReader, bytes, &Caps::WIRE).len())).collect();
    assert_eq!((RULES_VERSION, counts.as_slice()), (1, COUNTS));
}
