//! The events of a server, one after the other, for as long as it tells.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::mem;
use std::net::TcpStream;
use std::os::fd::AsFd as _;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper::header::CONTENT_TYPE;
use hyper::{Request, Response};
use panewire_core::io::FailureKind;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::wire::Wire;
use super::{BUFFER_BYTES, Once, Question, Time, Trust, Woken, broken, connect, request};
use crate::answer::Answer;
use crate::limit::Limit;

/// [`Op::Events`](panewire_core::io::Op::Events): every event is handed to `hear`, which comes back when there is room for
/// the next. `question` says how long the data of one may be, and within what time the answer must begin. Gives back why
/// there are no more.
pub fn events(
    question: Question<'_>,
    silence: Duration,
    trust: &Trust,
    limit: &Limit,
    mut hear: impl FnMut(Vec<u8>),
) -> Answer {
    let Err(ended) = listen(question, silence, trust, limit, &mut hear);
    ended
}

fn listen(
    question: Question<'_>,
    silence: Duration,
    trust: &Trust,
    limit: &Limit,
    hear: &mut dyn FnMut(Vec<u8>),
) -> Result<Infallible, Answer> {
    let time = Time { within: question.within, limit };
    let (request, target) = request(question)?;
    let client = if target.secure { Some(trust.client(&target.host)?) } else { None };
    let socket = connect(&target, time)?;
    // From here on a wait is ended by the other side, its silence, or a cancel, and nothing else wakes this thread.
    limit.shuts(socket.try_clone()?);
    let wants = Rc::new(Cell::new(PollFlags::empty()));
    let begun = Rc::new(Cell::new(false));
    let wire = Wire::new(Rc::clone(&socket), client, Rc::clone(&wants));
    let mut exchange = pin!(exchange(wire, request, question.answer_cap, Rc::clone(&begun), hear));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    loop {
        wants.set(PollFlags::empty());
        if let Poll::Ready(ended) = exchange.as_mut().poll(&mut Context::from_waker(&waker)) {
            return ended;
        }
        if !woken.take() {
            let patience = if begun.get() { silence } else { time.left()? };
            wait(&socket, wants.get(), patience)?;
        }
    }
}

/// Waits until the socket is ready.
fn wait(socket: &TcpStream, flags: PollFlags, patience: Duration) -> Result<(), Answer> {
    let until = Instant::now() + patience;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap_or_default();
        let mut fds = [PollFd::from_borrowed_fd(socket.as_fd(), flags)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) if left.is_zero() => return Err(Answer::timed_out()),
            // A little early, or interrupted.
            Ok(0) | Err(_) => {}
            Ok(_) => return Ok(()),
        }
    }
}

async fn exchange(
    wire: Wire,
    request: Request<Once>,
    event_cap: usize,
    begun: Rc<Cell<bool>>,
    hear: &mut dyn FnMut(Vec<u8>),
) -> Result<Infallible, Answer> {
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(BUFFER_BYTES).handshake(wire).await.map_err(broken)?;
    let told = async {
        let response = sender.send_request(request).await.map_err(broken)?;
        begun.set(true);
        tell(response, event_cap, hear).await
    };
    let (mut connection, mut told) = (pin!(connection), pin!(told));
    let mut connected = true;
    poll_fn(|cx| {
        if connected && connection.as_mut().poll(cx).is_ready() {
            connected = false;
        }
        told.as_mut().poll(cx)
    })
    .await
}

async fn tell(
    response: Response<Incoming>,
    event_cap: usize,
    hear: &mut dyn FnMut(Vec<u8>),
) -> Result<Infallible, Answer> {
    let status = response.status().as_u16();
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if status != 200 || !kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream") {
        return Err(Answer::Fetched { status, body: Vec::new() });
    }
    let mut incoming = response.into_body();
    let mut lines = Lines::new(event_cap);
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut incoming).poll_frame(cx)).await {
        let frame = frame.map_err(broken)?;
        lines.push(frame.data_ref().map_or(&[], |piece| piece), hear)?;
    }
    Err(Answer::Failed(FailureKind::Lost, "the events have ended".to_owned()))
}

/// The lines of a stream of events, and the data that they make.
struct Lines {
    event_cap: usize,
    line: Vec<u8>,
    /// What the event so far says, if it says anything.
    data: Option<Vec<u8>>,
    /// The last line ended with a carriage return: a line feed right behind it belongs to it.
    returned: bool,
}

impl Lines {
    const fn new(event_cap: usize) -> Self {
        Self { event_cap, line: Vec::new(), data: None, returned: false }
    }

    fn push(&mut self, bytes: &[u8], hear: &mut dyn FnMut(Vec<u8>)) -> Result<(), Answer> {
        for &byte in bytes {
            let follows = mem::replace(&mut self.returned, byte == b'\r');
            match byte {
                b'\n' if follows => {}
                b'\n' | b'\r' => self.end_line(hear),
                byte => self.line.push(byte),
            }
            if self.line.len() + self.data.as_ref().map_or(0, Vec::len) > self.event_cap {
                let text = format!("event of over {} bytes", self.event_cap);
                return Err(Answer::Failed(FailureKind::TooLarge, text));
            }
        }
        Ok(())
    }

    fn end_line(&mut self, hear: &mut dyn FnMut(Vec<u8>)) {
        if self.line.is_empty() {
            if let Some(data) = self.data.take() {
                hear(data);
            }
        } else if let Some(said) = self.line.strip_prefix(b"data:") {
            let said = said.strip_prefix(b" ").unwrap_or(said);
            match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(said);
                }
                None => self.data = Some(said.to_vec()),
            }
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use std::sync::mpsc::{self, Receiver};
    use std::thread;

    use bytes::Bytes;

    use super::*;
    use crate::limit::Cancel;

    const LONG: Duration = Duration::from_secs(30);

    fn data(pieces: &[&str], event_cap: usize) -> (Vec<String>, bool) {
        let (mut lines, mut heard) = (Lines::new(event_cap), Vec::new());
        let mut hear = |data| heard.push(String::from_utf8(data).unwrap());
        let fits = pieces.iter().all(|piece| lines.push(piece.as_bytes(), &mut hear).is_ok());
        (heard, fits)
    }

    #[test]
    fn events_are_their_data_however_they_come() {
        let text = "event: a\ndata: one\n\n: a comment\n\ndata:two\r\ndata:  and\r\n\r\nid: 7\n\ndata\n\ndata: cut";
        let expected = (vec!["one".to_owned(), "two\n and".to_owned()], true);
        assert_eq!(data(&[text], 100), expected);
        let bytes: Vec<String> = text.chars().map(String::from).collect();
        assert_eq!(data(&bytes.iter().map(String::as_str).collect::<Vec<_>>(), 100), expected);
        assert_eq!(data(&["data: 1\r\rdata: 2\n\n"], 100), (vec!["1".to_owned(), "2".to_owned()], true));
    }

    #[test]
    fn an_event_is_no_longer_than_it_may_be() {
        assert_eq!(data(&["data: 456789\n\n"], 12), (vec!["456789".to_owned()], true));
        assert_eq!(data(&["data: 4567890\n\n"], 12), (vec![], false));
        assert_eq!(data(&["data:123456\ndata:6"], 11), (vec![], false));
    }

    type Heard = Receiver<Result<String, Answer>>;

    /// Listens to a server that answers with `head`; gives back what is heard, and at last why no more is.
    fn listening(head: &str, silence: Duration, cancel: &Cancel) -> (TcpStream, Heard) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/event", listener.local_addr().unwrap());
        let (sender, heard) = mpsc::channel();
        let limit = Limit::begin(cancel.clone());
        thread::spawn(move || {
            let (headers, body) = ([("authorization", "Basic eA==".to_owned())], Bytes::new());
            let (within, answer_cap) = (LONG, 20);
            let question = Question { method: "GET", url: &url, headers: &headers, body: &body, within, answer_cap };
            let tell = |data| sender.send(Ok(String::from_utf8(data).unwrap())).unwrap();
            let ended = events(question, silence, &Trust::default(), &limit, tell);
            sender.send(Err(ended)).unwrap();
        });
        let (mut stream, _) = listener.accept().unwrap();
        let asked: Vec<String> =
            BufReader::new(&stream).lines().map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
        assert_eq!(asked[0], "GET /event HTTP/1.1");
        assert!(asked.contains(&"authorization: Basic eA==".to_owned()), "{asked:?}");
        stream.write_all(head.as_bytes()).unwrap();
        (stream, heard)
    }

    fn next(heard: &Heard) -> Result<String, Answer> {
        heard.recv_timeout(LONG).unwrap()
    }

    fn kind(heard: &Heard) -> FailureKind {
        match next(heard) {
            Err(Answer::Failed(kind, _)) => kind,
            other => panic!("no end: {other:?}"),
        }
    }

    const STREAM: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";

    #[test]
    fn every_event_is_heard_until_there_are_no_more() {
        let (mut stream, heard) = listening(STREAM, LONG, &Cancel::default());
        stream.write_all(b"data: one\n\ndata: tw").unwrap();
        assert_eq!(next(&heard).unwrap(), "one");
        stream.write_all(b"o\n\n").unwrap();
        assert_eq!(next(&heard).unwrap(), "two");
        drop(stream);
        assert_eq!(kind(&heard), FailureKind::Lost);

        let (mut stream, heard) = listening(STREAM, LONG, &Cancel::default());
        stream.write_all(b"data: 0123456789012345\n\n").unwrap();
        assert_eq!(kind(&heard), FailureKind::TooLarge);

        let (_stream, heard) = listening(STREAM, Duration::from_millis(20), &Cancel::default());
        assert_eq!(kind(&heard), FailureKind::TimedOut);

        let cancel = Cancel::default();
        let (mut stream, heard) = listening(STREAM, LONG, &cancel);
        stream.write_all(b"data: one\n\n").unwrap();
        assert_eq!(next(&heard).unwrap(), "one");
        cancel.cancel();
        assert!(matches!(next(&heard), Err(Answer::Failed(..))));
    }

    #[test]
    fn what_is_no_stream_of_events_is_said_to_be_none() {
        for (head, status) in [
            ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", 404),
            ("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}", 200),
        ] {
            let (_stream, heard) = listening(head, LONG, &Cancel::default());
            let Err(Answer::Fetched { status: found, body }) = next(&heard) else { panic!("{head}") };
            assert_eq!((found, body.len()), (status, 0));
        }
    }
}
