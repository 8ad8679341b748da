//! `GET /snapshot`: everything that is there, looked at once for all who want it at one time.
//!
//! ```text
//!   asked ──▶ a survey ── all children counted, or they take too long ──▶ answered
//!                  └ for those who follow events: shown at once, and what is counted later is an event
//! ```

use alloc::boxed::Box;
use alloc::collections::BTreeSet;

use serde_json::Value;

use super::Bridge;
use super::exchange::Exchange;
use super::ops::Owner;
use crate::http::{Answer, Manner, Refusal};
use crate::ids::ExId;
use crate::io::{Level, Outcome, Output};
use crate::limits::TALLY_WAIT;
use crate::machine::{Machine as _, Tag};
use crate::mobile::snapshot;
use crate::pane::survey::{Memory, Survey, Surveyed};
use crate::time::Instant;
use crate::timers::Timer;

/// The survey on its way, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    survey: Option<Box<Survey>>,
    /// When it began.
    began: Instant,
    memory: Memory,
    waiting: BTreeSet<ExId>,
    /// What was found last, until the children of all are counted, and who waits for that.
    counting: Option<Box<Surveyed>>,
    asked: BTreeSet<ExId>,
}

impl Snapshots {
    pub(super) fn forget(&mut self, ex: ExId) {
        self.waiting.remove(&ex);
        self.asked.remove(&ex);
    }
}

impl Bridge {
    /// Makes the snapshot, for one more who asks: as an answer, or to begin with where `events` follow.
    pub(super) fn snapshot(&mut self, ex: ExId, manner: Manner, events: bool) {
        self.exchanges.insert(ex, Exchange::Snapshot { manner, events });
        self.snapshots.waiting.insert(ex);
        self.begin_survey();
    }

    /// Looks at everything, unless that is being done.
    pub(super) fn begin_survey(&mut self) {
        if self.snapshots.survey.is_none() {
            let memory = core::mem::take(&mut self.snapshots.memory);
            self.snapshots.began = self.now.mono;
            self.listeners.look_begins();
            self.snapshots.survey = Some(Box::new(Survey::new(self.now, &self.config, memory)));
            self.run_survey();
        }
    }

    pub(super) fn survey_outcome(&mut self, tag: Tag, outcome: Outcome<'_>) {
        if let Some(survey) = &mut self.snapshots.survey {
            survey.handle_outcome(self.now, tag, outcome);
            self.run_survey();
        }
    }

    fn run_survey(&mut self) {
        let Some(survey) = &mut self.snapshots.survey else { return };
        self.ops.issue_all(Owner::Survey, &mut **survey, &mut self.outputs);
        let Some((result, memory)) = survey.take_result() else { return };
        self.snapshots.survey = None;
        self.snapshots.memory = memory;
        let found = match result {
            Ok(surveyed) => self.surveyed(Box::new(surveyed)),
            Err(failed) => {
                // Whoever asked before it failed is shown what was found then.
                self.show_tallies();
                self.snapshots.counting = None;
                let lost = self.tell_loss(&failed);
                self.listeners.look_failed();
                self.refuse_snapshot(failed.first().map_or("herdr does not answer", |(_, why)| why));
                lost
            }
        };
        self.survey_again(self.snapshots.began, found);
    }

    /// Shows what was found to all whom it concerns, and tells whether it is news.
    fn surveyed(&mut self, surveyed: Box<Surveyed>) -> bool {
        self.snapshots.counting = None;
        if !self.snapshots.waiting.is_empty() || !self.snapshots.asked.is_empty() || self.has_followers() {
            self.want_tallies(&surveyed);
            self.count_on();
        }
        let body = snapshot::body(&surveyed, &self.subagents(&surveyed));
        self.tallies.shown();
        let changed = self.tell_changes(&surveyed, &body);
        let alerted = self.watch_for_push(&surveyed);
        for ex in core::mem::take(&mut self.snapshots.waiting) {
            match self.exchanges.get(&ex) {
                Some(Exchange::Snapshot { events: true, .. }) => self.subscribe(ex, &body),
                _ => drop(self.snapshots.asked.insert(ex)),
            }
        }
        if self.wants_surveys() {
            self.listen_to(&surveyed);
        }
        if self.tallies.is_idle() {
            self.show_snapshot(&surveyed, &body);
        } else {
            self.timers.no_later(Timer::Tallies, self.after(TALLY_WAIT));
            self.snapshots.counting = Some(surveyed);
        }
        changed || alerted
    }

    /// All that is to be counted was, or that takes too long: shows what is known now.
    pub(super) fn show_tallies(&mut self) {
        self.timers.stop(Timer::Tallies);
        let Some(surveyed) = self.snapshots.counting.take() else { return };
        if self.tallies.has_news() || !self.snapshots.asked.is_empty() {
            let body = snapshot::body(&surveyed, &self.subagents(&surveyed));
            self.tallies.shown();
            self.tell_changes(&surveyed, &body);
            self.show_snapshot(&surveyed, &body);
        }
        if !self.tallies.is_idle() {
            self.snapshots.counting = Some(surveyed);
        }
    }

    /// Whether everything is being looked at.
    pub(super) fn is_surveying(&self) -> bool {
        self.snapshots.survey.is_some()
    }

    /// Answers whoever asked.
    fn show_snapshot(&mut self, surveyed: &Surveyed, body: &Value) {
        for ex in core::mem::take(&mut self.snapshots.asked) {
            if let Some(Exchange::Snapshot { manner, .. }) = self.exchanges.remove(&ex) {
                for (_, why) in &surveyed.failed {
                    self.outputs.push_back(Output::Log(Level::Warn, why.clone()));
                }
                self.answer(ex, Answer::json(body, &manner));
            }
        }
    }

    fn refuse_snapshot(&mut self, why: &str) {
        for ex in core::mem::take(&mut self.snapshots.waiting) {
            if let Some(Exchange::Snapshot { manner, .. }) = self.exchanges.remove(&ex) {
                self.answer(ex, Refusal::new(502, why, &manner).into());
            }
        }
    }
}
