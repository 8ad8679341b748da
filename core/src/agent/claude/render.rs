//! From a place in a record to its entry.

use alloc::format;
use alloc::string::{String, ToString as _};

use super::record::{Block, Record};
use super::said::{self, Speech};
use super::walk::{Item, Part, Unknown, What};
use super::{answer, call, notice};
use crate::agent::Caps;
use crate::agent::shown::{self, cut, glance, legible, named, note, place, seen, whole};
use crate::entry::{Body, Entry, Role, Text, caps};
use crate::limits::UNREADABLE_CHARS;
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
        What::Said(text, speech, role) => said(record, text, speech, role, caps),
        What::Thinking(text) => (Role::Assistant, Body::Thinking(cut(text, caps))),
        What::Call(block) => (Role::Assistant, Body::ToolCall(call::tool_call(block.raw, caps))),
        What::Result(block, only) => {
            let rich = record.result.filter(|_| only);
            (Role::User, Body::ToolResult(answer::tool_result(block.raw, rich, caps)))
        }
        What::Media(block, role) => (role, Body::Attachment(note(media(&block)))),
        What::File(attachment) => (Role::User, Body::Attachment(note(notice::file(attachment)))),
        What::Fallback(block) => (Role::System, notice_body(&notice::fallback(block), caps)),
        What::ApiError => (Role::System, notice_body(&notice::api_error(record.raw), caps)),
        What::Compaction => (Role::System, notice_body(&notice::compaction(record.raw), caps)),
        What::Hook(attachment) => (Role::System, notice_body(&notice::hook(attachment), caps)),
        What::Task(attachment) => (Role::System, notice_body(&notice::task(attachment), caps)),
        What::Mailbox(attachment) => (Role::System, notice_body(&notice::mailbox(attachment), caps)),
        What::Unknown(unknown) => {
            parsed = false;
            (unknown_role(record), Body::Message(caps::text(self::unknown(record, unknown).chars(), caps.text_chars)))
        }
    };
    Entry { id: id(offset, part), parent_id: named(record.parent), ts: named(record.timestamp), role, body, parsed }
}

fn id(offset: u64, part: &Part<'_, '_>) -> String {
    match named(part.record.uuid) {
        Some(uuid) => format!("{uuid}#{}", part.block),
        None => format!("@{}#{}", place(offset, part.at), part.block),
    }
}

fn said(record: &Record<'_>, text: Value<'_>, speech: Speech, role: Role, caps: &Caps) -> (Role, Body) {
    let injected = record.meta
        || record.compact_summary
        || record
            .origin
            .and_then(|origin| origin.get("kind"))
            .is_some_and(|kind| !kind.is_null() && !kind.is("human") && !kind.is("cli"));
    let (role, text) = match (role, speech) {
        (Role::Assistant, _) if is_synthetic(record) => (Role::System, cut(text, caps)),
        (Role::Assistant, _) => (Role::Assistant, cut(text, caps)),
        (Role::System, Speech::Plain) => (Role::System, spoken(speech, &whole(text), caps)),
        (_, Speech::Plain) => (if injected { Role::System } else { role }, cut(text, caps)),
        (_, Speech::Command | Speech::Shell) => {
            let shown = said::readable(speech, &whole(text));
            (if injected { Role::System } else { Role::User }, caps::text(shown.chars(), caps.text_chars))
        }
        (_, Speech::Reminder | Speech::Editor) => {
            let all = whole(text);
            match said::behind_mark(&all).filter(|_| role == Role::User && !injected) {
                Some(typed) => (Role::User, caps::text(typed.chars(), caps.text_chars)),
                None => (Role::System, spoken(speech, &all, caps)),
            }
        }
        _ => (Role::System, spoken(speech, &whole(text), caps)),
    };
    (role, Body::Message(text))
}

/// Words that the harness wrote: made readable.
fn spoken(speech: Speech, text: &str, caps: &Caps) -> Text {
    legible(&said::readable(speech, text), caps)
}

fn is_synthetic(record: &Record<'_>) -> bool {
    let model = record.message.as_ref().and_then(|message| message.model);
    record.api_error || model.is_some_and(|model| model.is("<synthetic>"))
}

fn notice_body(text: &str, caps: &Caps) -> Body {
    Body::Message(legible(text, caps))
}

fn media(block: &Block<'_>) -> String {
    let kind = named(block.kind).unwrap_or_default();
    let name = ["title", "tool_name", "filename"].iter().find_map(|key| named(block.raw.get(key)));
    match name.and_then(|name| caps::one_line(name.chars(), UNREADABLE_CHARS)) {
        Some(name) => format!("[{}: {name}]", kind.replace('_', " ")),
        None => format!("[{}]", kind.replace('_', " ")),
    }
}

fn unknown_role(record: &Record<'_>) -> Role {
    let role = record.message.as_ref().and_then(|message| message.role).or(record.kind);
    match role {
        Some(role) if role.is("user") => Role::User,
        Some(role) if role.is("assistant") => Role::Assistant,
        _ => Role::System,
    }
}

fn unknown(record: &Record<'_>, unknown: Unknown<'_>) -> String {
    let type_of = |kind: Option<Value<'_>>| kind.map_or_else(|| "none".to_string(), |kind| glance(kind.raw()));
    match unknown {
        Unknown::Record => {
            let said = record.message.as_ref().and_then(first_text).or_else(|| record.content.map(seen));
            let note = format!("unknown record type {}", type_of(record.kind));
            said.map_or_else(|| note.clone(), |said| format!("{note}: {said}"))
        }
        Unknown::System => {
            let said = record.content.map(seen).unwrap_or_default();
            format!("unknown system record {}: {said}", type_of(record.subtype))
        }
        Unknown::NoMessage => format!("{} record without a message", type_of(record.kind)),
        Unknown::NoContent(None) => format!("{} record without content", type_of(record.kind)),
        Unknown::NoContent(Some(found)) => {
            format!("{} record whose content is neither text nor a list: {}", type_of(record.kind), glance(found.raw()))
        }
        Unknown::Block(raw, None) => format!("block without a type: {}", glance(raw.raw())),
        Unknown::Block(raw, Some(kind)) => {
            let note = format!("unknown block type {}", glance(kind.raw()));
            let said = ["text", "content"].iter().find_map(|key| named(raw.get(key)));
            format!("{note}: {}", said.unwrap_or_else(|| glance(raw.raw())))
        }
    }
}

fn first_text(message: &super::record::Message<'_>) -> Option<String> {
    use super::record::Content;
    match &message.content {
        Some(Content::Text(text)) => named(Some(*text)),
        Some(Content::List { blocks, .. }) => blocks.iter().find_map(|block| named(block.text)),
        Some(Content::Other(other)) => Some(glance(other.raw())),
        None => message.other.map(seen),
    }
}
