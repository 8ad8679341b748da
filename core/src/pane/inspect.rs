//! A pane as it is now: its agent, and what its terminal shows. One question each.
//!
//! ```text
//!  herdr ── agent ──▶ screen ──▶ Inspection
//!             │          └─ refused: the same by another source, once
//!             └─ no such agent, failed ──▶ why
//! ```

use alloc::boxed::Box;
use alloc::string::String;

use super::herdr::{HerdrAsk, HerdrError, PaneAgent, Question, Reply, ScreenSource};
use crate::config::Herdr;
use crate::ids::PaneId;
use crate::io::{Op, Outcome};
use crate::limits;
use crate::machine::{Machine, Tag};
use crate::screen::ScreenKind;
use crate::time::{Instant, Now};

/// What there is in a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Its agent.
    pub agent: PaneAgent,
    /// What its terminal shows, if that could be read.
    pub screen: Option<String>,
    /// By which source it was read last.
    pub source: ScreenSource,
    /// Why it could not, for the operator.
    pub note: Option<String>,
}

/// Asks herdr for a pane's agent and for its screen.
#[derive(Debug)]
pub struct Inspect {
    pane: PaneId,
    herdr: Herdr,
    deadline: Instant,
    step: Step,
    result: Option<Result<Inspection, HerdrError>>,
}

#[derive(Debug)]
enum Step {
    Agent(Box<HerdrAsk>),
    Screen { ask: Box<HerdrAsk>, agent: Box<PaneAgent>, source: ScreenSource, again: bool },
    Done,
}

impl Inspect {
    /// Begins to ask.
    #[must_use]
    pub fn new(now: Now, herdr: &Herdr, pane: PaneId) -> Self {
        Self::until(now, now.mono.plus(limits::HERDR_BUDGET), herdr, pane)
    }

    /// Begins to ask within a budget that has begun before.
    #[must_use]
    pub fn until(now: Now, deadline: Instant, herdr: &Herdr, pane: PaneId) -> Self {
        let ask = HerdrAsk::until(now, deadline, herdr, Question::Agent(pane.clone()));
        let step = Step::Agent(Box::new(ask));
        let mut inspect = Self { pane, herdr: herdr.clone(), deadline, step, result: None };
        inspect.advance(now);
        inspect
    }

    /// The result, once.
    pub fn take_result(&mut self) -> Option<Result<Inspection, HerdrError>> {
        self.result.take()
    }

    fn advance(&mut self, now: Now) {
        loop {
            let reply = match &mut self.step {
                Step::Agent(ask) | Step::Screen { ask, .. } => ask.take_result(),
                Step::Done => None,
            };
            let Some(reply) = reply else { return };
            match (core::mem::replace(&mut self.step, Step::Done), reply) {
                (Step::Agent(_), Ok(Reply::Agent(agent))) => {
                    let source = source_for(&agent);
                    self.read(now, agent, source, false);
                }
                (Step::Agent(_), Ok(_)) => self.result = Some(Err(HerdrError::NoSuchAgent)),
                (Step::Agent(_), Err(error)) => self.result = Some(Err(error)),
                (Step::Screen { agent, source, .. }, Ok(Reply::Screen(text))) => {
                    self.finish(*agent, source, Some(text), None)
                }
                // Older versions know other sources; there is time for one more only if this one did not take it all.
                (Step::Screen { agent, source, again: false, .. }, Err(HerdrError::Failed(_)))
                    if self.has_time(now) =>
                {
                    let other =
                        if source == ScreenSource::Detection { ScreenSource::Visible } else { ScreenSource::Detection };
                    self.read(now, agent, other, true);
                }
                (Step::Screen { agent, source, .. }, Err(HerdrError::Failed(text))) => {
                    self.finish(*agent, source, None, Some(text));
                }
                (Step::Screen { agent, source, .. }, _) => self.finish(*agent, source, None, None),
                (Step::Done, _) => return,
            }
        }
    }

    fn has_time(&self, now: Now) -> bool {
        !self.deadline.since(now.mono).is_zero()
    }

    fn read(&mut self, now: Now, agent: Box<PaneAgent>, source: ScreenSource, again: bool) {
        let question = Question::Screen(self.pane.clone(), source);
        let ask = Box::new(HerdrAsk::until(now, self.deadline, &self.herdr, question));
        self.step = Step::Screen { ask, agent, source, again };
    }

    fn finish(&mut self, agent: PaneAgent, source: ScreenSource, screen: Option<String>, note: Option<String>) {
        self.result = Some(Ok(Inspection { agent, screen, source, note }));
    }
}

impl Machine for Inspect {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        match &mut self.step {
            Step::Agent(ask) | Step::Screen { ask, .. } => ask.poll_op(),
            Step::Done => None,
        }
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        match &mut self.step {
            Step::Agent(ask) | Step::Screen { ask, .. } => ask.handle_outcome(now, tag, outcome),
            Step::Done => {}
        }
        self.advance(now);
    }
}

/// Colours are asked for only where they decide: they exist only of what a person has scrolled to.
fn source_for(agent: &PaneAgent) -> ScreenSource {
    let by_colour = ScreenKind::from_label(&agent.kind_label).is_some_and(ScreenKind::selects_by_colour);
    let is_blocked = agent.status.trim().eq_ignore_ascii_case("blocked");
    if by_colour && is_blocked { ScreenSource::Coloured } else { ScreenSource::Detection }
}

#[cfg(test)]
mod tests;
