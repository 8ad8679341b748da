//! The newest live frames of a stream, encoded once and kept for every client near its head.

use alloc::collections::VecDeque;

use bytes::Bytes;

use crate::ids::Seq;

/// Frames of consecutive seqs up to the newest, bounded in bytes.
#[derive(Debug)]
pub struct Ring {
    cap_bytes: usize,
    bytes: usize,
    first: Seq,
    frames: VecDeque<Bytes>,
}

impl Ring {
    /// An empty ring.
    #[must_use]
    pub const fn new(cap_bytes: usize) -> Self {
        Self { cap_bytes, bytes: 0, first: Seq::FIRST, frames: VecDeque::new() }
    }

    /// Adds the newest frame and drops the oldest while there are too many bytes. A gap before `seq` empties the ring.
    pub fn push(&mut self, seq: Seq, frame: Bytes) {
        if self.frames.is_empty() || self.end() != seq.get() {
            self.clear();
            self.first = seq;
        }
        self.bytes = self.bytes.saturating_add(frame.len());
        self.frames.push_back(frame);
        while self.bytes > self.cap_bytes && self.frames.len() > 1 {
            if let Some(oldest) = self.frames.pop_front() {
                self.bytes = self.bytes.saturating_sub(oldest.len());
                self.first = self.first.next();
            }
        }
    }

    /// The frame of `seq`, if it is still here.
    #[must_use]
    pub fn frame(&self, seq: Seq) -> Option<&Bytes> {
        let at = seq.get().checked_sub(self.first.get())?;
        self.frames.get(usize::try_from(at).ok()?)
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.bytes = 0;
    }

    fn end(&self) -> u64 {
        self.first.get().saturating_add(self.frames.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_leave_and_a_gap_empties_it() {
        let mut ring = Ring::new(10);
        for n in 4..8 {
            ring.push(Seq::after(n), Bytes::from_static(b"1234"));
        }
        let held =
            |ring: &Ring| (0..12).filter(|&n| ring.frame(Seq::after(n)).is_some()).collect::<alloc::vec::Vec<_>>();
        assert_eq!(held(&ring), [6, 7]);
        ring.push(Seq::after(8), Bytes::from_static(b"longer than the cap"));
        assert_eq!(held(&ring), [8]);
        ring.push(Seq::after(10), Bytes::from_static(b"x"));
        assert_eq!(held(&ring), [10]);
    }
}
