//! Saved indexes in the state directory: written one by one, and never too many.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::io::{DirEntry, Op, Outcome};
use crate::limits::{MAX_DIRECTORY_NAMES, MAX_SAVED_BYTES, MAX_SAVED_INDEXES, SAVED_INDEX_BYTES};
use crate::machine::{Asks, Machine, Tag};
use crate::source::own_files::OwnFiles;
use crate::time::Now;

/// Where the index of this file is saved: the name says nothing about the file.
pub(super) fn path_of(state_dir: &str, path: &str) -> String {
    INDEXES.path_of(state_dir, path.as_bytes())
}

/// Writes indexes, and removes the oldest when there are too many.
#[derive(Debug)]
pub(super) struct IndexStore {
    directory: String,
    asks: Asks,
    writes: usize,
    listing: Option<Tag>,
}

impl IndexStore {
    pub(super) fn new(state_dir: &str) -> Self {
        Self { directory: INDEXES.directory_in(state_dir), asks: Asks::default(), writes: 0, listing: None }
    }

    /// Saves an index. One that is too large is not: its file will be counted again.
    pub(super) fn save(&mut self, path: String, bytes: Vec<u8>) {
        if bytes.len() <= SAVED_INDEX_BYTES {
            self.asks.ask(Op::Write { path, bytes: Bytes::from(bytes) });
            self.writes = self.writes.saturating_add(1);
        }
    }

    fn tidy(&mut self, names: &[DirEntry]) {
        for name in INDEXES.surplus(names) {
            self.asks.ask(Op::Remove { path: format!("{}/{name}", self.directory) });
        }
    }
}

impl Machine for IndexStore {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    /// A write that failed costs the next life a count, no more.
    fn handle_outcome(&mut self, _now: Now, tag: Tag, outcome: Outcome<'_>) {
        if self.listing == Some(tag) {
            self.listing = None;
            if let Outcome::Listing { names, .. } = outcome {
                self.tidy(names);
            }
        } else if self.writes > 0 {
            self.writes = self.writes.saturating_sub(1);
            if self.writes == 0 && self.listing.is_none() {
                let (path, max_names) = (self.directory.clone(), MAX_DIRECTORY_NAMES);
                self.listing = Some(self.asks.ask(Op::List { path, max_names }));
            }
        }
    }
}

const INDEXES: OwnFiles =
    OwnFiles { directory: "index", suffix: ".index", most: MAX_SAVED_INDEXES, most_bytes: MAX_SAVED_BYTES };

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;
    use alloc::vec;

    use super::*;
    use crate::io::{Facts, FileIdentity, FileKind, FileTime};

    fn entry(name: &str, modified: i64, size: u64) -> DirEntry {
        let identity = FileIdentity { device: 1, inode: 1 };
        let facts = Facts { kind: FileKind::File, identity, size, modified: FileTime(modified) };
        DirEntry { name: name.to_string(), facts }
    }

    /// What is removed of these files after a save.
    fn removed(names: &[DirEntry]) -> Vec<String> {
        let mut store = IndexStore::new("/state");
        store.save(path_of("/state", "/p/s.jsonl"), vec![1]);
        let (tag, _) = store.poll_op().unwrap();
        store.handle_outcome(Now::default(), tag, Outcome::Done);
        let (tag, op) = store.poll_op().unwrap();
        assert_eq!(op, Op::List { path: "/state/index".to_string(), max_names: MAX_DIRECTORY_NAMES });
        store.handle_outcome(Now::default(), tag, Outcome::Listing { names, truncated: false });
        let mut removed = vec![];
        while let Some((tag, op)) = store.poll_op() {
            store.handle_outcome(Now::default(), tag, Outcome::Done);
            let Op::Remove { path } = op else { panic!("{op:?}") };
            removed.push(path);
        }
        removed
    }

    #[test]
    fn the_name_says_nothing_and_is_always_the_same() {
        let name = path_of("/state", "/home/u/.claude/projects/p/s.jsonl");
        assert_eq!(name.len(), "/state/index/".len() + 32 + ".index".len());
        assert_eq!(name, path_of("/state", "/home/u/.claude/projects/p/s.jsonl"));
        assert_ne!(name, path_of("/state", "/home/u/.claude/projects/p/t.jsonl"));
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let mut names: Vec<DirEntry> = (0..258).map(|n| entry(&format!("{n}.index"), n, 10)).collect();
        names.push(entry("somebody-elses", 0, 10));
        assert_eq!(removed(&names), ["/state/index/1.index", "/state/index/0.index"]);
    }

    #[test]
    fn the_oldest_go_when_they_are_too_large_together() {
        let large = MAX_SAVED_BYTES / 2;
        let names = [entry("a.index", 1, large), entry("b.index", 3, large), entry("c.index", 2, 1)];
        assert_eq!(removed(&names), ["/state/index/a.index"]);
        assert!(removed(&names[..2]).is_empty());
    }
}
