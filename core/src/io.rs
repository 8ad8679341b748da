//! What goes into the core and what comes out of it: the whole face between [`Bridge`](crate::Bridge) and a runtime.
//!
//! The core asks and never fetches. An [`Op`] is answered by an [`Outcome`] with the same [`OpId`]; the same code
//! therefore runs on real files, on a simulated disk and in a browser.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use bytes::Bytes;

use crate::ids::{ExId, Handle, OpId, WatchId};
use crate::time::Instant;

/// Something the world tells the core.
#[derive(Debug)]
pub enum Input<'a> {
    /// Time passed, or nothing did: the core looks at its deadlines.
    Tick,
    /// A client asks for something: the head of one HTTP request.
    Request(ExId, Request<'a>),
    /// A piece of the body of a request.
    Body(ExId, &'a [u8], Fin),
    /// A client whose upgrade was accepted sent a message.
    Message(ExId, Message<'a>),
    /// So many bytes of [`Output::Send`] frames left the runtime's queue for this client: its credit grows again.
    Taken(ExId, usize),
    /// The client is gone. The core sends nothing to it any more.
    Gone(ExId),
    /// The answer to an operation. One that was cancelled may still answer: it is ignored.
    Outcome(OpId, Outcome<'a>, Fin),
    /// Something may have changed in a watched directory: the file of this name, or anything if no name is known. A hint
    /// says only *look now*; one too many costs a look, one that is lost costs time and never an entry.
    Hint(WatchId, Option<&'a str>),
    /// The directory is gone or lies elsewhere: this watch has ended by itself.
    WatchEnded(WatchId),
    /// The runtime stops: every open socket is closed with 1000.
    Shutdown,
}

/// Something the runtime must do for the core.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Output {
    /// Perform this and answer with [`Input::Outcome`].
    Op(OpId, Op),
    /// Nobody waits for this operation any more: end it if it still runs.
    Cancel(OpId),
    /// Answer the request with this head. Body pieces follow as [`Frame::Body`], then [`Output::Finish`].
    Respond(ExId, Head),
    /// Complete the WebSocket upgrade of this request.
    Accept(ExId),
    /// Send this to the client, after everything sent to it before.
    Send(ExId, Frame),
    /// The answer is complete, or given up if it is shorter than its `content-length`: then its connection ends with it.
    Finish(ExId),
    /// Close the WebSocket with a real close frame, after what was sent before.
    Close(ExId, CloseCode, &'static str),
    /// `true`: stop reading from this client. `false`: go on.
    Hold(ExId, bool),
    /// Messages of up to so many bytes may come from this client from now on, instead of
    /// [`MAX_MESSAGE_BYTES`](crate::limits::MAX_MESSAGE_BYTES).
    Allow(ExId, usize),
    /// Carry raw bytes between this client and the program of this [`Op::Pty`]: what the program writes goes out in binary
    /// messages, binary messages that come go in, and neither is told to the core. Both ways are bounded by
    /// [`PIPE_FRAMES`](crate::limits::PIPE_FRAMES) and [`PIPE_INPUT_BYTES`](crate::limits::PIPE_INPUT_BYTES): who does not
    /// take is not read for. It ends with the operation; what of the program's was not read until then is dropped.
    Pipe(ExId, OpId),
    /// Say this to the operator. Never holds a token.
    Log(Level, String),
    /// Drained. Flush every touched socket once, then wait for an input, at most until the deadline.
    Wait {
        /// The next deadline, if there is one.
        until: Option<Instant>,
        /// What that deadline is for.
        why: Why,
    },
}

/// Why the core wants to be called again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Why {
    /// Nothing is due: only an input can change anything.
    Idle,
    /// The core came to its bound for one call and has more to do: call again at once with [`Input::Tick`].
    More,
    /// A watched file is looked at again.
    FilePoll,
    /// The session of a watched pane is asked for again.
    SessionPoll,
    /// The children of a watched session are looked at again.
    RosterPoll,
    /// A client request to herdr runs out of time.
    HerdrDeadline,
    /// A client is pinged, or is found silent.
    ClientLiveness,
    /// A stream that nobody watches is dropped.
    Grace,
    /// An agent had time to take what was typed into its pane.
    Typing,
    /// Those who follow events are told what has changed.
    EventsPoll,
    /// A message that could not be pushed is tried again.
    Push,
    /// An attached pane is looked at again, or its client is pinged or found silent.
    Attached,
    /// The demo conversation goes on.
    Demo,
}

/// Whether more of the same follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fin {
    /// More follows.
    More,
    /// This is the end.
    Last,
}

/// How much an [`Output::Log`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something is wrong that the operator should look at.
    Warn,
    /// A change that a user can see.
    Info,
    /// A decision of the core.
    Debug,
}

/// The head of one HTTP request, as the runtime's HTTP library parsed it.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// `GET`, `POST`, …
    pub method: &'a str,
    /// What stands in the request line, undecoded: `/agent-transcript?pane=w1%3Ap1`, seldom a whole URL, `*` or a host.
    pub target: &'a str,
    /// Header names (any case) and values, in order.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// Whether this is a well-formed WebSocket upgrade that [`Output::Accept`] could complete.
    pub upgrade: bool,
}

/// The head of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The HTTP status.
    pub status: u16,
    /// Header names in lower case, and values. `content-length` is among them where the length is known.
    pub headers: Vec<(&'static str, String)>,
}

/// What a WebSocket client sent, or did wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// A text message of at most [`MAX_MESSAGE_BYTES`](crate::limits::MAX_MESSAGE_BYTES).
    Text(&'a str),
    /// A binary message.
    Binary(&'a [u8]),
    /// The answer to a ping.
    Pong,
    /// Something that is no message. The core closes with the code that fits; nothing more is read.
    Fault(Fault),
}

/// What was wrong with bytes that should have been a WebSocket message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Over [`MAX_MESSAGE_BYTES`](crate::limits::MAX_MESSAGE_BYTES).
    TooLarge,
    /// A text message that is not UTF-8.
    NotUtf8,
    /// Against the WebSocket protocol.
    Protocol,
}

/// One piece of output for one client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A WebSocket text message: UTF-8, shared between clients where it can be.
    Text(Bytes),
    /// A WebSocket binary message.
    Binary(Bytes),
    /// A WebSocket ping.
    Ping,
    /// A piece of an HTTP body.
    Body(Bytes),
}

impl Frame {
    /// The bytes that count against a client's credit.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Text(bytes) | Self::Binary(bytes) | Self::Body(bytes) => bytes.len(),
            Self::Ping => 0,
        }
    }

    /// Whether the frame carries no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// WebSocket close codes (RFC 6455, section 7.4.1) that Panewire uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseCode {
    /// 1000
    Normal,
    /// 1002
    Protocol,
    /// 1007
    NotUtf8,
    /// 1008: the client may not have this any more.
    Policy,
    /// 1009
    TooLarge,
    /// 1011
    Internal,
    /// 4000: a client of events that lags too far begins anew.
    Lagged,
}

impl CloseCode {
    /// The number on the wire.
    #[must_use]
    pub const fn get(self) -> u16 {
        match self {
            Self::Normal => 1000,
            Self::Protocol => 1002,
            Self::NotUtf8 => 1007,
            Self::Policy => 1008,
            Self::TooLarge => 1009,
            Self::Internal => 1011,
            Self::Lagged => 4000,
        }
    }
}

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
    /// Say what changes in a directory from now on, with [`Input::Hint`]: files that are written, made, moved or removed.
    /// Answer: [`Outcome::Watching`]; where that is not possible, [`Outcome::Failed`], and files are looked at by the clock.
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
    /// [`Outcome::Ran`] without output. [`Output::Pipe`] says who is at the terminal.
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
