//! The socket under a WebSocket.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::rt::TokioIo;
use panewire_host::Impatient;
use panewire_host::connection::{self, Transport};
use panewire_host::http::Upgrade;
use rustix::net::{Shutdown, shutdown};
use tokio::io::AsyncWrite as _;
use tokio::net::TcpStream;

use super::alarm::Deadline;
use super::tty::Side;

/// Carries a WebSocket from its upgrade to its end.
pub(crate) async fn run(upgrade: Upgrade) {
    let Ok(upgraded) = upgrade.upgraded.await else {
        return;
    };
    let Ok(parts) = upgraded.downcast::<Impatient<TokioIo<TcpStream>, Deadline>>() else {
        return;
    };
    let (socket, unread) = (Socket(parts.io.into_inner().into_inner()), parts.read_buf.to_vec());
    drop(parts.read_buf);
    connection::carry(upgrade.carrier, socket, Deadline::default(), unread, Side::new).await;
}

struct Socket(TcpStream);

impl Transport for Socket {
    fn poll_write(&mut self, slices: &[IoSlice<'_>], cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, slices)
    }

    fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_read_ready(cx)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }

    fn shut_down(&mut self) -> io::Result<()> {
        Ok(shutdown(&self.0, Shutdown::Write)?)
    }
}
