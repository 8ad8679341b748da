//! A child of an old version, whose lines stand between those of its session, in the session's own file.

use alloc::sync::Arc;
use core::ops::ControlFlow;

use crate::agent::claude::{ClaudeReader, RULES_VERSION, Selection};
use crate::agent::drift::Drift;
use crate::agent::{Caps, Counted, Line, Reader};
use crate::entry::Entry;
use crate::roster::Told;

/// Reads the lines of one such child, which were found when the session was counted, and no others.
#[derive(Debug)]
pub(super) struct InsideReader {
    /// Where its lines lie: from the beginning of one to behind the end of another, in order.
    pub(super) runs: Arc<[(u64, u64)]>,
}

impl InsideReader {
    const READER: ClaudeReader = ClaudeReader { selection: Selection::Child };

    fn has(&self, line: &Line<'_>) -> bool {
        let behind = self.runs.partition_point(|(from, _)| *from <= line.offset);
        behind.checked_sub(1).and_then(|at| self.runs.get(at)).is_some_and(|(_, to)| line.offset < *to)
    }
}

impl Reader for InsideReader {
    fn rules_version(&self) -> u32 {
        RULES_VERSION
    }

    fn counted(&self, line: &Line<'_>) -> Counted {
        if self.has(line) { Self::READER.counted(line) } else { Counted::default() }
    }

    fn tell(&self, line: &Line<'_>, told: &mut Told) {
        if self.has(line) {
            Self::READER.tell(line, told);
        }
    }

    fn read_from(&self, line: &Line<'_>, caps: &Caps, skip: u64, each: &mut dyn FnMut(Entry) -> ControlFlow<()>) {
        if self.has(line) {
            Self::READER.read_from(line, caps, skip, each);
        }
    }

    /// What is odd in these lines is noted with the session's own.
    fn drift(&self, _line: &Line<'_>, _file: &str, _drift: &mut Drift) {}
}
