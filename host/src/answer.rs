//! The answer to an operation, owned: it can wait in a queue or come from another thread.

use std::convert::Infallible;
use std::io;
use std::sync::mpsc::Sender;

use panewire_core::ids::{Handle, WatchId};
use panewire_core::io::{Cell, DirEntry, Facts, Failure, FailureKind, Fin, Outcome};

use crate::terminal::Terminal;

/// What became of an [`Op`](panewire_core::io::Op). [`Answer::outcome`] lends it to the core.
#[derive(Debug)]
pub enum Answer {
    /// The file is open.
    Opened {
        /// Its handle.
        handle: Handle,
        /// What it is.
        facts: Facts,
    },
    /// Bytes of a file.
    Bytes {
        /// The bytes.
        piece: Piece,
        /// The size of the file right after the read.
        size_now: u64,
    },
    /// Facts about a path.
    Facts(Facts),
    /// A directory.
    Listing {
        /// Its entries.
        names: Vec<DirEntry>,
        /// Whether there were more than asked for.
        truncated: bool,
    },
    /// The directory is watched.
    Watching(WatchId),
    /// The program runs under this terminal. Whoever takes the answer owns it.
    Terminal(Terminal),
    /// The program runs. More follows.
    Started,
    /// Random bytes.
    Random(Vec<u8>),
    /// A program ended by itself.
    Ran {
        /// Its exit code; `None` if a signal ended it.
        exit: Option<i32>,
        /// Its standard output, up to the cap.
        stdout: Vec<u8>,
        /// Its standard error, up to the cap.
        stderr: Vec<u8>,
    },
    /// One line from a socket, without its newline.
    Line(Vec<u8>),
    /// One of many. The next one is read when this has been dropped.
    Heard(Vec<u8>, Sender<Infallible>),
    /// A database answered.
    Rows {
        /// The rows.
        rows: Vec<Vec<Cell>>,
        /// Whether there are more than fit.
        truncated: bool,
    },
    /// An HTTP server answered.
    Fetched {
        /// Its status.
        status: u16,
        /// The whole body.
        body: Vec<u8>,
    },
    /// Done; there is nothing to say.
    Done,
    /// Not done.
    Failed(FailureKind, String),
}

impl Answer {
    /// The same as the core takes it.
    #[must_use]
    pub fn outcome(&self) -> Outcome<'_> {
        match self {
            Self::Opened { handle, facts } => Outcome::Opened { handle: *handle, facts: *facts },
            Self::Bytes { piece, size_now } => Outcome::Bytes { bytes: piece.bytes(), size_now: *size_now },
            Self::Facts(facts) => Outcome::Facts(*facts),
            Self::Listing { names, truncated } => Outcome::Listing { names, truncated: *truncated },
            Self::Watching(watch) => Outcome::Watching(*watch),
            Self::Terminal(_) | Self::Started => Outcome::Started,
            Self::Random(bytes) => Outcome::Random(bytes),
            Self::Ran { exit, stdout, stderr } => Outcome::Ran { exit: *exit, stdout, stderr },
            Self::Line(line) | Self::Heard(line, _) => Outcome::Answer(line),
            Self::Rows { rows, truncated } => Outcome::Rows { rows, truncated: *truncated },
            Self::Fetched { status, body } => Outcome::Fetched { status: *status, body },
            Self::Done => Outcome::Done,
            Self::Failed(kind, text) => Outcome::Failed(Failure { kind: *kind, text }),
        }
    }

    /// Whether more of the same operation follows.
    pub(crate) const fn fin(&self) -> Fin {
        match self {
            Self::Terminal(_) | Self::Started | Self::Heard(..) => Fin::More,
            _ => Fin::Last,
        }
    }

    /// The answer when time ran out.
    #[must_use]
    pub fn timed_out() -> Self {
        Self::Failed(FailureKind::TimedOut, "timed out".to_owned())
    }
}

impl From<io::Error> for Answer {
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FailureKind::NotFound,
            io::ErrorKind::PermissionDenied => FailureKind::Denied,
            io::ErrorKind::TimedOut => FailureKind::TimedOut,
            io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => FailureKind::Unreachable,
            _ => FailureKind::Other,
        };
        Self::Failed(kind, error.to_string())
    }
}

impl From<rustix::io::Errno> for Answer {
    fn from(error: rustix::io::Errno) -> Self {
        io::Error::from(error).into()
    }
}

/// Bytes that were read, in a buffer that is used again: zeroing one for each read would cost as much as reading.
#[derive(Debug, Default)]
pub struct Piece {
    buffer: Buffer,
    filled: usize,
}

/// Room for bytes that begins at the boundary of a page: to any other place the kernel copies a large piece much slower.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
}

/// What allocators never align to by themselves.
const PAGE_BYTES: usize = 4 * 1024;

impl Piece {
    pub(crate) const fn new(buffer: Buffer, filled: usize) -> Self {
        Self { buffer, filled }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.bytes.get(self.buffer.start..).and_then(|room| room.get(..self.filled)).unwrap_or_default()
    }

    pub(crate) fn into_buffer(self) -> Buffer {
        self.buffer
    }
}

impl Buffer {
    /// The longest read that it surely has room for.
    pub(crate) const fn len(&self) -> usize {
        self.bytes.len().saturating_sub(PAGE_BYTES)
    }

    /// Room for so many bytes.
    pub(crate) fn room(&mut self, len: usize) -> &mut [u8] {
        self.start = self.bytes.as_ptr().align_offset(PAGE_BYTES);
        if self.bytes.len().saturating_sub(self.start) < len {
            self.bytes = vec![0; len.saturating_add(PAGE_BYTES)];
            self.start = self.bytes.as_ptr().align_offset(PAGE_BYTES);
        }
        self.bytes.get_mut(self.start..).and_then(|room| room.get_mut(..len)).unwrap_or_default()
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, start: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_begins_at_a_page_and_is_used_again() {
        let mut buffer = Buffer::from(vec![7; 100]);
        let at = buffer.room(9_000).as_ptr();
        assert_eq!((at.align_offset(PAGE_BYTES), buffer.room(9_000).len()), (0, 9_000));
        buffer.room(9_000).copy_from_slice(&[5; 9_000]);
        assert_eq!(buffer.room(10).as_ptr(), at);
        let piece = Piece::new(buffer, 3);
        assert_eq!(piece.bytes(), [5, 5, 5]);
        assert_eq!(piece.into_buffer().room(9_000).as_ptr(), at);
    }
}
