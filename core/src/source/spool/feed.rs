//! A spool and who feeds it: what a followed session of such a store is made of beside its follower.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use core::fmt;

use super::{Spool, Stored};
use crate::agent::drift::Drift;
use crate::io::{Op, Outcome};
use crate::limits::STORE_FIRST_LOOK;
use crate::machine::{Machine, Tag, of_side};
use crate::time::{Instant, Now};

/// Looks at the store of one session and hands over what has settled in it.
pub trait Feeder: Machine + fmt::Debug + Send {
    /// Begins a look at the store. Comes only when none goes on.
    fn look(&mut self, now: Now, spool: &Spool);

    /// Goes on with the look: hands over what is settled, while the spool has room. Comes after [`look`](Self::look), after
    /// every outcome, and when there is room again. If the spool has another [life](Spool::life) than when the look began, the
    /// look is over.
    fn go_on(&mut self, now: Now, spool: &mut Spool);

    /// Whether a look goes on.
    fn is_looking(&self) -> bool;

    /// The session lies elsewhere from now on. A store of which every session lies in the same place is not told.
    fn relocate(&mut self, _stored: &Stored) {}

    /// Whether the store that was looked at last may tell of its changes by itself.
    fn is_announced(&self) -> bool {
        false
    }

    /// Takes what went wrong since this was asked last, for the operator.
    fn take_trouble(&mut self) -> Option<String>;

    /// Takes what was met and is not known since this was asked last.
    fn take_drift(&mut self) -> Drift;
}

/// What a feed has to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedEvent {
    /// The first look has come to its end: the spool holds what the store holds, as far as that could be read. Or that look
    /// has told nothing for [`STORE_FIRST_LOOK`], and the spool holds what was told before. Comes once.
    Ready,
    /// The spool has grown.
    Appended {
        /// Whether there are entries in what was appended, and not bookkeeping alone.
        entries: bool,
    },
    /// Something is wrong, in words for the operator. It is tried again.
    Trouble(String),
}

/// A spool with its feeder.
#[derive(Debug)]
pub struct Feed {
    spool: Spool,
    feeder: Box<dyn Feeder>,
    /// Somebody wants a look, and the spool is not open yet.
    wanted: bool,
    /// A look was begun; and one has come to its end.
    looked: bool,
    /// The life of the spool in which it was begun.
    life: Option<u32>,
    ready: bool,
    /// When the store told something last, or should have begun to.
    told_at: Option<Instant>,
    told: Option<String>,
    events: VecDeque<FeedEvent>,
}

/// Whose operation a tag names.
const SIDES: u32 = 2;
const SPOOL: u32 = 0;
const FEEDER: u32 = 1;

impl Feed {
    /// A feed that has done nothing yet.
    #[must_use]
    pub fn new(spool: Spool, feeder: Box<dyn Feeder>) -> Self {
        Self {
            spool,
            feeder,
            wanted: false,
            looked: false,
            life: None,
            ready: false,
            told_at: None,
            told: None,
            events: VecDeque::new(),
        }
    }

    /// Looks at the store, unless it is looking.
    pub fn look(&mut self, now: Now) {
        self.wanted |= !self.feeder.is_looking();
        // It may have been given up in the middle of a look: a disk was full.
        self.spool.begin();
        self.go_on(now);
    }

    /// Something may have changed: looks now, or right after the look that goes on, which may have come too early.
    pub fn hint(&mut self, now: Now) {
        self.wanted = true;
        self.spool.begin();
        self.go_on(now);
    }

    /// Whether its store may tell of its changes by itself.
    #[must_use]
    pub fn is_announced(&self) -> bool {
        self.feeder.is_announced()
    }

    /// The session lies elsewhere from now on.
    pub fn relocate(&mut self, stored: &Stored) {
        self.spool.recorded_by(stored);
        self.feeder.relocate(stored);
    }

    /// Takes the oldest event.
    pub fn poll_event(&mut self) -> Option<FeedEvent> {
        self.events.pop_front()
    }

    /// Takes what was met and is not known.
    pub fn take_drift(&mut self) -> Drift {
        self.feeder.take_drift()
    }

    fn go_on(&mut self, now: Now) {
        if self.spool.is_open() {
            self.look_on(now);
            self.spool.go_on(now);
        }
        if self.spool.take_appended() {
            self.told_at = Some(now.mono);
            self.events.push_back(FeedEvent::Appended { entries: self.spool.take_entries() });
        }
        let trouble = self.spool.take_trouble();
        let failed = trouble.is_some();
        let trouble = trouble.or_else(|| self.feeder.take_trouble());
        if trouble.is_some() && trouble != self.told {
            self.told.clone_from(&trouble);
            self.events.extend(trouble.map(FeedEvent::Trouble));
        }
        let fed = self.looked && !self.feeder.is_looking() && self.spool.is_open() && self.spool.is_written();
        if (fed || failed || self.is_late(now)) && !self.ready {
            self.ready = true;
            self.events.push_back(FeedEvent::Ready);
        }
    }

    /// Goes on with the look, and begins the next one if it is wanted, or if the spool began anew in the middle of this one.
    fn look_on(&mut self, now: Now) {
        self.feeder.go_on(now, &mut self.spool);
        let is_overtaken = self.looked && self.life != Some(self.spool.life());
        if (self.wanted || is_overtaken) && !self.feeder.is_looking() {
            (self.wanted, self.looked, self.life) = (false, true, Some(self.spool.life()));
            self.feeder.look(now, &self.spool);
            self.feeder.go_on(now, &mut self.spool);
        }
    }

    /// Whether there is something to show, and the store does not say whether that is all.
    fn is_late(&mut self, now: Now) -> bool {
        let since = *self.told_at.get_or_insert(now.mono);
        self.spool.is_open() && !self.spool.is_empty() && now.mono.since(since) >= STORE_FIRST_LOOK
    }
}

impl Machine for Feed {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.spool
            .poll_op()
            .map(of_side::<SIDES>(SPOOL))
            .or_else(|| self.feeder.poll_op().map(of_side::<SIDES>(FEEDER)))
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        let (side, inner) = tag.side::<SIDES>();
        if side == SPOOL {
            self.spool.handle_outcome(now, inner, outcome);
        } else {
            self.feeder.handle_outcome(now, inner, outcome);
        }
        self.go_on(now);
    }
}
