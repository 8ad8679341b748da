//! Where Claude Code keeps a session: from a directory and a session id to a file.
//!
//! ```text
//! id known    <root>/<encoded cwd>/<id>.jsonl, in both encodings ── a conversation ──▶ that file
//!                │ none, or bookkeeping alone
//!             <root>/*/<id>.jsonl ── the one with a conversation, else the best of all ──▶ that file
//!                │ none at all
//!             pending: the path where it will be
//! id unknown  the newest file in <root>/<encoded cwd> that names this very directory
//! ```

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::recorded;
use crate::agent::Recorded;
use crate::config::Roots;
use crate::ids::SessionId;
use crate::io::{DirEntry, Facts, FailureKind, FileKind, FileTime, Op, Outcome};
use crate::limits;
use crate::machine::{Asks, Machine, Tag};
use crate::pane::probe::{Ends, Probe, ProbeError};
use crate::time::Now;

/// The directory that holds the directories of all projects. Nothing outside it is ever opened.
#[must_use]
pub fn projects_root(roots: &Roots) -> String {
    format!("{}/projects", roots.claude)
}

/// A project's directory name as the mobile contract describes it: `/` and `.` become `-`.
#[must_use]
pub fn directory_by_contract(cwd: &str) -> String {
    cwd.chars().map(|c| if matches!(c, '/' | '.') { '-' } else { c }).collect()
}

/// A project's directory name as Claude Code makes it: every UTF-16 unit that is not an ASCII letter or digit becomes `-`.
/// What is longer than a name can be is cut; Claude Code then adds a hash that we do not know, so that only the session id
/// finds the file.
#[must_use]
pub fn directory_by_agent(cwd: &str) -> String {
    let mut name = String::with_capacity(cwd.len());
    for c in cwd.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c);
        } else {
            (0..c.len_utf16()).for_each(|_| name.push('-'));
        }
    }
    name.truncate(limits::MAX_NAME_BYTES);
    name
}

/// Whether this could name a session. An id is data from outside: what is not made of these letters touches no path.
#[must_use]
pub fn is_session_id(text: &str) -> bool {
    let is_short = (1..=limits::MAX_SESSION_ID_BYTES).contains(&text.len());
    is_short && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The session that a file's name stands for. Children that old versions wrote beside their parents are none.
#[must_use]
pub fn session_of_file(name: &str) -> Option<SessionId> {
    let stem = name.strip_suffix(".jsonl")?;
    (is_session_id(stem) && !stem.starts_with("agent-")).then(|| SessionId::from(stem))
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
    /// There is something that cannot be read, in the operating system's words.
    Unreadable(String),
}

/// Looks for the file of a session.
#[derive(Debug)]
pub struct Locate {
    root: String,
    cwd: Option<String>,
    session: Option<SessionId>,
    stage: Stage,
    /// Where the next file may be: looked at one after another.
    files: VecDeque<File>,
    /// Files that were looked at and hold no conversation.
    bookkeeping: Vec<Located>,
    /// Files that a search has found, or is about to look for.
    found: Vec<File>,
    sought: VecDeque<String>,
    in_flight: BTreeMap<Tag, String>,
    /// A file of that id was there, whether or not it may be opened.
    seen: bool,
    unreadable: Option<String>,
    asks: Asks,
    result: Option<Result<Located, LocateError>>,
}

#[derive(Debug)]
enum Stage {
    /// Facts about the paths in the directories of the cwd.
    Direct,
    /// The names of all projects.
    Projects,
    /// Facts about the path in every project.
    Everywhere,
    /// The files in the directories of the cwd.
    Directory,
    /// A look into one file.
    Looking(Box<Look>),
    /// Over.
    Done,
}

/// A look into one file.
#[derive(Debug)]
struct Look {
    file: File,
    probe: Probe,
    then: Then,
}

/// Where to go when the files at hand do not settle it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Search,
    GiveUp,
}

#[derive(Debug, Clone)]
struct File {
    path: String,
    session: SessionId,
    modified: FileTime,
}

impl Locate {
    /// Looks for `session`, or for the newest one of `cwd` if no session is known.
    #[must_use]
    pub fn new(roots: &Roots, cwd: Option<&str>, session: Option<&SessionId>) -> Self {
        let mut locate = Self {
            root: projects_root(roots),
            cwd: cwd.map(|cwd| without_final_slash(cwd).to_string()),
            session: session.cloned(),
            stage: Stage::Done,
            files: VecDeque::new(),
            bookkeeping: Vec::new(),
            found: Vec::new(),
            sought: VecDeque::new(),
            in_flight: BTreeMap::new(),
            seen: false,
            unreadable: None,
            asks: Asks::default(),
            result: None,
        };
        match &locate.session {
            Some(session) if !is_session_id(session.as_str()) => locate.finish(Err(LocateError::NoFile)),
            Some(session) if locate.cwd.is_some() => {
                let paths = locate.directories().into_iter().map(|dir| format!("{dir}/{session}.jsonl")).collect();
                locate.stage = Stage::Direct;
                locate.seek(paths);
            }
            Some(_) => locate.list_projects(),
            None => locate.list_directories(),
        }
        locate
    }

    /// The result, once. No file is open by then.
    pub fn take_result(&mut self) -> Option<Result<Located, LocateError>> {
        self.result.take()
    }

    /// The directories that the cwd may have, by the contract and by the agent; often they are one.
    fn directories(&self) -> Vec<String> {
        let Some(cwd) = &self.cwd else { return Vec::new() };
        let mut names = alloc::vec![directory_by_contract(cwd), directory_by_agent(cwd)];
        names.dedup();
        // What no name on a disk can be is not asked for.
        names.retain(|name| name.len() <= limits::MAX_NAME_BYTES && !name.contains('\0'));
        names.into_iter().map(|name| format!("{}/{name}", self.root)).collect()
    }

    fn list_projects(&mut self) {
        self.stage = Stage::Projects;
        let op = Op::List { path: self.root.clone(), max_names: limits::MAX_DIRECTORY_NAMES };
        self.asks.ask(op);
    }

    fn list_directories(&mut self) {
        let directories = self.directories();
        if directories.is_empty() {
            return self.finish(Err(LocateError::NoFile));
        }
        self.stage = Stage::Directory;
        for path in directories {
            let tag = self.asks.ask(Op::List { path: path.clone(), max_names: limits::MAX_DIRECTORY_NAMES });
            self.in_flight.insert(tag, path);
        }
    }

    /// Asks for facts about these paths, a few at a time.
    fn seek(&mut self, paths: VecDeque<String>) {
        self.sought = paths;
        self.seek_on();
    }

    fn seek_on(&mut self) {
        while self.in_flight.len() < limits::MAX_SEARCH_OPS
            && let Some(path) = self.sought.pop_front()
        {
            let tag = self.asks.ask(Op::Stat { path: path.clone() });
            self.in_flight.insert(tag, path);
        }
    }

    fn handle_facts(&mut self, tag: Tag, outcome: Outcome<'_>) {
        let Some(path) = self.in_flight.remove(&tag) else { return };
        match (outcome, &self.session) {
            (Outcome::Facts(Facts { kind: FileKind::File, modified, .. }), Some(session)) => {
                self.found.push(File { path, session: session.clone(), modified });
            }
            (Outcome::Failed(failure), _) if failure.kind == FailureKind::Denied => {
                self.unreadable.get_or_insert_with(|| failure.text.to_string());
            }
            _ => {}
        }
        self.seek_on();
        if !self.in_flight.is_empty() {
            return;
        }
        let mut found = core::mem::take(&mut self.found);
        let then = if matches!(self.stage, Stage::Direct) {
            // In the order of the encodings, which is not the order of the answers.
            let order = self.directories();
            found.sort_by_key(|file| {
                let directory = file.path.rsplit_once('/').map(|(directory, _name)| directory);
                order.iter().position(|known| Some(known.as_str()) == directory)
            });
            Then::Search
        } else {
            sort_newest_first(&mut found);
            Then::GiveUp
        };
        self.seen |= !found.is_empty();
        self.look_into(found, then);
    }

    fn handle_projects(&mut self, outcome: Outcome<'_>) {
        let projects = match outcome {
            Outcome::Listing { names, .. } => directories_of(names),
            outcome => {
                self.note_failure(outcome);
                Vec::new()
            }
        };
        let session = self.session.clone().unwrap_or_else(|| SessionId::from(""));
        let paths: VecDeque<String> = projects
            .into_iter()
            .map(|project| format!("{}/{project}/{session}.jsonl", self.root))
            .filter(|path| !self.bookkeeping.iter().any(|looked_at| looked_at.path == *path))
            .collect();
        if paths.is_empty() {
            return self.give_up();
        }
        self.stage = Stage::Everywhere;
        self.seek(paths);
    }

    fn handle_directory(&mut self, tag: Tag, outcome: Outcome<'_>) {
        let Some(directory) = self.in_flight.remove(&tag) else { return };
        match outcome {
            Outcome::Listing { names, .. } => self.found.extend(files_of(&directory, names)),
            outcome => self.note_failure(outcome),
        }
        if self.in_flight.is_empty() {
            let mut found = core::mem::take(&mut self.found);
            sort_newest_first(&mut found);
            self.look_into(found, Then::GiveUp);
        }
    }

    fn look_into(&mut self, mut files: Vec<File>, then: Then) {
        files.truncate(limits::MAX_PROBED_FILES);
        self.files = files.into();
        self.look_on(then);
    }

    fn look_on(&mut self, then: Then) {
        match self.files.pop_front() {
            Some(file) => {
                let probe = Probe::new(&file.path, &self.root, Ends::Head, recorded);
                self.stage = Stage::Looking(Box::new(Look { file, probe, then }));
            }
            None if then == Then::Search => self.list_projects(),
            None => self.give_up(),
        }
    }

    fn handle_look(&mut self) {
        let Stage::Looking(look) = &mut self.stage else { return };
        let Some(looked) = look.probe.take_result() else { return };
        let Stage::Looking(look) = core::mem::replace(&mut self.stage, Stage::Done) else { return };
        let Look { file, then, .. } = *look;
        match looked {
            Ok(probed) => {
                let is_it = self.is_it(&probed.recorded);
                let located = Located {
                    path: file.path,
                    under: self.root.clone(),
                    session: file.session,
                    exists: true,
                    recorded_cwd: probed.recorded.cwd,
                    modified: probed.facts.modified,
                };
                if is_it {
                    return self.finish(Ok(located));
                }
                if self.session.is_some() {
                    self.bookkeeping.push(located);
                }
            }
            Err(ProbeError::NoFile) => {}
            Err(ProbeError::Unreadable(text)) => {
                self.unreadable.get_or_insert(text);
            }
        }
        self.look_on(then);
    }

    /// Whether a file is what is looked for: any conversation of a known id, or one in the very directory.
    fn is_it(&self, recorded: &Recorded) -> bool {
        match (&self.session, &recorded.cwd, &self.cwd) {
            (Some(_), _, _) => recorded.conversation,
            (None, Some(recorded), Some(cwd)) => without_final_slash(recorded) == cwd,
            (None, _, _) => false,
        }
    }

    fn note_failure(&mut self, outcome: Outcome<'_>) {
        if let Outcome::Failed(failure) = outcome
            && failure.kind != FailureKind::NotFound
        {
            self.unreadable.get_or_insert_with(|| failure.text.to_string());
        }
    }

    /// Every place was looked at and nothing settled it.
    fn give_up(&mut self) {
        let best = core::mem::take(&mut self.bookkeeping).into_iter().next();
        let result = match (best, self.unreadable.take(), &self.session, &self.cwd) {
            (Some(best), ..) => Ok(best),
            (None, Some(text), ..) => Err(LocateError::Unreadable(text)),
            (None, None, Some(session), Some(cwd)) if !self.seen => Ok(Located {
                path: format!("{}/{}/{session}.jsonl", self.root, directory_by_agent(cwd)),
                under: self.root.clone(),
                session: session.clone(),
                exists: false,
                recorded_cwd: None,
                modified: FileTime::default(),
            }),
            _ => Err(LocateError::NoFile),
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
            Stage::Looking(look) => look.probe.poll_op(),
            _ => self.asks.take(),
        }
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        match &mut self.stage {
            Stage::Direct | Stage::Everywhere => self.handle_facts(tag, outcome),
            Stage::Projects => self.handle_projects(outcome),
            Stage::Directory => self.handle_directory(tag, outcome),
            Stage::Looking(look) => {
                look.probe.handle_outcome(now, tag, outcome);
                self.handle_look();
            }
            Stage::Done => {}
        }
    }
}

/// A path in a form in which two spellings of one directory are equal.
pub(crate) fn without_final_slash(path: &str) -> &str {
    let short = path.trim_end_matches('/');
    if short.is_empty() && path.starts_with('/') { "/" } else { short }
}

fn directories_of(names: &[DirEntry]) -> Vec<String> {
    let mut directories: Vec<String> =
        names.iter().filter(|entry| entry.facts.kind == FileKind::Directory).map(|entry| entry.name.clone()).collect();
    directories.sort();
    directories
}

fn files_of<'a>(directory: &'a str, names: &'a [DirEntry]) -> impl Iterator<Item = File> + 'a {
    names.iter().filter(|entry| entry.facts.kind == FileKind::File).filter_map(move |entry| {
        let session = session_of_file(&entry.name)?;
        Some(File { path: format!("{directory}/{}", entry.name), session, modified: entry.facts.modified })
    })
}

fn sort_newest_first(files: &mut [File]) {
    files.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
}

#[cfg(test)]
mod tests;
