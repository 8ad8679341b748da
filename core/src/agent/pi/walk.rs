//! The one walk over a line that both depths take: what it makes entries of, and how many.

use super::kinds::{self, BlockKind, RecordKind, RoleKind};
use super::record::{self, Block, Message, Record};
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
    Said(Value<'a>, Role),
    Thinking(Value<'a>),
    Call(Value<'a>),
    /// The answer of a tool: the message.
    Result(Value<'a>),
    Image(Role),
    /// Why the assistant ended as it did.
    Failure(Value<'a>),
    /// What the human typed for the shell, and then what it printed: the message.
    Typed(Value<'a>),
    Printed(Value<'a>),
    /// A summary, and what it stands for.
    Summary(&'static str, Value<'a>),
    /// In no row of the tables.
    Unknown(Unknown<'a>),
}

/// Why a part of a record could not be placed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unknown<'a> {
    /// A record of an unknown type that says something.
    Record(Value<'a>),
    /// A message record without a message.
    NoMessage,
    /// A message of an unknown role.
    Role(Value<'a>),
    /// Content that is neither text nor a list.
    NoContent(Option<Value<'a>>),
    /// A block of an unknown type, or one without what its type has.
    Block(Value<'a>, Option<Value<'a>>),
}

/// Walks over the line in order.
pub(super) fn walk<'a>(line: &Line<'a>, each: &mut impl FnMut(Item<'_, 'a>)) -> Unplaced {
    skim::walk(line, each, |at, record, each| parts(at, record, &mut |part| each(Item::Part(part))))
}

/// The parts of one record in order.
pub(super) fn parts<'r, 'a>(at: usize, record: &'r Record<'a>, each: &mut impl FnMut(Part<'r, 'a>)) -> Unplaced {
    let mut emit = |block, what| each(Part { at, record, block, what });
    match kinds::record(record.kind) {
        RecordKind::Message => match &record.message {
            Some(message) => return self::message(message, &mut emit),
            None => emit(0, What::Unknown(Unknown::NoMessage)),
        },
        RecordKind::Compaction => summary("Conversation compacted", record.summary, &mut emit),
        RecordKind::BranchSummary => summary("Back from another branch", record.summary, &mut emit),
        RecordKind::Custom => told(record.content, record.display, &mut emit),
        RecordKind::Bookkeeping => {}
        RecordKind::Unknown => {
            let message = record.message.as_ref().map(|message| message.content.unwrap_or(message.raw));
            let said = [message, record.content, record.summary].into_iter().flatten().find(|said| !said.is_empty());
            if let Some(said) = said {
                emit(0, What::Unknown(Unknown::Record(said)));
            }
            return true;
        }
    }
    false
}

fn message<'a>(message: &Message<'a>, emit: &mut impl FnMut(usize, What<'a>)) -> Unplaced {
    match kinds::role(message.role) {
        RoleKind::User => content(message.content, Role::User, emit),
        RoleKind::Assistant => {
            let behind = message.content.map_or(0, |content| content.elements().count());
            content(message.content, Role::Assistant, emit);
            if let Some(error) = message.error.filter(|error| !error.is_empty()) {
                emit(behind, What::Failure(error));
            }
        }
        RoleKind::Result => emit(0, What::Result(message.raw)),
        RoleKind::Shell => {
            emit(0, What::Typed(message.raw));
            let failed = message.exit_code.is_some_and(|code| !code.is_null() && code.number() != Some(0));
            let cancelled = message.cancelled.is_some_and(Value::is_true);
            if failed || cancelled || message.output.is_some_and(|output| !output.is_empty()) {
                emit(1, What::Printed(message.raw));
            }
        }
        RoleKind::Custom => told(message.content, message.display, emit),
        RoleKind::Compaction => summary("Conversation compacted", message.summary, emit),
        RoleKind::BranchSummary => summary("Back from another branch", message.summary, emit),
        RoleKind::Unknown => {
            let said = message.content.or(message.summary).filter(|said| !said.is_empty());
            match said {
                Some(said) => emit(0, What::Unknown(Unknown::Role(said))),
                None if message.role.is_none() => emit(0, What::Unknown(Unknown::NoMessage)),
                None => return true,
            }
        }
    }
    false
}

fn content<'a>(content: Option<Value<'a>>, role: Role, emit: &mut impl FnMut(usize, What<'a>)) {
    let Some(content) = content else { return emit(0, What::Unknown(Unknown::NoContent(None))) };
    if content.literal().is_some() {
        return said(content, role, 0, emit);
    }
    if !content.is_list() {
        return emit(0, What::Unknown(Unknown::NoContent(Some(content))));
    }
    for (index, block) in record::blocks(content).into_iter().enumerate() {
        self::block(block, role, index, emit);
    }
}

fn block<'a>(block: Block<'a>, role: Role, index: usize, emit: &mut impl FnMut(usize, What<'a>)) {
    let unknown = What::Unknown(Unknown::Block(block.raw, block.kind));
    match kinds::block(block.raw, block.kind) {
        BlockKind::Text => {
            let text = if block.raw.literal().is_some() { Some(block.raw) } else { block.text };
            match text.filter(|text| text.literal().is_some()) {
                Some(text) => said(text, role, index, emit),
                None => emit(index, unknown),
            }
        }
        BlockKind::Thinking => match block.thinking {
            Some(thinking) if thinking.is_empty() => {}
            Some(thinking) if thinking.literal().is_some() => emit(index, What::Thinking(thinking)),
            _ => emit(index, unknown),
        },
        BlockKind::Call => emit(index, What::Call(block.raw)),
        BlockKind::Image => emit(index, What::Image(role)),
        BlockKind::Unknown => emit(index, unknown),
    }
}

fn said<'a>(text: Value<'a>, role: Role, index: usize, emit: &mut impl FnMut(usize, What<'a>)) {
    if !text.is_empty() {
        emit(index, What::Said(text, role));
    }
}

/// What an extension told the assistant; what it does not want displayed is none of ours.
fn told<'a>(told: Option<Value<'a>>, display: Option<Value<'a>>, emit: &mut impl FnMut(usize, What<'a>)) {
    if display.is_none_or(|display| display.raw() != b"false") {
        content(told, Role::System, emit);
    }
}

fn summary<'a>(of: &'static str, summary: Option<Value<'a>>, emit: &mut impl FnMut(usize, What<'a>)) {
    emit(0, What::Summary(of, summary.unwrap_or_default()));
}
