//! The directories of a session in which children may lie, and what the names in them stand for.

use crate::io::{FileIdentity, FileTime};
use crate::limits::MAX_CHILD_ID_BYTES;

/// Where in the layout a directory stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layout {
    /// `subagents`, or so many levels below it.
    Own(u32),
    /// The directory of the session itself, in which children of all its sessions lie.
    Shared,
}

/// Levels below `subagents` in which children are looked for.
pub(super) const DEEPEST: u32 = 2;

/// What is known of a directory.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) layout: Layout,
    /// What it was when its names were asked for last; nothing if they never were.
    pub(super) listed: Option<(FileIdentity, FileTime)>,
}

/// What a name in such a directory stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named<'a> {
    /// The conversation of the child with this id.
    Child(&'a str),
    /// Its metadata.
    Meta(&'a str),
    /// Nothing of a child: the journal of a run, or the hidden agent that sums up a conversation.
    Other,
}

/// What the name of a file stands for.
pub(super) fn named(name: &str) -> Named<'_> {
    let Some(rest) = name.strip_prefix("agent-") else { return Named::Other };
    if let Some(id) = rest.strip_suffix(".meta.json").filter(|id| is_agent_id(id)) {
        Named::Meta(id)
    } else if let Some(id) = rest.strip_suffix(".jsonl").filter(|id| is_agent_id(id)) {
        Named::Child(id)
    } else {
        Named::Other
    }
}

fn is_agent_id(id: &str) -> bool {
    (1..=MAX_CHILD_ID_BYTES).contains(&id.len()) && !id.starts_with("acompact-")
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn names_of_all_ages() {
        assert_eq!(named("agent-a2898e3.jsonl"), Named::Child("a2898e3"));
        assert_eq!(named("agent-a3979c6700530d9fe.meta.json"), Named::Meta("a3979c6700530d9fe"));
        for other in ["agent-acompact-70d8e7.jsonl", "journal.jsonl", "agent-.jsonl", "agent-a1.json", "a1.jsonl", ""] {
            assert_eq!(named(other), Named::Other, "{other}");
        }
        assert_eq!(named(&format!("agent-{}.jsonl", "a".repeat(MAX_CHILD_ID_BYTES + 1))), Named::Other);
    }
}
