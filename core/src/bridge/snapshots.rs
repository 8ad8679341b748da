//! `GET /snapshot`: everything that is there, looked at once for all who want it at one time.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Bridge;
use super::exchange::Exchange;
use super::ops::Owner;
use crate::http::{Answer, Manner, Refusal};
use crate::ids::{ExId, PaneId};
use crate::io::{Level, Outcome, Output};
use crate::machine::{Machine as _, Tag};
use crate::mobile::snapshot::{self, Subagents};
use crate::pane::survey::{AgentFacts, Memory, Survey, Surveyed};
use crate::time::Instant;

/// The survey on its way, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct Snapshots {
    survey: Option<Box<Survey>>,
    /// When it began.
    began: Instant,
    memory: Memory,
    waiting: BTreeSet<ExId>,
}

impl Snapshots {
    pub(super) fn forget(&mut self, ex: ExId) {
        self.waiting.remove(&ex);
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
            Ok(surveyed) => {
                let body = snapshot::body(&surveyed, &self.subagents(&surveyed));
                let changed = self.tell_changes(&surveyed, &body);
                let alerted = self.watch_for_push(&surveyed);
                self.show_snapshot(&surveyed, &body);
                if self.wants_surveys() {
                    self.listen_to(&surveyed);
                }
                changed || alerted
            }
            Err(failed) => {
                let lost = self.tell_loss(&failed);
                self.listeners.look_failed();
                self.refuse_snapshot(failed.first().map_or("herdr does not answer", |(_, why)| why));
                lost
            }
        };
        self.survey_again(self.snapshots.began, found);
    }

    /// Whether everything is being looked at.
    pub(super) fn is_surveying(&self) -> bool {
        self.snapshots.survey.is_some()
    }

    /// The children of each agent whose conversation is followed anyway.
    fn subagents(&self, surveyed: &Surveyed) -> BTreeMap<PaneId, Subagents> {
        let known = |(pane, facts): (&PaneId, &AgentFacts)| {
            let stream = self.sessions.showing(pane, facts.agent.as_ref()?)?;
            let rows = self.streams.stream(stream)?.roster.as_ref()?.known_rows()?;
            let running = rows.iter().filter(|row| !row.done).count();
            Some((pane.clone(), Subagents { total: rows.len(), running }))
        };
        surveyed.agents.iter().filter_map(known).collect()
    }

    fn show_snapshot(&mut self, surveyed: &Surveyed, body: &Value) {
        for ex in core::mem::take(&mut self.snapshots.waiting) {
            let Some(Exchange::Snapshot { manner, events }) = self.exchanges.remove(&ex) else { continue };
            if events {
                self.subscribe(ex, body);
            } else {
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
