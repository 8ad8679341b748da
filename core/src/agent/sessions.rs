//! The newest sessions on this machine, wherever they are.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::gather::{Candidate, Filter, Gather, Gathered};
use super::layout::Attempt;
use super::locate::{Located, Wanted};
use super::opencode::search::{Found, Search, StoredSession};
use super::{AgentKind, Recorded};
use crate::config::Roots;
use crate::ids::SessionId;
use crate::io::{Facts, FileIdentity, FileKind, Op, Outcome};
use crate::machine::{Machine, Tag};
use crate::pane::probe::{Ends, Probe};
use crate::time::Now;

/// A session's file and what its beginning says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
    /// The kind of agent that wrote it.
    pub kind: AgentKind,
    /// The session.
    pub session: SessionId,
    /// Its file.
    pub path: String,
    /// The directory that must contain the file when it is opened.
    pub under: String,
    /// Facts about the file.
    pub facts: Facts,
    /// What its beginning says.
    pub recorded: Recorded,
}

/// Files that are looked into for each session that is wanted, should the newest be children's.
const FILES_FOR_EACH: usize = 4;

/// What a search for the newest sessions found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Newest {
    /// The sessions, newest first.
    pub files: Vec<SessionFile>,
    /// Places that cannot be listed, in the operating system's words. A place that is not there is none of them.
    pub unreadable: Vec<String>,
}

/// Looks for the newest sessions: where each kind keeps them, then into files until as many sessions are found as are wanted.
#[derive(Debug)]
pub struct Sessions {
    max: usize,
    stage: Stage,
    stores: VecDeque<(AgentKind, Search)>,
    attempts: VecDeque<(AgentKind, Attempt)>,
    files: VecDeque<File>,
    /// What is no file of its own.
    stored: Vec<SessionFile>,
    found: Newest,
    result: Option<Newest>,
}

#[derive(Debug)]
enum Stage {
    Searching(AgentKind, Box<Search>),
    Gathering(AgentKind, String, Box<Gather>),
    Looking(Box<(File, Probe)>),
    Done,
}

#[derive(Debug)]
struct File {
    kind: AgentKind,
    under: String,
    candidate: Candidate,
}

impl Sessions {
    /// Looks for the `max` newest sessions of these kinds together.
    #[must_use]
    pub fn new(roots: &Roots, kinds: &[AgentKind], max: usize) -> Self {
        let attempts =
            kinds.iter().flat_map(|kind| kind.layout().all(roots).into_iter().map(|attempt| (*kind, attempt)));
        let stores = kinds.iter().filter_map(|kind| Some((*kind, kind.stores(roots, &Wanted::Newest)?))).collect();
        let mut sessions = Self {
            stores,
            stored: Vec::new(),
            max,
            stage: Stage::Done,
            attempts: attempts.collect(),
            files: VecDeque::new(),
            found: Newest::default(),
            result: None,
        };
        sessions.gather_on();
        sessions
    }

    /// The result, once. No file is open by then.
    pub fn take_result(&mut self) -> Option<Newest> {
        self.result.take()
    }

    fn gather_on(&mut self) {
        if let Some((kind, search)) = self.stores.pop_front() {
            self.stage = Stage::Searching(kind, Box::new(search));
            return;
        }
        match self.attempts.pop_front() {
            Some((kind, Attempt { under, places })) => {
                let max = self.max.saturating_mul(FILES_FOR_EACH);
                let filter = Filter { session_of_file: kind.layout().session_of_file(), session: None, max };
                self.stage = Stage::Gathering(kind, under, Box::new(Gather::new(places, filter)));
            }
            None => {
                let by_age = |file: &File| (Reverse(file.candidate.facts.modified), file.candidate.path.clone());
                self.files.make_contiguous().sort_by_cached_key(by_age);
                self.files.truncate(self.max.saturating_mul(FILES_FOR_EACH));
                self.look_on();
            }
        }
    }

    fn look_on(&mut self) {
        match self.files.pop_front().filter(|_| self.found.files.len() < self.max) {
            Some(file) => {
                let recorded = file.kind.layout().recorded();
                let probe = Probe::new(&file.candidate.path, &file.under, Ends::Head, recorded);
                self.stage = Stage::Looking(Box::new((file, probe)));
            }
            None => {
                self.stage = Stage::Done;
                self.merge();
                self.result = Some(core::mem::take(&mut self.found));
            }
        }
    }

    /// Files and what is none, newest first; what is in a store and in an older one counts once.
    fn merge(&mut self) {
        if self.stored.is_empty() {
            return;
        }
        let stored = core::mem::take(&mut self.stored);
        let is_stored = |file: &SessionFile| {
            stored.iter().any(|stored| (stored.kind, &stored.session) == (file.kind, &file.session))
        };
        self.found.files.retain(|file| !is_stored(file));
        self.found.files.extend(stored);
        self.found.files.sort_by_key(|file| Reverse(file.facts.modified));
        self.found.files.truncate(self.max);
    }

    fn handle_stored(&mut self, kind: AgentKind, found: Found) {
        self.found.unreadable.extend(found.trouble);
        let file = |stored: StoredSession| {
            let identity = FileIdentity { device: 0, inode: 0 };
            let facts = Facts { kind: FileKind::File, identity, size: 0, modified: stored.modified() };
            let recorded = stored.recorded();
            SessionFile { kind, session: stored.session, path: stored.path, under: stored.under, facts, recorded }
        };
        self.stored.extend(found.sessions.into_iter().map(file));
        self.gather_on();
    }

    fn handle_gathered(&mut self, kind: AgentKind, under: String, gathered: Gathered) {
        self.found.unreadable.extend(gathered.unreadable);
        let file = |candidate| File { kind, under: under.clone(), candidate };
        self.files.extend(gathered.files.into_iter().map(file));
        self.gather_on();
    }

    fn advance(&mut self) {
        if let Stage::Searching(kind, search) = &mut self.stage {
            let kind = *kind;
            if let Some(found) = search.take_result() {
                self.stage = Stage::Done;
                self.handle_stored(kind, found);
            }
            return;
        }
        let gathered = match &mut self.stage {
            Stage::Gathering(_, _, gather) => gather.take_result(),
            _ => None,
        };
        if let Some(gathered) = gathered {
            if let Stage::Gathering(kind, under, _) = core::mem::replace(&mut self.stage, Stage::Done) {
                self.handle_gathered(kind, under, gathered);
            }
            return;
        }
        let Stage::Looking(look) = &mut self.stage else { return };
        let Some(looked) = look.1.take_result() else { return };
        if let Stage::Looking(look) = core::mem::replace(&mut self.stage, Stage::Done)
            && let Ok(probed) = looked
            && !probed.recorded.child
        {
            let File { kind, under, candidate: Candidate { path, session, .. } } = look.0;
            let (facts, recorded) = (probed.facts, probed.recorded);
            let session = recorded.session.clone().unwrap_or(session);
            self.found.files.push(SessionFile { kind, session, path, under, facts, recorded });
        }
        self.look_on();
    }
}

impl Machine for Sessions {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        match &mut self.stage {
            Stage::Searching(_, search) => search.poll_op(),
            Stage::Gathering(_, _, gather) => gather.poll_op(),
            Stage::Looking(look) => look.1.poll_op(),
            Stage::Done => None,
        }
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        match &mut self.stage {
            Stage::Searching(_, search) => search.handle_outcome(now, tag, outcome),
            Stage::Gathering(_, _, gather) => gather.handle_outcome(now, tag, outcome),
            Stage::Looking(look) => look.1.handle_outcome(now, tag, outcome),
            Stage::Done => {}
        }
        self.advance();
    }
}

impl From<SessionFile> for Located {
    fn from(file: SessionFile) -> Self {
        Self {
            path: file.path,
            under: file.under,
            session: file.session,
            exists: true,
            recorded_cwd: file.recorded.cwd,
            modified: file.facts.modified,
        }
    }
}

#[cfg(test)]
mod tests;
