//! Which entries of a conversation that is a tree lie beside the path to its newest record.
//!
//! ```text
//!   1 ◀── 2 ◀── 3        record 4 follows 2: 3 is a side branch from then on
//!         ▲              record 5 follows 3: now 4 is one, and 3 is none
//!         └──── 4
//! ```

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::ids::Seq;
use crate::limits::{MAX_BRANCH_RECORDS, MAX_FORKS};
use crate::roster::digest;
use crate::source::saved::{Rest, put_number};

/// The branches of one conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Branches {
    /// Entries before the record that comes next.
    before: u64,
    /// How many records there were.
    told: u64,
    /// The newest of them: the digest of the id, and the entries before it.
    records: VecDeque<(u64, u64)>,
    forks: Vec<Fork>,
    /// What lies beside the path to the newest record: first and last seq of each run of entries.
    side: Vec<(u64, u64)>,
}

/// A record that does not follow the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fork {
    /// Which record it is, and the entries before it.
    record: u64,
    at: u64,
    /// Which one it follows, if any, and the entries up to the end of that.
    follows: Option<u64>,
    from: u64,
}

impl Branches {
    /// So many entries stand before what comes next.
    pub const fn stand(&mut self, entries: u64) {
        self.before = entries;
    }

    /// The next record, and the one that it follows. One that follows a record which is not known any more begins no branch.
    pub fn record(&mut self, id: &[u8], follows: Option<&[u8]>) {
        let follows = follows.map(digest);
        let goes_on = self.records.back().is_none_or(|(last, _)| follows == Some(*last));
        if !goes_on {
            self.fork(follows);
        }
        if self.records.len() >= MAX_BRANCH_RECORDS {
            self.records.pop_front();
        }
        self.records.push_back((digest(id), self.before));
        self.told = self.told.saturating_add(1);
    }

    /// Runs of entries that lie beside the path to the newest record, in order: the first and the last of each.
    #[must_use]
    pub fn side(&self) -> &[(u64, u64)] {
        &self.side
    }

    /// Whether this entry is in one of them.
    #[must_use]
    pub fn is_beside(&self, seq: Seq) -> bool {
        self.side.iter().any(|(first, last)| (*first..=*last).contains(&seq.get()))
    }

    fn fork(&mut self, follows: Option<u64>) {
        let (follows, from) = match follows {
            None => (None, 0),
            Some(id) => {
                let Some(at) = self.records.iter().rposition(|(known, _)| *known == id) else { return };
                let oldest = self.told.saturating_sub(self.records.len() as u64);
                let from = self.records.get(at.saturating_add(1)).map_or(self.before, |(_, before)| *before);
                (Some(oldest.saturating_add(at as u64)), from)
            }
        };
        if self.forks.len() >= MAX_FORKS {
            self.forks.remove(0);
        }
        self.forks.push(Fork { record: self.told, at: self.before, follows, from });
        self.side = self.beside(self.told);
    }

    /// What lies beside the path to a record: what stands before the last fork on it and behind the record that this one
    /// follows, and what lay beside the path to that.
    fn beside(&self, record: u64) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        let mut on_path = Some(record);
        for fork in self.forks.iter().rev() {
            let Some(record) = on_path else { break };
            if fork.record <= record {
                runs.push((fork.from.saturating_add(1), fork.at));
                on_path = fork.follows;
            }
        }
        runs.retain(|(first, last)| first <= last);
        runs.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (first, last) in runs {
            match merged.last_mut().filter(|(_, end)| first <= end.saturating_add(1)) {
                Some((_, end)) => *end = last.max(*end),
                None => merged.push((first, last)),
            }
        }
        merged
    }

    /// Appends its saved form.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        put_number(bytes, self.told);
        put_number(bytes, self.records.len() as u64);
        for (id, before) in &self.records {
            put_number(bytes, *id);
            put_number(bytes, *before);
        }
        put_number(bytes, self.forks.len() as u64);
        for fork in &self.forks {
            put_number(bytes, fork.record);
            put_number(bytes, fork.at);
            put_number(bytes, fork.follows.map_or(0, |follows| follows.saturating_add(1)));
            put_number(bytes, fork.from);
        }
    }

    /// Reads what [`encode`](Self::encode) appended.
    pub(crate) fn decode(rest: &mut Rest<'_>) -> Option<Self> {
        let mut branches = Self { told: rest.number()?, ..Self::default() };
        for _ in 0..rest.number()? {
            branches.records.push_back((rest.number()?, rest.number()?));
        }
        for _ in 0..rest.number()? {
            let (record, at) = (rest.number()?, rest.number()?);
            let follows = rest.number()?.checked_sub(1);
            branches.forks.push(Fork { record, at, follows, from: rest.number()? });
        }
        if let Some(newest) = branches.told.checked_sub(1) {
            branches.side = branches.beside(newest);
        }
        Some(branches)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// Records of one entry each, by their ids and those they follow.
    fn tree(records: &[(&str, Option<&str>)]) -> Branches {
        let mut branches = Branches::default();
        for (before, (id, follows)) in (0..).zip(records) {
            branches.stand(before);
            branches.record(id.as_bytes(), follows.map(str::as_bytes));
        }
        branches
    }

    #[test]
    fn what_was_left_lies_beside_until_it_is_taken_up_again() {
        let line = [("1", None), ("2", Some("1")), ("3", Some("2"))];
        assert_eq!(tree(&line).side(), []);
        let left = [&line[..], &[("4", Some("2"))]].concat();
        assert_eq!(tree(&left).side(), [(3, 3)]);
        assert_eq!(tree(&[&left[..], &[("5", Some("4"))]].concat()).side(), [(3, 3)]);
        let back = [&left[..], &[("5", Some("3"))]].concat();
        assert_eq!(tree(&back).side(), [(4, 4)]);
        assert_eq!(tree(&[&back[..], &[("6", Some("1"))]].concat()).side(), [(2, 5)]);
        let anew = tree(&[&back[..], &[("6", None)]].concat());
        assert_eq!(anew.side(), [(1, 5)]);
        assert!(anew.is_beside(Seq::FIRST) && !anew.is_beside(Seq::after(5)));
        // Nobody knows what it follows.
        assert_eq!(tree(&[&line[..], &[("4", Some("x"))]].concat()).side(), []);
    }

    #[test]
    fn records_without_entries_are_steps_of_the_path() {
        let mut branches = Branches::default();
        for (before, id, follows) in [
            (0, "1", None),
            (1, "model", Some("1")),
            (1, "2", Some("model")),
            (2, "3", Some("model")),
            (3, "4", Some("3")),
        ] {
            branches.stand(before);
            branches.record(id.as_bytes(), follows.map(str::as_bytes));
        }
        assert_eq!(branches.side(), [(2, 2)]);
    }

    #[test]
    fn it_is_bounded_and_what_is_saved_comes_back() {
        let mut branches = Branches::default();
        branches.record(b"root", None);
        for n in 0..(MAX_BRANCH_RECORDS as u64 + 10) {
            branches.stand(n + 1);
            let id = alloc::format!("{n}");
            let before = alloc::format!("{}", n.wrapping_sub(if n % 10 == 9 { 5 } else { 1 }));
            branches.record(id.as_bytes(), Some(if n == 0 { b"root" } else { before.as_bytes() }));
        }
        assert_eq!((branches.records.len(), branches.forks.len()), (MAX_BRANCH_RECORDS, MAX_FORKS));
        let mut bytes = vec![];
        branches.encode(&mut bytes);
        let back = Branches::decode(&mut Rest(&bytes)).unwrap();
        assert_eq!(back.side(), branches.side());
        assert_eq!((back.records, back.forks, back.told), (branches.records, branches.forks, branches.told));
    }
}
