//! The frames from server to client, field for field and in the contract's order.

use bytes::Bytes;
use serde::Serialize;

use super::PROTOCOL;
use super::roster::{Rows, View};
use crate::entry::{Body, Entry, Role, Text, ToolCall, ToolResult};
use crate::ids::Seq;
use crate::time::UnixMillis;

/// What `hello` says about a stream and its newest page.
#[derive(Debug, Clone, Copy)]
pub struct Hello<'a> {
    /// The pane as the client asked for it.
    pub pane: &'a str,
    /// The kind of agent.
    pub agent_kind: &'a str,
    /// The session as this client shall know it.
    pub session_id: &'a str,
    /// The child whose conversation this is, if it is one.
    pub subagent: Option<&'a str>,
    /// Entries in the newest page.
    pub backlog_count: u64,
    /// Entries in the whole stream.
    pub total: u64,
    /// The first entry of the newest page; 0 if it is empty.
    pub oldest_loaded_seq: u64,
    /// The children of the session; `None` if nothing was delegated.
    pub subagents: Option<View<'a>>,
    /// Whether the client asked for more on each of them.
    pub full_roster: bool,
    /// Which entries are a side branch, for a client that asked for it.
    pub side_branches: &'a [(u64, u64)],
    /// The name of this counting of the stream, for a client that resumes.
    pub generation: &'a str,
    /// Whether what the client has goes on here; `None` if it did not ask.
    pub resumed: Option<bool>,
}

/// The opening frame: who is followed, and how much there is.
#[must_use]
pub fn hello(hello: &Hello<'_>) -> Bytes {
    #[derive(Serialize)]
    struct Wire<'a> {
        r#type: &'static str,
        protocol: u32,
        pane: &'a str,
        agent_kind: &'a str,
        session_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent: Option<&'a str>,
        backlog_count: u64,
        total: u64,
        has_more: bool,
        oldest_loaded_seq: u64,
        has_older: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagents: Option<Rows<'a>>,
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        side_branches: &'a [(u64, u64)],
        generation: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        resumed: Option<bool>,
    }
    let has_older = hello.oldest_loaded_seq > 1;
    encode(&Wire {
        r#type: "hello",
        protocol: PROTOCOL,
        pane: hello.pane,
        agent_kind: hello.agent_kind,
        session_id: hello.session_id,
        subagent: hello.subagent,
        backlog_count: hello.backlog_count,
        total: hello.total,
        has_more: has_older,
        oldest_loaded_seq: hello.oldest_loaded_seq,
        has_older,
        subagents: hello.subagents.map(|view| view.rows(hello.full_roster)),
        side_branches: hello.side_branches,
        generation: hello.generation,
        resumed: hello.resumed,
    })
}

/// Which entries are a side branch now: the first and the last seq of each run of them.
#[must_use]
pub fn branches(pane: &str, side_branches: &[(u64, u64)]) -> Bytes {
    #[derive(Serialize)]
    struct Wire<'a> {
        r#type: &'static str,
        pane: &'a str,
        side_branches: &'a [(u64, u64)],
    }
    encode(&Wire { r#type: "branches", pane, side_branches })
}

/// One entry; `live` for what the agent just did, not for what was asked for.
#[must_use]
pub fn entry(live: bool, seq: Seq, entry: &Entry) -> Bytes {
    entry_of(live, seq, entry, None)
}

/// The same of an entry that is a side branch, for a client that asked for it.
#[must_use]
pub fn side_entry(live: bool, seq: Seq, entry: &Entry) -> Bytes {
    entry_of(live, seq, entry, Some("side branch"))
}

fn entry_of(live: bool, seq: Seq, entry: &Entry, branch: Option<&'static str>) -> Bytes {
    #[derive(Serialize)]
    struct Wire<'a> {
        r#type: &'static str,
        live: bool,
        entry: EntryWire<'a>,
    }
    encode(&Wire { r#type: "entry", live, entry: EntryWire { branch, ..EntryWire::new(seq, entry) } })
}

/// One entry alone, in the same shape, without a frame around it.
#[must_use]
pub fn bare_entry(seq: Seq, entry: &Entry) -> Bytes {
    encode(&EntryWire::new(seq, entry))
}

/// The same as the body of an HTTP answer: it ends with a newline.
#[must_use]
pub fn entry_body(seq: Seq, entry: &Entry) -> Bytes {
    let mut body = serde_json::to_vec(&EntryWire::new(seq, entry)).unwrap_or_default();
    body.push(b'\n');
    body.into()
}

/// The boundary between the newest page and the live tail.
#[must_use]
pub fn backlog_complete(count: u64, has_more: bool) -> Bytes {
    #[derive(Serialize)]
    struct Wire {
        r#type: &'static str,
        count: u64,
        has_more: bool,
    }
    encode(&Wire { r#type: "backlog_complete", count, has_more })
}

/// The end of an older page, and the client's new cursor.
#[must_use]
pub fn page_complete(requested_before_seq: i64, oldest_loaded_seq: u64, has_older: bool) -> Bytes {
    #[derive(Serialize)]
    struct Wire {
        r#type: &'static str,
        requested_before_seq: i64,
        oldest_loaded_seq: u64,
        has_older: bool,
    }
    encode(&Wire { r#type: "page_complete", requested_before_seq, oldest_loaded_seq, has_older })
}

/// The pane went on to another session, or its file became another one: everything held is void.
#[must_use]
pub fn session_changed(pane: &str, from: &str, to: &str) -> Bytes {
    #[derive(Serialize)]
    struct Wire<'a> {
        r#type: &'static str,
        pane: &'a str,
        from: &'a str,
        to: &'a str,
    }
    encode(&Wire { r#type: "session_changed", pane, from, to })
}

/// The children of the session, all of them: what a client holds is replaced.
#[must_use]
pub fn subagents(pane: &str, view: View<'_>, full: bool) -> Bytes {
    #[derive(Serialize)]
    struct Wire<'a> {
        r#type: &'static str,
        pane: &'a str,
        subagents: Rows<'a>,
    }
    encode(&Wire { r#type: "subagents", pane, subagents: view.rows(full) })
}

/// What a heartbeat says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heartbeat<'a> {
    /// The newest entry of the stream; 0 if it is empty.
    pub head_seq: u64,
    /// What herdr thinks the agent does, if the pane is herdr's.
    pub agent_status: Option<&'a str>,
    /// The server's wall clock.
    pub server_time: UnixMillis,
}

/// Nothing happened, and that is known: for a client that opted in.
#[must_use]
pub fn heartbeat(beat: &Heartbeat<'_>) -> Bytes {
    #[derive(Serialize)]
    struct Wire<'a> {
        r#type: &'static str,
        head_seq: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_status: Option<&'a str>,
        server_time_ms: i64,
    }
    let Heartbeat { head_seq, agent_status, server_time } = *beat;
    encode(&Wire { r#type: "heartbeat", head_seq, agent_status, server_time_ms: server_time.0 })
}

#[derive(Serialize)]
struct EntryWire<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<&'a str>,
    seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<&'a str>,
    role: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    text: &'a str,
    #[serde(skip_serializing_if = "is_false")]
    text_truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<ToolWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<ResultWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'static str>,
    parsed: bool,
}

impl<'a> EntryWire<'a> {
    fn new(seq: Seq, entry: &'a Entry) -> Self {
        let (kind, text, tool, result) = match &entry.body {
            Body::Message(text) => ("message", Some(text), None, None),
            Body::Thinking(text) => ("thinking", Some(text), None, None),
            Body::Attachment(text) => ("attachment", Some(text), None, None),
            Body::ToolCall(call) => ("tool_call", None, Some(ToolWire::new(call)), None),
            Body::ToolResult(result) => ("tool_result", None, None, Some(ResultWire::new(result))),
        };
        let (text, text_truncated) = text.map_or(("", false), |Text { text, truncated }| (text, *truncated));
        Self {
            id: &entry.id,
            parent_id: entry.parent_id.as_deref(),
            seq: seq.get(),
            ts: entry.ts.as_deref(),
            role: match entry.role {
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::System => "system",
            },
            kind,
            text,
            text_truncated,
            tool,
            result,
            branch: None,
            parsed: entry.parsed,
        }
    }
}

#[derive(Serialize)]
struct ToolWire<'a> {
    id: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subtitle: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    command_truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    diff_truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_summary: Option<&'a str>,
}

impl<'a> ToolWire<'a> {
    fn new(call: &'a ToolCall) -> Self {
        Self {
            id: &call.id,
            name: &call.name,
            title: call.title.as_deref(),
            subtitle: call.subtitle.as_deref(),
            command: call.command.as_deref(),
            command_truncated: call.command_truncated,
            file: call.file.as_deref(),
            diff: call.diff.as_deref(),
            diff_truncated: call.diff_truncated,
            input_summary: call.input_summary.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct ResultWire<'a> {
    for_id: &'a str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_summary: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    truncated: bool,
}

impl<'a> ResultWire<'a> {
    fn new(result: &'a ToolResult) -> Self {
        Self {
            for_id: &result.for_id,
            ok: result.ok,
            output_summary: result.output_summary.as_deref(),
            diff: result.diff.as_deref(),
            truncated: result.truncated,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// Strings, numbers and flags always serialise; a failure would leave an empty frame, which a client skips.
fn encode(wire: &impl Serialize) -> Bytes {
    serde_json::to_vec(wire).map_or_else(|_| Bytes::new(), Bytes::from)
}
