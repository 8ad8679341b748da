//! Carries one WebSocket: moves bytes between the engine and the real socket, until both have said goodbye.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::mem;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use panewire_core::io::Frame;
use panewire_core::limits::PIPE_FRAMES;

use crate::driver::Alarm;
use crate::exchange::{Carrier, Event, Piping};
use crate::pipe::{Pipe, Tty};
use crate::websocket::{Ending, Received, WebSocket};

/// A closing connection is dropped after this long, whether the client answered or not.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);

/// After a close frame that the client cannot answer, so long is read and discarded, so that it sees the frame and no reset.
const DISCARD_WITHIN: Duration = Duration::from_secs(1);

/// Bytes that are discarded so.
const DISCARD_BYTES: usize = 256 * 1024;

/// Pieces of frames in one write; two make a frame.
const SLICES: usize = 512;

/// Bytes that are read at once.
const READ_BYTES: usize = 4 * 1024;

/// Reads and writes in one turn; other connections have theirs then.
const TURNS: usize = 32;

/// The socket of a runtime.
pub trait Transport {
    /// Writes some of these bytes, or asks to be woken when there is room for them.
    fn poll_write(&mut self, slices: &[IoSlice<'_>], cx: &mut Context<'_>) -> Poll<io::Result<usize>>;

    /// Ready when a read may find something; otherwise asks to be woken then.
    fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Reads what is there, without waiting: [`io::ErrorKind::WouldBlock`] if there is nothing after all.
    ///
    /// # Errors
    /// What the system says.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes nothing more, and lets the client know.
    ///
    /// # Errors
    /// What the system says.
    fn shut_down(&mut self) -> io::Result<()>;
}

/// Carries a WebSocket from its upgrade to its end.
///
/// `unread` is what a hasty client sent behind its request. Give a copy: the original keeps the whole buffer of the HTTP
/// library alive. `register` lets the runtime wait for the terminals that the client is at.
pub async fn carry<P: Tty>(
    carrier: Carrier,
    transport: impl Transport,
    alarm: impl Alarm,
    unread: Vec<u8>,
    register: impl Fn(File) -> io::Result<P>,
) {
    let mut connection = Connection {
        carrier,
        transport,
        alarm,
        socket: WebSocket::server(),
        unread: Some(unread),
        register,
        pipe: None,
        deadline: None,
        shut: false,
        discarded: 0,
    };
    poll_fn(|cx| connection.poll(cx)).await;
}

struct Connection<T, A, R, P> {
    carrier: Carrier,
    transport: T,
    alarm: A,
    socket: WebSocket,
    /// Bytes that came and were not yet looked at; behind an empty piece the engine may hold some.
    unread: Option<Vec<u8>>,
    register: R,
    /// The terminal that the client is at.
    pipe: Option<Pipe<P>>,
    /// When a closing connection is dropped.
    deadline: Option<Instant>,
    shut: bool,
    discarded: usize,
}

/// What one step came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// There may be more to do at once.
    On,
    /// Nothing can be done before the task is woken.
    Stuck,
    /// The connection has ended.
    Over,
}

impl<T: Transport, A: Alarm, R: Fn(File) -> io::Result<P>, P: Tty> Connection<T, A, R, P> {
    /// Does what can be done now. Ready: the connection has ended.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..TURNS {
            // Ask first: what changes while we look wakes us.
            while self.carrier.poll_changed(cx).is_ready() {}
            self.queue();
            let piped = self.splice(cx);
            let wrote = self.write(cx);
            let closed = self.close(cx);
            let read = self.read(cx);
            let steps = [piped, wrote, closed, read];
            if steps.contains(&Step::Over) {
                return Poll::Ready(());
            }
            if !steps.contains(&Step::On) {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Queues what the core has said.
    fn queue(&mut self) {
        let (frames, piping, allowed, close) = self
            .carrier
            .said(|said| (mem::take(&mut said.frames), said.piping.take(), said.allowed.take(), said.close.take()));
        // Nothing of the terminal before comes behind these frames, and nothing of the next one before them.
        if piping.is_some() || close.is_some() {
            self.pipe = None;
        }
        for frame in frames {
            self.socket.send(frame);
        }
        if let Some(bytes) = allowed {
            self.socket.allow(bytes);
        }
        if let Some(Piping::Begin(op, side)) = piping {
            match (self.register)(side) {
                Ok(tty) => self.pipe = Some(Pipe::new(op, tty)),
                Err(_) => self.carrier.unpiped(op),
            }
        }
        if let Some((code, reason)) = close {
            self.socket.close(code, reason);
        }
    }

    /// Carries bytes between the client and its terminal. The program is read only as fast as the client takes.
    fn splice(&mut self, cx: &mut Context<'_>) -> Step {
        if self.socket.ending() != Ending::Open {
            self.pipe = None;
        }
        let Some(pipe) = &mut self.pipe else { return Step::Stuck };
        let typed = pipe.write(cx);
        let step = if typed { Step::On } else { Step::Stuck };
        if self.socket.queued() >= PIPE_FRAMES {
            return step;
        }
        match pipe.poll_read(cx) {
            Poll::Pending => return step,
            Poll::Ready(Some(piece)) => self.socket.send(Frame::Binary(piece)),
            Poll::Ready(None) => {
                self.carrier.unpiped(pipe.op());
                self.pipe = None;
            }
        }
        Step::On
    }

    /// Writes what is queued, and gives the core the credit.
    fn write(&mut self, cx: &mut Context<'_>) -> Step {
        let mut taken = 0;
        let step = loop {
            if self.socket.is_flushed() {
                break Step::Stuck;
            }
            let mut slices = [IoSlice::new(&[]); SLICES];
            let used = self.socket.fill(&mut slices);
            match self.transport.poll_write(slices.get(..used).unwrap_or_default(), cx) {
                Poll::Ready(Ok(written)) if written > 0 => taken += self.socket.advance(written),
                Poll::Ready(_) => return Step::Over,
                Poll::Pending => break Step::Stuck,
            }
        };
        if taken == 0 {
            return step;
        }
        self.carrier.taken(taken);
        Step::On
    }

    /// Goes through the end of a connection that is closing.
    fn close(&mut self, cx: &mut Context<'_>) -> Step {
        let (ending, flushed) = (self.socket.ending(), self.socket.is_flushed());
        if ending == Ending::Open {
            return Step::Stuck;
        }
        let mut step = Step::Stuck;
        if flushed && ending == Ending::Done {
            return Step::Over;
        }
        if flushed && ending == Ending::Discard && !self.shut {
            self.shut = true;
            if self.transport.shut_down().is_err() {
                return Step::Over;
            }
            self.deadline = Some(Instant::now() + DISCARD_WITHIN);
            step = Step::On;
        }
        let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + CLOSE_WITHIN);
        if self.alarm.poll(deadline, cx).is_ready() { Step::Over } else { step }
    }

    /// Reads once, and tells the core what came.
    fn read(&mut self, cx: &mut Context<'_>) -> Step {
        if !self.may_read() {
            return Step::Stuck;
        }
        if let Some(unread) = self.unread.take() {
            return self.receive(&unread);
        }
        match self.transport.poll_readable(cx) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return Step::Over,
            Poll::Pending => return Step::Stuck,
        }
        let mut buffer = [0; READ_BYTES];
        match self.transport.read(&mut buffer) {
            Ok(0) => Step::Over,
            Ok(read) => self.receive(buffer.get(..read).unwrap_or_default()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Step::On,
            Err(_) => Step::Over,
        }
    }

    /// Tells the core what is in these bytes, one message at a time.
    fn receive(&mut self, mut bytes: &[u8]) -> Step {
        if self.socket.ending() == Ending::Discard {
            self.discarded = self.discarded.saturating_add(bytes.len());
            return if self.discarded > DISCARD_BYTES { Step::Over } else { Step::On };
        }
        let mut typed = false;
        loop {
            if !self.may_read() {
                self.unread = Some(bytes.to_vec());
                return if typed { Step::On } else { Step::Stuck };
            }
            match self.socket.receive(&mut bytes) {
                None => return Step::On,
                Some(Received::Closed) => self.carrier.gone(),
                Some(Received::Binary(keys)) if let Some(pipe) = &mut self.pipe => {
                    pipe.push(&keys);
                    typed = true;
                }
                Some(received) => self.carrier.tell(Event::Message(received)),
            }
        }
    }

    /// Whether the client may be read. Nothing that comes after a close is told, so nobody has to hear it first.
    fn may_read(&self) -> bool {
        self.socket.ending() != Ending::Open || self.carrier.may_read() && self.pipe.as_ref().is_none_or(Pipe::has_room)
    }
}

#[cfg(test)]
mod tests;
