//! The files that may be sessions: found by their paths, or by listing directories level by level, a few at a time.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::ids::SessionId;
use crate::io::{DirEntry, Facts, FailureKind, FileKind, Op, Outcome};
use crate::limits;
use crate::machine::{Asks, Machine, Tag};
use crate::time::Now;

/// Where the files of sessions may lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Places {
    /// These very paths, the best first.
    Paths(Vec<String>),
    /// The file of this name in each of the directories in this one.
    InEachOf { directory: String, name: String },
    /// Every file so many levels below these directories; 0 is in them.
    Below { directories: Vec<String>, levels: usize },
}

/// Which files are wanted.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    /// The session that a file's name stands for.
    pub(crate) session_of_file: fn(&str) -> Option<SessionId>,
    /// The only session that is wanted.
    pub(crate) session: Option<SessionId>,
    /// How many files at most.
    pub(crate) max: usize,
}

/// A file that may be a session's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) path: String,
    pub(crate) session: SessionId,
    pub(crate) facts: Facts,
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Gathered {
    /// The files: those of [`Places::Paths`] in their order, others newest first.
    pub(crate) files: Vec<Candidate>,
    /// A place that cannot be looked at, and why. Directories below one that can be are left out.
    pub(crate) unreadable: Option<String>,
}

/// Looks for files. Nothing is opened.
#[derive(Debug)]
pub(crate) struct Gather {
    filter: Filter,
    /// Paths whose order is the order of what is found.
    order: Vec<String>,
    sought: VecDeque<Sought>,
    in_flight: BTreeMap<Tag, Sought>,
    gathered: Gathered,
    asks: Asks,
    is_done: bool,
}

/// One question.
#[derive(Debug)]
enum Sought {
    /// Is this a file?
    File(String),
    /// What is in this directory? `first`: nobody has seen yet that it is there.
    Directory { path: String, first: bool, then: Then },
}

/// What is done with the names in a directory.
#[derive(Debug, Clone)]
enum Then {
    /// The file of this name in each directory is looked for.
    File(String),
    /// So many levels are listed further; none: files are taken.
    Levels(usize),
}

impl Gather {
    pub(crate) fn new(places: Places, filter: Filter) -> Self {
        let mut gather = Self {
            filter,
            order: Vec::new(),
            sought: VecDeque::new(),
            in_flight: BTreeMap::new(),
            gathered: Gathered::default(),
            asks: Asks::default(),
            is_done: false,
        };
        match places {
            Places::Paths(paths) => {
                gather.sought.extend(paths.iter().cloned().map(Sought::File));
                gather.order = paths;
            }
            Places::InEachOf { directory, name } => {
                gather.sought.push_back(Sought::Directory { path: directory, first: true, then: Then::File(name) });
            }
            Places::Below { directories, levels } => {
                let directory = |path| Sought::Directory { path, first: true, then: Then::Levels(levels) };
                gather.sought.extend(directories.into_iter().map(directory));
            }
        }
        gather.ask_on();
        gather
    }

    /// The result, once.
    pub(crate) fn take_result(&mut self) -> Option<Gathered> {
        (self.in_flight.is_empty() && !core::mem::replace(&mut self.is_done, true)).then(|| {
            let mut gathered = core::mem::take(&mut self.gathered);
            if self.order.is_empty() {
                keep_newest(&mut gathered.files, self.filter.max);
            } else {
                let place = |file: &Candidate| self.order.iter().position(|path| *path == file.path);
                gathered.files.sort_by_key(place);
                gathered.files.truncate(self.filter.max);
            }
            gathered
        })
    }

    fn ask_on(&mut self) {
        while self.in_flight.len() < limits::MAX_SEARCH_OPS
            && let Some(sought) = self.sought.pop_front()
        {
            let op = match &sought {
                Sought::File(path) => Op::Stat { path: path.clone() },
                Sought::Directory { path, .. } => {
                    Op::List { path: path.clone(), max_names: limits::MAX_DIRECTORY_NAMES }
                }
            };
            self.in_flight.insert(self.asks.ask(op), sought);
        }
    }

    fn handle_names(&mut self, directory: &str, names: &[DirEntry], then: &Then) {
        let below = |entry: &DirEntry| format!("{directory}/{}", entry.name);
        if let Then::Levels(0) = then {
            let files = names.iter().filter(|entry| entry.facts.kind == FileKind::File);
            for entry in files {
                let session = (self.filter.session_of_file)(&entry.name);
                let wanted = session.filter(|session| self.filter.session.as_ref().is_none_or(|only| only == session));
                if let Some(session) = wanted {
                    self.gathered.files.push(Candidate { path: below(entry), session, facts: entry.facts });
                }
            }
            return keep_newest(&mut self.gathered.files, self.filter.max);
        }
        let mut directories: Vec<String> =
            names.iter().filter(|entry| entry.facts.kind == FileKind::Directory).map(below).collect();
        directories.sort();
        self.sought.extend(directories.into_iter().map(|path| match then {
            Then::File(name) => Sought::File(format!("{path}/{name}")),
            Then::Levels(levels) => {
                Sought::Directory { path, first: false, then: Then::Levels(levels.saturating_sub(1)) }
            }
        }));
    }

    fn handle_facts(&mut self, path: String, facts: Facts) {
        let name = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name);
        let session = self.filter.session.clone().or_else(|| (self.filter.session_of_file)(name));
        match (session, facts.kind) {
            (Some(session), FileKind::File) => self.gathered.files.push(Candidate { path, session, facts }),
            // What lies in the place of the very session that is wanted is not waited for.
            (Some(_), _) if self.filter.session.is_some() => self.cannot_look_at(&path, "not a regular file"),
            _ => {}
        }
    }

    fn cannot_look_at(&mut self, path: &str, why: &str) {
        self.gathered.unreadable.get_or_insert_with(|| format!("cannot look at {path}: {why}"));
    }
}

impl Machine for Gather {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, _now: Now, tag: Tag, outcome: Outcome<'_>) {
        let Some(sought) = self.in_flight.remove(&tag) else { return };
        match (outcome, sought) {
            (Outcome::Listing { names, .. }, Sought::Directory { path, then, .. }) => {
                self.handle_names(&path, names, &then);
            }
            (Outcome::Facts(facts), Sought::File(path)) => self.handle_facts(path, facts),
            (Outcome::Failed(failure), sought) => {
                let (path, counts) = match sought {
                    Sought::File(path) => (path, failure.kind != FailureKind::NotFound),
                    Sought::Directory { path, first, .. } => (path, first && failure.kind != FailureKind::NotFound),
                };
                if counts {
                    self.cannot_look_at(&path, failure.text);
                }
            }
            _ => {}
        }
        self.ask_on();
    }
}

/// The newest first; those of one age by name.
fn keep_newest(files: &mut Vec<Candidate>, max: usize) {
    files.sort_by(|a, b| b.facts.modified.cmp(&a.facts.modified).then_with(|| a.path.cmp(&b.path)));
    files.truncate(max);
}
