//! A look at both ends of a file: whether it can be read, and what its beginning says.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::agent::Recorded;
use crate::ids::Handle;
use crate::io::{Facts, FailureKind, FileKind, Op, Outcome};
use crate::limits;
use crate::machine::{Asks, Machine, Tag};
use crate::time::Now;

/// Opens a file, reads its beginning and perhaps its end, and closes it again before it says anything.
#[derive(Debug)]
pub struct Probe {
    recorded: fn(&[u8]) -> Recorded,
    ends: Ends,
    head: Vec<u8>,
    facts: Option<Facts>,
    failure: Option<ProbeError>,
    stage: Stage,
    asks: Asks,
    result: Option<Result<Probed, ProbeError>>,
}

/// Which ends are read, [`PROBE_BYTES`](limits::PROBE_BYTES) of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// The beginning.
    Head,
    /// The beginning and the end.
    Both,
}

/// What a look at a file found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probed {
    /// The file that was opened.
    pub facts: Facts,
    /// What its beginning says.
    pub recorded: Recorded,
}

/// Why a file could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeError {
    /// It is not there, is no regular file, or lies outside the directory that must contain it.
    NoFile,
    /// It is there and cannot be read, in the operating system's words.
    Unreadable(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening,
    Head(Handle),
    Tail(Handle, u64),
    Closing,
}

impl Probe {
    /// Looks at `path`, which must lie below `under`. `recorded` reads its beginning.
    #[must_use]
    pub fn new(path: &str, under: &str, ends: Ends, recorded: fn(&[u8]) -> Recorded) -> Self {
        let mut asks = Asks::default();
        asks.ask(Op::Open { path: path.into(), under: Some(under.into()) });
        Self { recorded, ends, head: Vec::new(), facts: None, failure: None, stage: Stage::Opening, asks, result: None }
    }

    /// The result, once. The file is closed by then.
    pub fn take_result(&mut self) -> Option<Result<Probed, ProbeError>> {
        self.result.take()
    }

    fn read_on(&mut self, handle: Handle) {
        let left = limits::PROBE_BYTES.saturating_sub(self.head.len());
        if left > 0 {
            self.stage = Stage::Head(handle);
            self.asks.ask(Op::Read { handle, offset: self.head.len() as u64, len: left });
        } else {
            self.read_tail(handle);
        }
    }

    fn read_tail(&mut self, handle: Handle) {
        let size = self.facts.map_or(0, |facts| facts.size);
        let head = self.head.len() as u64;
        let offset = size.saturating_sub(limits::PROBE_BYTES as u64).max(head);
        if self.ends == Ends::Both && offset < size {
            self.read_tail_from(handle, offset);
        } else {
            self.close(handle);
        }
    }

    fn read_tail_from(&mut self, handle: Handle, offset: u64) {
        self.stage = Stage::Tail(handle, offset);
        self.asks.ask(Op::Read { handle, offset, len: limits::PROBE_BYTES });
    }

    fn close(&mut self, handle: Handle) {
        self.stage = Stage::Closing;
        self.asks.ask(Op::CloseFile { handle });
    }

    fn finish(&mut self) {
        let head = core::mem::take(&mut self.head);
        self.result = Some(match (self.failure.take(), self.facts) {
            (None, Some(facts)) if facts.kind == FileKind::File => {
                Ok(Probed { facts, recorded: (self.recorded)(&head) })
            }
            (Some(failure), _) => Err(failure),
            (None, _) => Err(ProbeError::NoFile),
        });
    }
}

impl Machine for Probe {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, _now: Now, _tag: Tag, outcome: Outcome<'_>) {
        match (self.stage, outcome) {
            (Stage::Opening, Outcome::Opened { handle, facts }) => {
                self.facts = Some(facts);
                if facts.kind == FileKind::File { self.read_on(handle) } else { self.close(handle) }
            }
            (Stage::Opening, outcome) => {
                self.failure = Some(ProbeError::of(outcome));
                self.finish();
            }
            (Stage::Head(handle), Outcome::Bytes { bytes, .. }) => {
                self.head.extend_from_slice(bytes);
                if bytes.is_empty() { self.read_tail(handle) } else { self.read_on(handle) }
            }
            (Stage::Tail(handle, _), Outcome::Bytes { bytes: [], .. }) => self.close(handle),
            (Stage::Tail(handle, offset), Outcome::Bytes { bytes, .. }) => {
                let offset = offset.saturating_add(bytes.len() as u64);
                let size = self.facts.map_or(0, |facts| facts.size);
                if offset < size { self.read_tail_from(handle, offset) } else { self.close(handle) }
            }
            (Stage::Head(handle) | Stage::Tail(handle, _), outcome) => {
                self.failure = Some(match ProbeError::of(outcome) {
                    ProbeError::NoFile => ProbeError::Unreadable("the open file is gone".to_string()),
                    unreadable @ ProbeError::Unreadable(_) => unreadable,
                });
                self.close(handle);
            }
            (Stage::Closing, _) => self.finish(),
        }
    }
}

impl ProbeError {
    fn of(outcome: Outcome<'_>) -> Self {
        match outcome {
            Outcome::Failed(failure) if matches!(failure.kind, FailureKind::NotFound | FailureKind::Outside) => {
                Self::NoFile
            }
            Outcome::Failed(failure) => Self::Unreadable(failure.text.to_string()),
            _ => Self::Unreadable("unexpected outcome".to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::{Ends, Probe, ProbeError, Probed};
    use crate::agent::Recorded;
    use crate::ids::Handle;
    use crate::io::{Facts, Failure, FailureKind, FileIdentity, FileKind, FileTime, Op, Outcome};
    use crate::machine::Machine as _;
    use crate::pane::simulated::{World, at};

    fn recorded(head: &[u8]) -> Recorded {
        Recorded { cwd: Some(head.len().to_string()), ..Recorded::default() }
    }

    fn probe(world: &mut World, path: &str, ends: Ends) -> Result<Probed, ProbeError> {
        let mut machine = Probe::new(path, "/in", ends, recorded);
        world.drive(at(0), &mut machine);
        machine.take_result().expect("a result when nothing is asked any more")
    }

    #[test]
    fn the_head_is_read_up_to_its_bound_in_pieces() {
        let mut world = World::new();
        world.put("/in/a", &"x".repeat(100_000), 1);
        world.read_cap = 30_000;
        let probed = probe(&mut world, "/in/a", Ends::Head).unwrap();
        assert_eq!((probed.recorded.cwd.as_deref(), probed.facts.size), (Some("65536"), 100_000));
        let read = |from: u64| world.log.iter().any(|op| matches!(op, Op::Read { offset, .. } if *offset == from));
        assert!(read(30_000) && read(60_000) && !read(65_536));
        // Of two ends that meet, nothing is read twice.
        world.read_cap = usize::MAX;
        world.log.clear();
        probe(&mut world, "/in/a", Ends::Both).unwrap();
        let tail = Op::Read { handle: Handle(2), offset: 65_536, len: 65_536 };
        assert_eq!(world.log[2], tail);
    }

    #[test]
    fn a_short_or_empty_file_is_read_once() {
        let mut world = World::new();
        world.put("/in/a", "hello", 1);
        world.put("/in/empty", "", 1);
        assert_eq!(probe(&mut world, "/in/a", Ends::Both).unwrap().recorded.cwd.as_deref(), Some("5"));
        assert_eq!(probe(&mut world, "/in/empty", Ends::Both).unwrap().recorded.cwd.as_deref(), Some("0"));
    }

    #[test]
    fn what_is_no_readable_file_says_which() {
        let mut world = World::new();
        world.put("/out/a", "x", 1);
        world.put("/in/dir/a", "x", 1);
        world.put("/in/denied", "x", 1);
        world.link("/in/link", "/out/a");
        world.deny("/in/denied");
        for none in ["/in/absent", "/in/dir", "/in/link", "/out/a"] {
            assert_eq!(probe(&mut world, none, Ends::Both), Err(ProbeError::NoFile), "{none}");
        }
        let unreadable = Err(ProbeError::Unreadable("no luck".to_string()));
        assert_eq!(probe(&mut world, "/in/denied", Ends::Both), unreadable);
    }

    #[test]
    fn a_read_that_fails_closes_the_file_before_it_is_told() {
        let facts = Facts {
            kind: FileKind::File,
            identity: FileIdentity { device: 1, inode: 1 },
            size: 9,
            modified: FileTime(0),
        };
        let mut machine = Probe::new("/in/a", "/in", Ends::Head, recorded);
        let (tag, _) = machine.poll_op().unwrap();
        machine.handle_outcome(at(0), tag, Outcome::Opened { handle: Handle(3), facts });
        let (tag, _) = machine.poll_op().unwrap();
        let failure = Failure { kind: FailureKind::Other, text: "input/output error" };
        machine.handle_outcome(at(0), tag, Outcome::Failed(failure));
        assert_eq!(machine.take_result(), None);
        let (tag, close) = machine.poll_op().unwrap();
        assert_eq!(close, Op::CloseFile { handle: Handle(3) });
        machine.handle_outcome(at(0), tag, Outcome::Done);
        let unreadable = Err(ProbeError::Unreadable("input/output error".to_string()));
        assert_eq!(machine.take_result(), Some(unreadable));
    }
}
