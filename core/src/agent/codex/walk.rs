//! The one walk over a line that both depths take: what it makes entries of, and how many.

use alloc::vec::Vec;

use super::kinds::{self, CompletedKind, EventKind, ItemKind, RecordKind};
use super::memory::{Digest, Memory, Meta, Topic, Way};
use super::record::{Payload, Record};
use super::said::{self, Speech};
use crate::agent::Line;
use crate::agent::skim::{self, Unplaced};
use crate::source::json::{Chars, Value};

/// One entry to be.
pub(super) type Item<'r, 'a> = skim::Item<'r, 'a, Record<'a>, What<'a>>;

/// A part of a record that is one.
pub(super) type Part<'r, 'a> = skim::Part<'r, Record<'a>, What<'a>>;

/// What a part of a record is.
#[derive(Debug, Clone)]
pub(super) enum What<'a> {
    /// The human's words, which may stand in several texts.
    Typed(Vec<Value<'a>>),
    /// Codex's words in a user's message.
    Told(Value<'a>),
    /// An image in a user's message.
    Image,
    Said(Value<'a>),
    Thinking(Value<'a>),
    /// The call of a tool: the item, or the event.
    Call(Value<'a>),
    /// The answer of a tool: the item, or the event.
    Answer(Value<'a>),
    /// What another agent told this one: the item.
    Peer(Value<'a>),
    Forked(Value<'a>),
    Aborted,
    Compacted,
    /// Something that happened: the event.
    Notice(Value<'a>),
    /// Why a turn failed.
    Failed(Value<'a>),
    /// In no row of the tables.
    Unknown(Unknown<'a>),
}

/// Why a part of a record could not be placed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unknown<'a> {
    /// A record, item or event of an unknown type that says this.
    Type(Value<'a>),
    /// An item or event without what its type has, or with something else in its place.
    Shape(Option<Value<'a>>),
    /// A part of a message that is no text and no image.
    Block(Value<'a>),
}

/// Walks over the line in order.
pub(super) fn walk<'a>(line: &Line<'a>, memory: &mut Memory, each: &mut impl FnMut(Item<'_, 'a>)) -> Unplaced {
    skim::walk(line, each, |at, record, each| parts(at, record, memory, &mut |part| each(Item::Part(part))))
}

/// The parts of one record in order.
pub(super) fn parts<'r, 'a>(
    at: usize,
    record: &'r Record<'a>,
    memory: &mut Memory,
    each: &mut impl FnMut(Part<'r, 'a>),
) -> Unplaced {
    let kind = kinds::record(record.kind);
    let mut block = 0;
    let mut emit = |what| {
        each(Part { at, record, block, what });
        block += 1;
    };
    let payload = &record.payload;
    let begins_turn =
        kind == RecordKind::Turn || (kind == RecordKind::Event && kinds::event(payload.kind) == EventKind::TurnBegan);
    if kind != RecordKind::Meta && memory.is_replay(record, begins_turn) {
        return false;
    }
    match kind {
        RecordKind::Meta => {
            if let Meta::Fork(parent) = memory.meta(record) {
                emit(What::Forked(parent));
            }
        }
        RecordKind::Item => return item(payload, memory, &mut emit),
        RecordKind::Event => return event(payload, memory, &mut emit),
        RecordKind::Compacted => compacted(memory, Way::Item, &mut emit),
        RecordKind::Turn | RecordKind::Bookkeeping => {}
        RecordKind::Unknown if !record.wrapped => return bare(record, memory, &mut emit),
        RecordKind::Unknown => return unknown(payload, &mut emit),
    }
    false
}

/// A record of 2025-08: an item without its envelope, or what such files begin with.
fn bare<'a>(record: &Record<'a>, memory: &mut Memory, emit: &mut impl FnMut(What<'a>)) -> Unplaced {
    let payload = &record.payload;
    let is_head = record.kind.is_none() && payload.id.is_some() && payload.timestamp.is_some();
    if is_head || payload.record_type.is_some() {
        return false;
    }
    if record.kind.is_none() && payload.role.is_some() {
        message(payload, memory, emit);
        return false;
    }
    item(payload, memory, emit)
}

fn item<'a>(payload: &Payload<'a>, memory: &mut Memory, emit: &mut impl FnMut(What<'a>)) -> Unplaced {
    match kinds::item(payload.kind) {
        ItemKind::Message => message(payload, memory, emit),
        ItemKind::Reasoning => {
            for thought in [payload.summary, payload.content].into_iter().flatten() {
                thoughts(thought, Way::Item, memory, emit);
            }
        }
        ItemKind::Call => by_id(payload, payload.call_id.or(payload.id), Topic::Call, Way::Item, memory, emit),
        ItemKind::Output => by_id(payload, payload.call_id, Topic::Answer, Way::Item, memory, emit),
        ItemKind::Peer => emit(What::Peer(payload.raw)),
        ItemKind::Bookkeeping => {}
        ItemKind::Unknown => return unknown(payload, emit),
    }
    false
}

fn event<'a>(payload: &Payload<'a>, memory: &mut Memory, emit: &mut impl FnMut(What<'a>)) -> Unplaced {
    match kinds::event(payload.kind) {
        EventKind::User => match payload.message.filter(|message| message.literal().is_some()) {
            // Versions of 2025 also tell what they have put in the user's name, and say so.
            Some(text) if payload.raw.get("kind").is_some_and(|kind| !kind.is_null() && !kind.is("plain")) => {
                message_of(&[text], said::speech, Way::Event, memory, emit);
            }
            Some(text) => {
                message_of(&[text], said::typed_alone, Way::Event, memory, emit);
            }
            None => emit(What::Unknown(Unknown::Shape(payload.message))),
        },
        EventKind::Assistant => match payload.message.filter(|message| message.literal().is_some()) {
            Some(text) => assistant(text, Way::Event, memory, emit),
            None => emit(What::Unknown(Unknown::Shape(payload.message))),
        },
        EventKind::Reasoning => match payload.text {
            Some(text) => thoughts(text, Way::Event, memory, emit),
            None => emit(What::Unknown(Unknown::Shape(None))),
        },
        EventKind::Completed => return completed(payload, memory, emit),
        EventKind::Call => by_id(payload, payload.call_id, Topic::Call, Way::Event, memory, emit),
        // What the human ran in the shell is told by the user's message about it.
        EventKind::Answer if payload.source.is_some_and(|source| source.is("user_shell")) => {}
        EventKind::Answer => by_id(payload, payload.call_id, Topic::Answer, Way::Event, memory, emit),
        EventKind::Aborted => aborted(memory, Way::Event, emit),
        EventKind::Compacted => compacted(memory, Way::Event, emit),
        EventKind::Error => failed(payload.raw, Way::Event, memory, emit),
        EventKind::Notice => emit(What::Notice(payload.raw)),
        EventKind::TurnEnded => {
            if let Some(error) = payload.raw.get("error").filter(|error| !error.is_empty()) {
                failed(error, Way::Completed, memory, emit);
            }
        }
        EventKind::TurnBegan | EventKind::Bookkeeping => {}
        EventKind::Unknown => return unknown(payload, emit),
    }
    false
}

fn completed<'a>(payload: &Payload<'a>, memory: &mut Memory, emit: &mut impl FnMut(What<'a>)) -> Unplaced {
    let Some(item) = payload.item else {
        emit(What::Unknown(Unknown::Shape(None)));
        return false;
    };
    let text = |part: Value<'a>| part.get("text").filter(|text| text.literal().is_some());
    let content = || item.get("content").into_iter().flat_map(Value::elements);
    match kinds::completed(item.get("type")) {
        CompletedKind::User => {
            let texts: Vec<Value<'a>> = content().filter_map(text).collect();
            let digest = message_of(&texts, said::typed_alone, Way::Completed, memory, emit);
            let is_image = |part: &Value<'a>| {
                part.get("type").is_some_and(|kind| ["image", "local_image"].iter().any(|name| kind.is(name)))
            };
            images(content().filter(is_image).count(), digest, Way::Completed, memory, emit);
        }
        CompletedKind::Assistant => {
            content().filter_map(text).for_each(|text| assistant(text, Way::Completed, memory, emit));
        }
        CompletedKind::Plan => {
            text(item).into_iter().for_each(|text| assistant(text, Way::Completed, memory, emit));
        }
        CompletedKind::Reasoning => {
            for key in ["summary_text", "raw_content"] {
                item.get(key).into_iter().for_each(|thought| thoughts(thought, Way::Completed, memory, emit));
            }
        }
        CompletedKind::Compacted => compacted(memory, Way::Completed, emit),
        CompletedKind::Bookkeeping => {}
        CompletedKind::Unknown => match text(item) {
            Some(said) if !said.is_empty() => emit(What::Unknown(Unknown::Type(said))),
            _ => return true,
        },
    }
    false
}

/// A message of the model's conversation. What the developer or the system says are instructions.
fn message<'a>(payload: &Payload<'a>, memory: &mut Memory, emit: &mut impl FnMut(What<'a>)) {
    let is = |role: &str| payload.role.is_some_and(|said_by| said_by.is(role));
    if is("developer") || is("system") {
        return;
    }
    let Some(content) = payload.content else { return emit(What::Unknown(Unknown::Shape(None))) };
    let parts: Vec<Value<'a>> = if content.literal().is_some() {
        [content].into()
    } else if content.is_list() {
        content.elements().collect()
    } else {
        return emit(What::Unknown(Unknown::Shape(Some(content))));
    };
    let text = |part: Value<'a>| {
        let text = if part.literal().is_some() { Some(part) } else { part.get("text") };
        text.filter(|text| text.literal().is_some())
    };
    let is_user = is("user");
    let mut shown = 0;
    let mut typed = Digest::new();
    if is_user {
        let texts: Vec<Value<'a>> = parts.iter().copied().filter_map(text).collect();
        typed = message_of(&texts, said::speech, Way::Item, memory, emit);
    }
    for part in parts {
        match text(part) {
            Some(text) if !is_user => assistant(text, Way::Item, memory, emit),
            Some(_) => {}
            None if part.get("type").is_some_and(|kind| kind.is("input_image")) => shown += usize::from(is_user),
            None => emit(What::Unknown(Unknown::Block(part))),
        }
    }
    images(shown, typed, Way::Item, memory, emit);
}

/// The texts of one message of the user: what the human typed is one entry, as it is in its event. Gives its digest.
fn message_of<'a>(
    texts: &[Value<'a>],
    speech: fn(Chars<'a>) -> Option<Speech>,
    way: Way,
    memory: &mut Memory,
    emit: &mut impl FnMut(What<'a>),
) -> Digest {
    let mut typed = Vec::new();
    let mut digest = Digest::new();
    for text in texts.iter().copied() {
        let Some(chars) = text.chars() else { continue };
        match speech(chars.clone()) {
            Some(Speech::Typed) => {
                digest.add(chars);
                typed.push(text);
            }
            Some(Speech::Told) if memory.is_news(Topic::Notice, way, Digest::of(chars)) => emit(What::Told(text)),
            Some(Speech::Aborted) => aborted(memory, way, emit),
            Some(Speech::Told) | None => {}
        }
    }
    if !typed.is_empty() && memory.is_news(Topic::User, way, digest) {
        emit(What::Typed(typed));
    }
    digest
}

/// The images in a message of the user.
fn images<'a>(count: usize, message: Digest, way: Way, memory: &mut Memory, emit: &mut impl FnMut(What<'a>)) {
    let mut place = message;
    for _ in 0..count {
        place.add(['.']);
        if memory.is_news(Topic::Image, way, place) {
            emit(What::Image);
        }
    }
}

/// What the assistant said. A plan in it may come alone, too, and then the rest of it does.
fn assistant<'a>(text: Value<'a>, way: Way, memory: &mut Memory, emit: &mut impl FnMut(What<'a>)) {
    let mut is_news = false;
    for digest in said::digests(text) {
        is_news |= memory.is_news(Topic::Assistant, way, digest);
    }
    if is_news {
        emit(What::Said(text));
    }
}

/// Thoughts: a text, or a list of texts.
fn thoughts<'a>(thoughts: Value<'a>, way: Way, memory: &mut Memory, emit: &mut impl FnMut(What<'a>)) {
    let single = thoughts.literal().is_some().then_some(thoughts);
    for thought in single.into_iter().chain(thoughts.elements()) {
        let text = if thought.literal().is_some() { Some(thought) } else { thought.get("text") };
        match text.and_then(Value::chars) {
            Some(chars) if chars.is_blank() => {}
            Some(chars) => {
                if memory.is_news(Topic::Thinking, way, Digest::of(chars)) {
                    emit(What::Thinking(text.unwrap_or_default()));
                }
            }
            None => emit(What::Unknown(Unknown::Block(thought))),
        }
    }
}

/// A call or an answer, which are told apart by the id of the call.
fn by_id<'a>(
    payload: &Payload<'a>,
    id: Option<Value<'a>>,
    topic: Topic,
    way: Way,
    memory: &mut Memory,
    emit: &mut impl FnMut(What<'a>),
) {
    let id = id.and_then(Value::chars).filter(|id| !id.is_blank());
    if id.is_none_or(|id| memory.is_news(topic, way, Digest::of(id))) {
        emit(if topic == Topic::Call { What::Call(payload.raw) } else { What::Answer(payload.raw) });
    }
}

fn aborted<'a>(memory: &mut Memory, way: Way, emit: &mut impl FnMut(What<'a>)) {
    if memory.is_news(Topic::Notice, way, Digest::of("turn aborted".chars())) {
        emit(What::Aborted);
    }
}

/// An error, which is told by itself, or with the end of the turn, or twice.
fn failed<'a>(error: Value<'a>, way: Way, memory: &mut Memory, emit: &mut impl FnMut(What<'a>)) {
    let said = said::error(error);
    let digest = Digest::of("error: ".chars().chain(said.and_then(Value::chars).into_iter().flatten()));
    if memory.is_news(Topic::Notice, way, digest) {
        emit(What::Failed(said.unwrap_or(error)));
    }
}

fn compacted<'a>(memory: &mut Memory, way: Way, emit: &mut impl FnMut(What<'a>)) {
    if memory.is_news(Topic::Notice, way, Digest::of("compacted".chars())) {
        emit(What::Compacted);
    }
}

fn unknown<'a>(payload: &Payload<'a>, emit: &mut impl FnMut(What<'a>)) -> Unplaced {
    if let Some(said) = payload.says() {
        emit(What::Unknown(Unknown::Type(said)));
    }
    true
}
