//! One visit to a rollout: it is opened, read as far as it must be, and closed again.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::end::End;
use super::head::Head;
use super::through::Through;
use crate::ids::Handle;
use crate::io::{Facts, FailureKind, FileKind, Op, Outcome};
use crate::limits::{CHILD_HEAD_BYTES, CHILD_LONG_TAIL_BYTES, CHILD_TAIL_BYTES, MAX_READ_BYTES};

/// What a visit is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// Whose child it is.
    Head,
    /// How it ends.
    Tail,
    /// All of it, from where it was known so far.
    Through(Option<Box<Through>>),
}

/// What it found.
#[derive(Debug)]
pub(super) enum Found {
    Head(Option<Head>),
    Tail(End),
    Through(Box<Through>),
    /// There is no file that may be read.
    Nothing,
    /// It cannot be read now, in the operating system's words.
    Failed(String),
}

/// What a visit wants next.
#[derive(Debug)]
pub(super) enum Next {
    Op(Op),
    /// It is over; the file is to be closed if it was opened.
    Done(Found, Option<Handle>),
}

/// A visit on its way.
#[derive(Debug)]
pub(super) struct Visit {
    purpose: Purpose,
    line_bytes: usize,
    handle: Option<Handle>,
    facts: Option<Facts>,
    /// The bytes that are wanted, `offset` the next of them.
    offset: u64,
    end: u64,
    from: u64,
    bytes: Vec<u8>,
}

impl Visit {
    pub(super) const fn new(purpose: Purpose, line_bytes: usize) -> Self {
        Self { purpose, line_bytes, handle: None, facts: None, offset: 0, end: 0, from: 0, bytes: Vec::new() }
    }

    /// Takes the answer to what it wanted last, the opening first.
    pub(super) fn take(&mut self, outcome: Outcome<'_>) -> Next {
        match outcome {
            Outcome::Opened { handle, facts } => self.opened(handle, facts),
            Outcome::Bytes { bytes, .. } => self.read(bytes),
            Outcome::Failed(failure) => {
                let nothing =
                    matches!(failure.kind, FailureKind::NotFound | FailureKind::Outside | FailureKind::Denied);
                let found =
                    if nothing && self.handle.is_none() { Found::Nothing } else { Found::Failed(failure.text.into()) };
                Next::Done(found, self.handle.take())
            }
            _ => Next::Done(Found::Failed("an answer of another kind".into()), self.handle.take()),
        }
    }

    fn opened(&mut self, handle: Handle, facts: Facts) -> Next {
        (self.handle, self.facts) = (Some(handle), Some(facts));
        if facts.kind != FileKind::File {
            return Next::Done(Found::Nothing, self.handle.take());
        }
        let size = facts.size;
        (self.offset, self.end) = match &mut self.purpose {
            Purpose::Head => (0, size.min(CHILD_HEAD_BYTES as u64)),
            Purpose::Tail => (size.saturating_sub(CHILD_TAIL_BYTES as u64), size),
            Purpose::Through(through) => {
                let known = through.take().filter(|known| known.goes_on(facts.identity, size, facts.modified));
                let known =
                    known.unwrap_or_else(|| Box::new(Through::new(facts.identity, facts.modified, self.line_bytes)));
                (through.insert(known).end(), size)
            }
        };
        self.from = self.offset;
        self.go_on()
    }

    fn read(&mut self, bytes: &[u8]) -> Next {
        self.offset = self.offset.saturating_add(bytes.len() as u64);
        match &mut self.purpose {
            Purpose::Through(Some(through)) => through.take(bytes),
            _ => self.bytes.extend_from_slice(bytes),
        }
        if bytes.is_empty() {
            self.end = self.offset;
        }
        self.go_on()
    }

    fn go_on(&mut self) -> Next {
        let left = self.end.saturating_sub(self.offset);
        if let (Some(handle), Ok(left @ 1..)) = (self.handle, usize::try_from(left)) {
            return Next::Op(Op::Read { handle, offset: self.offset, len: left.min(MAX_READ_BYTES) });
        }
        let found = match &mut self.purpose {
            Purpose::Head => Found::Head(Head::of(&self.bytes)),
            Purpose::Tail => {
                let end = End::of(&self.bytes, self.from > 0);
                if end.last_ts.is_none() && self.from > 0 && self.bytes.len() < CHILD_LONG_TAIL_BYTES {
                    return self.look_farther();
                }
                Found::Tail(end)
            }
            Purpose::Through(through) => match (through.take(), self.facts) {
                (Some(mut through), Some(facts)) => {
                    through.finish(facts.modified);
                    Found::Through(through)
                }
                _ => Found::Nothing,
            },
        };
        Next::Done(found, self.handle.take())
    }

    /// The last line is longer than the end that was read.
    fn look_farther(&mut self) -> Next {
        self.bytes.clear();
        self.from = self.end.saturating_sub(CHILD_LONG_TAIL_BYTES as u64);
        self.offset = self.from;
        self.go_on()
    }
}
