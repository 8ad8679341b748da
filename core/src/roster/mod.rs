//! The roster: the agents that a session's agent has started, at every depth, as one flat list.
//!
//! What a row says and when it has changed is the same for every kind of agent. Where children lie and how their end is
//! recorded is not: a kind brings a [`Finder`], most often what it says of its children to the look that all share, and its
//! reader notes what a transcript tells of children in [`Told`].

mod inside;
mod look;
mod through;
mod told;
mod visit;

pub use inside::{Inside, InsideLine, Insides};
pub(crate) use look::{Destination, Kin, KinFinder, Listed, Look, Looked, Seen, seen_by};
pub(crate) use through::{Known, Through};
pub use told::{Answer, Call, Told, digest};
pub(crate) use visit::{Found, Part, last_lines};

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::agent::Reader;
use crate::io::{FileIdentity, Op, Outcome};
use crate::machine::{Machine, Tag};
use crate::source::follow::Source;
use crate::time::Now;

/// One agent that was started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    /// Its id, by which its conversation is asked for.
    pub agent_id: String,
    /// The call that started it; empty if that is not known.
    pub tool_use_id: String,
    /// The configured agent that runs.
    pub agent_type: String,
    /// What it was started for.
    pub description: String,
    /// 1 for a child of the session, 2 for a child of a child; 0 if that is not known.
    pub spawn_depth: u64,
    /// Whether whoever started it was told that it has finished.
    pub done: bool,
    /// When its conversation was written last, in Unix milliseconds; `None` if no time is known.
    pub last_activity_ts: Option<i64>,
    /// The agent that started it, if that is not the session's own.
    pub parent_agent_id: Option<String>,
    /// What is known only of children that were read as a whole.
    pub read: Option<ReadThrough>,
}

/// What reading a child's conversation as a whole tells about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadThrough {
    /// When it began, in Unix milliseconds.
    pub began_ts: Option<i64>,
    /// How many entries it has.
    pub entries: u64,
    /// How many tokens its model has read and written, each reply counted once.
    pub tokens: u64,
    /// The last thing its model said, one line.
    pub last_text: Option<String>,
}

impl Row {
    /// Whether a client must be told: its age alone is no news, since every client sees time pass by itself.
    #[must_use]
    pub fn differs(&self, other: &Self) -> bool {
        self.key() != other.key() || (self.done, &self.agent_type) != (other.done, &other.agent_type) || {
            (&self.tool_use_id, &self.description) != (&other.tool_use_id, &other.description)
        }
    }

    /// The same for a client that asked for more: [`differs`](Self::differs), or one of the further fields changed.
    #[must_use]
    pub fn differs_in_full(&self, other: &Self) -> bool {
        self.differs(other) || (&self.parent_agent_id, &self.read) != (&other.parent_agent_id, &other.read)
    }

    /// What rows are sorted by.
    fn key(&self) -> (u64, &str) {
        (self.spawn_depth, &self.agent_id)
    }
}

/// Sorts rows as they are shown: by depth, then by id. The order says nothing about time.
pub fn sort(rows: &mut [Row]) {
    rows.sort_unstable_by(|one, other| one.key().cmp(&other.key()));
}

/// Whether two lists of rows are told apart by `differs`.
#[must_use]
pub fn differ(one: &[Row], other: &[Row], differs: fn(&Row, &Row) -> bool) -> bool {
    one.len() != other.len() || one.iter().zip(other).any(|(one, other)| differs(one, other))
}

/// Finds the children of one session and keeps up with them, in its own kind's layout.
pub trait Finder: Machine + fmt::Debug + Send {
    /// Looks again. A look that still goes on becomes no other but for what is to be read as a whole.
    fn look(&mut self, wanted: Wanted);

    /// Goes on with the look. Comes after [`look`](Self::look) and every outcome; `told` is what the session's own
    /// transcript has told so far.
    fn go_on(&mut self, told: &Told);

    /// Whether a look goes on.
    fn is_looking(&self) -> bool;

    /// Whether a first look has come far enough for its rows to be shown.
    fn is_ready(&self) -> bool;

    /// The children as far as they are known, unsorted.
    fn rows(&self, told: &Told) -> Vec<Row>;

    /// The conversation of a child: where it lies, and what reads it.
    fn find(&self, agent_id: &str, told: &Told) -> Option<(Source, Box<dyn Reader>)>;

    /// Takes what went wrong since this was asked last, for the operator.
    fn take_trouble(&mut self) -> Option<String>;
}

/// Finds out that a session has no children without reading its transcript, where that can be told.
pub trait Glance: Machine + fmt::Debug + Send {
    /// Looks again; the session's transcript is this file now.
    fn look(&mut self, transcript: FileIdentity);

    /// The result, once for each look: whether there are surely none. No file is open by then.
    fn take_result(&mut self) -> Option<bool>;
}

/// For a kind whose agents start no others.
#[derive(Debug)]
pub struct NoChildren;

impl Machine for NoChildren {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        None
    }

    fn handle_outcome(&mut self, _now: Now, _tag: Tag, _outcome: Outcome<'_>) {}
}

impl Glance for NoChildren {
    fn look(&mut self, _transcript: FileIdentity) {}

    fn take_result(&mut self) -> Option<bool> {
        Some(true)
    }
}

impl Finder for NoChildren {
    fn look(&mut self, _wanted: Wanted) {}

    fn go_on(&mut self, _told: &Told) {}

    fn is_looking(&self) -> bool {
        false
    }

    fn is_ready(&self) -> bool {
        true
    }

    fn rows(&self, _told: &Told) -> Vec<Row> {
        Vec::new()
    }

    fn find(&self, _agent_id: &str, _told: &Told) -> Option<(Source, Box<dyn Reader>)> {
        None
    }

    fn take_trouble(&mut self) -> Option<String> {
        None
    }
}

/// How thorough a look shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Every child is looked at, whether or not its directory changed.
    pub every_child: bool,
    /// Children are read as a whole, for [`Row::read`].
    pub read_through: bool,
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn row(depth: u64, id: &str) -> Row {
        Row { spawn_depth: depth, agent_id: id.into(), ..Row::default() }
    }

    #[test]
    fn rows_are_sorted_by_depth_then_by_id() {
        let mut rows = vec![row(2, "a"), row(1, "c"), row(0, "z"), row(1, "b")];
        sort(&mut rows);
        let ids: Vec<&str> = rows.iter().map(|row| row.agent_id.as_str()).collect();
        assert_eq!(ids, ["z", "b", "c", "a"]);
    }

    #[test]
    fn every_field_but_the_age_is_news() {
        let before = row(1, "a");
        let change = |change: fn(&mut Row)| {
            let mut after = before.clone();
            change(&mut after);
            (before.differs(&after), before.differs_in_full(&after))
        };
        assert_eq!(change(|row| row.last_activity_ts = Some(7)), (false, false));
        assert_eq!(change(|row| row.parent_agent_id = Some("b".into())), (false, true));
        assert_eq!(change(|row| row.read = Some(ReadThrough { entries: 1, ..ReadThrough::default() })), (false, true));
        for told in [
            (|row: &mut Row| row.agent_id.push('x')) as fn(&mut Row),
            |row| row.tool_use_id.push('x'),
            |row| row.agent_type.push('x'),
            |row| row.description.push('x'),
            |row| row.spawn_depth = 2,
            |row| row.done = true,
        ] {
            assert_eq!(change(told), (true, true));
        }
    }
}
