//! One end of a file, up to a bound: opened, read and closed again before anything is said.

use alloc::string::String;
use alloc::vec::Vec;

use crate::ids::Handle;
use crate::io::{Facts, FileKind, Op, Outcome};
use crate::machine::{Asks, Machine, Tag};
use crate::time::Now;

/// Reads the beginning or the end of a regular file.
#[derive(Debug)]
pub(crate) struct Excerpt {
    end: End,
    cap: usize,
    stage: Stage,
    facts: Option<Facts>,
    from: u64,
    bytes: Vec<u8>,
    asks: Asks,
    result: Option<Option<Excerpted>>,
}

/// Which end is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Beginning,
    Tail,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excerpted {
    pub(crate) facts: Facts,
    pub(crate) bytes: Vec<u8>,
    /// Whether there is more before it.
    pub(crate) cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening,
    Reading(Handle),
    Closing,
}

impl Excerpt {
    /// Reads up to `cap` bytes of `path`, which must lie below `under` if that is given.
    pub(crate) fn new(path: String, under: Option<String>, end: End, cap: usize) -> Self {
        let mut asks = Asks::default();
        asks.ask(Op::Open { path, under });
        Self { end, cap, stage: Stage::Opening, facts: None, from: 0, bytes: Vec::new(), asks, result: None }
    }

    /// The result, once; `Some(None)` if there is no such file, or it cannot be read. The file is closed by then.
    pub(crate) fn take_result(&mut self) -> Option<Option<Excerpted>> {
        self.result.take()
    }

    fn opened(&mut self, handle: Handle, facts: Facts) {
        if facts.kind != FileKind::File {
            return self.close(handle);
        }
        if self.end == End::Tail {
            self.from = facts.size.saturating_sub(self.cap as u64);
        }
        self.facts = Some(facts);
        self.read_on(handle);
    }

    fn read_on(&mut self, handle: Handle) {
        match self.cap.saturating_sub(self.bytes.len()) {
            0 => self.close(handle),
            len => {
                self.stage = Stage::Reading(handle);
                let offset = self.from.saturating_add(self.bytes.len() as u64);
                self.asks.ask(Op::Read { handle, offset, len: len.min(crate::limits::MAX_READ_BYTES) });
            }
        }
    }

    fn close(&mut self, handle: Handle) {
        self.stage = Stage::Closing;
        self.asks.ask(Op::CloseFile { handle });
    }

    fn finish(&mut self) {
        let (bytes, cut) = (core::mem::take(&mut self.bytes), self.from > 0);
        self.result = Some(self.facts.take().map(|facts| Excerpted { facts, bytes, cut }));
    }
}

impl Machine for Excerpt {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, _now: Now, _tag: Tag, outcome: Outcome<'_>) {
        match (self.stage, outcome) {
            (Stage::Opening, Outcome::Opened { handle, facts }) => self.opened(handle, facts),
            (Stage::Opening | Stage::Closing, _) => self.finish(),
            (Stage::Reading(handle), Outcome::Bytes { bytes: [], .. }) => self.close(handle),
            (Stage::Reading(handle), Outcome::Bytes { bytes, .. }) => {
                self.bytes.extend_from_slice(bytes);
                self.read_on(handle);
            }
            (Stage::Reading(handle), _) => {
                self.facts = None;
                self.close(handle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{End, Excerpt};
    use crate::pane::simulated::{World, at};

    #[test]
    fn each_end_is_read_up_to_its_bound() {
        let mut world = World::new();
        world.put("/a/b", "0123456789", 7);
        world.read_cap = 3;
        let mut read = |path: &str, end, cap| {
            let mut machine = Excerpt::new(path.into(), Some("/a".into()), end, cap);
            world.drive(at(0), &mut machine);
            machine.take_result().unwrap().map(|found| (found.bytes, found.cut))
        };
        assert_eq!(read("/a/b", End::Beginning, 4), Some((b"0123".to_vec(), false)));
        assert_eq!(read("/a/b", End::Tail, 4), Some((b"6789".to_vec(), true)));
        assert_eq!(read("/a/b", End::Tail, 40), Some((b"0123456789".to_vec(), false)));
        assert_eq!(read("/a", End::Tail, 4), None);
        assert_eq!(read("/a/c", End::Tail, 4), None);
    }
}
