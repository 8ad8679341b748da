//! Reading a run of entries out of the file, from the checkpoint before it, in pieces and with pauses.

use core::ops::ControlFlow;

use crate::agent::{Caps, Line, Reader, State};
use crate::entry::Entry;
use crate::ids::{Handle, Seq};
use crate::io::Op;
use crate::limits::PAGE_READ_BYTES;
use crate::source::index::{Checkpoint, SeqIndex};
use crate::source::lines::LineSplitter;

/// The entries `first..=last` of a stream, on their way to one client.
///
/// It holds no entry: when the client has no room it remembers where it stopped and reads on from there later.
#[derive(Debug)]
pub struct PageRead {
    wanted: Wanted,
    /// Entries before [`LineSplitter::line_start`].
    entries_before: u64,
    /// What the reader remembers of the lines before that place.
    state: State,
    lines: LineSplitter,
    line_bytes: usize,
    done: bool,
}

/// The file does not hold what its index says: it was changed, and the follower will see that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shrunk;

impl PageRead {
    /// A page of the stream with this index, its texts cut to `caps`. `first` and `last` must be in it.
    #[must_use]
    pub fn new(index: &SeqIndex, line_bytes: usize, first: Seq, last: Seq, caps: Caps) -> Self {
        let point = index.before(first);
        let Checkpoint { offset, entries_before } = point;
        let last = if cfg!(panewire_fault = "page-without-its-last") {
            Seq::after(last.get().saturating_sub(2))
        } else {
            last
        };
        let lines = LineSplitter::new(offset, line_bytes);
        let wanted = Wanted { next: first, last, caps };
        Self { wanted, entries_before, state: index.state_at(point), lines, line_bytes, done: first > last }
    }

    /// The same run from `first` on, with an index that may be another one.
    #[must_use]
    pub fn again(&self, index: &SeqIndex, first: Seq) -> Self {
        Self::new(index, self.line_bytes, first, self.wanted.last, self.wanted.caps)
    }

    /// The entry that is given out next.
    #[must_use]
    pub const fn next(&self) -> Seq {
        self.wanted.next
    }

    /// Whether every entry was given out.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.done
    }

    /// Bytes of an unfinished line that it keeps.
    #[must_use]
    pub fn carried(&self) -> usize {
        self.lines.tail().len()
    }

    /// The next piece it needs.
    #[must_use]
    pub fn read_op(&self, handle: Handle, index: &SeqIndex) -> Op {
        let left = usize::try_from(index.scanned().saturating_sub(self.lines.end())).unwrap_or(usize::MAX);
        Op::Read { handle, offset: self.lines.end(), len: left.min(PAGE_READ_BYTES) }
    }

    /// Takes a piece, and gives out entries until there are no more in it or `each` breaks.
    ///
    /// # Errors
    /// [`Shrunk`] if the counted part of the file ended before the page did.
    pub fn take(
        &mut self,
        bytes: &[u8],
        size_now: u64,
        index: &SeqIndex,
        reader: &dyn Reader,
        each: &mut dyn FnMut(Seq, Entry) -> ControlFlow<()>,
    ) -> Result<(), Shrunk> {
        if size_now < index.scanned() {
            return Err(Shrunk);
        }
        let Self { wanted, entries_before, state, lines, .. } = self;
        let mut stopped = lines.push(bytes, |line| {
            let mut after = state.clone();
            let entries = reader.counted_after(&mut after, &line).entries;
            let flow = wanted.give(reader, &line, state, *entries_before, entries, each);
            // A line whose entries were not all given out is read again after the pause.
            if flow == Given::All {
                *entries_before = entries_before.saturating_add(entries);
                *state = after;
            }
            match flow {
                Given::All if wanted.next <= wanted.last => ControlFlow::Continue(()),
                flow => ControlFlow::Break((line.offset, flow)),
            }
        });
        // What is counted without a newline is whole.
        if stopped.is_continue() && lines.end() >= index.scanned() && !lines.tail().is_empty() {
            let line = lines.tail_line();
            let entries = reader.counted_after(&mut state.clone(), &line).entries;
            let flow = wanted.give(reader, &line, state, *entries_before, entries, each);
            stopped = ControlFlow::Break((line.offset, flow));
        }
        self.lines.rest();
        self.done = self.wanted.next > self.wanted.last;
        match stopped {
            ControlFlow::Break((offset, Given::Some)) if !self.done => {
                self.lines = LineSplitter::new(offset, self.line_bytes);
                Ok(())
            }
            _ if self.done || self.lines.end() < index.scanned() => Ok(()),
            _ => Err(Shrunk),
        }
    }
}

/// The entries that are still to be given out.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    next: Seq,
    last: Seq,
    caps: Caps,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    /// Every entry of the line that belongs to the page, and `each` wants more.
    All,
    /// `each` wanted no more.
    Some,
}

impl Wanted {
    /// Gives out those entries of one line that are next.
    fn give(
        &mut self,
        reader: &dyn Reader,
        line: &Line<'_>,
        state: &State,
        entries_before: u64,
        entries: u64,
        each: &mut dyn FnMut(Seq, Entry) -> ControlFlow<()>,
    ) -> Given {
        if entries_before.saturating_add(entries) < self.next.get() {
            return Given::All;
        }
        let Self { next, last, caps } = self;
        let mut given = Given::All;
        let skip = next.get().saturating_sub(entries_before).saturating_sub(1);
        reader.read_after(state, line, caps, skip, &mut |entry| {
            let seq = *next;
            *next = seq.next();
            if each(seq, entry).is_break() {
                given = Given::Some;
            }
            if given == Given::All && *next <= *last { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        given
    }
}
