//! Push: watches for agents that need a person while somebody is to be told, and tells them.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;

use super::Bridge;
use super::ops::Owner;
use crate::config::{HerdrMode, PushDetail};
use crate::io::{Level, Outcome, Output};
use crate::limits::{MAX_PUSHES, PUSHES_AT_ONCE};
use crate::machine::{Machine as _, Tag};
use crate::mobile::card::{Card, Known};
use crate::mobile::events::Event;
use crate::pane::inspect::{Inspect, Inspection};
use crate::pane::survey::Surveyed;
use crate::push::{Alert, Delivery, Message, Watcher};
use crate::timers::Timer;

/// The agents that are watched, and the messages that are made or on their way.
#[derive(Debug, Default)]
pub(super) struct Push {
    watcher: Watcher,
    last: u64,
    open: BTreeMap<u64, Step>,
}

#[derive(Debug)]
enum Step {
    /// What the agent asks is being looked at.
    Looking(Box<(Alert, Inspect)>),
    /// The message waits until there is room at its target, or is on its way there.
    Sending(Box<Sending>),
}

#[derive(Debug)]
struct Sending {
    alert: Alert,
    /// Its place among the configured ones.
    target: usize,
    delivery: Delivery,
    begun: bool,
}

impl Push {
    fn add(&mut self, step: Step) -> Option<u64> {
        let alike = match &step {
            Step::Looking(..) => self.open.values().filter(|other| matches!(other, Step::Looking(..))).count(),
            Step::Sending(sending) => self.sent_to(sending.target).count(),
        };
        if alike >= MAX_PUSHES {
            return None;
        }
        self.last = self.last.saturating_add(1);
        self.open.insert(self.last, step);
        Some(self.last)
    }

    fn sent_to(&self, target: usize) -> impl Iterator<Item = (u64, &Sending)> {
        self.open.iter().filter_map(move |(no, step)| match step {
            Step::Sending(sending) if sending.target == target => Some((*no, &**sending)),
            _ => None,
        })
    }

    /// The next message that there is room for at this target.
    fn next_for(&self, target: usize) -> Option<u64> {
        let begun = self.sent_to(target).filter(|(_, sending)| sending.begun).count();
        let waiting = self.sent_to(target).find(|(_, sending)| !sending.begun);
        waiting.filter(|_| begun < PUSHES_AT_ONCE).map(|(no, _)| no)
    }
}

impl Bridge {
    /// Whether agents are watched for somebody who is to be told.
    pub(super) fn is_pushing(&self) -> bool {
        !self.config.push.targets.is_empty() && self.config.herdr.mode != HerdrMode::Off && !self.stopping
    }

    /// Takes what agents do now; whether there was anything to tell.
    pub(super) fn watch_for_push(&mut self, surveyed: &Surveyed) -> bool {
        if !self.is_pushing() {
            return false;
        }
        let agents = surveyed.agents.values().filter_map(|facts| facts.agent.as_ref());
        let alerts =
            self.push.watcher.observe(agents, |session| surveyed.failed.iter().any(|(down, _)| down == session));
        let found = !alerts.is_empty();
        for alert in alerts {
            if self.config.push.detail == PushDetail::Full {
                let inspect = Inspect::new(self.now, &self.config.herdr, alert.agent.pane.clone());
                self.begin_push(Step::Looking(Box::new((alert, inspect))));
            } else {
                self.send_push(&alert, None);
            }
        }
        found
    }

    pub(super) fn push_outcome(&mut self, no: u64, tag: Tag, outcome: Outcome<'_>) {
        let now = self.now;
        match self.push.open.get_mut(&no) {
            Some(Step::Looking(looking)) => looking.1.handle_outcome(now, tag, outcome),
            Some(Step::Sending(sending)) => sending.delivery.handle_outcome(now, tag, outcome),
            None => {}
        }
        self.run_push(no);
    }

    /// Its time has come: tries again.
    pub(super) fn push_again(&mut self, no: u64) {
        if let Some(Step::Sending(sending)) = self.push.open.get_mut(&no) {
            sending.delivery.handle_tick(self.now);
            self.run_push(no);
        }
    }

    fn begin_push(&mut self, step: Step) {
        let target = if let Step::Sending(sending) = &step { Some(sending.target) } else { None };
        match (self.push.add(step), target) {
            (Some(_), Some(target)) => self.send_next(target),
            (Some(no), None) => self.run_push(no),
            (None, _) => self.log_push(Level::Warn, "too much is being pushed: a message is not sent".into()),
        }
    }

    /// Begins with the next message for this target, if there is one and room for it.
    fn send_next(&mut self, target: usize) {
        let Some(no) = self.push.next_for(target) else { return };
        if let Some(Step::Sending(sending)) = self.push.open.get_mut(&no) {
            sending.begun = true;
            self.run_push(no);
        }
    }

    fn run_push(&mut self, no: u64) {
        let ended = match self.push.open.get_mut(&no) {
            Some(Step::Looking(looking)) => {
                self.ops.issue_all(Owner::Push(no), &mut looking.1, &mut self.outputs);
                let Some(looked) = looking.1.take_result() else { return };
                let Some(Step::Looking(looking)) = self.push.open.remove(&no) else { return };
                // What cannot be looked at is told without.
                let card = looked.ok().map(|found| card_of(&found));
                return self.send_push(&looking.0, card.as_ref());
            }
            Some(Step::Sending(sending)) => {
                let delivery = &mut sending.delivery;
                self.ops.issue_all(Owner::Push(no), delivery, &mut self.outputs);
                if let Some(until) = delivery.deadline() {
                    self.timers.set(Timer::Push(no), until);
                }
                delivery.take_result()
            }
            None => return,
        };
        let Some(ended) = ended else { return };
        let Some(Step::Sending(sending)) = self.push.open.remove(&no) else { return };
        let Sending { alert, target, .. } = *sending;
        match ended {
            Ok(()) => {
                let event = Event::of_bridge("push_sent").with("pane", alert.agent.pane.as_str());
                self.publish(&event.with("status", alert.entered.label()));
            }
            Err(why) => self.log_push(Level::Warn, why),
        }
        self.send_next(target);
    }

    fn send_push(&mut self, alert: &Alert, card: Option<&Card>) {
        let message = Message::of(alert, &self.config.server, self.config.push.detail, card);
        for (target, to) in self.config.push.targets.clone().iter().enumerate() {
            let delivery = Delivery::new(to, &message);
            let sending = Sending { alert: alert.clone(), target, delivery, begun: false };
            self.begin_push(Step::Sending(Box::new(sending)));
        }
    }

    fn log_push(&mut self, level: Level, text: String) {
        self.outputs.push_back(Output::Log(level, text));
    }
}

fn card_of(found: &Inspection) -> Card {
    Card::of(&Known {
        pane: &found.agent.pane,
        kind: &found.agent.kind_label,
        status: Some(&found.agent.status),
        title: found.agent.title.as_deref(),
        screen: found.screen.as_deref(),
        recent: None,
    })
}
