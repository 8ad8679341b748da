//! Whichever generation of the store holds a session: the service first, then the database, then the JSON tree.

use alloc::format;
use alloc::string::String;

use super::database::Database;
use super::layout::tree_root;
use super::remote::Remote;
use super::tree::Tree;
use crate::agent::drift::Drift;
use crate::config::Config;
use crate::io::{Op, Outcome};
use crate::machine::{Machine, Tag, of_side};
use crate::source::spool::{Feeder, Spool, Stored};
use crate::time::Now;

/// Feeds a spool from the first generation that holds the session. Which one that is may change: a service begins and
/// ends, a tree is migrated.
#[derive(Debug)]
pub struct Store {
    remote: Remote,
    database: Database,
    tree: Tree,
    /// It is not known yet where the session is, and so not whether it is of the pane's directory.
    is_pending: bool,
    /// Which of them looks, if any does.
    at: Option<Generation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Generation {
    Service,
    Database,
    Tree,
}

impl Generation {
    /// The operations of each have tags of their own.
    const COUNT: u32 = 3;

    const fn number(self) -> u32 {
        match self {
            Self::Service => 0,
            Self::Database => 1,
            Self::Tree => 2,
        }
    }

    const fn of(number: u32) -> Self {
        match number {
            0 => Self::Service,
            1 => Self::Database,
            _ => Self::Tree,
        }
    }
}

impl Store {
    /// Nothing was asked yet.
    #[must_use]
    pub fn new(stored: &Stored, config: &Config) -> Self {
        let roots = &config.roots;
        let is_database = stored.path.ends_with(".db");
        let path = if is_database { stored.path.clone() } else { format!("{}/opencode.db", roots.opencode) };
        Self {
            remote: Remote::new(&roots.opencode_state, &stored.session),
            database: Database::new(&path, &roots.opencode, &stored.session),
            tree: Tree::new(&tree_root(roots), &stored.session),
            is_pending: !stored.exists,
            at: None,
        }
    }

    fn feeder(&mut self, generation: Generation) -> &mut dyn Feeder {
        match generation {
            Generation::Service => &mut self.remote,
            Generation::Database => &mut self.database,
            Generation::Tree => &mut self.tree,
        }
    }

    /// The generation to ask when this one does not hold the session.
    const fn next(&self, generation: Generation) -> Option<Generation> {
        match generation {
            Generation::Service if !self.remote.found() => Some(Generation::Database),
            Generation::Database if !self.database.found() => Some(Generation::Tree),
            Generation::Service | Generation::Database | Generation::Tree => None,
        }
    }
}

impl Feeder for Store {
    fn look(&mut self, now: Now, spool: &Spool) {
        if !self.is_pending {
            self.at = Some(Generation::Service);
            self.remote.look(now, spool);
        }
    }

    fn go_on(&mut self, now: Now, spool: &mut Spool) {
        while let Some(at) = self.at {
            let feeder = self.feeder(at);
            feeder.go_on(now, spool);
            if feeder.is_looking() {
                return;
            }
            self.at = self.next(at);
            if let Some(next) = self.at {
                self.feeder(next).look(now, spool);
            }
        }
    }

    fn is_looking(&self) -> bool {
        self.at.is_some()
    }

    fn relocate(&mut self, stored: &Stored) {
        self.is_pending = !stored.exists;
        if stored.path.ends_with(".db") {
            self.database.relocate(&stored.path);
        }
    }

    fn is_announced(&self) -> bool {
        self.remote.found()
    }

    fn take_trouble(&mut self) -> Option<String> {
        self.remote.take_trouble().or_else(|| self.database.take_trouble()).or_else(|| self.tree.take_trouble())
    }

    fn take_drift(&mut self) -> Drift {
        let mut drift = self.remote.take_drift();
        drift.absorb(self.database.take_drift());
        drift.absorb(self.tree.take_drift());
        drift
    }
}

impl Machine for Store {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        let at = self.at?;
        self.feeder(at).poll_op().map(of_side::<{ Generation::COUNT }>(at.number()))
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        let (number, inner) = tag.side::<{ Generation::COUNT }>();
        self.feeder(Generation::of(number)).handle_outcome(now, inner, outcome);
    }
}
