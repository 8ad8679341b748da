//! Takes connections, and serves each: HTTP by hyper until a request becomes a WebSocket.

use std::convert::Infallible;
use std::net::{TcpListener, TcpStream};
use std::rc::Rc;

use async_executor::LocalExecutor;
use async_io::{Async, Timer};
use hyper::service::service_fn;
use panewire_host::{Door, Impatient, Inbox, Log, Problem, http};
use smol_hyper::rt::{FuturesIo, SmolTimer};

use super::alarm::Deadline;
use super::socket;

/// An address that is listened on.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: Async<TcpListener>,
    door: Rc<Door>,
}

impl Listener {
    pub(crate) fn new(socket: TcpListener, log: Log) -> Result<Self, Problem> {
        let socket = Async::new_nonblocking(socket)
            .map_err(|error| Problem::new(format_args!("cannot wait for connections: {error}")))?;
        Ok(Self { socket, door: Rc::new(Door::new(log)) })
    }

    /// Serves every connection, for ever.
    pub(crate) async fn accept(self, inbox: Inbox, executor: &'static LocalExecutor<'static>) {
        loop {
            match self.socket.accept().await {
                Ok((stream, _)) => {
                    if let Some(seat) = self.door.admit(stream.get_ref()) {
                        let inbox = inbox.clone();
                        executor
                            .spawn(async move {
                                serve(stream, inbox, executor).await;
                                drop(seat);
                            })
                            .detach();
                    }
                }
                Err(error) => {
                    if let Some(pause) = self.door.refused(&error) {
                        Timer::after(pause).await;
                    }
                }
            }
        }
    }
}

/// Serves one connection until it ends, or until a request becomes a WebSocket.
async fn serve(stream: Async<TcpStream>, inbox: Inbox, executor: &'static LocalExecutor<'static>) {
    let service = service_fn(move |request| {
        let inbox = inbox.clone();
        async move {
            let (response, upgrade) = http::answer(request, inbox).await;
            if let Some(upgrade) = upgrade {
                executor.spawn(socket::run(upgrade)).detach();
            }
            Ok::<_, Infallible>(response)
        }
    });
    let stream = Impatient::new(FuturesIo::new(stream), Deadline::default());
    let connection = http::connection(SmolTimer::new()).serve_connection(stream, service).with_upgrades();
    // A client that breaks off or talks nonsense is an everyday event; hyper has told it what was wrong.
    let _ = connection.await;
}
