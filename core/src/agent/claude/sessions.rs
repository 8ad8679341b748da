//! The newest sessions of Claude Code on this machine, wherever they are.

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::locate::{Located, projects_root, session_of_file};
use super::recorded;
use crate::agent::Recorded;
use crate::config::Roots;
use crate::ids::SessionId;
use crate::io::{DirEntry, Facts, FailureKind, FileKind, Op, Outcome};
use crate::limits;
use crate::machine::{Asks, Machine, Tag};
use crate::pane::probe::{Ends, Probe};
use crate::time::Now;

/// A session's file and what its beginning says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFile {
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

/// Looks for the newest sessions: the projects, the files of each, then into no more files than are wanted.
#[derive(Debug)]
pub struct Sessions {
    root: String,
    max: usize,
    stage: Stage,
    projects: VecDeque<String>,
    in_flight: Vec<(Tag, String)>,
    newest: Vec<File>,
    files: VecDeque<File>,
    found: Vec<SessionFile>,
    asks: Asks,
    result: Option<Result<Vec<SessionFile>, String>>,
}

#[derive(Debug)]
enum Stage {
    Projects,
    Listing,
    Looking(Box<Look>),
    Done,
}

#[derive(Debug)]
struct Look {
    file: File,
    probe: Probe,
}

#[derive(Debug)]
struct File {
    session: SessionId,
    path: String,
    facts: Facts,
}

impl Sessions {
    /// Looks for the `max` newest sessions.
    #[must_use]
    pub fn new(roots: &Roots, max: usize) -> Self {
        let root = projects_root(roots);
        let mut asks = Asks::default();
        asks.ask(Op::List { path: root.clone(), max_names: limits::MAX_DIRECTORY_NAMES });
        Self {
            root,
            max,
            stage: Stage::Projects,
            projects: VecDeque::new(),
            in_flight: Vec::new(),
            newest: Vec::new(),
            files: VecDeque::new(),
            found: Vec::new(),
            asks,
            result: None,
        }
    }

    /// The result, once: the sessions, newest first, or why the projects cannot be listed. No projects at all is no
    /// failure. No file is open by then.
    pub fn take_result(&mut self) -> Option<Result<Vec<SessionFile>, String>> {
        self.result.take()
    }

    fn handle_projects(&mut self, outcome: Outcome<'_>) {
        match outcome {
            Outcome::Listing { names, .. } => {
                let directories = names.iter().filter(|entry| entry.facts.kind == FileKind::Directory);
                let sorted: BTreeSet<&str> = directories.map(|entry| entry.name.as_str()).collect();
                self.projects = sorted.into_iter().map(|name| format!("{}/{name}", self.root)).collect();
                self.stage = Stage::Listing;
                self.list_on();
            }
            Outcome::Failed(failure) if failure.kind != FailureKind::NotFound => {
                self.finish(Err(failure.text.to_string()));
            }
            _ => self.finish(Ok(Vec::new())),
        }
    }

    fn list_on(&mut self) {
        while self.in_flight.len() < limits::MAX_SEARCH_OPS
            && let Some(path) = self.projects.pop_front()
        {
            let tag = self.asks.ask(Op::List { path: path.clone(), max_names: limits::MAX_DIRECTORY_NAMES });
            self.in_flight.push((tag, path));
        }
        if self.in_flight.is_empty() {
            self.files = core::mem::take(&mut self.newest).into();
            self.look_on();
        }
    }

    /// A directory that cannot be listed is left out: the others still count.
    fn handle_listing(&mut self, tag: Tag, outcome: Outcome<'_>) {
        let Some(at) = self.in_flight.iter().position(|(asked, _)| *asked == tag) else { return };
        let (_, directory) = self.in_flight.swap_remove(at);
        if let Outcome::Listing { names, .. } = outcome {
            self.newest.extend(names.iter().filter_map(|entry| file_of(&directory, entry)));
            self.newest.sort_by(|a, b| {
                Reverse(a.facts.modified).cmp(&Reverse(b.facts.modified)).then_with(|| a.path.cmp(&b.path))
            });
            self.newest.truncate(self.max);
        }
        self.list_on();
    }

    fn look_on(&mut self) {
        match self.files.pop_front() {
            Some(file) => {
                let probe = Probe::new(&file.path, &self.root, Ends::Head, recorded);
                self.stage = Stage::Looking(Box::new(Look { file, probe }));
            }
            None => {
                let found = core::mem::take(&mut self.found);
                self.finish(Ok(found));
            }
        }
    }

    fn handle_look(&mut self) {
        let Stage::Looking(look) = &mut self.stage else { return };
        let Some(looked) = look.probe.take_result() else { return };
        if let Stage::Looking(look) = core::mem::replace(&mut self.stage, Stage::Done)
            && let Ok(probed) = looked
        {
            let File { session, path, .. } = look.file;
            let under = self.root.clone();
            self.found.push(SessionFile { session, path, under, facts: probed.facts, recorded: probed.recorded });
        }
        self.look_on();
    }

    fn finish(&mut self, result: Result<Vec<SessionFile>, String>) {
        self.stage = Stage::Done;
        self.result = Some(result);
    }
}

impl Machine for Sessions {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        match &mut self.stage {
            Stage::Looking(look) => look.probe.poll_op(),
            _ => self.asks.take(),
        }
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        match &mut self.stage {
            Stage::Projects => self.handle_projects(outcome),
            Stage::Listing => self.handle_listing(tag, outcome),
            Stage::Looking(look) => {
                look.probe.handle_outcome(now, tag, outcome);
                self.handle_look();
            }
            Stage::Done => {}
        }
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

fn file_of(directory: &str, entry: &DirEntry) -> Option<File> {
    let session = session_of_file(&entry.name).filter(|_| entry.facts.kind == FileKind::File)?;
    Some(File { session, path: format!("{directory}/{}", entry.name), facts: entry.facts })
}

#[cfg(test)]
mod tests;
