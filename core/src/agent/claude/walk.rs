//! The one walk over a line that both depths take: what it makes entries of, and how many.

use super::Selection;
use super::kinds::{self, AttachmentKind, BlockKind, RecordKind, SystemKind};
use super::record::{self, Block, Content, Record};
use super::said::{self, Speech};
use crate::agent::Line;
use crate::agent::skim::{self, Unplaced};
use crate::entry::Role;
use crate::source::json::Value;

/// One entry to be.
pub(super) type Item<'r, 'a> = skim::Item<'r, 'a, Record<'a>, What<'a>>;

/// A part of a record that is one.
pub(super) type Part<'r, 'a> = skim::Part<'r, Record<'a>, What<'a>>;

/// What a part of a record is.
#[derive(Debug, Clone, Copy)]
pub(super) enum What<'a> {
    /// A text, whose words these are, and who says it if nothing marks it.
    Said(Value<'a>, Speech, Role),
    Thinking(Value<'a>),
    Call(Block<'a>),
    /// The answer of a tool; whether it is the only one of its record, so that `toolUseResult` is about it.
    Result(Block<'a>, bool),
    /// An image and the like, and whose it is.
    Media(Block<'a>, Role),
    Fallback(Value<'a>),
    ApiError,
    Compaction,
    Hook(Value<'a>),
    File(Value<'a>),
    Task(Value<'a>),
    Mailbox(Value<'a>),
    /// In no row of the tables.
    Unknown(Unknown<'a>),
}

/// Why a part of a record could not be placed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unknown<'a> {
    /// A record of an unknown type that says something.
    Record,
    /// A system record of an unknown subtype that says something, or one whose content is no text.
    System,
    /// A user or assistant record without a message.
    NoMessage,
    /// A message, or the prompt of an attachment, whose content is neither text nor a list.
    NoContent(Option<Value<'a>>),
    /// A block of an unknown type, or a text block without text.
    Block(Value<'a>, Option<Value<'a>>),
}

/// Walks over the line in order.
pub(super) fn walk<'a>(line: &Line<'a>, selection: Selection, each: &mut impl FnMut(Item<'_, 'a>)) -> Unplaced {
    skim::walk(line, each, |at, record, each| parts(at, record, selection, &mut |part| each(Item::Part(part))))
}

/// The parts of one record in order.
pub(super) fn parts<'r, 'a>(
    at: usize,
    record: &'r Record<'a>,
    selection: Selection,
    each: &mut impl FnMut(Part<'r, 'a>),
) -> Unplaced {
    if record.sidechain && selection == Selection::Main {
        return false;
    }
    let mut emit = |block, what| each(Part { at, record, block, what });
    match kinds::record(record.kind) {
        RecordKind::User => message(record, Role::User, &mut emit),
        RecordKind::Assistant => message(record, Role::Assistant, &mut emit),
        RecordKind::System => return system(record, &mut emit),
        RecordKind::Attachment => return attachment(record, &mut emit),
        RecordKind::Bookkeeping => {}
        RecordKind::Unknown => {
            let message = record.message.as_ref();
            let says = message.is_some_and(|message| message.other.is_none_or(|other| !other.is_empty()));
            if says || record.content.is_some_and(|content| !content.is_empty()) {
                emit(0, What::Unknown(Unknown::Record));
            }
            return true;
        }
    }
    false
}

fn message<'a>(record: &Record<'a>, role: Role, emit: &mut impl FnMut(usize, What<'a>)) {
    let Some(message) = &record.message else { return emit(0, What::Unknown(Unknown::NoMessage)) };
    match &message.content {
        Some(Content::Text(text)) => said(*text, role, 0, emit),
        Some(Content::List { blocks, .. }) => list(blocks, role, emit),
        Some(Content::Other(other)) => emit(0, What::Unknown(Unknown::NoContent(Some(*other)))),
        None => emit(0, What::Unknown(Unknown::NoContent(message.other))),
    }
}

fn list<'a>(blocks: &[Block<'a>], role: Role, emit: &mut impl FnMut(usize, What<'a>)) {
    let answers = blocks.iter().filter(|block| kinds::block(block.raw, block.kind) == BlockKind::Result);
    let only = answers.take(2).count() == 1;
    for (index, block) in blocks.iter().enumerate() {
        match kinds::block(block.raw, block.kind) {
            BlockKind::Text => {
                let text = if block.raw.literal().is_some() { Some(block.raw) } else { block.text };
                match text {
                    Some(text) if text.literal().is_some() => said(text, role, index, emit),
                    _ => emit(index, What::Unknown(Unknown::Block(block.raw, block.kind))),
                }
            }
            BlockKind::Thinking => {
                if let Some(text) = block.thinking.filter(|text| !text.is_empty()) {
                    emit(index, What::Thinking(text));
                }
            }
            BlockKind::Call => emit(index, What::Call(*block)),
            BlockKind::Result => emit(index, What::Result(*block, only)),
            BlockKind::Media => emit(index, What::Media(*block, role)),
            BlockKind::Fallback => emit(index, What::Fallback(block.raw)),
            BlockKind::Hidden => {}
            BlockKind::Unknown => emit(index, What::Unknown(Unknown::Block(block.raw, block.kind))),
        }
    }
}

fn said<'a>(text: Value<'a>, role: Role, index: usize, emit: &mut impl FnMut(usize, What<'a>)) {
    let Some(chars) = text.chars() else { return };
    if role == Role::Assistant {
        // What the model writes is its own, however it begins.
        if !chars.is_blank() {
            emit(index, What::Said(text, Speech::Plain, role));
        }
    } else if let Some(speech) = said::speech(chars) {
        emit(index, What::Said(text, speech, role));
    }
}

fn system<'a>(record: &Record<'a>, emit: &mut impl FnMut(usize, What<'a>)) -> Unplaced {
    let content = record.content.filter(|content| !content.is_empty());
    match (kinds::system(record.subtype), content) {
        (SystemKind::Unknown, None) => return true,
        (SystemKind::Bookkeeping, _) | (SystemKind::Content, None) => {}
        (SystemKind::ApiError, _) => emit(0, What::ApiError),
        (SystemKind::Compaction, _) => emit(0, What::Compaction),
        (SystemKind::Content, Some(content)) if content.literal().is_some() => said(content, Role::System, 0, emit),
        (SystemKind::Content | SystemKind::Unknown, Some(_)) => emit(0, What::Unknown(Unknown::System)),
    }
    false
}

fn attachment<'a>(record: &Record<'a>, emit: &mut impl FnMut(usize, What<'a>)) -> Unplaced {
    let Some(attachment) = record.attachment else { return true };
    match kinds::attachment(attachment.get("type")) {
        AttachmentKind::Queued => queued(attachment, emit),
        AttachmentKind::Hook => emit(0, What::Hook(attachment)),
        AttachmentKind::File => emit(0, What::File(attachment)),
        AttachmentKind::Task => emit(0, What::Task(attachment)),
        AttachmentKind::Mailbox => emit(0, What::Mailbox(attachment)),
        AttachmentKind::Bookkeeping => {}
        AttachmentKind::Unknown => return true,
    }
    false
}

/// What was typed while the assistant worked is the human's, what was notified is the harness's.
fn queued<'a>(attachment: Value<'a>, emit: &mut impl FnMut(usize, What<'a>)) {
    let role = match attachment.get("origin").and_then(|origin| origin.get("kind")) {
        Some(kind) if kind.is("human") || kind.is("cli") => Role::User,
        Some(_) => Role::System,
        None => attachment
            .get("commandMode")
            .map_or(Role::User, |mode| if mode.is("task-notification") { Role::System } else { Role::User }),
    };
    match attachment.get("prompt") {
        Some(prompt) if prompt.is_list() => {
            for (index, block) in record::blocks(prompt).iter().enumerate() {
                list(core::slice::from_ref(block), role, &mut |_, what| emit(index, what));
            }
        }
        Some(prompt) if prompt.literal().is_some() => said(prompt, role, 0, emit),
        other => emit(0, What::Unknown(Unknown::NoContent(other))),
    }
}
