//! What became of every record: the table behind `panewire drift --table`.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::entry::{Body, Entry, Role, caps};
use crate::limits::{DRIFT_NAME_CHARS, TABLE_ROWS};
use crate::source::json::Value;

/// Rows by type of record, and by what tells records of one type apart, in order.
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
    /// Adds a record: its type, what tells it from others of the type, the entries that it makes, and why it makes none if it
    /// does not.
    pub(super) fn add(
        &mut self,
        kind: Option<Value<'_>>,
        detail: Option<Value<'_>>,
        why_silent: &'static str,
        make: impl FnOnce(&mut dyn FnMut(&Entry)),
    ) {
        let row = self.named(name(kind).unwrap_or_else(|| "(no type)".into()), name(detail).unwrap_or_default());
        row.records = row.records.saturating_add(1);
        let before = row.entries;
        make(&mut |entry| row.add(entry));
        if row.entries == before {
            let count = row.silent.entry(why_silent).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Adds bytes in which there is no record.
    pub(super) fn add_unreadable(&mut self, is_long: bool, entry: &Entry) {
        let kind = if is_long { "(line over the cap)" } else { "(no record)" };
        let row = self.named(kind.to_string(), String::new());
        row.records = row.records.saturating_add(1);
        row.add(entry);
    }

    /// The rows in order: type, what tells records of it apart (empty if nothing does), and what became of them.
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
