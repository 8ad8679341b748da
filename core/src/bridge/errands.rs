//! `POST /send`, `/approve` and `/agent-mode/cycle`: what is done in panes, one request after another in each.
//!
//! A request whose client goes away goes on to its end: half of what was to be typed is worse than all of it.

use alloc::collections::{BTreeMap, VecDeque};

use super::Bridge;
use super::exchange::{Ending, Exchange};
use super::ops::Owner;
use crate::http::{Answer, ApproveCall, Manner, Refusal, SendCall};
use crate::ids::{ExId, PaneId};
use crate::io::{Level, Outcome, Output};
use crate::limits::{MAX_PANE_ERRANDS, MAX_REMEMBERED_APPROVALS};
use crate::machine::{Machine as _, Tag};
use crate::mobile::events::Event;
use crate::mobile::receipt::Receipt;
use crate::pane::errand::{Claim, Ended, Errand, Failed};
use crate::pane::name::PaneName;
use crate::timers::Timer;

/// The errands under way, and the approvals that were pressed.
#[derive(Debug, Default)]
pub(super) struct Errands {
    last: u64,
    open: BTreeMap<u64, Underway>,
    pressed: VecDeque<Claim>,
}

#[derive(Debug)]
struct Underway {
    ex: ExId,
    pane: PaneId,
    order: Order,
    errand: Errand,
    claim: Option<Claim>,
}

/// What was called, as far as others are told of it.
#[derive(Debug, Clone, Copy)]
enum Order {
    Send,
    /// With herdr's counter.
    Approve(u64),
    CycleMode,
}

impl Errands {
    /// The first errand of a pane is at it, the others wait.
    fn first_of(&self, pane: &PaneId) -> Option<u64> {
        self.open.iter().find(|(_, underway)| underway.pane == *pane).map(|(no, _)| *no)
    }

    fn of(&self, ex: ExId) -> Option<(u64, &Underway)> {
        self.open.iter().find(|(_, underway)| underway.ex == ex).map(|(no, underway)| (*no, underway))
    }

    /// Takes the right to confirm a question. It is given once.
    fn take_claim(&mut self, claim: &Claim) -> bool {
        if self.pressed.contains(claim) {
            return false;
        }
        if self.pressed.len() >= MAX_REMEMBERED_APPROVALS {
            self.pressed.pop_front();
        }
        self.pressed.push_back(claim.clone());
        true
    }

    fn give_back(&mut self, claim: &Claim) {
        self.pressed.retain(|pressed| pressed != claim);
    }
}

impl Bridge {
    pub(super) fn send(&mut self, ex: ExId, call: SendCall, manner: Manner) {
        let pane = call.pane.clone();
        let errand = Errand::send(self.now, &self.config.herdr, call);
        self.begin_errand(ex, pane, Order::Send, errand, manner);
    }

    pub(super) fn approve(&mut self, ex: ExId, call: ApproveCall, manner: Manner) {
        let (pane, order) = (call.pane.clone(), Order::Approve(call.seq));
        let errand = Errand::approve(self.now, &self.config.herdr, call);
        self.begin_errand(ex, pane, order, errand, manner);
    }

    pub(super) fn cycle_mode(&mut self, ex: ExId, pane: PaneId, manner: Manner) {
        let errand = Errand::cycle_mode(self.now, &self.config.herdr, pane.clone());
        self.begin_errand(ex, pane, Order::CycleMode, errand, manner);
    }

    fn begin_errand(&mut self, ex: ExId, pane: PaneId, order: Order, errand: Errand, manner: Manner) {
        if PaneName::of(&pane) != PaneName::Herdr {
            return self.answer(ex, Answer::text(501, NO_TERMINAL, &manner));
        }
        if self.errands.open.values().filter(|underway| underway.pane == pane).count() >= MAX_PANE_ERRANDS {
            return self.answer(ex, Answer::text(503, TOO_MANY, &manner));
        }
        self.exchanges.insert(ex, Exchange::Errand { manner });
        self.errands.last = self.errands.last.saturating_add(1);
        let no = self.errands.last;
        self.errands.open.insert(no, Underway { ex, pane: pane.clone(), order, errand, claim: None });
        self.run_next_errand(&pane);
    }

    fn run_next_errand(&mut self, pane: &PaneId) {
        if let Some(no) = self.errands.first_of(pane)
            && let Some(underway) = self.errands.open.get_mut(&no)
        {
            underway.errand.begin(self.now);
            self.run_errand(no);
        }
    }

    /// Goes on with an errand as far as it can go now.
    fn run_errand(&mut self, no: u64) {
        let Some(underway) = self.errands.open.get_mut(&no) else { return };
        if let Some(claim) = underway.errand.claims().cloned() {
            let granted = self.errands.take_claim(&claim);
            let Some(underway) = self.errands.open.get_mut(&no) else { return };
            underway.claim = granted.then_some(claim);
            underway.errand.handle_claim(self.now, granted);
        }
        let Some(underway) = self.errands.open.get_mut(&no) else { return };
        self.ops.issue_all(Owner::Errand(no), &mut underway.errand, &mut self.outputs);
        if let Some(until) = underway.errand.rests_until() {
            self.timers.set(Timer::Errand(no), until);
        }
        if let Some(result) = underway.errand.take_result() {
            self.settle_errand(no, result);
        }
    }

    /// An answer of herdr came.
    pub(super) fn errand_outcome(&mut self, no: u64, tag: Tag, outcome: Outcome<'_>) {
        if let Some(underway) = self.errands.open.get_mut(&no) {
            underway.errand.handle_outcome(self.now, tag, outcome);
            self.run_errand(no);
        }
    }

    /// An agent had its time.
    pub(super) fn resume_errand(&mut self, no: u64) {
        if let Some(underway) = self.errands.open.get_mut(&no) {
            underway.errand.handle_tick(self.now);
            self.run_errand(no);
        }
    }

    /// Who asked is gone. What has begun goes on.
    pub(super) fn leave_errand(&mut self, ex: ExId) {
        if let Some((no, underway)) = self.errands.of(ex)
            && self.errands.first_of(&underway.pane) != Some(no)
        {
            self.errands.open.remove(&no);
        }
    }

    /// Nothing more is typed, and nobody will say what became of the last key.
    pub(super) fn stop_errand(&mut self, ex: ExId, ending: &Ending, manner: &Manner) {
        let Some((no, underway)) = self.errands.of(ex) else { return };
        let unknown = if underway.errand.has_typed() { STOPPED_TYPING } else { "" };
        let text = [ending.text, unknown].concat();
        self.answer(ex, Answer::text(ending.status, &text, manner));
        if let Some(Underway { pane, .. }) = self.end_errand(no)
            && !self.stopping
        {
            self.run_next_errand(&pane);
        }
    }

    fn settle_errand(&mut self, no: u64, result: Result<Ended, Failed>) {
        let Some(Underway { ex, pane, order, claim, .. }) = self.end_errand(no) else { return };
        let is_unpressed = matches!(result, Err(Failed { is_unknown: false, .. }) | Ok(Ended::NotApproved(_)));
        if let Some(claim) = claim.filter(|_| is_unpressed) {
            // Nothing was pressed: it may be tried again.
            self.errands.give_back(&claim);
        }
        self.tell_of(&pane, order, &result);
        if let Err(Failed { status: 500.., body, .. }) = &result {
            self.outputs.push_back(Output::Log(Level::Warn, body.clone()));
        }
        if let Some(Exchange::Errand { manner }) = self.exchanges.remove(&ex) {
            let answer = answer_of(result, &manner);
            self.answer(ex, answer);
        }
        self.run_next_errand(&pane);
    }

    /// Tells those who follow events of what was done.
    fn tell_of(&mut self, pane: &PaneId, order: Order, result: &Result<Ended, Failed>) {
        match (order, result) {
            (Order::Approve(seq), Ok(Ended::Approved)) => {
                self.publish(&Event::approve_applied(pane, seq, true, None));
            }
            (Order::Approve(seq), Ok(Ended::NotApproved(reason))) => {
                self.publish(&Event::approve_applied(pane, seq, false, Some(reason)));
            }
            (Order::CycleMode, Ok(Ended::Cycled(mode) | Ended::NotCycled(mode))) => {
                self.publish(&Event::mode_cycled(pane, mode.as_deref()));
            }
            _ => {}
        }
    }

    fn end_errand(&mut self, no: u64) -> Option<Underway> {
        self.timers.stop(Timer::Errand(no));
        self.ops.cancel(Owner::Errand(no), &mut self.outputs);
        self.errands.open.remove(&no)
    }
}

fn answer_of(result: Result<Ended, Failed>, manner: &Manner) -> Answer {
    let receipt = match result {
        Ok(Ended::Sent) => Receipt::Sent { ok: true },
        Ok(Ended::Approved) => Receipt::Approval { ok: true, applied: true, reason: None },
        Ok(Ended::NotApproved(reason)) => Receipt::Approval { ok: true, applied: false, reason: Some(reason) },
        Ok(Ended::Cycled(permission_mode)) => Receipt::Mode { ok: true, cycled: true, permission_mode },
        Ok(Ended::NotCycled(permission_mode)) => Receipt::Mode { ok: true, cycled: false, permission_mode },
        Ok(Ended::Refused(status, text)) => return Refusal::new(status, &text, manner).into(),
        Err(Failed { status, body, .. }) => return Refusal::new(status, &body, manner).into(),
    };
    Answer::json(&receipt, manner)
}

const NO_TERMINAL: &str = "nothing can be typed into this pane: only panes of herdr have a terminal";

const TOO_MANY: &str = "too many requests wait to type into this pane: try again later";

const STOPPED_TYPING: &str = "; whether everything was typed is not known: look at the pane before you try again";
