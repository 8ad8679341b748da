//! `panewire tail`

use std::io::{self, Write as _};

use panewire_host::Problem;
use panewire_host::arguments::Places;
use panewire_host::problem::quiet;
use serde::Deserialize;
use tungstenite::Message;
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;

use super::connection::{self, cause};
use panewire_host::render::{Renderer, View};

/// Follows a pane until somebody closes.
pub(crate) fn run(url: Option<&str>, pane: &str, places: &Places) -> Result<(), Problem> {
    let (mut socket, base) = connection::open(url, pane, "", places)?;
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
                return Err(Problem::new(format_args!("the daemon at {base} is gone: {}", cause(&error))));
            }
        }
    }
}

fn closed(frame: Option<&CloseFrame>) -> Result<(), Problem> {
    match frame {
        Some(CloseFrame { code: CloseCode::Normal | CloseCode::Away, .. }) | None => Ok(()),
        Some(CloseFrame { code, reason }) => {
            Err(Problem::new(format_args!("closed by the daemon: {} {}", u16::from(*code), reason.as_str())))
        }
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
