//! The sparse index of a stream: where in the file which seq lies.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::agent::State;
use crate::ids::Seq;
use crate::limits::CHECKPOINT_BYTES;

/// A place in a file from which lines can be read, and what lies before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// Where a line begins.
    pub offset: u64,
    /// How many entries lie before it.
    pub entries_before: u64,
}

/// Checkpoints every 64 KiB and the number of entries so far: 16 bytes for each 64 KiB of file, and what the reader
/// remembers there if it remembers anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeqIndex {
    checkpoints: Vec<Checkpoint>,
    /// What the reader remembers at a checkpoint, by its offset; not where that is nothing.
    states: BTreeMap<u64, State>,
    /// What it remembers of all that was counted.
    state: State,
    total: u64,
    scanned: u64,
}

impl Checkpoint {
    /// The beginning of a file.
    pub const START: Self = Self { offset: 0, entries_before: 0 };
}

impl SeqIndex {
    /// An index that was saved.
    pub(super) const fn restored(checkpoints: Vec<Checkpoint>, total: u64, scanned: u64) -> Self {
        Self { checkpoints, states: BTreeMap::new(), state: State::none(), total, scanned }
    }

    /// The same, made by a reader that remembers something.
    pub(super) fn with_states(self, states: BTreeMap<u64, State>, state: State) -> Self {
        Self { states, state, ..self }
    }

    /// Notes a line that begins at `start` and holds `entries` entries. Lines come in order.
    pub fn push(&mut self, start: u64, entries: u64) {
        if start >= self.last().offset.saturating_add(CHECKPOINT_BYTES) {
            let wrong = u64::from(cfg!(panewire_fault = "checkpoint-off-by-one"));
            if !self.state.is_empty() {
                self.states.insert(start, self.state.clone());
            }
            self.checkpoints.push(Checkpoint { offset: start, entries_before: self.total.saturating_add(wrong) });
        }
        self.total = self.total.saturating_add(entries);
    }

    /// Notes what the reader remembers of all lines that were noted.
    pub fn remember(&mut self, state: State) {
        self.state = state;
    }

    /// What the reader remembers of all that was counted.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// What the reader remembers at a checkpoint.
    #[must_use]
    pub fn state_at(&self, point: Checkpoint) -> State {
        self.states.get(&point.offset).cloned().unwrap_or_default()
    }

    /// What it remembers at the checkpoints where that is something, by their offsets.
    #[must_use]
    pub const fn states(&self) -> &BTreeMap<u64, State> {
        &self.states
    }

    /// Notes that every line before `offset` was counted.
    pub const fn reach(&mut self, offset: u64) {
        self.scanned = offset;
    }

    /// The number of entries so far.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Up to where lines were counted.
    #[must_use]
    pub const fn scanned(&self) -> u64 {
        self.scanned
    }

    /// The last checkpoint from which reading forward meets `seq`.
    #[must_use]
    pub fn before(&self, seq: Seq) -> Checkpoint {
        let behind = self.checkpoints.partition_point(|point| point.entries_before < seq.get());
        behind.checked_sub(1).and_then(|at| self.checkpoints.get(at)).copied().unwrap_or(Checkpoint::START)
    }

    /// The checkpoints, in order.
    #[must_use]
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    fn last(&self) -> Checkpoint {
        self.checkpoints.last().copied().unwrap_or(Checkpoint::START)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seq_is_found_from_the_checkpoint_before_it() {
        let mut index = SeqIndex::default();
        let line = CHECKPOINT_BYTES / 2;
        for n in 0..6 {
            index.push(n * line, 2);
            index.reach((n + 1) * line);
        }
        assert_eq!((index.total(), index.scanned(), index.checkpoints.len()), (12, 6 * line, 2));
        for (seq, offset, entries_before) in
            [(1, 0, 0), (4, 0, 0), (5, 2 * line, 4), (8, 2 * line, 4), (9, 4 * line, 8)]
        {
            assert_eq!(index.before(Seq::after(seq - 1)), Checkpoint { offset, entries_before }, "seq {seq}");
        }
    }
}
