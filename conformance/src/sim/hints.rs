//! A virtual file watcher: as good or as bad as a scenario wants.

use core::time::Duration;
use std::collections::BTreeMap;

use panewire_core::ids::WatchId;
use panewire_core::io::{FailureKind, Input, Op};

use super::disk::{Disk, Performed};
use super::reply::Reply;

/// How well changes are announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hinting {
    /// No directory can be watched.
    #[default]
    Refused,
    /// Each change at once, with the name of its file.
    Working,
    /// Directories can be watched, and nothing is ever announced, as on a network mount.
    Silent,
    /// Each change, so much later.
    Late(Duration),
    /// That there was a change, in whatever directory.
    Overflowing,
}

/// The watcher.
#[derive(Debug, Default)]
pub struct Hints {
    hinting: Hinting,
    /// The watched directories behind all links.
    watches: BTreeMap<WatchId, String>,
    last: u64,
}

/// Something that the core is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// [`Input::Hint`]
    Hint(WatchId, Option<String>),
    /// [`Input::WatchEnded`]
    Ended(WatchId),
}

impl Hints {
    /// From now on changes are announced so.
    pub const fn set(&mut self, hinting: Hinting) {
        self.hinting = hinting;
    }

    /// Whoever watched is gone.
    pub fn end_all(&mut self) {
        self.watches.clear();
    }

    /// The directories that are watched.
    #[must_use]
    pub fn watched(&self) -> Vec<&str> {
        self.watches.values().map(String::as_str).collect()
    }

    /// Performs an operation; `None` if it is none for a watcher.
    pub fn perform(&mut self, op: &Op, disk: &Disk) -> Option<Performed> {
        let reply = match op {
            Op::Watch { .. } if self.hinting == Hinting::Refused => Reply::failed(FailureKind::Other),
            Op::Watch { directory } => match disk.real_directory(directory) {
                Some(real) => {
                    self.last += 1;
                    self.watches.insert(WatchId(self.last), real);
                    Reply::Watching(WatchId(self.last))
                }
                None => Reply::failed(FailureKind::NotFound),
            },
            Op::Unwatch { watch } => {
                self.watches.remove(watch);
                Reply::Done
            }
            _ => return None,
        };
        Some(Performed { reply, after: Duration::ZERO })
    }

    /// What the core is told of these changes on the disk, and how much later.
    pub fn announce(&mut self, changed: &[String], disk: &Disk) -> (Vec<Change>, Duration) {
        let mut changes = Vec::new();
        for path in changed {
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
            for (watch, watched) in &self.watches {
                match self.hinting {
                    Hinting::Overflowing => changes.push(Change::Hint(*watch, None)),
                    _ if watched == directory => changes.push(Change::Hint(*watch, Some(name.into()))),
                    _ => {}
                }
            }
        }
        changes.dedup();
        self.watches.retain(|watch, watched| {
            let there = disk.real_directory(watched).as_ref() == Some(watched);
            if !there {
                changes.push(Change::Ended(*watch));
            }
            there
        });
        match self.hinting {
            Hinting::Refused | Hinting::Silent => (Vec::new(), Duration::ZERO),
            Hinting::Working | Hinting::Overflowing => (changes, Duration::ZERO),
            Hinting::Late(by) => (changes, by),
        }
    }
}

impl Change {
    /// What the core is handed.
    #[must_use]
    pub fn input(&self) -> Input<'_> {
        match self {
            Self::Hint(watch, name) => Input::Hint(*watch, name.as_deref()),
            Self::Ended(watch) => Input::WatchEnded(*watch),
        }
    }
}
