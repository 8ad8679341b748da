//! One table for every deadline of the core, each with its reason.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::ids::ExId;
use crate::io::Why;
use crate::time::Instant;

/// What becomes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// Every watched file is looked at: one ticker for all.
    FilePoll,
    /// A watched pane is asked for its session.
    SessionPoll(u64),
    /// The children of a watched session are looked at.
    Roster(u64),
    /// A client is pinged, or found silent or stalled.
    Liveness(ExId),
    /// A stream without clients is dropped.
    Grace(u64),
    /// An agent had time to take what was typed.
    Errand(u64),
    /// Changes are looked for, for those who follow events.
    Events,
    /// Whoever wants a list is shown what was counted by now.
    Tallies,
    /// A count that did not come farther is given up.
    Tally(u64),
    /// A message that could not be pushed is tried again.
    Push(u64),
    /// An attached pane is looked at, or its client pinged or found silent.
    Attached(ExId),
    /// The demo conversation goes on.
    Demo,
}

impl Timer {
    const fn why(self) -> Why {
        match self {
            Self::FilePoll => Why::FilePoll,
            Self::SessionPoll(_) => Why::SessionPoll,
            Self::Roster(_) => Why::RosterPoll,
            Self::Liveness(_) => Why::ClientLiveness,
            Self::Grace(_) => Why::Grace,
            Self::Errand(_) => Why::Typing,
            Self::Events => Why::EventsPoll,
            Self::Tallies | Self::Tally(_) => Why::Tally,
            Self::Push(_) => Why::Push,
            Self::Attached(_) => Why::Attached,
            Self::Demo => Why::Demo,
        }
    }
}

/// The table: each timer at most once.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    due: BTreeSet<(Instant, Timer)>,
    at: BTreeMap<Timer, Instant>,
}

impl Timers {
    /// Sets a timer, or moves it.
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        self.stop(timer);
        self.due.insert((at, timer));
        self.at.insert(timer, at);
    }

    /// Sets a timer, or moves it forward: it is due then at the latest.
    pub(crate) fn no_later(&mut self, timer: Timer, at: Instant) {
        if self.at.get(&timer).is_none_or(|set| at < *set) {
            self.set(timer, at);
        }
    }

    /// Whether a timer is set.
    pub(crate) fn is_set(&self, timer: Timer) -> bool {
        self.at.contains_key(&timer)
    }

    /// Stops a timer.
    pub(crate) fn stop(&mut self, timer: Timer) {
        if let Some(at) = self.at.remove(&timer) {
            self.due.remove(&(at, timer));
        }
    }

    /// The next deadline and its reason.
    pub(crate) fn next(&self) -> Option<(Instant, Why)> {
        self.due.first().map(|(at, timer)| (*at, timer.why()))
    }

    /// Takes a timer that is due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Timer> {
        let (at, timer) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.stop(timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_is_next_and_each_comes_once() {
        let at = Instant::from_millis;
        let mut timers = Timers::default();
        timers.set(Timer::Demo, at(30));
        timers.no_later(Timer::FilePoll, at(22));
        timers.no_later(Timer::FilePoll, at(20));
        timers.no_later(Timer::FilePoll, at(21));
        timers.set(Timer::Grace(1), at(10));
        timers.set(Timer::Grace(1), at(25));
        assert_eq!(timers.next(), Some((at(20), Why::FilePoll)));
        assert_eq!(timers.take_due(at(19)), None);
        assert_eq!(
            [timers.take_due(at(25)), timers.take_due(at(25)), timers.take_due(at(25))],
            [Some(Timer::FilePoll), Some(Timer::Grace(1)), None]
        );
        timers.stop(Timer::Demo);
        assert_eq!(timers.next(), None);
    }
}
