//! What a line tells of children: the calls that start them, the answers to these, and the notifications of their ends.
//!
//! Notifications are read from the records that are notifications, by type and origin. The same tags in prose, in an
//! agent's result or in a tool's output say nothing.

use alloc::string::String;

use memchr::memmem;

use super::notification::notifications;
use crate::agent::claude::record::{Block, Content, Record};
use crate::agent::claude::said::Speech;
use crate::agent::claude::walk::{self, Item, Part, What};
use crate::agent::claude::{Selection, kinds};
use crate::agent::{Line, skim};
use crate::entry::{Role, caps};
use crate::limits::CHILD_LABEL_CHARS;
use crate::roster::{Answer, Call, InsideLine, Told, digest};
use crate::source::json::Value;
use crate::time::UnixMillis;

/// Whether what the walk found may tell something. Asked for every item of every line that is counted: it looks no further
/// than it must.
pub(in crate::agent::claude) fn may_tell(item: &Item<'_, '_>, told: &mut Told) -> bool {
    let Item::Part(Part { what, record, .. }) = item else { return false };
    match what {
        What::Said(_, Speech::Notification, _) => true,
        What::Call(block) => block.name.is_some_and(starts_agents),
        What::Result(block, _) => {
            let awaited = block.answers.and_then(Value::literal).is_some_and(|id| told.awaits(id));
            // The answer that starts an agent begins like this; its call may stand behind it.
            awaited || record.result.is_some_and(|result| begins_like_an_agents(result.raw()))
        }
        _ => false,
    }
}

/// Whether a line of bookkeeping may hold a notification that waits for the agent to be ready for it.
pub(in crate::agent::claude) fn may_be_queued(line: &[u8]) -> bool {
    line.starts_with(br#"{"type":"queue-operation""#) && memmem::find(line, b"<task-notification>").is_some()
}

/// Whether a line that makes no entry may be one of a child: that is told near its beginning.
pub(in crate::agent::claude) fn may_be_inside(line: &[u8]) -> bool {
    let head = line.get(..INSIDE_HEAD_BYTES).unwrap_or(line);
    memmem::find(head, b"\"isSidechain\"").is_some()
}

const INSIDE_HEAD_BYTES: usize = 128;

/// Notes all that the line tells.
pub(in crate::agent::claude) fn note(line: &Line<'_>, selection: Selection, told: &mut Told) {
    skim::records(line, &mut |at, found: Result<&Record<'_>, _>| {
        let Ok(record) = found else { return };
        if record.sidechain && selection == Selection::Main {
            return inside(line, record, told);
        }
        if record.kind.is_some_and(|kind| kind.is("queue-operation")) {
            if record.raw.get("operation").is_some_and(|operation| operation.is("enqueue")) {
                record.content.into_iter().for_each(|content| notified(content, told));
            }
            return;
        }
        walk::parts(at, record, selection, &mut |part| match part.what {
            What::Said(text, Speech::Notification, role) if is_the_harness(record, role) => notified(text, told),
            What::Call(block) if block.name.is_some_and(starts_agents) => called(block, told),
            What::Result(block, only) => answered(block, record.result.filter(|_| only), told),
            _ => {}
        });
    });
}

/// A line of a child stands in the file of its session.
fn inside(line: &Line<'_>, record: &Record<'_>, told: &mut Told) {
    let text = |value: Option<Value<'_>>| value.and_then(Value::filled);
    let (id, follows, agent_id) = (text(record.uuid), text(record.parent), text(record.raw.get("agentId")));
    let says = match record.message.as_ref().and_then(|message| message.content.as_ref()) {
        Some(Content::Text(text)) => prompt(*text),
        Some(Content::List { blocks, .. }) => blocks.iter().find_map(|block| block.text).map_or(0, prompt),
        _ => 0,
    };
    let behind = line.offset.saturating_add(line.bytes.len() as u64).saturating_add(1);
    told.inside(InsideLine {
        span: (line.offset, behind),
        id: id.as_deref(),
        follows: follows.as_deref(),
        agent_id: agent_id.as_deref(),
        prompt: says,
        ts: text(record.timestamp).and_then(|text| UnixMillis::parse(&text)).map(|time| time.0),
    });
}

/// Whether a text that looks like a notification is one: nobody typed it.
fn is_the_harness(record: &Record<'_>, role: Role) -> bool {
    match kinds::record(record.kind) {
        kinds::RecordKind::Attachment => role == Role::System,
        kinds::RecordKind::User => {
            let origin = record.origin.and_then(|origin| origin.get("kind"));
            origin.is_none_or(|kind| kind.is("task-notification"))
        }
        kinds::RecordKind::System => true,
        _ => false,
    }
}

fn notified(text: Value<'_>, told: &mut Told) {
    let text = text.text().unwrap_or_default();
    for notification in notifications(&text) {
        for agent in &notification.agents {
            told.ended(agent, notification.ended);
        }
    }
}

/// The tool is named so in some versions and so in others.
fn starts_agents(name: Value<'_>) -> bool {
    name.is("Task") || name.is("Agent")
}

fn called(block: Block<'_>, told: &mut Told) {
    let Some(id) = block.raw.get("id").and_then(Value::filled) else { return };
    let input = block.raw.get("input");
    let get = |key: &str| input.and_then(|input| input.get(key));
    let waits = get("run_in_background").and_then(|background| match background.raw() {
        b"true" => Some(false),
        b"false" => Some(true),
        _ => None,
    });
    told.called(
        &id,
        Call {
            waits,
            agent_type: get("subagent_type").map(label).unwrap_or_default(),
            description: get("description").map(label).unwrap_or_default(),
            prompt: get("prompt").map(prompt).unwrap_or_default(),
            answer: None,
        },
    );
}

/// `result` is what Claude Code adds beside the message, if it is about this answer.
fn answered(block: Block<'_>, result: Option<Value<'_>>, told: &mut Told) {
    let Some(id) = block.answers.and_then(Value::filled) else { return };
    let get = |key: &str| result.and_then(|result| result.get(key));
    let status = get("status").and_then(Value::literal).unwrap_or_default();
    let goes_on = status.ends_with(b"_launched") || status.ends_with(b"_spawned");
    let answer = if goes_on || get("isAsync").is_some_and(Value::is_true) {
        Answer::Launched
    } else if status == b"completed" {
        Answer::Finished
    } else {
        Answer::Plain
    };
    let agent = get("agentId").and_then(Value::filled);
    if told.call(&id).is_some() || agent.is_some() {
        told.answered(&id, answer, agent.as_deref());
    }
}

fn begins_like_an_agents(result: &[u8]) -> bool {
    let inside = result.strip_prefix(b"{").unwrap_or_default().trim_ascii_start();
    [br#""isAsync""#.as_slice(), br#""status""#, br#""agentId""#].iter().any(|key| inside.starts_with(key))
}

/// A text as a label shows it: one line, cut where it is too long.
pub(super) fn label(text: Value<'_>) -> String {
    text.chars().and_then(|chars| caps::one_line(chars, CHILD_LABEL_CHARS)).unwrap_or_default()
}

/// The digest of what an agent is told to do; 0 for nothing.
pub(super) fn prompt(text: Value<'_>) -> u64 {
    text.filled().map_or(0, |text| digest(text.trim().as_bytes()))
}
