//! Messages with their content, as the service and the table `session_message` hold them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::block::{Author, Block, Message, Phase, Tool, What, time};
use super::v1::{attached, failure};
use crate::agent::drift::{Drift, Oddity, Place as Seen};
use crate::agent::shown::named;
use crate::entry::Role;
use crate::source::json::Value;
use crate::source::spool::Place;

/// The message in this document.
pub(super) fn message<'a>(place: Place, kind: &[u8], raw: Value<'a>) -> Message<'a> {
    let id = place.id.clone();
    let text = raw.get("text").unwrap_or_default();
    let at_once = |what| Block { id: id.clone(), ended: true, began: None, finished: None, what };
    let mut author = Author::Human;
    let mut over = true;
    let mut blocks = Vec::new();
    match kind {
        _ if !text.is_empty() && text.chars().is_none() => blocks.push(at_once(What::Unknown(raw))),
        b"user" => {
            let said = (!text.is_empty()).then(|| at_once(What::Said(text, Role::User)));
            let files = raw.get("files").into_iter().flat_map(Value::elements).enumerate();
            let files =
                files.map(|(n, file)| Block { id: format!("{id}#file{n}"), ..at_once(What::Attached(attached(file))) });
            blocks.extend(said.into_iter().chain(files));
        }
        b"synthetic" | b"system" if !text.is_empty() => blocks.push(at_once(What::Said(text, Role::System))),
        b"shell" => {
            // What the human ran, and what it printed when it had ended.
            over = time(raw, "completed").is_some();
            author = Author::Shell;
            let command = named(raw.get("command")).unwrap_or_default();
            blocks.push(at_once(What::Note(format!("!{command}"), Role::User)));
            if let Some(output) = raw.get("output").filter(|output| !output.is_empty()) {
                let printed = at_once(What::Said(output, Role::System));
                blocks.push(Block { id: format!("{id}#output"), ended: over, ..printed });
            }
        }
        b"compaction" => {
            let summary = named(raw.get("summary"));
            let note = summary.map_or_else(
                || "The conversation is compacted here.".into(),
                |summary| format!("Conversation compacted\n\n{summary}"),
            );
            blocks.push(at_once(What::Note(note, Role::System)));
        }
        b"assistant" => {
            author = Author::Assistant;
            let error = raw.get("error").filter(|error| !error.is_empty());
            over = time(raw, "completed").is_some() || error.is_some();
            let content: Vec<Value<'a>> = raw.get("content").into_iter().flat_map(Value::elements).collect();
            let last = content.len().saturating_sub(1);
            blocks.extend(content.iter().enumerate().filter_map(|(n, part)| block(&id, n, n < last, *part)));
            if let Some(error) = error {
                blocks.push(Block { id: format!("{id}#error"), ..at_once(What::Note(failure(error), Role::System)) });
            }
        }
        b"agent-switched" | b"model-switched" => {}
        _ if !text.is_empty() => blocks.push(at_once(What::Unknown(raw))),
        _ => {}
    }
    Message { place, author, over, parent: None, blocks }
}

/// Where a message stands.
pub(super) fn place(raw: Value<'_>) -> Option<Place> {
    Some(Place { time: time(raw, "created")?, id: named(raw.get("id"))? })
}

/// A part of an assistant's content. It has ended when there is one behind it, or the message is over.
fn block<'a>(id: &str, n: usize, followed: bool, raw: Value<'a>) -> Option<Block<'a>> {
    let text = raw.get("text").unwrap_or_default();
    let mut block =
        Block { id: format!("{id}#{n}"), ended: followed, began: None, finished: None, what: What::Thinking(text) };
    match raw.get("type").and_then(Value::literal).unwrap_or_default() {
        b"text" | b"reasoning" if text.is_empty() && followed => return None,
        b"text" | b"reasoning" if !text.is_empty() && text.chars().is_none() => block.what = What::Unknown(raw),
        b"text" => block.what = What::Said(text, Role::Assistant),
        b"reasoning" => {}
        b"tool" => {
            let state = raw.get("state").unwrap_or_default();
            let phase = Phase::of(state.get("status"));
            let name = named(raw.get("name")).or_else(|| named(raw.get("tool")));
            let call_id = named(raw.get("callID")).or_else(|| named(raw.get("id")));
            (block.began, block.finished) = (time(raw, "ran").or_else(|| time(raw, "created")), time(raw, "completed"));
            block.ended = phase != Phase::Pending;
            block.what = What::Tool(Tool {
                call_id: call_id.unwrap_or_else(|| block.id.clone()),
                name: name.unwrap_or_else(|| "unnamed".into()),
                phase,
                state,
            });
        }
        b"step-start" | b"step-finish" | b"patch" | b"snapshot" => return None,
        _ if text.is_empty() => return None,
        _ => block.what = What::Unknown(raw),
    }
    Some(block)
}

const KINDS: &[&str] =
    &["agent-switched", "assistant", "compaction", "model-switched", "shell", "synthetic", "system", "user"];

/// Notes what is not known of a message.
pub(super) fn note(kind: &[u8], raw: Value<'_>, file: &str, drift: &mut Drift) {
    let at = Seen { file, offset: 0 };
    let name = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
    if !KINDS.iter().any(|known| known.as_bytes() == kind) {
        drift.note(Oddity::Record, &name(kind), "", at);
    }
    for part in raw.get("content").into_iter().flat_map(Value::elements) {
        let kind = part.get("type").and_then(Value::literal).unwrap_or_default();
        if !matches!(kind, b"text" | b"reasoning" | b"tool" | b"step-start" | b"step-finish" | b"patch" | b"snapshot") {
            drift.note(Oddity::Block, &name(kind), "", at);
        }
    }
}
