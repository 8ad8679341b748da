//! A running daemon, for the commands that ask it: where it is, and the token it wants.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use hyper::Uri;
use panewire_core::limits::TOKEN_AGAIN;

use crate::arguments::{DEFAULT_LISTEN, Places};
use crate::problem::Problem;
use crate::surroundings::Surroundings;
use crate::{lock, token};

/// For a token that the daemon does not take.
pub const ANOTHER_TOKEN: &str = "the daemon wants another token (401): PANEWIRE_TOKEN, --state-dir DIR or ?token= in --url \
    give one; a daemon that was started with PANEWIRE_TOKEN takes no other until it is restarted";

/// How often a daemon is brought a token that was just made, which looks for one once a second.
const TRIES: u32 = 3;

/// A daemon that says nothing for this long is stuck.
const WITHIN: Duration = Duration::from_secs(10);

/// Bytes of an answer at most.
const ANSWER_BYTES: u64 = 1024 * 1024;

/// Headers of an answer at most.
const HEADERS: usize = 32;

/// Where a daemon is, and what opens it.
#[derive(Clone, PartialEq, Eq)]
#[expect(missing_debug_implementations, reason = "nobody shall write a token into a log")]
pub struct Daemon {
    /// `HOST:PORT`
    pub authority: String,
    /// What stands before the paths of its endpoints; empty, or a path without a final `/`.
    pub path: String,
    /// The token that stood in the URL, still encoded. It wins.
    pub token_in_url: Option<String>,
    /// The token that was found otherwise.
    pub token: Option<String>,
    /// What it listens on, if it runs on this machine and said so.
    pub listen: Option<SocketAddr>,
}

/// What a daemon answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// Brings the running daemon of a state directory the token that was just made there: it takes it up then. What became
/// of that, for the person who made it; `None` if no daemon runs.
#[must_use]
pub fn bring_new_token(places: &Places, state_dir: &Path) -> Option<String> {
    let holder = lock::holder(state_dir)?;
    let pid = holder.pid;
    let url = holder.url.ok_or_else(|| Problem::new("it does not listen yet"));
    let brought = url.and_then(|url| Daemon::find(Some(&url), places)).and_then(|daemon| {
        let mut reply = daemon.put("/admin/devices", None)?;
        for _ in 1..TRIES {
            if reply.status != 401 {
                break;
            }
            // Somebody has just come with a wrong one.
            thread::sleep(TOKEN_AGAIN);
            reply = daemon.put("/admin/devices", None)?;
        }
        Ok(reply.status != 401)
    });
    Some(match brought {
        Ok(true) => {
            format!("the running daemon (process {pid}) has taken it up: what was opened with the old one is closed")
        }
        Ok(false) => format!(
            "the running daemon (process {pid}) does not take it: if it was started with PANEWIRE_TOKEN, that one counts \
             until it is restarted"
        ),
        Err(problem) => format!(
            "the running daemon (process {pid}) cannot be told ({problem}): the old token counts until somebody brings \
             it the new one, or it is restarted"
        ),
    })
}

impl Daemon {
    /// The daemon at this address, else the one that holds the state directory, else the one at the default address.
    ///
    /// # Errors
    /// [`Problem`] if the address cannot be called, or the token cannot be read.
    pub fn find(url: Option<&str>, places: &Places) -> Result<Self, Problem> {
        let surroundings = Surroundings::find(places)?;
        let holder = if url.is_some() { None } else { lock::holder(&surroundings.state_dir) };
        let (running, listen) = holder.map_or((None, None), |holder| (holder.url, holder.listen));
        let default = || format!("http://{DEFAULT_LISTEN}");
        let mut daemon = Self::at(&url.map(str::to_owned).or(running).unwrap_or_else(default))?;
        daemon.listen = listen;
        if daemon.token_in_url.is_none() {
            daemon.token = token::from_environment()
                .and_then(|token| token.map_or_else(|| token::find(&surroundings.state_dir), |token| Ok(Some(token))))
                .map_err(|error| Problem::new(format_args!("cannot use the token: {error}")))?;
        }
        Ok(daemon)
    }

    /// The daemon at an address that a person wrote.
    fn at(url: &str) -> Result<Self, Problem> {
        let unclear = || Problem::new(format_args!("--url wants http://HOST:PORT, not '{}'", without_query(url)));
        let uri: Uri = url.parse().map_err(|_| unclear())?;
        match uri.scheme_str() {
            Some("http" | "ws") => {}
            Some("https" | "wss") => {
                return Err(Problem::new(
                    "the command line speaks no TLS: give the daemon's own address, http://HOST:PORT",
                ));
            }
            _ => return Err(unclear()),
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(unclear)?;
        let authority = format!("{host}:{}", uri.port_u16().unwrap_or(80));
        let path = uri.path().trim_end_matches('/').trim_end_matches("/agent-transcript").to_owned();
        let token = uri.query().and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("token=")));
        Ok(Self { authority, path, token_in_url: token.map(str::to_owned), token: None, listen: None })
    }

    /// A connection to it.
    ///
    /// # Errors
    /// [`Problem`] if nobody answers there.
    pub fn connect(&self, silence: Duration) -> Result<TcpStream, Problem> {
        let authority = &self.authority;
        let stream = TcpStream::connect(authority).map_err(|error| {
            Problem::new(format_args!("no daemon answers at {authority} ({error}); 'panewire' starts one"))
        })?;
        let prepared = stream.set_read_timeout(Some(silence)).and_then(|()| stream.set_nodelay(true));
        prepared.map_err(|error| Problem::new(format_args!("cannot use the connection to {authority}: {error}")))?;
        Ok(stream)
    }

    /// Puts one request to it; with a body it is a `POST`.
    ///
    /// # Errors
    /// [`Problem`] if there is no answer, or the token is another one.
    pub fn ask(&self, path: &str, body: Option<&str>) -> Result<Reply, Problem> {
        let reply = self.put(path, body)?;
        if reply.status == 401 { Err(Problem::new(ANOTHER_TOKEN)) } else { Ok(reply) }
    }

    fn put(&self, path: &str, body: Option<&str>) -> Result<Reply, Problem> {
        let mut stream = self.connect(WITHIN)?;
        let mut answer = Vec::new();
        stream
            .write_all(self.request(path, body).as_bytes())
            .and_then(|()| stream.take(ANSWER_BYTES).read_to_end(&mut answer))
            .map_err(|error| Problem::new(format_args!("the daemon at {} says nothing: {error}", self.authority)))?;
        Reply::parse(&answer)
            .ok_or_else(|| Problem::new(format_args!("what answers at {} is no Panewire", self.authority)))
    }

    fn request(&self, path: &str, body: Option<&str>) -> String {
        let Self { authority, path: before, token_in_url, token, .. } = self;
        let method = if body.is_some() { "POST" } else { "GET" };
        let query = token_in_url.as_ref().map_or_else(String::new, |token| format!("?token={token}"));
        let bearer = token.as_ref().map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
        let body = body.unwrap_or_default();
        format!(
            "{method} {before}{path}{query} HTTP/1.1\r\nHost: {authority}\r\n{bearer}Connection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }
}

impl Reply {
    /// An answer of known length; `None` for anything else, and for one that breaks off.
    fn parse(answer: &[u8]) -> Option<Self> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut head = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(at) = head.parse(answer).ok()? else { return None };
        let status = head.code?;
        let length = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"))?;
        let length: usize = str::from_utf8(length.value).ok()?.parse().ok()?;
        let body = answer.get(at..at.checked_add(length)?)?.to_vec();
        Some(Self { status, body })
    }

    /// The JSON of an answer that is a 200.
    ///
    /// # Errors
    /// [`Problem`] in the daemon's own words for every other answer.
    pub fn json<T: serde::de::DeserializeOwned>(&self, refused: &str) -> Result<T, Problem> {
        if self.status != 200 {
            let text = String::from_utf8_lossy(&self.body);
            return Err(Problem::new(format_args!("{refused}: {} ({})", text.trim(), self.status)));
        }
        serde_json::from_slice(&self.body)
            .map_err(|error| Problem::new(format_args!("{refused}: an answer that is not understood: {error}")))
    }
}

/// A query may hold a token, which does not belong into a message.
fn without_query(url: &str) -> &str {
    url.split('?').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str) -> Result<(String, String, Option<String>), String> {
        Daemon::at(url)
            .map(|daemon| (daemon.authority, daemon.path, daemon.token_in_url))
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_url_is_taken_in_every_form_that_people_paste() {
        let plain = |path: &str| Ok(("h:81".to_owned(), path.to_owned(), None));
        assert_eq!(at("http://h:81"), plain(""));
        assert_eq!(at("ws://h:81/"), plain(""));
        assert_eq!(at("ws://h:81/agent-transcript?pane=p1"), plain(""));
        assert_eq!(at("http://h:81/under/"), plain("/under"));
        assert_eq!(at("http://h?token=a%20b"), Ok(("h:80".into(), String::new(), Some("a%20b".into()))));
        assert_eq!(at("http://[::1]:81"), Ok(("[::1]:81".into(), String::new(), None)));
    }

    #[test]
    fn a_url_that_cannot_be_called_is_named_without_its_token() {
        for url in ["", "h:81", "ftp://h:81", "nonsense", "h?token=secret"] {
            let problem = at(url).unwrap_err();
            assert_eq!(problem, format!("--url wants http://HOST:PORT, not '{}'", without_query(url)));
            assert!(!problem.contains("secret"));
        }
        assert!(at("https://h").unwrap_err().contains("no TLS"));
    }

    #[test]
    fn a_request_carries_the_one_token() {
        let mut daemon = Daemon::at("http://h:81/under").ok().unwrap();
        daemon.token = Some("abc".into());
        assert_eq!(
            daemon.request("/admin/pairing", Some("{}")),
            "POST /under/admin/pairing HTTP/1.1\r\nHost: h:81\r\nAuthorization: Bearer abc\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        );
        let daemon = Daemon::at("http://h:81?token=x").ok().unwrap();
        assert_eq!(
            daemon.request("/admin/devices", None),
            "GET /admin/devices?token=x HTTP/1.1\r\nHost: h:81\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: 0\r\n\r\n"
        );
    }

    #[test]
    fn an_answer_is_whole_or_none() {
        let answer = b"HTTP/1.1 409 Conflict\r\ncontent-type: text/plain\r\nContent-Length: 5\r\n\r\nfull\nmore";
        let reply = Reply::parse(answer).unwrap();
        assert_eq!((reply.status, &*reply.body), (409, &b"full\n"[..]));
        assert_eq!(reply.json::<()>("cannot pair").unwrap_err().to_string(), "cannot pair: full (409)");
        for cut in [0, 20, answer.len() - 5] {
            assert_eq!(Reply::parse(&answer[..cut]), None);
        }
        assert_eq!(Reply::parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), None);
        assert_eq!(Reply::parse(b"SSH-2.0-OpenSSH_9.6\r\n"), None);
        let answer = Reply { status: 200, body: b"[1]".to_vec() };
        assert_eq!(answer.json::<Vec<u32>>("").unwrap(), [1]);
        assert!(
            answer.json::<String>("no").unwrap_err().to_string().starts_with("no: an answer that is not understood")
        );
    }
}
