//! Files of our own state that are many: those of one kind in one directory, with names that say nothing, and never too
//! many.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

use crate::io::{DirEntry, FileTime};

/// One kind of such files.
#[derive(Debug)]
pub(crate) struct OwnFiles {
    /// The directory in the state directory.
    pub(crate) directory: &'static str,
    /// What their names end in; others in the directory are somebody else's.
    pub(crate) suffix: &'static str,
    /// So many are kept.
    pub(crate) most: usize,
    /// And so many bytes of all of them together.
    pub(crate) most_bytes: u64,
}

impl OwnFiles {
    /// Where they are.
    pub(crate) fn directory_in(&self, state_dir: &str) -> String {
        format!("{state_dir}/{}", self.directory)
    }

    /// Where the one for this is.
    pub(crate) fn path_of(&self, state_dir: &str, what: &[u8]) -> String {
        let mut path = self.directory_in(state_dir);
        path.push('/');
        for byte in Sha256::digest(what).iter().take(16) {
            path.push_str(&format!("{byte:02x}"));
        }
        path.push_str(self.suffix);
        path
    }

    /// The names of those for which there is no room, the oldest of all.
    pub(crate) fn surplus<'a>(&self, names: &'a [DirEntry]) -> Vec<&'a str> {
        let mut own: Vec<(FileTime, &str, u64)> = names
            .iter()
            .filter(|entry| entry.name.ends_with(self.suffix))
            .map(|entry| (entry.facts.modified, entry.name.as_str(), entry.facts.size))
            .collect();
        own.sort_unstable_by(|one, other| other.cmp(one));
        let mut bytes = 0_u64;
        let has_no_room = |(at, (_, name, size)): (usize, (FileTime, &'a str, u64))| {
            bytes = bytes.saturating_add(size);
            (at >= self.most || bytes > self.most_bytes).then_some(name)
        };
        own.into_iter().enumerate().filter_map(has_no_room).collect()
    }
}
