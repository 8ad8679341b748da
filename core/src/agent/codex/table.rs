//! What became of every record of Codex: rows by type, and by the type of the item or event.

use super::kinds::{self, CompletedKind, EventKind, ItemKind, RecordKind};
use super::memory::Memory;
use super::record::{Payload, Record};
use super::render;
use super::walk::{self, Item};
use crate::agent::table::Table;
use crate::agent::{Caps, Line, skim};

/// Reads a line in full depth and adds its records.
pub(super) fn add(line: &Line<'_>, memory: &mut Memory, table: &mut Table) {
    let unreadable = |item: &Item<'_, '_>| render::entry(line.offset, item, &Caps::WIRE);
    if let Some(bytes) = line.over_cap {
        return table.add_unreadable(true, &unreadable(&Item::TooLong(bytes)));
    }
    skim::records(line, &mut |at, found: Result<&Record<'_>, _>| match found {
        Ok(record) => {
            let detail = record.payload.kind.filter(|_| record.wrapped);
            table.add(record.kind, detail, why_silent(record), |each| {
                walk::parts(at, record, memory, &mut |part| {
                    each(&render::entry(line.offset, &Item::Part(part), &Caps::WIRE));
                });
            });
        }
        Err(bytes) => table.add_unreadable(false, &unreadable(&Item::Fragment(at, bytes))),
    });
}

fn why_silent(record: &Record<'_>) -> &'static str {
    let payload = &record.payload;
    match kinds::record(record.kind) {
        RecordKind::Meta | RecordKind::Turn | RecordKind::Bookkeeping => "bookkeeping",
        RecordKind::Item => item(payload),
        RecordKind::Event => match kinds::event(payload.kind) {
            EventKind::TurnBegan | EventKind::TurnEnded | EventKind::Bookkeeping => "bookkeeping",
            EventKind::Completed => match kinds::completed(payload.item.and_then(|item| item.get("type"))) {
                CompletedKind::Bookkeeping => "bookkeeping",
                CompletedKind::Unknown => "unknown",
                _ => SHOWN_BEFORE,
            },
            EventKind::Unknown => "unknown",
            _ => SHOWN_BEFORE,
        },
        RecordKind::Compacted => SHOWN_BEFORE,
        RecordKind::Unknown if record.wrapped => "unknown",
        RecordKind::Unknown if record.kind.is_none() => "bookkeeping",
        RecordKind::Unknown => item(payload),
    }
}

fn item(payload: &Payload<'_>) -> &'static str {
    match kinds::item(payload.kind) {
        ItemKind::Bookkeeping => "bookkeeping",
        ItemKind::Unknown => "unknown",
        ItemKind::Message if payload.role.is_some_and(|role| role.is("developer") || role.is("system")) => {
            "instructions"
        }
        _ => SHOWN_BEFORE,
    }
}

/// It came by another way already, is of a fork's parent, or says nothing.
const SHOWN_BEFORE: &str = "shown before, or nothing to show";

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn every_record_is_in_a_row_and_a_double_says_why_it_makes_no_entry() {
        let (mut table, mut memory) = (Table::default(), Memory::default());
        for line in [
            r#"{"type":"session_meta","payload":{"id":"s"}}"#,
            r#"{"type":"event_msg","payload":{"type":"agent_message","message":"hi"}}"#,
            r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}"#,
            r#"{"type":"response_item","payload":{"type":"message","role":"developer","content":[]}}"#,
            r#"{"type":"event_msg","payload":{"type":"tide","message":"high"}}"#,
            r#"{"type":"event_msg","payload":{"type":"tide"}}"#,
            "{torn",
        ] {
            add(&Line { offset: 0, bytes: line.as_bytes(), over_cap: None }, &mut memory, &mut table);
        }
        let rows: Vec<(&str, &str, u64, u64, u64)> = table
            .rows()
            .map(|(kind, detail, became)| (kind, detail, became.records, became.entries, became.unparsed))
            .collect();
        let expected = [
            ("(no record)", "", 1, 1, 1),
            ("event_msg", "agent_message", 1, 1, 0),
            ("event_msg", "tide", 2, 1, 1),
            ("response_item", "message", 2, 0, 0),
            ("session_meta", "", 1, 0, 0),
        ];
        assert_eq!(rows, expected);
        let silent: Vec<(&str, u64)> = table.total().silent.into_iter().collect();
        assert_eq!(silent, [("bookkeeping", 1), ("instructions", 1), (SHOWN_BEFORE, 1), ("unknown", 1)]);
    }
}
