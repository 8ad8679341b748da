//! Watched panes: the streams they show, and the clients that follow.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::Bridge;
use super::exchange::Exchange;
use super::ops::Owner;
use super::rosters::FoundChild;
use super::sessions::ChildOf;
use super::streams::Stream;
use crate::agent::locate::Located;
use crate::agent::{AgentKind, Reader};
use crate::ids::{ExId, WatchId};
use crate::io::{CloseCode, Level, Outcome, Output};
use crate::limits::{FILE_POLL, MAX_STREAMS, SAFETY_POLL, SESSION_POLL, STREAM_GRACE};
use crate::machine::Tag;
use crate::mobile::client::{Client, Feed};
use crate::mobile::frames;
use crate::pane::resolve::Resolved;
use crate::source::follow::{Event, Source};
use crate::source::spool::Stored;
use crate::timers::Timer;

impl Bridge {
    /// Takes a client into the session of its pane, which begins if it is the first.
    pub(super) fn join(&mut self, ex: ExId, resolved: Resolved) -> u64 {
        // A session whose file lies elsewhere since the pane was asked last has not become another one.
        if self.streams.find(&self.source_of(&resolved)).is_none()
            && let Some(no) = self.sessions.find_session(&resolved)
        {
            self.relocate(no, resolved.clone());
        }
        let stream = self.watch(&resolved);
        let no = self.sessions.find(&resolved.pane, stream).unwrap_or_else(|| {
            let no = self.sessions.add(resolved, stream, None);
            self.timers.set(Timer::SessionPoll(no), self.now.mono.plus(SESSION_POLL));
            no
        });
        if let Some(session) = self.sessions.session_mut(no) {
            session.clients.insert(ex);
        }
        self.run_demo();
        no
    }

    /// Takes a client into the conversation of a child.
    pub(super) fn join_child(&mut self, ex: ExId, resolved: Resolved, child: ChildOf, found: FoundChild) -> u64 {
        let (source, reader) = found;
        let stream = self.follow(reader, source);
        let no = self.sessions.find(&resolved.pane, stream);
        let no = no.unwrap_or_else(|| self.sessions.add(resolved, stream, Some(child)));
        if let Some(session) = self.sessions.session_mut(no) {
            session.clients.insert(ex);
        }
        no
    }

    /// A client is gone: its session ends with the last one, and the stream is kept for a while.
    pub(super) fn leave(&mut self, ex: ExId, no: u64) {
        self.dirty.remove(&ex);
        self.paused.remove(&ex);
        self.unproven.remove(&ex);
        self.dirty.extend(self.long_lines.done(ex));
        self.timers.stop(Timer::Liveness(ex));
        self.ops.cancel(Owner::Client(ex), &mut self.outputs);
        let Some(session) = self.sessions.session_mut(no) else { return };
        session.clients.remove(&ex);
        if session.clients.is_empty() {
            self.end_session(no);
        }
    }

    /// Sends a client what it can take now.
    pub(super) fn pump(&mut self, ex: ExId) {
        if matches!(self.exchanges.get(&ex), Some(Exchange::WholeEntry)) {
            return self.pump_whole_entry(ex);
        }
        let now = self.now.mono;
        self.with_client(ex, |client, feed, outputs| client.pump(now, feed, outputs));
    }

    /// A piece of a file came for a client.
    pub(super) fn client_outcome(&mut self, ex: ExId, tag: Tag, outcome: Outcome<'_>) {
        let now = self.now.mono;
        self.with_client(ex, |client, feed, outputs| client.handle_outcome(now, tag, outcome, feed, outputs));
        self.dirty.insert(ex);
    }

    /// Goes on with a stream: hands over its operations and acts on what it tells.
    pub(super) fn run_stream(&mut self, no: u64) {
        let Some(Stream { follower, ring, saved_to, .. }) = self.streams.stream_mut(no) else { return };
        self.ops.issue_all(Owner::Stream(no), follower, &mut self.outputs);
        let mut news = News::default();
        while let Some(event) = follower.poll_event() {
            match event {
                Event::Ready => news.ready = true,
                Event::Looked { news: change } => {
                    news.looked = true;
                    self.directories.looked(self.now.mono, no, change, follower.is_looking());
                }
                Event::Entry(seq, entry) => {
                    ring.push(seq, frames::entry(true, seq, &entry));
                    news.entries = true;
                }
                Event::Grown => news.entries = true,
                Event::Rewritten => {
                    ring.clear();
                    *saved_to = 0;
                    news.rewritten = true;
                }
                Event::Failed(text) => {
                    let text = alloc::format!("cannot read {}: {text}", follower.source().path);
                    self.outputs.push_back(Output::Log(Level::Warn, text));
                    news.failed = true;
                }
            }
        }
        let drift = follower.take_drift();
        self.streams.note(drift);
        if news.failed {
            return self.fail_stream(no);
        }
        if news.rewritten {
            self.reopen_clients(no);
        }
        if news.ready {
            self.roster_counted(no);
            for session in self.sessions.waiting_for(no) {
                self.rotate(session);
            }
        }
        if news.ready || news.entries {
            self.dirty.extend(self.sessions.clients_of(no));
        }
        if news.ready || news.looked {
            self.dirty.extend(self.whole_entries.of(no));
            self.run_cards_of(no);
        }
        if news.looked {
            self.save_index(no, false);
        }
        if news.ready {
            self.count_goes_on(no);
        }
        if news.looked && !self.unproven.is_empty() {
            let proven: Vec<ExId> =
                self.sessions.clients_of(no).into_iter().filter(|ex| self.unproven.remove(ex)).collect();
            self.dirty.extend(proven);
        }
        self.take_turns(no);
        self.keep_polling(no);
    }

    /// Lets a stream be counted when it is its turn, and others when it is done.
    fn take_turns(&mut self, no: u64) {
        let Some(stream) = self.streams.stream_mut(no) else { return self.end_turn(no) };
        if stream.follower.wants_to_count() {
            self.counting.want(no);
        } else if !stream.follower.is_counting() {
            stream.follower.hold_counting();
            self.counting.done(no);
        }
        self.give_turns();
    }

    fn end_turn(&mut self, no: u64) {
        self.counting.done(no);
        self.give_turns();
    }

    fn give_turns(&mut self) {
        while let Some(next) = self.counting.next() {
            if let Some(stream) = self.streams.stream_mut(next) {
                stream.follower.count_on();
                self.ops.issue_all(Owner::Stream(next), &mut stream.follower, &mut self.outputs);
            } else {
                self.counting.done(next);
            }
        }
    }

    /// Whether this file is followed already, or one more can be. Nobody who follows waits for a list.
    pub(super) fn has_room_for(&mut self, source: &Source) -> bool {
        self.has_room_to_count(source) || {
            let counted = self.streams.numbers().into_iter().find(|no| !self.is_needed(*no));
            counted.into_iter().for_each(|no| self.give_up_counts_of(no));
            self.has_room_to_count(source)
        }
    }

    /// The same without taking anything from anybody.
    pub(super) fn has_room_to_count(&mut self, source: &Source) -> bool {
        if self.streams.len() < MAX_STREAMS || self.streams.find(source).is_some() {
            return true;
        }
        let unused = self.streams.numbers().into_iter().find(|no| !self.is_used(*no));
        if let Some(no) = unused {
            self.timers.stop(Timer::Grace(no));
            self.drop_stream(no);
        }
        unused.is_some()
    }

    /// Looks at the watched files: at all of them for safety, otherwise at those that do not rest.
    pub(super) fn poll_files(&mut self) {
        let all = self.safety_net <= self.now.mono || !self.paused.is_empty();
        if all {
            self.safety_net = self.after(SAFETY_POLL);
        }
        self.directories.tick(self.now.mono);
        self.run_directories();
        let mut used = self.sessions.used_streams();
        used.extend(self.whole_entries.streams());
        used.extend(self.cards.streams());
        used.extend(self.tallies.streams());
        used.extend(self.connecting.children.iter().map(|(parent, _)| *parent));
        for no in &used {
            if all || !self.rests(*no) {
                self.look_at_store(*no);
                if let Some(stream) = self.streams.stream_mut(*no) {
                    stream.follower.poll();
                }
                self.run_stream(*no);
            }
        }
        for ex in core::mem::take(&mut self.paused) {
            if let Some(Exchange::Client { client, .. }) = self.exchanges.get_mut(&ex) {
                client.resume();
            }
            self.dirty.insert(ex);
        }
        self.listen_to_stores();
        if !used.is_empty() {
            self.timers.no_later(Timer::FilePoll, self.safety_net);
            used.into_iter().for_each(|no| self.keep_polling(no));
        }
    }

    /// Something may have changed in a watched directory.
    pub(super) fn hinted(&mut self, watch: WatchId, name: Option<&str>) {
        self.directories.hinted(self.now.mono, watch, name);
        self.run_directories();
    }

    /// A directory is not watched any more.
    pub(super) fn watch_ended(&mut self, watch: WatchId) {
        self.directories.ended(self.now.mono, watch);
        self.run_directories();
    }

    /// Goes on with the watched directories: hands over what is asked for, and looks where they say.
    pub(super) fn run_directories(&mut self) {
        self.ops.issue_all(Owner::Watches, &mut self.directories, &mut self.outputs);
        while let Some(no) = self.directories.take_due() {
            if let Some(stream) = self.streams.stream_mut(no) {
                stream.follower.hint();
            }
            self.run_stream(no);
        }
    }

    /// Whether nothing happens if this file is not looked at before the next hint.
    fn rests(&self, no: u64) -> bool {
        let Some(stream) = self.streams.stream(no).filter(|stream| !stream.follower.is_unsettled()) else {
            return false;
        };
        // What is fed is looked at by the clock, unless its store tells of its changes.
        if stream.is_fed() { self.announced.rests(no) } else { self.directories.rests(no) }
    }

    /// A file that does not rest is looked at again soon.
    fn keep_polling(&mut self, no: u64) {
        if !self.rests(no) && self.is_used(no) {
            self.timers.no_later(Timer::FilePoll, self.after(FILE_POLL));
        }
    }

    /// A stream that nobody needs any more is given back.
    pub(super) fn drop_stream(&mut self, no: u64) {
        if self.is_used(no) {
            return;
        }
        self.save_index(no, true);
        self.end_roster(no);
        self.ops.cancel(Owner::Stream(no), &mut self.outputs);
        self.ops.cancel(Owner::Feed(no), &mut self.outputs);
        self.directories.leave(no);
        self.run_directories();
        self.streams.remove(no);
        self.end_turn(no);
    }

    /// Saves the index of a stream, if there is something new in it.
    pub(super) fn save_index(&mut self, no: u64, finally: bool) {
        if let Some((path, bytes)) = self.streams.stream_mut(no).and_then(|stream| stream.take_saved(finally)) {
            self.store.save(path, bytes);
            self.ops.issue_all(Owner::Store, &mut self.store, &mut self.outputs);
        }
    }

    /// The stream of this pane with its roster, begun or woken, and polled from now on.
    pub(super) fn watch(&mut self, resolved: &Resolved) -> u64 {
        let source = self.source_of(resolved);
        let watched = self.is_watched(&source);
        let no = self.follow(resolved.kind.reader(), source);
        if !watched {
            self.begin_roster(no, resolved.kind);
        }
        no
    }

    /// The same to count children once: nothing has to hint at its file.
    pub(super) fn watch_to_count(&mut self, kind: AgentKind, source: Source) -> u64 {
        let watched = self.is_watched(&source);
        let no = self.wake(kind.reader(), source);
        self.run_stream(no);
        if !watched {
            self.begin_roster(no, kind);
        }
        no
    }

    /// Whether this file is followed, and its children are looked at.
    fn is_watched(&self, source: &Source) -> bool {
        let is_watched = |no| self.is_used(no) && self.streams.has_roster(no) && self.timers.is_set(Timer::Roster(no));
        self.streams.find(source).is_some_and(is_watched)
    }

    /// The stream of this file, begun or woken, and polled from now on.
    pub(super) fn follow(&mut self, reader: Box<dyn Reader>, source: Source) -> u64 {
        let path = source.path.clone();
        let no = self.wake(reader, source);
        self.directories.join(no, &path);
        self.run_directories();
        self.look_at_store(no);
        self.run_stream(no);
        no
    }

    fn wake(&mut self, reader: Box<dyn Reader>, source: Source) -> u64 {
        let (no, was_there) = self.streams.find_or_begin(reader, source, &self.config);
        if was_there && !self.is_used(no) {
            self.timers.stop(Timer::Grace(no));
            if let Some(stream) = self.streams.stream_mut(no) {
                stream.follower.refresh();
            }
        }
        self.timers.no_later(Timer::FilePoll, self.after(FILE_POLL));
        no
    }

    /// What is followed to show this pane.
    pub(super) fn source_of(&self, resolved: &Resolved) -> Source {
        self.source_at(resolved.kind, &resolved.located)
    }

    /// What is followed of a session: its file, or its spool.
    pub(super) fn source_at(&self, kind: AgentKind, located: &Located) -> Source {
        let Located { path, under, session, exists, recorded_cwd: directory, .. } = located.clone();
        if kind.is_stored() {
            return Stored { kind, session, path, under, exists, directory }.source(&self.config.state_dir);
        }
        Source { path, under, part: None, stored: None }
    }

    pub(super) fn end_session(&mut self, no: u64) {
        self.timers.stop(Timer::SessionPoll(no));
        self.ops.cancel(Owner::Recheck(no), &mut self.outputs);
        if let Some(session) = self.sessions.remove(no) {
            self.release(session.stream);
            if let Some(child) = session.child {
                self.release(child.parent);
            }
            if let Some((_, next)) = session.next {
                self.release(next);
            }
        }
        self.run_demo();
    }

    /// A stream lost one of those who needed it.
    pub(super) fn release(&mut self, no: u64) {
        if !self.is_used(no) {
            self.directories.leave(no);
            self.run_directories();
            self.listen_to_stores();
            self.timers.set(Timer::Grace(no), self.after(STREAM_GRACE));
        }
    }

    /// Nothing can be served of this stream: its clients are closed, and whoever waited for it stays where he is.
    fn fail_stream(&mut self, no: u64) {
        for session in self.sessions.waiting_for(no) {
            if let Some(session) = self.sessions.session_mut(session) {
                session.next = None;
            }
        }
        for ex in self.sessions.clients_of(no) {
            if let Some(Exchange::Client { client, .. }) = self.exchanges.get_mut(&ex) {
                client.close(CloseCode::Internal, "read transcript failed", &mut self.outputs);
            }
            self.forget(ex);
        }
        self.fail_whole_entries(no);
        self.lose_transcript(no);
        self.settle_children(no);
        self.give_up_counts_of(no);
        self.timers.stop(Timer::Grace(no));
        self.drop_stream(no);
        self.count_on();
    }

    /// Whether anybody needs this stream.
    pub(super) fn is_used(&self, no: u64) -> bool {
        self.is_needed(no) || self.tallies.streams().any(|stream| stream == no)
    }

    /// The same but for a list.
    fn is_needed(&self, no: u64) -> bool {
        self.sessions.uses(no)
            || self.whole_entries.streams().any(|stream| stream == no)
            || self.cards.streams().any(|stream| stream == no)
            || !self.connecting.looking_for_children_of(no).is_empty()
    }

    fn with_client(
        &mut self,
        ex: ExId,
        act: impl FnOnce(&mut Client, Feed<'_>, &mut alloc::collections::VecDeque<Output>),
    ) {
        let Some(Exchange::Client { client, session }) = self.exchanges.get_mut(&ex) else { return };
        let Some(session) = self.sessions.session(*session) else { return };
        let Some(stream) = self.streams.stream(session.stream) else { return };
        let session_id = session.shown_id(stream.follower.rewrites());
        let roster = self.streams.stream(session.roster()).and_then(|stream| stream.roster.as_ref());
        let feed = Feed {
            follower: &stream.follower,
            ring: &stream.ring,
            roster: roster.and_then(|roster| roster.view(self.now.wall)),
            session_id: &session_id,
            long_lines: self.long_lines.may_go_on(ex),
        };
        act(client, feed, &mut self.outputs);
        while let Some((tag, op)) = client.poll_op() {
            self.ops.issue(Owner::Client(ex), tag, op, &mut self.outputs);
        }
        if client.has_long_line() {
            self.long_lines.want(ex);
        } else {
            self.dirty.extend(self.long_lines.done(ex));
        }
        if client.is_paused() {
            self.paused.insert(ex);
            self.timers.no_later(Timer::FilePoll, self.now.mono.plus(FILE_POLL));
        }
        if client.is_closed() {
            return self.forget(ex);
        }
        if client.is_unproven() {
            self.unproven.insert(ex);
        }
        if client.wants_proof() {
            let no = session.stream;
            if let Some(stream) = self.streams.stream_mut(no) {
                client.proven_by(stream.follower.prove());
            }
            self.run_stream(no);
        }
    }
}

/// What one call of a follower led to.
#[derive(Debug, Default)]
struct News {
    ready: bool,
    looked: bool,
    entries: bool,
    rewritten: bool,
    failed: bool,
}
