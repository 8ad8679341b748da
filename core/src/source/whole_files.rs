//! Reads many small files whole, a few at a time.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::ids::Handle;
use crate::io::{Facts, FailureKind, FileKind, Op, Outcome};
use crate::limits::MAX_READ_BYTES;
use crate::machine::{Asks, Machine, Tag};
use crate::time::Now;

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whole {
    /// All of it, and what it was when it was opened.
    Bytes(Facts, Vec<u8>),
    /// It is larger than the cap.
    TooLarge(Facts),
    /// It is not there, is no regular file, or lies outside the directory that must contain it.
    Absent,
    /// It cannot be read, in the operating system's words.
    Unreadable(String),
}

/// Reads files for somebody who names each with a key.
#[derive(Debug)]
pub struct WholeFiles<K> {
    under: String,
    cap_bytes: usize,
    max_open: usize,
    waiting: VecDeque<(K, String)>,
    in_flight: BTreeMap<Tag, Job<K>>,
    done: VecDeque<(K, Whole)>,
    asks: Asks,
}

#[derive(Debug)]
struct Job<K> {
    key: K,
    open: Option<(Handle, Facts)>,
    bytes: Vec<u8>,
}

impl<K> WholeFiles<K> {
    /// Reads files below a directory, each up to so many bytes, so many at once.
    #[must_use]
    pub fn new(under: String, cap_bytes: usize, max_open: usize) -> Self {
        Self {
            under,
            cap_bytes,
            max_open,
            waiting: VecDeque::new(),
            in_flight: BTreeMap::new(),
            done: VecDeque::new(),
            asks: Asks::default(),
        }
    }

    /// Reads this file, too.
    pub fn read(&mut self, key: K, path: String) {
        self.waiting.push_back((key, path));
        self.go_on();
    }

    /// Whether one more would be read at once.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.waiting.is_empty() && self.in_flight.len() < self.max_open
    }

    /// Whether nothing is on its way and nothing waits to be taken.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.in_flight.is_empty() && self.done.is_empty()
    }

    /// Takes a file that was read.
    pub fn take(&mut self) -> Option<(K, Whole)> {
        self.done.pop_front()
    }

    fn go_on(&mut self) {
        while self.in_flight.len() < self.max_open
            && let Some((key, path)) = self.waiting.pop_front()
        {
            let tag = self.asks.ask(Op::Open { path, under: Some(self.under.clone()) });
            self.in_flight.insert(tag, Job { key, open: None, bytes: Vec::new() });
        }
    }

    fn read_on(&mut self, handle: Handle, job: Job<K>) {
        // One byte more than may be there tells a file that is too large from one that fits.
        let room = self.cap_bytes.saturating_add(1).saturating_sub(job.bytes.len());
        let tag =
            self.asks.ask(Op::Read { handle, offset: job.bytes.len() as u64, len: room.clamp(1, MAX_READ_BYTES) });
        self.in_flight.insert(tag, job);
    }

    fn finish(&mut self, job: Job<K>, whole: Whole) {
        if let Some((handle, _)) = job.open {
            self.asks.ask(Op::CloseFile { handle });
        }
        self.done.push_back((job.key, whole));
    }
}

impl<K> Machine for WholeFiles<K> {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, _now: Now, tag: Tag, outcome: Outcome<'_>) {
        let Some(mut job) = self.in_flight.remove(&tag) else { return };
        match (job.open, outcome) {
            (None, Outcome::Opened { handle, facts }) => {
                job.open = Some((handle, facts));
                if facts.kind == FileKind::File { self.read_on(handle, job) } else { self.finish(job, Whole::Absent) }
            }
            (Some((handle, facts)), Outcome::Bytes { bytes, .. }) => {
                job.bytes.extend_from_slice(bytes);
                if job.bytes.len() > self.cap_bytes {
                    self.finish(job, Whole::TooLarge(facts));
                } else if bytes.is_empty() {
                    let bytes = core::mem::take(&mut job.bytes);
                    self.finish(job, Whole::Bytes(facts, bytes));
                } else {
                    self.read_on(handle, job);
                }
            }
            (None, Outcome::Failed(failure))
                if matches!(failure.kind, FailureKind::NotFound | FailureKind::Outside) =>
            {
                self.finish(job, Whole::Absent);
            }
            (_, Outcome::Failed(failure)) => self.finish(job, Whole::Unreadable(failure.text.to_string())),
            _ => self.finish(job, Whole::Unreadable("unexpected outcome".to_string())),
        }
        self.go_on();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pane::simulated::{World, at};

    #[test]
    fn files_are_read_whole_and_what_is_none_says_why() {
        let mut world = World::new();
        world.put("/s/a", "hello", 1);
        world.put("/s/cap", "12345678", 1);
        world.put("/s/large", "123456789", 1);
        world.put("/s/denied", "x", 1);
        world.put("/s/dir/x", "x", 1);
        world.put("/out", "x", 1);
        world.link("/s/link", "/out");
        world.deny("/s/denied");
        world.read_cap = 3;
        let mut files = WholeFiles::new("/s".into(), 8, 2);
        for name in ["a", "cap", "large", "denied", "dir", "link", "absent"] {
            files.read(name, alloc::format!("/s/{name}"));
        }
        world.drive(at(0), &mut files);
        let mut found: Vec<_> = core::iter::from_fn(|| files.take()).collect();
        found.sort_by_key(|(name, _)| *name);
        let said: Vec<(&str, &str)> = found
            .iter()
            .map(|(name, whole)| {
                let said = match whole {
                    Whole::Bytes(facts, bytes) if facts.size == bytes.len() as u64 => str::from_utf8(bytes).unwrap(),
                    Whole::Bytes(..) => "short",
                    Whole::TooLarge(_) => "(too large)",
                    Whole::Absent => "(absent)",
                    Whole::Unreadable(text) => text,
                };
                (*name, said)
            })
            .collect();
        assert_eq!(
            said,
            [
                ("a", "hello"),
                ("absent", "(absent)"),
                ("cap", "12345678"),
                ("denied", "no luck"),
                ("dir", "(absent)"),
                ("large", "(too large)"),
                ("link", "(absent)"),
            ]
        );
        assert!(files.is_idle());
    }
}
