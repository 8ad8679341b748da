//! Takes connections.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::time::Duration;

use async_executor::LocalExecutor;
use async_io::{Async, Timer};
use panewire_core::io::Level;
use panewire_host::Log;
use rustix::net::sockopt::set_socket_send_buffer_size;

use super::driver::Driver;
use super::http;

/// Bytes that the kernel holds for a client. By default it grows to 4 MB for one that never reads.
const SEND_BUFFER_BYTES: usize = 128 * 1024;

/// Pause after the system refused a connection, for want of descriptors or memory.
const PAUSE: Duration = Duration::from_millis(100);

/// An address that is listened on.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: Async<TcpListener>,
    address: SocketAddr,
}

impl Listener {
    pub(crate) fn bind(address: &str) -> io::Result<Self> {
        let socket = TcpListener::bind(address)?;
        let address = socket.local_addr()?;
        Ok(Self { socket: Async::new(socket)?, address })
    }

    /// Where it listens; the port is the one that was chosen.
    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves every connection, for ever.
    pub(crate) async fn accept(self, driver: Rc<Driver>, executor: &'static LocalExecutor<'static>, log: Log) {
        loop {
            match self.socket.accept().await {
                Ok((stream, _)) => {
                    if prepare(stream.get_ref()).is_ok() {
                        executor.spawn(http::serve(stream, Rc::clone(&driver), executor)).detach();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    log.write(Level::Warn, &format!("a connection was not accepted: {error}"));
                    Timer::after(PAUSE).await;
                }
            }
        }
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    set_socket_send_buffer_size(stream, SEND_BUFFER_BYTES)?;
    Ok(())
}
