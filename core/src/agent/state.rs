//! What a reader remembers of the lines before the one it reads.

use alloc::vec::Vec;

use crate::limits::READER_STATE_BYTES;

/// A reader's memory, in a form of its own: nothing for a reader that reads each line by itself.
///
/// It is small, so that every checkpoint of an index can carry it: whoever begins to read there knows what the reader
/// would know that had read everything before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State(Vec<u8>);

impl State {
    /// A memory of these bytes; none if they are too many.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() <= READER_STATE_BYTES).then_some(Self(bytes))
    }

    /// Nothing remembered.
    #[must_use]
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
