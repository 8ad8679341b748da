//! Messages and their parts, as the JSON tree and the tables `message` and `part` hold them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::block::{Author, Block, Message, Phase, Tool, What, time};
use crate::agent::drift::{Drift, Oddity, Place as Seen};
use crate::agent::shown::named;
use crate::entry::Role;
use crate::source::json::{self, Value};
use crate::source::spool::Place;

/// One part, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// What it is called in the store.
    pub(super) id: String,
    pub(super) content: Content,
}

/// What a part was found to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// Its JSON, whole.
    Whole(Vec<u8>),
    /// No JSON, or too much of it: its beginning, and how long it is.
    Damaged(Vec<u8>, u64),
    /// No JSON yet: it is being written.
    Torn,
}

impl Content {
    /// What these bytes are. `recent`: they were written a moment ago.
    pub(super) fn of(bytes: Vec<u8>, recent: bool) -> Self {
        let is_whole =
            json::object_end(&bytes, 0).is_ok_and(|end| bytes.get(end..).unwrap_or_default().trim_ascii().is_empty());
        match (is_whole, recent) {
            (true, _) => Self::Whole(bytes),
            (false, true) => Self::Torn,
            (false, false) => Self::damaged(&bytes, bytes.len() as u64),
        }
    }

    /// What is of no use: `head` is its beginning.
    pub(super) fn damaged(head: &[u8], all: u64) -> Self {
        Self::Damaged(head.get(..GLANCE_BYTES).unwrap_or(head).to_vec(), all)
    }

    fn json(&self) -> Option<Value<'_>> {
        match self {
            Self::Whole(bytes) => Some(Value(bytes.trim_ascii())),
            _ => None,
        }
    }
}

/// Bytes that are kept of what is of no use.
const GLANCE_BYTES: usize = 1024;

/// The message of this information and these parts. `id` and `time` are the store's own, where it has them beside.
pub(super) fn message<'a>(place: Place, info: Value<'a>, parts: &'a [Part]) -> Message<'a> {
    let author = author(info);
    let error = info.get("error").filter(|error| !error.is_empty());
    let over = time(info, "completed").is_some() || error.is_some();
    let summary = author == Author::Assistant && info.get("summary").is_some_and(Value::is_true);
    let mut blocks: Vec<Block<'a>> = parts.iter().filter_map(|part| block(author, summary, part)).collect();
    if let Some(error) = error {
        blocks.push(Block {
            id: format!("{}#error", place.id),
            ended: over,
            began: time(info, "completed"),
            finished: None,
            what: What::Note(failure(error), Role::System),
        });
    }
    Message { parent: named(info.get("parentID")), place, author, over, blocks }
}

/// Whose message it is.
pub(super) fn author(info: Value<'_>) -> Author {
    if info.get("role").is_some_and(|role| role.is("assistant")) { Author::Assistant } else { Author::Human }
}

/// Where a message stands: its own word about its time, and its id.
pub(super) fn place(info: Value<'_>, id: &str) -> Place {
    Place { time: time(info, "created").unwrap_or_default(), id: named(info.get("id")).unwrap_or_else(|| id.into()) }
}

fn block<'a>(author: Author, summary: bool, part: &'a Part) -> Option<Block<'a>> {
    let block = |what| Block { id: part.id.clone(), ended: true, began: None, finished: None, what };
    let raw = match &part.content {
        Content::Whole(bytes) => Value(bytes.trim_ascii()),
        Content::Damaged(head, all) => return Some(block(What::Damaged(head, *all))),
        Content::Torn => return Some(block(What::Torn)),
    };
    let flag = |key: &str| raw.get(key).is_some_and(Value::is_true);
    let text = raw.get("text").unwrap_or_default();
    let by_human = author == Author::Human;
    let what = match raw.get("type").and_then(Value::literal).unwrap_or_default() {
        b"text" if text.is_empty() => return unfinished(author, raw, part),
        b"text" | b"reasoning" if text.chars().is_none() => What::Unknown(raw),
        b"text" if by_human && (flag("synthetic") || flag("ignored")) => What::Said(text, Role::System),
        b"text" if by_human => What::Said(text, Role::User),
        b"text" if summary => What::Said(text, Role::System),
        b"text" => What::Said(text, Role::Assistant),
        b"reasoning" if text.is_empty() => return unfinished(author, raw, part),
        b"reasoning" => What::Thinking(text),
        b"tool" => return Some(tool(raw, part)),
        b"file" => What::Attached(attached(raw)),
        b"subtask" => What::Note(subtask(raw), Role::User),
        b"retry" => What::Note(retry(raw), Role::System),
        b"compaction" => What::Note("The conversation is compacted here.".into(), Role::System),
        b"step-start" | b"step-finish" | b"snapshot" | b"patch" | b"agent" => return None,
        _ if text.is_empty() => return None,
        _ => What::Unknown(raw),
    };
    let is_growing = matches!(what, What::Said(..) | What::Thinking(_)) && author == Author::Assistant;
    let finished = time(raw, "end");
    Some(Block { ended: !is_growing || finished.is_some(), began: time(raw, "start"), finished, ..block(what) })
}

/// A text that says nothing makes no entry; while it may still grow, what follows waits for it.
fn unfinished<'a>(author: Author, raw: Value<'a>, part: &Part) -> Option<Block<'a>> {
    let growing = author == Author::Assistant && time(raw, "end").is_none();
    growing.then(|| Block {
        id: part.id.clone(),
        ended: false,
        began: None,
        finished: None,
        what: What::Thinking(Value::default()),
    })
}

fn tool<'a>(raw: Value<'a>, part: &Part) -> Block<'a> {
    let state = raw.get("state").unwrap_or_default();
    let phase = Phase::of(state.get("status"));
    let tool = Tool {
        call_id: named(raw.get("callID")).unwrap_or_else(|| part.id.clone()),
        name: named(raw.get("tool")).unwrap_or_else(|| "unnamed".into()),
        phase,
        state,
    };
    Block {
        id: part.id.clone(),
        ended: phase != Phase::Pending,
        began: time(state, "start"),
        finished: time(state, "end"),
        what: What::Tool(tool),
    }
}

/// The name of an attached file; a picture needs none.
pub(super) fn attached(file: Value<'_>) -> Option<String> {
    let mime = named(file.get("mime")).unwrap_or_default();
    let name = ["filename", "name", "url", "uri"]
        .iter()
        .find_map(|key| named(file.get(key)).filter(|name| !name.starts_with("data:")));
    (!mime.starts_with("image/")).then(|| name.unwrap_or_else(|| if mime.is_empty() { "file".into() } else { mime }))
}

fn subtask(raw: Value<'_>) -> String {
    let get = |key: &str| named(raw.get(key));
    let agent = get("agent").map_or_else(String::new, |agent| format!("@{agent} "));
    let what = [get("description"), get("prompt")].into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    format!("{agent}{what}")
}

fn retry(raw: Value<'_>) -> String {
    let attempt = raw.get("attempt").and_then(Value::number).unwrap_or(1);
    match raw.get("error").map(failure) {
        Some(error) => format!("Tried again ({attempt}): {error}"),
        None => format!("Tried again ({attempt})"),
    }
}

/// What an error says: its message, or its name.
pub(super) fn failure(error: Value<'_>) -> String {
    let data = error.get("data").unwrap_or_default();
    let said = [data.get("message"), error.get("message"), error.get("name"), Some(error)];
    said.into_iter().flatten().find_map(Value::filled).unwrap_or_else(|| crate::agent::shown::glance(error.raw()))
}

const INFO: &[&str] = &[
    "agent",
    "cost",
    "error",
    "finish",
    "format",
    "id",
    "metadata",
    "mode",
    "model",
    "modelID",
    "parentID",
    "path",
    "providerID",
    "role",
    "sessionID",
    "structured",
    "summary",
    "system",
    "time",
    "tokens",
    "tools",
    "variant",
];

const PARTS: &[&str] = &[
    "agent",
    "compaction",
    "file",
    "patch",
    "reasoning",
    "retry",
    "snapshot",
    "step-finish",
    "step-start",
    "subtask",
    "text",
    "tool",
];

/// Notes what is not known of a message.
pub(super) fn note(info: Value<'_>, parts: &[Part], file: &str, drift: &mut Drift) {
    let at = Seen { file, offset: 0 };
    let name = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
    for (key, _) in info.members() {
        if !INFO.iter().any(|known| known.as_bytes() == key) {
            drift.note(Oddity::Field, &format!("message.{}", name(key)), "", at);
        }
    }
    for part in parts {
        let raw = part.content.json();
        match (raw.and_then(|raw| raw.get("type")).and_then(Value::literal), raw.is_some()) {
            (Some(kind), _) if PARTS.iter().any(|known| known.as_bytes() == kind) => {}
            (Some(kind), _) => drift.note(Oddity::Block, &name(kind), "", at),
            (None, true) => drift.note(Oddity::Block, "(none)", "", at),
            (None, false) => drift.note(Oddity::Damage, "part", "", at),
        }
    }
}
