//! One client of a transcript stream: a cursor, and what it asked for.
//!
//! ```text
//!   Opening ── stream ready ──▶ hello, newest page, backlog_complete ──▶ Live: ring or file from the cursor on,
//!      ▲                                                                 │     older pages in between
//!      └──────── rotation, rewrite: session_changed comes first ─────────┘
//! ```
//!
//! It holds no entries: what it has not taken stays in the file. What it may be sent is its credit, which one frame may
//! overdraw. A page and the live tail share it, so that neither waits for the other.

mod run;
mod sending;

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use self::run::Run;
use super::control::LoadOlder;
use super::features::Features;
use super::frames::{self, Heartbeat};
use super::resume::Resume;
use crate::agent::AgentKind;
use crate::ids::{ExId, PaneId, Seq};
use crate::io::{CloseCode, Fault, Frame, Message, Op, Outcome, Output};
use crate::limits::{HEARTBEAT_EVERY, MAX_WAITING_PAGES};
use crate::machine::{Asks, Tag};
use crate::mobile::liveness::{Due, Liveness, next_common};
use crate::mobile::roster::View;
use crate::source::follow::Follower;
use crate::source::ring::Ring;
use crate::time::Instant;

/// The stream that a client follows now.
#[derive(Debug, Clone, Copy)]
pub struct Feed<'a> {
    /// The file.
    pub follower: &'a Follower,
    /// The newest live frames, encoded.
    pub ring: &'a Ring,
    /// The children of the session; `None` as long as it is not known whether there are any.
    pub roster: Option<View<'a>>,
    /// The session as clients shall know it now.
    pub session_id: &'a str,
    /// Whether it is this client's turn to put a long line together.
    pub long_lines: bool,
}

/// What a client asked to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shows {
    /// The pane.
    pub pane: PaneId,
    /// The kind of agent in it.
    pub kind: AgentKind,
    /// The child whose conversation is followed instead of the session's own.
    pub subagent: Option<String>,
}

/// One WebSocket client.
#[derive(Debug)]
pub struct Client {
    ex: ExId,
    shows: Shows,
    stage: Stage,
    /// The session id of the last `hello`.
    shown: Option<String>,
    next_live: Seq,
    page: Option<Page>,
    waiting: VecDeque<LoadOlder>,
    catch_up: Option<Run>,
    /// Where it wants to go on, until its first `hello`.
    resume: Option<Resume>,
    /// When it gets its next heartbeat, if it opted in.
    next_beat: Option<Instant>,
    /// Whether it opted in to more on each subagent.
    full_roster: bool,
    /// Whether it opted in to side branches, and those that it knows.
    branches: bool,
    side: Vec<(u64, u64)>,
    /// The roster that it was sent last.
    roster: u64,
    /// When a newer one is due: before the entry with this seq, behind those that were there when it was found.
    roster_due: Option<Seq>,
    asks: Asks,
    window: i64,
    credit: i64,
    held: bool,
    /// A read failed: nothing is read before the next [`Client::resume`].
    paused: bool,
    closed: bool,
    liveness: Liveness,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opening,
    Live,
}

/// A run of entries that is not part of the live tail, and what it is for.
#[derive(Debug)]
struct Page {
    run: Run,
    purpose: Purpose,
}

#[derive(Debug, Clone, Copy)]
enum Purpose {
    /// The entry at which a client wants to go on: is it still the one it has?
    Cursor,
    Newest {
        count: u64,
        has_more: bool,
    },
    Older {
        requested: i64,
        oldest: u64,
    },
}

impl Client {
    /// A client whose upgrade was just accepted. `window_bytes` may wait for it in the runtime.
    #[must_use]
    pub fn new(
        ex: ExId,
        shows: Shows,
        resume: Option<Resume>,
        features: Features,
        window_bytes: usize,
        now: Instant,
    ) -> Self {
        let window = i64::try_from(window_bytes).unwrap_or(i64::MAX);
        Self {
            ex,
            shows,
            stage: Stage::Opening,
            shown: None,
            next_live: Seq::FIRST,
            page: None,
            waiting: VecDeque::new(),
            catch_up: None,
            resume,
            next_beat: features.heartbeat.then(|| next_common(now, HEARTBEAT_EVERY)),
            full_roster: features.roster,
            branches: features.branches,
            side: Vec::new(),
            roster: 0,
            roster_due: None,
            asks: Asks::default(),
            window,
            credit: window,
            held: false,
            paused: false,
            closed: false,
            liveness: Liveness::new(now),
        }
    }

    /// The stream is another one now: drops whatever was on its way and opens again when the stream is ready.
    pub fn restart(&mut self) {
        self.stage = Stage::Opening;
        self.shown = self.shown.take().filter(|_| !cfg!(panewire_fault = "rotation-not-told"));
        for run in [self.page.take().map(|page| page.run), self.catch_up.take()].into_iter().flatten() {
            self.give_back(run.held_bytes());
        }
        self.asks.clear();
        self.paused = false;
    }

    /// Takes a message from the client.
    pub fn handle_message(&mut self, now: Instant, message: Message<'_>, out: &mut VecDeque<Output>) {
        self.liveness.heard(now);
        let older = match message {
            Message::Pong => return,
            Message::Text(text) => LoadOlder::parse(text).ok(),
            Message::Binary(_) => None,
            Message::Fault(Fault::TooLarge) => return self.close(CloseCode::TooLarge, "message too large", out),
            Message::Fault(Fault::NotUtf8) => return self.close(CloseCode::NotUtf8, "text is not UTF-8", out),
            Message::Fault(Fault::Protocol) => return self.close(CloseCode::Protocol, "protocol error", out),
        };
        match older {
            Some(older) => self.waiting.push_back(older),
            None => return self.close(CloseCode::Normal, "unrecognized control frame", out),
        }
        self.hold_if_full(out);
    }

    /// So many bytes left the runtime's queue.
    pub fn handle_taken(&mut self, now: Instant, bytes: usize) {
        self.give_back(bytes);
        self.liveness.taken(now, self.credit < self.window);
    }

    /// Pings a client whose time has come, sends the heartbeat that is due, and closes one that is silent or takes
    /// nothing.
    pub fn handle_tick(&mut self, now: Instant, beat: &Heartbeat<'_>, out: &mut VecDeque<Output>) {
        if self.next_beat.is_some_and(|due| due <= now) {
            self.next_beat = Some(next_common(now, HEARTBEAT_EVERY));
            // A client that does not take what there is needs no sign of life on top of it.
            if self.stage == Stage::Live && self.credit > 0 {
                self.send(now, frames::heartbeat(beat), out);
            }
        }
        match self.liveness.due(now, self.held) {
            None => {}
            Some(Due::Ping) => out.push_back(Output::Send(self.ex, Frame::Ping)),
            Some(Due::Silent) => self.close(CloseCode::Normal, "no sign of life for 60 s", out),
            Some(Due::Stalled) => self.close(CloseCode::Normal, "nothing was taken for 30 s", out),
        }
    }

    /// When [`handle_tick`](Self::handle_tick) has something to do.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        let liveness = self.liveness.next_deadline(self.held);
        self.next_beat.map_or(liveness, |beat| beat.min(liveness))
    }

    /// Takes a piece of the file, or the news that it could not be read.
    pub fn handle_outcome(
        &mut self,
        now: Instant,
        tag: Tag,
        outcome: Outcome<'_>,
        feed: Feed<'_>,
        out: &mut VecDeque<Output>,
    ) {
        if self.page.as_ref().is_some_and(|page| page.run.asked == Some(tag)) {
            self.page_piece(now, outcome, feed, out);
        } else if self.catch_up.as_ref().is_some_and(|run| run.asked == Some(tag)) {
            self.catch_up_piece(outcome, feed);
        }
    }

    /// Sends what can be sent now, and asks for what is needed to send more.
    pub fn pump(&mut self, now: Instant, feed: Feed<'_>, out: &mut VecDeque<Output>) {
        if self.closed || !feed.follower.is_ready() {
            return;
        }
        self.release_proven(now, feed, out);
        if self.stage == Stage::Opening && self.page.is_none() {
            if self.credit <= 0 || feed.roster.is_none() {
                return;
            }
            self.open(now, feed, out);
        }
        self.pump_live(now, feed, out);
        self.pump_roster(now, feed, out);
        self.pump_branches(now, feed, out);
        self.pump_pages(now, feed, out);
        self.let_go_of_idle_lines(feed);
    }

    /// The next operation it wants performed, if any.
    pub fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    /// Closes it with a real close frame. Nothing is sent to it afterwards.
    pub fn close(&mut self, code: CloseCode, reason: &'static str, out: &mut VecDeque<Output>) {
        if !self.closed {
            self.closed = true;
            self.restart();
            out.push_back(Output::Close(self.ex, code, reason));
        }
    }

    /// Whether a failed read waits for [`resume`](Self::resume): the time of the next look at the file is right.
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.paused
    }

    /// Tries again what failed.
    pub const fn resume(&mut self) {
        self.paused = false;
    }

    /// Whether something that was read waits for the number of the look that proves it.
    #[must_use]
    pub fn wants_proof(&self) -> bool {
        self.runs().any(Run::wants_proof)
    }

    /// Whether something that was read is not proven yet.
    #[must_use]
    pub fn is_unproven(&self) -> bool {
        self.runs().any(Run::is_unproven)
    }

    /// Whether it is in the middle of a long line: only one client may go on with one at a time.
    #[must_use]
    pub fn has_long_line(&self) -> bool {
        self.runs().any(Run::has_long_line)
    }

    /// What waits is proven by the look with this number.
    pub fn proven_by(&mut self, look: u64) {
        let page = self.page.as_mut().map(|page| &mut page.run);
        for run in page.into_iter().chain(self.catch_up.as_mut()) {
            run.proven_by(look);
        }
    }

    /// Whether it opted in to more on each subagent.
    #[must_use]
    pub const fn wants_full_roster(&self) -> bool {
        self.full_roster
    }

    /// Whether it was closed.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    fn send(&mut self, now: Instant, frame: Bytes, out: &mut VecDeque<Output>) {
        self.spend(frame.len());
        self.send_spent(now, frame, out);
    }

    /// Sends what was paid for when it was held back.
    fn send_spent(&mut self, now: Instant, frame: Bytes, out: &mut VecDeque<Output>) {
        self.liveness.sent(now);
        out.push_back(Output::Send(self.ex, Frame::Text(frame)));
    }

    fn spend(&mut self, bytes: usize) {
        let bytes = if cfg!(panewire_fault = "credit-ignored") { 0 } else { bytes };
        self.credit = self.credit.saturating_sub(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    fn give_back(&mut self, bytes: usize) {
        self.credit = self.credit.saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX)).min(self.window);
    }

    fn runs(&self) -> impl Iterator<Item = &Run> {
        self.page.as_ref().map(|page| &page.run).into_iter().chain(&self.catch_up)
    }

    /// Drops what it has of long lines with which it cannot go on, although it is its turn: it has no room for more.
    fn let_go_of_idle_lines(&mut self, feed: Feed<'_>) {
        if !feed.long_lines || self.paused {
            return;
        }
        let mut given_back = 0_usize;
        let page = self.page.as_mut().map(|page| &mut page.run);
        for run in page.into_iter().chain(self.catch_up.as_mut()).filter(|run| run.has_long_line() && run.is_idle()) {
            given_back = given_back.saturating_add(run.held_bytes());
            run.begin_again(feed);
        }
        self.give_back(given_back);
    }

    fn hold_if_full(&mut self, out: &mut VecDeque<Output>) {
        if !self.held && self.waiting.len() >= MAX_WAITING_PAGES {
            self.held = true;
            out.push_back(Output::Hold(self.ex, true));
        }
    }

    fn release_if_not_full(&mut self, out: &mut VecDeque<Output>) {
        if self.held && self.waiting.len() < MAX_WAITING_PAGES {
            self.held = false;
            out.push_back(Output::Hold(self.ex, false));
        }
    }
}
