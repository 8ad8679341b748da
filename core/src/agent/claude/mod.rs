//! Claude Code: from the lines of its transcripts to entries.
//!
//! ```text
//!  line ──► records::split ──► Record::skim ──► walk ──┬──► count
//!           (torn, glued)      (spans only)   (tables)  └──► render ──► Entry
//! ```
//!
//! `walk` decides alone what is an entry. Counting and reading both take that walk, so they cannot disagree; reading
//! looks into the spans that the walk hands it and makes exactly one entry of each.

pub(crate) mod children;
pub mod layout;

mod answer;
mod call;
mod drift;
mod head;
mod kinds;
mod known;
mod notice;
mod patch;
mod record;
mod render;
mod said;
mod table;
mod walk;

use core::ops::ControlFlow;

pub use head::recorded;

use self::walk::{Item, Part, What};
use crate::agent::drift::Drift;
use crate::agent::table::Table;
use crate::agent::{Caps, Counted, Line, Reader, State};
use crate::entry::Entry;
use crate::roster::Told;

/// The version of the rules by which records become entries. Another number means that counts may differ.
pub const RULES_VERSION: u32 = 1;

/// Which records of a file belong to the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Selection {
    /// A session's own file: records of child agents in it (old versions wrote them there) make no entry.
    Main,
    /// A child agent's file, whose records all are marked as a child's.
    Child,
}

/// Reads the lines of a Claude Code transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaudeReader {
    /// Which records make entries.
    pub selection: Selection,
}

impl Reader for ClaudeReader {
    fn rules_version(&self) -> u32 {
        RULES_VERSION
    }

    fn counted(&self, line: &Line<'_>) -> Counted {
        self.count_each(line, |_| {})
    }

    fn counted_telling(&self, line: &Line<'_>, told: &mut Told) -> Counted {
        let mut tells = children::may_be_queued(line.bytes);
        let counted = self.count_each(line, |item| tells |= children::may_tell(item, told));
        let inside = self.selection == Selection::Main && counted.entries == 0 && children::may_be_inside(line.bytes);
        if tells || inside {
            self.tell(line, told);
        }
        counted
    }

    fn tell(&self, line: &Line<'_>, told: &mut Told) {
        children::note(line, self.selection, told);
    }

    fn read_from(&self, line: &Line<'_>, caps: &Caps, skip: u64, each: &mut dyn FnMut(Entry) -> ControlFlow<()>) {
        let (mut before, mut flow) = (0_u64, ControlFlow::Continue(()));
        walk::walk(line, self.selection, &mut |item| {
            if before >= skip && flow.is_continue() {
                flow = each(render::entry(line.offset, &item, caps));
            }
            before = before.saturating_add(1);
        });
    }

    fn tabulate(&self, _state: &mut State, line: &Line<'_>, table: &mut Table) {
        table::add(line, self.selection, table);
    }

    fn drift(&self, line: &Line<'_>, file: &str, drift: &mut Drift) {
        drift::note(line, self.selection, file, drift);
    }
}

impl ClaudeReader {
    fn count_each(self, line: &Line<'_>, mut each: impl FnMut(&Item<'_, '_>)) -> Counted {
        let (mut entries, mut odd) = (0_u64, false);
        let unplaced = walk::walk(line, self.selection, &mut |item| {
            entries = entries.saturating_add(1);
            odd |= !matches!(item, Item::Part(Part { what, .. }) if !matches!(what, What::Unknown(_)));
            each(&item);
        });
        Counted { entries, odd: odd || unplaced }
    }
}
