//! From a place in a record to its entry.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::kinds::{self, RecordKind};
use super::record::Record;
use super::said;
use super::walk::{Item, Part, Unknown, What};
use super::{answer, call};
use crate::agent::Caps;
use crate::agent::shown::{self, cut, glance, legible, named, note, place, seen, whole};
use crate::entry::{Body, Entry, Role, Text, caps};
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
    let notice = |text: String| (Role::System, Body::Message(legible(&text, caps)));
    let mut parsed = true;
    let (role, body) = match &part.what {
        What::Typed(texts) => (Role::User, Body::Message(typed(texts, caps))),
        What::Told(text) => told(&whole(*text), caps),
        What::Image => (Role::User, Body::Attachment(note("[image]".to_string()))),
        What::Said(text) => (Role::Assistant, Body::Message(spoken(*text, caps))),
        What::Thinking(text) => (Role::Assistant, Body::Thinking(cut(*text, caps))),
        What::Call(item) => (Role::Assistant, Body::ToolCall(call::tool_call(*item, caps))),
        What::Answer(item) => (Role::User, Body::ToolResult(answer::tool_result(*item, caps))),
        What::Peer(item) => notice(peer(*item)),
        What::Forked(parent) => {
            notice(format!("Forked from session {}. What was said there is not repeated here.", seen(*parent)))
        }
        What::Aborted => {
            let reason = named(record.payload.raw.get("reason")).unwrap_or_else(|| "interrupted".to_string());
            notice(format!("Turn aborted: {reason}"))
        }
        What::Compacted => notice(compacted(record)),
        What::Notice(event) => notice(happened(*event)),
        What::Failed(error) => notice(format!("Error: {}", seen(*error))),
        What::Unknown(unknown) => {
            parsed = false;
            (unknown_role(record), Body::Message(caps::text(self::unknown(record, *unknown).chars(), caps.text_chars)))
        }
    };
    let item = record.payload.item.and_then(|item| item.get("id"));
    let is_meta = kinds::record(record.kind) == RecordKind::Meta;
    let own = named(item).or_else(|| named(record.payload.id)).filter(|_| !is_meta);
    let id = match own {
        Some(id) => format!("{id}#{}", part.block),
        None => format!("@{}#{}", place(offset, part.at), part.block),
    };
    let ts = named(record.timestamp);
    Entry { id, parent_id: None, ts, role, body, parsed }
}

/// What the assistant said, without the marks that are not for people.
fn spoken(text: Value<'_>, caps: &Caps) -> Text {
    match text.chars() {
        Some(chars) if said::is_marked(text) => {
            caps::text(said::Shown::new(chars).map(|(char, _)| char), caps.text_chars)
        }
        _ => cut(text, caps),
    }
}

fn typed(texts: &[Value<'_>], caps: &Caps) -> Text {
    if let [text] = texts
        && !text.chars().is_some_and(|mut chars| {
            chars.skip_blanks();
            chars.take_prefix("# Context from my IDE setup:")
        })
    {
        return cut(*text, caps);
    }
    let all: Vec<String> = texts.iter().map(|text| whole(*text)).collect();
    caps::text(said::typed(&all.concat()).chars(), caps.text_chars)
}

/// What Codex tells in a user's message: what the human ran, or what it was notified of.
fn told(text: &str, caps: &Caps) -> (Role, Body) {
    if let Some(ran) = said::inside(text, "user_shell_command") {
        let command = said::inside(ran, "command").unwrap_or(ran);
        let shown = match said::inside(ran, "result").filter(|result| !result.is_empty()) {
            Some(result) => format!("!{command}\n\n{result}"),
            None => format!("!{command}"),
        };
        return (Role::User, Body::Message(legible(&shown, caps)));
    }
    let inner = ["subagent_notification", "user_action"].iter().find_map(|tag| said::inside(text, tag));
    (Role::System, Body::Message(legible(inner.filter(|inner| !inner.is_empty()).unwrap_or(text), caps)))
}

fn peer(item: Value<'_>) -> String {
    let texts: Vec<String> = match item.get("content") {
        Some(content) if content.is_list() => content.elements().filter_map(|part| named(part.get("text"))).collect(),
        content => content.and_then(|content| named(Some(content))).into_iter().collect(),
    };
    let said = if texts.is_empty() { "(a message that cannot be read)".to_string() } else { texts.join("\n") };
    match named(item.get("author")) {
        Some(author) => format!("[{author}] {said}"),
        None => said,
    }
}

fn compacted(record: &Record<'_>) -> String {
    let summary = record.payload.message.filter(|_| kinds::record(record.kind) == RecordKind::Compacted);
    match named(summary) {
        Some(summary) => format!("Conversation compacted\n\n{summary}"),
        None => "Conversation compacted".to_string(),
    }
}

fn happened(event: Value<'_>) -> String {
    let name = |key: &str| named(event.get(key));
    let kind = name("type").unwrap_or_default();
    let review = event.get("review_output").and_then(|review| named(review.get("overall_explanation")));
    let said = name("message").or_else(|| name("user_facing_hint")).or(review);
    let heading = match kind.as_str() {
        "entered_review_mode" => "Review begins",
        "exited_review_mode" => "Review ends",
        "undo_completed" => "Undo",
        "thread_rolled_back" => "Went back",
        "stream_error" => "Error",
        _ => "Notice",
    };
    let turns = event.get("num_turns").and_then(Value::number).map(|turns| format!("{turns} turns"));
    match said.or(turns) {
        Some(said) => format!("{heading}: {said}"),
        None => heading.to_string(),
    }
}

fn unknown_role(record: &Record<'_>) -> Role {
    match record.payload.role {
        Some(role) if role.is("user") => Role::User,
        Some(role) if role.is("assistant") => Role::Assistant,
        _ => Role::System,
    }
}

fn unknown(record: &Record<'_>, unknown: Unknown<'_>) -> String {
    let name = |kind: Option<Value<'_>>| kind.map_or_else(|| "none".to_string(), |kind| glance(kind.raw()));
    let what = match kinds::record(record.kind) {
        RecordKind::Item => format!("item type {}", name(record.payload.kind)),
        RecordKind::Event => format!("event type {}", name(record.payload.kind)),
        _ => format!("record type {}", name(record.kind)),
    };
    match unknown {
        Unknown::Type(said) => {
            let text = |value: Value<'_>| value.filled().or_else(|| named(value.get("text")));
            let shown = text(said).or_else(|| said.elements().find_map(text));
            format!("unknown {what}: {}", shown.unwrap_or_else(|| glance(said.raw())))
        }
        Unknown::Shape(None) => format!("{what} without what belongs to it"),
        Unknown::Shape(Some(found)) => format!("{what} with something else than a text: {}", glance(found.raw())),
        Unknown::Block(block) => format!("unknown part of {what}: {}", glance(block.raw())),
    }
}
