//! The sub-threads of a Codex session: rollouts of their own, which name the thread that started them.
//!
//! ```text
//!   sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl   tells: calls, their answers, what became of threads
//!   sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl    a thread: its first record names its parent; its last turn says
//!                                                        whether it still works
//!   archived_sessions/rollout-<time>-<thread>.jsonl      one that was put away
//! ```
//!
//! No thread is older than its session, so days before it are not looked at. Of a rollout that is nobody's child only the
//! beginning is read, once; of one that is, the beginning and the end. Threads that have started others are read as a
//! whole.

mod days;
mod end;
mod finder;
mod head;
mod note;
mod said;

pub(crate) use finder::Threads;
pub(super) use note::note;

/// Whether a rollout with this beginning is a thread of another session.
pub(super) fn is_child(head: &[u8]) -> bool {
    head::Head::of(head).is_some_and(|head| head.parent.is_some())
}
