//! An outcome that owns its bytes: it waits in the world until it is due.

use bytes::Bytes;
use panewire_core::ids::{Handle, WatchId};
use panewire_core::io::{Cell, DirEntry, Facts, Failure, FailureKind, Outcome};

/// The answer to an operation, before it is lent to the core as an [`Outcome`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// [`Outcome::Opened`]
    Opened(Handle, Facts),
    /// [`Outcome::Bytes`]
    Bytes(Bytes, u64),
    /// [`Outcome::Facts`]
    Facts(Facts),
    /// [`Outcome::Listing`]
    Listing(Vec<DirEntry>, bool),
    /// [`Outcome::Watching`]
    Watching(WatchId),
    /// [`Outcome::Started`], of which more follows
    Started,
    /// [`Outcome::Random`]
    Random(Vec<u8>),
    /// [`Outcome::Ran`]
    Ran {
        /// Its exit code.
        exit: Option<i32>,
        /// Its standard output.
        stdout: Vec<u8>,
        /// Its standard error.
        stderr: Vec<u8>,
    },
    /// [`Outcome::Answer`]
    Answer(Vec<u8>),
    /// [`Outcome::Rows`]
    Rows(Vec<Vec<Cell>>, bool),
    /// [`Outcome::Fetched`]
    Fetched {
        /// Its status.
        status: u16,
        /// The whole body.
        body: Vec<u8>,
    },
    /// [`Outcome::Done`]
    Done,
    /// [`Outcome::Failed`]
    Failed(FailureKind, String),
}

impl Reply {
    /// A failure in the words of an operating system.
    #[must_use]
    pub fn failed(kind: FailureKind) -> Self {
        let text = match kind {
            FailureKind::NotFound => "No such file or directory (os error 2)",
            FailureKind::Denied => "Permission denied (os error 13)",
            FailureKind::Outside => "outside of its directory",
            FailureKind::TimedOut => "timed out",
            FailureKind::Unreachable => "Connection refused (os error 111)",
            FailureKind::Lost => "closed without an answer",
            FailureKind::TooLarge => "answer too large",
            FailureKind::Unsupported => "this program cannot do that",
            _ => "Input/output error (os error 5)",
        };
        Self::Failed(kind, text.into())
    }

    /// What the core is handed.
    #[must_use]
    pub fn outcome(&self) -> Outcome<'_> {
        match self {
            Self::Opened(handle, facts) => Outcome::Opened { handle: *handle, facts: *facts },
            Self::Bytes(bytes, size_now) => Outcome::Bytes { bytes, size_now: *size_now },
            Self::Facts(facts) => Outcome::Facts(*facts),
            Self::Listing(names, truncated) => Outcome::Listing { names, truncated: *truncated },
            Self::Watching(watch) => Outcome::Watching(*watch),
            Self::Started => Outcome::Started,
            Self::Random(bytes) => Outcome::Random(bytes),
            Self::Ran { exit, stdout, stderr } => Outcome::Ran { exit: *exit, stdout, stderr },
            Self::Answer(line) => Outcome::Answer(line),
            Self::Rows(rows, truncated) => Outcome::Rows { rows, truncated: *truncated },
            Self::Fetched { status, body } => Outcome::Fetched { status: *status, body },
            Self::Done => Outcome::Done,
            Self::Failed(kind, text) => Outcome::Failed(Failure { kind: *kind, text }),
        }
    }
}
