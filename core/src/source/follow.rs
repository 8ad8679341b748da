//! The follower of one stream: opens its file, counts what is there, reads what comes, and sees when it was rewritten.
//!
//! ```text
//!         begin (load index)             counted to the end
//!   New ─────────────────▶ Counting ─────────────────────────▶ Live ──┐ poll: stat, read what is new
//!    │ first open or read     ▲  │ file missing: nothing yet   ▲ │ ◀──┘
//!    ▼ fails                  │  └─────────────────────────────┘ │
//!   Failed                    └──────────────────────────────────┘
//!                               truncated, replaced or rewritten; or looked at again after a pause
//! ```
//!
//! Every read begins a little before what was already read and compares. Where the bytes differ, the file is no longer
//! the one that was counted, and everything begins anew. An edit of equal size somewhere in the middle is not seen.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use crate::agent::Reader;
use crate::agent::drift::Drift;
use crate::entry::Entry;
use crate::ids::{Handle, Seq};
use crate::io::{FileIdentity, FileTime, Op, Outcome};
use crate::limits::{MAX_READ_BYTES, OVERLAP_BYTES, PAGE_READ_BYTES, SAVED_INDEX_BYTES};
use crate::machine::{Asks, Machine, Tag};
use crate::roster::Told;
use crate::source::generation;
use crate::source::index::SeqIndex;
use crate::source::lines::LineSplitter;
use crate::source::saved::SavedIndex;
use crate::source::spool::Stored;
use crate::time::Now;

/// Where a stream's bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub path: String,
    /// The directory that must contain it.
    pub under: String,
    /// The child whose lines in it are the stream, if it is not the whole file.
    pub part: Option<String>,
    /// The session of which the file is the spool, if it is one.
    pub stored: Option<Stored>,
}

/// What a follower has to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Everything that is there was counted: the stream can be served. Comes once after the start, after each
    /// [`Rewritten`](Self::Rewritten), and after each [`Follower::refresh`].
    Ready,
    /// A look at the file came to its end and found it as it was, or grown: [`Follower::looked`] went on.
    Looked {
        /// Whether it found a change of a file that had been counted.
        news: bool,
    },
    /// The stream has one more entry.
    Entry(Seq, Box<Entry>),
    /// The stream has more entries, so many in one line that they were only counted: they are read like a page.
    Grown,
    /// The file is another one than was counted. Nothing that was read of it holds any more.
    Rewritten,
    /// It cannot be read at all; the text is the operating system's.
    Failed(String),
}

/// Follows one file, whoever watches it.
#[derive(Debug)]
pub struct Follower {
    source: Source,
    reader: Box<dyn Reader>,
    line_bytes: usize,
    /// Where its index is saved.
    index_path: String,
    /// The saved index, until the file was found to be the one it was made of.
    saved: Option<Box<SavedIndex>>,
    restored_to: u64,
    phase: Phase,
    asks: Asks,
    pending: Option<(Tag, Pending)>,
    /// While counting: the read behind the pending one, and where it begins.
    ahead: Option<(Tag, u64)>,
    file: Option<OpenFile>,
    lines: LineSplitter,
    index: SeqIndex,
    /// What the lines before [`LineSplitter::line_start`] tell of children.
    told: Told,
    /// The first bytes of the file, up to [`OVERLAP_BYTES`].
    head: Vec<u8>,
    /// The last bytes before [`LineSplitter::end`], up to [`OVERLAP_BYTES`].
    overlap: Vec<u8>,
    rewrites: u32,
    noted: Noted,
    /// How many looks at the file were begun, and which of them was the last that ended well.
    begun: u64,
    looked: u64,
    /// Somebody wants another look right after this one.
    look_again: bool,
    /// Whether what there is to count waits until [`Follower::count_on`], and whether it has begun to wait.
    held: bool,
    stalled: bool,
    /// Whether this look found a change of what had been counted.
    news: bool,
    /// Whether it was ready once: from then on a failure is a passing trouble.
    served: bool,
    events: VecDeque<Event>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    New,
    Counting,
    Live,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    /// The saved index.
    Load,
    Open,
    /// The first bytes that the saved index knows, then the last ones.
    KnownHead,
    KnownTail,
    Stat,
    /// New bytes, behind what is left of the overlap.
    Read(Compared),
    /// The end of what was read is looked at again, because the file was touched at that time.
    CheckEnd(Compared, FileTime),
    /// The same for its beginning.
    CheckHead(Compared, FileTime),
}

/// What no table knows, in the lines that were not noted before.
#[derive(Debug, Default)]
struct Noted {
    from: u64,
    drift: Drift,
}

/// How many of the bytes that are read again were found to be the same already. A read may be short.
type Compared = usize;

#[derive(Debug, Clone, Copy)]
struct OpenFile {
    handle: Handle,
    identity: FileIdentity,
    /// The modification time at which everything read so far was known to hold.
    modified: FileTime,
    /// How long it was when it was looked at last.
    size: u64,
}

impl Follower {
    /// A follower that has done nothing yet. Its index may be saved at `index_path`; `rewrites` is how often this file
    /// was seen rewritten before, as far as is known without that.
    #[must_use]
    pub fn new(source: Source, reader: Box<dyn Reader>, line_bytes: usize, index_path: String, rewrites: u32) -> Self {
        Self {
            source,
            reader,
            line_bytes,
            index_path,
            saved: None,
            restored_to: 0,
            phase: Phase::New,
            asks: Asks::default(),
            pending: None,
            ahead: None,
            file: None,
            lines: LineSplitter::new(0, line_bytes),
            index: SeqIndex::default(),
            told: Told::default(),
            head: Vec::new(),
            overlap: Vec::new(),
            rewrites,
            noted: Noted::default(),
            begun: 0,
            looked: 0,
            look_again: false,
            held: false,
            stalled: false,
            news: false,
            served: false,
            events: VecDeque::new(),
        }
    }

    /// Starts: opens the file and counts it. A file that is not there yet is an empty stream.
    pub fn begin(&mut self) {
        if self.phase == Phase::New {
            self.phase = Phase::Counting;
            self.begun = 1;
            let path = self.index_path.clone();
            self.ask(Pending::Load, Op::Load { path, cap: SAVED_INDEX_BYTES });
        }
    }

    /// Looks whether there is something new. Does nothing while it is still busy with the last look.
    pub fn poll(&mut self) {
        if self.pending.is_some() {
            return;
        }
        self.begun = self.begun.saturating_add(1);
        match (self.phase, &self.file) {
            (Phase::New | Phase::Failed, _) => {}
            (_, None) => self.ask_open(),
            (Phase::Counting, Some(_)) => self.ask_read(0),
            (Phase::Live, Some(_)) => {
                let path = self.source.path.clone();
                self.ask(Pending::Stat, Op::Stat { path });
            }
        }
    }

    /// Asks for a look that begins now or later. What was read of the file before is sound when [`looked`](Self::looked)
    /// reaches the number that is returned, and [`Event::Rewritten`] did not come.
    pub fn prove(&mut self) -> u64 {
        if self.pending.is_none() && self.phase == Phase::Live {
            self.poll();
            return self.begun;
        }
        self.look_again = true;
        self.begun.saturating_add(1)
    }

    /// From now on it does not count before [`count_on`](Self::count_on); what it waits for is told by
    /// [`wants_to_count`](Self::wants_to_count).
    pub const fn hold_counting(&mut self) {
        self.held = true;
    }

    /// Counts what there is to count.
    pub fn count_on(&mut self) {
        self.held = false;
        if self.wants_to_count() {
            self.ask_read(0);
        }
    }

    /// Whether there is something to count, and it is held.
    #[must_use]
    pub fn wants_to_count(&self) -> bool {
        self.stalled && self.pending.is_none() && self.phase == Phase::Counting && self.file.is_some()
    }

    /// Whether what is there was not counted yet.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::New | Phase::Counting)
    }

    /// Whether it is counting now.
    #[must_use]
    pub fn is_counting(&self) -> bool {
        self.phase == Phase::Counting && matches!(self.pending, Some((_, Pending::Read(_))))
    }

    /// Something may have changed: looks now, or right after the look that is on its way, which may have come too early.
    pub fn hint(&mut self) {
        if self.pending.is_some() {
            self.look_again = true;
        } else {
            self.poll();
        }
    }

    /// Whether a look is on its way.
    #[must_use]
    pub const fn is_looking(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether the next look is needed soon, whatever hints at it: the file is not there, or the last look came to no end.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        !self.is_looking() && (self.file.is_none() || self.looked != self.begun || self.phase != Phase::Live)
    }

    /// The number of the last look that ended well.
    #[must_use]
    pub const fn looked(&self) -> u64 {
        self.looked
    }

    /// Which conversation this is, counted by which rules: a cursor of another generation is worth nothing.
    #[must_use]
    pub fn generation(&self) -> String {
        generation::name(self.reader.rules_version(), self.line_bytes, &self.head, self.rewrites)
    }

    /// Catches up after a time without polls; [`Event::Ready`] follows.
    pub fn refresh(&mut self) {
        if self.phase == Phase::Live {
            self.poll();
            self.phase = Phase::Counting;
        }
    }

    /// Counts everything anew under another generation, as if the file had been rewritten once more than `rewrites` times.
    pub fn begin_again(&mut self, rewrites: u32) {
        self.rewrites = self.rewrites.max(rewrites);
        if matches!(self.phase, Phase::Counting | Phase::Live) {
            self.rewritten();
        }
    }

    /// The file lies elsewhere now. Whether it is the same one is seen at the next poll.
    pub fn relocate(&mut self, source: Source) {
        self.source = source;
    }

    /// Gives the file back. The follower is of no use afterwards.
    pub fn close(&mut self) {
        self.phase = Phase::Failed;
        self.pending = None;
        self.close_file();
    }

    /// Takes the oldest event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether everything that is there was counted.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Live
    }

    /// The index of the stream, for pages.
    #[must_use]
    pub const fn index(&self) -> &SeqIndex {
        &self.index
    }

    /// What the transcript tells of children, as far as it was counted.
    #[must_use]
    pub const fn told(&self) -> &Told {
        &self.told
    }

    /// The open file, for pages.
    #[must_use]
    pub fn handle(&self) -> Option<Handle> {
        self.file.map(|file| file.handle)
    }

    /// The reader of its lines, for pages.
    #[must_use]
    pub fn reader(&self) -> &dyn Reader {
        &*self.reader
    }

    /// The cap of a line in bytes, for pages.
    #[must_use]
    pub const fn line_bytes(&self) -> usize {
        self.line_bytes
    }

    /// The drift in lines that begin before `offset` was noted when the file was followed the last time.
    pub const fn note_drift_from(&mut self, offset: u64) {
        self.noted.from = offset;
    }

    /// Takes the drift that was met since this was asked last. Counting meets what it cannot place; in a live line, which
    /// is read in full depth, unknown tools and members are met too.
    pub fn take_drift(&mut self) -> Drift {
        core::mem::take(&mut self.noted.drift)
    }

    /// Where the bytes are.
    #[must_use]
    pub const fn source(&self) -> &Source {
        &self.source
    }

    /// How often the file was seen truncated, replaced or rewritten.
    #[must_use]
    pub const fn rewrites(&self) -> u32 {
        self.rewrites
    }

    fn close_file(&mut self) {
        self.ahead = None;
        if let Some(file) = self.file.take() {
            self.asks.ask(Op::CloseFile { handle: file.handle });
        }
    }

    fn ask_open(&mut self) {
        let op = Op::Open { path: self.source.path.clone(), under: Some(self.source.under.clone()) };
        self.ask(Pending::Open, op);
    }

    fn ask_read(&mut self, compared: Compared) {
        self.stalled = self.held && self.phase == Phase::Counting;
        if self.stalled {
            return;
        }
        let piece = if self.phase == Phase::Counting { MAX_READ_BYTES } else { PAGE_READ_BYTES };
        let again = self.overlap.len().saturating_sub(compared);
        let offset = self.lines.end().saturating_sub(again as u64);
        match self.ahead.take().filter(|(_, at)| compared == 0 && *at == offset) {
            Some((tag, _)) => self.pending = Some((tag, Pending::Read(compared))),
            None => self.ask_bytes(Pending::Read(compared), offset, piece),
        }
        if self.phase == Phase::Counting {
            self.ask_ahead(offset.saturating_add(piece as u64));
        }
    }

    /// Lets the next piece be read while this one is looked at. It overlaps what is read before it as every read does; if
    /// that turns out to be shorter, it was for nothing.
    fn ask_ahead(&mut self, end: u64) {
        if let Some(file) = self.file.filter(|file| file.size > end) {
            let offset = end.saturating_sub(OVERLAP_BYTES as u64);
            let tag = self.asks.ask(Op::Read { handle: file.handle, offset, len: MAX_READ_BYTES });
            self.ahead = Some((tag, offset));
        }
    }

    fn ask_bytes(&mut self, pending: Pending, offset: u64, len: usize) {
        if let Some(file) = self.file {
            self.ask(pending, Op::Read { handle: file.handle, offset, len });
        }
    }

    fn ask(&mut self, pending: Pending, op: Op) {
        self.pending = Some((self.asks.ask(op), pending));
    }
}

impl Machine for Follower {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, _now: Now, tag: Tag, outcome: Outcome<'_>) {
        let pending = match self.pending {
            Some((asked, pending)) if asked == tag => pending,
            _ => {
                self.ahead = self.ahead.filter(|(ahead, _)| *ahead != tag);
                // The answer to an open that nobody waits for any more.
                if let Outcome::Opened { handle, .. } = outcome {
                    self.asks.ask(Op::CloseFile { handle });
                }
                return;
            }
        };
        self.pending = None;
        match (pending, outcome) {
            (Pending::Load, outcome) => self.loaded(outcome),
            (Pending::Open, Outcome::Opened { handle, facts }) => self.opened(handle, facts),
            (Pending::KnownHead, Outcome::Bytes { bytes, .. }) => self.head_known(bytes),
            (Pending::KnownTail, Outcome::Bytes { bytes, .. }) => self.tail_known(bytes),
            (Pending::Open, Outcome::Failed(failure)) => self.open_failed(failure),
            (Pending::Stat, outcome) => self.stat_answered(outcome),
            (Pending::Read(compared), Outcome::Bytes { bytes, size_now }) => {
                self.read_answered(compared, bytes, size_now);
            }
            (Pending::CheckEnd(compared, modified), Outcome::Bytes { bytes, .. }) => {
                self.end_answered(compared, bytes, modified);
            }
            (Pending::CheckHead(compared, modified), Outcome::Bytes { bytes, .. }) => {
                self.head_answered(compared, bytes, modified);
            }
            (_, Outcome::Failed(failure)) => self.failed(failure),
            // An answer of another kind than was asked for: the same as none. The next poll asks again.
            _ => {}
        }
    }
}

mod look;
mod restore;
#[cfg(test)]
mod tests;
