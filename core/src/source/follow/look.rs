//! One look at the file: what was asked for is answered, compared with what is known, and taken.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::ToString as _;
use alloc::vec::Vec;
use core::ops::ControlFlow;

use super::{Compared, Event, Follower, Noted, OpenFile, Pending, Phase, Source};
use crate::agent::{Caps, Counted, Line, Reader};
use crate::ids::{Handle, Seq};
use crate::io::{Facts, Failure, FailureKind, FileKind, FileTime, Outcome};
use crate::limits::{LIVE_LINE_BYTES, MAX_PAGE_ENTRIES, OVERLAP_BYTES};
use crate::roster::Told;
use crate::source::index::SeqIndex;
use crate::source::lines::LineSplitter;
use crate::source::records;

impl Follower {
    pub(super) fn opened(&mut self, handle: Handle, facts: Facts) {
        self.file = Some(OpenFile { handle, identity: facts.identity, modified: facts.modified, size: facts.size });
        match &self.saved {
            Some(saved) if saved.index.scanned() <= facts.size => {
                let len = saved.head.len;
                self.ask_bytes(Pending::KnownHead, 0, len);
            }
            _ => self.count_anew(),
        }
    }

    pub(super) fn open_failed(&mut self, failure: Failure<'_>) {
        if failure.kind == FailureKind::NotFound {
            self.saved = None;
            self.finish_pass();
        } else {
            self.failed(failure);
        }
    }

    pub(super) fn stat_answered(&mut self, outcome: Outcome<'_>) {
        let Some(file) = &mut self.file else { return };
        let facts = match outcome {
            Outcome::Facts(facts) => facts,
            // Without a name it is still the file that is open, as long as its ends are the same.
            Outcome::Failed(failure) if failure.kind == FailureKind::NotFound => {
                let modified = file.modified;
                return self.check_end(0, modified);
            }
            _ => return self.not_seen(),
        };
        let read_so_far = self.lines.end();
        if facts.identity != file.identity && !cfg!(panewire_fault = "replacement-not-seen")
            || facts.size < read_so_far
            || facts.kind != FileKind::File
        {
            self.rewritten();
        } else if facts.size > read_so_far {
            file.modified = facts.modified;
            self.ask_read(0);
        } else if facts.modified != file.modified && !cfg!(panewire_fault = "touch-not-looked-into") {
            self.check_end(0, facts.modified);
        } else {
            self.finish_pass();
        }
    }

    pub(super) fn read_answered(&mut self, compared: Compared, bytes: &[u8], size_now: u64) {
        let known = self.overlap.get(compared..).unwrap_or_default();
        let (again, new) = bytes.split_at_checked(known.len()).unwrap_or((bytes, &[]));
        let all_compared = again.len() == known.len();
        let differs = !known.starts_with(again) && !cfg!(panewire_fault = "overlap-not-compared");
        if size_now < self.lines.end() || differs {
            return self.rewritten();
        }
        if let Some(file) = &mut self.file {
            file.size = size_now;
        }
        self.take(new);
        if all_compared && size_now <= self.lines.end() {
            self.finish_pass();
        } else if !new.is_empty() {
            self.ask_read(0);
        } else if !again.is_empty() {
            self.ask_read(compared.saturating_add(again.len()));
        }
        // A read that ends at once has nothing to say: the next poll goes on.
    }

    pub(super) fn end_answered(&mut self, compared: Compared, bytes: &[u8], modified: FileTime) {
        match self.overlap.get(compared..).unwrap_or_default().strip_prefix(bytes) {
            Some(left) if left.is_empty() || !bytes.is_empty() => {
                self.check_end(compared.saturating_add(bytes.len()), modified);
            }
            _ => self.rewritten(),
        }
    }

    pub(super) fn head_answered(&mut self, compared: Compared, bytes: &[u8], modified: FileTime) {
        match self.head.get(compared..).unwrap_or_default().strip_prefix(bytes) {
            Some(left) if left.is_empty() || !bytes.is_empty() => {
                self.check_head(compared.saturating_add(bytes.len()), modified);
            }
            _ => self.rewritten(),
        }
    }

    /// Looks at the end of what was read again, then at its beginning.
    fn check_end(&mut self, compared: Compared, modified: FileTime) {
        let left = self.overlap.len().saturating_sub(compared);
        if left == 0 {
            return self.check_head(0, modified);
        }
        let offset = self.lines.end().saturating_sub(left as u64);
        self.ask_bytes(Pending::CheckEnd(compared, modified), offset, left);
    }

    fn check_head(&mut self, compared: Compared, modified: FileTime) {
        let left = self.head.len().saturating_sub(compared);
        if left > 0 {
            return self.ask_bytes(Pending::CheckHead(compared, modified), compared as u64, left);
        }
        if let Some(file) = &mut self.file {
            file.modified = modified;
        }
        self.finish_pass();
    }

    /// What fails is tried again with the next poll, except at the very start: then nothing can be served.
    pub(super) fn failed(&mut self, failure: Failure<'_>) {
        if !self.served {
            self.close_file();
            self.phase = Phase::Failed;
            self.events.push_back(Event::Failed(failure.text.to_string()));
        }
    }

    fn take(&mut self, new: &[u8]) {
        self.news |= self.phase == Phase::Live && !new.is_empty();
        let missing = OVERLAP_BYTES.saturating_sub(self.head.len());
        self.head.extend_from_slice(new.get(..missing).unwrap_or(new));
        remember_last(&mut self.overlap, new);
        let Self { lines, index, told, reader, events, phase, noted, source, .. } = self;
        let _ = lines.push(new, |line| {
            let odd = count_or_read(&**reader, *phase, &line, index, told, events);
            noted.note(odd, &**reader, &line, source);
            ControlFlow::<()>::Continue(())
        });
        index.reach(lines.line_start());
    }

    /// The end of what is there now: a last line without its newline counts as soon as it is whole.
    pub(super) fn finish_pass(&mut self) {
        if records::is_whole(self.lines.tail()) {
            let Self { lines, index, told, reader, events, phase, noted, source, .. } = self;
            let odd = count_or_read(&**reader, *phase, &lines.tail_line(), index, told, events);
            noted.note(odd, &**reader, &lines.tail_line(), source);
            if !cfg!(panewire_fault = "tail-counted-twice") {
                lines.accept_tail();
            }
            index.reach(lines.line_start());
        }
        if self.phase == Phase::Counting {
            self.phase = Phase::Live;
            self.served = true;
            self.events.push_back(Event::Ready);
        }
        self.lines.rest();
        self.looked = self.begun;
        self.events.push_back(Event::Looked { news: core::mem::take(&mut self.news) });
        if core::mem::take(&mut self.look_again) {
            self.poll();
        }
    }

    /// A look failed: what was read is served as far as anybody knows, but nothing is proven. The next poll looks again.
    fn not_seen(&mut self) {
        self.look_again = false;
        if self.phase == Phase::Counting && self.served {
            self.phase = Phase::Live;
            self.events.push_back(Event::Ready);
        }
    }

    pub(super) fn rewritten(&mut self) {
        if !cfg!(panewire_fault = "file-left-open") {
            self.close_file();
        }
        self.news = true;
        self.rewrites = self.rewrites.saturating_add(1);
        self.lines = LineSplitter::new(0, self.line_bytes);
        self.index = SeqIndex::default();
        self.told = Told::default();
        self.restored_to = 0;
        self.head.clear();
        self.overlap.clear();
        self.noted.from = 0;
        self.phase = Phase::Counting;
        self.events.push_back(Event::Rewritten);
        self.ask_open();
    }
}

impl Noted {
    fn note(&mut self, odd: bool, reader: &dyn Reader, line: &Line<'_>, source: &Source) {
        if odd && line.offset >= self.from {
            reader.drift(line, &source.path, &mut self.drift);
        }
    }
}

/// While counting, only the number of a line's entries is of interest; of a live line its entries are. Tells whether the
/// line is worth a look for drift.
fn count_or_read(
    reader: &dyn Reader,
    phase: Phase,
    line: &Line<'_>,
    index: &mut SeqIndex,
    told: &mut Told,
    events: &mut VecDeque<Event>,
) -> bool {
    let mut seq = Seq::after(index.total());
    let is_long = phase == Phase::Counting || line.bytes.len() > LIVE_LINE_BYTES;
    let mut state = index.state().clone();
    told.branches_mut().stand(index.total());
    let counted = if reader.is_stateful() {
        reader.tell(line, told);
        reader.counted_after(&mut state, line)
    } else if is_long {
        reader.counted_telling(line, told)
    } else {
        reader.tell(line, told);
        Counted::default()
    };
    let Counted { entries, odd } = if phase == Phase::Counting {
        counted
    } else if counted.entries > MAX_PAGE_ENTRIES {
        events.push_back(Event::Grown);
        counted
    } else {
        let first = seq;
        reader.read_after(index.state(), line, &Caps::WIRE, 0, &mut |entry| {
            events.push_back(Event::Entry(seq, Box::new(entry)));
            seq = seq.next();
            ControlFlow::Continue(())
        });
        Counted { entries: seq.get().saturating_sub(first.get()), odd: true }
    };
    index.push(line.offset, entries);
    index.remember(state);
    odd
}

/// Keeps the last [`OVERLAP_BYTES`] of what was read.
fn remember_last(overlap: &mut Vec<u8>, new: &[u8]) {
    let new = new.get(new.len().saturating_sub(OVERLAP_BYTES)..).unwrap_or(new);
    let too_many = overlap.len().saturating_add(new.len()).saturating_sub(OVERLAP_BYTES);
    overlap.drain(..too_many.min(overlap.len()));
    overlap.extend_from_slice(new);
}
