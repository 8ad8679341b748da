//! Going on from a saved index instead of counting, and saving one.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Follower, Pending, Phase};
use crate::io::Outcome;
use crate::limits::{OVERLAP_BYTES, SAVED_FROM_BYTES};
use crate::roster::Told;
use crate::source::index::SeqIndex;
use crate::source::lines::LineSplitter;
use crate::source::saved::{Sample, SavedIndex};

impl Follower {
    /// Where its index is saved.
    #[must_use]
    pub fn index_path(&self) -> &str {
        &self.index_path
    }

    /// The index in its saved form, if it is worth saving: the file is large enough, and everything in it was counted.
    #[must_use]
    pub fn saved(&self) -> Option<Vec<u8>> {
        if self.phase != Phase::Live || self.index.scanned() < SAVED_FROM_BYTES || self.source.part.is_some() {
            return None;
        }
        if !self.told.insides().is_empty() {
            // Where the lines of children stand in the file is not saved: it is counted again.
            return None;
        }
        let unfinished = usize::try_from(self.lines.end().saturating_sub(self.index.scanned())).ok()?;
        let tail = self.overlap.get(..self.overlap.len().checked_sub(unfinished)?).filter(|tail| !tail.is_empty())?;
        let saved = SavedIndex {
            rules_version: self.reader.rules_version(),
            line_bytes: self.line_bytes as u64,
            rewrites: self.rewrites,
            index: self.index.clone(),
            head: Sample::of(&self.head),
            tail: Sample::of(tail),
            told: self.told.clone(),
        };
        Some(saved.encode())
    }

    /// Up to where the index was saved when it was loaded; 0 if it was counted.
    #[must_use]
    pub const fn restored_to(&self) -> u64 {
        self.restored_to
    }

    /// A saved index of other rules is none; of another file, or of this one before a rewrite, it will show.
    pub(super) fn loaded(&mut self, outcome: Outcome<'_>) {
        if let Outcome::Bytes { bytes, .. } = outcome {
            let fits = |saved: &SavedIndex| {
                saved.rules_version == self.reader.rules_version()
                    && saved.line_bytes == self.line_bytes as u64
                    && [saved.head.len, saved.tail.len].iter().all(|len| (1..=OVERLAP_BYTES).contains(len))
            };
            self.saved = SavedIndex::decode(bytes).filter(fits).map(Box::new);
        }
        self.ask_open();
    }

    pub(super) fn head_known(&mut self, bytes: &[u8]) {
        match &self.saved {
            Some(saved) if bytes.len() < saved.head.len => self.count_without_saved(),
            Some(saved) if saved.head == Sample::of(bytes) || cfg!(panewire_fault = "saved-index-not-verified") => {
                let (end, len) = (saved.index.scanned(), saved.tail.len);
                self.head = bytes.to_vec();
                self.ask_bytes(Pending::KnownTail, end.saturating_sub(len as u64), len);
            }
            _ => self.count_anew(),
        }
    }

    pub(super) fn tail_known(&mut self, bytes: &[u8]) {
        match self.saved.take() {
            Some(saved) if bytes.len() < saved.tail.len => self.count_without_saved(),
            Some(saved) if saved.tail == Sample::of(bytes) || cfg!(panewire_fault = "saved-index-not-verified") => {
                self.overlap = bytes.to_vec();
                self.lines = LineSplitter::new(saved.index.scanned(), self.line_bytes);
                self.rewrites = saved.rewrites.max(self.rewrites);
                self.restored_to = saved.index.scanned();
                self.index = saved.index;
                self.told = saved.told;
                self.ask_read(0);
            }
            saved => {
                self.saved = saved;
                self.count_anew();
            }
        }
    }

    /// A short read says nothing about the file: it is counted as if no index had been saved.
    fn count_without_saved(&mut self) {
        self.saved = None;
        self.count_anew();
    }

    /// Counts from the beginning. If there was a saved index, the file was rewritten since it was made.
    pub(super) fn count_anew(&mut self) {
        if let Some(saved) = self.saved.take() {
            self.rewrites = saved.rewrites.saturating_add(1).max(self.rewrites);
        }
        self.head.clear();
        self.index = SeqIndex::default();
        self.told = Told::default();
        self.index.push(0, u64::from(cfg!(panewire_fault = "seq-shifted-by-a-rewrite") && self.rewrites > 0));
        self.ask_read(0);
    }
}
