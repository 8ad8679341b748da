//! What became of every record: the table behind `panewire drift --table`.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use super::kinds::{self, AttachmentKind, RecordKind, SystemKind};
use super::record::Record;
use super::walk::{self, Item};
use super::{Selection, render};
use crate::agent::{Caps, Line, skim};
use crate::entry::{Body, Entry, Role, caps};
use crate::limits::{DRIFT_NAME_CHARS, TABLE_ROWS};
use crate::source::json::Value;

/// Rows by type of record, and by subtype or kind of attachment, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    rows: BTreeMap<(String, String), Became>,
}

/// What became of the records of one row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Became {
    /// How many records there were.
    pub records: u64,
    /// How many entries they made.
    pub entries: u64,
    /// How many of these are `parsed:false`.
    pub unparsed: u64,
    /// Entries that have nothing to show. There must be none.
    pub blank: u64,
    /// Entries by role and kind, such as `assistant tool_call`.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Records that made no entry, by the reason.
    pub silent: BTreeMap<&'static str, u64>,
}

impl Table {
    /// Reads a line in full depth and adds its records.
    pub fn add(&mut self, line: &Line<'_>, selection: Selection) {
        if let Some(bytes) = line.over_cap {
            return self.add_unreadable(
                "(line over the cap)",
                &render::entry(line.offset, &Item::TooLong(bytes), &Caps::WIRE),
            );
        }
        skim::records(line, &mut |at, found: Result<&Record<'_>, _>| match found {
            Ok(record) => {
                let row = self.row(record);
                row.records = row.records.saturating_add(1);
                let before = row.entries;
                walk::parts(at, record, selection, &mut |part| {
                    row.add(&render::entry(line.offset, &Item::Part(part), &Caps::WIRE));
                });
                if row.entries == before {
                    let count = row.silent.entry(why_silent(record, selection)).or_default();
                    *count = count.saturating_add(1);
                }
            }
            Err(bytes) => {
                self.add_unreadable(
                    "(no record)",
                    &render::entry(line.offset, &Item::Fragment(at, bytes), &Caps::WIRE),
                );
            }
        });
    }

    /// The rows in order: type, subtype or kind (empty if the type has none), and what became of them.
    pub fn rows(&self) -> impl Iterator<Item = (&str, &str, &Became)> {
        self.rows.iter().map(|((kind, detail), became)| (kind.as_str(), detail.as_str(), became))
    }

    /// All rows together.
    #[must_use]
    pub fn total(&self) -> Became {
        let mut total = Became::default();
        for became in self.rows.values() {
            total.records = total.records.saturating_add(became.records);
            total.entries = total.entries.saturating_add(became.entries);
            total.unparsed = total.unparsed.saturating_add(became.unparsed);
            total.blank = total.blank.saturating_add(became.blank);
            let maps = [(&mut total.kinds, &became.kinds), (&mut total.silent, &became.silent)];
            for (sum, part) in maps {
                for (name, count) in part {
                    let all = sum.entry(name).or_default();
                    *all = all.saturating_add(*count);
                }
            }
        }
        total
    }

    fn add_unreadable(&mut self, kind: &str, entry: &Entry) {
        let row = self.named(kind.to_string(), String::new());
        row.records = row.records.saturating_add(1);
        row.add(entry);
    }

    fn row(&mut self, record: &Record<'_>) -> &mut Became {
        let detail = match kinds::record(record.kind) {
            RecordKind::System => record.subtype,
            RecordKind::Attachment => record.attachment.and_then(|attachment| attachment.get("type")),
            _ => None,
        };
        self.named(name(record.kind).unwrap_or_else(|| "(no type)".into()), name(detail).unwrap_or_default())
    }

    fn named(&mut self, kind: String, detail: String) -> &mut Became {
        let key = (kind, detail);
        let room = self.rows.len() < TABLE_ROWS || self.rows.contains_key(&key);
        let key = if room { key } else { ("(others)".into(), String::new()) };
        self.rows.entry(key).or_default()
    }
}

/// `{"rows":[{"type":…,"detail":…,"became":{…}}],"total":{…}}`
impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row<'a> {
            r#type: &'a str,
            detail: &'a str,
            became: &'a Became,
        }
        let rows: alloc::vec::Vec<Row<'_>> =
            self.rows().map(|(r#type, detail, became)| Row { r#type, detail, became }).collect();
        let mut table = serializer.serialize_struct("Table", 2)?;
        table.serialize_field("rows", &rows)?;
        table.serialize_field("total", &self.total())?;
        table.end()
    }
}

impl Became {
    fn add(&mut self, entry: &Entry) {
        self.entries = self.entries.saturating_add(1);
        self.unparsed = self.unparsed.saturating_add(u64::from(!entry.parsed));
        self.blank = self.blank.saturating_add(u64::from(is_blank(&entry.body)));
        let kind = if entry.parsed { kind(entry) } else { "not parsed" };
        let count = self.kinds.entry(kind).or_default();
        *count = count.saturating_add(1);
    }
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

const fn kind(entry: &Entry) -> &'static str {
    match (&entry.body, entry.role) {
        (Body::Message(_), Role::User) => "user message",
        (Body::Message(_), Role::Assistant) => "assistant message",
        (Body::Message(_), Role::System) => "system message",
        (Body::Thinking(_), _) => "thinking",
        (Body::ToolCall(_), _) => "tool_call",
        (Body::ToolResult(_), _) => "tool_result",
        (Body::Attachment(_), _) => "attachment",
    }
}

fn is_blank(body: &Body) -> bool {
    match body {
        Body::Message(text) | Body::Thinking(text) | Body::Attachment(text) => text.text.trim().is_empty(),
        Body::ToolCall(call) => call.name.trim().is_empty(),
        // An answer without output says that it went well.
        Body::ToolResult(_) => false,
    }
}

fn name(value: Option<Value<'_>>) -> Option<String> {
    let value = value?;
    let text = value.text().unwrap_or_else(|| String::from_utf8_lossy(value.raw()).into_owned());
    caps::one_line(text.chars(), DRIFT_NAME_CHARS)
}

#[cfg(test)]
mod tests {
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
            table.add(&Line { offset: 0, bytes: line.as_bytes(), over_cap: None }, Selection::Main);
        }
        table.add(&Line { offset: 0, bytes: b"", over_cap: Some(9) }, Selection::Main);
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
