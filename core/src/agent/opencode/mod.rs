//! opencode: a store that rewrites itself, fed into a spool.
//!
//! ```text
//!  JSON tree ── messages and parts ──▶ v1 ──▶ blocks ──▶ settle ──▶ render ──▶ Spool
//! ```
//!
//! Messages are in order of time, then id: ids alone wrapped in August 2026. A block goes into the spool when it has
//! settled, once: a text when it has ended, a call when its input is complete, its answer when it is there.

pub mod layout;

mod block;
mod call;
mod render;
mod settle;
mod tree;
mod v1;

use alloc::format;
use alloc::string::String;

use self::tree::Tree;
use super::drift::Drift;
use crate::config::Config;
use crate::io::{Op, Outcome};
use crate::machine::{Machine, Tag};
use crate::source::spool::{Feeder, Spool, Stored};
use crate::time::Now;

/// Feeds a spool from whichever generation holds the session.
#[derive(Debug)]
pub struct Store {
    tree: Tree,
}

impl Store {
    /// Nothing was asked yet.
    #[must_use]
    pub fn new(stored: &Stored, config: &Config) -> Self {
        Self { tree: Tree::new(&format!("{}/storage", config.roots.opencode), &stored.session) }
    }
}

impl Machine for Store {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.tree.poll_op()
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        self.tree.handle_outcome(now, tag, outcome);
    }
}

impl Feeder for Store {
    fn look(&mut self, now: Now, spool: &Spool) {
        self.tree.look(now, spool);
    }

    fn go_on(&mut self, now: Now, spool: &mut Spool) {
        self.tree.go_on(now, spool);
    }

    fn is_looking(&self) -> bool {
        self.tree.is_looking()
    }

    fn take_trouble(&mut self) -> Option<String> {
        self.tree.take_trouble()
    }

    fn take_drift(&mut self) -> Drift {
        self.tree.take_drift()
    }
}
