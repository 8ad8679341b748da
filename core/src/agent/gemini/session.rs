//! Reads a session's file without a spool: for the command line, which shows what is there and follows nothing.

use core::ops::ControlFlow;

use super::log::What;
use super::pass::Pass;
use super::{read_whole, render};
use crate::agent::drift::{Drift, Oddity, Place};
use crate::agent::{Caps, Counted, Line, Reader};
use crate::entry::Entry;
use crate::source::json::Value;

/// Takes the whole file as its only line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionReader;

impl Reader for SessionReader {
    fn rules_version(&self) -> u32 {
        1
    }

    fn counted(&self, line: &Line<'_>) -> Counted {
        let mut entries = 0_u64;
        read_whole(line.bytes, &mut |_| entries = entries.saturating_add(1));
        Counted { entries, odd: true }
    }

    fn read_from(&self, line: &Line<'_>, _caps: &Caps, skip: u64, each: &mut dyn FnMut(Entry) -> ControlFlow<()>) {
        let (mut before, mut flow) = (0_u64, ControlFlow::Continue(()));
        read_whole(line.bytes, &mut |entry| {
            if before >= skip && flow.is_continue() {
                flow = each(entry);
            }
            before = before.saturating_add(1);
        });
    }

    fn drift(&self, line: &Line<'_>, file: &str, drift: &mut Drift) {
        let at = Place { file, offset: line.offset };
        let Ok(log) = Pass::of(line.bytes) else { return drift.note(Oddity::Damage, "no whole document", "", at) };
        for item in &log.items {
            match &item.what {
                What::Message(message) => {
                    let said = render::message(&item.place.id, Value(message), &|_| true);
                    if let Some(unknown) = said.unknown {
                        drift.note(Oddity::Record, &unknown, "", at);
                    }
                }
                What::Other(other) if other.is_damage() => drift.note(Oddity::Damage, "no record", "", at),
                What::Other(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_file_is_one_line_and_what_nobody_knows_is_told() {
        let text =
            r#"{"messages":[{"id":"a","type":"user","content":"one"},{"id":"b","type":"tide","content":"two"}]}"#;
        let line = Line { offset: 0, bytes: text.as_bytes(), over_cap: None };
        let mut entries = Vec::new();
        SessionReader.read(&line, &Caps::WIRE, &mut |entry| entries.push(entry.id));
        assert_eq!((SessionReader.count(&line), entries), (2, alloc::vec!["a#text".into(), "b#unknown".into()]));
        let mut drift = Drift::default();
        SessionReader.drift(&line, "f", &mut drift);
        let rows: Vec<(&str, u64)> = drift.rows().map(|row| (row.name, row.count)).collect();
        assert_eq!(rows, [("message tide", 1)]);
    }
}
