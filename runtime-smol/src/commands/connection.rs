//! A socket to a running daemon, for the commands that ask it.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use panewire_core::limits::PING_EVERY;
use panewire_host::arguments::{DEFAULT_LISTEN, Places};
use panewire_host::surroundings::Surroundings;
use panewire_host::{Problem, lock, token};
use tungstenite::http::Uri;
use tungstenite::{ClientRequestBuilder, Error, HandshakeError, WebSocket};

/// A daemon that sends not even a ping for this long is gone.
const SILENCE: Duration = PING_EVERY.saturating_mul(3);

/// For a token that the daemon does not take.
const ANOTHER_TOKEN: &str = "the daemon wants another token (401): PANEWIRE_TOKEN, --state-dir DIR or ?token= in --url \
    give one; after 'token --rotate' it keeps the old one until it is restarted";

/// Connects to the transcript of a pane, opting in to these features; tells also where the daemon is.
pub(super) fn open(
    url: Option<&str>,
    pane: &str,
    features: &str,
    places: &Places,
) -> Result<(WebSocket<TcpStream>, String), Problem> {
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
    let socket = connect(&target, pane, features, secret.as_deref())?;
    Ok((socket, target.base))
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
                return Err(Problem::new(
                    "the command line speaks no TLS: give the daemon's own address, http://HOST:PORT",
                ));
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

fn connect(target: &Target, pane: &str, features: &str, secret: Option<&str>) -> Result<WebSocket<TcpStream>, Problem> {
    let Target { authority, base, token } = target;
    let stream = TcpStream::connect(authority).map_err(|error| {
        Problem::new(format_args!("no daemon answers at {authority} ({error}); 'panewire' starts one"))
    })?;
    let prepared = stream.set_read_timeout(Some(SILENCE)).and_then(|()| stream.set_nodelay(true));
    prepared.map_err(|error| Problem::new(format_args!("cannot use the connection to {authority}: {error}")))?;
    let token = token.as_ref().map_or_else(String::new, |token| format!("&token={token}"));
    let features = if features.is_empty() { String::new() } else { format!("&features={features}") };
    let uri: Uri = format!("{base}/agent-transcript?pane={}{features}{token}", encoded(pane))
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

/// What a person can read of an error.
pub(super) fn cause(error: &Error) -> String {
    match error {
        Error::Io(error) if error.kind() == io::ErrorKind::WouldBlock => "it says nothing any more".to_owned(),
        error => error.to_string(),
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
}
