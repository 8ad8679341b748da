//! HTTP on one connection: hyper's requests to the core, the core's answers to hyper.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame as BodyFrame, Incoming, SizeHint};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::rt::Timer;
use hyper::server::conn::http1;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, StatusCode};
use panewire_core::io::{Fin, Frame, Head};
use tungstenite::handshake::server::create_response_with_body;

use crate::exchange::{Carrier, Event, Said};
use crate::inbox::Inbox;

/// The head of a request must be there after this long; a connection that is silent between two requests is closed.
const HEAD_WITHIN: Duration = Duration::from_secs(30);

/// Bytes of a request's head at most; more is answered 431.
const HEAD_BYTES: usize = 16 * 1024;

/// A connection with our bounds, whose time is the runtime's.
#[must_use]
pub fn connection(timer: impl Timer + Send + Sync + 'static) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.timer(timer).header_read_timeout(HEAD_WITHIN).max_buf_size(HEAD_BYTES);
    builder
}

/// A request that becomes a WebSocket as soon as its answer has left.
#[derive(Debug)]
pub struct Upgrade {
    /// Its exchange.
    pub carrier: Carrier,
    /// The connection, once the answer has left.
    pub upgraded: OnUpgrade,
}

/// Asks the core, and gives back what it answers.
pub async fn answer(mut request: Request<Incoming>, inbox: Inbox) -> (Response<Outgoing>, Option<Upgrade>) {
    // An error means that this is no upgrade; what to answer then is for the core to say.
    let switch = create_response_with_body(&request, || Outgoing::Nothing)
        .ok()
        .map(|response| (response, hyper::upgrade::on(&mut request)));
    let (parts, body) = request.into_parts();
    let carrier = inbox.request(parts, switch.is_some());
    match decision(&carrier, Some(body)).await {
        Decision::Answer(head) => (response(head, Outgoing::Core(carrier)), None),
        Decision::BrokenOff => (broken_off(), None),
        Decision::Accept => match switch {
            Some((response, upgraded)) => (response, Some(Upgrade { carrier, upgraded })),
            None => (plain(StatusCode::UPGRADE_REQUIRED), None),
        },
    }
}

/// The whole body of an answer, for one who asks from inside; none if the core did not say 200.
pub(crate) async fn whole_body(carrier: Carrier) -> Option<Vec<u8>> {
    let Decision::Answer(head) = decision::<Incoming>(&carrier, None).await else {
        return None;
    };
    let mut outgoing = Outgoing::Core(carrier);
    let mut body = Vec::new();
    while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut outgoing).poll_frame(cx)).await {
        body.extend_from_slice(frame.data_ref().map_or(&[], |piece| piece));
    }
    (head.status == 200).then_some(body)
}

enum Decision {
    Answer(Head),
    Accept,
    /// The body broke off, and the core does not know the exchange any more.
    BrokenOff,
}

/// Waits for what the core decides; hands the body of the request to it meanwhile. That ends with an empty last piece.
async fn decision<B: Body<Data = Bytes> + Unpin>(carrier: &Carrier, mut body: Option<B>) -> Decision {
    poll_fn(|cx| {
        loop {
            if let Some(decision) = carrier.said(decided) {
                return Poll::Ready(decision);
            }
            if carrier.poll_changed(cx).is_ready() {
                continue;
            }
            let Some(reading) = body.as_mut().filter(|_| carrier.may_read()) else {
                return Poll::Pending;
            };
            match Pin::new(reading).poll_frame(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(piece) = frame.into_data() {
                        carrier.tell(Event::Body(piece, Fin::More));
                    }
                }
                Poll::Ready(Some(Err(_))) => {
                    carrier.gone();
                    return Poll::Ready(Decision::BrokenOff);
                }
                Poll::Ready(None) => {
                    carrier.tell(Event::Body(Bytes::new(), Fin::Last));
                    body = None;
                }
            }
        }
    })
    .await
}

fn decided(said: &mut Said) -> Option<Decision> {
    if said.accepted {
        return Some(Decision::Accept);
    }
    said.head.take().map(Decision::Answer)
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
    let mut response = Response::new(Outgoing::Nothing);
    *response.status_mut() = status;
    response
}

/// For a body that is no HTTP, or ended too early. Its sender may still listen, and holds the connection until it is told.
fn broken_off() -> Response<Outgoing> {
    let mut response = Response::new(Outgoing::Words(Some(Bytes::from_static(BROKEN_OFF))));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

const BROKEN_OFF: &[u8] = b"the body of the request broke off: nothing was done\n";

/// The body of an answer.
#[derive(Debug)]
pub enum Outgoing {
    /// There is none.
    Nothing,
    /// These words, once.
    Words(Option<Bytes>),
    /// What the core sends.
    Core(Carrier),
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyFrame<Self::Data>, Self::Error>>> {
        let carrier = match &mut *self {
            Self::Nothing => return Poll::Ready(None),
            Self::Words(words) => return Poll::Ready(words.take().map(|words| Ok(BodyFrame::data(words)))),
            Self::Core(carrier) => carrier,
        };
        loop {
            match carrier.said(|said| (said.frames.pop_front(), said.finished)) {
                (Some(Frame::Body(piece)), _) => {
                    carrier.taken(piece.len());
                    return Poll::Ready(Some(Ok(BodyFrame::data(piece))));
                }
                // Messages have no place in an answer.
                (Some(_), _) => {}
                (None, true) => return Poll::Ready(None),
                (None, false) => {
                    if carrier.poll_changed(cx).is_pending() {
                        return Poll::Pending;
                    }
                }
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
        let left = match self {
            Self::Nothing => 0,
            Self::Words(words) => words.as_ref().map_or(0, Bytes::len),
            Self::Core(carrier) => {
                carrier.said(|said| said.finished.then(|| said.frames.iter().map(Frame::len).sum::<usize>()))?
            }
        };
        u64::try_from(left).ok()
    }
}
