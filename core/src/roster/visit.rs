//! One visit to a file of a child: opened, read as far as it is wanted, and closed again.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::through::{Known, Through};
use crate::ids::Handle;
use crate::io::{Facts, FailureKind, FileKind, Op, Outcome};
use crate::limits::MAX_READ_BYTES;
use crate::source::records;

/// Which part of the file is wanted.
#[derive(Debug)]
pub(crate) enum Part<K> {
    /// So many of its first bytes.
    Beginning(usize),
    /// So many of its last bytes.
    End(usize),
    /// All of it, or what is new since.
    Through(Option<Box<Through<K>>>),
}

/// What was found.
#[derive(Debug)]
pub(crate) enum Found<K> {
    Bytes {
        bytes: Vec<u8>,
        /// More stands before them: the first line may be cut.
        cut: bool,
    },
    Through(Box<Through<K>>),
    /// It is not there, or may not be opened: no child can be shown of it.
    Nothing,
    /// It could not be read this time, in the operating system's words.
    Failed(String),
}

/// What a visit wants next.
#[derive(Debug)]
pub(crate) enum Next<K> {
    Op(Op),
    /// It is over; the file is to be closed if it was opened.
    Done(Found<K>, Option<Handle>),
}

/// A visit on its way.
#[derive(Debug)]
pub(crate) struct Visit<K> {
    part: Part<K>,
    line_bytes: usize,
    file: Option<(Handle, Facts)>,
    /// The bytes that are wanted, `offset` the next of them.
    offset: u64,
    end: u64,
    cut: bool,
    bytes: Vec<u8>,
}

impl<K: Known> Visit<K> {
    pub(crate) const fn new(part: Part<K>, line_bytes: usize) -> Self {
        Self { part, line_bytes, file: None, offset: 0, end: 0, cut: false, bytes: Vec::new() }
    }

    /// Takes the answer to what it wanted last, the opening first.
    pub(crate) fn take(&mut self, outcome: Outcome<'_>) -> Next<K> {
        match outcome {
            Outcome::Opened { handle, facts } => self.opened(handle, facts),
            Outcome::Bytes { bytes, .. } => self.read(bytes),
            Outcome::Failed(failure) => {
                let nothing =
                    matches!(failure.kind, FailureKind::NotFound | FailureKind::Outside | FailureKind::Denied);
                let is_nothing = nothing && self.file.is_none();
                self.done(if is_nothing { Found::Nothing } else { Found::Failed(failure.text.into()) })
            }
            _ => self.done(Found::Failed("an answer of another kind".into())),
        }
    }

    fn opened(&mut self, handle: Handle, facts: Facts) -> Next<K> {
        self.file = Some((handle, facts));
        if facts.kind != FileKind::File {
            return self.done(Found::Nothing);
        }
        let size = facts.size;
        (self.offset, self.end) = match &mut self.part {
            Part::Beginning(bytes) => (0, size.min(*bytes as u64)),
            Part::End(bytes) => (size.saturating_sub(*bytes as u64), size),
            Part::Through(through) => {
                let known = through.take().filter(|known| known.goes_on(facts.identity, size, facts.modified));
                let known =
                    known.unwrap_or_else(|| Box::new(Through::new(facts.identity, facts.modified, self.line_bytes)));
                (through.insert(known).end(), size)
            }
        };
        self.cut = self.offset > 0;
        self.go_on()
    }

    fn read(&mut self, bytes: &[u8]) -> Next<K> {
        self.offset = self.offset.saturating_add(bytes.len() as u64);
        match &mut self.part {
            Part::Through(Some(through)) => through.take(bytes),
            _ => self.bytes.extend_from_slice(bytes),
        }
        if bytes.is_empty() {
            self.end = self.offset;
        }
        self.go_on()
    }

    fn go_on(&mut self) -> Next<K> {
        let left = self.end.saturating_sub(self.offset);
        if let (Some((handle, _)), Ok(left @ 1..)) = (self.file, usize::try_from(left)) {
            return Next::Op(Op::Read { handle, offset: self.offset, len: left.min(MAX_READ_BYTES) });
        }
        let found = match (&mut self.part, self.file) {
            (Part::Through(through), Some((_, facts))) => match through.take() {
                Some(mut through) => {
                    through.finish(facts.modified);
                    Found::Through(through)
                }
                None => Found::Nothing,
            },
            _ => Found::Bytes { bytes: core::mem::take(&mut self.bytes), cut: self.cut },
        };
        self.done(found)
    }

    fn done(&mut self, found: Found<K>) -> Next<K> {
        Next::Done(found, self.file.take().map(|(handle, _)| handle))
    }
}

/// The whole lines among the last bytes of a file, the last one first. `cut`: the first line may be. A torn last line is
/// none.
pub(crate) fn last_lines(bytes: &[u8], cut: bool) -> impl Iterator<Item = &[u8]> {
    let whole =
        if cut { memchr::memchr(b'\n', bytes).and_then(|at| bytes.get(at..)).unwrap_or_default() } else { bytes };
    whole.rsplit(|&byte| byte == b'\n').filter(|line| records::is_whole(line))
}
