//! The agent of a pane, as herdr tells it.

use alloc::string::String;

use serde_json::Value;

use super::session::HerdrSession;
use crate::ids::PaneId;

/// An agent in a pane. herdr changes often: what it leaves out is none, what it adds is not looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneAgent {
    /// The pane's current id, whatever name it was asked by.
    pub pane: PaneId,
    /// Which life of the pane this is: new whenever herdr's server starts.
    pub terminal_id: Option<String>,
    /// The kind of agent, in herdr's word.
    pub kind_label: String,
    /// `idle`, `working`, `blocked`, `done`, or any other word. It lags and lies.
    pub status: String,
    /// When the status changed last, on herdr's own counter.
    pub state_change_seq: u64,
    /// The directory of the pane's shell.
    pub cwd: Option<String>,
    /// The directory of the process in the foreground, which may be a child of the agent.
    pub foreground_cwd: Option<String>,
    /// The agent's session, if it was reported and is this agent's own.
    pub session: Option<SessionRef>,
    /// What the terminal says the agent does.
    pub title: Option<String>,
}

/// Which conversation an agent says it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRef {
    /// The kind of agent that reported it.
    pub agent: String,
    /// How it is named.
    pub kind: SessionKind,
    /// Its id or its path. Never empty.
    pub value: String,
}

/// How a session is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    /// By the agent's own id.
    Id,
    /// By the path of its file.
    Path,
}

impl PaneAgent {
    /// The directory that the agent was started in, as far as herdr knows.
    #[must_use]
    pub fn directory(&self) -> Option<&str> {
        self.cwd.as_deref().or(self.foreground_cwd.as_deref())
    }

    /// Reads an agent of a snapshot, by what clients call its pane.
    pub(crate) fn from_snapshot(value: &Value, session: &HerdrSession) -> Option<Self> {
        let mut agent = Self::from_value(value, None)?;
        agent.pane = PaneId(session.qualified(agent.pane.as_str()));
        Some(agent)
    }

    /// Reads an agent out of an answer. `asked` stands in for the pane's id where the answer has none.
    pub(super) fn from_value(value: &Value, asked: Option<&PaneId>) -> Option<Self> {
        let fields = value.as_object()?;
        let text = |key: &str| filled(fields.get(key));
        let pane = text("pane_id").map(PaneId).or_else(|| asked.cloned())?;
        let kind_label = text("agent").unwrap_or_default();
        let session = fields.get("agent_session").and_then(SessionRef::from_value);
        Some(Self {
            pane,
            terminal_id: text("terminal_id"),
            status: text("agent_status").unwrap_or_else(|| "unknown".into()),
            state_change_seq: fields.get("state_change_seq").and_then(Value::as_u64).unwrap_or(0),
            cwd: text("cwd"),
            foreground_cwd: text("foreground_cwd"),
            session: session.filter(|session| session.is_of(&kind_label)),
            title: text("title").or_else(|| text("terminal_title_stripped")),
            kind_label,
        })
    }
}

impl SessionRef {
    fn from_value(value: &Value) -> Option<Self> {
        let kind = match value.get("kind").and_then(Value::as_str) {
            Some("path") => SessionKind::Path,
            _ => SessionKind::Id,
        };
        Some(Self { agent: filled(value.get("agent")).unwrap_or_default(), kind, value: filled(value.get("value"))? })
    }

    /// Whether it is named by its file.
    #[must_use]
    pub fn is_path(&self) -> bool {
        self.kind == SessionKind::Path || self.value.starts_with('/') && self.value.ends_with(".jsonl")
    }

    /// Whether the session belongs to this kind of agent: a nested agent of another kind may have reported its own.
    fn is_of(&self, kind_label: &str) -> bool {
        self.agent.is_empty() || self.agent.trim().eq_ignore_ascii_case(kind_label.trim())
    }
}

fn filled(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(String::from)
}
