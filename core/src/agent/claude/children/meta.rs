//! What `agent-<id>.meta.json` says about a child.

use alloc::string::{String, ToString as _};

use super::note::label;
use crate::source::json::Value;

/// The labels of a child.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Meta {
    pub(super) agent_type: String,
    pub(super) description: String,
    pub(super) tool_use_id: String,
    pub(super) spawn_depth: u64,
    pub(super) parent_agent_id: Option<String>,
}

impl Meta {
    /// Reads the whole file. What cannot be read leaves the labels empty.
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let text = core::str::from_utf8(bytes).unwrap_or_default().trim_start_matches('\u{feff}').trim();
        if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
            return Self::default();
        }
        let meta = Value(text.as_bytes());
        let get = |key: &str| meta.get(key).map(label).unwrap_or_default();
        Self {
            agent_type: get("agentType"),
            description: get("description"),
            tool_use_id: meta.get("toolUseId").and_then(Value::filled).unwrap_or_default().trim().to_string(),
            spawn_depth: meta.get("spawnDepth").and_then(Value::number).unwrap_or_default(),
            parent_agent_id: meta.get("parentAgentId").and_then(Value::filled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_is_read_and_what_is_missing_is_empty() {
        let whole = Meta::parse(
            br#"{"agentType":"Explore","description":"find it","toolUseId":"toolu_1","spawnDepth":2,"parentAgentId":"a1","model":"m"}"#,
        );
        let expected = Meta {
            agent_type: "Explore".into(),
            description: "find it".into(),
            tool_use_id: "toolu_1".into(),
            spawn_depth: 2,
            parent_agent_id: Some("a1".into()),
        };
        assert_eq!(whole, expected);
        let little = Meta::parse(br#" {"agentType":"team lead","spawnDepth":"deep","description":7} "#);
        assert_eq!(little, Meta { agent_type: "team lead".into(), ..Meta::default() });
    }

    #[test]
    fn what_cannot_be_read_leaves_no_labels() {
        for bytes in [&b""[..], b"{", b"[1]", b"null", br#"{"agentType":"Explore","#, b"\xff\xfe{}", b"{}{}"] {
            assert_eq!(Meta::parse(bytes), Meta::default(), "{bytes:?}");
        }
    }
}
