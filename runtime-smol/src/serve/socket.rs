//! One WebSocket: moves bytes between the engine and the real socket.

use std::future::poll_fn;
use std::io::{IoSlice, Read as _};
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_io::{Async, Timer};
use futures_lite::{AsyncWrite as _, FutureExt as _};
use hyper::upgrade::OnUpgrade;
use panewire_core::io::Input;
use panewire_host::websocket::{Ending, Received};
use smol_hyper::rt::FuturesIo;

use super::exchange::{Carrier, Stage};

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

/// Carries a WebSocket from its upgrade to its end.
pub(crate) async fn run(carrier: Carrier, upgraded: OnUpgrade) {
    let Ok(upgraded) = upgraded.await else {
        return;
    };
    let Ok(parts) = upgraded.downcast::<FuturesIo<Async<TcpStream>>>() else {
        return;
    };
    let mut connection = Connection {
        stream: parts.io.into_inner(),
        carrier,
        // What a hasty client sent behind its request. A copy: the original keeps hyper's whole buffer alive.
        unread: Some(parts.read_buf.to_vec()),
        deadline: None,
        shut: false,
        discarded: 0,
    };
    drop(parts.read_buf);
    poll_fn(|cx| connection.poll(cx)).await;
}

struct Connection {
    stream: Async<TcpStream>,
    carrier: Carrier,
    /// Bytes that came and were not yet looked at; behind an empty piece the engine may hold some.
    unread: Option<Vec<u8>>,
    /// When a closing connection is dropped.
    deadline: Option<Timer>,
    shut: bool,
    discarded: usize,
}

/// What one step came to.
enum Step {
    /// There may be more to do at once.
    On,
    /// Nothing can be done before the task is woken.
    Stuck,
    /// The connection has ended.
    Over,
}

impl Connection {
    /// Does what can be done now. Ready: the connection has ended.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..TURNS {
            // Ask first: what changes while we look wakes us.
            while self.carrier.exchange().changed().poll(cx).is_ready() {}
            let wrote = self.write(cx);
            let closed = self.close(cx);
            let read = self.read(cx);
            match (wrote, closed, read) {
                (Step::Over, ..) | (_, Step::Over, _) | (.., Step::Over) => return Poll::Ready(()),
                (Step::Stuck, Step::Stuck, Step::Stuck) => return Poll::Pending,
                _ => {}
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes what is queued, and gives the core the credit.
    fn write(&self, cx: &mut Context<'_>) -> Step {
        let mut taken = 0;
        let step = loop {
            let mut stage = self.carrier.exchange().stage();
            let Stage::Socket(socket) = &mut *stage else {
                return Step::Over;
            };
            if socket.is_flushed() {
                break Step::Stuck;
            }
            let mut slices = [IoSlice::new(&[]); SLICES];
            let used = socket.fill(&mut slices);
            let written = Pin::new(&mut &self.stream).poll_write_vectored(cx, slices.get(..used).unwrap_or_default());
            match written {
                Poll::Ready(Ok(written)) if written > 0 => taken += socket.advance(written),
                Poll::Ready(_) => return Step::Over,
                Poll::Pending => break Step::Stuck,
            }
        };
        if taken == 0 {
            return step;
        }
        self.carrier.tell(|id| Input::Taken(id, taken));
        Step::On
    }

    /// Goes through the end of a connection that is closing.
    fn close(&mut self, cx: &mut Context<'_>) -> Step {
        let (ending, flushed) = match &*self.carrier.exchange().stage() {
            Stage::Socket(socket) => (socket.ending(), socket.is_flushed()),
            Stage::Undecided | Stage::Answer { .. } => return Step::Over,
        };
        if ending == Ending::Open {
            return Step::Stuck;
        }
        let mut step = Step::Stuck;
        if flushed && ending == Ending::Done {
            return Step::Over;
        }
        if flushed && ending == Ending::Discard && !self.shut {
            self.shut = true;
            if self.stream.get_ref().shutdown(Shutdown::Write).is_err() {
                return Step::Over;
            }
            self.deadline = Some(Timer::after(DISCARD_WITHIN));
            step = Step::On;
        }
        let deadline = self.deadline.get_or_insert_with(|| Timer::after(CLOSE_WITHIN));
        if deadline.poll(cx).is_ready() { Step::Over } else { step }
    }

    /// Reads once, and tells the core what came.
    fn read(&mut self, cx: &mut Context<'_>) -> Step {
        if self.carrier.exchange().is_held() && self.ending() == Ending::Open {
            return Step::Stuck;
        }
        if let Some(unread) = self.unread.take() {
            return self.receive(&unread);
        }
        match self.stream.poll_readable(cx) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(_)) => return Step::Over,
            Poll::Pending => return Step::Stuck,
        }
        let mut buffer = [0; READ_BYTES];
        match (&mut self.stream.get_ref()).read(&mut buffer) {
            Ok(0) => Step::Over,
            Ok(read) => self.receive(buffer.get(..read).unwrap_or_default()),
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted) => {
                Step::On
            }
            Err(_) => Step::Over,
        }
    }

    /// Tells the core what is in these bytes, until it wants nothing more.
    fn receive(&mut self, mut bytes: &[u8]) -> Step {
        if self.ending() == Ending::Discard {
            self.discarded = self.discarded.saturating_add(bytes.len());
            return if self.discarded > DISCARD_BYTES { Step::Over } else { Step::On };
        }
        loop {
            if self.carrier.exchange().is_held() && self.ending() == Ending::Open {
                self.unread = Some(bytes.to_vec());
                return Step::Stuck;
            }
            let received = match &mut *self.carrier.exchange().stage() {
                Stage::Socket(socket) => socket.receive(&mut bytes),
                Stage::Undecided | Stage::Answer { .. } => return Step::Over,
            };
            match received {
                None => return Step::On,
                Some(Received::Closed) => self.carrier.gone(),
                Some(received) => {
                    if let Some(message) = received.as_message() {
                        self.carrier.tell(|id| Input::Message(id, message));
                    }
                }
            }
        }
    }

    fn ending(&self) -> Ending {
        match &*self.carrier.exchange().stage() {
            Stage::Socket(socket) => socket.ending(),
            Stage::Undecided | Stage::Answer { .. } => Ending::Done,
        }
    }
}
