//! What a client is sent: the opening sequence, the live tail, older pages.

use alloc::collections::VecDeque;
use core::ops::ControlFlow;

use super::{Client, Feed, Page, Purpose, Run, Stage};
use crate::entry::Entry;
use crate::ids::Seq;
use crate::io::{CloseCode, Outcome, Output};
use crate::limits::PAGE_ENTRIES;
use crate::mobile::frames::{self, Hello};
use crate::mobile::resume::Resume;
use crate::source::page::Shrunk;
use crate::time::Instant;

impl Client {
    /// Opens the stream: at the cursor of a client that was here before if that still holds, else with the newest page.
    pub(super) fn open(&mut self, now: Instant, feed: Feed<'_>, out: &mut VecDeque<Output>) {
        let total = feed.follower.index().total();
        let fits = |resume: &Resume| resume.fits(feed.session_id, &feed.follower.generation(), total);
        match self.resume.as_ref().and_then(fits) {
            Some(cursor) => self.page = Some(Page { run: Run::new(feed, cursor, cursor), purpose: Purpose::Cursor }),
            None => self.say_hello(now, None, feed, out),
        }
    }

    /// `hello`, and the first page behind it: from `cursor` on, or the newest.
    fn say_hello(&mut self, now: Instant, cursor: Option<Seq>, feed: Feed<'_>, out: &mut VecDeque<Output>) {
        if let Some(from) = self.shown.replace(feed.session_id.into()) {
            // Whatever was asked for until now was asked of the old session.
            if !cfg!(panewire_fault = "old-questions-kept") {
                self.waiting.clear();
            }
            self.send(now, frames::session_changed(self.shows.pane.as_str(), &from, feed.session_id), out);
        }
        let total = feed.follower.index().total();
        let count = cursor.map_or_else(|| total.min(PAGE_ENTRIES), |cursor| total.saturating_sub(cursor.get()));
        let first = total.saturating_sub(count).saturating_add(1);
        let hello = frames::hello(&Hello {
            pane: self.shows.pane.as_str(),
            agent_kind: self.shows.kind.label(),
            session_id: feed.session_id,
            subagent: self.shows.subagent.as_deref(),
            backlog_count: count,
            total,
            oldest_loaded_seq: if total == 0 { 0 } else { first },
            subagents: feed.roster.filter(|view| !view.rows.is_empty()),
            full_roster: self.full_roster,
            side_branches: if self.branches { feed.follower.told().branches().side() } else { &[] },
            generation: &feed.follower.generation(),
            resumed: self.resume.take().map(|_| cursor.is_some()),
        });
        self.roster = feed.roster.map_or(0, |view| view.version_for(self.full_roster));
        self.roster_due = None;
        self.side = feed.follower.told().branches().side().to_vec();
        self.send(now, hello, out);
        self.release_if_not_full(out);
        self.stage = Stage::Live;
        self.next_live = Seq::after(total);
        let purpose = Purpose::Newest { count, has_more: first > 1 };
        self.start_page(now, feed, purpose, (count > 0).then_some((first, total)), out);
    }

    /// The live tail: from the ring where the next entry is still there, otherwise from the file.
    pub(super) fn pump_live(&mut self, now: Instant, feed: Feed<'_>, out: &mut VecDeque<Output>) {
        if self.opens() {
            return;
        }
        let reserve = self.reserve_for_page();
        let total = feed.follower.index().total();
        while !self.paused && self.catch_up.is_none() && self.next_live.get() <= total && self.credit > reserve {
            // What was live when it was encoded may lie beside by now.
            let is_beside = self.branches && feed.follower.told().branches().is_beside(self.next_live);
            if let Some(frame) = feed.ring.frame(self.next_live).filter(|_| !is_beside) {
                self.send(now, frame.clone(), out);
                self.next_live = self.next_live.next();
            } else if cfg!(panewire_fault = "gap-in-the-ring-skipped") {
                self.next_live = self.next_live.next();
            } else {
                let last = Seq::after(total.saturating_sub(1));
                self.catch_up = Some(Run::new(feed, self.next_live, last));
            }
        }
        if self.credit > reserve
            && !self.paused
            && let Some(run) = &mut self.catch_up
        {
            run.ask(feed, &mut self.asks);
        }
    }

    /// The roster, when it has changed: behind the entries that were there at that time.
    pub(super) fn pump_roster(&mut self, now: Instant, feed: Feed<'_>, out: &mut VecDeque<Output>) {
        let Some(view) = feed.roster.filter(|view| view.version_for(self.full_roster) != self.roster) else { return };
        if self.stage != Stage::Live || self.opens() {
            return;
        }
        let due = *self.roster_due.get_or_insert_with(|| Seq::after(feed.follower.index().total()));
        if self.next_live >= due && self.catch_up.is_none() && self.credit > 0 {
            self.roster = view.version_for(self.full_roster);
            self.roster_due = None;
            self.send(now, frames::subagents(self.shows.pane.as_str(), view, self.full_roster), out);
        }
    }

    /// The side branches, when they have changed: behind the entry that begins the branch.
    pub(super) fn pump_branches(&mut self, now: Instant, feed: Feed<'_>, out: &mut VecDeque<Output>) {
        let side = feed.follower.told().branches().side();
        if !self.branches || self.stage != Stage::Live || self.opens() || side == self.side {
            return;
        }
        if self.next_live.get() > feed.follower.index().total() && self.catch_up.is_none() && self.credit > 0 {
            self.side = side.to_vec();
            self.send(now, frames::branches(self.shows.pane.as_str(), side), out);
        }
    }

    pub(super) fn pump_pages(&mut self, now: Instant, feed: Feed<'_>, out: &mut VecDeque<Output>) {
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
            page.run.ask(feed, &mut self.asks);
        }
    }

    /// Sends what was held back and is proven now.
    pub(super) fn release_proven(&mut self, now: Instant, feed: Feed<'_>, out: &mut VecDeque<Output>) {
        if let Some(mut page) = self.page.take_if(|page| page.run.is_proven(feed)) {
            for frame in page.run.release() {
                self.send_spent(now, frame, out);
            }
            if page.run.read.is_done() {
                self.finish_page(now, page.purpose, out);
            } else {
                self.page = Some(page);
            }
        }
        if let Some(mut run) = self.catch_up.take_if(|run| run.is_proven(feed)) {
            for frame in run.release() {
                self.send_spent(now, frame, out);
            }
            self.next_live = run.released();
            if !run.read.is_done() {
                self.catch_up = Some(run);
            }
        }
    }

    pub(super) fn page_piece(
        &mut self,
        now: Instant,
        outcome: Outcome<'_>,
        feed: Feed<'_>,
        out: &mut VecDeque<Output>,
    ) {
        let Some(mut page) = self.page.take() else { return };
        if let Purpose::Cursor = page.purpose {
            return self.cursor_piece(now, page, outcome, feed, out);
        }
        match self.piece(&mut page.run, outcome, feed, false) {
            Piece::Read => self.page = Some(page),
            piece => {
                self.give_back(page.run.held_bytes());
                match page.purpose {
                    // 0 keeps the client's cursor: it may ask again.
                    Purpose::Older { requested, .. } => self.send(now, frames::page_complete(requested, 0, true), out),
                    _ if piece == Piece::Failed => self.close(CloseCode::Internal, "read transcript failed", out),
                    // The follower will see what happened to the file. If nothing did, the page goes on.
                    _ => {
                        page.run.begin_again(feed);
                        self.page = Some(page);
                        self.paused = true;
                    }
                }
            }
        }
    }

    pub(super) fn catch_up_piece(&mut self, outcome: Outcome<'_>, feed: Feed<'_>) {
        let Some(mut run) = self.catch_up.take() else { return };
        if self.piece(&mut run, outcome, feed, true) == Piece::Read {
            self.catch_up = Some(run);
        } else {
            // The cursor stays where it is, and a new run begins there with the next look at the file.
            self.give_back(run.held_bytes());
            self.paused = true;
        }
    }

    /// The entry at a client's cursor was read: the stream goes on there if it is the one that the client has.
    fn cursor_piece(
        &mut self,
        now: Instant,
        mut page: Page,
        outcome: Outcome<'_>,
        feed: Feed<'_>,
        out: &mut VecDeque<Output>,
    ) {
        page.run.asked = None;
        let cursor = page.run.released();
        let mut id = None;
        if let Outcome::Bytes { bytes, size_now } = outcome {
            let (index, reader) = (feed.follower.index(), feed.follower.reader());
            let taken = page.run.read.take(bytes, size_now, index, reader, &mut |_, entry: Entry| {
                id = Some(entry.id);
                ControlFlow::Break(())
            });
            if taken.is_ok() && id.is_none() && !page.run.read.is_done() {
                self.page = Some(page);
                return;
            }
        }
        let since_id = self.resume.as_ref().map(|resume| resume.since_id.as_str());
        let same = id.is_some() && (id.as_deref() == since_id || cfg!(panewire_fault = "resume-without-its-id"));
        self.say_hello(now, same.then_some(cursor), feed, out);
    }

    /// Whether its first page is on its way.
    const fn opens(&self) -> bool {
        matches!(self.page, Some(Page { purpose: Purpose::Cursor | Purpose::Newest { .. }, .. }))
    }

    /// The credit that the tail leaves to a page in progress: half of what there is, so that neither waits for the other.
    const fn reserve_for_page(&self) -> i64 {
        if self.page.is_some() && self.credit > 0 { self.credit / 2 } else { 0 }
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
        self.page = Some(Page { run: Run::new(feed, first, last), purpose });
    }

    fn finish_page(&mut self, now: Instant, purpose: Purpose, out: &mut VecDeque<Output>) {
        match purpose {
            Purpose::Cursor => {}
            Purpose::Newest { count, has_more } => self.send(now, frames::backlog_complete(count, has_more), out),
            Purpose::Older { requested, oldest } => {
                self.send(now, frames::page_complete(requested, oldest, oldest > 1), out);
            }
        }
    }

    /// Holds back the entries of one piece as far as the credit goes.
    fn piece(&mut self, run: &mut Run, outcome: Outcome<'_>, feed: Feed<'_>, live: bool) -> Piece {
        run.asked = None;
        let Outcome::Bytes { bytes, size_now } = outcome else { return Piece::Failed };
        let reserve = if live { self.reserve_for_page() } else { 0 };
        if self.credit <= reserve {
            // The other half of the stream used it up: the piece is read again when there is room.
            run.want_proof();
            return Piece::Read;
        }
        let (index, reader) = (feed.follower.index(), feed.follower.reader());
        let branches = self.branches.then(|| feed.follower.told().branches());
        let mut held = alloc::vec::Vec::new();
        let taken = run.read.take(bytes, size_now, index, reader, &mut |seq: Seq, entry: Entry| {
            let frame = if branches.is_some_and(|branches| branches.is_beside(seq)) {
                frames::side_entry(live, seq, &entry)
            } else {
                frames::entry(live, seq, &entry)
            };
            self.spend(frame.len());
            held.push(frame);
            if self.credit > reserve { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        for frame in held {
            run.hold(frame);
        }
        if taken == Err(Shrunk) {
            return Piece::Shrunk;
        }
        if run.read.is_done() || self.credit <= reserve {
            run.want_proof();
        }
        Piece::Read
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    Read,
    Failed,
    Shrunk,
}
