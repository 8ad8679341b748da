//! What only a runtime can do, and what it answers.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;

use crate::ids::{Handle, OpId, WatchId};

/// An operation that only a runtime can perform. Paths are absolute and UTF-8.
///
/// Operations on files work on handles, so that a rename between two of them cannot mix two files.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Op {
    /// Open a regular file for reading. Answer: [`Outcome::Opened`].
    ///
    /// With `under`, the file that was really opened (links resolved) must lie below that directory (links resolved),
    /// or the answer is [`FailureKind::Outside`]: containment is part of opening, not a check before it.
    Open {
        /// The file.
        path: String,
        /// The directory that must contain it.
        under: Option<String>,
    },
    /// Read up to `len` bytes (at most [`MAX_READ_BYTES`](crate::limits::MAX_READ_BYTES)) at `offset`.
    /// Answer: [`Outcome::Bytes`]; fewer bytes than asked for are normal, none is the end of the file.
    /// Reads of one handle are answered in the order they were asked.
    Read {
        /// The file.
        handle: Handle,
        /// Where to begin, in bytes.
        offset: u64,
        /// How many bytes at most.
        len: usize,
    },
    /// Facts about what a path names now, links followed. Answer: [`Outcome::Facts`].
    Stat {
        /// The file or directory.
        path: String,
    },
    /// Forget a handle. Answer: [`Outcome::Done`].
    CloseFile {
        /// The file.
        handle: Handle,
    },
    /// The names in a directory, with facts (links followed), in any order; names that are not UTF-8 are left out.
    /// Answer: [`Outcome::Listing`].
    List {
        /// The directory.
        path: String,
        /// How many names at most; the rest is left out and the listing says so.
        max_names: usize,
    },
    /// Say what changes in a directory from now on, with [`Input::Hint`](super::Input::Hint): files that are written, made,
    /// moved or removed. Answer: [`Outcome::Watching`]; where that is not possible, [`Outcome::Failed`], and files are
    /// looked at by the clock.
    Watch {
        /// The directory.
        directory: String,
    },
    /// Say it no more. Answer: [`Outcome::Done`].
    Unwatch {
        /// The watch.
        watch: WatchId,
    },
    /// Replace a file of our own state atomically, mode 0600; its directory is made if missing. Answer: [`Outcome::Done`].
    Write {
        /// The file.
        path: String,
        /// Its whole new content.
        bytes: Bytes,
    },
    /// Read a whole file of our own state. Answer: [`Outcome::Bytes`]; a larger file is [`FailureKind::TooLarge`].
    Load {
        /// The file.
        path: String,
        /// Bytes at most.
        cap: usize,
    },
    /// Remove a file of our own state. Answer: [`Outcome::Done`].
    Remove {
        /// The file.
        path: String,
    },
    /// Append to a file of our own state, mode 0600, made if missing. Answer: [`Outcome::Done`].
    Append {
        /// The file.
        path: String,
        /// What comes at its end.
        bytes: Bytes,
    },
    /// Bytes that nobody can guess, from the system's own source: what secrets are made of. Answer: [`Outcome::Random`].
    Random {
        /// How many; at most [`MAX_RANDOM_BYTES`](crate::limits::MAX_RANDOM_BYTES).
        bytes: usize,
    },
    /// Run a program without a shell and without standard input; kill it at the deadline. Answer: [`Outcome::Ran`].
    Run {
        /// The program and its arguments.
        argv: Vec<String>,
        /// Killed after this long, and answered with [`FailureKind::TimedOut`].
        within: Duration,
        /// Bytes kept of each of its two outputs; the rest is read and dropped.
        output_cap: usize,
    },
    /// Run a program under a terminal of its own, as the leader of its session, until it ends or the operation is
    /// cancelled: then it is hung up, and killed if it stays. Answers: [`Outcome::Started`] of which more follows, then
    /// [`Outcome::Ran`] without output. [`Output::Pipe`](super::Output::Pipe) says who is at the terminal.
    Pty {
        /// The program and its arguments.
        argv: Vec<String>,
        /// Variables that it gets beside ours.
        environment: Vec<(&'static str, String)>,
        /// The size of its terminal.
        size: TerminalSize,
    },
    /// Give the terminal of an [`Op::Pty`] that has started another size. Answer: [`Outcome::Done`].
    Resize {
        /// That operation.
        pty: OpId,
        /// The new size.
        size: TerminalSize,
    },
    /// Send one line over a fresh connection to a Unix socket, read one line back. Answer: [`Outcome::Answer`].
    Call {
        /// The socket.
        socket: String,
        /// The request, with its newline. Sent in one write right after connecting.
        line: Bytes,
        /// Given up after this long, and answered with [`FailureKind::TimedOut`].
        within: Duration,
        /// Bytes of the answer at most; a longer one is [`FailureKind::TooLarge`].
        answer_cap: usize,
    },
    /// Send one line over a fresh connection to a Unix socket, then read lines from it for as long as it is open; nothing more
    /// is ever sent, and a silence has no limit. Answers: [`Outcome::Answer`] for each line, of which more follows, then
    /// [`Outcome::Failed`] for its end. The next line is handed in when the core has taken the one before.
    Listen {
        /// The socket.
        socket: String,
        /// The request, with its newline. Sent in one write right after connecting.
        line: Bytes,
        /// Given up if the first line does not come within this, and answered with [`FailureKind::TimedOut`].
        within: Duration,
        /// Bytes of a line at most; a longer one is [`FailureKind::TooLarge`], and the end.
        line_cap: usize,
    },
    /// Ask a SQLite database that is there and stays as it is: opened read-only, closed again. Answer: [`Outcome::Rows`].
    /// A program that was built without SQLite answers [`FailureKind::Unsupported`].
    Query {
        /// The database.
        database: String,
        /// The directory that must contain it.
        under: String,
        /// One statement.
        sql: &'static str,
        /// The values of `?1`, `?2`, …
        parameters: Vec<Cell>,
        /// Given up after this long, and answered with [`FailureKind::TimedOut`].
        within: Duration,
        /// Bytes of all rows at most; what finds no room is left out, and the answer says so. One row always comes.
        answer_cap: usize,
    },
    /// Put one HTTP request to another server over a connection of its own, read the whole answer.
    /// Answer: [`Outcome::Fetched`], whatever its status; redirections are for the core to follow.
    ///
    /// A program that was built without TLS answers `https` with [`FailureKind::Unsupported`].
    Fetch {
        /// `GET`, `POST`, …
        method: &'static str,
        /// `http://127.0.0.1:4096/api/session?limit=1`, without a user or a fragment.
        url: String,
        /// Names and values. `host` and `content-length` are the runtime's. May hold secrets: never log them.
        headers: Vec<(&'static str, String)>,
        /// The body of the request.
        body: Bytes,
        /// Given up after this long, and answered with [`FailureKind::TimedOut`].
        within: Duration,
        /// Bytes of the answer's body at most; a longer one is [`FailureKind::TooLarge`].
        answer_cap: usize,
    },
    /// Ask another HTTP server for its events (`text/event-stream`) over a connection of its own, then read them for as long
    /// as it tells. Answers: [`Outcome::Answer`] with the data of each event, of which more follows, then
    /// [`Outcome::Failed`] for the end. A server that answers anything else is [`Outcome::Fetched`] without a body, and that
    /// is the end, too. The next event is handed in when the core has taken the one before.
    Events {
        /// `http://127.0.0.1:4096/event`, without a user or a fragment.
        url: String,
        /// Names and values, as in [`Op::Fetch`].
        headers: Vec<(&'static str, String)>,
        /// Given up if the answer does not begin within this, and answered with [`FailureKind::TimedOut`].
        within: Duration,
        /// Given up after so long without a byte, and answered with [`FailureKind::TimedOut`].
        silence: Duration,
        /// Bytes of the data of an event at most; a longer one is [`FailureKind::TooLarge`], and the end.
        event_cap: usize,
    },
}

/// One value of a row of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// None.
    Null,
    /// A whole number.
    Integer(i64),
    /// A text, and everything else as one; what is not UTF-8 became U+FFFD.
    Text(String),
}

/// The answer to an [`Op`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// The file is open.
    Opened {
        /// Its handle.
        handle: Handle,
        /// What it is.
        facts: Facts,
    },
    /// Bytes of a file.
    Bytes {
        /// The bytes; empty at the end of the file.
        bytes: &'a [u8],
        /// The size of the file right after the read.
        size_now: u64,
    },
    /// Facts about a path.
    Facts(Facts),
    /// A directory.
    Listing {
        /// Its entries, in any order.
        names: &'a [DirEntry],
        /// Whether there were more than asked for.
        truncated: bool,
    },
    /// The directory is watched from now on.
    Watching(WatchId),
    /// The program runs. More follows when it ends.
    Started,
    /// As many random bytes as were asked for.
    Random(&'a [u8]),
    /// A program ended by itself.
    Ran {
        /// Its exit code; `None` if a signal ended it.
        exit: Option<i32>,
        /// Its standard output, up to the cap.
        stdout: &'a [u8],
        /// Its standard error, up to the cap.
        stderr: &'a [u8],
    },
    /// One line from a socket, without its newline.
    Answer(&'a [u8]),
    /// A database answered.
    Rows {
        /// The rows, in order.
        rows: &'a [Vec<Cell>],
        /// Whether there are more than fit.
        truncated: bool,
    },
    /// An HTTP server answered.
    Fetched {
        /// The status of its answer.
        status: u16,
        /// The whole body of its answer.
        body: &'a [u8],
    },
    /// Done; there is nothing to say.
    Done,
    /// Not done.
    Failed(Failure<'a>),
}

/// Why an operation was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure<'a> {
    /// What the core can act on.
    pub kind: FailureKind,
    /// What a person can read, in the operating system's words.
    pub text: &'a str,
}

/// The kinds of failure that the core tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// There is no such file, program or socket.
    NotFound,
    /// The operating system does not allow it.
    Denied,
    /// The file lies outside the directory that must contain it.
    Outside,
    /// It did not end in time.
    TimedOut,
    /// The socket is there and nobody answers on it, or the connection broke.
    Unreachable,
    /// The question was sent, and the connection broke before its answer: what it asked for may have been done.
    Lost,
    /// The answer is longer than its cap.
    TooLarge,
    /// This program cannot do that at all: it was built without it.
    Unsupported,
    /// Anything else.
    Other,
}

/// How large a terminal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Characters in a row.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
}

/// Facts about a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// What it is.
    pub kind: FileKind,
    /// Which file it is, whatever its name.
    pub identity: FileIdentity,
    /// Its size in bytes.
    pub size: u64,
    /// When its content changed last.
    pub modified: FileTime,
}

/// What a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A socket, a device, a pipe.
    Other,
}

/// Device and inode number: two files with one identity are one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileIdentity {
    /// The device.
    pub device: u64,
    /// The file on it.
    pub inode: u64,
}

/// A file's time stamp in nanoseconds since 1970. Compared for change and order, never with a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileTime(pub i64);

impl FileTime {
    /// Milliseconds since 1970.
    #[must_use]
    pub const fn as_unix_millis(self) -> i64 {
        self.0 / 1_000_000
    }
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name alone.
    pub name: String,
    /// What it names, links followed.
    pub facts: Facts,
}
