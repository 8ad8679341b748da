//! Looks at a session's file, and hands over what has settled in it.
//!
//! ```text
//!   look ── stat both forms ──▶ changed: open, read ── a piece ──▶ Pass ──▶ … the end: what is gone, what has settled ──▶ idle
//!                        └────▶ unchanged for long enough: what was held is handed over
//! ```

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::pass::{Pass, Torn};
use super::{hand, render, unreadable_document};
use crate::agent::drift::{Drift, Oddity, Place as Seen};
use crate::ids::Handle;
use crate::io::{Facts, FailureKind, FileIdentity, FileKind, FileTime, Op, Outcome};
use crate::limits::{MAX_READ_BYTES, STORE_HELD_BYTES, STORE_SENT};
use crate::machine::{Asks, Machine, Tag};
use crate::source::spool::{Feeder, Place, Spool, Stored};
use crate::time::{Instant, Now};

/// Feeds a spool from the file of a session.
#[derive(Debug)]
pub struct Store {
    /// The file, and the one that the session may go on in: a document that is resumed goes on as a log of the same name.
    path: String,
    other: Option<String>,
    under: String,
    stage: Stage,
    /// Which life of the spool is fed.
    life: Option<u32>,
    /// What the file was when it was read last, and when nothing was written to it for long enough: by our own time, as a
    /// clock that is set back, or another machine's, would let it wait for years.
    seen: Option<(FileTime, u64)>,
    quiet_at: Instant,
    /// When it is to be handed over again although it has not changed.
    due: Option<Instant>,
    /// What was read of it.
    read: Option<Read>,
    /// The messages that were in it before it was read anew, to see which of them are gone; and whether that was seen.
    shown: BTreeSet<u64>,
    compared: bool,
    asks: Asks,
    /// The question that is answered next.
    asked: Option<Tag>,
    trouble: Option<String>,
    drift: Drift,
}

#[derive(Debug)]
enum Stage {
    Idle,
    /// Whether the file has changed; `None`: it is the first that is asked about.
    Asking(Option<Option<Facts>>),
    Opening,
    Reading(Open),
    /// A piece was read, and is taken when the spool has room.
    Taking(Open, Vec<u8>),
    /// All of it was read, and is handed over as the spool has room.
    Ending(Facts),
}

/// A file that is being read.
#[derive(Debug, Clone)]
struct Open {
    handle: Handle,
    facts: Facts,
    /// What is read next, if nobody has rewritten it.
    expected: Vec<u8>,
}

/// What was read of a file.
#[derive(Debug)]
struct Read {
    identity: FileIdentity,
    pass: Pass,
    /// Whether that was all of it.
    is_whole: bool,
}

impl Store {
    /// Nothing was asked yet.
    #[must_use]
    pub fn new(stored: &Stored) -> Self {
        Self {
            path: stored.path.clone(),
            other: other_form(&stored.path),
            under: stored.under.clone(),
            stage: Stage::Idle,
            life: None,
            seen: None,
            quiet_at: Instant::from_millis(0),
            due: None,
            read: None,
            shown: BTreeSet::new(),
            compared: false,
            asks: Asks::default(),
            asked: None,
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
                if first.is_none() {
                    self.note_failure("look at", &outcome);
                }
                self.stage = Stage::Asking(Some(first));
                self.ask(Op::Stat { path: other });
            }
            (None, None) => self.handle_newest(now, &outcome),
            (Some(first), _) => {
                let second = file(&outcome);
                let goes_on = second.is_some_and(|second| first.is_none_or(|first| second.modified > first.modified));
                if goes_on && let Some(other) = self.other.take() {
                    self.other = Some(core::mem::replace(&mut self.path, other));
                    self.seen = None;
                }
                self.stage = Stage::Idle;
                if let Some(facts) = if goes_on { second } else { first } {
                    self.handle_newest(now, &Outcome::Facts(facts));
                }
            }
        }
    }

    fn handle_newest(&mut self, now: Now, outcome: &Outcome<'_>) {
        self.stage = Stage::Idle;
        match outcome {
            Outcome::Facts(facts) if facts.kind == FileKind::File => {
                let has_changed = self.seen != Some((facts.modified, facts.size));
                let is_due = self.due.is_some_and(|due| due <= now.mono);
                let is_read = self.read.as_ref().is_some_and(|read| read.is_whole);
                if has_changed || (is_due && !is_read) {
                    self.stage = Stage::Opening;
                    self.ask(Op::Open { path: self.path.clone(), under: Some(self.under.clone()) });
                } else if is_due {
                    self.stage = Stage::Ending(*facts);
                }
            }
            // It is not written yet, or goes on in another file.
            outcome => self.note_failure("look at", outcome),
        }
    }

    fn handle_opened(&mut self, outcome: &Outcome<'_>) {
        self.stage = Stage::Idle;
        match outcome {
            Outcome::Opened { handle, facts } if facts.kind == FileKind::File => {
                let goes_on = self.read.as_ref().is_some_and(|read| {
                    let is_it = read.is_whole && read.identity == facts.identity && read.pass.is_log();
                    is_it && facts.size >= read.pass.end()
                });
                if !goes_on {
                    self.begin_anew(facts.identity);
                }
                let expected = self.read.as_ref().map(|read| read.pass.last().to_vec()).unwrap_or_default();
                self.read_on(Open { handle: *handle, facts: *facts, expected });
            }
            Outcome::Opened { handle, .. } => drop(self.asks.ask(Op::CloseFile { handle: *handle })),
            outcome => self.note_failure("read", outcome),
        }
    }

    /// What was read does not hold any more.
    fn begin_anew(&mut self, identity: FileIdentity) {
        self.forget();
        self.read = Some(Read { identity, pass: Pass::new(), is_whole: false });
    }

    fn forget(&mut self) {
        if let Some(read) = self.read.take().filter(|read| read.is_whole) {
            self.shown.extend(read.pass.log.ids());
        }
    }

    fn read_on(&mut self, open: Open) {
        let end = self.read.as_ref().map_or(0, |read| read.pass.end());
        let offset = end.saturating_sub(open.expected.len() as u64);
        match usize::try_from(open.facts.size.saturating_sub(offset)) {
            Ok(0) => self.end(&open),
            left => {
                let len = left.map_or(MAX_READ_BYTES, |left| left.min(MAX_READ_BYTES));
                self.ask(Op::Read { handle: open.handle, offset, len });
                self.stage = Stage::Reading(open);
            }
        }
    }

    fn end(&mut self, open: &Open) {
        self.asks.ask(Op::CloseFile { handle: open.handle });
        self.stage = Stage::Ending(open.facts);
    }

    fn handle_piece(&mut self, open: Open, outcome: &Outcome<'_>) {
        match outcome {
            Outcome::Bytes { bytes: [], .. } => self.end(&open),
            Outcome::Bytes { bytes, .. } => self.stage = Stage::Taking(open, bytes.to_vec()),
            outcome => {
                self.asks.ask(Op::CloseFile { handle: open.handle });
                self.read = None;
                self.stage = Stage::Idle;
                self.note_failure("read", outcome);
            }
        }
    }

    /// Takes a piece of the file.
    fn take(&mut self, mut open: Open, piece: &[u8], spool: &mut Spool) {
        let overlap = open.expected.len().min(piece.len());
        let (again, new) = piece.split_at(overlap);
        if !open.expected.starts_with(again) {
            // Somebody has rewritten it.
            self.begin_anew(open.facts.identity);
            open.expected.clear();
            return self.read_on(open);
        }
        open.expected.drain(..overlap);
        let Self { read, drift, path, .. } = self;
        if let Some(read) = read {
            read.pass.push(new, &|place| spool.has_settled(place));
            if read.pass.log.held() > STORE_HELD_BYTES {
                // Whatever finds no room now is handed over with the next piece.
                hand::over(&mut read.pass.log, false, spool, &mut unknown(drift, path));
            }
        }
        self.read_on(open);
    }

    /// Hands over what has settled, and tells whether there was room for all of it.
    fn hand_over(&mut self, now: Now, facts: Facts, spool: &mut Spool) -> bool {
        let seen = Some((facts.modified, facts.size));
        if self.seen != seen {
            self.quiet_at = now.mono.plus(STORE_SENT.saturating_sub(age(&facts, now)));
        }
        let quiet_at = self.quiet_at;
        let is_quiet = quiet_at <= now.mono;
        (self.seen, self.due) = (seen, None);
        let Self { read: Some(read), drift, path, .. } = self else { return true };
        let finished = read.pass.finish(&|place| spool.has_settled(place));
        if let Err(torn) = finished {
            let entry = unreadable_document(read.pass.end(), &read.pass.glance());
            self.read = None;
            match torn {
                Torn::Undecided => {}
                Torn::Unfinished if is_quiet => spool.push(&behind(spool), &entry),
                Torn::Unfinished => self.due = Some(quiet_at),
            }
            return true;
        }
        read.is_whole = true;
        if read.pass.is_blank() {
            // It is about to be written: nothing was taken back.
            return true;
        }
        // A log that is shorter than it was may be on its way to what it was.
        let is_certain = is_quiet || !read.pass.is_log();
        let has_changed = note_what_is_gone(&read.pass, &self.shown, !self.compared, is_certain, spool);
        if is_certain || !has_changed {
            self.shown.clear();
            self.compared = true;
        }
        let is_over = hand::over(&mut read.pass.log, is_quiet, spool, &mut unknown(drift, path));
        if !is_quiet && (has_changed || !read.pass.log.items.is_empty()) {
            self.due = Some(quiet_at);
        }
        is_over
    }

    fn ask(&mut self, op: Op) {
        self.asked = Some(self.asks.ask(op));
    }

    fn note_failure(&mut self, what: &str, outcome: &Outcome<'_>) {
        if let Outcome::Failed(failure) = outcome
            && !matches!(failure.kind, FailureKind::NotFound | FailureKind::Outside)
        {
            self.trouble = Some(format!("cannot {what} {}: {}", self.path, failure.text));
        }
    }
}

/// A file that is written anew does not say what was in it: messages that are gone were taken back. Tells whether any
/// are; a note says so if that is certain. `first`: nothing was read before, and only the spool says what was there.
fn note_what_is_gone(pass: &Pass, shown: &BTreeSet<u64>, first: bool, certain: bool, spool: &mut Spool) -> bool {
    let gone = pass.log.lacks(shown);
    let is_left = |settled: &Place| !settled.id.starts_with(REWIND) && !pass.log.holds(&settled.id);
    let left =
        first && shown.is_empty() && (spool.settled().is_some_and(is_left) || spool.open_messages().any(is_left));
    if certain && (gone > 0 || left) {
        let mut place = behind(spool);
        while gone > 0 && spool.holds(&place, &place.id) {
            // It went back before, and nothing was said since that lies behind that.
            place = place_at(place.time.saturating_add(1));
        }
        let text = if gone > 0 { render::rewound(gone) } else { render::REWOUND.into() };
        spool.push(&place, &render::notice(&place.id, text, true));
    }
    gone > 0 || left
}

/// How the ids of our notes about messages that are gone begin.
const REWIND: &str = "rewind-";

/// A place of our own, right behind all that is settled.
fn behind(spool: &Spool) -> Place {
    place_at(spool.settled().map_or(0, |settled| settled.time).saturating_add(1))
}

fn place_at(time: i64) -> Place {
    Place { time, id: format!("{REWIND}{time}") }
}

/// Notes what nobody knows.
fn unknown<'d>(drift: &'d mut Drift, file: &'d str) -> impl FnMut(&str) + 'd {
    move |kind| drift.note(Oddity::Record, kind, "", Seen { file, offset: 0 })
}

/// The name of the same session in the other form.
fn other_form(path: &str) -> Option<String> {
    let log = |path: &str| path.ends_with(".json").then(|| format!("{path}l"));
    let document = |path: &str| path.strip_suffix('l').filter(|path| path.ends_with(".json")).map(String::from);
    log(path).or_else(|| document(path))
}

/// How long ago the file was written; one that says it will be was written now.
fn age(facts: &Facts, now: Now) -> Duration {
    let millis = now.wall.0.saturating_sub(facts.modified.as_unix_millis());
    Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}

impl Feeder for Store {
    fn look(&mut self, _now: Now, spool: &Spool) {
        if self.life != Some(spool.life()) {
            // What of the file is in the spool is another question now.
            self.forget();
            (self.life, self.seen) = (Some(spool.life()), None);
        }
        self.stage = Stage::Asking(None);
        self.ask(Op::Stat { path: self.path.clone() });
    }

    fn go_on(&mut self, now: Now, spool: &mut Spool) {
        let is_another = self.life != Some(spool.life());
        match core::mem::replace(&mut self.stage, Stage::Idle) {
            // The spool began anew meanwhile, and so does the next look.
            Stage::Reading(open) | Stage::Taking(open, _) if is_another => {
                self.asks.ask(Op::CloseFile { handle: open.handle });
                self.read = None;
            }
            Stage::Ending(_) if is_another => {}
            Stage::Taking(open, piece) if spool.has_room() => self.take(open, &piece, spool),
            Stage::Ending(facts) if spool.has_room() => {
                if !self.hand_over(now, facts, spool) {
                    self.stage = Stage::Ending(facts);
                }
            }
            stage => self.stage = stage,
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
        self.asks.take()
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        if self.asked != Some(tag) {
            // A file that was closed.
            return;
        }
        match core::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Asking(before) => self.handle_facts(now, before, outcome),
            Stage::Opening => self.handle_opened(&outcome),
            Stage::Reading(open) => self.handle_piece(open, &outcome),
            stage => self.stage = stage,
        }
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
