//! herdr's own events as hints: each asks for a look, and what the look finds is what counts.
//!
//! ```text
//!  survey ── of each server that answered ──▶ Op::Listen ── a line ──▶ look: at once, but not sooner than the rest after the last
//!                  ▲                              └ its end, a refusal, a flood: tried again later, and the poll goes on
//!                  └──────────── nobody to look for: everything is hung up
//! ```
//!
//! Whoever is attached to a pane of a server listens to it, too, survey or not: that look is its own.
//!
//! A stream that tells of nothing, or of too much, costs no more than the poll: the rest doubles while looks find nothing.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use super::Bridge;
use super::ops::Owner;
use crate::io::{Level, Outcome, Output};
use crate::limits::{EVENTS_HINT_REST, EVENTS_POLL, LISTEN_AGAIN, MAX_HERDR_EVENTS};
use crate::machine::Tag;
use crate::pane::herdr::{HerdrSession, is_started, listen};
use crate::pane::survey::Surveyed;
use crate::time::Instant;
use crate::timers::Timer;

/// The servers of herdr that are listened to.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    last: u64,
    servers: BTreeMap<HerdrSession, Listener>,
    /// Whether something was heard since the last look began.
    hinted: bool,
    /// Whether the look under way was asked for by what was heard.
    looks: bool,
    /// How long hints rest beyond the shortest time.
    slower: Duration,
    /// Before this no hint makes a look.
    not_before: Instant,
    /// Whether all that the last look found would be told.
    tells_all: bool,
}

#[derive(Debug)]
struct Listener {
    no: u64,
    /// When it was asked last.
    asked: Instant,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It has not answered yet.
    Asked,
    /// It tells, and so often since the last look.
    Tells(u32),
    /// It does not tell.
    Over,
}

impl Listeners {
    /// A look begins: what was heard until now is answered by it.
    pub(super) fn look_begins(&mut self) {
        self.looks = core::mem::take(&mut self.hinted);
        for listener in self.servers.values_mut() {
            if let Stage::Tells(events) = &mut listener.stage {
                *events = 0;
            }
        }
    }

    /// A look is over; it found something new, or not. `rest` is what must lie before the next one.
    pub(super) fn look_ended(&mut self, now: Instant, found: bool, rest: Duration) {
        self.slower = match (self.looks, found) {
            (true, false) => self.slower.max(EVENTS_HINT_REST).saturating_mul(2).min(EVENTS_POLL),
            _ => Duration::ZERO,
        };
        self.not_before = now.plus(self.slower.max(EVENTS_HINT_REST).max(rest));
    }

    /// No server answered.
    pub(super) fn look_failed(&mut self) {
        self.tells_all = false;
    }

    /// When the next look is due because of what was heard.
    pub(super) fn next_look(&self) -> Option<Instant> {
        self.hinted.then_some(self.not_before)
    }

    /// Whether all that the last look found would be told if it changed.
    pub(super) fn tell_all(&self) -> bool {
        self.tells_all
    }

    fn find(&mut self, no: u64) -> Option<(&HerdrSession, &mut Listener)> {
        self.servers.iter_mut().find(|(_, listener)| listener.no == no)
    }
}

impl Bridge {
    /// Listens to every server that answered, and to no other.
    pub(super) fn listen_to(&mut self, surveyed: &Surveyed) {
        let answered = |session: &HerdrSession| surveyed.servers.iter().any(|(server, _)| server == session);
        let failed = |session: &HerdrSession| surveyed.failed.iter().any(|(server, _)| server == session);
        let known = self.listeners.servers.iter();
        let gone: Vec<HerdrSession> = known
            .map(|(session, _)| session)
            .filter(|session| !answered(session) && !failed(session) && !self.attached.needs(session))
            .cloned()
            .collect();
        for session in gone {
            if let Some(listener) = self.listeners.servers.remove(&session) {
                self.ops.cancel(Owner::Listener(listener.no), &mut self.outputs);
            }
        }
        for (session, _) in &surveyed.servers {
            self.listen_to_server(session);
        }
        let tells = |(session, _): &(HerdrSession, _)| {
            self.listeners.servers.get(session).is_some_and(|listener| matches!(listener.stage, Stage::Tells(_)))
        };
        // What an agent does is not told: see `pane::herdr::subscription`.
        self.listeners.tells_all = surveyed.agents.is_empty()
            && surveyed.failed.is_empty()
            && !surveyed.servers.is_empty()
            && surveyed.servers.iter().all(tells);
    }

    /// Listens to the server of a pane to which somebody is attached, who has just looked.
    pub(super) fn listen_for_attached(&mut self, session: &HerdrSession) {
        if let Some(Listener { stage: Stage::Tells(events), .. }) = self.listeners.servers.get_mut(session) {
            *events = 0;
        }
        self.listen_to_server(session);
    }

    fn listen_to_server(&mut self, session: &HerdrSession) {
        let may_ask = !self.stopping
            && self.listeners.servers.get(session).is_none_or(|listener| {
                listener.stage == Stage::Over && self.now.mono.since(listener.asked) >= LISTEN_AGAIN
            });
        if may_ask && let Some(op) = listen(session, &self.config.herdr) {
            self.listeners.last = self.listeners.last.saturating_add(1);
            let no = self.listeners.last;
            let listener = Listener { no, asked: self.now.mono, stage: Stage::Asked };
            self.listeners.servers.insert(session.clone(), listener);
            self.ops.issue(Owner::Listener(no), Tag(0), op, &mut self.outputs);
        }
    }

    /// Listens to nobody any more, but for those who are attached.
    pub(super) fn stop_listening(&mut self) {
        let listeners = core::mem::take(&mut self.listeners);
        self.listeners.last = listeners.last;
        for (session, listener) in listeners.servers {
            if self.attached.needs(&session) {
                self.listeners.servers.insert(session, listener);
            } else {
                self.ops.cancel(Owner::Listener(listener.no), &mut self.outputs);
            }
        }
    }

    /// A server of herdr said something, or its stream has ended.
    pub(super) fn heard(&mut self, no: u64, outcome: Outcome<'_>) {
        let Some((session, listener)) = self.listeners.find(no) else { return };
        listener.stage = match (listener.stage, outcome) {
            (Stage::Asked, Outcome::Answer(line)) if is_started(line) => Stage::Tells(0),
            (Stage::Tells(events), Outcome::Answer(line)) if events < MAX_HERDR_EVENTS => {
                listener.stage = Stage::Tells(events + 1);
                let session = session.clone();
                self.tell_attached(&session, line);
                return self.look_soon();
            }
            (Stage::Tells(_), Outcome::Answer(_)) => {
                let text =
                    format!("herdr session {} tells too much: it is not listened to for a while", session.label());
                self.outputs.push_back(Output::Log(Level::Warn, text));
                Stage::Over
            }
            (Stage::Tells(_), _) => {
                listener.stage = Stage::Over;
                return self.look_soon();
            }
            (Stage::Asked | Stage::Over, _) => Stage::Over,
        };
        if listener.stage == Stage::Over {
            self.ops.cancel(Owner::Listener(no), &mut self.outputs);
        }
    }

    /// Something may have changed.
    fn look_soon(&mut self) {
        if !self.wants_surveys() {
            return;
        }
        self.listeners.hinted = true;
        if !self.is_surveying()
            && let Some(at) = self.listeners.next_look()
        {
            self.timers.no_later(Timer::Events, at.max(self.now.mono));
        }
    }
}
