//! A program's terminal, as this runtime waits for it.

use std::fs::File;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use async_io::Async;
use futures_lite::{AsyncRead as _, AsyncWrite as _};
use panewire_host::pipe::Tty;

pub(crate) struct Side(Async<File>);

impl Side {
    pub(crate) fn new(side: File) -> io::Result<Self> {
        Async::new_nonblocking(side).map(Self)
    }
}

impl Tty for Side {
    fn poll_read(&mut self, buffer: &mut [u8], cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        Pin::new(&mut &self.0).poll_read(cx, buffer)
    }

    fn poll_write(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        Pin::new(&mut &self.0).poll_write(cx, bytes)
    }
}
