//! The rosters of watched sessions: looked at now and then, shown to everybody who watches the session or a child of it.
//!
//! ```text
//!   begun ── first look, or its time is up ──▶ shown in `hello` ── every 3 s: look ──▶ a change: a `subagents` frame
//! ```
//!
//! A roster that cannot be had costs the conversation a second, once.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Bridge;
use super::exchange::Exchange;
use super::ops::Owner;
use super::streams::Stream;
use crate::agent::{AgentKind, Reader};
use crate::io::{Level, Outcome, Output};
use crate::limits::{ROSTER_POLL, ROSTER_WAIT};
use crate::machine::Tag;
use crate::mobile::roster::View;
use crate::roster::{self, Finder, Row, Wanted};
use crate::source::follow::{Follower, Source};
use crate::time::{Now, UnixMillis};
use crate::timers::Timer;

/// The roster of one session.
#[derive(Debug)]
pub(crate) struct Roster {
    finder: Box<dyn Finder>,
    rows: Vec<Row>,
    version: u64,
    full_version: u64,
    /// How far the session's own transcript was when the last look began.
    parent: Option<(u64, u64)>,
    /// A look that began after the session was watched has come far enough.
    fresh: bool,
    /// There was such a look before.
    known: bool,
    /// Clients may be shown what there is.
    shown: bool,
    /// The operator was told that something is wrong.
    warned: bool,
}

/// Where the conversation of a child lies, and what reads it.
pub(crate) type FoundChild = (Source, Box<dyn Reader>);

/// Whether a child was found.
#[derive(Debug)]
pub(crate) enum Sought {
    Found(FoundChild),
    NotYet,
    Nowhere,
}

impl Roster {
    fn new(finder: Box<dyn Finder>) -> Self {
        Self {
            finder,
            rows: Vec::new(),
            version: 0,
            full_version: 0,
            parent: None,
            fresh: false,
            known: false,
            shown: false,
            warned: false,
        }
    }

    pub(crate) fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        self.finder.handle_outcome(now, tag, outcome);
    }

    /// What clients may be shown; nothing before there is something that holds.
    pub(crate) fn view(&self, now: UnixMillis) -> Option<View<'_>> {
        let Self { rows, version, full_version, .. } = self;
        self.shown.then_some(View { rows, version: *version, full_version: *full_version, now })
    }

    /// Its rows, once a look that began after the session was watched has come far enough.
    pub(crate) fn known_rows(&self) -> Option<&[Row]> {
        self.fresh.then_some(&self.rows)
    }

    /// The same, unless a look goes on that may change them.
    pub(crate) fn settled_rows(&self) -> Option<&[Row]> {
        self.known_rows().filter(|_| !self.finder.is_looking())
    }

    /// Where the conversation of a child lies, or whether that is not known yet.
    pub(crate) fn find(&self, agent_id: &str, follower: &Follower) -> Sought {
        match self.finder.find(agent_id, follower.told()) {
            Some(found) if self.fresh => Sought::Found(found),
            // It may stand in the session's own file.
            None if self.fresh && !follower.is_busy() => Sought::Nowhere,
            _ => Sought::NotYet,
        }
    }

    /// Takes what the finder knows now, and tells whether that is news.
    fn update(&mut self, follower: &Follower) -> bool {
        let mut rows = self.finder.rows(follower.told());
        roster::sort(&mut rows);
        let (brief, full) =
            (roster::differ(&rows, &self.rows, Row::differs), roster::differ(&rows, &self.rows, Row::differs_in_full));
        self.version = self.version.saturating_add(u64::from(brief));
        self.full_version = self.full_version.saturating_add(u64::from(full));
        self.rows = rows;
        full
    }
}

impl Bridge {
    /// The roster of a session is wanted from now on.
    pub(super) fn begin_roster(&mut self, no: u64, kind: AgentKind) {
        let Some(stream) = self.streams.stream_mut(no) else { return };
        let source = stream.follower.source().clone();
        let roster = stream.roster.get_or_insert_with(|| Box::new(Roster::new(kind.finder(&source, &self.config))));
        // Nobody has looked for a while: every child is looked at.
        (roster.fresh, roster.shown, roster.parent) = (false, false, None);
        self.timers.set(Timer::Roster(no), self.after(ROSTER_WAIT));
        self.begin_look(no);
    }

    /// The session lies elsewhere now, and so do its children. What is shown stays until they were found.
    pub(super) fn move_roster(&mut self, no: u64, kind: AgentKind, source: &Source) {
        self.ops.cancel(Owner::Roster(no), &mut self.outputs);
        if let Some(roster) = self.streams.roster_mut(no) {
            roster.finder = kind.finder(source, &self.config);
            self.begin_look(no);
        }
    }

    /// Its time has come: looks again, or lets those in who wait for a look that takes too long.
    pub(super) fn look_at_roster(&mut self, no: u64) {
        if !self.is_used(no) {
            return;
        }
        self.timers.set(Timer::Roster(no), self.after(ROSTER_POLL));
        let Some(Stream { follower, roster: Some(roster), .. }) = self.streams.stream_mut(no) else { return };
        if !roster.shown {
            // What was found by now is shown.
            roster.update(follower);
            roster.shown = true;
            self.dirty.extend(self.sessions.roster_clients(no));
        }
        self.begin_look(no);
    }

    /// Somebody came who wants more than the contract gives.
    pub(super) fn fill_roster(&mut self, session: u64) {
        if let Some(session) = self.sessions.session(session) {
            self.begin_look(session.roster());
        }
    }

    fn begin_look(&mut self, no: u64) {
        let clients = self.sessions.roster_clients(no);
        let wants_more =
            |ex| matches!(self.exchanges.get(ex), Some(Exchange::Client { client, .. }) if client.wants_full_roster());
        let read_through = clients.iter().any(wants_more);
        let Some(Stream { follower, roster: Some(roster), .. }) = self.streams.stream_mut(no) else { return };
        let parent = Some(progress(follower));
        let wanted = Wanted { every_child: parent != roster.parent, read_through };
        if !roster.finder.is_looking() {
            roster.parent = parent;
        }
        roster.finder.look(wanted);
        self.run_roster(no);
    }

    /// Goes on with a look, and shows what it found.
    pub(super) fn run_roster(&mut self, no: u64) {
        let Some(Stream { follower, roster: Some(roster), .. }) = self.streams.stream_mut(no) else { return };
        roster.finder.go_on(follower.told());
        self.ops.issue_all(Owner::Roster(no), &mut *roster.finder, &mut self.outputs);
        if let Some(trouble) = roster.finder.take_trouble()
            && !core::mem::replace(&mut roster.warned, true)
        {
            self.outputs.push_back(Output::Log(Level::Warn, trouble));
        }
        // The first look of all shows its rows as soon as there is one for each child.
        let first = !roster.fresh && !roster.known && roster.finder.is_ready();
        if first || !roster.finder.is_looking() {
            self.show_roster(no);
            self.settle_children(no);
            self.count_goes_on(no);
        }
    }

    /// The session's own transcript was counted: all that it tells is known now.
    pub(super) fn roster_counted(&mut self, no: u64) {
        let Some(Stream { follower, roster: Some(roster), .. }) = self.streams.stream_mut(no) else { return };
        roster.parent = Some(progress(follower));
        if roster.fresh {
            self.show_roster(no);
        }
        self.settle_children(no);
    }

    /// Shows what is known of the children of a session now.
    fn show_roster(&mut self, no: u64) {
        let wait_over = self.after(ROSTER_POLL);
        let Some(Stream { follower, roster: Some(roster), .. }) = self.streams.stream_mut(no) else { return };
        if !roster.finder.is_ready() {
            return;
        }
        let news = roster.update(follower);
        let first = !core::mem::replace(&mut roster.fresh, true);
        roster.known = true;
        if first {
            self.timers.set(Timer::Roster(no), wait_over);
        }
        let shown = roster.shown || follower.is_ready();
        if news || first || shown != roster.shown {
            roster.shown = shown;
            self.dirty.extend(self.sessions.roster_clients(no));
        }
    }

    /// Nobody needs the roster any more.
    pub(super) fn end_roster(&mut self, no: u64) {
        self.timers.stop(Timer::Roster(no));
        self.ops.cancel(Owner::Roster(no), &mut self.outputs);
    }
}

/// How far a session's own transcript is: another value is a reason to look at every child.
fn progress(follower: &Follower) -> (u64, u64) {
    (follower.index().scanned(), follower.told().version())
}
