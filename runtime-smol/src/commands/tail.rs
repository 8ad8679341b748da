//! `panewire tail`

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use panewire_core::limits::PING_EVERY;
use panewire_host::arguments::{DEFAULT_LISTEN, Places};
use panewire_host::problem::quiet;
use panewire_host::surroundings::Surroundings;
use panewire_host::{Problem, lock, token};
use serde::Deserialize;
use tungstenite::http::Uri;
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{ClientRequestBuilder, Error, HandshakeError, Message, WebSocket};

use crate::render::{Renderer, View};

/// A daemon that sends not even a ping for this long is gone.
const SILENCE: Duration = PING_EVERY.saturating_mul(3);

/// For a token that the daemon does not take.
const ANOTHER_TOKEN: &str = "the daemon wants another token (401): PANEWIRE_TOKEN, --state-dir DIR or ?token= in --url \
    give one; after 'token --rotate' it keeps the old one until it is restarted";

/// Follows a pane until somebody closes.
pub(crate) fn run(url: Option<&str>, pane: &str, places: &Places) -> Result<(), Problem> {
    let surroundings = Surroundings::find(places)?;
    let url = match url {
        Some(url) => url.to_owned(),
        None => lock::holder(&surroundings.state_dir)
            .and_then(|holder| holder.url)
            .unwrap_or_else(|| format!("http://{DEFAULT_LISTEN}")),
    };
    let target = Target::parse(&url)?;
    let secret = match &target.token {
        Some(_) => None,
        None => token::from_environment()
            .and_then(|secret| secret.map_or_else(|| token::find(&surroundings.state_dir), |secret| Ok(Some(secret))))
            .map_err(|error| Problem::new(format_args!("cannot use the token: {error}")))?,
    };
    let mut socket = connect(&target, pane, secret.as_deref())?;
    let mut printer = Printer { renderer: Renderer::for_stdout(), out: io::stdout().lock() };
    loop {
        match socket.read() {
            Ok(Message::Text(text)) => match printer.frame(text.as_str()) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                other => quiet(other)?,
            },
            Ok(Message::Close(frame)) => {
                quiet(printer.end(frame.as_ref()))?;
                return closed(frame.as_ref());
            }
            Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
            Err(error) => {
                return Err(Problem::new(format_args!("the daemon at {} is gone: {}", target.base, cause(&error))));
            }
        }
    }
}

/// Where the daemon is, taken from what a person wrote.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    /// `HOST:PORT`
    authority: String,
    /// `ws://HOST:PORT` and what of a path was given.
    base: String,
    /// The token, still encoded.
    token: Option<String>,
}

impl Target {
    fn parse(url: &str) -> Result<Self, Problem> {
        let unclear = || Problem::new(format_args!("--url wants http://HOST:PORT, not '{}'", without_query(url)));
        let uri: Uri = url.parse().map_err(|_| unclear())?;
        match uri.scheme_str() {
            Some("http" | "ws") => {}
            Some("https" | "wss") => {
                return Err(Problem::new("tail speaks no TLS: give the daemon's own address, http://HOST:PORT"));
            }
            _ => return Err(unclear()),
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(unclear)?;
        let authority = format!("{host}:{}", uri.port_u16().unwrap_or(80));
        let path = uri.path().trim_end_matches('/').trim_end_matches("/agent-transcript");
        let token = uri.query().and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("token=")));
        Ok(Self { base: format!("ws://{authority}{path}"), authority, token: token.map(str::to_owned) })
    }
}

/// A query may hold a token, which does not belong into a message.
fn without_query(url: &str) -> &str {
    url.split('?').next().unwrap_or_default()
}

fn connect(target: &Target, pane: &str, secret: Option<&str>) -> Result<WebSocket<TcpStream>, Problem> {
    let Target { authority, base, token } = target;
    let stream = TcpStream::connect(authority).map_err(|error| {
        Problem::new(format_args!("no daemon answers at {authority} ({error}); 'panewire' starts one"))
    })?;
    let prepared = stream.set_read_timeout(Some(SILENCE)).and_then(|()| stream.set_nodelay(true));
    prepared.map_err(|error| Problem::new(format_args!("cannot use the connection to {authority}: {error}")))?;
    let token = token.as_ref().map_or_else(String::new, |token| format!("&token={token}"));
    let uri: Uri = format!("{base}/agent-transcript?pane={}{token}", encoded(pane))
        .parse()
        .map_err(|_| Problem::new("the pane or the URL cannot be asked for"))?;
    let mut request = ClientRequestBuilder::new(uri);
    if let Some(secret) = secret {
        request = request.with_header("Authorization", format!("Bearer {secret}"));
    }
    match tungstenite::client(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(HandshakeError::Failure(Error::Http(response))) => {
            let body = response.body().as_deref().map(String::from_utf8_lossy).unwrap_or_default();
            Err(refused(pane, response.status().as_u16(), body.trim()))
        }
        Err(HandshakeError::Failure(error)) => {
            Err(Problem::new(format_args!("what answers at {authority} is no Panewire: {}", cause(&error))))
        }
        Err(HandshakeError::Interrupted(_)) => Err(Problem::new(format_args!("nobody answers at {authority}"))),
    }
}

/// What the daemon answered instead of a conversation, and what a person can do about it.
fn refused(pane: &str, status: u16, body: &str) -> Problem {
    match status {
        401 => Problem::new(ANOTHER_TOKEN),
        404 => Problem::new(format_args!("cannot follow '{pane}': {body} (404); 'panewire panes' lists what there is")),
        _ => Problem::new(format_args!("cannot follow '{pane}': {body} ({status})")),
    }
}

/// Every byte that has a meaning in a query, encoded.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

fn closed(frame: Option<&CloseFrame>) -> Result<(), Problem> {
    match frame {
        Some(CloseFrame { code: CloseCode::Normal | CloseCode::Away, .. }) | None => Ok(()),
        Some(CloseFrame { code, reason }) => {
            Err(Problem::new(format_args!("closed by the daemon: {} {}", u16::from(*code), reason.as_str())))
        }
    }
}

fn cause(error: &Error) -> String {
    match error {
        Error::Io(error) if error.kind() == io::ErrorKind::WouldBlock => "it says nothing any more".to_owned(),
        error => error.to_string(),
    }
}

struct Printer<'a> {
    renderer: Renderer,
    out: io::StdoutLock<'a>,
}

/// The frames that are shown; others are for clients that do more.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Shown<'a> {
    Hello {
        pane: String,
        agent_kind: String,
        session_id: String,
        backlog_count: u64,
        total: u64,
    },
    Entry {
        #[serde(borrow)]
        entry: Box<View<'a>>,
    },
    BacklogComplete {},
    SessionChanged {
        from: String,
        to: String,
    },
    #[serde(other)]
    Other,
}

impl Printer<'_> {
    /// Says why nothing more comes, where that is no problem.
    fn end(&mut self, frame: Option<&CloseFrame>) -> io::Result<()> {
        if closed(frame).is_ok() {
            let reason = frame.map_or("", |frame| frame.reason.as_str());
            let reason = if reason.is_empty() { "no reason given" } else { reason };
            self.renderer.note(&mut self.out, &format!("the daemon closed: {reason}"))?;
        }
        self.out.flush()
    }

    fn frame(&mut self, text: &str) -> io::Result<()> {
        let (renderer, out) = (self.renderer, &mut self.out);
        match serde_json::from_str(text) {
            Ok(Shown::Hello { pane, agent_kind, session_id, backlog_count, total }) => {
                let text = format!(
                    "{pane}: {agent_kind}, session {session_id}, the newest {backlog_count} of {total} entries"
                );
                renderer.note(out, &text)?;
            }
            Ok(Shown::Entry { entry }) => renderer.entry(out, &entry)?,
            Ok(Shown::BacklogComplete {}) => renderer.note(out, "live")?,
            Ok(Shown::SessionChanged { from, to }) => renderer.note(out, &format!("session {from} became {to}"))?,
            Ok(Shown::Other) => {}
            Err(error) => renderer.note(out, &format!("a frame that is not understood: {error}"))?,
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Result<(String, String, Option<String>), String> {
        Target::parse(url)
            .map(|target| (target.authority, target.base, target.token))
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_url_is_taken_in_every_form_that_people_paste() {
        let plain = |base: &str| Ok(("h:81".to_owned(), base.to_owned(), None));
        assert_eq!(target("http://h:81"), plain("ws://h:81"));
        assert_eq!(target("ws://h:81/"), plain("ws://h:81"));
        assert_eq!(target("ws://h:81/agent-transcript?pane=p1"), plain("ws://h:81"));
        assert_eq!(target("http://h:81/under/"), plain("ws://h:81/under"));
        assert_eq!(target("http://h?token=a%20b"), Ok(("h:80".into(), "ws://h:80".into(), Some("a%20b".into()))));
        assert_eq!(target("http://[::1]:81"), Ok(("[::1]:81".into(), "ws://[::1]:81".into(), None)));
    }

    #[test]
    fn a_url_that_cannot_be_called_is_named_without_its_token() {
        for url in ["", "h:81", "ftp://h:81", "nonsense", "h?token=secret"] {
            let problem = target(url).unwrap_err();
            assert_eq!(problem, format!("--url wants http://HOST:PORT, not '{}'", without_query(url)));
            assert!(!problem.contains("secret"));
        }
        assert!(target("https://h").unwrap_err().contains("no TLS"));
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        assert_eq!(refused("demo", 401, "unauthorized").to_string(), ANOTHER_TOKEN);
        assert_eq!(
            refused("demo", 404, "no such agent").to_string(),
            "cannot follow 'demo': no such agent (404); 'panewire panes' lists what there is"
        );
        let others = "cannot follow 'w1:p1': herdr is down (502)";
        assert_eq!(refused("w1:p1", 502, "herdr is down").to_string(), others);
    }

    #[test]
    fn a_pane_can_have_any_name() {
        assert_eq!(encoded("w1:p1"), "w1%3Ap1");
        assert_eq!(encoded("claude:dir:/a b&c#\u{e4}"), "claude%3Adir%3A%2Fa%20b%26c%23%C3%A4");
    }

    #[test]
    fn frames_are_known_by_their_type_and_new_ones_do_no_harm() {
        let hello = r#"{"type":"hello","protocol":5,"pane":"p","agent_kind":"claude","session_id":"s","backlog_count":1,"total":2,"x":1}"#;
        assert!(matches!(serde_json::from_str(hello).unwrap(), Shown::Hello { backlog_count: 1, total: 2, .. }));
        let complete = r#"{"type":"backlog_complete","count":1,"has_more":false}"#;
        assert!(matches!(serde_json::from_str(complete).unwrap(), Shown::BacklogComplete {}));
        let entry = r#"{"type":"entry","live":true,"entry":{"id":"a","seq":1,"role":"user","kind":"message","text":"hi","parsed":true}}"#;
        assert!(matches!(serde_json::from_str(entry).unwrap(), Shown::Entry { .. }));
        let other = r#"{"type":"subagents","subagents":[]}"#;
        assert!(matches!(serde_json::from_str(other).unwrap(), Shown::Other));
    }
}
