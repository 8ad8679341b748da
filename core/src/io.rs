//! What goes into the core and what comes out of it: the whole face between [`Bridge`](crate::Bridge) and a runtime.
//!
//! The core asks and never fetches. An [`Op`] is answered by an [`Outcome`] with the same [`OpId`]; the same code
//! therefore runs on real files, on a simulated disk and in a browser.

mod op;

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

pub use op::{
    Cell, DirEntry, Facts, Failure, FailureKind, FileIdentity, FileKind, FileTime, Op, Outcome, TerminalSize,
};

use crate::ids::{ExId, OpId, WatchId};
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
    /// Children that are counted for a list are waited for no longer.
    Tally,
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
