//! A socket under HTTP that does not wait for ever to be read.
//!
//! The HTTP library bounds how long a request may take to come, and nothing else: without this, a client that asks and
//! never reads would keep its connection, and its seat, as long as it likes. A WebSocket has the core's own bounds.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use hyper::rt::{Read, ReadBufCursor, Write};
use panewire_core::limits::STALL;

use crate::driver::Alarm;

/// Fails with [`io::ErrorKind::TimedOut`] when what was written could not leave for [`STALL`].
#[derive(Debug)]
pub struct Impatient<I, A> {
    io: I,
    alarm: A,
    /// When the wait ends that nothing has ended yet.
    until: Option<Instant>,
}

impl<I, A: Alarm> Impatient<I, A> {
    /// A socket, and a timer of the same runtime.
    pub const fn new(io: I, alarm: A) -> Self {
        Self { io, alarm, until: None }
    }

    /// The socket.
    pub fn into_inner(self) -> I {
        self.io
    }

    /// Gives back what a write came to, unless it has waited for too long.
    fn bounded<T>(&mut self, written: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.until = None;
            return written;
        }
        let until = *self.until.get_or_insert_with(|| Instant::now() + STALL);
        self.alarm.poll(until, cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<I: Read + Unpin, A: Unpin> Read for Impatient<I, A> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_read(cx, buffer)
    }
}

impl<I: Write + Unpin, A: Alarm + Unpin> Write for Impatient<I, A> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.io).poll_write(cx, bytes);
        this.bounded(written, cx)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.io).poll_flush(cx);
        this.bounded(flushed, cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let shut = Pin::new(&mut this.io).poll_shutdown(cx);
        this.bounded(shut, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.io).poll_write_vectored(cx, slices);
        this.bounded(written, cx)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Takes so many bytes in each of the next writes; then it is full.
    struct Room(Vec<usize>);

    impl Write for Room {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.0.pop().map_or(Poll::Pending, |room| Poll::Ready(Ok(room.min(bytes.len()))))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    /// Rings when the test says so, and remembers for when it was set.
    #[derive(Default)]
    struct Bell {
        set: Vec<Instant>,
        rings: bool,
    }

    impl Alarm for Bell {
        fn poll(&mut self, at: Instant, _: &mut Context<'_>) -> Poll<()> {
            self.set.push(at);
            if self.rings { Poll::Ready(()) } else { Poll::Pending }
        }
    }

    fn write(socket: &mut Impatient<Room, Bell>) -> Poll<Result<usize, io::ErrorKind>> {
        let mut cx = Context::from_waker(Waker::noop());
        Pin::new(socket).poll_write(&mut cx, b"four").map_err(|error| error.kind())
    }

    #[test]
    fn a_client_that_reads_slowly_is_waited_for_anew_after_each_byte() {
        let mut socket = Impatient::new(Room(vec![9, 1]), Bell::default());
        assert_eq!((write(&mut socket), write(&mut socket)), (Poll::Ready(Ok(1)), Poll::Ready(Ok(4))));
        assert!(socket.alarm.set.is_empty());
        let before = Instant::now();
        assert_eq!((write(&mut socket), write(&mut socket)), (Poll::Pending, Poll::Pending));
        let [first, again] = socket.alarm.set[..] else { panic!("{:?}", socket.alarm.set) };
        assert!(first == again && first >= before + STALL);
        socket.io.0.push(2);
        assert_eq!((write(&mut socket), write(&mut socket)), (Poll::Ready(Ok(2)), Poll::Pending));
        assert!(socket.alarm.set[2] > first);
    }

    #[test]
    fn a_client_that_reads_nothing_is_given_up() {
        let mut socket = Impatient::new(Room(Vec::new()), Bell { rings: true, ..Bell::default() });
        assert_eq!(write(&mut socket), Poll::Ready(Err(io::ErrorKind::TimedOut)));
        let mut cx = Context::from_waker(Waker::noop());
        let shut = Pin::new(&mut socket).poll_shutdown(&mut cx).map_err(|error| error.kind());
        assert_eq!(shut, Poll::Ready(Err(io::ErrorKind::TimedOut)));
        assert!(matches!(Pin::new(&mut socket).poll_flush(&mut cx), Poll::Ready(Ok(()))));
    }
}
