//! Raw bytes between a WebSocket and a program's terminal, bounded both ways.

use std::io;
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes, BytesMut};
use panewire_core::ids::OpId;
use panewire_core::limits::{PIPE_INPUT_BYTES, PIPE_READ_BYTES};

/// Our side of a program's terminal, as a runtime waits for it.
pub trait Tty {
    /// Reads what the program wrote, or asks to be woken when there is something. Nothing, or an error: it is gone.
    fn poll_read(&mut self, buffer: &mut [u8], cx: &mut Context<'_>) -> Poll<io::Result<usize>>;

    /// Types some of these bytes, or asks to be woken when there is room for them.
    fn poll_write(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Poll<io::Result<usize>>;
}

/// A terminal, and what waits to be typed into it.
#[derive(Debug)]
pub(crate) struct Pipe<T> {
    op: OpId,
    tty: T,
    waiting: BytesMut,
}

impl<T: Tty> Pipe<T> {
    pub(crate) fn new(op: OpId, tty: T) -> Self {
        Self { op, tty, waiting: BytesMut::new() }
    }

    /// Whose terminal it is.
    pub(crate) const fn op(&self) -> OpId {
        self.op
    }

    /// Whether more may be typed.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting.len() < PIPE_INPUT_BYTES
    }

    /// Lets this be typed, behind all that waits.
    pub(crate) fn push(&mut self, typed: &[u8]) {
        self.waiting.extend_from_slice(typed);
    }

    /// Types what there is room for. Whether that was anything.
    pub(crate) fn write(&mut self, cx: &mut Context<'_>) -> bool {
        let before = self.waiting.len();
        while !self.waiting.is_empty() {
            match self.tty.poll_write(&self.waiting, cx) {
                Poll::Ready(Ok(written)) if written > 0 => self.waiting.advance(written),
                Poll::Pending => break,
                // Nobody reads there any more. What was written before may still be read here.
                Poll::Ready(_) => self.waiting.clear(),
            }
        }
        if self.waiting.is_empty() && before > 0 {
            // A paste has passed: its room is given back.
            self.waiting = BytesMut::new();
        }
        self.waiting.len() < before
    }

    /// What the program wrote; none if it is gone.
    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut buffer = [0; PIPE_READ_BYTES];
        self.tty.poll_read(&mut buffer, cx).map(|read| {
            let piece = buffer.get(..read.unwrap_or_default()).unwrap_or_default();
            (!piece.is_empty()).then(|| Bytes::copy_from_slice(piece))
        })
    }
}
