//! The demo pane: served where there is nothing else to follow, or where it was asked for.

use alloc::collections::BTreeSet;

use super::Bridge;
use super::ops::Owner;
use crate::agent::locate::Located;
use crate::config;
use crate::ids::ExId;
use crate::io::Outcome;
use crate::machine::{Machine as _, Tag};
use crate::pane::demo::Demo;
use crate::timers::Timer;

/// Its name.
pub(super) const PANE: &str = "demo";

/// The demo conversation, once somebody asked for it, and who waits for its beginning to be written.
#[derive(Debug, Default)]
pub(super) struct DemoPane {
    writer: Option<Demo>,
    waiting: BTreeSet<ExId>,
}

impl DemoPane {
    /// Where the conversation is now, for those who resolve its pane.
    pub(super) fn located(&self) -> Option<&Located> {
        self.writer.as_ref().map(Demo::located)
    }

    pub(super) fn forget(&mut self, ex: ExId) {
        self.waiting.remove(&ex);
    }
}

impl Bridge {
    /// Somebody asks for the pane `demo`. Whether it is served may depend on what else there is.
    pub(super) fn connect_demo(&mut self, ex: ExId) {
        if self.demo.writer.is_some() || self.config.demo == config::Demo::Always {
            self.begin_demo(ex);
        } else {
            self.list(ex);
        }
    }

    /// The pane `demo` is served: takes `ex` in as soon as there is something to read.
    pub(super) fn begin_demo(&mut self, ex: ExId) {
        self.demo.waiting.insert(ex);
        let demo = self.demo.writer.get_or_insert_with(|| Demo::new(self.now, &self.config));
        if demo.located().exists {
            self.connect_waiting();
        } else {
            self.drain_demo();
        }
    }

    /// The demo conversation goes on while somebody watches it.
    pub(super) fn run_demo(&mut self) {
        let watched = self.sessions.watches(PANE);
        if let Some(demo) = &mut self.demo.writer {
            demo.set_watched(self.now, watched);
            demo.handle_tick(self.now);
            self.drain_demo();
        }
    }

    pub(super) fn demo_outcome(&mut self, tag: Tag, outcome: Outcome<'_>) {
        if let Some(demo) = &mut self.demo.writer {
            demo.handle_outcome(self.now, tag, outcome);
            self.drain_demo();
            // Written or not: whoever waited gets what is there, or the reason why nothing is.
            self.connect_waiting();
        }
    }

    fn connect_waiting(&mut self) {
        for ex in core::mem::take(&mut self.demo.waiting) {
            self.resolve(ex, PANE.into());
        }
    }

    fn drain_demo(&mut self) {
        let Some(demo) = &mut self.demo.writer else { return };
        self.ops.issue_all(Owner::Demo, demo, &mut self.outputs);
        match demo.deadline() {
            Some(at) => self.timers.set(Timer::Demo, at),
            None => self.timers.stop(Timer::Demo),
        }
    }
}
