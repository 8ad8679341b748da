//! Sessions of Gemini CLI, one for each form: what a person sees of them once all of it has settled.

mod reading;

use panewire_core::agent::gemini::SessionReader;
use panewire_core::agent::{Caps, Line, Reader as _};
use panewire_core::entry::Entry;
use reading::page;

const VECTORS: &[(&str, &[u8])] = &[
    ("document", include_bytes!("vectors/gemini/document.json")),
    ("log", include_bytes!("vectors/gemini/log.jsonl")),
    ("damaged-and-of-tomorrow", include_bytes!("vectors/gemini/damaged-and-of-tomorrow.jsonl")),
];

/// Entries of each vector.
const COUNTS: &[(&str, u64)] = &[("document", 14), ("log", 10), ("damaged-and-of-tomorrow", 10)];

fn line(bytes: &[u8]) -> Line<'_> {
    Line { offset: 0, bytes, over_cap: None }
}

fn read(bytes: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    SessionReader.read(&line(bytes), &Caps::WIRE, &mut |entry| entries.push(entry));
    entries
}

#[test]
fn conversations_read_as_they_were() {
    for (name, bytes) in VECTORS {
        insta::assert_snapshot!(*name, page(&read(bytes)));
    }
}

#[test]
fn counting_and_reading_agree() {
    let counts: Vec<(&str, u64)> =
        VECTORS.iter().map(|(name, bytes)| (*name, SessionReader.count(&line(bytes)))).collect();
    assert_eq!(counts, COUNTS);
    let read: Vec<(&str, u64)> = VECTORS.iter().map(|(name, bytes)| (*name, read(bytes).len() as u64)).collect();
    assert_eq!(read, COUNTS);
}
