//! What becomes of a watched pane when its agent goes on elsewhere: asked again and again, moved, rotated.

use super::Bridge;
use super::exchange::Exchange;
use super::ops::Owner;
use crate::ids::ExId;
use crate::limits::SESSION_POLL;
use crate::pane::resolve::{Recheck, Resolved, Verdict};
use crate::timers::Timer;

impl Bridge {
    /// Asks a watched pane for its session, unless the last question is still on its way.
    pub(super) fn recheck(&mut self, no: u64) {
        let (now, config, demo) = (self.now, &self.config, self.demo.located());
        let Some(session) = self.sessions.session_mut(no) else { return };
        self.timers.set(Timer::SessionPoll(no), now.mono.plus(SESSION_POLL));
        if session.recheck.is_none() {
            session.recheck = Some(Recheck::new(now, config, &session.resolved, demo));
            self.run_recheck(no);
        }
    }

    /// Goes on with that question, and acts on its answer.
    pub(super) fn run_recheck(&mut self, no: u64) {
        let Some(session) = self.sessions.session_mut(no) else { return };
        let Some(recheck) = &mut session.recheck else { return };
        self.ops.issue_all(Owner::Recheck(no), recheck, &mut self.outputs);
        let Some(verdict) = recheck.take_result() else { return };
        session.recheck = None;
        match verdict {
            Verdict::Same(resolved) => session.resolved = resolved,
            Verdict::Relocated(resolved) => self.relocate(no, resolved),
            Verdict::Moved(resolved) => self.prepare_rotation(no, resolved),
            Verdict::Unknown => {}
        }
    }

    /// The session's file lies elsewhere now. If it is the same file, the stream goes on as if nothing had happened.
    pub(super) fn relocate(&mut self, no: u64, resolved: Resolved) {
        let source = self.source_of(&resolved);
        let Some(session) = self.sessions.session_mut(no) else { return };
        let other = self.streams.find(&source).filter(|other| *other != session.stream);
        if let Some(other) = other {
            // Another pane was quicker. Whether both have read the same is not known: for all of them it begins anew.
            let rewrites = self.streams.stream(session.stream).map_or(0, |stream| stream.follower.rewrites());
            if let Some(stream) = self.streams.stream_mut(other) {
                stream.follower.begin_again(rewrites);
            }
            self.prepare_rotation(no, resolved);
            return self.run_stream(other);
        }
        let kind = resolved.kind;
        session.resolved = resolved;
        let no = session.stream;
        self.directories.join(no, &source.path);
        self.move_roster(no, kind, &source);
        if let (Some(feed), Some(stored)) = (self.streams.feed_mut(no), &source.stored) {
            feed.relocate(stored);
        }
        if let Some(stream) = self.streams.stream_mut(no) {
            stream.follower.relocate(source);
        }
        self.run_directories();
    }

    /// The pane shows another session: the old one is shown until the new one can be.
    fn prepare_rotation(&mut self, no: u64, resolved: Resolved) {
        let stream = self.watch(&resolved);
        let Some(session) = self.sessions.session_mut(no) else { return };
        if session.stream == stream {
            session.resolved = resolved;
            if let Some((_, next)) = session.next.take() {
                self.release(next);
            }
            return;
        }
        let before = session.next.replace((resolved, stream));
        if let Some((_, before)) = before.filter(|(_, before)| *before != stream) {
            self.release(before);
        }
        if self.streams.stream(stream).is_some_and(|stream| stream.follower.is_ready()) {
            self.rotate(no);
        }
    }

    /// Swaps a session over to its next stream. Nothing of the old one is sent afterwards.
    pub(super) fn rotate(&mut self, no: u64) {
        let Some(session) = self.sessions.session_mut(no) else { return };
        let Some((resolved, stream)) = session.next.take() else { return };
        let old = core::mem::replace(&mut session.stream, stream);
        let pane = resolved.pane.clone();
        session.resolved = resolved;
        self.release(old);
        self.reopen_session(no);
        // Whoever connected meanwhile may watch the same pane on the same stream already: one session is enough.
        if let Some(other) = self.sessions.find(&pane, stream).filter(|other| *other != no) {
            self.merge(no, other);
        }
    }

    fn merge(&mut self, from: u64, into: u64) {
        let Some(gone) = self.sessions.session_mut(from) else { return };
        let clients = core::mem::take(&mut gone.clients);
        for ex in &clients {
            if let Some(Exchange::Client { session, .. }) = self.exchanges.get_mut(ex) {
                *session = into;
            }
        }
        if let Some(session) = self.sessions.session_mut(into) {
            session.clients.extend(clients);
        }
        self.end_session(from);
    }

    pub(super) fn reopen_clients(&mut self, stream: u64) {
        for ex in self.sessions.clients_of(stream) {
            self.reopen(ex);
        }
        self.restart_whole_entries(stream);
        self.restart_cards(stream);
    }

    fn reopen_session(&mut self, no: u64) {
        let clients = self.sessions.session(no).map(|session| session.clients.clone()).unwrap_or_default();
        for ex in clients {
            self.reopen(ex);
        }
    }

    fn reopen(&mut self, ex: ExId) {
        self.ops.cancel(Owner::Client(ex), &mut self.outputs);
        if let Some(Exchange::Client { client, .. }) = self.exchanges.get_mut(&ex) {
            client.restart();
            self.dirty.insert(ex);
        }
    }
}
