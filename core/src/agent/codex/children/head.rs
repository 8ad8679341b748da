//! Whose child a rollout is, as its first record says.

use alloc::string::String;

use memchr::memmem;

use crate::agent::codex::kinds::{self, RecordKind};
use crate::agent::layout::first_object;
use crate::agent::shown::named;
use crate::entry::caps;
use crate::limits::CHILD_LABEL_CHARS;
use crate::source::json::Value;

/// What the first record says of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Head {
    /// The thread that started it; nothing if nobody did.
    pub(super) parent: Option<String>,
    /// The configured agent that runs in it.
    pub(super) role: String,
    /// The name that it was given.
    pub(super) nickname: String,
    /// The name by which newer versions speak of it, such as `/root/tests`.
    pub(super) path: String,
}

impl Head {
    /// Reads the beginning of a rollout. The record may be cut: what stands before the cut counts. Nothing if there is no
    /// whole name of a record in it yet.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let record = first_object(bytes)?;
        if kinds::record(record.get("type")) != RecordKind::Meta {
            // Files of 2025-08 have no envelopes, and no threads.
            return record.get("type").or_else(|| record.get("id")).map(|_| Self::default());
        }
        let at = memmem::find(record.raw(), b"\"payload\"")?;
        let payload = record.raw().get(at..).and_then(|rest| rest.get(memchr::memchr(b'{', rest)?..))?;
        let payload = Value(payload);
        let id = named(payload.get("id"))?;
        let source = payload.get("source").and_then(|source| source.get("subagent"));
        let spawn = source.map(|source| source.get("thread_spawn").unwrap_or(source));
        let of_spawn = |key: &str| spawn.and_then(|spawn| spawn.get(key));
        let is_thread = source.is_some() || payload.get("thread_source").is_some_and(|source| source.is("subagent"));
        // The session of a thread is that of the first one.
        let session = || named(payload.get("session_id")).filter(|session| *session != id);
        let parent = || named(of_spawn("parent_thread_id").or_else(|| payload.get("parent_thread_id")));
        let label = |key: &str| of_spawn(key).into_iter().chain(payload.get(key)).find_map(label).unwrap_or_default();
        Some(Self {
            parent: if is_thread { parent().or_else(session) } else { None },
            role: label("agent_role"),
            nickname: label("agent_nickname"),
            path: named(of_spawn("agent_path").or_else(|| payload.get("agent_path"))).unwrap_or_default(),
        })
    }
}

/// A text as a label: one line, cut; nothing if it is blank.
pub(super) fn label(text: Value<'_>) -> Option<String> {
    caps::one_line(text.chars()?, CHILD_LABEL_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(payload: &str) -> String {
        alloc::format!(r#"{{"timestamp":"t","type":"session_meta","payload":{payload}}}"#)
    }

    #[test]
    fn every_way_in_which_a_thread_names_its_parent() {
        for (payload, parent) in [
            (r#"{"id":"c","source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","depth":1}}}}"#, Some("p")),
            (r#"{"id":"c","source":{"subagent":{"parent_thread_id":"p"}}}"#, Some("p")),
            (r#"{"session_id":"s","id":"c","parent_thread_id":"p","source":{"subagent":"review"}}"#, Some("p")),
            (r#"{"session_id":"s","id":"c","source":{"subagent":{"other":"x"}}}"#, Some("s")),
            (r#"{"session_id":"c","id":"c","source":{"subagent":"review"}}"#, None),
            (r#"{"id":"c","parent_thread_id":"p","thread_source":"subagent","source":"cli"}"#, Some("p")),
            // What a human forked is a session of its own.
            (r#"{"id":"c","forked_from_id":"p","source":"cli"}"#, None),
            (r#"{"id":"c","source":"exec"}"#, None),
        ] {
            assert_eq!(Head::of(meta(payload).as_bytes()).unwrap().parent.as_deref(), parent, "{payload}");
        }
    }

    #[test]
    fn labels_are_read_before_a_cut_and_no_beginning_says_nothing() {
        let line = meta(
            r#"{"id":"c","source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","agent_path":"/root/a","agent_nickname":"Ada","agent_role":" team\n lead "}}},"base_instructions":{"text":"long"}}"#,
        );
        let head =
            Head { parent: Some("p".into()), role: "team lead".into(), nickname: "Ada".into(), path: "/root/a".into() };
        assert_eq!(Head::of(line.as_bytes()), Some(head.clone()));
        assert_eq!(Head::of(&line.as_bytes()[..line.len() - 12]), Some(head));
        assert_eq!(Head::of(br#"{"timestamp":"t","type":"session_meta","payl"#), None);
        assert_eq!(Head::of(br#"{"id":"c","timestamp":"t","instructions":null}"#), Some(Head::default()));
        assert_eq!(Head::of(b""), None);
    }
}
