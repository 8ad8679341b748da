//! A socket to a running daemon, for the commands that ask it.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use panewire_core::limits::PING_EVERY;
use panewire_host::Problem;
use panewire_host::arguments::Places;
use panewire_host::daemon::{ANOTHER_TOKEN, Daemon};
use tungstenite::http::Uri;
use tungstenite::{ClientRequestBuilder, Error, HandshakeError, WebSocket};

/// A daemon that sends not even a ping for this long is gone.
const SILENCE: Duration = PING_EVERY.saturating_mul(3);

/// Connects to the transcript of a pane, opting in to these features; tells also where the daemon is.
pub(super) fn open(
    url: Option<&str>,
    pane: &str,
    features: &str,
    places: &Places,
) -> Result<(WebSocket<TcpStream>, String), Problem> {
    let daemon = Daemon::find(url, places)?;
    let base = format!("ws://{}{}", daemon.authority, daemon.path);
    let socket = connect(&daemon, &base, pane, features)?;
    Ok((socket, base))
}

fn connect(daemon: &Daemon, base: &str, pane: &str, features: &str) -> Result<WebSocket<TcpStream>, Problem> {
    let Daemon { authority, token_in_url, token, .. } = daemon;
    let stream = daemon.connect(SILENCE)?;
    let in_url = token_in_url.as_ref().map_or_else(String::new, |token| format!("&token={token}"));
    let features = if features.is_empty() { String::new() } else { format!("&features={features}") };
    let uri: Uri = format!("{base}/agent-transcript?pane={}{features}{in_url}", encoded(pane))
        .parse()
        .map_err(|_| Problem::new("the pane or the URL cannot be asked for"))?;
    let mut request = ClientRequestBuilder::new(uri);
    if let Some(token) = token {
        request = request.with_header("Authorization", format!("Bearer {token}"));
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
        404 if pane == "demo" => {
            Problem::new("this daemon does not serve the pane 'demo' (404), as it has others: start it with --demo")
        }
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

    #[test]
    fn a_refusal_says_what_to_do() {
        assert_eq!(refused("demo", 401, "unauthorized").to_string(), ANOTHER_TOKEN);
        assert_eq!(
            refused("w1:p1", 404, "no such agent").to_string(),
            "cannot follow 'w1:p1': no such agent (404); 'panewire panes' lists what there is"
        );
        assert_eq!(
            refused("demo", 404, "no such agent").to_string(),
            "this daemon does not serve the pane 'demo' (404), as it has others: start it with --demo"
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
