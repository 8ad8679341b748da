//! A program's terminal, as this runtime waits for it.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::task::{Context, Poll, ready};

use panewire_host::pipe::Tty;
use tokio::io::unix::AsyncFd;

pub(crate) struct Side(AsyncFd<File>);

impl Side {
    pub(crate) fn new(side: File) -> io::Result<Self> {
        #[expect(
            deprecated,
            reason = "an owned descriptor stays what it is, which is all that the unsafe successor asks for"
        )]
        AsyncFd::new(side).map(Self)
    }
}

impl Tty for Side {
    fn poll_read(&mut self, buffer: &mut [u8], cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(cx))?;
            // Readiness is told once: it is forgotten when nothing is there after all.
            if let Ok(read) = ready.try_io(|side| side.get_ref().read(buffer)) {
                return Poll::Ready(read);
            }
        }
    }

    fn poll_write(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.0.poll_write_ready(cx))?;
            if let Ok(written) = ready.try_io(|side| side.get_ref().write(bytes)) {
                return Poll::Ready(written);
            }
        }
    }
}
