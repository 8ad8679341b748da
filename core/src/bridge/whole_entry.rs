//! `GET /agent-transcript/entry`: one whole entry, read from the file by its range and sent in pieces.
//!
//! ```text
//!   Waiting ── stream counted, a seat free ──▶ Reading ── found ──▶ Proving ── looked at ──▶ Sending ── all ──▶ gone
//!      ▲                                          │                    │
//!      └── rewritten, or shorter than counted ────┴────────────────────┘
//! ```
//!
//! It goes through the stream that everybody shares: one follower, one index. An entry may be as large as a line, so only
//! a few have a seat at once, and a client that takes nothing loses its own.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::ControlFlow;

use bytes::Bytes;

use super::Bridge;
use super::exchange::Exchange;
use super::ops::Owner;
use crate::agent::Caps;
use crate::http::{Answer, Manner};
use crate::ids::{ExId, Seq};
use crate::io::{Frame, Outcome, Output};
use crate::limits::{BODY_PIECE_BYTES, FILE_POLL, MAX_SHRUNK_LOOKS, MAX_WHOLE_ENTRIES, STALL};
use crate::machine::Tag;
use crate::mobile::frames;
use crate::source::follow::Follower;
use crate::source::page::PageRead;
use crate::time::Instant;
use crate::timers::Timer;

/// The exchanges that are answered with one whole entry.
#[derive(Debug, Default)]
pub(super) struct WholeEntries {
    open: BTreeMap<ExId, WholeEntry>,
}

#[derive(Debug)]
struct WholeEntry {
    seq: Seq,
    stream: u64,
    manner: Manner,
    stage: Stage,
    /// How often the file was found shorter than it was counted.
    shrunk: u32,
}

#[derive(Debug)]
enum Stage {
    /// For the stream to be counted, and for a seat.
    Waiting,
    Reading(Box<PageRead>),
    /// What was read is sound if the look with this number finds the file as it was, or grown.
    Proving(Bytes, u64),
    Sending(Sending),
}

/// An answer under way, and what the client may still be sent of it.
#[derive(Debug)]
struct Sending {
    rest: Bytes,
    credit: i64,
    /// When the client last took something.
    taken: Instant,
}

impl WholeEntries {
    /// The streams that are needed.
    pub(super) fn streams(&self) -> impl Iterator<Item = u64> {
        self.open.values().map(|entry| entry.stream)
    }

    /// Who waits for an entry of this stream, or is sent one.
    pub(super) fn of(&self, stream: u64) -> Vec<ExId> {
        self.open.iter().filter(|(_, entry)| entry.stream == stream).map(|(ex, _)| *ex).collect()
    }

    fn seats_taken(&self) -> usize {
        self.open.values().filter(|entry| !matches!(entry.stage, Stage::Waiting)).count()
    }

    fn waiting(&self) -> BTreeSet<ExId> {
        self.open.iter().filter(|(_, entry)| matches!(entry.stage, Stage::Waiting)).map(|(ex, _)| *ex).collect()
    }
}

impl Bridge {
    /// The stream is known: the entry is sent as soon as its stream is counted.
    pub(super) fn serve_whole_entry(&mut self, ex: ExId, seq: Seq, stream: u64, manner: Manner) {
        if self.streams.stream(stream).is_none() {
            return self.answer(ex, failed(&manner));
        }
        self.exchanges.insert(ex, Exchange::WholeEntry);
        self.whole_entries.open.insert(ex, WholeEntry { seq, stream, manner, stage: Stage::Waiting, shrunk: 0 });
        self.dirty.insert(ex);
    }

    /// Goes on with it as far as it can go now.
    pub(super) fn pump_whole_entry(&mut self, ex: ExId) {
        let free = self.whole_entries.seats_taken() < MAX_WHOLE_ENTRIES;
        let Some(entry) = self.whole_entries.open.get_mut(&ex) else { return };
        let Some(stream) = self.streams.stream(entry.stream) else { return };
        match &mut entry.stage {
            Stage::Waiting if self.paused.contains(&ex) || !stream.follower.is_ready() => {}
            Stage::Waiting if entry.seq.get() > stream.follower.index().total() => {
                let answer = Answer::text(404, "no such entry", &entry.manner);
                self.answer(ex, answer);
                self.forget(ex);
            }
            Stage::Waiting if free => {
                let (index, line_bytes) = (stream.follower.index(), stream.follower.line_bytes());
                let run = Box::new(PageRead::new(index, line_bytes, entry.seq, entry.seq, Caps::NONE));
                self.read_whole_entry(ex, run);
            }
            Stage::Proving(body, look) if *look <= stream.follower.looked() => {
                let body = core::mem::take(body);
                self.begin_sending(ex, body);
            }
            Stage::Sending(_) => self.send_whole_entry(ex),
            Stage::Waiting | Stage::Reading(_) | Stage::Proving(..) => {}
        }
    }

    /// A piece of the file came.
    pub(super) fn whole_entry_outcome(&mut self, ex: ExId, outcome: Outcome<'_>) {
        let Some(entry) = self.whole_entries.open.get_mut(&ex) else { return };
        let Some(follower) = self.streams.stream(entry.stream).map(|stream| &stream.follower) else { return };
        let Stage::Reading(mut run) = core::mem::replace(&mut entry.stage, Stage::Waiting) else { return };
        let Outcome::Bytes { bytes, size_now } = outcome else { return self.fail_whole_entry(ex) };
        match found(&mut run, bytes, size_now, follower) {
            Found::Entry(body) => self.prove_whole_entry(ex, body),
            Found::More => self.read_whole_entry(ex, run),
            Found::Shrunk if entry.shrunk >= MAX_SHRUNK_LOOKS => self.fail_whole_entry(ex),
            Found::Shrunk => {
                // The follower will see at its next look what happened to the file.
                entry.shrunk = entry.shrunk.saturating_add(1);
                self.paused.insert(ex);
                self.timers.no_later(Timer::FilePoll, self.now.mono.plus(FILE_POLL));
            }
        }
    }

    /// The client took so many bytes.
    pub(super) fn whole_entry_taken(&mut self, ex: ExId, bytes: usize) {
        let now = self.now.mono;
        if let Some(WholeEntry { stage: Stage::Sending(sending), .. }) = self.whole_entries.open.get_mut(&ex) {
            sending.credit = sending.credit.saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX));
            sending.taken = now;
            self.dirty.insert(ex);
        }
    }

    /// A client that takes nothing is given up: the answer ends before its length.
    pub(super) fn check_whole_entry(&mut self, ex: ExId) {
        if let Some(WholeEntry { stage: Stage::Sending(sending), .. }) = self.whole_entries.open.get(&ex) {
            let until = sending.taken.plus(STALL);
            if until <= self.now.mono {
                self.outputs.push_back(Output::Finish(ex));
                self.forget(ex);
            } else {
                self.timers.set(Timer::Liveness(ex), until);
            }
        }
    }

    /// Ends the exchange without its entry.
    pub(super) fn stop_whole_entry(&mut self, ex: ExId, refusal: impl Fn(&Manner) -> Answer) {
        match self.whole_entries.open.get(&ex) {
            Some(WholeEntry { stage: Stage::Sending(_), .. }) => self.outputs.push_back(Output::Finish(ex)),
            Some(entry) => {
                let answer = refusal(&entry.manner);
                self.answer(ex, answer);
            }
            None => {}
        }
    }

    /// The exchange is over: its seat and its stream are for others.
    pub(super) fn leave_whole_entry(&mut self, ex: ExId) {
        self.dirty.remove(&ex);
        self.paused.remove(&ex);
        self.timers.stop(Timer::Liveness(ex));
        self.ops.cancel(Owner::WholeEntry(ex), &mut self.outputs);
        if let Some(entry) = self.whole_entries.open.remove(&ex) {
            self.release(entry.stream);
        }
        self.dirty.append(&mut self.whole_entries.waiting());
    }

    /// The file is another one: what is being read of it is looked for anew.
    pub(super) fn restart_whole_entries(&mut self, stream: u64) {
        for ex in self.whole_entries.of(stream) {
            let Some(entry) = self.whole_entries.open.get_mut(&ex) else { continue };
            if matches!(entry.stage, Stage::Reading(_) | Stage::Proving(..)) {
                entry.stage = Stage::Waiting;
                self.ops.cancel(Owner::WholeEntry(ex), &mut self.outputs);
            }
        }
    }

    /// The stream cannot be read.
    pub(super) fn fail_whole_entries(&mut self, stream: u64) {
        for ex in self.whole_entries.of(stream) {
            match self.whole_entries.open.get(&ex) {
                // What is being sent was read before.
                Some(WholeEntry { stage: Stage::Sending(_), .. }) | None => {}
                Some(_) => self.fail_whole_entry(ex),
            }
        }
    }

    fn fail_whole_entry(&mut self, ex: ExId) {
        if let Some(entry) = self.whole_entries.open.get(&ex) {
            let answer = failed(&entry.manner);
            self.answer(ex, answer);
            self.forget(ex);
        }
    }

    fn read_whole_entry(&mut self, ex: ExId, run: Box<PageRead>) {
        let Some(entry) = self.whole_entries.open.get_mut(&ex) else { return };
        let Some(follower) = self.streams.stream(entry.stream).map(|stream| &stream.follower) else { return };
        let Some(handle) = follower.handle() else { return self.fail_whole_entry(ex) };
        let op = run.read_op(handle, follower.index());
        entry.stage = Stage::Reading(run);
        self.ops.issue(Owner::WholeEntry(ex), Tag(0), op, &mut self.outputs);
    }

    fn prove_whole_entry(&mut self, ex: ExId, body: Bytes) {
        let Some(entry) = self.whole_entries.open.get_mut(&ex) else { return };
        let no = entry.stream;
        let Some(stream) = self.streams.stream_mut(no) else { return };
        entry.stage = Stage::Proving(body, stream.follower.prove());
        self.run_stream(no);
    }

    fn begin_sending(&mut self, ex: ExId, body: Bytes) {
        let now = self.now.mono;
        let Some(entry) = self.whole_entries.open.get_mut(&ex) else { return };
        self.outputs.push_back(Output::Respond(ex, Answer::json_head(body.len(), &entry.manner)));
        let rest = if entry.manner.head_only { Bytes::new() } else { body };
        let credit = i64::try_from(self.config.limits.window_bytes).unwrap_or(i64::MAX);
        entry.stage = Stage::Sending(Sending { rest, credit, taken: now });
        self.timers.set(Timer::Liveness(ex), now.plus(STALL));
        self.send_whole_entry(ex);
    }

    /// Sends pieces as far as the credit goes; the last one ends the exchange.
    fn send_whole_entry(&mut self, ex: ExId) {
        let Some(entry) = self.whole_entries.open.get_mut(&ex) else { return };
        let Stage::Sending(Sending { rest, credit, .. }) = &mut entry.stage else { return };
        while !rest.is_empty() && *credit > 0 {
            let piece = rest.split_to(rest.len().min(BODY_PIECE_BYTES));
            *credit = credit.saturating_sub(i64::try_from(piece.len()).unwrap_or(i64::MAX));
            self.outputs.push_back(Output::Send(ex, Frame::Body(piece)));
        }
        if rest.is_empty() {
            self.outputs.push_back(Output::Finish(ex));
            self.forget(ex);
        }
    }
}

fn failed(manner: &Manner) -> Answer {
    Answer::text(500, "read transcript failed", manner)
}

enum Found {
    /// Its JSON, with a final newline.
    Entry(Bytes),
    More,
    Shrunk,
}

fn found(run: &mut PageRead, bytes: &[u8], size_now: u64, follower: &Follower) -> Found {
    let mut found = None;
    let taken = run.take(bytes, size_now, follower.index(), follower.reader(), &mut |seq, entry| {
        found = Some(frames::entry_body(seq, &entry));
        ControlFlow::Break(())
    });
    match (found, taken) {
        (Some(body), _) => Found::Entry(body),
        (None, Ok(())) => Found::More,
        (None, Err(_)) => Found::Shrunk,
    }
}
