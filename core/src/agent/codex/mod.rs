//! Codex: from the lines of its rollouts to entries.
//!
//! ```text
//!  line ──► skim::records ──► Record ──► Memory ──► walk ──┬──► count
//!           (torn, glued)     (spans)   (doubles,  (tables) └──► render ──► Entry
//!                                        replays)
//! ```
//!
//! Codex writes most texts twice: as an item of the model's conversation and as an event of its own, in either order, since
//! lately also as a completed item. And a fork begins with everything that its parent said. So this reader remembers: see
//! `memory`.

pub(crate) mod children;
pub mod layout;

mod answer;
mod call;
mod drift;
mod head;
mod kinds;
mod memory;
mod patch;
mod record;
mod render;
mod said;
mod table;
mod time;
mod walk;

use core::ops::ControlFlow;

pub use head::recorded;

use self::memory::Memory;
use self::walk::{Item, Part, What};
use crate::agent::drift::Drift;
use crate::agent::table::Table;
use crate::agent::{Caps, Counted, Line, Reader, State};
use crate::entry::Entry;
use crate::roster::Told;

/// The version of the rules by which records become entries. Another number means that counts may differ.
pub const RULES_VERSION: u32 = 3;

/// Reads the lines of a Codex rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CodexReader;

impl Reader for CodexReader {
    fn rules_version(&self) -> u32 {
        RULES_VERSION
    }

    fn counted(&self, line: &Line<'_>) -> Counted {
        self.counted_after(&mut State::none(), line)
    }

    fn read_from(&self, line: &Line<'_>, caps: &Caps, skip: u64, each: &mut dyn FnMut(Entry) -> ControlFlow<()>) {
        self.read_after(&State::none(), line, caps, skip, each);
    }

    fn is_stateful(&self) -> bool {
        true
    }

    fn counted_after(&self, state: &mut State, line: &Line<'_>) -> Counted {
        let mut memory = Memory::of(state);
        let (mut entries, mut odd) = (0_u64, false);
        let unplaced = walk::walk(line, &mut memory, &mut |item| {
            entries = entries.saturating_add(1);
            odd |= !matches!(item, Item::Part(Part { what, .. }) if !matches!(what, What::Unknown(_)));
        });
        *state = memory.into_state();
        Counted { entries, odd: odd || unplaced }
    }

    fn read_after(
        &self,
        state: &State,
        line: &Line<'_>,
        caps: &Caps,
        skip: u64,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) {
        let (mut before, mut flow) = (0_u64, ControlFlow::Continue(()));
        walk::walk(line, &mut Memory::of(state), &mut |item| {
            if before >= skip && flow.is_continue() {
                flow = each(render::entry(line.offset, &item, caps));
            }
            before = before.saturating_add(1);
        });
    }

    fn tell(&self, line: &Line<'_>, told: &mut Told) {
        children::note(line, told);
    }

    fn tabulate(&self, state: &mut State, line: &Line<'_>, table: &mut Table) {
        let mut memory = Memory::of(state);
        table::add(line, &mut memory, table);
        *state = memory.into_state();
    }

    fn drift(&self, line: &Line<'_>, file: &str, drift: &mut Drift) {
        drift::note(line, file, drift);
    }
}
