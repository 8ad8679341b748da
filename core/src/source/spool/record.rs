//! The lines of a spool: written here, and what one must know again after a restart read from them. Their entries are
//! read by [`SpoolReader`](crate::agent::spooled::SpoolReader).
//!
//! ```text
//! {"spool":2,"kind":"opencode","session":"ses_1","directory":"/w","begun":1784545397321} the first line
//! {"of":[1784545397818,"msg_1"],"entry":{"id":"prt_1","role":"user","kind":"message","text":"…"}}
//! {"of":[1784545397818,"msg_1"],"child":{"id":"ses_2:ended","agent":"ses_2","call":"call_1","ended":true}}
//! {"of":[1784545397818,"msg_1"],"child":{"id":"c1:called","call":"c1","type":"scout","for":"…","prompt":7,"ended":false}}
//! {"settled":[1784545397818,"msg_1"]}                                this message is in the spool, with all of it
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use super::{Child, Place, Started};
use crate::agent::Recorded;
use crate::entry::{Body, Entry, Role, Text};
use crate::ids::SessionId;
use crate::source::json::Value;
use crate::time::UnixMillis;

/// The version of the format. A spool of another version is begun anew.
pub(super) const VERSION: u64 = 2;

/// What ends a line of which a crash has left a part only: it says nothing, and its entry comes again behind it. No JSON
/// holds this byte.
pub(crate) const TORN: u8 = 0x18;

/// Ways in which a line of a spool begins.
pub(crate) const STARTS: &[&[u8]] = &[b"{\"of\":", b"{\"settled\":", b"{\"spool\":"];

/// What a line tells the one who goes on with the spool.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    Header { session: Option<String> },
    Entry { of: Place, id: String },
    Settled(Place),
    Nothing,
}

impl Told {
    pub(super) fn of(line: &[u8]) -> Self {
        let record = Value(line.trim_ascii());
        if let Some(place) = record.get("settled").and_then(place) {
            return Self::Settled(place);
        }
        let entry =
            record.get("entry").or_else(|| record.get("child")).and_then(|entry| entry.get("id")).and_then(Value::text);
        if let (Some(of), Some(id)) = (record.get("of").and_then(place), entry) {
            return Self::Entry { of, id };
        }
        match record.get("spool").and_then(Value::number) {
            Some(VERSION) => Self::Header { session: record.get("session").and_then(Value::text) },
            _ => Self::Nothing,
        }
    }
}

fn place(value: Value<'_>) -> Option<Place> {
    let mut parts = value.elements();
    let time = core::str::from_utf8(parts.next()?.raw()).ok()?.parse().ok()?;
    Some(Place { time, id: parts.next()?.text()? })
}

/// The first line.
pub(super) fn header(kind: &str, session: &SessionId, directory: Option<&str>, begun: UnixMillis) -> Vec<u8> {
    #[derive(Serialize)]
    struct Wire<'a> {
        spool: u64,
        kind: &'a str,
        session: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        directory: Option<&'a str>,
        begun: i64,
    }
    line(&Wire { spool: VERSION, kind, session: session.as_str(), directory, begun: begun.0 })
}

/// What the first line of a spool says about its session.
pub(crate) fn recorded(head: &[u8]) -> Recorded {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let Told::Header { session: Some(session) } = Told::of(line) else { return Recorded::default() };
    Recorded {
        cwd: Value(line.trim_ascii()).get("directory").and_then(Value::text),
        session: Some(SessionId::from(session.as_str())),
        conversation: true,
        ..Recorded::default()
    }
}

/// The line that says up to where everything is in the spool.
pub(super) fn settled(place: &Place) -> Vec<u8> {
    #[derive(Serialize)]
    struct Wire<'a> {
        settled: (i64, &'a str),
    }
    line(&Wire { settled: (place.time, &place.id) })
}

/// The line that tells of a child: the call that started it, and whether it has ended.
pub(super) fn child(of: &Place, id: &str, child: &Child<'_>) -> Vec<u8> {
    let Child { agent, call, ended } = *child;
    telling(of, &ChildWire { id, agent: Some(agent), call, call_says: None, ended })
}

/// The line that tells of a call that starts a child.
pub(super) fn started(of: &Place, id: &str, started: &Started<'_>) -> Vec<u8> {
    let Started { call, child, agent_type, description, prompt, ended } = *started;
    let call_says = Some(CallSays { agent_type, description, prompt });
    telling(of, &ChildWire { id, agent: child, call, call_says, ended })
}

fn telling(of: &Place, child: &ChildWire<'_>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Wire<'a> {
        of: (i64, &'a str),
        child: &'a ChildWire<'a>,
    }
    line(&Wire { of: (of.time, &of.id), child })
}

#[derive(Serialize)]
struct ChildWire<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    call: &'a str,
    #[serde(flatten)]
    call_says: Option<CallSays<'a>>,
    ended: bool,
}

#[derive(Serialize)]
struct CallSays<'a> {
    #[serde(rename = "type")]
    agent_type: &'a str,
    #[serde(rename = "for")]
    description: &'a str,
    prompt: u64,
}

/// The line of an entry.
pub(super) fn entry(of: &Place, entry: &Entry) -> Vec<u8> {
    #[derive(Serialize)]
    struct Wire<'a> {
        of: (i64, &'a str),
        entry: EntryWire<'a>,
    }
    line(&Wire { of: (of.time, &of.id), entry: EntryWire::new(entry) })
}

fn line(wire: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(wire).unwrap_or_default();
    line.push(b'\n');
    line
}

#[derive(Serialize)]
struct EntryWire<'a> {
    id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<&'a str>,
    role: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "is_false")]
    unparsed: bool,
    #[serde(skip_serializing_if = "is_false")]
    cut: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<CallWire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<ResultWire<'a>>,
}

#[derive(Serialize)]
struct CallWire<'a> {
    id: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subtitle: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a str>,
}

#[derive(Serialize)]
struct ResultWire<'a> {
    r#for: &'a str,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<&'a str>,
}

impl<'a> EntryWire<'a> {
    fn new(entry: &'a Entry) -> Self {
        let Entry { id, parent_id, ts, role, body, parsed } = entry;
        let mut wire = Self {
            id,
            parent: parent_id.as_deref(),
            ts: ts.as_deref(),
            role: match role {
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::System => "system",
            },
            kind: "",
            unparsed: !parsed,
            cut: false,
            text: None,
            call: None,
            result: None,
        };
        let mut said = |kind, text: &'a Text| {
            (wire.kind, wire.cut, wire.text) = (kind, text.truncated, Some(text.text.as_str()));
        };
        match body {
            Body::Message(text) => said("message", text),
            Body::Thinking(text) => said("thinking", text),
            Body::Attachment(text) => said("attachment", text),
            Body::ToolCall(call) => {
                (wire.kind, wire.cut) = ("tool_call", call.command_truncated || call.diff_truncated);
                wire.call = Some(CallWire {
                    id: &call.id,
                    name: &call.name,
                    title: call.title.as_deref(),
                    subtitle: call.subtitle.as_deref(),
                    command: call.command.as_deref(),
                    file: call.file.as_deref(),
                    diff: call.diff.as_deref(),
                    input: call.input_summary.as_deref(),
                });
            }
            Body::ToolResult(result) => {
                (wire.kind, wire.cut) = ("tool_result", result.truncated);
                wire.result = Some(ResultWire {
                    r#for: &result.for_id,
                    ok: result.ok,
                    output: result.output_summary.as_deref(),
                    diff: result.diff.as_deref(),
                });
            }
        }
        wire
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}
