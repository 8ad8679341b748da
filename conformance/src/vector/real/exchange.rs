//! One HTTP exchange over a connection of its own.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::vector::real::address::Address;
use crate::vector::stage::{Answered, Asked, Trouble};

/// Header fields that an answer has at most.
const MAX_FIELDS: usize = 100;
/// Bytes of an answer at most.
const MAX_BYTES: usize = 64 * 1024 * 1024;
const PIECE: usize = 16 * 1024;

/// An answer, and the connection it came on.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) answered: Answered,
    pub(super) stream: TcpStream,
    /// What came behind the answer.
    pub(super) behind: Vec<u8>,
}

/// Asks; `None`: no whole answer in time. The answer to an `upgrade` that is let in has no body.
pub(super) fn ask(
    address: &Address,
    asked: &Asked,
    own: &[(&str, &str)],
    within: Duration,
) -> Result<Option<Reply>, Trouble> {
    let deadline = Instant::now() + within;
    let mut stream = address.connect().map_err(Trouble)?;
    let lost = |error: io::Error| Trouble(format!("the connection to {} is lost: {error}", address.host));
    stream.set_nodelay(true).map_err(lost)?;
    stream.write_all(head(address, asked, own).as_bytes()).map_err(lost)?;
    let mut reading = Reading { stream, deadline, bytes: Vec::new() };
    match reading.answer(&asked.method) {
        Ok((answered, used)) => {
            let behind = reading.bytes.split_off(used.min(reading.bytes.len()));
            Ok(Some(Reply { answered, stream: reading.stream, behind }))
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(None),
        Err(error) => {
            let came = String::from_utf8_lossy(&reading.bytes);
            Err(Trouble(format!(
                "no answer that could be read: {error}\nasked: {} {}\ncame: {came}",
                asked.method, asked.target
            )))
        }
    }
}

/// The whole request. What the vector says of a field replaces what is said otherwise.
fn head(address: &Address, asked: &Asked, own: &[(&str, &str)]) -> String {
    let mut fields: Vec<(&str, &str)> = vec![("Host", &address.host)];
    fields.extend(own);
    let length = asked.body.as_ref().map_or(0, String::len).to_string();
    if asked.body.is_some() || !matches!(asked.method.as_str(), "GET" | "HEAD") {
        fields.push(("Content-Length", &length));
    }
    fields.retain(|(name, _)| !asked.headers.keys().any(|other| other.eq_ignore_ascii_case(name)));
    fields.extend(asked.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let body = asked.body.as_deref().unwrap_or_default();
    format!("{} {}{} HTTP/1.1\r\n{}\r\n{body}", asked.method, address.base, asked.target, fields.concat())
}

struct Reading {
    stream: TcpStream,
    deadline: Instant,
    bytes: Vec<u8>,
}

/// The head of an answer, and how many bytes it has.
struct Head {
    status: u16,
    headers: BTreeMap<String, String>,
    bytes: usize,
}

impl Reading {
    /// The answer, and how many bytes it has with its head.
    fn answer(&mut self, method: &str) -> io::Result<(Answered, usize)> {
        let head = loop {
            match parsed(&self.bytes)? {
                // What is only informational comes before the answer.
                Some(head) if (100..200).contains(&head.status) && head.status != 101 => {
                    self.bytes.drain(..head.bytes);
                }
                Some(head) => break head,
                None => self.more()?,
            }
        };
        let Head { status, headers, bytes: start } = head;
        let of = |name: &str| headers.get(name).map(String::as_str);
        let chunked = of("transfer-encoding").is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"));
        let length = of("content-length").map(|length| length.trim().parse::<usize>().map_err(io::Error::other));
        let (body, end) = if matches!(status, 101 | 204 | 304) || method == "HEAD" {
            (Vec::new(), start)
        } else if chunked {
            self.chunks(start)?
        } else if let Some(length) = length.transpose()? {
            self.at_least(start.saturating_add(length))?;
            (self.part(start, length), start.saturating_add(length))
        } else {
            while self.more_or_end()? {}
            (self.part(start, self.bytes.len() - start), self.bytes.len())
        };
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok((Answered { status, headers, body }, end))
    }

    fn chunks(&mut self, start: usize) -> io::Result<(Vec<u8>, usize)> {
        let (mut body, mut at) = (Vec::new(), start);
        loop {
            let size = httparse::parse_chunk_size(self.bytes.get(at..).unwrap_or_default());
            let (head, size) = match size.map_err(|_| io::Error::other("a chunk without a size"))? {
                httparse::Status::Complete((head, size)) => (head, usize::try_from(size).unwrap_or(usize::MAX)),
                httparse::Status::Partial => {
                    self.more()?;
                    continue;
                }
            };
            let content = at.saturating_add(head);
            if size == 0 {
                // Trailers are of no interest; they end with an empty line.
                let mut end = content;
                loop {
                    let rest = self.bytes.get(end..).unwrap_or_default();
                    match rest.windows(2).position(|pair| pair == b"\r\n") {
                        Some(0) => return Ok((body, end + 2)),
                        Some(line) => end += line + 2,
                        None => self.more()?,
                    }
                }
            }
            at = content.saturating_add(size).saturating_add(2);
            self.at_least(at)?;
            body.extend(self.part(content, size));
        }
    }

    fn part(&self, start: usize, length: usize) -> Vec<u8> {
        self.bytes.get(start..start.saturating_add(length)).unwrap_or_default().to_vec()
    }

    fn at_least(&mut self, bytes: usize) -> io::Result<()> {
        while self.bytes.len() < bytes {
            self.more()?;
        }
        Ok(())
    }

    fn more(&mut self) -> io::Result<()> {
        if self.more_or_end()? { Ok(()) } else { Err(io::Error::other("the connection ended before it was whole")) }
    }

    fn more_or_end(&mut self) -> io::Result<bool> {
        if self.bytes.len() > MAX_BYTES {
            return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut piece = [0; PIECE];
        let read = self.stream.read(&mut piece)?;
        self.bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
        Ok(read > 0)
    }
}

/// The head, once it is there as a whole.
fn parsed(bytes: &[u8]) -> io::Result<Option<Head>> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let length = match response.parse(bytes).map_err(io::Error::other)? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return Ok(None),
    };
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for field in response.headers.iter() {
        let value = String::from_utf8_lossy(field.value).into_owned();
        headers.entry(field.name.to_ascii_lowercase()).and_modify(|all| all.extend([", ", &value])).or_insert(value);
    }
    Ok(Some(Head { status: response.code.unwrap_or_default(), headers, bytes: length }))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    fn asked() -> Asked {
        Asked {
            method: "GET".into(),
            target: "/a?b=c".into(),
            headers: BTreeMap::from([("host".into(), "evil".into())]),
            body: None,
        }
    }

    /// What a server that answers so was asked, and the reply.
    fn exchange(answer: &'static [u8], within: Duration) -> (String, Result<Option<Reply>, Trouble>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::of(&format!("http://{}/base", listener.local_addr().unwrap())).unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut question = Vec::new();
            while !question.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                question.extend(byte);
            }
            // Whoever cannot read it leaves before its end.
            let _ = answer.iter().try_for_each(|byte| stream.write_all(&[*byte]));
            (String::from_utf8(question).unwrap(), stream)
        });
        let reply = ask(&address, &asked(), &[("Connection", "close")], within);
        let (question, stream) = server.join().unwrap();
        drop(stream);
        (question, reply)
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn fields_of_the_vector_replace_those_of_every_request() {
        let (question, reply) = exchange(b"HTTP/1.1 204 No Content\r\n\r\n", LONG);
        assert_eq!(question, "GET /base/a?b=c HTTP/1.1\r\nConnection: close\r\nhost: evil\r\n\r\n");
        assert_eq!(reply.unwrap().unwrap().answered.status, 204);
    }

    #[test]
    fn bodies_of_every_kind_are_read_and_what_follows_is_kept() {
        for (answer, body, behind) in [
            (&b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno\nmore"[..], "no\n", &b""[..]),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\nT: t\r\n\r\n",
                "abc",
                b"",
            ),
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", "x", b""),
            (b"HTTP/1.1 101 Switching Protocols\r\n\r\n\x81", "", b"\x81"),
        ] {
            let reply = exchange(answer, LONG).1.unwrap().unwrap();
            assert_eq!(reply.answered.body, body);
            if !behind.is_empty() {
                let mut rest = reply.behind;
                rest.extend(std::iter::from_fn(|| {
                    let mut byte = [0];
                    (&reply.stream).read(&mut byte).ok().filter(|read| *read > 0).map(|_| byte[0])
                }));
                assert_eq!(rest, behind);
            }
        }
    }

    #[test]
    fn a_header_that_comes_twice_has_both_values() {
        let answer = b"HTTP/1.1 200 OK\r\nVary: a\r\nvary: b\r\nContent-Length: 0\r\n\r\n";
        let reply = exchange(answer, LONG).1.unwrap().unwrap();
        assert_eq!(reply.answered.headers["vary"], "a, b");
    }

    #[test]
    fn no_answer_and_half_an_answer_differ() {
        let (_, reply) = exchange(b"HTTP/1.1 200 OK\r\nContent-Le", Duration::from_millis(100));
        assert!(reply.unwrap().is_none());
        let trouble = exchange(b"not http\r\n\r\n", LONG).1.unwrap_err();
        assert!(trouble.0.starts_with("no answer that could be read: "), "{trouble}");
    }
}
