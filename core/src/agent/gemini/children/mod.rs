//! The children of a Gemini CLI session: files of their own, in a directory that is named like the session.
//!
//! ```text
//!   chats/session-<time>-<8 characters>.jsonl   tells: the calls that start agents, and their answers
//!   chats/<session>/<child>.jsonl               a child: its first message is what it was told to do
//! ```
//!
//! A call is written when it was answered, and rarely says which child it was for: then it is the child that was told the
//! same. Until then a child says itself what it is for, and whether it has finished. Agents start no others.

mod end;
mod finder;
mod head;
mod start;

pub(crate) use finder::Children;
pub(super) use start::Start;
