//! Whose turn it is to be counted: a few streams at once, the others in the order in which they came.
//!
//! Each has its pieces in flight and, at worst, one long line in memory: so many clients that open so many large sessions
//! at once cost what a few cost. What is live does not wait here.

use alloc::collections::{BTreeSet, VecDeque};

use crate::limits::MAX_COUNTING;

/// The streams that are being counted, and those that wait.
#[derive(Debug, Default)]
pub(super) struct Counting {
    turns: BTreeSet<u64>,
    waiting: VecDeque<u64>,
}

impl Counting {
    /// A stream wants to be counted.
    pub(super) fn want(&mut self, stream: u64) {
        if !self.turns.contains(&stream) && !self.waiting.contains(&stream) {
            self.waiting.push_back(stream);
        }
    }

    /// A stream was counted, or need not be.
    pub(super) fn done(&mut self, stream: u64) {
        self.turns.remove(&stream);
        self.waiting.retain(|waiting| *waiting != stream);
    }

    /// The next whose turn it is from now on, if there is room.
    pub(super) fn next(&mut self) -> Option<u64> {
        if self.turns.len() >= MAX_COUNTING {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.turns.insert(next);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn take(counting: &mut Counting) -> Vec<u64> {
        core::iter::from_fn(|| counting.next()).collect()
    }

    #[test]
    fn a_few_have_a_turn_and_the_others_theirs_in_order() {
        let mut counting = Counting::default();
        for stream in [9, 3, 8, 1, 7, 2, 9, 7] {
            counting.want(stream);
        }
        assert_eq!(take(&mut counting), [9, 3, 8, 1]);
        counting.want(8);
        counting.done(7);
        counting.done(3);
        assert_eq!(take(&mut counting), [2]);
        counting.want(2);
        counting.want(3);
        counting.done(9);
        assert_eq!(take(&mut counting), [3]);
    }
}
