//! From a block to its entries, whole: what a reader of the spool shows of them is cut there.

use alloc::format;
use alloc::string::String;

use super::block::{Block, Message, Phase, Tool, What};
use super::call;
use crate::agent::Caps;
use crate::agent::shown::{cut, glance, legible, named, note, output, seen, whole};
use crate::entry::diff::{self, Diff};
use crate::entry::timestamp::rfc3339;
use crate::entry::{Body, Entry, Role, Text, ToolResult, unified};
use crate::source::json::Value;
use crate::time::UnixMillis;

const CAPS: &Caps = &Caps::NONE;

/// The entry of a block; of a tool that of its call.
pub(super) fn entry(message: &Message<'_>, block: &Block<'_>) -> Entry {
    let mut parsed = true;
    let mut id = block.id.clone();
    let (role, body) = match &block.what {
        What::Said(text, Role::System) => (Role::System, Body::Message(legible(&whole(*text), CAPS))),
        What::Said(text, role) => (*role, Body::Message(cut(*text, CAPS))),
        What::Thinking(text) => (Role::Assistant, Body::Thinking(cut(*text, CAPS))),
        What::Tool(tool) => {
            id.push_str("#call");
            (Role::Assistant, Body::ToolCall(call::tool_call(tool, CAPS)))
        }
        What::Attached(name) => {
            let name = name.as_deref().map_or_else(|| "[image]".into(), |name| format!("[{name}]"));
            (Role::User, Body::Attachment(note(name)))
        }
        What::Note(text, role) => (*role, Body::Message(legible(text, CAPS))),
        What::Unknown(raw) => {
            parsed = false;
            let kind = raw.get("type").map_or_else(|| "none".into(), |kind| glance(kind.raw()));
            let said = named(raw.get("text")).unwrap_or_else(|| glance(raw.raw()));
            (Role::System, Body::Message(note(format!("unknown block type {kind}: {said}"))))
        }
        What::Torn => (Role::System, Body::Message(Text::default())),
        What::Damaged(bytes, all) => {
            parsed = false;
            (Role::System, Body::Message(note(format!("unreadable part ({all} bytes): {}", glance(bytes)))))
        }
    };
    dressed(message, block.began, Entry { id, parent_id: None, ts: None, role, body, parsed })
}

/// The entry of a tool's answer.
pub(super) fn answer(message: &Message<'_>, block: &Block<'_>, tool: &Tool<'_>) -> Entry {
    let body = Body::ToolResult(tool_result(tool));
    let id = format!("{}#result", block.id);
    let at = block.finished.or(block.began);
    dressed(message, at, Entry { id, parent_id: None, ts: None, role: Role::User, body, parsed: true })
}

fn dressed(message: &Message<'_>, at: Option<i64>, entry: Entry) -> Entry {
    // What is one with its message follows what the message follows.
    let parent_id = if entry.id == message.place.id { message.parent.clone() } else { Some(message.place.id.clone()) };
    let ts = Some(rfc3339(UnixMillis(at.unwrap_or(message.place.time))));
    Entry { parent_id, ts, ..entry }
}

fn tool_result(tool: &Tool<'_>) -> ToolResult {
    let (state, failed) = (tool.state, tool.phase == Phase::Failed);
    let metadata = state.get("metadata").or_else(|| state.get("structured")).unwrap_or_default();
    let exit = metadata.get("exit").filter(|exit| !exit.is_null());
    let mut result = ToolResult {
        for_id: tool.call_id.clone(),
        ok: !failed && exit.is_none_or(|exit| exit.number() == Some(0)),
        ..ToolResult::default()
    };
    let said = if failed { state.get("error").map(failure_text) } else { answer_text(state) };
    if let Some(printed) = said.and_then(|text| output(CAPS, |out| out.push_str(&text))) {
        result.output_summary = Some(printed.text);
    }
    result.diff = changed(metadata).map(|diff| diff.text);
    result
}

fn failure_text(error: Value<'_>) -> String {
    if error.is_object() { super::v1::failure(error) } else { seen(error) }
}

/// What a tool answered: its output, or the texts of its content.
fn answer_text(state: Value<'_>) -> Option<String> {
    if let Some(output) = state.get("output").and_then(Value::filled) {
        return Some(output);
    }
    let mut text = String::new();
    for part in state.get("content").into_iter().flat_map(Value::elements) {
        let said = named(part.get("text")).or_else(|| named(part.get("type")).map(|kind| format!("[{kind}]")));
        if let Some(said) = said {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&said);
        }
    }
    let result = || state.get("result").filter(|result| !result.is_empty()).map(seen);
    if text.is_empty() { result() } else { Some(text) }
}

/// What an edit changed.
fn changed(metadata: Value<'_>) -> Option<Diff> {
    let patch = metadata.get("filediff").and_then(|file| file.get("patch"));
    let diffs = [metadata.get("diff"), patch];
    diffs.into_iter().flatten().filter_map(Value::filled).find_map(|diff| diff::render(&unified::hunks(&diff), CAPS))
}
