//! What a row of an answer holds.

use alloc::string::String;

use super::super::block::Author;
use super::super::v1;
use crate::io::Cell;
use crate::source::json::Value;
use crate::source::spool::Place;

/// One message.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) place: Place,
    pub(super) kind: String,
    pub(super) data: Option<String>,
}

impl Row {
    pub(super) fn of(row: &[Cell]) -> Option<Self> {
        let place = Place { time: number(row.get(1)?), id: text(row.first()?)?.clone() };
        let kind = row.get(3).and_then(text).cloned().unwrap_or_default();
        Some(Self { place, kind, data: row.get(2).and_then(text).cloned() })
    }

    pub(super) fn author(&self) -> Author {
        let by_role = self.data.as_deref().map(|data| v1::author(Value(data.as_bytes())));
        if self.kind == "assistant" { Author::Assistant } else { by_role.unwrap_or(Author::Human) }
    }
}

/// A row of the table of messages: rows that are made later have larger numbers. Its id tells whether it is still that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) row: i64,
    id: String,
}

impl Cursor {
    pub(super) fn of(row: &[Cell]) -> Option<Self> {
        let Cell::Integer(number) = row.first()? else { return None };
        Some(Self { row: *number, id: text(row.get(1)?)?.clone() })
    }
}

pub(in super::super) const fn text(cell: &Cell) -> Option<&String> {
    match cell {
        Cell::Text(text) => Some(text),
        Cell::Null | Cell::Integer(_) => None,
    }
}

pub(in super::super) const fn number(cell: &Cell) -> i64 {
    match cell {
        Cell::Integer(number) => *number,
        Cell::Null | Cell::Text(_) => 0,
    }
}
