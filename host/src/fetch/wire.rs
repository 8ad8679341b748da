//! The socket as hyper sees it, plain or under TLS.

use std::cell::Cell;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use rustix::event::PollFlags;

use super::tls::{Client, Session};

/// Bytes that are read from the socket at once.
const READ_BYTES: usize = 8 * 1024;

/// A socket that notes what it would have to wait for instead of waking anybody.
pub(super) struct Wire {
    stream: Stream,
    wants: Rc<Cell<PollFlags>>,
}

/// What is read and written.
enum Stream {
    Plain(Socket),
    Secure(Box<Session>),
}

/// The one socket there is.
pub(super) struct Socket(Rc<TcpStream>);

impl Wire {
    pub(super) fn new(socket: Rc<TcpStream>, client: Option<Client>, wants: Rc<Cell<PollFlags>>) -> Self {
        let socket = Socket(socket);
        let stream = match client {
            Some(client) => Stream::Secure(Box::new(Session::begin(client, socket))),
            None => Stream::Plain(socket),
        };
        Self { stream, wants }
    }

    fn attempt<T>(
        &mut self,
        flags: PollFlags,
        mut act: impl FnMut(&mut Stream) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            match act(&mut self.stream) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.wants.set(self.wants.get() | self.stream.waits_for(flags));
                    return Poll::Pending;
                }
                done => return Poll::Ready(done),
            }
        }
    }
}

impl Stream {
    /// What the socket has to be ready for before a read or a write can go on.
    fn waits_for(&self, flags: PollFlags) -> PollFlags {
        match self {
            Self::Plain(_) => flags,
            Self::Secure(session) => session.waits_for().unwrap_or(flags),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Secure(session) => session.read(buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Secure(session) => session.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Secure(session) => session.flush(),
        }
    }
}

impl Read for Wire {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, mut to: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let mut buffer = [0; READ_BYTES];
        let room = to.remaining().min(READ_BYTES);
        let buffer = buffer.get_mut(..room).unwrap_or_default();
        self.attempt(PollFlags::IN, |stream| stream.read(buffer))
            .map_ok(|read| to.put_slice(buffer.get(..read).unwrap_or_default()))
    }
}

impl Write for Wire {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.attempt(PollFlags::OUT, |stream| stream.write(bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.attempt(PollFlags::OUT, Stream::flush)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl io::Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl io::Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
