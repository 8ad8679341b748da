//! Takes connections, and serves each: HTTP by hyper until a request becomes a WebSocket.

use std::convert::Infallible;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use panewire_host::{Door, Impatient, Inbox, Log, Problem, http};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use super::alarm::Deadline;
use super::socket;

/// An address that is listened on.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: TcpListener,
    door: Door,
}

impl Listener {
    pub(crate) fn new(socket: std::net::TcpListener, log: Log) -> Result<Self, Problem> {
        let socket = TcpListener::from_std(socket)
            .map_err(|error| Problem::new(format_args!("cannot wait for connections: {error}")))?;
        Ok(Self { socket, door: Door::new(log) })
    }

    /// Serves every connection, for ever.
    pub(crate) async fn accept(self, inbox: Inbox) {
        loop {
            match self.socket.accept().await {
                Ok((stream, _)) => {
                    if let Some(seat) = self.door.admit(&stream) {
                        let inbox = inbox.clone();
                        tokio::spawn(async move {
                            serve(stream, inbox).await;
                            drop(seat);
                        });
                    }
                }
                Err(error) => {
                    if let Some(pause) = self.door.refused(&error) {
                        sleep(pause).await;
                    }
                }
            }
        }
    }
}

/// Serves one connection until it ends, or until a request becomes a WebSocket.
async fn serve(stream: TcpStream, inbox: Inbox) {
    let service = service_fn(move |request| {
        let inbox = inbox.clone();
        async move {
            let (response, upgrade) = http::answer(request, inbox).await;
            if let Some(upgrade) = upgrade {
                tokio::spawn(socket::run(upgrade));
            }
            Ok::<_, Infallible>(response)
        }
    });
    let stream = Impatient::new(TokioIo::new(stream), Deadline::default());
    let connection = http::connection(TokioTimer::new()).serve_connection(stream, service).with_upgrades();
    // A client that breaks off or talks nonsense is an everyday event; hyper has told it what was wrong.
    let _ = connection.await;
}
