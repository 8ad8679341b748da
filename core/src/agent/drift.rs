//! Drift: what agents write that no reader knows, by the version of the agent, with counts and one place each.
//!
//! It is how a new release of an agent is noticed before somebody misses something. The report is bounded: so many
//! rows, names of so many characters; what finds no room is counted in one number.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::string::String;

use serde::ser::{SerializeSeq as _, SerializeStruct as _};
use serde::{Serialize, Serializer};

use crate::entry::caps;
use crate::limits::{DRIFT_NAME_CHARS, DRIFT_ROWS};
use crate::source::json::Value;

/// What kind of thing is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Oddity {
    /// A type of record.
    Record,
    /// A subtype of a system record.
    System,
    /// A kind of attachment.
    Attachment,
    /// A type of block in a message.
    Block,
    /// A tool that is called.
    Tool,
    /// A member of something that is known.
    Field,
    /// Bytes that are no record, or a record of another shape than its type has.
    Damage,
}

/// Where something was seen first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// The file.
    pub file: &'a str,
    /// Where the line begins in it.
    pub offset: u64,
}

/// One row of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// What kind of thing.
    pub what: Oddity,
    /// Its name, at most [`DRIFT_NAME_CHARS`].
    pub name: &'a str,
    /// The version of the agent that wrote it; empty where the record does not say.
    pub version: &'a str,
    /// How often it was seen.
    pub count: u64,
    /// Where it was seen first.
    pub first: Place<'a>,
}

/// The report. Its rows are in order: by kind, name and version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drift {
    rows: BTreeMap<(Oddity, String, String), Seen>,
    omitted: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    count: u64,
    file: String,
    offset: u64,
}

impl Oddity {
    /// Its name in reports.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::System => "system",
            Self::Attachment => "attachment",
            Self::Block => "block",
            Self::Tool => "tool",
            Self::Field => "field",
            Self::Damage => "damage",
        }
    }
}

impl Drift {
    /// Notes that something unknown was seen.
    pub fn note(&mut self, what: Oddity, name: &str, version: &str, at: Place<'_>) {
        let key = (what, short(name), short(version));
        self.add(key, || Seen { count: 1, file: at.file.into(), offset: at.offset });
    }

    /// Takes over what another report holds.
    pub fn absorb(&mut self, other: Self) {
        for (key, seen) in other.rows {
            self.add(key, || seen.clone());
        }
        self.omitted = self.omitted.saturating_add(other.omitted);
    }

    /// The rows in order.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|((what, name, version), seen)| Row {
            what: *what,
            name,
            version,
            count: seen.count,
            first: Place { file: &seen.file, offset: seen.offset },
        })
    }

    /// How many sights found no room in the rows.
    #[must_use]
    pub const fn omitted(&self) -> u64 {
        self.omitted
    }

    /// Whether nothing unknown was seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.omitted == 0
    }

    fn add(&mut self, key: (Oddity, String, String), seen: impl Fn() -> Seen) {
        let room = self.rows.len() < DRIFT_ROWS;
        match self.rows.entry(key) {
            Entry::Occupied(mut row) => {
                let row = row.get_mut();
                row.count = row.count.saturating_add(seen().count);
            }
            Entry::Vacant(row) if room => drop(row.insert(seen())),
            Entry::Vacant(_) => self.omitted = self.omitted.saturating_add(seen().count),
        }
    }
}

/// A name as it is written; what is no text is shown as it stands.
pub(super) fn name(value: Option<Value<'_>>) -> String {
    match value {
        Some(value) => value.text().unwrap_or_else(|| String::from_utf8_lossy(value.raw()).into_owned()),
        None => "(none)".into(),
    }
}

/// `{"rows":[…],"omitted":n}`
impl Serialize for Drift {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut report = serializer.serialize_struct("Drift", 2)?;
        report.serialize_field("rows", &Rows(self))?;
        report.serialize_field("omitted", &self.omitted)?;
        report.end()
    }
}

struct Rows<'a>(&'a Drift);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.0.rows.len()))?;
        for row in self.0.rows() {
            rows.serialize_element(&row)?;
        }
        rows.end()
    }
}

/// `{"what":…,"name":…,"version":…,"count":…,"file":…,"offset":…}`
impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Row", 6)?;
        row.serialize_field("what", self.what.label())?;
        row.serialize_field("name", self.name)?;
        row.serialize_field("version", self.version)?;
        row.serialize_field("count", &self.count)?;
        row.serialize_field("file", self.first.file)?;
        row.serialize_field("offset", &self.first.offset)?;
        row.end()
    }
}

fn short(text: &str) -> String {
    caps::one_line(text.chars(), DRIFT_NAME_CHARS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    const HERE: Place<'static> = Place { file: "/a.jsonl", offset: 7 };

    #[test]
    fn rows_are_in_order_and_keep_their_first_place() {
        let mut drift = Drift::default();
        drift.note(Oddity::Tool, "Hammer", "2.2.0", HERE);
        drift.note(Oddity::Record, "omen", "2.2.0", HERE);
        drift.note(Oddity::Tool, "Hammer", "2.2.0", Place { file: "/b.jsonl", offset: 0 });
        drift.note(Oddity::Tool, "Hammer", "2.1.0", HERE);
        assert_eq!(
            serde_json::to_string(&drift).unwrap(),
            concat!(
                r#"{"rows":[{"what":"record","name":"omen","version":"2.2.0","count":1,"file":"/a.jsonl","offset":7},"#,
                r#"{"what":"tool","name":"Hammer","version":"2.1.0","count":1,"file":"/a.jsonl","offset":7},"#,
                r#"{"what":"tool","name":"Hammer","version":"2.2.0","count":2,"file":"/a.jsonl","offset":7}],"omitted":0}"#
            )
        );
    }

    #[test]
    fn what_finds_no_room_is_one_number() {
        let mut drift = Drift::default();
        for n in 0..DRIFT_ROWS + 5 {
            drift.note(Oddity::Field, &format!("f{n:05}"), "1", HERE);
        }
        drift.note(Oddity::Field, "f00000", "1", HERE);
        assert_eq!((drift.rows().count(), drift.omitted()), (DRIFT_ROWS, 5));
        assert_eq!(drift.rows().map(|row| row.count).max(), Some(2));
        let mut all = Drift::default();
        all.note(Oddity::Field, "f00000", "1", HERE);
        all.absorb(drift);
        assert_eq!((all.rows().count(), all.omitted()), (DRIFT_ROWS, 5));
        assert_eq!(all.rows().next().map(|row| row.count), Some(3));
    }

    #[test]
    fn names_are_short_and_on_one_line() {
        let mut drift = Drift::default();
        drift.note(Oddity::Block, &format!("a\n{}", "b".repeat(500)), "", HERE);
        let name = drift.rows().next().map(|row| row.name.chars().count());
        assert_eq!(name, Some(DRIFT_NAME_CHARS));
    }
}
