//! One way to be wrong: where it sits, and what it does there.

use serde_json::Value;

use crate::vector::document::Vector;
use crate::vector::stage::{Answered, Asked, Heard};
use crate::vector::step::Message;

/// One way to be wrong.
#[derive(Debug)]
pub struct Fault {
    /// What it is called.
    pub name: &'static str,
    /// The vector that must fail.
    pub shown_by: &'static str,
    /// A sentence that this vector must name as broken; empty for a vector that proves none.
    pub breaks: &'static str,
    pub(super) how: How,
}

/// Where it sits.
#[derive(Debug)]
pub(super) enum How {
    /// Each frame is changed.
    Frame(fn(&mut Value)),
    /// A frame becomes none, another one or several.
    Stream(fn(Value, &mut Memory) -> Vec<Value>),
    /// Frames are binary.
    Binary,
    /// The end of a socket is another one.
    End(fn(u16, String) -> Heard),
    /// A request is taken for another one; the second argument is the token.
    Asked(fn(&mut Asked, &str)),
    /// A message is taken for another one, or not heard.
    Said(fn(&Message) -> Option<Message>),
    /// A refusal is another one.
    Answer(fn(&mut Answered)),
    /// What lies on the disk is another thing.
    Before(fn(&mut Vector)),
}

/// What a fault remembers of a client.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Frames that were kept.
    pub(super) held: Vec<Value>,
    /// The newest page is over.
    pub(super) opened: bool,
    /// Another session began.
    pub(super) rotated: bool,
    /// Live entries so far.
    pub(super) live: u64,
    /// The newest seq before.
    pub(super) head: u64,
}

/// One row of the list: what it is called, the vector that shows it, the sentence that it breaks, how it is made.
pub(super) const fn fault(name: &'static str, shown_by: &'static str, breaks: &'static str, how: How) -> Fault {
    Fault { name, shown_by, breaks, how }
}
