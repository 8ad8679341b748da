//! `GET /panes`: the listing on the wire.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::pane::census::{Found, Listed};

/// The wire form of `GET /panes`. What is not known is left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Panes<'a> {
    panes: Vec<Row<'a>>,
    notes: &'a [String],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Row<'a> {
    pane: &'a str,
    agent_kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_ms: Option<i64>,
}

impl<'a> From<&'a Found> for Panes<'a> {
    fn from(found: &'a Found) -> Self {
        Self { panes: found.listed.iter().map(Row::from).collect(), notes: &found.notes }
    }
}

impl<'a> From<&'a Listed> for Row<'a> {
    fn from(listed: &'a Listed) -> Self {
        Self {
            pane: listed.pane.as_str(),
            agent_kind: &listed.kind,
            session_id: listed.session.as_ref().map(|session| session.as_str()),
            status: listed.status.as_deref(),
            title: listed.title.as_deref(),
            cwd: listed.cwd.as_deref(),
            file: listed.path.as_deref(),
            size: listed.size,
            modified_ms: listed.modified_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::Panes;
    use crate::ids::PaneId;
    use crate::pane::census::{Found, Listed};

    #[test]
    fn what_is_not_known_is_left_out() {
        let row = Listed {
            pane: PaneId::from("claude:7d2c"),
            kind: "claude".into(),
            session: Some("7d2c".into()),
            cwd: Some("/w".into()),
            path: Some("/home/u/.claude/projects/-w/7d2c.jsonl".into()),
            transcript: None,
            size: Some(12),
            modified_ms: Some(1_788_600_000_000),
            title: None,
            status: None,
        };
        let bare = Listed {
            pane: PaneId::from("w1:p2"),
            kind: "codex".into(),
            session: None,
            cwd: None,
            path: None,
            transcript: None,
            size: None,
            modified_ms: None,
            title: Some("fix \"it\"".into()),
            status: Some("idle".into()),
        };
        let found = Found { listed: vec![bare, row], demo: false, notes: vec!["herdr agent list: no luck".into()] };
        assert_eq!(
            serde_json::to_string(&Panes::from(&found)).unwrap(),
            concat!(
                r#"{"panes":[{"pane":"w1:p2","agent_kind":"codex","status":"idle","title":"fix \"it\""},"#,
                r#"{"pane":"claude:7d2c","agent_kind":"claude","session_id":"7d2c","cwd":"/w","#,
                r#""file":"/home/u/.claude/projects/-w/7d2c.jsonl","size":12,"modified_ms":1788600000000}],"#,
                r#""notes":["herdr agent list: no luck"]}"#
            )
        );
    }
}
