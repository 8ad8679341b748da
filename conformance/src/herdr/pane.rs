//! One pane as herdr reports it: the fields and their order are those of its socket.

use serde::{Deserialize, Serialize};

/// A pane. Without an `agent` it is a plain shell, which `agent get` does not find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pane {
    /// New at every server start: with `pane_id` it is the pane's identity.
    pub terminal_id: String,
    /// The kind of agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The title that the agent set, with its spinner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_title: Option<String>,
    /// The title without the spinner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_title_stripped: Option<String>,
    /// `idle`, `working`, `blocked`, `done` or `unknown`.
    pub agent_status: String,
    /// `true` when a hook of the agent owns the status.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub screen_detection_skipped: bool,
    /// The agent's own session, where an integration reported it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<Session>,
    /// The first half of `pane_id`.
    pub workspace_id: String,
    /// Its tab.
    pub tab_id: String,
    /// What clients call it.
    pub pane_id: String,
    /// Whether it has the focus.
    pub focused: bool,
    /// The server's counter at this pane's last change of status.
    pub state_change_seq: u64,
    /// The directory of its shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The directory of its foreground process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreground_cwd: Option<String>,
    /// Counts changes of title and metadata.
    pub revision: u64,
}

/// The session that an agent's integration reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Who reported it: `herdr:claude`.
    pub source: String,
    /// The kind of agent it belongs to; may differ from the pane's.
    pub agent: String,
    /// `id` or `path`.
    pub kind: String,
    /// The id, or the path of the session's file.
    pub value: String,
}

impl Pane {
    /// An idle Claude Code pane without a session, `pane_id` of the form `w1:p1`, in this directory.
    #[must_use]
    pub fn claude(pane_id: &str, cwd: &str) -> Self {
        let (workspace, pane) = pane_id.split_once(':').unwrap_or(("w1", pane_id));
        Self {
            terminal_id: format!(
                "term_66160000{:06x}",
                pane.bytes().fold(7_u32, |sum, b| sum * 31 % 9_973 + u32::from(b))
            ),
            agent: Some("claude".into()),
            terminal_title: Some("✳ Tidy the shelf".into()),
            terminal_title_stripped: Some("Tidy the shelf".into()),
            agent_status: "idle".into(),
            screen_detection_skipped: false,
            agent_session: None,
            workspace_id: workspace.into(),
            tab_id: format!("{workspace}:t1"),
            pane_id: pane_id.into(),
            focused: false,
            state_change_seq: 8,
            cwd: Some(cwd.into()),
            foreground_cwd: Some(cwd.into()),
            revision: 2,
        }
    }

    /// The same pane under another id, of whatever form.
    #[must_use]
    pub fn with_id(self, pane_id: &str) -> Self {
        Self { pane_id: pane_id.into(), ..self }
    }

    /// The same pane with another kind of agent in it.
    #[must_use]
    pub fn of_kind(self, agent: &str) -> Self {
        Self { agent: Some(agent.into()), ..self }
    }

    /// The same pane with a session that its agent names by its file.
    #[must_use]
    pub fn with_file(mut self, path: &str) -> Self {
        self.set_session(path);
        if let Some(session) = &mut self.agent_session {
            session.kind = "path".into();
        }
        self
    }

    /// The same pane with this session of its own agent.
    #[must_use]
    pub fn with_session(mut self, id: &str) -> Self {
        self.set_session(id);
        self
    }

    /// The agent reports another session.
    pub fn set_session(&mut self, id: &str) {
        let agent = self.agent.clone().unwrap_or_default();
        self.agent_session =
            Some(Session { source: format!("herdr:{agent}"), agent, kind: "id".into(), value: id.into() });
    }
}
