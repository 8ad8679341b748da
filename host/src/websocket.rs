//! The WebSocket engine: one connection after its upgrade, as bytes in and bytes out.
//!
//! tungstenite reads and checks what comes in, and makes pongs and close frames. Data frames do not pass through it: they
//! wait in our own queue as a header and the core's shared bytes, and leave by vectored writes without being copied for
//! each client. The runtime owns the socket:
//!
//! ```text
//!            received bytes ──▶ receive() ──▶ Received ──▶ Input::Message
//! Output::Send ──▶ send() ──▶ queue ──▶ fill() ──▶ write ──▶ advance() ──▶ Input::Taken
//! ```

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};

use bytes::Bytes;
use panewire_core::io::{CloseCode, Fault, Frame, Message};
use panewire_core::limits::MAX_MESSAGE_BYTES;
use tungstenite::Utf8Bytes;
use tungstenite::error::Error;
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig, WebSocketContext};

/// Bytes that the engine keeps for reading. Clients send a few dozen at a time.
const READ_BUFFER_BYTES: usize = 512;

/// Frames for which the emptied queue keeps its room; more is given back.
const KEPT_FRAMES: usize = 8;

/// Bytes of a data frame's header at most, without a mask.
const HEADER_BYTES: usize = 10;

/// The first byte of a pong frame: final, opcode 10.
const PONG: u8 = 0x8a;

/// One WebSocket connection, the server's side.
#[derive(Debug)]
pub struct WebSocket {
    context: WebSocketContext,
    queue: VecDeque<Queued>,
    /// Bytes of the first frame in the queue that have left.
    sent: usize,
    /// What the client sends can no longer be understood.
    faulted: bool,
    ending: Ending,
}

/// What a client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// A text message.
    Text(Utf8Bytes),
    /// A binary message.
    Binary(Bytes),
    /// The answer to a ping.
    Pong,
    /// Something that is no message. Nothing more will be received; [`close`](WebSocket::close) with what fits.
    Fault(Fault),
    /// The client closed, or answered our close. Nothing more will be received.
    Closed,
}

impl Received {
    /// What the core is told; nothing for [`Received::Closed`].
    #[must_use]
    pub fn as_message(&self) -> Option<Message<'_>> {
        match self {
            Self::Text(text) => Some(Message::Text(text.as_str())),
            Self::Binary(bytes) => Some(Message::Binary(bytes)),
            Self::Pong => Some(Message::Pong),
            Self::Fault(fault) => Some(Message::Fault(*fault)),
            Self::Closed => None,
        }
    }
}

/// What is to be done with the socket once the queue is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Nothing: the connection goes on.
    Open,
    /// Read until the client answers our close frame, for a bounded time.
    AwaitPeer,
    /// What the client sends can no longer be understood: shut the write side down, read and discard for a bounded time.
    /// Without that, dropping the socket resets it and the client may lose the close frame.
    Discard,
    /// Both sides have said goodbye: drop the socket.
    Done,
}

impl WebSocket {
    /// A connection whose upgrade was just answered.
    #[must_use]
    pub fn server() -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(0)
            // The length in a frame's header is reserved at once: both bounds are needed.
            .max_message_size(Some(MAX_MESSAGE_BYTES))
            .max_frame_size(Some(MAX_MESSAGE_BYTES));
        Self {
            context: WebSocketContext::new(Role::Server, Some(config)),
            queue: VecDeque::new(),
            sent: 0,
            faulted: false,
            ending: Ending::Open,
        }
    }

    /// Messages of up to so many bytes may come from now on.
    pub fn allow(&mut self, bytes: usize) {
        self.context.set_config(|config| {
            config.max_message_size = Some(bytes);
            config.max_frame_size = Some(bytes);
        });
    }

    /// Takes bytes from the front of `input` until they make something to tell. `None`: it needs more.
    ///
    /// After our own close frame, messages that were on their way are dropped.
    pub fn receive(&mut self, input: &mut &[u8]) -> Option<Received> {
        loop {
            if self.faulted || self.ending == Ending::Done {
                *input = &[];
                return None;
            }
            let read = self.context.read(&mut Memory { input, queue: &mut self.queue });
            match read {
                Ok(tungstenite::Message::Close(_)) => return Some(self.peer_closed()),
                Ok(_) if self.ending == Ending::AwaitPeer => {}
                Ok(tungstenite::Message::Text(text)) => return Some(Received::Text(text)),
                Ok(tungstenite::Message::Binary(bytes)) => return Some(Received::Binary(bytes)),
                Ok(tungstenite::Message::Pong(_)) => return Some(Received::Pong),
                // A ping was answered by the engine; raw frames are never read.
                Ok(tungstenite::Message::Ping(_) | tungstenite::Message::Frame(_)) => {}
                Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(Error::ConnectionClosed | Error::AlreadyClosed) => return Some(self.peer_closed()),
                Err(error) => {
                    self.faulted = true;
                    if self.ending == Ending::Open {
                        // The close frame comes from the core, which has to hear of it first.
                        return Some(Received::Fault(fault(&error)));
                    }
                    self.ending = Ending::Discard;
                }
            }
        }
    }

    /// Queues a frame behind all others. After a close it is dropped.
    pub fn send(&mut self, frame: Frame) {
        if !self.context.can_write() {
            return;
        }
        let (opcode, payload) = match frame {
            Frame::Text(bytes) => (OpCode::Data(Data::Text), bytes),
            Frame::Binary(bytes) => (OpCode::Data(Data::Binary), bytes),
            Frame::Ping => (OpCode::Control(Control::Ping), Bytes::new()),
            // A piece of an HTTP body has no place here.
            Frame::Body(_) => return,
        };
        self.queue.push_back(Queued::shared(opcode, payload));
    }

    /// Queues a close frame behind all others.
    pub fn close(&mut self, code: CloseCode, reason: &'static str) {
        let frame = CloseFrame { code: code.get().into(), reason: Utf8Bytes::from_static(reason) };
        // Writing into memory does not fail; a context that the client has closed refuses, and its reply is queued.
        let _ = self.context.close(&mut Memory { input: &mut &[][..], queue: &mut self.queue }, Some(frame));
        if self.ending == Ending::Open {
            self.ending = if self.faulted { Ending::Discard } else { Ending::AwaitPeer };
        }
    }

    /// Puts what is queued into `slices`, two for a frame, and says how many it used.
    pub fn fill<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut skip = self.sent;
        let mut used = 0;
        let mut free = slices.iter_mut();
        'queue: for part in self.queue.iter().flat_map(Queued::parts) {
            let rest = part.get(skip..).unwrap_or_default();
            skip = skip.saturating_sub(part.len());
            if rest.is_empty() {
                continue;
            }
            let Some(slice) = free.next() else {
                break 'queue;
            };
            *slice = IoSlice::new(rest);
            used += 1;
        }
        used
    }

    /// So many bytes of what [`fill`](Self::fill) showed were written. Gives back how many of them were payload of frames
    /// that were [sent](Self::send): the client's credit.
    pub fn advance(&mut self, written: usize) -> usize {
        let mut credit = 0;
        let mut rest = written;
        while let Some(first) = self.queue.front() {
            let begun = self.sent;
            self.sent = begun.saturating_add(rest).min(first.len());
            credit += first.credit(self.sent).saturating_sub(first.credit(begun));
            rest = rest.saturating_sub(self.sent - begun);
            if self.sent < first.len() {
                return credit;
            }
            self.sent = 0;
            self.queue.pop_front();
        }
        if self.queue.capacity() > KEPT_FRAMES {
            self.queue = VecDeque::new();
        }
        credit
    }

    /// Frames that have not left yet.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Whether everything queued has left.
    #[must_use]
    pub fn is_flushed(&self) -> bool {
        self.queue.is_empty()
    }

    /// What is to be done once the queue is empty.
    #[must_use]
    pub const fn ending(&self) -> Ending {
        self.ending
    }

    /// The client's close was read: what has not begun to leave would only delay our answer.
    fn peer_closed(&mut self) -> Received {
        if self.ending == Ending::Open {
            self.queue.truncate(usize::from(self.sent > 0));
            let _ = self.context.flush(&mut Memory { input: &mut &[][..], queue: &mut self.queue });
        }
        self.ending = Ending::Done;
        Received::Closed
    }
}

const fn fault(error: &Error) -> Fault {
    match error {
        Error::Capacity(_) => Fault::TooLarge,
        Error::Utf8(_) => Fault::NotUtf8,
        _ => Fault::Protocol,
    }
}

/// A frame on its way out.
#[derive(Debug)]
struct Queued {
    header: [u8; HEADER_BYTES],
    header_len: u8,
    payload: Bytes,
}

impl Queued {
    /// A frame with a payload that others may hold too.
    fn shared(opcode: OpCode, payload: Bytes) -> Self {
        let mut header = [0; HEADER_BYTES];
        let mut room = &mut header[..];
        let length = u64::try_from(payload.len()).unwrap_or(u64::MAX);
        let formatted = FrameHeader { opcode, ..FrameHeader::default() }.format(length, &mut room);
        debug_assert!(formatted.is_ok(), "a header without a mask has at most ten bytes");
        let left = room.len();
        let header_len = u8::try_from(HEADER_BYTES - left).unwrap_or_default();
        Self { header, header_len, payload }
    }

    /// A whole frame as the engine wrote it.
    fn whole(frame: &[u8]) -> Self {
        Self { header: [0; HEADER_BYTES], header_len: 0, payload: Bytes::copy_from_slice(frame) }
    }

    fn parts(&self) -> [&[u8]; 2] {
        [self.header.get(..usize::from(self.header_len)).unwrap_or_default(), &self.payload]
    }

    fn len(&self) -> usize {
        usize::from(self.header_len).saturating_add(self.payload.len())
    }

    /// Bytes that count for the client's credit when so many bytes of the frame have left.
    fn credit(&self, sent: usize) -> usize {
        if self.header_len == 0 { 0 } else { sent.saturating_sub(usize::from(self.header_len)) }
    }

    fn is_pong(&self) -> bool {
        self.header_len == 0 && self.payload.first() == Some(&PONG)
    }
}

/// What tungstenite takes for a socket: it reads what we were given, and writes into our queue.
struct Memory<'a, 'b> {
    input: &'a mut &'b [u8],
    queue: &'a mut VecDeque<Queued>,
}

impl Read for Memory<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.input.is_empty() {
            // Zero would mean that the client is gone.
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.input.read(buffer)
    }
}

impl Write for Memory<'_, '_> {
    /// Takes one frame: with a write buffer of zero the engine hands over each one by itself.
    fn write(&mut self, frame: &[u8]) -> io::Result<usize> {
        let queued = Queued::whole(frame);
        // A client that pings and never reads gets one pong, the newest, whenever it reads again. The first frame in the
        // queue may be half sent.
        let waiting = self.queue.iter_mut().skip(1).find(|other| other.is_pong());
        match waiting {
            Some(waiting) if queued.is_pong() => *waiting = queued,
            _ => self.queue.push_back(queued),
        }
        Ok(frame.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
