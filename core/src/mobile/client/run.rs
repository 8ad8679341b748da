//! A run of entries on its way to one client: read, held back until the file was looked at again, then sent.
//!
//! What was read is sound only if the file was not rewritten meanwhile. A look that begins after the read and finds the
//! file as it was, or grown, proves that; until then the frames wait here, within the client's credit.

use alloc::vec::Vec;

use bytes::Bytes;

use super::Feed;
use crate::agent::Caps;
use crate::ids::Seq;
use crate::limits::LONG_LINE_BYTES;
use crate::machine::{Asks, Tag};
use crate::source::page::PageRead;

/// A run of entries being read.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) read: PageRead,
    /// The piece that was asked for.
    pub(super) asked: Option<Tag>,
    /// Frames that are not proven yet.
    held: Vec<Bytes>,
    held_bytes: usize,
    /// The first entry that was not released yet.
    released: Seq,
    proof: Proof,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    NotNeeded,
    Wanted,
    /// The look that proves what is held.
    Look(u64),
}

impl Run {
    /// The entries `first..=last` of the stream.
    pub(super) fn new(feed: Feed<'_>, first: Seq, last: Seq) -> Self {
        let read = PageRead::new(feed.follower.index(), feed.follower.line_bytes(), first, last, Caps::WIRE);
        Self { read, asked: None, held: Vec::new(), held_bytes: 0, released: first, proof: Proof::NotNeeded }
    }

    /// Asks for the next piece, unless one is on its way or what was read waits for its proof.
    pub(super) fn ask(&mut self, feed: Feed<'_>, asks: &mut Asks) {
        if self.asked.is_none()
            && self.proof == Proof::NotNeeded
            && !self.read.is_done()
            && (feed.long_lines || !self.has_long_line())
            && let Some(handle) = feed.follower.handle()
        {
            self.asked = Some(asks.ask(self.read.read_op(handle, feed.follower.index())));
        }
    }

    /// Whether it is in the middle of a long line.
    pub(super) fn has_long_line(&self) -> bool {
        self.read.carried() > LONG_LINE_BYTES
    }

    /// Whether nothing is on its way that would bring it on.
    pub(super) fn is_idle(&self) -> bool {
        self.asked.is_none() && self.proof == Proof::NotNeeded
    }

    /// Holds a frame back.
    pub(super) fn hold(&mut self, frame: Bytes) {
        self.held_bytes = self.held_bytes.saturating_add(frame.len());
        self.held.push(frame);
    }

    /// Nothing more is read before what is held was proven.
    pub(super) fn want_proof(&mut self) {
        if !self.held.is_empty() {
            self.proof = Proof::Wanted;
        }
    }

    /// Whether it waits for somebody to ask for a look.
    pub(super) fn wants_proof(&self) -> bool {
        self.proof == Proof::Wanted
    }

    /// Whether something is held back until a look at the file.
    pub(super) fn is_unproven(&self) -> bool {
        self.proof != Proof::NotNeeded
    }

    /// The look with this number is the proof.
    pub(super) fn proven_by(&mut self, look: u64) {
        if self.proof == Proof::Wanted {
            self.proof = Proof::Look(look);
        }
    }

    /// Whether the proof came.
    pub(super) fn is_proven(&self, feed: Feed<'_>) -> bool {
        matches!(self.proof, Proof::Look(look) if look <= feed.follower.looked() || cfg!(panewire_fault = "page-not-proven"))
    }

    /// Gives out what was proven. The run goes on from there.
    pub(super) fn release(&mut self) -> impl Iterator<Item = Bytes> {
        self.proof = Proof::NotNeeded;
        self.held_bytes = 0;
        self.released = self.read.next();
        core::mem::take(&mut self.held).into_iter()
    }

    /// The first entry that was not released yet.
    pub(super) const fn released(&self) -> Seq {
        self.released
    }

    /// Bytes that are held back.
    pub(super) const fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Begins again behind what was released. What was held is dropped.
    pub(super) fn begin_again(&mut self, feed: Feed<'_>) {
        self.read = self.read.again(feed.follower.index(), self.released);
        self.asked = None;
        self.proof = Proof::NotNeeded;
        self.held.clear();
        self.held_bytes = 0;
    }
}
