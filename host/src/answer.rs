//! The answer to an operation, owned: it can wait in a queue or come from another thread.

use std::io;

use panewire_core::ids::{Handle, WatchId};
use panewire_core::io::{DirEntry, Facts, Failure, FailureKind, Outcome};

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
            Self::Ran { exit, stdout, stderr } => Outcome::Ran { exit: *exit, stdout, stderr },
            Self::Line(line) => Outcome::Answer(line),
            Self::Done => Outcome::Done,
            Self::Failed(kind, text) => Outcome::Failed(Failure { kind: *kind, text }),
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
    buffer: Vec<u8>,
    filled: usize,
}

impl Piece {
    pub(crate) fn new(buffer: Vec<u8>, filled: usize) -> Self {
        let filled = filled.min(buffer.len());
        Self { buffer, filled }
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }

    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}
