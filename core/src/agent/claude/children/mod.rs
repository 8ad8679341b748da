//! The children of a Claude Code session: where they lie, what is told of them, and when they have finished.
//!
//! ```text
//!   <session>.jsonl                                   tells: calls, their answers, notifications
//!   <session>/subagents/agent-<id>.jsonl              a child; its metadata in agent-<id>.meta.json, or nowhere
//!   <session>/subagents/workflows/<run>/agent-<id>.jsonl   children of a workflow, beside a journal that is no transcript
//!   agent-<id>.jsonl                                  a child of an old version; its lines name the session
//!   <session>.jsonl                                   in the oldest versions: the lines of children between its own
//! ```
//!
//! Of a child no more is read than its metadata and the end of its file, and only when these have changed. Those that may
//! have started children of their own are read as a whole, since the call and its answer stand nowhere else.

mod childless;
mod directory;
mod ends;
mod finder;
mod inside;
mod meta;
mod note;
mod notification;
mod said;

pub(crate) use childless::Childless;
pub(crate) use finder::Children;
pub(super) use note::{may_be_inside, may_be_queued, may_tell, note};
