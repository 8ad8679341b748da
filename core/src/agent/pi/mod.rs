//! pi: from the lines of its sessions to entries.
//!
//! ```text
//!  line ──► skim::records ──► Record ──► walk ──┬──► count
//!           (torn, glued)     (spans)  (tables)  └──► render ──► Entry
//! ```
//!
//! Every version of the format is read by the same tables: versions differ in which members are there, not in what they
//! mean. Sessions are trees since version 2; the lines of all branches are shown in the order of the file.

pub mod layout;

mod call;
mod drift;
mod head;
mod kinds;
mod record;
mod render;
mod table;
mod walk;

use core::ops::ControlFlow;

pub use head::recorded;

use self::record::Record;
use self::walk::{Item, Part, What};
use crate::agent::drift::Drift;
use crate::agent::table::Table;
use crate::agent::{Caps, Counted, Line, Reader, State, skim};
use crate::entry::Entry;
use crate::roster::Told;
use crate::source::json::Value;

/// The version of the rules by which records become entries. Another number means that counts may differ.
pub const RULES_VERSION: u32 = 1;

/// Reads the lines of a pi session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PiReader;

impl Reader for PiReader {
    fn rules_version(&self) -> u32 {
        RULES_VERSION
    }

    fn counted(&self, line: &Line<'_>) -> Counted {
        let (mut entries, mut odd) = (0_u64, false);
        let unplaced = walk::walk(line, &mut |item| {
            entries = entries.saturating_add(1);
            odd |= !matches!(item, Item::Part(Part { what, .. }) if !matches!(what, What::Unknown(_)));
        });
        Counted { entries, odd: odd || unplaced }
    }

    fn read_from(&self, line: &Line<'_>, caps: &Caps, skip: u64, each: &mut dyn FnMut(Entry) -> ControlFlow<()>) {
        let (mut before, mut flow) = (0_u64, ControlFlow::Continue(()));
        walk::walk(line, &mut |item| {
            if before >= skip && flow.is_continue() {
                flow = each(render::entry(line.offset, &item, caps));
            }
            before = before.saturating_add(1);
        });
    }

    fn tell(&self, line: &Line<'_>, told: &mut Told) {
        skim::records(line, &mut |_, found: Result<&Record<'_>, _>| {
            // The header has an id of another kind, and nothing follows it.
            if let Ok(record) = found
                && !record.kind.is_some_and(|kind| kind.is("session"))
                && let Some(id) = record.id.and_then(Value::literal)
            {
                told.branches_mut().record(id, record.parent.and_then(Value::literal));
            }
        });
    }

    fn tabulate(&self, _state: &mut State, line: &Line<'_>, table: &mut Table) {
        table::add(line, table);
    }

    fn drift(&self, line: &Line<'_>, file: &str, drift: &mut Drift) {
        drift::note(line, file, drift);
    }
}
