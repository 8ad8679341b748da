//! The saved form of an index: what a daemon needs to open a file at once that another life of it has counted.
//!
//! ```text
//!   magic, rules version, line cap, rewrites, scanned, total,
//!   length and digest of the first bytes, length and digest of the last bytes before `scanned`,
//!   number of checkpoints, then each as two differences to the one before,
//!   number of them at which the reader remembers something, then each as a difference to the offset of the one before
//!   and what it remembers; what it remembers at the end,
//!   what was told of children; a digest over all of it
//! ```
//! Numbers are LEB128. Whatever is damaged, foreign or of other rules is no saved index.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

use super::index::{Checkpoint, SeqIndex};
use crate::agent::State;
use crate::roster::Told;

/// An index, and how to tell that the file is still the one it was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedIndex {
    /// The version of the counting rules.
    pub rules_version: u32,
    /// The cap of a line in bytes.
    pub line_bytes: u64,
    /// How often the file was seen rewritten.
    pub rewrites: u32,
    /// The index.
    pub index: SeqIndex,
    /// The first bytes of the file.
    pub head: Sample,
    /// The last bytes before [`SeqIndex::scanned`].
    pub tail: Sample,
    /// What the counted part tells of children.
    pub told: Told,
}

/// Bytes that are not kept but known again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// How many bytes.
    pub len: usize,
    digest: [u8; 32],
}

impl Sample {
    /// Knows these bytes again.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self { len: bytes.len(), digest: Sha256::digest(bytes).into() }
    }
}

impl SavedIndex {
    /// The saved form.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let mut put = |number: u64| put_number(&mut bytes, number);
        put(self.rules_version.into());
        put(self.line_bytes);
        put(self.rewrites.into());
        put(self.index.scanned());
        put(self.index.total());
        for sample in [self.head, self.tail] {
            put_number(&mut bytes, sample.len as u64);
            bytes.extend_from_slice(&sample.digest);
        }
        let checkpoints = self.index.checkpoints();
        put_number(&mut bytes, checkpoints.len() as u64);
        let mut before = Checkpoint::START;
        for point in checkpoints {
            put_number(&mut bytes, point.offset.saturating_sub(before.offset));
            put_number(&mut bytes, point.entries_before.saturating_sub(before.entries_before));
            before = *point;
        }
        put_number(&mut bytes, self.index.states().len() as u64);
        let mut before = 0;
        for (offset, state) in self.index.states() {
            put_number(&mut bytes, offset.saturating_sub(before));
            put_state(&mut bytes, state);
            before = *offset;
        }
        put_state(&mut bytes, self.index.state());
        self.told.encode(&mut bytes);
        let digest = Sha256::digest(&bytes);
        bytes.extend_from_slice(&digest);
        bytes
    }

    /// Reads the saved form; `None` for anything else.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (content, digest) = bytes.split_last_chunk::<32>()?;
        if Sha256::digest(content).as_slice() != digest {
            return None;
        }
        let mut rest = Rest(content.strip_prefix(MAGIC)?);
        let rules_version = u32::try_from(rest.number()?).ok()?;
        let line_bytes = rest.number()?;
        let rewrites = u32::try_from(rest.number()?).ok()?;
        let (scanned, total) = (rest.number()?, rest.number()?);
        let (head, tail) = (rest.sample()?, rest.sample()?);
        let mut checkpoints = Vec::new();
        let mut before = Checkpoint::START;
        for _ in 0..rest.number()? {
            before = Checkpoint {
                offset: before.offset.checked_add(rest.number()?)?,
                entries_before: before.entries_before.checked_add(rest.number()?)?,
            };
            checkpoints.push(before);
        }
        let mut states = BTreeMap::new();
        let mut at = 0_u64;
        for _ in 0..rest.number()? {
            at = at.checked_add(rest.number()?)?;
            states.insert(at, rest.state()?);
        }
        let state = rest.state()?;
        let told = Told::decode(&mut rest)?;
        let is_whole = rest.0.is_empty() && before.offset <= scanned && before.entries_before <= total;
        let index = SeqIndex::restored(checkpoints, total, scanned).with_states(states, state);
        is_whole.then_some(Self { rules_version, line_bytes, rewrites, index, head, tail, told })
    }
}

const MAGIC: &[u8] = b"panewire index 4\n";

fn put_state(bytes: &mut Vec<u8>, state: &State) {
    put_number(bytes, state.as_bytes().len() as u64);
    bytes.extend_from_slice(state.as_bytes());
}

/// Appends a number.
pub(crate) fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// Appends a text: its length, then its bytes.
pub(crate) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_number(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

/// What was not read yet.
pub(crate) struct Rest<'a>(pub(super) &'a [u8]);

impl Rest<'_> {
    /// Takes a number.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Takes a text.
    pub(crate) fn text(&mut self) -> Option<String> {
        let len = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        core::str::from_utf8(text).ok().map(String::from)
    }

    fn sample(&mut self) -> Option<Sample> {
        let len = usize::try_from(self.number()?).ok()?;
        let (digest, rest) = self.0.split_first_chunk::<32>()?;
        self.0 = rest;
        Some(Sample { len, digest: *digest })
    }

    fn state(&mut self) -> Option<State> {
        let len = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        State::new(bytes.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::roster::{Answer, Call};

    fn saved(lines: &[(u64, u64)]) -> SavedIndex {
        let lines: Vec<(u64, u64, Vec<u8>)> = lines.iter().map(|(len, entries)| (*len, *entries, Vec::new())).collect();
        saved_by_a_reader_that_remembers(&lines)
    }

    fn saved_by_a_reader_that_remembers(lines: &[(u64, u64, Vec<u8>)]) -> SavedIndex {
        let mut index = SeqIndex::default();
        let mut at = 0;
        for (len, entries, state) in lines {
            index.push(at, *entries);
            index.remember(State::new(state.clone()).unwrap());
            at += len;
            index.reach(at);
        }
        let (head, tail) = (Sample::of(b"head"), Sample::of(b"the tail"));
        let mut told = Told::default();
        for (at, (_, entries, _)) in lines.iter().enumerate().take(5) {
            let call = Call {
                waits: [None, Some(false), Some(true)].get(at % 3).copied().flatten(),
                agent_type: "Explore".into(),
                description: "find “it”".into(),
                prompt: u64::MAX - entries,
                answer: None,
            };
            told.called(&alloc::format!("toolu_{at}"), call);
            told.ended(&alloc::format!("a{entries}"), entries % 2 == 0);
            told.answered(&alloc::format!("toolu_{}", entries % 5), Answer::Finished, Some("a1"));
            told.awaits(b"toolu_of_nobody");
        }
        SavedIndex { rules_version: 3, line_bytes: 1 << 26, rewrites: 2, index, head, tail, told }
    }

    proptest! {
        #[test]
        fn what_was_saved_comes_back(
            lines in prop::collection::vec(
                (1u64..200_000, 0u64..5_000, prop::collection::vec(any::<u8>(), 0..4)), 0..200,
            ),
        ) {
            let saved = saved_by_a_reader_that_remembers(&lines);
            prop_assert_eq!(SavedIndex::decode(&saved.encode()), Some(saved));
        }

        #[test]
        fn what_was_damaged_does_not(at in 0usize..200, bit in 0u8..8, cut in 0usize..200) {
            let bytes = saved(&[(70_000, 3); 9]).encode();
            let mut damaged = bytes.clone();
            let at = at % bytes.len();
            damaged[at] ^= 1 << bit;
            prop_assert_eq!(SavedIndex::decode(&damaged), None);
            prop_assert_eq!(SavedIndex::decode(&bytes[..cut % bytes.len()]), None);
        }
    }

    #[test]
    fn a_gigabyte_is_saved_in_kilobytes() {
        let lines = alloc::vec![(65_536, 11); 16_384];
        assert_eq!(saved(&lines).encode().len() / 1024, 64);
    }
}
