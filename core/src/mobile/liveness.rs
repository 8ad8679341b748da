//! Whether a client is still there: pings, silence and stalls.

use core::time::Duration;

use crate::limits::{COMMON_MOMENTS, PING_EVERY, SILENCE, STALL};
use crate::time::Instant;

/// The signs of life of one client.
#[derive(Debug)]
pub(crate) struct Liveness {
    heard: Instant,
    next_ping: Instant,
    /// Since when data waits of which nothing was taken.
    waiting_since: Option<Instant>,
}

/// What the time has come for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Ping,
    Silent,
    Stalled,
}

impl Liveness {
    pub(crate) fn new(now: Instant) -> Self {
        Self { heard: now, next_ping: next_common(now, PING_EVERY), waiting_since: None }
    }

    /// Anything came from it.
    pub(crate) const fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// Something is on its way to it.
    pub(crate) fn sent(&mut self, now: Instant) {
        self.waiting_since.get_or_insert(now);
    }

    /// It took something; `waits`: there is more. Whoever makes room in a full queue is there, and the ping that it should
    /// answer may still wait in that queue.
    pub(crate) fn taken(&mut self, now: Instant, waits: bool) {
        self.waiting_since = waits.then_some(now);
        if waits {
            self.heard = now;
        }
    }

    /// The most urgent thing to do at `now`. A client that is held cannot be heard: its silence does not count.
    pub(crate) fn due(&mut self, now: Instant, held: bool) -> Option<Due> {
        if self.waiting_since.is_some_and(|since| now >= since.plus(STALL)) {
            return Some(Due::Stalled);
        }
        if held {
            self.heard = now;
        }
        if now >= self.heard.plus(SILENCE) {
            return Some(Due::Silent);
        }
        (now >= self.next_ping).then(|| {
            self.next_ping = next_common(now, PING_EVERY);
            Due::Ping
        })
    }

    /// When [`due`](Self::due) has something to say.
    pub(crate) fn next_deadline(&self, held: bool) -> Instant {
        let stalled = self.waiting_since.map(|since| since.plus(STALL));
        let silent = (!held).then(|| self.heard.plus(SILENCE));
        [stalled, silent].into_iter().flatten().fold(self.next_ping, Ord::min)
    }
}

/// The last moment within `every` from now that is shared with other clients.
pub(crate) fn next_common(now: Instant, every: Duration) -> Instant {
    now.plus(every).rounded_down_to(COMMON_MOMENTS)
}
