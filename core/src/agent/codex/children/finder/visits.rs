//! Visits to rollouts: what is read of each, and what becomes of it.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};

use super::{Pending, Place, Thread, Threads};
use crate::agent::codex::children::end::End;
use crate::agent::codex::children::head::Head;
use crate::agent::codex::children::said::Said;
use crate::io::{Op, Outcome};
use crate::limits::{
    CHILD_HEAD_BYTES, CHILD_LONG_TAIL_BYTES, CHILD_TAIL_BYTES, MAX_CHILDREN, MAX_OPEN_CHILDREN, MAX_STRANGERS,
};
use crate::roster::{Found, Next, Part, Visit};

/// What a rollout is visited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Whose child it is.
    Head,
    /// How it ends.
    Tail,
    /// The same, behind a last line that is longer than what was read.
    LongTail,
    /// What all of it says.
    Through,
}

impl Threads {
    /// What a visit found.
    fn visited(&mut self, id: String, place: Place, purpose: Purpose, found: Found<Said>) {
        let thread = self.threads.get_mut(&id);
        match (purpose, found) {
            (Purpose::Head, Found::Bytes { bytes, .. }) => self.begun(id, place, Head::of(&bytes)),
            (Purpose::Tail, Found::Bytes { bytes, cut: true }) if End::of(&bytes, true).last_ts.is_none() => {
                self.visits.push_back((id, place, Purpose::LongTail));
            }
            (_, Found::Bytes { bytes, cut }) => {
                if let Some(thread) = thread {
                    (thread.end, thread.closed) = (End::of(&bytes, cut), false);
                }
            }
            (_, Found::Through(through)) => {
                if let Some(thread) = thread {
                    thread.end = through.known.end;
                    thread.through = Some(through);
                }
            }
            (_, Found::Nothing) => {
                if let Some(thread) = thread {
                    thread.closed = true;
                }
            }
            (_, Found::Failed(text)) => {
                // It is tried again with the next look.
                match thread {
                    Some(thread) => (thread.visited, thread.read_through) = (None, None),
                    None => self.days.listed(&place.directory, None),
                }
                self.trouble(&format!("{}/{}", place.directory, place.name), &text);
            }
        }
    }

    /// A rollout's beginning was read.
    fn begun(&mut self, id: String, place: Place, head: Option<Head>) {
        match head {
            Some(head) if head.parent.is_some() => {
                if self.threads.len() < MAX_CHILDREN {
                    let thread = Thread {
                        place,
                        head,
                        visited: None,
                        end: End::default(),
                        through: None,
                        read_through: None,
                        closed: false,
                    };
                    self.threads.insert(id, thread);
                }
            }
            Some(_) => {
                if self.strangers.len() < MAX_STRANGERS {
                    self.strangers.insert(id);
                }
            }
            // Its first record may still be on its way: its directory is listed again with the next look.
            None => self.days.listed(&place.directory, None),
        }
    }

    pub(super) fn begin_visits(&mut self) {
        while self.open < MAX_OPEN_CHILDREN
            && let Some((id, place, purpose)) = self.visits.pop_front()
        {
            let part = match purpose {
                Purpose::Head => Part::Beginning(CHILD_HEAD_BYTES),
                Purpose::Tail => Part::End(CHILD_TAIL_BYTES),
                Purpose::LongTail => Part::End(CHILD_LONG_TAIL_BYTES),
                Purpose::Through => Part::Through(self.threads.get_mut(&id).and_then(|thread| thread.through.take())),
            };
            self.open = self.open.saturating_add(1);
            let visit = Box::new(Visit::new(part, self.line_bytes));
            let path = format!("{}/{}", place.directory, place.name);
            let under = Some(self.days.under(&place.directory).to_string());
            self.ask(Pending::Visit(id, place, purpose, visit), Op::Open { path, under });
        }
    }

    pub(super) fn visit_answered(
        &mut self,
        id: String,
        place: Place,
        purpose: Purpose,
        mut visit: Box<Visit<Said>>,
        outcome: Outcome<'_>,
    ) {
        match visit.take(outcome) {
            Next::Op(op) => self.ask(Pending::Visit(id, place, purpose, visit), op),
            Next::Done(found, handle) => {
                self.open = self.open.saturating_sub(1);
                if let Some(handle) = handle {
                    self.asks.ask(Op::CloseFile { handle });
                }
                self.visited(id, place, purpose, found);
            }
        }
    }
}
