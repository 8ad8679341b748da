//! HTTP on one connection: hyper's requests to the core, the core's answers to hyper.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::net::TcpStream;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_executor::LocalExecutor;
use async_io::Async;
use bytes::Bytes;
use futures_lite::future;
use hyper::body::{Body as _, Frame as BodyFrame, Incoming, SizeHint};
use hyper::header::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use panewire_core::io::{Fin, Head, Input};
use smol_hyper::rt::{FuturesIo, SmolTimer};
use tungstenite::handshake::server::create_response_with_body;

use super::driver::Driver;
use super::exchange::{Carrier, Exchange, Stage};
use super::socket;

/// The head of a request must be there after this long; a connection that is silent between two requests is closed.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// Bytes of a request's head at most; more is answered 431.
const HEAD_BYTES: usize = 16 * 1024;

/// Serves one connection until it ends, or until a request becomes a WebSocket.
pub(crate) async fn serve(stream: Async<TcpStream>, driver: Rc<Driver>, executor: &'static LocalExecutor<'static>) {
    let service = service_fn(move |request| answer(request, Rc::clone(&driver), executor));
    let connection = http1::Builder::new()
        .timer(SmolTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(FuturesIo::new(stream), service)
        .with_upgrades();
    // A client that breaks off or talks nonsense is an everyday event; hyper has told it what was wrong.
    let _ = connection.await;
}

async fn answer(
    mut request: Request<Incoming>,
    driver: Rc<Driver>,
    executor: &'static LocalExecutor<'static>,
) -> Result<Response<Outgoing>, Infallible> {
    // An error means that this is no upgrade; what to answer then is for the core to say.
    let upgrade = create_response_with_body(&request, || Outgoing(None)).ok();
    let carrier = {
        let target = request.uri().path_and_query().map_or("", |target| target.as_str());
        let headers: Vec<(&str, &[u8])> =
            request.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        driver.request(panewire_core::io::Request {
            method: request.method().as_str(),
            target,
            headers: &headers,
            upgrade: upgrade.is_some(),
        })
    };
    match future::or(decided(carrier.exchange()), feed(&carrier, request.body_mut())).await {
        Decision::Answer(head) => Ok(response(head, Outgoing(Some(carrier)))),
        Decision::Accept => match upgrade {
            Some(upgrade) => {
                let upgraded = hyper::upgrade::on(&mut request);
                executor.spawn(socket::run(carrier, upgraded)).detach();
                Ok(upgrade)
            }
            None => Ok(plain(StatusCode::UPGRADE_REQUIRED)),
        },
    }
}

enum Decision {
    Answer(Head),
    Accept,
}

/// Waits for what the core decides.
async fn decided(exchange: &Exchange) -> Decision {
    poll_fn(|cx| {
        loop {
            match &mut *exchange.stage() {
                Stage::Answer { head, .. } => {
                    if let Some(head) = head.take() {
                        return Poll::Ready(Decision::Answer(head));
                    }
                }
                Stage::Socket(_) => return Poll::Ready(Decision::Accept),
                Stage::Undecided => {}
            }
            if exchange.changed().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    })
    .await
}

/// Hands the body of a request to the core while that has not decided. It ends with an empty last piece.
async fn feed(carrier: &Carrier, body: &mut Incoming) -> Decision {
    loop {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
            Some(Ok(frame)) => {
                if let Some(piece) = frame.data_ref() {
                    carrier.tell(|id| Input::Body(id, piece, Fin::More));
                }
                future::yield_now().await;
            }
            Some(Err(_)) => {
                carrier.gone();
                break;
            }
            None => {
                carrier.tell(|id| Input::Body(id, &[], Fin::Last));
                break;
            }
        }
    }
    pending().await
}

/// The whole body of an answer, for one who asks from inside; none if the core did not say 200.
pub(crate) async fn whole_body(carrier: Carrier) -> Option<Vec<u8>> {
    let Decision::Answer(head) = decided(carrier.exchange()).await else {
        return None;
    };
    let mut outgoing = Outgoing(Some(carrier));
    let mut body = Vec::new();
    while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut outgoing).poll_frame(cx)).await {
        body.extend_from_slice(frame.data_ref().map_or(&[], |piece| piece));
    }
    (head.status == 200).then_some(body)
}

fn response(head: Head, body: Outgoing) -> Response<Outgoing> {
    let mut response = Response::new(body);
    let Ok(status) = StatusCode::from_u16(head.status) else {
        return plain(StatusCode::INTERNAL_SERVER_ERROR);
    };
    *response.status_mut() = status;
    for (name, value) in head.headers {
        // A value that quotes a client may hold what a header must not.
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().append(HeaderName::from_static(name), value);
        }
    }
    response
}

fn plain(status: StatusCode) -> Response<Outgoing> {
    let mut response = Response::new(Outgoing(None));
    *response.status_mut() = status;
    response
}

/// The body of an answer, as the core sends it; none for an answer without one.
#[derive(Debug)]
struct Outgoing(Option<Carrier>);

impl hyper::body::Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Self::Data>, Self::Error>>> {
        let Some(carrier) = &self.0 else {
            return Poll::Ready(None);
        };
        loop {
            let piece = match &mut *carrier.exchange().stage() {
                Stage::Answer { pieces, finished, .. } => match pieces.pop_front() {
                    None if *finished => return Poll::Ready(None),
                    piece => piece,
                },
                Stage::Undecided | Stage::Socket(_) => return Poll::Ready(None),
            };
            if let Some(piece) = piece {
                carrier.tell(|id| Input::Taken(id, piece.len()));
                return Poll::Ready(Some(Ok(BodyFrame::data(piece))));
            }
            if carrier.exchange().changed().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Outgoing {
    /// Bytes still to come, if that is known.
    fn left(&self) -> Option<u64> {
        let Some(carrier) = &self.0 else {
            return Some(0);
        };
        match &*carrier.exchange().stage() {
            Stage::Answer { pieces, finished: true, .. } => {
                u64::try_from(pieces.iter().map(Bytes::len).sum::<usize>()).ok()
            }
            Stage::Undecided | Stage::Answer { .. } | Stage::Socket(_) => None,
        }
    }
}
