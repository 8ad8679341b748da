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

use alloc::collections::VecDeque;
use alloc::string::String;
use core::ops::ControlFlow;

use super::control::LoadOlder;
use super::frames::{self, Hello};
use crate::agent::AgentKind;
use crate::entry::Entry;
use crate::ids::{ExId, PaneId, Seq};
use crate::io::{CloseCode, Fault, Frame, Message, Op, Outcome, Output};
use crate::limits::{MAX_WAITING_PAGES, PAGE_ENTRIES};
use crate::machine::{Asks, Tag};
use crate::mobile::liveness::{Due, Liveness};
use crate::source::follow::Follower;
use crate::source::page::{PageRead, Shrunk};
use crate::source::ring::Ring;
use crate::time::Instant;

/// The stream that a client follows now.
#[derive(Debug, Clone, Copy)]
pub struct Feed<'a> {
    /// The file.
    pub follower: &'a Follower,
    /// The newest live frames, encoded.
    pub ring: &'a Ring,
    /// The session as clients shall know it now.
    pub session_id: &'a str,
}

/// One WebSocket client.
#[derive(Debug)]
pub struct Client {
    ex: ExId,
    pane: PaneId,
    kind: AgentKind,
    stage: Stage,
    /// The session id of the last `hello`.
    shown: Option<String>,
    next_live: Seq,
    page: Option<Page>,
    waiting: VecDeque<LoadOlder>,
    catch_up: Option<Reading>,
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

#[derive(Debug)]
struct Page {
    reading: Reading,
    purpose: Purpose,
}

#[derive(Debug, Clone, Copy)]
enum Purpose {
    Newest { count: u64, has_more: bool },
    Older { requested: i64, oldest: u64 },
}

/// A run of entries being read, and the piece of it that was asked for.
#[derive(Debug)]
struct Reading {
    run: PageRead,
    asked: Option<Tag>,
}

impl Client {
    /// A client whose upgrade was just accepted. `window_bytes` may wait for it in the runtime.
    #[must_use]
    pub fn new(ex: ExId, pane: PaneId, kind: AgentKind, window_bytes: usize, now: Instant) -> Self {
        let window = i64::try_from(window_bytes).unwrap_or(i64::MAX);
        Self {
            ex,
            pane,
            kind,
            stage: Stage::Opening,
            shown: None,
            next_live: Seq::FIRST,
            page: None,
            waiting: VecDeque::new(),
            catch_up: None,
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
        self.page = None;
        self.waiting.clear();
        self.catch_up = None;
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
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.credit = self.credit.saturating_add(bytes).min(self.window);
        self.liveness.taken(now, self.credit < self.window);
    }

    /// Pings a client whose time has come, and closes one that is silent or takes nothing.
    pub fn handle_tick(&mut self, now: Instant, out: &mut VecDeque<Output>) {
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
        self.liveness.next_deadline(self.held)
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
        if self.page.as_ref().is_some_and(|page| page.reading.asked == Some(tag)) {
            self.page_piece(now, outcome, feed, out);
        } else if self.catch_up.as_ref().is_some_and(|reading| reading.asked == Some(tag)) {
            self.catch_up_piece(now, outcome, feed, out);
        }
    }

    /// Sends what can be sent now, and asks for what is needed to send more.
    pub fn pump(&mut self, now: Instant, feed: Feed<'_>, out: &mut VecDeque<Output>) {
        if self.closed || !feed.follower.is_ready() {
            return;
        }
        if self.stage == Stage::Opening {
            self.open(now, feed, out);
        }
        self.pump_live(now, feed, out);
        self.pump_pages(now, feed, out);
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

    /// Whether it was closed.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    fn open(&mut self, now: Instant, feed: Feed<'_>, out: &mut VecDeque<Output>) {
        if let Some(from) = self.shown.replace(feed.session_id.into()) {
            self.send(now, frames::session_changed(self.pane.as_str(), &from, feed.session_id), out);
        }
        let total = feed.follower.index().total();
        let count = total.min(PAGE_ENTRIES);
        let first = total.saturating_sub(count).saturating_add(1);
        let hello = frames::hello(&Hello {
            pane: self.pane.as_str(),
            agent_kind: self.kind.label(),
            session_id: feed.session_id,
            backlog_count: count,
            total,
            oldest_loaded_seq: if count == 0 { 0 } else { first },
        });
        self.send(now, hello, out);
        self.release_if_not_full(out);
        self.stage = Stage::Live;
        self.next_live = Seq::after(total);
        let purpose = Purpose::Newest { count, has_more: first > 1 };
        self.start_page(now, feed, purpose, (count > 0).then_some((first, total)), out);
    }

    /// The live tail: from the ring where the next entry is still there, otherwise from the file.
    fn pump_live(&mut self, now: Instant, feed: Feed<'_>, out: &mut VecDeque<Output>) {
        if matches!(self.page, Some(Page { purpose: Purpose::Newest { .. }, .. })) {
            return;
        }
        let reserve = self.reserve_for_page();
        let total = feed.follower.index().total();
        while !self.paused && self.catch_up.is_none() && self.next_live.get() <= total && self.credit > reserve {
            if let Some(frame) = feed.ring.frame(self.next_live) {
                self.send(now, frame.clone(), out);
                self.next_live = self.next_live.next();
            } else {
                let last = Seq::after(total.saturating_sub(1));
                let run = PageRead::new(feed.follower.index(), feed.follower.line_bytes(), self.next_live, last);
                self.catch_up = Some(Reading { run, asked: None });
            }
        }
        if self.credit > reserve
            && let Some(reading) = &mut self.catch_up
        {
            reading.ask(feed, &mut self.asks);
        }
    }

    /// The credit that the tail leaves to a page in progress: half of what there is, so that neither waits for the other.
    const fn reserve_for_page(&self) -> i64 {
        if self.page.is_some() && self.credit > 0 { self.credit / 2 } else { 0 }
    }

    fn pump_pages(&mut self, now: Instant, feed: Feed<'_>, out: &mut VecDeque<Output>) {
        while self.page.is_none()
            && self.credit > 0
            && let Some(older) = self.waiting.pop_front()
        {
            let range = older.range(feed.follower.index().total());
            let oldest = range.map_or(0, |(first, _)| first);
            let purpose = Purpose::Older { requested: older.requested_before_seq, oldest };
            self.start_page(now, feed, purpose, range, out);
            self.release_if_not_full(out);
        }
        if self.credit > 0
            && !self.paused
            && let Some(page) = &mut self.page
        {
            page.reading.ask(feed, &mut self.asks);
        }
    }

    fn start_page(
        &mut self,
        now: Instant,
        feed: Feed<'_>,
        purpose: Purpose,
        range: Option<(u64, u64)>,
        out: &mut VecDeque<Output>,
    ) {
        let Some((first, last)) = range else {
            return self.finish_page(now, purpose, out);
        };
        let (first, last) = (Seq::after(first.saturating_sub(1)), Seq::after(last.saturating_sub(1)));
        let run = PageRead::new(feed.follower.index(), feed.follower.line_bytes(), first, last);
        self.page = Some(Page { reading: Reading { run, asked: None }, purpose });
    }

    fn finish_page(&mut self, now: Instant, purpose: Purpose, out: &mut VecDeque<Output>) {
        let frame = match purpose {
            Purpose::Newest { count, has_more } => frames::backlog_complete(count, has_more),
            Purpose::Older { requested, oldest } => frames::page_complete(requested, oldest, oldest > 1),
        };
        self.send(now, frame, out);
    }

    fn page_piece(&mut self, now: Instant, outcome: Outcome<'_>, feed: Feed<'_>, out: &mut VecDeque<Output>) {
        let Some(mut page) = self.page.take() else { return };
        match self.piece(now, &mut page.reading, outcome, feed, false, out) {
            Piece::More => self.page = Some(page),
            Piece::Done => self.finish_page(now, page.purpose, out),
            // 0 keeps the client's cursor: it may ask again.
            Piece::Failed | Piece::Shrunk if let Purpose::Older { requested, .. } = page.purpose => {
                self.send(now, frames::page_complete(requested, 0, true), out);
            }
            Piece::Failed => self.close(CloseCode::Internal, "read transcript failed", out),
            // The follower will see what happened to the file. If nothing did, the page goes on.
            Piece::Shrunk => {
                page.reading.run = page.reading.run.again(feed.follower.index());
                self.page = Some(page);
                self.paused = true;
            }
        }
    }

    fn catch_up_piece(&mut self, now: Instant, outcome: Outcome<'_>, feed: Feed<'_>, out: &mut VecDeque<Output>) {
        let Some(mut reading) = self.catch_up.take() else { return };
        match self.piece(now, &mut reading, outcome, feed, true, out) {
            Piece::More => self.catch_up = Some(reading),
            Piece::Done => {}
            // The cursor stays where it is, and a new run begins there.
            Piece::Failed | Piece::Shrunk => self.paused = true,
        }
    }

    /// Sends the entries of one piece as far as the credit goes.
    fn piece(
        &mut self,
        now: Instant,
        reading: &mut Reading,
        outcome: Outcome<'_>,
        feed: Feed<'_>,
        live: bool,
        out: &mut VecDeque<Output>,
    ) -> Piece {
        reading.asked = None;
        let Outcome::Bytes { bytes, size_now } = outcome else { return Piece::Failed };
        if self.credit <= 0 {
            // The other half of the stream used it up: the piece is read again when there is room.
            return Piece::More;
        }
        let reserve = if live { self.reserve_for_page() } else { 0 };
        let (index, reader) = (feed.follower.index(), feed.follower.reader());
        let taken = reading.run.take(bytes, size_now, index, reader, &mut |seq: Seq, entry: Entry| {
            self.send(now, frames::entry(live, seq, &entry), out);
            if live {
                self.next_live = seq.next();
            }
            if self.credit > reserve { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        match taken {
            Err(Shrunk) => Piece::Shrunk,
            Ok(()) if reading.run.is_done() => Piece::Done,
            Ok(()) => Piece::More,
        }
    }

    fn send(&mut self, now: Instant, frame: bytes::Bytes, out: &mut VecDeque<Output>) {
        let bytes = i64::try_from(frame.len()).unwrap_or(i64::MAX);
        self.credit = self.credit.saturating_sub(bytes);
        self.liveness.sent(now);
        out.push_back(Output::Send(self.ex, Frame::Text(frame)));
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    More,
    Done,
    Failed,
    Shrunk,
}

impl Reading {
    /// Asks for the next piece, unless one is on its way.
    fn ask(&mut self, feed: Feed<'_>, asks: &mut Asks) {
        if self.asked.is_none()
            && let Some(handle) = feed.follower.handle()
        {
            self.asked = Some(asks.ask(self.run.read_op(handle, feed.follower.index())));
        }
    }
}
