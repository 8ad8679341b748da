//! The panes that are watched, each with the stream it shows now.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::ids::{ExId, PaneId};
use crate::pane::herdr::PaneAgent;
use crate::pane::resolve::{Recheck, Resolved};

/// One pane and the clients that follow it on the same stream.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) resolved: Resolved,
    pub(crate) stream: u64,
    /// Where the pane went: followed as soon as that stream is ready.
    pub(crate) next: Option<(Resolved, u64)>,
    /// The question on its way.
    pub(crate) recheck: Option<Recheck>,
    pub(crate) clients: BTreeSet<ExId>,
    /// Set if it is the conversation of a child that is followed: it never rotates.
    pub(crate) child: Option<ChildOf>,
}

/// Whose child a conversation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChildOf {
    /// The child, as the client asked for it.
    pub(crate) agent_id: String,
    /// The stream of the session that it belongs to.
    pub(crate) parent: u64,
}

impl Session {
    /// The stream whose roster its clients see.
    pub(crate) fn roster(&self) -> u64 {
        self.child.as_ref().map_or(self.stream, |child| child.parent)
    }

    /// The session id as clients shall know it: a rewritten file is another conversation.
    pub(crate) fn shown_id(&self, rewrites: u32) -> String {
        let id = self.resolved.located.session.as_str();
        if rewrites == 0 { id.to_string() } else { format!("{id}~{rewrites}") }
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    last: u64,
    sessions: BTreeMap<u64, Session>,
}

impl Sessions {
    pub(crate) fn add(&mut self, resolved: Resolved, stream: u64, child: Option<ChildOf>) -> u64 {
        self.last = self.last.saturating_add(1);
        let session = Session { resolved, stream, next: None, recheck: None, clients: BTreeSet::new(), child };
        self.sessions.insert(self.last, session);
        self.last
    }

    /// The session that shows this stream for this pane.
    pub(crate) fn find(&self, pane: &PaneId, stream: u64) -> Option<u64> {
        let found =
            self.sessions.iter().find(|(_, session)| session.resolved.pane == *pane && session.stream == stream);
        found.map(|(no, _)| *no)
    }

    /// The session of this pane that shows the same conversation, wherever its file lies.
    pub(crate) fn find_session(&self, resolved: &Resolved) -> Option<u64> {
        let same = |session: &Session| {
            session.child.is_none()
                && session.resolved.pane == resolved.pane
                && session.resolved.kind == resolved.kind
                && session.resolved.located.session == resolved.located.session
        };
        self.sessions.iter().find(|(_, session)| same(session)).map(|(no, _)| *no)
    }

    /// The stream that shows this agent's conversation now, if its pane is watched.
    pub(crate) fn showing(&self, pane: &PaneId, agent: &PaneAgent) -> Option<u64> {
        let same = |session: &Session| {
            let known = session.resolved.agent.as_ref().and_then(|agent| agent.session.as_ref());
            session.child.is_none() && session.resolved.pane == *pane && known == agent.session.as_ref()
        };
        self.sessions.values().find(|session| same(session)).map(|session| session.stream)
    }

    pub(crate) fn session(&self, no: u64) -> Option<&Session> {
        self.sessions.get(&no)
    }

    pub(crate) fn session_mut(&mut self, no: u64) -> Option<&mut Session> {
        self.sessions.get_mut(&no)
    }

    pub(crate) fn remove(&mut self, no: u64) -> Option<Session> {
        self.sessions.remove(&no)
    }

    /// The clients that see this stream.
    pub(crate) fn clients_of(&self, stream: u64) -> Vec<ExId> {
        self.on(stream).flat_map(|(_, session)| session.clients.iter().copied()).collect()
    }

    /// The sessions that wait for this stream to be ready.
    pub(crate) fn waiting_for(&self, stream: u64) -> Vec<u64> {
        let waits = |session: &Session| session.next.as_ref().is_some_and(|(_, next)| *next == stream);
        self.sessions.iter().filter(|(_, session)| waits(session)).map(|(no, _)| *no).collect()
    }

    /// The clients that see the roster of this stream.
    pub(crate) fn roster_clients(&self, stream: u64) -> Vec<ExId> {
        let sees = self.sessions.values().filter(|session| session.roster() == stream);
        sees.flat_map(|session| session.clients.iter().copied()).collect()
    }

    /// Whether anybody needs this stream.
    pub(crate) fn uses(&self, stream: u64) -> bool {
        let needs = |session: &Session| session.stream == stream || session.roster() == stream;
        self.sessions.values().any(needs) || !self.waiting_for(stream).is_empty()
    }

    /// Every stream that somebody needs, in order.
    pub(crate) fn used_streams(&self) -> BTreeSet<u64> {
        let next = self.sessions.values().filter_map(|session| session.next.as_ref().map(|(_, stream)| *stream));
        let rosters = self.sessions.values().map(Session::roster);
        self.sessions.values().map(|session| session.stream).chain(rosters).chain(next).collect()
    }

    /// Whether this pane is watched.
    pub(crate) fn watches(&self, pane: &str) -> bool {
        self.sessions.values().any(|session| session.resolved.pane.as_str() == pane)
    }

    fn on(&self, stream: u64) -> impl Iterator<Item = (&u64, &Session)> {
        self.sessions.iter().filter(move |(_, session)| session.stream == stream)
    }
}
