//! What a message of opencode is made of, whichever of its generations wrote it.

use alloc::string::String;
use alloc::vec::Vec;

use crate::entry::Role;
use crate::source::json::Value;
use crate::source::spool::Place;

/// A message with its blocks in order.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) place: Place,
    pub(super) author: Author,
    /// Whether nothing of it is written any more, by its own word.
    pub(super) over: bool,
    /// The message that it answers.
    pub(super) parent: Option<String>,
    pub(super) blocks: Vec<Block<'a>>,
}

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    /// Whoever wrote it wrote all of it at once.
    Human,
    /// Its blocks grow.
    Assistant,
    /// A program that a human runs: it grows, and says nothing about the assistant.
    Shell,
}

/// One block.
#[derive(Debug)]
pub(super) struct Block<'a> {
    /// The id of its entry, or what that begins with.
    pub(super) id: String,
    /// Whether its text is what it will be.
    pub(super) ended: bool,
    /// When it began, and when it ended.
    pub(super) began: Option<i64>,
    pub(super) finished: Option<i64>,
    pub(super) what: What<'a>,
}

/// What a block is.
#[derive(Debug)]
pub(super) enum What<'a> {
    Said(Value<'a>, Role),
    Thinking(Value<'a>),
    Tool(Tool<'a>),
    /// A file that was attached: its name, if it is no picture.
    Attached(Option<String>),
    /// Something of our own words about what happened.
    Note(String, Role),
    /// What stands in no table.
    Unknown(Value<'a>),
    /// What cannot be read at all: its beginning, and how long it is.
    Damaged(&'a [u8], u64),
    /// What is being written at this moment: nothing behind it is sure.
    Torn,
}

/// A call of a tool and its answer, which stand in one block.
#[derive(Debug)]
pub(super) struct Tool<'a> {
    pub(super) call_id: String,
    pub(super) name: String,
    pub(super) phase: Phase,
    /// `input`, `output`, `error`, `metadata` …
    pub(super) state: Value<'a>,
}

/// How far a call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its input is still being written.
    Pending,
    /// Its input is complete.
    Running,
    /// It has answered.
    Answered,
    /// It has failed.
    Failed,
}

impl Phase {
    pub(super) fn of(status: Option<Value<'_>>) -> Self {
        match status.and_then(Value::literal) {
            Some(b"running") => Self::Running,
            Some(b"completed") => Self::Answered,
            Some(b"error") => Self::Failed,
            _ => Self::Pending,
        }
    }
}

/// A moment in milliseconds since 1970. A fraction of one does not count.
pub(super) fn moment(value: Option<Value<'_>>) -> Option<i64> {
    let text = core::str::from_utf8(value?.raw()).ok()?;
    text.split('.').next()?.parse().ok()
}

/// A member of the member `time`.
pub(super) fn time(of: Value<'_>, key: &str) -> Option<i64> {
    moment(of.get("time")?.get(key))
}
