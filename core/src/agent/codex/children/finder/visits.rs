//! Visits to rollouts: what is read of each, and what becomes of it.

use alloc::format;
use alloc::string::{String, ToString as _};

use super::{Place, Thread, Threads};
use crate::agent::codex::children::end::End;
use crate::agent::codex::children::head::Head;
use crate::agent::codex::children::said::Said;
use crate::limits::{CHILD_HEAD_BYTES, CHILD_LONG_TAIL_BYTES, CHILD_TAIL_BYTES, MAX_CHILDREN, MAX_STRANGERS};
use crate::roster::{Destination, Found, Look, Part};

/// What a rollout is visited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
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
    pub(super) fn take_visit(
        &mut self,
        (id, place, purpose): (String, Place, Purpose),
        found: Found<Said>,
        look: &mut Look<Self>,
    ) {
        let thread = self.threads.get_mut(&id);
        match (purpose, found) {
            (Purpose::Head, Found::Bytes { bytes, .. }) => self.begun(id, place, Head::of(&bytes)),
            (Purpose::Tail, Found::Bytes { bytes, cut: true }) if End::of(&bytes, true).last_ts.is_none() => {
                look.visit((id, place, Purpose::LongTail));
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
                look.trouble(&format!("{}/{}", place.directory, place.name), &text);
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

    /// What is read on an errand, and where.
    pub(super) fn destination(&mut self, (id, place, purpose): &(String, Place, Purpose)) -> Destination<Said> {
        let part = match purpose {
            Purpose::Head => Part::Beginning(CHILD_HEAD_BYTES),
            Purpose::Tail => Part::End(CHILD_TAIL_BYTES),
            Purpose::LongTail => Part::End(CHILD_LONG_TAIL_BYTES),
            Purpose::Through => Part::Through(self.threads.get_mut(id).and_then(|thread| thread.through.take())),
        };
        let path = format!("{}/{}", place.directory, place.name);
        Destination { path, under: self.days.under(&place.directory).to_string(), part }
    }
}
