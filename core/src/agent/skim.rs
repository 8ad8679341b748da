//! From a physical line to the records of one kind of agent: the walk that both depths of a reader take first.

use super::Line;
use crate::source::json::{Broken, Scanner, Value};
use crate::source::records::{self, Piece};

/// A record, as far as it was skimmed: spans of what decides what it becomes.
pub(super) trait Skim<'a>: Default {
    /// The ways in which a record of this kind begins: where the next one is looked for in a torn line.
    const STARTS: &'static [&'static [u8]];

    /// Reads the open object of `scanner`. What was found before damage stays.
    fn skim(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Broken>;

    /// Takes all of the object; of a damaged one, the bytes up to the end of the line.
    fn keep(&mut self, raw: Value<'a>);

    /// Whether what was found in a damaged record before the damage is enough to show it.
    fn survives(&mut self) -> bool;
}

/// Walks over the records of the line, and over the bytes in which none was found, each with its place in the line.
pub(super) fn records<'a, R: Skim<'a>>(line: &Line<'a>, each: &mut impl FnMut(usize, Result<&R, &'a [u8]>)) {
    records::split(
        line.bytes,
        R::STARTS,
        |scanner, record: &mut R| record.skim(scanner),
        |at, piece| match piece {
            Piece::Record(raw, mut record) => {
                record.keep(Value(raw));
                each(at, Ok(&record));
            }
            Piece::Damaged(raw, mut record) => {
                record.keep(Value(raw));
                each(at, if record.survives() { Ok(&record) } else { Err(raw) });
            }
            Piece::Fragment(bytes) => each(at, Err(bytes)),
        },
    );
}
