//! One client over a real WebSocket. It takes what comes only when it is told to, so it can be slow and deaf.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;
use tungstenite::error::{Error, ProtocolError};
use tungstenite::protocol::{Role, WebSocketConfig, WebSocketContext};

use crate::vector::stage::Heard;
use crate::vector::step::{Fault, Message, Speed};

/// Frames that are taken at once.
const MANY: usize = 256;
/// How long a message may wait for a server that takes nothing.
const SENT_WITHIN: Duration = Duration::from_secs(5);
/// Bytes of a message that is too large for every server.
const TOO_LARGE: usize = 64 * 1024;
/// What the kernel keeps of what was not read yet: it would grow, and then a client that reads nothing is noticed late.
const RECEIVE_BUFFER: usize = 64 * 1024;
/// A text frame of one byte that is not UTF-8, masked with zeros.
const NOT_UTF8: [u8; 7] = [0x81, 0x81, 0, 0, 0, 0, 0xff];
/// A text frame without a mask, which no client may send.
const UNMASKED: [u8; 4] = [0x81, 0x02, b'h', b'i'];

/// A client that was let in.
#[derive(Debug)]
pub(super) struct Client {
    wire: Wire,
    context: WebSocketContext,
    heard: VecDeque<Heard>,
    end: Option<Heard>,
    pings: u64,
    stuck: bool,
    more: bool,
}

impl Client {
    /// On a connection whose upgrade was answered; `behind` came behind the answer.
    pub(super) fn new(stream: TcpStream, behind: Vec<u8>) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        // Where the kernel refuses, more has to come before the server notices.
        let _ = sockopt::set_socket_recv_buffer_size(&stream, RECEIVE_BUFFER);
        let config = WebSocketConfig::default().write_buffer_size(0).max_message_size(None).max_frame_size(None);
        Ok(Self {
            wire: Wire { stream, mute: false },
            context: WebSocketContext::from_partially_read(behind, Role::Client, Some(config)),
            heard: VecDeque::new(),
            end: None,
            pings: 0,
            stuck: false,
            more: true,
        })
    }

    /// Takes what is there.
    pub(super) fn take(&mut self) {
        self.more = false;
        for _ in 0..MANY {
            if self.stuck || self.end.is_some() {
                return;
            }
            match self.context.read(&mut self.wire) {
                Ok(tungstenite::Message::Text(text)) => self.heard.push_back(Heard::Text(text.as_str().into())),
                Ok(tungstenite::Message::Binary(bytes)) => self.heard.push_back(Heard::Binary(bytes.len())),
                Ok(tungstenite::Message::Ping(_)) => self.pings += 1,
                Ok(tungstenite::Message::Pong(_) | tungstenite::Message::Frame(_)) => {}
                Ok(tungstenite::Message::Close(frame)) => {
                    // The answer to the server's goodbye.
                    let _ = self.context.flush(&mut self.wire);
                    let (code, reason) =
                        frame.map_or((1005, String::new()), |frame| (frame.code.into(), frame.reason.to_string()));
                    self.end = Some(Heard::Closed(code, reason));
                }
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(
                    Error::Io(_)
                    | Error::ConnectionClosed
                    | Error::AlreadyClosed
                    | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake),
                ) => self.end = Some(Heard::Cut),
                Err(error) => self.end = Some(Heard::Garbled(error.to_string())),
            }
        }
        self.more = true;
    }

    /// What was heard and not asked for yet, or how it ended.
    pub(super) fn next(&mut self) -> Option<Heard> {
        self.heard.pop_front().or_else(|| self.end.clone())
    }

    /// Whether there is something to ask for.
    pub(super) fn has_heard(&self) -> bool {
        !self.heard.is_empty() || self.end.is_some()
    }

    /// Whether more is there than was taken.
    pub(super) const fn has_more(&self) -> bool {
        self.more
    }

    /// The socket, if anything is to be read from it.
    pub(super) fn waits_on(&self) -> Option<BorrowedFd<'_>> {
        (!self.stuck && self.end.is_none()).then(|| self.wire.stream.as_fd())
    }

    /// Sends a message. What cannot be sent any more is lost: what is heard next says why.
    pub(super) fn say(&mut self, message: &Message) {
        let text = match message {
            Message::Text(text) => tungstenite::Message::text(text.as_str()),
            Message::Binary(bytes) => tungstenite::Message::binary(bytes.clone()),
            Message::Fault(Fault::TooLarge) => tungstenite::Message::text("x".repeat(TOO_LARGE)),
            Message::Fault(Fault::NotUtf8) => return self.say_raw(&NOT_UTF8),
            Message::Fault(Fault::Protocol) => return self.say_raw(&UNMASKED),
        };
        let _ = self.context.write(&mut self.wire, text).and_then(|()| self.context.flush(&mut self.wire));
    }

    fn say_raw(&mut self, bytes: &[u8]) {
        let _ = self.wire.write_all(bytes);
    }

    pub(super) fn read(&mut self, speed: Speed) {
        self.stuck = speed == Speed::Stuck;
        self.more = !self.stuck;
    }

    /// From now on nothing is sent, not even pongs.
    pub(super) const fn mute(&mut self) {
        self.wire.mute = true;
    }

    pub(super) const fn pings(&self) -> u64 {
        self.pings
    }

    /// The connection is reset.
    pub(super) fn leave(self) {
        // Without it the connection ends in good order, if nothing waits to be read.
        let _ = sockopt::set_socket_linger(&self.wire.stream, Some(Duration::ZERO));
    }
}

/// The socket. Reading does not wait; writing does, for a while.
#[derive(Debug)]
struct Wire {
    stream: TcpStream,
    mute: bool,
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl Write for Wire {
    /// A connection that takes nothing more may still have something to say: reading will tell.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.mute {
            return Ok(bytes.len());
        }
        loop {
            match self.stream.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut fds = [PollFd::new(&self.stream, PollFlags::OUT)];
                    if poll(&mut fds, Some(&timespec(SENT_WITHIN))).unwrap_or(0) == 0 {
                        return Ok(bytes.len());
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(written) => return Ok(written),
                Err(_) => return Ok(bytes.len()),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX), tv_nsec: time.subsec_nanos().into() }
}
