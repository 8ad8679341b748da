//! The socket under a WebSocket.

use std::io::{self, IoSlice, Read as _};
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::task::{Context, Poll};

use async_io::Async;
use futures_lite::AsyncWrite as _;
use panewire_host::Impatient;
use panewire_host::connection::{self, Transport};
use panewire_host::http::Upgrade;
use smol_hyper::rt::FuturesIo;

use super::alarm::Deadline;
use super::tty::Side;

/// Carries a WebSocket from its upgrade to its end.
pub(crate) async fn run(upgrade: Upgrade) {
    let Ok(upgraded) = upgrade.upgraded.await else {
        return;
    };
    let Ok(parts) = upgraded.downcast::<Impatient<FuturesIo<Async<TcpStream>>, Deadline>>() else {
        return;
    };
    let (socket, unread) = (Socket(parts.io.into_inner().into_inner()), parts.read_buf.to_vec());
    drop(parts.read_buf);
    connection::carry(upgrade.carrier, socket, Deadline::default(), unread, Side::new).await;
}

struct Socket(Async<TcpStream>);

impl Transport for Socket {
    fn poll_write(&mut self, slices: &[IoSlice<'_>], cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        Pin::new(&mut &self.0).poll_write_vectored(cx, slices)
    }

    fn poll_readable(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_readable(cx)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.get_ref().read(buffer)
    }

    fn shut_down(&mut self) -> io::Result<()> {
        self.0.get_ref().shutdown(Shutdown::Write)
    }
}
