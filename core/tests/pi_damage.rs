//! Each way in which lines of a pi session were met broken.

mod reading;

use panewire_core::agent::pi::PiReader;
use panewire_core::agent::{Caps, Line, Reader as _};
use panewire_core::entry::Entry;
use reading::{read_with, text};

const SAID: &str = r#"{"type":"message","id":"a","message":{"role":"user","content":"hello"}}"#;

fn shown(lines: &str) -> Vec<(bool, String)> {
    let entries: Vec<Entry> = read_with(&PiReader, lines.as_bytes(), &Caps::WIRE);
    entries.iter().map(|entry| (entry.parsed, text(entry).to_owned())).collect()
}

fn whole() -> (bool, String) {
    (true, "hello".into())
}

#[test]
fn two_records_on_one_line_are_two() {
    assert_eq!(shown(&format!("{SAID}{SAID}")), [whole(), whole()]);
}

#[test]
fn a_torn_record_costs_only_itself() {
    let torn = r#"{"type":"message","id":"b","message":{"role":"assi"#;
    let note = format!("unreadable line ({} bytes): {torn}", torn.len());
    assert_eq!(shown(&format!("{SAID}\n{torn}{SAID}\n{SAID}")), [whole(), (false, note), whole(), whole()]);
}

#[test]
fn damage_behind_the_message_costs_what_it_damages() {
    assert_eq!(shown(r#"{"type":"message","message":{"role":"user","content":"hello"},"x":!}"#), [whole()]);
}

#[test]
fn a_line_over_the_cap_says_how_long_it_was() {
    let line = Line { offset: 9, bytes: &[], over_cap: Some(70_000_000) };
    let mut entries = Vec::new();
    PiReader.read(&line, &Caps::WIRE, &mut |entry| entries.push(entry));
    assert_eq!((text(&entries[0]), PiReader.count(&line)), ("line too long to read (70000000 bytes)", 1));
    assert_eq!(entries[0].id, "@9#0");
}
