//! What herdr can be asked, in the words of its command line and in those of its socket.

use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;
use serde_json::json;

use super::session::HerdrSession;
use crate::ids::PaneId;
use crate::limits;

/// What herdr can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// The agent of one pane.
    Agent(PaneId),
    /// Who is in one pane, an agent or not.
    Occupant(PaneId),
    /// The agents of all panes of one server.
    Agents(HerdrSession),
    /// Everything that one server shows: workspaces, tabs, panes, agents.
    Snapshot(HerdrSession),
    /// What the terminal of one pane shows.
    Screen(PaneId, ScreenSource),
    /// What the terminal of one pane shows, an agent or not, with its colours.
    Rows(PaneId, Rows),
    /// Type this text into one pane.
    Type(PaneId, String),
    /// Press these keys there, in herdr's names.
    Press(PaneId, Vec<String>),
}

/// What is read of a terminal. herdr's own default is none of them: it types into the agent to scroll it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenSource {
    /// The live bottom of the screen, wherever a person has scrolled to.
    Detection,
    /// The screen as a person sees it.
    Visible,
    /// The same with its colours.
    Coloured,
}

/// Which rows of a terminal are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Those above the screen, too. Never of an agent: herdr may type into it to scroll.
    Scrollback,
    /// Those that a person sees.
    Screen,
}

impl Question {
    /// The server that it goes to, and the question in that server's own words.
    pub(super) fn in_session(mut self) -> (HerdrSession, Self) {
        let session = match &mut self {
            Self::Agent(pane)
            | Self::Occupant(pane)
            | Self::Screen(pane, _)
            | Self::Rows(pane, _)
            | Self::Type(pane, _)
            | Self::Press(pane, _) => {
                let (session, own) = HerdrSession::of(pane);
                *pane = own;
                session
            }
            Self::Agents(session) | Self::Snapshot(session) => session.clone(),
        };
        (session, self)
    }

    /// Whether this could be the name of anything. What could not be must not reach a command line: there a leading `-`
    /// is an option, and a NUL cannot be passed at all.
    pub(super) fn is_askable(&self) -> bool {
        let (Self::Agent(pane)
        | Self::Occupant(pane)
        | Self::Screen(pane, _)
        | Self::Rows(pane, _)
        | Self::Type(pane, _)
        | Self::Press(pane, _)) = self
        else {
            return true;
        };
        is_pane_name(pane)
    }

    /// Whether it does something, and must not be done twice.
    pub(super) const fn types(&self) -> bool {
        matches!(self, Self::Type(..) | Self::Press(..))
    }

    pub(super) fn arguments(&self) -> Vec<String> {
        match self {
            Self::Agent(pane) => vec!["agent".into(), "get".into(), pane.0.clone()],
            Self::Occupant(pane) => vec!["pane".into(), "get".into(), pane.0.clone()],
            Self::Agents(_) => vec!["agent".into(), "list".into()],
            Self::Snapshot(_) => vec!["api".into(), "snapshot".into()],
            Self::Screen(pane, source) => {
                let (source, format) = source.words();
                let words = ["agent", "read", pane.as_str(), "--source", source, "--format", format];
                words.map(String::from).into()
            }
            Self::Rows(pane, rows) => {
                let (source, lines) = rows.words();
                let words = ["pane", "read", pane.as_str(), "--source", source, "--format", "ansi"].map(String::from);
                let lines = lines.map(|lines| ["--lines".into(), lines.to_string()]);
                words.into_iter().chain(lines.into_iter().flatten()).collect()
            }
            Self::Type(pane, text) => ["pane", "send-text", pane.as_str(), text].map(String::from).into(),
            Self::Press(pane, keys) => {
                let words = ["pane", "send-keys", pane.as_str()].into_iter();
                words.chain(keys.iter().map(String::as_str)).map(String::from).collect()
            }
        }
    }

    pub(super) fn socket_line(&self) -> Bytes {
        let request = match self {
            Self::Agent(pane) => {
                json!({"id": "panewire", "method": "agent.get", "params": {"target": pane.as_str()}})
            }
            Self::Occupant(pane) => {
                json!({"id": "panewire", "method": "pane.get", "params": {"pane_id": pane.as_str()}})
            }
            Self::Agents(_) => json!({"id": "panewire", "method": "agent.list", "params": {}}),
            Self::Snapshot(_) => json!({"id": "panewire", "method": "session.snapshot", "params": {}}),
            Self::Screen(pane, source) => {
                let (source, format) = source.words();
                let params = json!({
                    "target": pane.as_str(), "source": source, "format": format, "strip_ansi": format == "text",
                });
                json!({"id": "panewire", "method": "agent.read", "params": params})
            }
            Self::Rows(pane, rows) => {
                let (source, lines) = rows.words();
                let mut params = json!({
                    "pane_id": pane.as_str(), "source": source, "format": "ansi", "strip_ansi": false,
                });
                if let (Some(lines), Some(params)) = (lines, params.as_object_mut()) {
                    params.insert("lines".into(), lines.into());
                }
                json!({"id": "panewire", "method": "pane.read", "params": params})
            }
            Self::Type(pane, text) => {
                let params = json!({"pane_id": pane.as_str(), "text": text});
                json!({"id": "panewire", "method": "pane.send_text", "params": params})
            }
            Self::Press(pane, keys) => {
                let params = json!({"pane_id": pane.as_str(), "keys": keys});
                json!({"id": "panewire", "method": "pane.send_keys", "params": params})
            }
        };
        let mut line = request.to_string();
        line.push('\n');
        line.into()
    }
}

/// Whether herdr could call a pane so, in the words of its server.
fn is_pane_name(pane: &PaneId) -> bool {
    let name = pane.as_str();
    !name.is_empty()
        && name.len() <= limits::MAX_PANE_ID_BYTES
        && !name.starts_with('-')
        && !name.chars().any(char::is_control)
}

impl Rows {
    /// herdr's word for the source, and how many rows.
    const fn words(self) -> (&'static str, Option<u32>) {
        match self {
            Self::Scrollback => ("recent", Some(limits::SCROLLBACK_ROWS)),
            Self::Screen => ("visible", None),
        }
    }
}

impl ScreenSource {
    /// herdr's words for the source and the format.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Detection => ("detection", "text"),
            Self::Visible => ("visible", "text"),
            Self::Coloured => ("visible", "ansi"),
        }
    }
}
