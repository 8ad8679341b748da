//! Whether a directory that a session recorded is the one that is meant: by its name, and where that differs, by what it
//! leads to. An agent records the directory that a link leads to, while a pane may name the link.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;

use super::locate::without_final_slash;
use crate::io::{FileIdentity, FileKind, Op, Outcome};
use crate::limits::{MAX_COMPARED_DIRECTORIES, MAX_SEARCH_OPS};
use crate::machine::{Asks, Machine, Tag};
use crate::time::Now;

/// Compares directories with the one that is meant.
#[derive(Debug, Default)]
pub(crate) struct Directories {
    meant: Option<String>,
    /// What was asked, and what is there.
    known: BTreeMap<String, Option<FileIdentity>>,
    unasked: VecDeque<String>,
    in_flight: BTreeMap<Tag, String>,
    asks: Asks,
}

impl Directories {
    pub(crate) fn new(meant: Option<&str>) -> Self {
        Self { meant: meant.map(|path| without_final_slash(path).into()), ..Self::default() }
    }

    /// The directory that is meant.
    pub(crate) fn meant(&self) -> Option<&str> {
        self.meant.as_deref()
    }

    /// Has this one looked at, if its name alone does not tell.
    pub(crate) fn consider(&mut self, path: &str) {
        let path = without_final_slash(path);
        let Some(meant) = self.meant.clone() else { return };
        if path == meant || !path.starts_with('/') || self.known.len() >= MAX_COMPARED_DIRECTORIES {
            return;
        }
        for path in [meant.as_str(), path] {
            if !self.known.contains_key(path) {
                self.known.insert(path.into(), None);
                self.unasked.push_back(path.into());
            }
        }
        self.ask_on();
    }

    /// Whether nothing is asked any more.
    pub(crate) fn is_done(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Whether this is the directory that is meant, as far as it was considered.
    pub(crate) fn is_meant(&self, path: &str) -> bool {
        let Some(meant) = self.meant() else { return false };
        let identity = |path: &str| self.known.get(path).copied().flatten();
        let path = without_final_slash(path);
        path == meant || identity(path).is_some_and(|found| identity(meant) == Some(found))
    }

    fn ask_on(&mut self) {
        while self.in_flight.len() < MAX_SEARCH_OPS
            && let Some(path) = self.unasked.pop_front()
        {
            self.in_flight.insert(self.asks.ask(Op::Stat { path: path.clone() }), path);
        }
    }
}

impl Machine for Directories {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, _now: Now, tag: Tag, outcome: Outcome<'_>) {
        let Some(path) = self.in_flight.remove(&tag) else { return };
        if let Outcome::Facts(facts) = outcome
            && facts.kind == FileKind::Directory
        {
            self.known.insert(path, Some(facts.identity));
        }
        self.ask_on();
    }
}
