//! From a physical line to the records of one kind of agent, and on to the parts that become entries: the walk that both
//! depths of a reader take.

use core::ops::ControlFlow;

use super::Line;
use crate::source::json::{Broken, Scanner, Token, Value};
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

/// One entry to be, with all that is needed to build it.
#[derive(Debug)]
pub(super) enum Item<'r, 'a, R, W> {
    /// A line whose bytes were not kept, and how many they were.
    TooLong(u64),
    /// Bytes in which no record was found, and their place in the line.
    Fragment(usize, &'a [u8]),
    /// A part of a record.
    Part(Part<'r, R, W>),
}

/// A part of a record that is an entry.
#[derive(Debug)]
pub(super) struct Part<'r, R, W> {
    /// Where the record begins in the line.
    pub(super) at: usize,
    pub(super) record: &'r R,
    /// Its place among the parts of the record.
    pub(super) block: usize,
    pub(super) what: W,
}

/// Whether a record holds something that stands in no table and makes no entry.
pub(super) type Unplaced = bool;

/// Walks over the line in order. `parts` hands the parts of one record to what it is given.
pub(super) fn walk<'a, R: Skim<'a>, W, E: FnMut(Item<'_, 'a, R, W>)>(
    line: &Line<'a>,
    each: &mut E,
    mut parts: impl FnMut(usize, &R, &mut E) -> Unplaced,
) -> Unplaced {
    if let Some(bytes) = line.over_cap {
        each(Item::TooLong(bytes));
        return false;
    }
    let mut unplaced = false;
    records(line, &mut |at, found| match found {
        Ok(record) => unplaced |= parts(at, record, each),
        Err(bytes) => each(Item::Fragment(at, bytes)),
    });
    unplaced
}

/// Lends the records at the beginning of a transcript, line by line, until `each` breaks. The last line may be cut, and
/// others may be damaged: what was read of them before that counts.
pub(super) fn beginning<'a, R: Skim<'a>>(head: &'a [u8], mut each: impl FnMut(&R) -> ControlFlow<()>) {
    for line in head.split(|&byte| byte == b'\n') {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        let mut scanner = Scanner::new(line, 0);
        if !matches!(scanner.step(), Ok(Token::Open(_))) {
            continue;
        }
        let mut record = R::default();
        let mut flow = ControlFlow::Continue(());
        if record.skim(&mut scanner).is_err() {
            // The last thing that a torn record says may be torn too: what stands behind it in its line is believed first.
            records(&Line { offset: 0, bytes: line, over_cap: None }, &mut |at, behind| {
                if let (true, Ok(behind), true) = (at > 0, behind, flow.is_continue()) {
                    flow = each(behind);
                }
            });
        }
        record.keep(Value(line));
        if flow.is_break() || each(&record).is_break() {
            return;
        }
    }
}
