//! One HTTP request to another server, over a connection of its own, under TLS where this program was built with it.
//!
//! hyper speaks HTTP as in any executor; here its futures are polled by the thread that asks, and between two polls that
//! waits for the one socket there is, for as long as it may.

use std::cell::Cell;
use std::error::Error as _;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response, Uri};
use panewire_core::io::FailureKind;
use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, FdFlags};
use rustix::net::{AddressFamily, SocketType};

use self::wire::Wire;
use crate::answer::Answer;
use crate::limit::Limit;

mod events;
#[cfg_attr(not(feature = "tls"), path = "fetch/no_tls.rs")]
mod tls;
mod wire;

pub use self::events::events;
pub use self::tls::Trust;

/// The longest single wait for the socket or for a name: so soon a cancelled question ends.
const STEP: Duration = Duration::from_millis(50);

/// Bytes of an answer that wait between socket and HTTP; its head must fit.
const BUFFER_BYTES: usize = 64 * 1024;

/// What is asked: the members of [`Op::Fetch`](panewire_core::io::Op::Fetch).
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// `GET`, `POST`, …
    pub method: &'a str,
    /// Where, with scheme, host and path.
    pub url: &'a str,
    /// Names and values.
    pub headers: &'a [(&'static str, String)],
    /// The body.
    pub body: &'a Bytes,
    /// Given up after this long.
    pub within: Duration,
    /// Bytes of the answer's body at most.
    pub answer_cap: usize,
}

/// Without what may be a secret.
impl fmt::Debug for Question<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question").field("method", &self.method).field("within", &self.within).finish_non_exhaustive()
    }
}

/// [`Op::Fetch`](panewire_core::io::Op::Fetch). Proxies of the environment are not asked, redirections are not followed.
#[must_use]
pub fn fetch(question: Question<'_>, trust: &Trust, limit: &Limit) -> Answer {
    ask(question, trust, limit).unwrap_or_else(|failed| failed)
}

fn ask(question: Question<'_>, trust: &Trust, limit: &Limit) -> Result<Answer, Answer> {
    let time = Time { within: question.within, limit };
    let (request, target) = request(question)?;
    let client = if target.secure { Some(trust.client(&target.host)?) } else { None };
    let socket = connect(&target, time)?;
    let wants = Rc::new(Cell::new(PollFlags::empty()));
    let wire = Wire::new(Rc::clone(&socket), client, Rc::clone(&wants));
    let mut exchange = pin!(exchange(wire, request, question.answer_cap));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    loop {
        wants.set(PollFlags::empty());
        if let Poll::Ready(answer) = exchange.as_mut().poll(&mut Context::from_waker(&waker)) {
            return answer;
        }
        // One of the two futures may have given the other something to do.
        if !woken.take() {
            time.wait(&socket, wants.get())?;
        }
    }
}

/// Puts the request and reads the whole answer.
async fn exchange(wire: Wire, request: Request<Once>, cap: usize) -> Result<Answer, Answer> {
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(BUFFER_BYTES).handshake(wire).await.map_err(broken)?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(broken)?;
        whole(response, cap).await
    };
    let (mut connection, mut answer) = (pin!(connection), pin!(answer));
    let (mut connected, mut refused) = (true, None);
    poll_fn(|cx| {
        // What becomes of the connection is told to the one who waits for the answer, unless TLS ended it before hyper had
        // taken the request.
        if connected && let Poll::Ready(ended) = connection.as_mut().poll(cx) {
            connected = false;
            refused = ended.err().as_ref().and_then(tls_complaint);
        }
        answer.as_mut().poll(cx).map_err(|failed| refused.take().unwrap_or(failed))
    })
    .await
}

async fn whole(response: Response<Incoming>, cap: usize) -> Result<Answer, Answer> {
    let status = response.status().as_u16();
    let mut incoming = response.into_body();
    let mut body = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut incoming).poll_frame(cx)).await {
        let frame = frame.map_err(broken)?;
        body.extend_from_slice(frame.data_ref().map_or(&[], |piece| piece));
        if body.len() > cap {
            return Err(Answer::Failed(FailureKind::TooLarge, format!("answer of over {cap} bytes")));
        }
    }
    Ok(Answer::Fetched { status, body })
}

/// Where a request goes.
struct Target {
    host: String,
    port: u16,
    /// Whether TLS is spoken there.
    secure: bool,
}

/// The request as hyper takes it. What is wrong with it is said without repeating it: a URL may hold a secret.
fn request(question: Question<'_>) -> Result<(Request<Once>, Target), Answer> {
    let wrong = |what: &str| Answer::Failed(FailureKind::Other, format!("this URL cannot be fetched: {what}"));
    let uri: Uri = question.url.parse().map_err(|_| wrong("it is none"))?;
    let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
    let authority = authority.ok_or_else(|| wrong("it needs a host, and no user"))?;
    let (secure, default_port) = match uri.scheme_str() {
        Some("http") => (false, 80),
        Some("https") => (true, 443),
        _ => return Err(wrong("it begins neither with http:// nor with https://")),
    };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
    let target = Target { host, port: authority.port_u16().unwrap_or(default_port), secure };
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut builder = Request::builder().method(question.method).uri(path).header(HOST, authority.as_str());
    for (name, value) in question.headers {
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong("a header that belongs to it is none"))?;
        value.set_sensitive(true);
        builder = builder.header(*name, value);
    }
    let body = Once((!question.body.is_empty()).then(|| question.body.clone()));
    Ok((builder.body(body).map_err(|_| wrong("its method, path or headers are none"))?, target))
}

/// The first address of the target that answers. With several, each gets its share of the time.
fn connect(target: &Target, time: Time<'_>) -> Result<Rc<TcpStream>, Answer> {
    let addresses = addresses(target, time)?;
    let mut failed = unreachable(&format!("{} has no address", target.host));
    for (tried, address) in addresses.iter().enumerate() {
        let left = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        match connect_to(*address, time.share(left)?) {
            Ok(stream) => return Ok(Rc::new(stream)),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn connect_to(address: SocketAddr, time: Time<'_>) -> Result<TcpStream, Answer> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket: OwnedFd = rustix::net::socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    let begun = rustix::net::connect(&socket, &address);
    let stream = TcpStream::from(socket);
    match begun {
        Ok(()) => {}
        Err(Errno::INPROGRESS | Errno::INTR) => {
            while !is_connected(&stream)? {
                time.wait(&stream, PollFlags::OUT)?;
            }
        }
        Err(error) => return Err(refused(error)),
    }
    // A request is sent in few pieces and then waited for: none of them is held back.
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

fn is_connected(stream: &TcpStream) -> Result<bool, Answer> {
    rustix::net::sockopt::socket_error(stream)?.map_err(refused)?;
    Ok(stream.peer_addr().is_ok())
}

/// The addresses of a host. The system's resolver knows no deadline: it works on a thread of its own, which is left to it
/// when time is over.
fn addresses(target: &Target, time: Time<'_>) -> Result<Vec<SocketAddr>, Answer> {
    if let Ok(address) = target.host.parse::<IpAddr>() {
        return Ok(vec![(address, target.port).into()]);
    }
    let (sender, receiver) = mpsc::channel();
    let question = (target.host.clone(), target.port);
    let look_up = move || drop(sender.send(question.to_socket_addrs().map(Vec::from_iter)));
    thread::Builder::new().name("panewire-names".to_owned()).spawn(look_up)?;
    loop {
        match receiver.recv_timeout(time.left()?.min(STEP)) {
            Ok(found) => return found.map_err(|error| unreachable(&error.to_string())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(unreachable("the resolver gave up")),
        }
    }
}

/// How long a question may take from when it was asked.
#[derive(Clone, Copy)]
struct Time<'a> {
    within: Duration,
    limit: &'a Limit,
}

impl Time<'_> {
    fn left(self) -> Result<Duration, Answer> {
        self.limit.left(self.within).ok_or_else(Answer::timed_out)
    }

    /// An equal share of what is left for the next of so many.
    fn share(self, of: u32) -> Result<Self, Answer> {
        let left = self.left()?;
        let rest = left - left / of.max(1);
        Ok(Self { within: self.within.saturating_sub(rest), limit: self.limit })
    }

    /// Waits a moment for the socket, if there is time.
    fn wait(self, socket: &TcpStream, flags: PollFlags) -> Result<(), Answer> {
        let mut fds = [PollFd::from_borrowed_fd(socket.as_fd(), flags)];
        if self.limit.wait(self.within, STEP, &mut fds) { Ok(()) } else { Err(Answer::timed_out()) }
    }
}

/// The body of a request: one piece, or none.
struct Once(Option<Bytes>);

impl hyper::body::Body for Once {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
        Poll::Ready(self.0.take().map(|piece| Ok(hyper::body::Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(self.0.as_ref().map_or(0, |piece| piece.len() as u64))
    }
}

/// Whether a future is to be polled again without the socket.
#[derive(Default)]
struct Woken(AtomicBool);

impl Woken {
    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What hyper could not go on with: the system's words where it has any.
fn broken(error: hyper::Error) -> Answer {
    if let Some(refused) = tls_complaint(&error) {
        return refused;
    }
    let io = io_error(&error);
    if let Some(io) = io.filter(|io| io.kind() != io::ErrorKind::UnexpectedEof) {
        return unreachable(&io.to_string());
    }
    if error.is_parse() {
        return Answer::Failed(FailureKind::Other, "the answer is no HTTP".to_owned());
    }
    unreachable("closed before the answer was complete")
}

/// That TLS does not let us speak to the other side, if it is that.
fn tls_complaint(error: &hyper::Error) -> Option<Answer> {
    io_error(error).and_then(tls::complaint).map(|text| Answer::Failed(FailureKind::Other, text))
}

fn io_error(error: &hyper::Error) -> Option<&io::Error> {
    error.source().and_then(|source| source.downcast_ref())
}

fn refused(error: Errno) -> Answer {
    unreachable(&io::Error::from(error).to_string())
}

fn unreachable(text: &str) -> Answer {
    Answer::Failed(FailureKind::Unreachable, text.to_owned())
}

#[cfg(test)]
mod tests;
