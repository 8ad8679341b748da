//! From what is known about a session to its file.
//!
//! ```text
//!   the layout's places, one after another ── gather ──▶ files ── look into each ── it is it ──▶ that file
//!                  │ none left                             │ bookkeeping alone: remembered
//!                  └──▶ the best of what was remembered, else its spool, else the place where it will be, else nothing
//! ```
//!
//! The spool of a session is what was shown of it before: it is found when its store does not answer, or is gone.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::directories::Directories;
use super::gather::{Candidate, Filter, Gather, Gathered};
use super::gemini::layout::project_hash;
pub use super::layout::is_session_id;
use super::layout::{Attempt, Layout, Pending};
use super::opencode::search::{Found, Search, StoredSession};
use super::{AgentKind, Recorded};
use crate::config::Roots;
use crate::ids::SessionId;
use crate::io::{FileTime, Op, Outcome};
use crate::limits;
use crate::machine::{Machine, Tag};
use crate::pane::probe::{Ends, Probe, ProbeError, Probed};
use crate::source::spool;
use crate::time::Now;

/// Which session is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// The one with this id.
    Session(SessionId),
    /// The one in this file.
    File(String),
    /// The newest one of the directory.
    Newest,
}

impl Wanted {
    /// Whether this names what was located.
    #[must_use]
    pub fn is(&self, located: &Located) -> bool {
        match self {
            Self::Session(session) => *session == located.session,
            Self::File(path) => *path == located.path,
            Self::Newest => false,
        }
    }
}

/// A session's file, or the place where it will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The file.
    pub path: String,
    /// The directory that must contain it when it is opened.
    pub under: String,
    /// The session.
    pub session: SessionId,
    /// `false`: it is not there yet.
    pub exists: bool,
    /// The first working directory that it names.
    pub recorded_cwd: Option<String>,
    /// When it changed last; zero if it is not there yet.
    pub modified: FileTime,
}

/// Why no file was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocateError {
    /// There is none.
    NoFile,
    /// There is something that cannot be read: what, and why.
    Unreadable(String),
}

/// Looks for the file of a session.
#[derive(Debug)]
pub struct Locate {
    layout: &'static dyn Layout,
    /// Where its agent works.
    cwd: Directories,
    /// The session that is known; only its files are looked at.
    session: Option<SessionId>,
    /// The same in full, if files name only a part of it.
    wanted_session: Option<SessionId>,
    /// Whether any conversation in a file settles it: what was asked for by name is not asked for its directory.
    by_name: bool,
    attempts: VecDeque<Attempt>,
    pending: Option<Pending>,
    under: String,
    /// The newest that a store holds.
    stored: Option<Located>,
    /// The spool of the session that is looked for, and its directory, if it may have one that was not looked at.
    spool: Option<(String, String)>,
    /// Files that are looked into next.
    files: VecDeque<Candidate>,
    stage: Stage,
    /// The best of the files that were looked into and hold no conversation, and all their paths.
    bookkeeping: Option<Located>,
    looked_at: Vec<String>,
    /// All of these are of other sessions.
    only_anothers: bool,
    unreadable: Option<String>,
    result: Option<Result<Located, LocateError>>,
}

#[derive(Debug)]
enum Stage {
    Searching(Box<Search>),
    Gathering(Box<Gather>),
    Looking(Box<(Candidate, Probe)>),
    /// Into its spool.
    Spool(Box<(String, Probe)>),
    /// Whether what was found is of the right directory.
    Comparing(Compared),
    Done,
}

/// What waits for its directory to be compared.
#[derive(Debug)]
enum Compared {
    Stored(Box<Found>),
    File(Box<(Candidate, Probed)>),
    Spool(Box<(String, Probed)>),
}

impl Located {
    /// Whether this is no more than the spool of a session whose store does not answer, or is gone.
    #[must_use]
    pub fn is_spooled(&self) -> bool {
        self.path.ends_with(spool::SPOOLS.suffix)
    }
}

impl Locate {
    /// Looks for a session of this kind. `cwd` is where its agent works, if that is known.
    #[must_use]
    pub fn new(kind: AgentKind, roots: &Roots, cwd: Option<&str>, wanted: &Wanted) -> Self {
        let cwd = cwd.map(without_final_slash);
        let layout = kind.layout();
        let search = match wanted {
            Wanted::Session(session) if !is_session_id(session.as_str()) => Default::default(),
            wanted => layout.search(roots, cwd, wanted),
        };
        let wanted_session = if let Wanted::Session(session) = wanted { Some(session.clone()) } else { None };
        let mut locate = Self {
            layout,
            cwd: Directories::new(cwd),
            session: search.session.or_else(|| wanted_session.clone()),
            wanted_session,
            by_name: *wanted != Wanted::Newest,
            attempts: search.attempts.into(),
            pending: search.pending,
            under: String::new(),
            stored: None,
            spool: None,
            files: VecDeque::new(),
            stage: Stage::Done,
            bookkeeping: None,
            looked_at: Vec::new(),
            only_anothers: true,
            unreadable: None,
            result: None,
        };
        match kind.stores(roots, wanted) {
            Some(search) => locate.stage = Stage::Searching(Box::new(search)),
            None => locate.go_on(),
        }
        locate
    }

    /// If the store of a session that is known does not show it, its spool will do.
    #[must_use]
    pub fn or_spooled(mut self, kind: AgentKind, state_dir: &str) -> Self {
        if let (Stage::Searching(_), Some(session)) = (&self.stage, &self.wanted_session) {
            self.spool = Some((spool::path_of(state_dir, kind.label(), session), spool::directory(state_dir)));
        }
        self
    }

    /// The result, once. No file is open by then.
    pub fn take_result(&mut self) -> Option<Result<Located, LocateError>> {
        self.result.take()
    }

    /// Looks into the next file, or for more of them.
    fn go_on(&mut self) {
        if let Some(file) = self.files.pop_front() {
            let probe = Probe::new(&file.path, &self.under, Ends::Head, self.layout.recorded());
            self.stage = Stage::Looking(Box::new((file, probe)));
        } else if let Some(attempt) = self.attempts.pop_front() {
            self.under = attempt.under;
            let filter = Filter {
                session_of_file: self.layout.session_of_file(),
                session: self.session.clone(),
                max: limits::MAX_PROBED_FILES,
            };
            self.stage = Stage::Gathering(Box::new(Gather::new(attempt.places, filter)));
            self.advance();
        } else if let Some((path, under)) = self.spool.take().filter(|_| self.bookkeeping.is_none()) {
            let probe = Probe::new(&path, &under, Ends::Head, spool::record::recorded);
            self.under = under;
            self.stage = Stage::Spool(Box::new((path, probe)));
        } else {
            self.give_up();
        }
    }

    /// Goes on as far as the answers at hand allow.
    fn advance(&mut self) {
        match &mut self.stage {
            Stage::Searching(search) => {
                if let Some(found) = search.take_result() {
                    self.handle_stored(found);
                }
            }
            Stage::Gathering(gather) => {
                if let Some(gathered) = gather.take_result() {
                    self.handle_gathered(gathered);
                }
            }
            Stage::Looking(look) => {
                if let Some(looked) = look.1.take_result()
                    && let Stage::Looking(look) = core::mem::replace(&mut self.stage, Stage::Done)
                {
                    self.handle_look(look.0, looked);
                }
            }
            Stage::Spool(look) => {
                if let Some(looked) = look.1.take_result()
                    && let Stage::Spool(look) = core::mem::replace(&mut self.stage, Stage::Done)
                {
                    self.handle_spool(look.0, looked);
                }
            }
            Stage::Comparing(_) => self.compare(),
            Stage::Done => {}
        }
    }

    /// Goes on when all directories that matter are compared.
    fn compare(&mut self) {
        if !self.cwd.is_done() {
            return;
        }
        match core::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Comparing(Compared::Stored(found)) => self.take_stored(*found),
            Stage::Comparing(Compared::File(look)) => self.take_file(look.0, look.1),
            Stage::Comparing(Compared::Spool(look)) => self.take_spool(look.0, look.1),
            stage => self.stage = stage,
        }
    }

    /// Whether the directory of what was found decides anything.
    fn is_compared(&self) -> bool {
        !self.by_name || self.layout.is_of_its_directory()
    }

    fn handle_stored(&mut self, found: Found) {
        if self.is_compared() {
            // What is older than one that is known by its name decides nothing.
            for directory in found.sessions.iter().filter_map(|stored| stored.directory.as_deref()) {
                if self.cwd.is_meant(directory) {
                    break;
                }
                self.cwd.consider(directory);
            }
        }
        self.stage = Stage::Comparing(Compared::Stored(Box::new(found)));
        self.compare();
    }

    /// What is asked for by name and is in a store is found, or lies elsewhere; the newest may still be a file.
    fn take_stored(&mut self, found: Found) {
        self.unreadable = found.trouble;
        let first = found.sessions.into_iter().find(|stored| self.by_name || self.is_it(&stored.recorded()));
        match first {
            Some(stored) if self.is_elsewhere(&stored.recorded()) => self.finish(Err(LocateError::NoFile)),
            Some(stored) if self.by_name => self.finish(Ok(stored.located())),
            stored => {
                self.stored = stored.map(StoredSession::located);
                self.go_on();
            }
        }
    }

    fn handle_gathered(&mut self, gathered: Gathered) {
        if self.unreadable.is_none() {
            self.unreadable = gathered.unreadable;
        }
        self.files = gathered.files.into_iter().filter(|file| !self.looked_at.contains(&file.path)).collect();
        self.go_on();
    }

    fn handle_look(&mut self, file: Candidate, looked: Result<Probed, ProbeError>) {
        self.looked_at.push(file.path.clone());
        self.only_anothers &= looked.as_ref().is_ok_and(|probed| self.is_anothers(&probed.recorded));
        match looked {
            Ok(probed) => {
                if let Some(cwd) = probed.recorded.cwd.as_deref().filter(|_| self.is_compared()) {
                    self.cwd.consider(cwd);
                }
                self.stage = Stage::Comparing(Compared::File(Box::new((file, probed))));
                self.compare();
            }
            Err(error) => {
                if let ProbeError::Unreadable(text) = error {
                    self.unreadable.get_or_insert_with(|| format!("cannot read {}: {text}", file.path));
                }
                self.go_on();
            }
        }
    }

    fn take_file(&mut self, file: Candidate, probed: Probed) {
        let (is_it, is_elsewhere) = (self.is_it(&probed.recorded), self.is_elsewhere(&probed.recorded));
        let is_anothers = self.is_anothers(&probed.recorded);
        let located = Located {
            path: file.path,
            under: self.under.clone(),
            session: probed.recorded.session.unwrap_or(file.session),
            exists: true,
            recorded_cwd: probed.recorded.cwd,
            modified: probed.facts.modified,
        };
        if is_it {
            let stored = self.stored.take().filter(|stored| stored.modified >= located.modified);
            return self.finish(Ok(stored.unwrap_or(located)));
        }
        if self.by_name && !is_elsewhere && !is_anothers {
            self.bookkeeping.get_or_insert(located);
        }
        self.go_on();
    }

    fn handle_spool(&mut self, path: String, looked: Result<Probed, ProbeError>) {
        let Ok(probed) = looked else { return self.give_up() };
        if !probed.recorded.conversation || self.is_anothers(&probed.recorded) {
            return self.give_up();
        }
        if let Some(cwd) = &probed.recorded.cwd {
            self.cwd.consider(cwd);
        }
        self.stage = Stage::Comparing(Compared::Spool(Box::new((path, probed))));
        self.compare();
    }

    /// What was shown of a session is shown again, but in a pane of its own directory alone.
    fn take_spool(&mut self, path: String, probed: Probed) {
        let is_unknown = probed.recorded.cwd.is_none() && self.cwd.meant().is_some();
        let session = probed.recorded.session.clone().filter(|_| !is_unknown && !self.is_elsewhere(&probed.recorded));
        let Some(session) = session else {
            // Nor is it waited for: what was shown of it would be shown here.
            self.pending = None;
            return self.give_up();
        };
        let (under, recorded_cwd, modified) = (self.under.clone(), probed.recorded.cwd, probed.facts.modified);
        self.finish(Ok(Located { path, under, session, exists: true, recorded_cwd, modified }));
    }

    /// Whether a file is what is looked for: any conversation of a known name, or one in the very directory.
    fn is_it(&self, recorded: &Recorded) -> bool {
        match (&recorded.cwd, self.cwd.meant()) {
            _ if self.is_elsewhere(recorded) || self.is_anothers(recorded) => false,
            _ if self.by_name => recorded.conversation,
            (Some(cwd), Some(_)) => !recorded.child && self.cwd.is_meant(cwd),
            (None, Some(wanted)) => {
                let digest = recorded.cwd_digest.as_deref().filter(|_| !recorded.child);
                digest.is_some_and(|digest| digest == project_hash(wanted))
            }
            _ => false,
        }
    }

    /// Whether a file is of another session than the one that is wanted, though its name begins like that one's.
    fn is_anothers(&self, recorded: &Recorded) -> bool {
        matches!((&recorded.session, &self.wanted_session), (Some(one), Some(wanted)) if one != wanted)
    }

    /// Whether a file names another directory, and is no transcript of this one for that reason alone.
    fn is_elsewhere(&self, recorded: &Recorded) -> bool {
        match (&recorded.cwd, self.cwd.meant()) {
            (Some(cwd), Some(_)) => self.layout.is_of_its_directory() && !self.cwd.is_meant(cwd),
            _ => false,
        }
    }

    /// Every place was looked at and nothing settled it.
    fn give_up(&mut self) {
        // A file that is there and may not be opened is not waited for.
        let pending = self.pending.take().filter(|_| self.looked_at.is_empty() || self.only_anothers);
        if let Some(stored) = self.stored.take() {
            return self.finish(Ok(stored));
        }
        let result = match (self.bookkeeping.take(), self.unreadable.take(), pending) {
            (Some(best), ..) => Ok(best),
            (None, Some(text), _) => Err(LocateError::Unreadable(text)),
            (None, None, Some(Pending { path, under, session })) => {
                Ok(Located { path, under, session, exists: false, recorded_cwd: None, modified: FileTime::default() })
            }
            (None, None, None) => Err(LocateError::NoFile),
        };
        self.finish(result);
    }

    fn finish(&mut self, result: Result<Located, LocateError>) {
        self.stage = Stage::Done;
        self.result = Some(result);
    }
}

impl Machine for Locate {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        match &mut self.stage {
            Stage::Searching(search) => search.poll_op(),
            Stage::Gathering(gather) => gather.poll_op(),
            Stage::Looking(look) => look.1.poll_op(),
            Stage::Spool(look) => look.1.poll_op(),
            Stage::Comparing(_) => self.cwd.poll_op(),
            Stage::Done => None,
        }
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        match &mut self.stage {
            Stage::Searching(search) => search.handle_outcome(now, tag, outcome),
            Stage::Gathering(gather) => gather.handle_outcome(now, tag, outcome),
            Stage::Looking(look) => look.1.handle_outcome(now, tag, outcome),
            Stage::Spool(look) => look.1.handle_outcome(now, tag, outcome),
            Stage::Comparing(_) => self.cwd.handle_outcome(now, tag, outcome),
            Stage::Done => {}
        }
        self.advance();
    }
}

/// A path in a form in which two spellings of one directory are equal.
pub(crate) fn without_final_slash(path: &str) -> &str {
    let short = path.trim_end_matches('/');
    if short.is_empty() && path.starts_with('/') { "/" } else { short }
}

#[cfg(test)]
mod tests;
