//! `WS /events`: who follows it, and what they are told.
//!
//! ```text
//!   upgrade ── a survey ──▶ accepted, snapshot ──▶ every second while somebody follows: a survey, and what has changed
//!                  └ herdr does not answer: 502      sooner where herdr's own events say so; what is done here at once
//! ```

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use serde_json::Value;

use super::Bridge;
use super::exchange::Exchange;
use crate::http::Manner;
use crate::ids::ExId;
use crate::io::{CloseCode, Message, Output};
use crate::limits::{EVENTS_POLL, EVENTS_REST, EVENTS_SAFETY_POLL, PUSH_POLL, STANDALONE_POLL};
use crate::mobile::changes::Changes;
use crate::mobile::events::{self, Event};
use crate::mobile::subscriber::Subscriber;
use crate::pane::herdr::HerdrSession;
use crate::pane::survey::Surveyed;
use crate::time::Instant;
use crate::timers::Timer;

/// The clients that follow events, and what they have been told.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The number of the last event.
    seq: u64,
    subscribers: BTreeMap<ExId, Subscriber>,
    /// What was shown last, as long as somebody follows.
    shown: Option<Changes>,
    /// The same as a first frame, with the number of the last event then. Whoever comes before the next survey shares it.
    first: Option<(u64, Bytes)>,
    /// Whether there is no herdr: sessions on disk are not looked for so often.
    standalone: bool,
}

impl Bridge {
    /// Tells everybody who follows events. Where nobody does, it is numbered and forgotten.
    pub(super) fn publish(&mut self, event: &Event) {
        self.events.seq = self.events.seq.saturating_add(1);
        if self.events.subscribers.is_empty() {
            return;
        }
        let (now, frame) = (self.now.mono, event.frame(self.events.seq, self.now.wall));
        for subscriber in self.events.subscribers.values_mut() {
            subscriber.send(now, frame.clone(), &mut self.outputs);
        }
        self.drop_closed();
    }

    /// Lets a client follow: at once if others do and nothing has happened since they were last looked at for.
    pub(super) fn follow_events(&mut self, ex: ExId, manner: Manner) {
        match self.events.first.clone().filter(|(seq, _)| *seq == self.events.seq) {
            Some((_, first)) => self.welcome(ex, first),
            None => self.snapshot(ex, manner, true),
        }
    }

    /// Lets a client in, which begins with what was just found.
    pub(super) fn subscribe(&mut self, ex: ExId, body: &Value) {
        if self.events.shown.is_none() {
            self.events.shown.insert(Changes::default()).begin(body);
        }
        let (seq, now) = (self.events.seq, self.now.wall);
        let (_, first) = self.events.first.get_or_insert_with(|| (seq, events::snapshot(body, seq, now))).clone();
        self.welcome(ex, first);
    }

    fn welcome(&mut self, ex: ExId, first: Bytes) {
        let now = self.now.mono;
        self.outputs.push_back(Output::Accept(ex));
        let mut subscriber = Subscriber::new(ex, self.config.limits.window_bytes, now);
        subscriber.send(now, first, &mut self.outputs);
        self.timers.set(Timer::Liveness(ex), subscriber.next_deadline());
        self.events.subscribers.insert(ex, subscriber);
        self.exchanges.insert(ex, Exchange::Subscribed);
    }

    /// A client that follows is gone. Without the last one nothing is looked at any more.
    pub(super) fn unsubscribe(&mut self, ex: ExId) {
        self.timers.stop(Timer::Liveness(ex));
        self.events.subscribers.remove(&ex);
        if self.events.subscribers.is_empty() {
            (self.events.shown, self.events.first) = (None, None);
            if !self.is_pushing() {
                self.timers.stop(Timer::Events);
                self.stop_listening();
            }
        }
    }

    /// Closes a client that follows.
    pub(super) fn close_subscriber(&mut self, ex: ExId, code: CloseCode, reason: &'static str) {
        if let Some(subscriber) = self.events.subscribers.get_mut(&ex) {
            subscriber.close(code, reason, &mut self.outputs);
        }
    }

    /// Tells what has changed since the survey before; whether there was anything.
    pub(super) fn tell_changes(&mut self, surveyed: &Surveyed, body: &Value) -> bool {
        self.events.standalone = surveyed.servers.is_empty();
        self.events.first = None;
        let Some(shown) = &mut self.events.shown else { return false };
        let failed = surveyed.failed.iter().map(|(session, why)| (session.label(), why.as_str()));
        let changes = shown.update(body, failed);
        for event in &changes {
            self.publish(event);
        }
        !changes.is_empty()
    }

    /// Tells that herdr does not answer; whether that is news.
    pub(super) fn tell_loss(&mut self, failed: &[(HerdrSession, String)]) -> bool {
        self.events.first = None;
        let Some(shown) = &mut self.events.shown else { return false };
        let lost: Vec<Event> = failed.iter().filter_map(|(session, why)| shown.lose(session.label(), why)).collect();
        for event in &lost {
            self.publish(event);
        }
        !lost.is_empty()
    }

    /// A survey is over, and found something new, or not: the next one comes after a while, a longer one if this took long.
    pub(super) fn survey_again(&mut self, began: Instant, found: bool) {
        let now = self.now.mono;
        let rest = now.since(began).saturating_mul(EVENTS_REST);
        self.listeners.look_ended(now, found, rest);
        if self.wants_surveys() {
            let every = match (self.events.standalone, &self.events.shown) {
                (true, _) => STANDALONE_POLL,
                (false, _) if self.listeners.tell_all() => EVENTS_SAFETY_POLL,
                (false, Some(_)) => EVENTS_POLL,
                (false, None) => PUSH_POLL,
            };
            let next = now.plus(every.max(rest));
            self.timers.set(Timer::Events, self.listeners.next_look().map_or(next, |hinted| hinted.min(next)));
        }
    }

    /// Looks for changes, for those who follow.
    pub(super) fn look_for_changes(&mut self) {
        if self.wants_surveys() {
            self.begin_survey();
        }
    }

    /// Whether there is anybody for whom changes are looked for.
    pub(super) fn wants_surveys(&self) -> bool {
        self.has_followers() || self.is_pushing()
    }

    /// Whether anybody follows.
    pub(super) fn has_followers(&self) -> bool {
        self.events.shown.is_some()
    }

    pub(super) fn subscriber_message(&mut self, ex: ExId, message: Message<'_>) {
        let now = self.now.mono;
        if let Some(subscriber) = self.events.subscribers.get_mut(&ex) {
            subscriber.handle_message(now, message, &mut self.outputs);
            self.drop_closed();
        }
    }

    pub(super) fn subscriber_taken(&mut self, ex: ExId, bytes: usize) {
        let now = self.now.mono;
        if let Some(subscriber) = self.events.subscribers.get_mut(&ex) {
            subscriber.handle_taken(now, bytes, &mut self.outputs);
        }
    }

    pub(super) fn check_subscriber(&mut self, ex: ExId) {
        if let Some(subscriber) = self.events.subscribers.get_mut(&ex) {
            subscriber.handle_tick(self.now, &mut self.outputs);
            self.timers.set(Timer::Liveness(ex), subscriber.next_deadline());
            self.drop_closed();
        }
    }

    fn drop_closed(&mut self) {
        let closed = self.events.subscribers.iter().filter(|(_, subscriber)| subscriber.is_closed());
        let closed: Vec<ExId> = closed.map(|(ex, _)| *ex).collect();
        for ex in closed {
            self.forget(ex);
        }
    }
}
