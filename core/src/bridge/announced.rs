//! Stores that tell of their changes: who is named is looked at, and rests between for as long as every change was told of.
//!
//! ```text
//!  a followed session lies with a service ──▶ its events ── the session is named ──▶ look: at once, or 250 ms after the last
//!                 ▲                               └ none, an end, another session's: the poll goes on
//!                 └── nobody follows one any more: hung up
//! ```
//!
//! An event is never more than a reason to look. What it spares is the poll, and that only where changes that were found
//! had been told of, some times in a row.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Bridge;
use super::ops::Owner;
use crate::agent::opencode::events::{Events, names};
use crate::ids::SessionId;
use crate::io::Outcome;
use crate::limits::{FILE_POLL, HINT_WITHIN, TRUSTED_AFTER};
use crate::machine::{Machine as _, Tag};
use crate::time::Instant;
use crate::timers::Timer;

/// The streams whose store may tell of its changes, and the one who tells.
#[derive(Debug, Default)]
pub(super) struct Announced {
    events: Option<Events>,
    streams: BTreeMap<u64, Mark>,
}

/// What was told of one stream.
#[derive(Debug)]
struct Mark {
    session: SessionId,
    /// It was named, and no look has begun since; and whether the last look was begun for that.
    named: bool,
    asked_for: bool,
    looked: Instant,
    /// So many changes in a row were told of.
    told: u32,
    /// When a change was found that was not told of yet.
    doubt: Option<Instant>,
}

impl Mark {
    const fn new(session: SessionId, now: Instant) -> Self {
        Self { session, named: false, asked_for: false, looked: now, told: 0, doubt: None }
    }

    fn look_begins(&mut self, now: Instant) {
        (self.asked_for, self.named, self.looked) = (self.named, false, now);
    }

    fn name(&mut self, now: Instant) {
        self.named = true;
        if self.doubt.take().is_some_and(|found| now.since(found) <= HINT_WITHIN) {
            self.told = self.told.saturating_add(1);
        }
    }

    /// The look found something new.
    fn find(&mut self, now: Instant) {
        if self.asked_for || self.named {
            self.told = self.told.saturating_add(1);
        } else {
            self.doubt.get_or_insert(now);
        }
    }

    /// Nobody has told of a change that was found: it is polled until such things are told of again.
    fn tick(&mut self, now: Instant) {
        if self.doubt.is_some_and(|found| now.since(found) > HINT_WITHIN) {
            (self.doubt, self.told) = (None, 0);
        }
    }

    fn rests(&self) -> bool {
        self.told >= TRUSTED_AFTER && !self.named && self.doubt.is_none()
    }
}

impl Announced {
    /// A look at the store of this stream begins. Tells whether that was asked for.
    pub(super) fn look_begins(&mut self, no: u64, now: Instant) -> bool {
        let Some(mark) = self.streams.get_mut(&no) else { return false };
        mark.look_begins(now);
        mark.asked_for
    }

    /// It found something new.
    pub(super) fn found(&mut self, no: u64, now: Instant) {
        if let Some(mark) = self.streams.get_mut(&no) {
            mark.find(now);
        }
    }

    /// Whether nothing happens in this stream before it is named.
    pub(super) fn rests(&self, no: u64) -> bool {
        self.events.as_ref().is_some_and(Events::tells) && self.streams.get(&no).is_some_and(Mark::rests)
    }

    /// Who is named by an event.
    fn hear(&mut self, event: &[u8], now: Instant) {
        for mark in self.streams.values_mut().filter(|mark| names(event, &mark.session)) {
            mark.name(now);
        }
    }

    /// Who was named and is to be looked at now, and when the first of the others is.
    fn due(&self, now: Instant) -> (Vec<u64>, Option<Instant>) {
        let named = || self.streams.iter().filter(|(_, mark)| mark.named);
        let is_due = |mark: &Mark| now.since(mark.looked) >= FILE_POLL;
        let due = named().filter(|(_, mark)| is_due(mark)).map(|(no, _)| *no).collect();
        (due, named().filter(|(_, mark)| !is_due(mark)).map(|(_, mark)| mark.looked.plus(FILE_POLL)).min())
    }
}

impl Bridge {
    /// Listens for the sessions that are followed and whose store may tell of them, and for no other.
    pub(super) fn listen_to_stores(&mut self) {
        let now = self.now;
        let mut kind = None;
        let mut streams = BTreeMap::new();
        for no in self.streams.numbers() {
            let Some(stored) = self.streams.stream(no).and_then(|stream| stream.follower.source().stored.clone())
            else {
                continue;
            };
            if self.is_used(no) && self.streams.feed_mut(no).is_some_and(|feed| feed.is_announced()) {
                let mark = self.announced.streams.remove(&no);
                kind = Some(stored.kind);
                streams.insert(no, mark.unwrap_or_else(|| Mark::new(stored.session, now.mono)));
            }
        }
        self.announced.streams = streams;
        let Some(kind) = kind else {
            if self.announced.events.take().is_some() {
                self.ops.cancel(Owner::Announced, &mut self.outputs);
            }
            return;
        };
        self.announced.streams.values_mut().for_each(|mark| mark.tick(now.mono));
        if self.announced.events.is_none() {
            self.announced.events = kind.events(&self.config.roots);
        }
        if let Some(events) = &mut self.announced.events {
            events.listen(now);
            self.ops.issue_all(Owner::Announced, events, &mut self.outputs);
        }
    }

    /// A store told something, or there is an answer on the way to that.
    pub(super) fn announced_outcome(&mut self, tag: Tag, outcome: Outcome<'_>) {
        let now = self.now;
        let Some(events) = &mut self.announced.events else { return };
        events.handle_outcome(now, tag, outcome);
        self.ops.issue_all(Owner::Announced, events, &mut self.outputs);
        let Some(event) = events.take_told() else { return };
        self.announced.hear(&event, now.mono);
        let (due, next) = self.announced.due(now.mono);
        for no in due {
            self.look_at_store(no);
        }
        if let Some(next) = next {
            self.timers.no_later(Timer::FilePoll, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pane::simulated::at;

    fn moment(millis: u64) -> Instant {
        at(millis).mono
    }

    fn mark() -> Mark {
        Mark::new(SessionId::from("ses_1"), moment(0))
    }

    /// A change that is told of and found.
    fn change(mark: &mut Mark, millis: u64) {
        mark.name(moment(millis));
        mark.look_begins(moment(millis));
        mark.find(moment(millis));
    }

    #[test]
    fn it_rests_when_changes_were_told_of_some_times_in_a_row() {
        let mut mark = mark();
        for n in 0..u64::from(TRUSTED_AFTER) {
            assert!(!mark.rests());
            change(&mut mark, n * 1_000);
        }
        assert!(mark.rests());
        // Named: it is looked at, and rests again.
        mark.name(moment(9_000));
        assert!(!mark.rests());
        mark.look_begins(moment(9_100));
        assert!(mark.rests());
    }

    #[test]
    fn a_change_that_nobody_told_of_ends_that() {
        let mut mark = mark();
        (0..3).for_each(|n| change(&mut mark, n));
        mark.look_begins(moment(2_000));
        mark.find(moment(2_010));
        // It may still be told of.
        mark.tick(moment(2_200));
        mark.name(moment(2_210));
        mark.look_begins(moment(2_260));
        assert!(mark.rests());
        mark.look_begins(moment(4_000));
        mark.find(moment(4_010));
        assert!(!mark.rests());
        mark.tick(moment(4_261));
        assert_eq!((mark.told, mark.rests()), (0, false));
        (0..2).for_each(|n| change(&mut mark, 5_000 + n));
        assert!(!mark.rests());
        change(&mut mark, 6_000);
        assert!(mark.rests());
    }

    #[test]
    fn who_is_named_often_is_looked_at_as_often_as_by_the_poll() {
        let mut announced = Announced::default();
        announced.streams.insert(1, mark());
        announced.streams.insert(2, Mark::new(SessionId::from("ses_2"), moment(0)));
        announced.hear(br#"{"sessionID":"ses_1"}"#, moment(100));
        assert_eq!(announced.due(moment(100)), (alloc::vec![], Some(moment(250))));
        announced.hear(br#"{"sessionID":"ses_1"}"#, moment(300));
        assert_eq!(announced.due(moment(300)), (alloc::vec![1], None));
        assert!(announced.look_begins(1, moment(300)) && !announced.look_begins(2, moment(300)));
        assert_eq!(announced.due(moment(400)), (alloc::vec![], None));
    }
}
