//! Looks at a session's file, and hands over what has settled in it.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::log::{Item, Log, Other, Torn, What};
use super::{render, unreadable_document};
use crate::agent::drift::{Drift, Oddity, Place as Seen};
use crate::agent::shown::named;
use crate::io::{Facts, FailureKind, FileKind, FileTime, Op, Outcome};
use crate::limits::{DOCUMENT_BYTES, STORE_SENT};
use crate::machine::{Asks, Machine, Tag, of_side};
use crate::source::json::Value;
use crate::source::spool::{Feeder, Place, Spool, Stored};
use crate::source::whole_files::{Whole, WholeFiles};
use crate::time::{Now, UnixMillis};

/// Feeds a spool from the file of a session.
#[derive(Debug)]
pub struct Store {
    /// The file, and the one that the session may go on in: a document that is resumed goes on as a log of the same name.
    path: String,
    other: Option<String>,
    stage: Stage,
    /// Which life of the spool is fed.
    life: Option<u32>,
    /// What the file was when it was handed over last, and when it is to be looked into again although it has not changed.
    seen: Option<(FileTime, u64)>,
    due: Option<UnixMillis>,
    /// The messages that the conversation consisted of, to see which of them are gone.
    shown: BTreeSet<String>,
    files: WholeFiles<()>,
    asks: Asks,
    trouble: Option<String>,
    drift: Drift,
}

#[derive(Debug)]
enum Stage {
    Idle,
    /// Whether the file has changed; `None`: it is the first that is asked about.
    Asking(Option<Option<Facts>>),
    Reading,
    /// It is in memory, and handed over as the spool has room.
    Loaded(Facts, Vec<u8>),
}

impl Store {
    /// Nothing was asked yet.
    #[must_use]
    pub fn new(stored: &Stored) -> Self {
        Self {
            path: stored.path.clone(),
            other: other_form(&stored.path),
            stage: Stage::Idle,
            life: None,
            seen: None,
            due: None,
            shown: BTreeSet::new(),
            files: WholeFiles::new(stored.under.clone(), DOCUMENT_BYTES, 1),
            asks: Asks::default(),
            trouble: None,
            drift: Drift::default(),
        }
    }

    /// The file that was written last is the one that goes on.
    fn handle_facts(&mut self, now: Now, before: Option<Option<Facts>>, outcome: Outcome<'_>) {
        let file = |outcome: &Outcome<'_>| match outcome {
            Outcome::Facts(facts) if facts.kind == FileKind::File => Some(*facts),
            _ => None,
        };
        match (before, self.other.clone()) {
            (None, Some(other)) => {
                let first = file(&outcome);
                if first.is_none()
                    && let Outcome::Failed(failure) = &outcome
                    && failure.kind != FailureKind::NotFound
                {
                    self.trouble = Some(format!("cannot look at {}: {}", self.path, failure.text));
                }
                self.stage = Stage::Asking(Some(first));
                self.asks.ask(Op::Stat { path: other });
            }
            (None, None) => self.handle_newest(now, outcome),
            (Some(first), _) => {
                let second = file(&outcome);
                let goes_on = second.is_some_and(|second| first.is_none_or(|first| second.modified > first.modified));
                if goes_on && let Some(other) = self.other.take() {
                    self.other = Some(core::mem::replace(&mut self.path, other));
                    self.seen = None;
                }
                self.stage = Stage::Idle;
                if let Some(facts) = if goes_on { second } else { first } {
                    self.handle_newest(now, Outcome::Facts(facts));
                }
            }
        }
    }

    fn handle_newest(&mut self, now: Now, outcome: Outcome<'_>) {
        self.stage = Stage::Idle;
        match outcome {
            Outcome::Facts(facts) if facts.kind == FileKind::File => {
                let is_due = self.due.is_some_and(|due| due <= now.wall);
                if self.seen != Some((facts.modified, facts.size)) || is_due {
                    self.stage = Stage::Reading;
                    self.files.read((), self.path.clone());
                }
            }
            Outcome::Failed(failure) if failure.kind != FailureKind::NotFound => {
                self.trouble = Some(format!("cannot look at {}: {}", self.path, failure.text));
            }
            // It is not written yet, or goes on in another file.
            _ => {}
        }
    }

    fn handle_file(&mut self, whole: Whole) {
        self.stage = Stage::Idle;
        match whole {
            Whole::Bytes(facts, bytes) => self.stage = Stage::Loaded(facts, bytes),
            Whole::TooLarge(facts) => {
                self.seen = Some((facts.modified, facts.size));
                self.trouble =
                    Some(format!("{} is larger than {} MiB: it is not shown", self.path, DOCUMENT_BYTES >> 20));
            }
            Whole::Absent => {}
            Whole::Unreadable(text) => self.trouble = Some(format!("cannot read {}: {text}", self.path)),
        }
    }

    /// Hands over what has settled, and tells whether there was room for all of it.
    fn hand_over(&mut self, now: Now, facts: Facts, bytes: &[u8], spool: &mut Spool) -> bool {
        let quiet_at = facts.modified.as_unix_millis().saturating_add(millis(STORE_SENT));
        let is_quiet = quiet_at <= now.wall.0;
        self.seen = Some((facts.modified, facts.size));
        self.due = None;
        if bytes.trim_ascii().is_empty() {
            // It is about to be written: nothing was taken back.
            return true;
        }
        let log = match Log::read(bytes) {
            Ok(log) => log,
            Err(Torn::Unfinished) => {
                if is_quiet {
                    spool.push(&behind(spool), &render::notice("document", unreadable_document(bytes), false));
                } else {
                    self.due = Some(UnixMillis(quiet_at));
                }
                return true;
            }
        };
        self.note_what_is_gone(&log, spool);
        let mut hand = Hand { log: &log, is_quiet, in_order: true, over: None, answers: BTreeSet::new() };
        for (at, item) in log.items.iter().enumerate() {
            if !spool.has_room() {
                return false;
            }
            let unknown = hand.over(at, item, spool);
            if let Some(unknown) = unknown {
                self.drift.note(Oddity::Record, &unknown, "", Seen { file: &self.path, offset: 0 });
            }
        }
        if !hand.in_order && !is_quiet {
            self.due = Some(UnixMillis(quiet_at));
        }
        if let Some(over) = hand.over {
            spool.settle(&over);
        }
        true
    }

    /// A document that is written anew does not say what was in it: messages that are gone were taken back.
    fn note_what_is_gone(&mut self, log: &Log<'_>, spool: &mut Spool) {
        let gone = self.shown.iter().filter(|id| !log.items.iter().any(|item| item.place.id == **id)).count();
        let left = spool.settled().filter(|_| self.shown.is_empty()).is_some_and(|settled| {
            !log.items.iter().any(|item| item.place == *settled) && !settled.id.starts_with(REWIND)
        });
        if gone > 0 || left {
            let place = behind(spool);
            let text = if gone > 0 { render::rewound(gone) } else { render::REWOUND.into() };
            spool.push(&place, &render::notice(&place.id, text, true));
        }
        let ids =
            log.items.iter().filter(|item| matches!(item.what, What::Message(_))).map(|item| item.place.id.clone());
        self.shown = ids.collect();
    }
}

/// How the ids of our notes about messages that are gone begin.
const REWIND: &str = "rewind-";

/// A place of our own, right behind all that is settled.
fn behind(spool: &Spool) -> Place {
    let time = spool.settled().map_or(0, |settled| settled.time).saturating_add(1);
    Place { time, id: format!("{REWIND}{time}") }
}

/// Hands over one message after the other.
#[derive(Debug)]
struct Hand<'l, 'a> {
    log: &'l Log<'a>,
    is_quiet: bool,
    /// Whether all before was handed over for ever, and the last of these.
    in_order: bool,
    over: Option<Place>,
    answers: BTreeSet<String>,
}

impl Hand<'_, '_> {
    /// Hands over an item as far as it has settled, and tells what of it is not known.
    fn over(&mut self, at: usize, item: &Item<'_>, spool: &mut Spool) -> Option<String> {
        let place = &item.place;
        let message = match item.what {
            What::Message(message) => message,
            What::Other(other) => {
                if !spool.is_settled(place) {
                    spool.push(place, &render::other(&place.id, other));
                }
                if self.in_order {
                    self.over = Some(place.clone());
                }
                return None;
            }
        };
        if spool.is_settled(place) {
            render::answered(message, &mut self.answers);
            return None;
        }
        let said = render::message(&place.id, message, &mut self.answers);
        let later = self.log.items.get(at.saturating_add(1)..).unwrap_or_default();
        let is_left = later.iter().any(|item| matches!(item.what, What::Other(Other::Rewound(_))) || is_turn(item));
        let has_settled = !is_reply(message)
            || self.is_quiet
            || later.iter().any(|item| matches!(item.what, What::Message(_)))
            || is_left
            // What was shown when it was quiet goes on with what its calls answer.
            || spool.entries_of(place).next().is_some()
            || (said.answered && message.get("tokens").is_some_and(Value::is_object));
        if has_settled {
            for entry in &said.entries {
                if !spool.holds(place, &entry.id) {
                    spool.push(place, entry);
                }
            }
            said.starts.iter().for_each(|start| start.push(place, spool));
        }
        self.in_order &= has_settled && (said.answered || is_left);
        if self.in_order {
            self.over = Some(place.clone());
        }
        said.unknown
    }
}

/// The name of the same session in the other form.
fn other_form(path: &str) -> Option<String> {
    let log = |path: &str| path.ends_with(".json").then(|| format!("{path}l"));
    let document = |path: &str| path.strip_suffix('l').filter(|path| path.ends_with(".json")).map(String::from);
    log(path).or_else(|| document(path))
}

fn is_reply(message: Value<'_>) -> bool {
    message.get("type").is_some_and(|kind| kind.is("gemini") || kind.is("model"))
}

/// Whether a call that was not answered before this is not answered any more.
fn is_turn(item: &Item<'_>) -> bool {
    matches!(item.what, What::Message(message) if is_reply(message) || named(message.get("type")).as_deref() == Some("user"))
}

fn millis(time: core::time::Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

impl Feeder for Store {
    fn look(&mut self, _now: Now, spool: &Spool) {
        if self.life != Some(spool.life()) {
            (self.life, self.seen) = (Some(spool.life()), None);
        }
        self.stage = Stage::Asking(None);
        self.asks.ask(Op::Stat { path: self.path.clone() });
    }

    fn go_on(&mut self, now: Now, spool: &mut Spool) {
        while let Some(((), whole)) = self.files.take() {
            self.handle_file(whole);
        }
        if !spool.has_room() {
            return;
        }
        if let Stage::Loaded(facts, bytes) = &mut self.stage {
            let (facts, bytes) = (*facts, core::mem::take(bytes));
            // If the spool began anew meanwhile, so does the next look.
            let is_over = self.life != Some(spool.life()) || self.hand_over(now, facts, &bytes, spool);
            self.stage = if is_over { Stage::Idle } else { Stage::Loaded(facts, bytes) };
        }
    }

    fn is_looking(&self) -> bool {
        !matches!(self.stage, Stage::Idle)
    }

    fn relocate(&mut self, stored: &Stored) {
        (self.path, self.other, self.seen) = (stored.path.clone(), other_form(&stored.path), None);
    }

    fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    fn take_drift(&mut self) -> Drift {
        core::mem::take(&mut self.drift)
    }
}

impl Machine for Store {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take().map(of_side::<2>(0)).or_else(|| self.files.poll_op().map(of_side::<2>(1)))
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        let (side, inner) = tag.side::<2>();
        if side == 1 {
            self.files.handle_outcome(now, inner, outcome);
        } else if let Stage::Asking(before) = self.stage {
            self.handle_facts(now, before, outcome);
        }
    }
}

#[cfg(test)]
mod tests;
