//! `WS /attach`: clients at the terminals of panes.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Bridge;
use super::exchange::Exchange;
use super::ops::Owner;
use crate::config::HerdrMode;
use crate::http::{Answer, AttachCall, Manner, Refusal};
use crate::ids::{ExId, OpId};
use crate::io::{CloseCode, Level, Message, Op, Outcome, Output};
use crate::limits::{MAX_ATTACHED, MAX_KEYSTROKES_BYTES};
use crate::machine::{Machine as _, Tag};
use crate::pane::attach::{Act, Attach, Part};
use crate::pane::herdr::{HerdrAsk, HerdrError, HerdrSession, Occupant, Question, Reply, concern, event};
use crate::pane::name::PaneName;
use crate::pane::resolve::ResolveError;
use crate::timers::Timer;

/// The clients that are attached, and those that will be.
#[derive(Debug, Default)]
pub(super) struct AttachedClients {
    asking: BTreeMap<ExId, (AttachCall, Box<HerdrAsk>)>,
    open: BTreeMap<ExId, (Box<Attach>, Option<OpId>)>,
}

impl AttachedClients {
    /// Whether somebody is attached to a pane of this server.
    pub(super) fn needs(&self, session: &HerdrSession) -> bool {
        self.open.values().any(|(attach, _)| attach.place().0 == *session)
    }
}

impl Bridge {
    /// Finds out who is in the pane.
    pub(super) fn attach(&mut self, ex: ExId, call: AttachCall, manner: Manner) {
        if PaneName::of(&call.pane) != PaneName::Herdr {
            return self.answer(ex, Answer::text(501, NO_TERMINAL, &manner));
        }
        if self.attached.asking.len().saturating_add(self.attached.open.len()) >= MAX_ATTACHED {
            return self.answer(ex, Answer::text(503, "too many attached clients: try again later", &manner));
        }
        self.exchanges.insert(ex, Exchange::Attaching { manner });
        let question = Question::Occupant(call.pane.clone());
        let ask = HerdrAsk::new(self.now, &self.config.herdr, question);
        self.attached.asking.insert(ex, (call, Box::new(ask)));
        self.run_asking(ex);
    }

    pub(super) fn attached_outcome(&mut self, ex: ExId, part: Part, tag: Tag, outcome: Outcome<'_>) {
        let now = self.now;
        if let Some((_, ask)) = self.attached.asking.get_mut(&ex) {
            ask.handle_outcome(now, tag, outcome);
            return self.run_asking(ex);
        }
        if let Some((attach, _)) = self.attached.open.get_mut(&ex) {
            attach.handle_outcome(now, part, tag, outcome);
            self.run_attached(ex);
        }
    }

    pub(super) fn attached_message(&mut self, ex: ExId, message: Message<'_>) {
        if let Some((attach, _)) = self.attached.open.get_mut(&ex) {
            attach.handle_message(self.now, message);
            self.run_attached(ex);
        }
    }

    pub(super) fn attached_taken(&mut self, ex: ExId, bytes: usize) {
        if let Some((attach, _)) = self.attached.open.get_mut(&ex) {
            attach.handle_taken(self.now, bytes);
            self.run_attached(ex);
        }
    }

    pub(super) fn check_attached(&mut self, ex: ExId) {
        if let Some((attach, _)) = self.attached.open.get_mut(&ex) {
            attach.handle_tick(self.now);
            let (session, _) = attach.place();
            self.listen_for_attached(&session);
            self.run_attached(ex);
        }
    }

    /// A server of herdr tells of something: whoever is at the terminal of that pane looks sooner.
    pub(super) fn tell_attached(&mut self, session: &HerdrSession, line: &[u8]) {
        if !self.attached.needs(session) {
            return;
        }
        let Some(event) = event(line) else { return };
        let mut told = Vec::new();
        for (ex, (attach, _)) in &mut self.attached.open {
            let (server, pane) = attach.place();
            if server == *session
                && let Some(concern) = concern(&event, pane.as_str())
            {
                attach.handle_hint(self.now, concern);
                told.push(*ex);
            }
        }
        for ex in told {
            self.run_attached(ex);
        }
    }

    pub(super) fn close_attached(&mut self, ex: ExId, code: CloseCode, reason: &'static str) {
        if let Some((attach, _)) = self.attached.open.get_mut(&ex) {
            attach.close(code, reason);
            self.run_attached(ex);
        }
    }

    /// A client is gone: what runs for it ends.
    pub(super) fn leave_attached(&mut self, ex: ExId) {
        self.attached.asking.remove(&ex);
        self.attached.open.remove(&ex);
        self.timers.stop(Timer::Attached(ex));
        for part in Part::ALL {
            self.ops.cancel(Owner::Attached(ex, part), &mut self.outputs);
        }
        if !self.wants_surveys() {
            self.stop_listening();
        }
    }

    /// Goes on with the question who is in a pane, and answers or takes the client in when that is known.
    fn run_asking(&mut self, ex: ExId) {
        let Some((_, ask)) = self.attached.asking.get_mut(&ex) else { return };
        self.ops.issue_all(Owner::Attached(ex, Part::Look), &mut **ask, &mut self.outputs);
        let Some(result) = ask.take_result() else { return };
        let Some((call, _)) = self.attached.asking.remove(&ex) else { return };
        let Some(Exchange::Attaching { manner }) = self.exchanges.remove(&ex) else { return };
        match result {
            Ok(Reply::Occupant(occupant)) => self.let_in(ex, call, occupant, &manner),
            Ok(_) | Err(HerdrError::NoSuchAgent) => self.answer(ex, Answer::text(404, "no such pane", &manner)),
            Err(error) => {
                let ResolveError { status, body, cause } = error.into();
                if let Some(cause) = cause {
                    self.outputs.push_back(Output::Log(Level::Warn, cause));
                }
                self.answer(ex, Refusal::new(status, &body, &manner).into());
            }
        }
    }

    fn let_in(&mut self, ex: ExId, call: AttachCall, occupant: Occupant, manner: &Manner) {
        if occupant.is_agent && self.config.herdr.mode == HerdrMode::Socket {
            return self.answer(ex, Answer::text(501, NO_PROGRAM, manner));
        }
        if !call.upgrade {
            return self.answer(ex, Answer::upgrade_required(manner));
        }
        self.outputs.extend([Output::Accept(ex), Output::Allow(ex, MAX_KEYSTROKES_BYTES)]);
        let (window, pane) = (self.config.limits.window_bytes, (call.pane, call.takeover));
        let attach = Attach::new(self.now, &self.config.herdr, pane, occupant, window);
        let (session, _) = attach.place();
        self.exchanges.insert(ex, Exchange::Attached);
        self.attached.open.insert(ex, (Box::new(attach), None));
        self.listen_for_attached(&session);
        self.run_attached(ex);
    }

    /// Does what is to be done for an attached client.
    fn run_attached(&mut self, ex: ExId) {
        let Some((attach, terminal)) = self.attached.open.get_mut(&ex) else { return };
        while let Some(act) = attach.poll_act() {
            match act {
                Act::Ask(part, tag, op) => {
                    let id = self.ops.issue(Owner::Attached(ex, part), tag, op, &mut self.outputs);
                    if part == Part::Terminal {
                        *terminal = Some(id);
                    }
                }
                Act::Drop(part) => self.ops.cancel(Owner::Attached(ex, part), &mut self.outputs),
                Act::Pipe => self.outputs.extend(terminal.map(|id| Output::Pipe(ex, id))),
                Act::Resize(size) => {
                    if let Some(pty) = *terminal {
                        let op = Op::Resize { pty, size };
                        self.ops.issue(Owner::Nobody, Tag(0), op, &mut self.outputs);
                    }
                }
                Act::Send(frame) => self.outputs.push_back(Output::Send(ex, frame)),
                Act::Hold(hold) => self.outputs.push_back(Output::Hold(ex, hold)),
                Act::Log(level, text) => self.outputs.push_back(Output::Log(level, text)),
                Act::Close(code, reason) => self.outputs.push_back(Output::Close(ex, code, reason)),
            }
        }
        if attach.is_closed() {
            self.forget(ex);
        } else {
            self.timers.set(Timer::Attached(ex), attach.next_deadline());
        }
    }
}

const NO_TERMINAL: &str =
    "this pane is followed by its transcript alone: without herdr there is no terminal to attach to";

const NO_PROGRAM: &str =
    "agents are attached by herdr's program, which --herdr socket leaves out: start the daemon with --herdr auto";
