//! From a place in a record to its entry.

use alloc::format;
use alloc::string::{String, ToString as _};

use super::call;
use super::record::Record;
use super::walk::{Item, Part, Unknown, What};
use crate::agent::Caps;
use crate::agent::shown::{self, cut, glance, legible, named, note, output, place, seen, whole};
use crate::entry::ansi::Plain;
use crate::entry::diff::{self, Diff};
use crate::entry::{Body, Entry, Role, ToolResult, caps, unified};
use crate::source::json::Value;

/// The entry of one item of a line that lies at `offset`.
pub(super) fn entry(offset: u64, item: &Item<'_, '_>, caps: &Caps) -> Entry {
    match item {
        Item::TooLong(bytes) => shown::too_long(offset, *bytes),
        Item::Fragment(at, bytes) => shown::fragment(offset, *at, bytes),
        Item::Part(part) => self::part(offset, part, caps),
    }
}

fn part(offset: u64, part: &Part<'_, '_>, caps: &Caps) -> Entry {
    let record = part.record;
    let mut parsed = true;
    let (role, body) = match part.what {
        What::Said(text, Role::System) => (Role::System, Body::Message(legible(&whole(text), caps))),
        What::Said(text, role) => (role, Body::Message(cut(text, caps))),
        What::Thinking(text) => (Role::Assistant, Body::Thinking(cut(text, caps))),
        What::Call(block) => (Role::Assistant, Body::ToolCall(call::tool_call(block, caps))),
        What::Result(message) => (Role::User, Body::ToolResult(tool_result(message, caps))),
        What::Image(role) => (role, Body::Attachment(note("[image]".to_string()))),
        What::Failure(error) => (Role::System, Body::Message(legible(&seen(error), caps))),
        What::Typed(message) => (Role::User, Body::Message(caps::text(typed(message).chars(), caps.text_chars))),
        What::Printed(message) => (Role::System, Body::Message(legible(&printed(message), caps))),
        What::Summary(of, summary) => (Role::System, Body::Message(legible(&summarised(record, of, summary), caps))),
        What::Unknown(unknown) => {
            parsed = false;
            (unknown_role(record), Body::Message(caps::text(self::unknown(record, unknown).chars(), caps.text_chars)))
        }
    };
    let id = match named(record.id) {
        Some(id) => format!("{id}#{}", part.block),
        None => format!("@{}#{}", place(offset, part.at), part.block),
    };
    Entry { id, parent_id: named(record.parent), ts: named(record.timestamp), role, body, parsed }
}

fn tool_result(message: Value<'_>, caps: &Caps) -> ToolResult {
    let failed = message.get("isError").is_some_and(Value::is_true);
    let mut result = ToolResult {
        for_id: named(message.get("toolCallId")).unwrap_or_default(),
        ok: !failed,
        ..ToolResult::default()
    };
    let content = message.get("content").unwrap_or_default();
    let printed = output(caps, |out| {
        if let Some(text) = content.chars() {
            out.decode(text);
        }
        for (index, part) in content.elements().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            element(part, out);
        }
    });
    if let Some(printed) = printed {
        result.truncated = printed.truncated;
        result.output_summary = Some(printed.text);
    }
    if let Some(diff) = message.get("details").and_then(|details| applied(details, caps)) {
        result.truncated |= diff.truncated;
        result.diff = Some(diff.text);
    }
    result
}

fn element(part: Value<'_>, out: &mut Plain<'_>) {
    if let Some(text) = part.get("text").and_then(Value::chars).or_else(|| part.chars()) {
        out.decode(text);
    } else if let Some(kind) = named(part.get("type")) {
        out.push_str(&format!("[{kind}]"));
    }
}

/// What an edit changed: as a unified diff in newer versions, else with a number before every line.
fn applied(details: Value<'_>, caps: &Caps) -> Option<Diff> {
    let text = |key: &str| details.get(key).and_then(Value::filled);
    let patched = text("patch").and_then(|patch| diff::render(&unified::hunks(&patch), caps));
    patched.or_else(|| {
        let numbered = text("diff")?;
        let hunks = unified::numbered(&numbered);
        diff::render(if hunks.is_empty() { unified::hunks(&numbered) } else { hunks }.as_slice(), caps)
    })
}

/// `!` runs a line and tells the assistant, `!!` does not tell.
fn typed(message: Value<'_>) -> String {
    let mark = if message.get("excludeFromContext").is_some_and(Value::is_true) { "!!" } else { "!" };
    format!("{mark}{}", message.get("command").map(seen).unwrap_or_default())
}

fn printed(message: Value<'_>) -> String {
    let mut text = message.get("output").and_then(Value::filled).unwrap_or_default();
    let mut add = |note: &str| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(note);
    };
    if message.get("cancelled").is_some_and(Value::is_true) {
        add("(cancelled)");
    } else if let Some(code) = message.get("exitCode").filter(|code| !code.is_null() && code.number() != Some(0)) {
        add(&format!("(exit code {})", seen(code)));
    }
    if message.get("truncated").is_some_and(Value::is_true) {
        let path = named(message.get("fullOutputPath"));
        add(&path.map_or_else(|| "(cut by pi)".to_string(), |path| format!("(cut by pi; all of it is in {path})")));
    }
    text
}

fn summarised(record: &Record<'_>, of: &str, summary: Value<'_>) -> String {
    let message = record.message.as_ref().and_then(|message| message.raw.get("tokensBefore"));
    let before = record.raw.get("tokensBefore").or(message).and_then(Value::number);
    let heading = before.map_or_else(|| of.to_string(), |before| format!("{of} ({before} tokens before)"));
    match summary.filled() {
        Some(summary) => format!("{heading}\n\n{summary}"),
        None => heading,
    }
}

fn unknown_role(record: &Record<'_>) -> Role {
    match record.message.as_ref().and_then(|message| message.role) {
        Some(role) if role.is("user") => Role::User,
        Some(role) if role.is("assistant") => Role::Assistant,
        _ => Role::System,
    }
}

fn unknown(record: &Record<'_>, unknown: Unknown<'_>) -> String {
    let name = |kind: Option<Value<'_>>| kind.map_or_else(|| "none".to_string(), |kind| glance(kind.raw()));
    let role = record.message.as_ref().and_then(|message| message.role);
    match unknown {
        Unknown::Record(said) => format!("unknown record type {}: {}", name(record.kind), first_text(said)),
        Unknown::NoMessage => "message record without a message".to_string(),
        Unknown::Role(said) => format!("message of unknown role {}: {}", name(role), first_text(said)),
        Unknown::NoContent(None) => format!("message of role {} without content", name(role)),
        Unknown::NoContent(Some(found)) => {
            let found = glance(found.raw());
            format!("message of role {} whose content is neither text nor a list: {found}", name(role))
        }
        Unknown::Block(raw, None) => format!("block without a type: {}", glance(raw.raw())),
        Unknown::Block(raw, Some(kind)) => {
            format!("unknown block type {}: {}", glance(kind.raw()), first_text(raw))
        }
    }
}

/// The first text in something whose shape is not known, or its beginning.
fn first_text(said: Value<'_>) -> String {
    let text = |value: Value<'_>| value.filled().or_else(|| named(value.get("text")));
    text(said).or_else(|| said.elements().find_map(text)).unwrap_or_else(|| glance(said.raw()))
}
