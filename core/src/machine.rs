//! The common face of the machines below [`Bridge`](crate::Bridge): each asks for operations and takes their outcomes,
//! and can be driven alone in a test or in another program.

use alloc::collections::VecDeque;

use crate::io::{Op, Outcome};
use crate::time::Now;

/// A machine's own name for one of its operations. Only the machine that chose it knows what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u32);

impl Tag {
    /// Which of the `SIDES` machines below it named an operation so, and that machine's own name for it.
    pub(crate) const fn side<const SIDES: u32>(self) -> (u32, Self) {
        const { assert!(SIDES > 0, "somebody asked") }
        (self.0 % SIDES, Self(self.0 / SIDES))
    }
}

/// Names the operations of one of the `SIDES` machines below another, so that [`Tag::side`] finds it again.
pub(crate) fn of_side<const SIDES: u32>(side: u32) -> impl Fn((Tag, Op)) -> (Tag, Op) {
    move |(tag, op)| (Tag(tag.0.wrapping_mul(SIDES).wrapping_add(side)), op)
}

/// Something that needs the world now and then.
///
/// After every call that can change it, take its operations with [`poll_op`](Machine::poll_op) until there are none.
pub trait Machine {
    /// The next operation it wants performed, if any.
    fn poll_op(&mut self) -> Option<(Tag, Op)>;

    /// Takes the answer to one of its operations.
    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>);
}

/// The operations a machine has asked for and that were not yet taken from it.
#[derive(Debug, Default)]
pub struct Asks {
    queue: VecDeque<(Tag, Op)>,
    last: u32,
}

impl Asks {
    /// Asks for an operation; the tag comes back with its outcome.
    pub fn ask(&mut self, op: Op) -> Tag {
        self.last = self.last.wrapping_add(1);
        let tag = Tag(self.last);
        self.queue.push_back((tag, op));
        tag
    }

    /// Takes the oldest operation.
    pub fn take(&mut self) -> Option<(Tag, Op)> {
        self.queue.pop_front()
    }

    /// Forgets the operations that were not taken. Their tags are not used again.
    pub fn clear(&mut self) {
        self.queue.clear();
    }

    /// Whether none waits to be taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
