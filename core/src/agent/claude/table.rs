//! What became of every record of Claude Code: rows by type, and by subtype or kind of attachment.

use super::kinds::{self, AttachmentKind, RecordKind, SystemKind};
use super::record::Record;
use super::walk::{self, Item};
use super::{Selection, render};
use crate::agent::table::Table;
use crate::agent::{Caps, Line, skim};

/// Reads a line in full depth and adds its records.
pub(super) fn add(line: &Line<'_>, selection: Selection, table: &mut Table) {
    let unreadable = |item: &Item<'_, '_>| render::entry(line.offset, item, &Caps::WIRE);
    if let Some(bytes) = line.over_cap {
        return table.add_unreadable(true, &unreadable(&Item::TooLong(bytes)));
    }
    skim::records(line, &mut |at, found: Result<&Record<'_>, _>| match found {
        Ok(record) => {
            let detail = match kinds::record(record.kind) {
                RecordKind::System => record.subtype,
                RecordKind::Attachment => record.attachment.and_then(|attachment| attachment.get("type")),
                _ => None,
            };
            table.add(record.kind, detail, why_silent(record, selection), |each| {
                walk::parts(at, record, selection, &mut |part| {
                    each(&render::entry(line.offset, &Item::Part(part), &Caps::WIRE));
                });
            });
        }
        Err(bytes) => table.add_unreadable(false, &unreadable(&Item::Fragment(at, bytes))),
    });
}

fn why_silent(record: &Record<'_>, selection: Selection) -> &'static str {
    if record.sidechain && selection == Selection::Main {
        return "of a child, in its parent's file";
    }
    match kinds::record(record.kind) {
        RecordKind::Bookkeeping => "bookkeeping",
        RecordKind::Unknown => "unknown",
        RecordKind::System => match kinds::system(record.subtype) {
            SystemKind::Bookkeeping => "bookkeeping",
            SystemKind::Unknown => "unknown",
            _ => "nothing to show",
        },
        RecordKind::Attachment => {
            match kinds::attachment(record.attachment.and_then(|attachment| attachment.get("type"))) {
                AttachmentKind::Bookkeeping => "bookkeeping",
                AttachmentKind::Unknown => "unknown",
                _ => "nothing to show",
            }
        }
        RecordKind::User | RecordKind::Assistant => "nothing to show",
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn every_record_is_in_a_row() {
        let mut table = Table::default();
        for line in [
            r#"{"type":"user","message":{"content":"hi"}}"#,
            r#"{"type":"user","message":{"content":"  "}}"#,
            r#"{"type":"user","isSidechain":true,"message":{"content":"hi"}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"ho"},{"type":"song"}]}}"#,
            r#"{"type":"system","subtype":"turn_duration"}"#,
            r#"{"type":"system","subtype":"tide"}"#,
            r#"{"type":"attachment","attachment":{"type":"leaf"}}"#,
            r#"{"type":"omen"}{"type":"mode"}"#,
            "{torn",
        ] {
            add(&Line { offset: 0, bytes: line.as_bytes(), over_cap: None }, Selection::Main, &mut table);
        }
        add(&Line { offset: 0, bytes: b"", over_cap: Some(9) }, Selection::Main, &mut table);
        let rows: Vec<(&str, &str, u64, u64, u64)> = table
            .rows()
            .map(|(kind, detail, became)| (kind, detail, became.records, became.entries, became.unparsed))
            .collect();
        assert_eq!(
            rows,
            vec![
                ("(line over the cap)", "", 1, 1, 1),
                ("(no record)", "", 1, 1, 1),
                ("assistant", "", 1, 2, 1),
                ("attachment", "leaf", 1, 0, 0),
                ("mode", "", 1, 0, 0),
                ("omen", "", 1, 0, 0),
                ("system", "tide", 1, 0, 0),
                ("system", "turn_duration", 1, 0, 0),
                ("user", "", 3, 1, 0),
            ]
        );
        let total = table.total();
        assert_eq!((total.records, total.entries, total.unparsed, total.blank), (11, 5, 3, 0));
        assert_eq!(total.kinds, BTreeMap::from([("assistant message", 1), ("not parsed", 3), ("user message", 1)]));
        assert_eq!(
            total.silent,
            BTreeMap::from([
                ("bookkeeping", 2),
                ("nothing to show", 1),
                ("of a child, in its parent's file", 1),
                ("unknown", 3)
            ])
        );
    }
}
