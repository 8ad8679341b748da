//! What became of every record of pi: rows by type, and of messages by role.

use super::kinds::{self, RecordKind, RoleKind};
use super::record::Record;
use super::render;
use super::walk::{self, Item};
use crate::agent::table::Table;
use crate::agent::{Caps, Line, skim};

/// Reads a line in full depth and adds its records.
pub(super) fn add(line: &Line<'_>, table: &mut Table) {
    let unreadable = |item: &Item<'_, '_>| render::entry(line.offset, item, &Caps::WIRE);
    if let Some(bytes) = line.over_cap {
        return table.add_unreadable(true, &unreadable(&Item::TooLong(bytes)));
    }
    skim::records(line, &mut |at, found: Result<&Record<'_>, _>| match found {
        Ok(record) => {
            let role = record.message.as_ref().and_then(|message| message.role);
            let why = match kinds::record(record.kind) {
                RecordKind::Bookkeeping => "bookkeeping",
                RecordKind::Unknown => "unknown",
                RecordKind::Message if kinds::role(role) == RoleKind::Unknown => "unknown",
                _ => "nothing to show",
            };
            table.add(record.kind, role, why, |each| {
                walk::parts(at, record, &mut |part| {
                    each(&render::entry(line.offset, &Item::Part(part), &Caps::WIRE));
                });
            });
        }
        Err(bytes) => table.add_unreadable(false, &unreadable(&Item::Fragment(at, bytes))),
    });
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn every_record_is_in_a_row() {
        let mut table = Table::default();
        for line in [
            r#"{"type":"session","version":3,"id":"s"}"#,
            r#"{"type":"message","id":"a","message":{"role":"user","content":"hi"}}"#,
            r#"{"type":"message","id":"b","message":{"role":"assistant","content":[{"type":"thinking","thinking":""}]}}"#,
            r#"{"type":"message","id":"c","message":{"role":"choir","content":"la"}}"#,
            r#"{"type":"tide"}"#,
        ] {
            add(&Line { offset: 0, bytes: line.as_bytes(), over_cap: None }, &mut table);
        }
        let rows: Vec<(&str, &str, u64, u64, u64)> = table
            .rows()
            .map(|(kind, detail, became)| (kind, detail, became.records, became.entries, became.unparsed))
            .collect();
        let expected = [
            ("message", "assistant", 1, 0, 0),
            ("message", "choir", 1, 1, 1),
            ("message", "user", 1, 1, 0),
            ("session", "", 1, 0, 0),
            ("tide", "", 1, 0, 0),
        ];
        assert_eq!(rows, expected);
        let silent: Vec<(&str, u64)> = table.total().silent.into_iter().collect();
        assert_eq!(silent, [("bookkeeping", 1), ("nothing to show", 1), ("unknown", 1)]);
    }
}
