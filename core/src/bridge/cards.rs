//! `GET /agent-state`: the card of a pane, asked for once for all who want it at one time.
//!
//! ```text
//!   a pane of herdr ──▶ Asking ──▶ its conversation is followed and counted? ──▶ Reading ──▶ answered
//!                                  no ────────────────────────────────────────────────────▶ answered, from the screen
//!   any other pane ──▶ resolved ──▶ Counting ──▶ Reading ──▶ answered
//! ```

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::ControlFlow;

use super::Bridge;
use super::exchange::Exchange;
use super::ops::Owner;
use crate::agent::Caps;
use crate::http::{Answer, Manner, Refusal};
use crate::ids::{ExId, PaneId, Seq};
use crate::io::{Level, Outcome, Output};
use crate::limits::{CARD_ENTRIES, CARD_READ_BYTES, CARD_RECENT_ENTRIES};
use crate::machine::{Machine as _, Tag};
use crate::mobile::card::{Card, Known};
use crate::mobile::recent::Recent;
use crate::pane::inspect::{Inspect, Inspection};
use crate::pane::resolve::{ResolveError, Resolved};
use crate::source::follow::Follower;
use crate::source::page::PageRead;

/// The cards that are being made.
#[derive(Debug, Default)]
pub(super) struct Cards {
    last: u64,
    open: BTreeMap<u64, Look>,
}

/// One look at a pane.
#[derive(Debug)]
struct Look {
    pane: PaneId,
    kind: String,
    found: Option<Box<Inspection>>,
    /// The stream of its conversation.
    stream: Option<u64>,
    stage: Stage,
    recent: Recent,
    waiting: BTreeSet<ExId>,
}

#[derive(Debug)]
enum Stage {
    Asking(Box<Inspect>),
    /// For the stream to be counted.
    Counting,
    Reading(Box<PageRead>),
}

impl Cards {
    /// The streams that are needed.
    pub(super) fn streams(&self) -> impl Iterator<Item = u64> {
        self.open.values().filter_map(|look| look.stream)
    }

    fn of(&self, stream: u64) -> Vec<u64> {
        self.open.iter().filter(|(_, look)| look.stream == Some(stream)).map(|(no, _)| *no).collect()
    }

    fn add(&mut self, look: Look) -> u64 {
        self.last = self.last.saturating_add(1);
        self.open.insert(self.last, look);
        self.last
    }
}

impl Bridge {
    /// Makes the card of a pane of herdr, for one more who asks.
    pub(super) fn inspect(&mut self, ex: ExId, pane: PaneId, manner: Manner) {
        self.exchanges.insert(ex, Exchange::Card { manner });
        if let Some(look) = self.cards.open.values_mut().find(|look| look.pane == pane) {
            look.waiting.insert(ex);
            return;
        }
        let stage = Stage::Asking(Box::new(Inspect::new(self.now, &self.config.herdr, pane.clone())));
        let (kind, found, stream, recent) = (String::new(), None, None, Recent::default());
        let no = self.cards.add(Look { pane, kind, found, stream, stage, recent, waiting: BTreeSet::from([ex]) });
        self.run_card(no);
    }

    /// Makes the card of a pane that herdr does not know: all there is to say stands in its transcript.
    pub(super) fn card_of_transcript(&mut self, ex: ExId, resolved: &Resolved, manner: Manner) {
        self.exchanges.insert(ex, Exchange::Card { manner });
        let stream = self.follow(resolved.kind.reader(), self.source_of(resolved));
        let look = Look {
            pane: resolved.pane.clone(),
            kind: resolved.kind.label().into(),
            found: None,
            stream: Some(stream),
            stage: Stage::Counting,
            recent: Recent::default(),
            waiting: BTreeSet::from([ex]),
        };
        let no = self.cards.add(look);
        if self.streams.stream(stream).is_none() {
            return self.refuse_card(no, &unreadable());
        }
        self.run_card(no);
    }

    /// Goes on with a card as far as it can go now.
    pub(super) fn run_card(&mut self, no: u64) {
        let Some(look) = self.cards.open.get_mut(&no) else { return };
        match &mut look.stage {
            Stage::Asking(inspect) => {
                self.ops.issue_all(Owner::Card(no), &mut **inspect, &mut self.outputs);
                match inspect.take_result() {
                    Some(Ok(found)) => self.inspected(no, found),
                    Some(Err(error)) => self.refuse_card(no, &error.into()),
                    None => {}
                }
            }
            Stage::Counting => {
                let ready = look.stream.and_then(|stream| self.streams.stream(stream)).map(|stream| &stream.follower);
                if ready.is_some_and(Follower::is_ready) {
                    self.read_for_card(no);
                }
            }
            Stage::Reading(_) => {}
        }
    }

    /// An answer came, of herdr or of the file.
    pub(super) fn card_outcome(&mut self, no: u64, tag: Tag, outcome: Outcome<'_>) {
        let now = self.now;
        let Some(look) = self.cards.open.get_mut(&no) else { return };
        match &mut look.stage {
            Stage::Asking(inspect) => {
                inspect.handle_outcome(now, tag, outcome);
                self.run_card(no);
            }
            Stage::Counting => {}
            Stage::Reading(run) => {
                let follower =
                    look.stream.and_then(|stream| self.streams.stream(stream)).map(|stream| &stream.follower);
                let (Outcome::Bytes { bytes, size_now }, Some(follower)) = (outcome, follower) else {
                    return self.without_transcript(no);
                };
                let recent = &mut look.recent;
                let taken = run.take(bytes, size_now, follower.index(), follower.reader(), &mut |_, entry| {
                    recent.push(entry);
                    ControlFlow::Continue(())
                });
                match (taken, run.is_done(), follower.handle()) {
                    (Ok(()), true, _) => self.finish_card(no),
                    (Ok(()), false, Some(handle)) => {
                        let op = run.read_op(handle, follower.index());
                        self.ops.issue(Owner::Card(no), Tag(0), op, &mut self.outputs);
                    }
                    _ => self.without_transcript(no),
                }
            }
        }
    }

    /// Something happened to a stream: it was counted, or looked at.
    pub(super) fn run_cards_of(&mut self, stream: u64) {
        for no in self.cards.of(stream) {
            self.run_card(no);
        }
    }

    /// The file is another one: a card that has nothing else waits until that is counted.
    pub(super) fn restart_cards(&mut self, stream: u64) {
        for no in self.cards.of(stream) {
            let Some(look) = self.cards.open.get_mut(&no) else { continue };
            if look.found.is_some() {
                self.without_transcript(no);
            } else {
                look.stage = Stage::Counting;
                self.ops.cancel(Owner::Card(no), &mut self.outputs);
            }
        }
    }

    /// The file cannot be read: the cards that needed it do without, or are refused.
    pub(super) fn lose_transcript(&mut self, stream: u64) {
        for no in self.cards.of(stream) {
            self.without_transcript(no);
        }
    }

    /// Who asked is gone.
    pub(super) fn leave_card(&mut self, ex: ExId) {
        let Some((no, look)) = self.cards.open.iter_mut().find(|(_, look)| look.waiting.contains(&ex)) else { return };
        look.waiting.remove(&ex);
        if look.waiting.is_empty() {
            let no = *no;
            self.end_card(no);
        }
    }

    /// herdr has said what it knows. Of the transcript only what is followed and counted anyway is read.
    fn inspected(&mut self, no: u64, found: Inspection) {
        let Some(look) = self.cards.open.get_mut(&no) else { return };
        if let Some(note) = &found.note {
            self.outputs.push_back(Output::Log(Level::Warn, note.clone()));
        }
        look.kind.clone_from(&found.agent.kind_label);
        look.stream = self.sessions.showing(&look.pane, &found.agent);
        look.found = Some(Box::new(found));
        self.read_for_card(no);
    }

    fn read_for_card(&mut self, no: u64) {
        let Some(look) = self.cards.open.get_mut(&no) else { return };
        let follower = look.stream.and_then(|stream| self.streams.stream(stream)).map(|stream| &stream.follower);
        let Some(follower) = follower.filter(|follower| follower.is_ready()) else { return self.finish_card(no) };
        let (Some(first), Some(handle)) = (first_entry(follower), follower.handle()) else {
            return self.finish_card(no);
        };
        let last = Seq::after(follower.index().total().saturating_sub(1));
        let run = Box::new(PageRead::new(follower.index(), follower.line_bytes(), first, last, Caps::WIRE));
        let op = run.read_op(handle, follower.index());
        look.recent = Recent::default();
        look.stage = Stage::Reading(run);
        self.ops.issue(Owner::Card(no), Tag(0), op, &mut self.outputs);
    }

    fn without_transcript(&mut self, no: u64) {
        let Some(look) = self.cards.open.get_mut(&no) else { return };
        look.recent = Recent::default();
        if look.found.is_some() {
            self.finish_card(no);
        } else {
            self.refuse_card(no, &unreadable());
        }
    }

    fn finish_card(&mut self, no: u64) {
        let Some(look) = self.cards.open.get(&no) else { return };
        let found = look.found.as_deref();
        let has_entries = matches!(look.stage, Stage::Reading(_));
        let card = Card::of(&Known {
            pane: &look.pane,
            kind: &look.kind,
            status: found.map(|found| found.agent.status.as_str()),
            title: found.and_then(|found| found.agent.title.as_deref()),
            screen: found.and_then(|found| found.screen.as_deref()),
            recent: has_entries.then_some(&look.recent),
        });
        self.settle_card(no, |manner| Answer::json(&card, manner));
    }

    fn refuse_card(&mut self, no: u64, error: &ResolveError) {
        if let Some(cause) = &error.cause {
            self.outputs.push_back(Output::Log(Level::Warn, cause.clone()));
        }
        self.settle_card(no, |manner| Refusal::new(error.status, &error.body, manner).into());
    }

    fn settle_card(&mut self, no: u64, answer: impl Fn(&Manner) -> Answer) {
        for ex in self.end_card(no) {
            if let Some(Exchange::Card { manner }) = self.exchanges.remove(&ex) {
                self.answer(ex, answer(&manner));
            }
        }
    }

    /// The look is over. Who waited for it is returned.
    fn end_card(&mut self, no: u64) -> BTreeSet<ExId> {
        let Some(look) = self.cards.open.remove(&no) else { return BTreeSet::new() };
        self.ops.cancel(Owner::Card(no), &mut self.outputs);
        if let Some(stream) = look.stream {
            self.release(stream);
        }
        look.waiting
    }
}

/// The oldest entry that is looked at, or none where even the last takes too many bytes.
fn first_entry(follower: &Follower) -> Option<Seq> {
    let index = follower.index();
    [CARD_ENTRIES, CARD_RECENT_ENTRIES, 1].into_iter().filter(|_| index.total() > 0).find_map(|entries| {
        let first = Seq::after(index.total().saturating_sub(entries));
        let bytes = index.scanned().saturating_sub(index.before(first).offset);
        (bytes <= CARD_READ_BYTES).then_some(first)
    })
}

fn unreadable() -> ResolveError {
    ResolveError { status: 500, body: "read transcript failed".into(), cause: None }
}
