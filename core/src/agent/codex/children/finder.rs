//! Finds the threads of one session, and looks again at what has changed.
//!
//! ```text
//!   Idle ── look ──▶ days: stat, list what changed ──▶ beginnings of new rollouts ──▶ ends of the session's threads ──▶
//!     ▲                                                              (a row for each thread: ready)                  │
//!     └──────────── threads that have started others, or all if asked for: read as a whole, then on from there ◀─────┘
//! ```

mod visits;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use self::visits::Purpose;
use super::days::{Days, Listed};
use super::end::End;
use super::head::Head;
use super::said::Said;
use crate::agent::Reader;
use crate::agent::codex::CodexReader;
use crate::agent::codex::layout::session_of_file;
use crate::agent::codex::time;
use crate::io::{DirEntry, Facts, FailureKind, FileIdentity, FileKind, FileTime, Op, Outcome};
use crate::limits::{CHILDREN_EVERY, CHILDREN_FIRST_BYTES, MAX_CHILD_DEPTH, MAX_DIRECTORY_NAMES};
use crate::machine::{Asks, Machine, Tag};
use crate::roster::{Finder, Row, Through, Told, Visit, Wanted};
use crate::source::follow::Source;
use crate::time::Now;

/// The threads of one session.
#[derive(Debug)]
pub struct Threads {
    session: String,
    line_bytes: usize,
    days: Days,
    /// By id: every rollout that is somebody's child.
    threads: BTreeMap<String, Thread>,
    /// Rollouts that are nobody's.
    strangers: BTreeSet<String>,
    phase: Phase,
    looks: u64,
    wanted: Wanted,
    ready: bool,
    pending: BTreeMap<Tag, Pending>,
    visits: VecDeque<(String, Place, Purpose)>,
    open: usize,
    trouble: Option<String>,
    asks: Asks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    /// Days are looked at, and the beginnings of what is new in them.
    Looking,
    /// The ends of threads that changed are read.
    Ends,
    /// Threads are read as a whole.
    Reading,
}

#[derive(Debug)]
enum Pending {
    /// The root, a year or a month is listed.
    Above(String),
    Stat(String),
    List(String, Listed),
    StatThread(String),
    Visit(String, Place, Purpose, Box<Visit<Said>>),
}

/// Where a rollout lies, and what it was when that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    directory: String,
    name: String,
    seen: Seen,
}

/// By what a change of a file is seen.
type Seen = (FileIdentity, u64, FileTime);

/// One thread.
#[derive(Debug)]
struct Thread {
    place: Place,
    head: Head,
    /// What its file was when its end was looked at.
    visited: Option<Seen>,
    end: End,
    through: Option<Box<Through<Said>>>,
    /// What its file was when it was read as a whole.
    read_through: Option<Seen>,
    /// It cannot be opened: no row is shown of it.
    closed: bool,
}

impl Threads {
    /// The threads of the session whose rollout this is.
    #[must_use]
    pub fn new(parent: &Source, line_bytes: usize) -> Self {
        let name = parent.path.rsplit_once('/').map_or(parent.path.as_str(), |(_, name)| name);
        Self {
            session: session_of_file(name).map(|session| session.as_str().to_string()).unwrap_or_default(),
            line_bytes,
            days: Days::new(&parent.path, &parent.under),
            threads: BTreeMap::new(),
            strangers: BTreeSet::new(),
            phase: Phase::Idle,
            looks: 0,
            wanted: Wanted::default(),
            ready: false,
            pending: BTreeMap::new(),
            visits: VecDeque::new(),
            open: 0,
            trouble: None,
            asks: Asks::default(),
        }
    }

    fn above_listed(&mut self, path: &str, outcome: Outcome<'_>) {
        match outcome {
            Outcome::Listing { names, .. } => {
                let known: BTreeSet<String> = self.days.to_look_at(true).map(String::from).collect();
                for below in self.days.inside(path, names) {
                    self.list_above(below);
                }
                let new: Vec<String> =
                    self.days.to_look_at(true).filter(|day| !known.contains(*day)).map(String::from).collect();
                new.into_iter().for_each(|day| self.stat(day));
            }
            Outcome::Failed(failure) if failure.kind != FailureKind::NotFound => self.trouble(path, failure.text),
            _ => {}
        }
    }

    fn stat_answered(&mut self, path: String, outcome: Outcome<'_>) {
        match outcome {
            Outcome::Facts(facts) if facts.kind == FileKind::Directory => {
                let now = (facts.identity, facts.modified);
                if self.days.has_changed(&path, now) {
                    let op = Op::List { path: path.clone(), max_names: MAX_DIRECTORY_NAMES };
                    self.ask(Pending::List(path, now), op);
                }
            }
            Outcome::Failed(failure) if failure.kind != FailureKind::NotFound => self.trouble(&path, failure.text),
            Outcome::Facts(_) | Outcome::Failed(_) => {
                self.threads.retain(|_, thread| thread.place.directory != path);
                self.days.listed(&path, None);
            }
            _ => {}
        }
    }

    fn listed(&mut self, path: &str, at: Listed, outcome: Outcome<'_>) {
        let (names, truncated) = match outcome {
            Outcome::Listing { names, truncated } => (names, truncated),
            Outcome::Failed(failure) => {
                if failure.kind != FailureKind::NotFound {
                    self.trouble(path, failure.text);
                }
                return;
            }
            _ => return,
        };
        self.days.listed(path, Some(at));
        let mut files: Vec<&DirEntry> = names.iter().filter(|entry| entry.facts.kind == FileKind::File).collect();
        files.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        if !truncated {
            let is_there = |place: &Place| files.binary_search_by(|entry| entry.name.as_str().cmp(&place.name)).is_ok();
            self.threads.retain(|_, thread| thread.place.directory != path || is_there(&thread.place));
        }
        for entry in files {
            let Some(id) = session_of_file(&entry.name) else { continue };
            let (directory, name) = (path.to_string(), entry.name.clone());
            self.found(id.as_str(), Place { directory, name, seen: seen_by(entry.facts) });
        }
    }

    /// A rollout that may be a thread of this session.
    fn found(&mut self, id: &str, place: Place) {
        if let Some(thread) = self.threads.get_mut(id) {
            thread.place = place;
        } else if id != self.session && !self.strangers.contains(id) && !self.is_older(id) {
            self.visits.push_back((id.to_string(), place, Purpose::Head));
        }
    }

    /// Whether a rollout was begun before the session, as far as their ids tell.
    fn is_older(&self, id: &str) -> bool {
        matches!((time::of_id(id), time::of_id(&self.session)), (Some(one), Some(session)) if one < session)
    }

    /// How deep below the session each of its threads is.
    fn depths(&self) -> BTreeMap<&str, u64> {
        let depth = |id: &str| {
            let mut above = self.threads.get(id)?.head.parent.as_deref()?;
            for depth in 1..=MAX_CHILD_DEPTH {
                if above == self.session {
                    return u64::try_from(depth).ok();
                }
                above = self.threads.get(above)?.head.parent.as_deref()?;
            }
            None
        };
        self.threads.keys().filter_map(|id| Some((id.as_str(), depth(id)?))).collect()
    }

    /// The ends of the session's threads that have changed.
    fn visit_ends(&mut self) {
        let own: Vec<String> = self.depths().into_keys().map(String::from).collect();
        for id in own {
            if let Some(thread) = self.threads.get_mut(&id)
                && thread.visited != Some(thread.place.seen)
            {
                thread.visited = Some(thread.place.seen);
                self.visits.push_back((id, thread.place.clone(), Purpose::Tail));
            }
        }
    }

    /// The threads that are to be read as a whole, as far as they have changed since: those that have started others, or all.
    fn read_through(&mut self) {
        let depths = self.depths();
        let parents = depths.keys().filter_map(|id| self.threads.get(*id)?.head.parent.clone());
        let spawners: BTreeSet<String> = parents.collect();
        let own: Vec<String> = depths
            .into_keys()
            .filter(|id| self.wanted.read_through || spawners.contains(*id))
            .map(String::from)
            .collect();
        let mut bytes = 0_u64;
        for id in own {
            let Some(thread) = self.threads.get_mut(&id) else { continue };
            if thread.closed || thread.read_through == Some(thread.place.seen) {
                continue;
            }
            thread.read_through = Some(thread.place.seen);
            let known = thread.through.as_ref().map_or(0, |through| through.end());
            bytes = bytes.saturating_add(thread.place.seen.1.saturating_sub(known));
            self.visits.push_back((id, thread.place.clone(), Purpose::Through));
        }
        self.ready |= bytes > CHILDREN_FIRST_BYTES;
    }

    fn row(&self, id: &str, depth: u64, thread: &Thread, told: &Told) -> Row {
        let parent = thread.head.parent.as_deref().filter(|parent| *parent != self.session);
        let through = parent.and_then(|parent| self.threads.get(parent)?.through.as_ref());
        let by = through.map_or(told, |through| &through.known.told);
        let names = [id, thread.head.path.as_str()];
        let call_id = names.iter().find_map(|name| by.call_of(name)).unwrap_or_default();
        let call = by.call(call_id);
        let head = &thread.head;
        let first = |labels: [Option<&str>; 3]| {
            labels.into_iter().flatten().find(|label| !label.is_empty()).unwrap_or_default().to_string()
        };
        let told_ended = [by, told].iter().any(|told| names.iter().any(|name| told.end(name) == Some(true)));
        Row {
            agent_id: id.to_string(),
            tool_use_id: call_id.to_string(),
            agent_type: first([Some(&head.role), call.map(|call| call.agent_type.as_str()), None]),
            description: first([
                call.map(|call| call.description.as_str()),
                Some(&head.nickname),
                head.path.rsplit('/').next(),
            ]),
            spawn_depth: depth,
            done: told_ended || thread.end.idle,
            last_activity_ts: thread.end.last_ts,
            parent_agent_id: parent.map(String::from),
            read: thread
                .through
                .as_ref()
                .filter(|_| self.wanted.read_through)
                .map(|through| through.known.read.clone()),
        }
    }

    fn trouble(&mut self, path: &str, text: &str) {
        self.trouble.get_or_insert_with(|| format!("cannot look for subagents in {path}: {text}"));
    }

    fn list_above(&mut self, path: String) {
        let op = Op::List { path: path.clone(), max_names: MAX_DIRECTORY_NAMES };
        self.ask(Pending::Above(path), op);
    }

    fn stat(&mut self, path: String) {
        self.ask(Pending::Stat(path.clone()), Op::Stat { path });
    }

    fn ask(&mut self, pending: Pending, op: Op) {
        let tag = self.asks.ask(op);
        self.pending.insert(tag, pending);
    }
}

impl Finder for Threads {
    fn look(&mut self, wanted: Wanted) {
        if self.phase != Phase::Idle {
            if wanted.read_through && !self.wanted.read_through {
                // Somebody came who wants more: what is to be read is found out anew when this look is through.
                (self.wanted.read_through, self.phase) = (true, Phase::Looking);
            }
            return;
        }
        self.phase = Phase::Looking;
        if !self.days.has_begun() {
            return;
        }
        let is_nth = self.looks.is_multiple_of(CHILDREN_EVERY);
        self.looks = self.looks.saturating_add(1);
        self.wanted = Wanted { every_child: wanted.every_child || is_nth, ..wanted };
        let days: Vec<String> = self.days.to_look_at(is_nth).map(String::from).collect();
        days.into_iter().for_each(|day| self.stat(day));
        if is_nth {
            self.list_above(self.days.root().to_string());
        }
        if self.wanted.every_child {
            let own = self.depths().into_keys();
            let paths = own.filter_map(|id| {
                let place = &self.threads.get(id)?.place;
                Some((id.to_string(), format!("{}/{}", place.directory, place.name)))
            });
            for (id, path) in paths.collect::<Vec<_>>() {
                self.ask(Pending::StatThread(id), Op::Stat { path });
            }
        }
    }

    fn go_on(&mut self, _told: &Told) {
        loop {
            self.begin_visits();
            if !self.pending.is_empty() {
                return;
            }
            match self.phase {
                Phase::Idle => return,
                Phase::Looking => {
                    self.phase = Phase::Ends;
                    self.visit_ends();
                }
                Phase::Ends => {
                    self.phase = Phase::Reading;
                    self.read_through();
                }
                Phase::Reading => (self.phase, self.ready) = (Phase::Idle, true),
            }
        }
    }

    fn is_looking(&self) -> bool {
        self.phase != Phase::Idle
    }

    fn is_ready(&self) -> bool {
        self.ready
    }

    fn rows(&self, told: &Told) -> Vec<Row> {
        let rows = self.depths().into_iter().filter_map(|(id, depth)| {
            let thread = self.threads.get(id).filter(|thread| !thread.closed)?;
            Some(self.row(id, depth, thread, told))
        });
        rows.collect()
    }

    fn find(&self, agent_id: &str, _told: &Told) -> Option<(Source, Box<dyn Reader>)> {
        let thread = self.threads.get(agent_id).filter(|thread| !thread.closed)?;
        self.depths().get(agent_id)?;
        let Place { directory, name, .. } = &thread.place;
        let under = self.days.under(directory).to_string();
        Some((Source { path: format!("{directory}/{name}"), under, part: None, stored: None }, Box::new(CodexReader)))
    }

    fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }
}

impl Machine for Threads {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, _now: Now, tag: Tag, outcome: Outcome<'_>) {
        match self.pending.remove(&tag) {
            Some(Pending::Above(path)) => self.above_listed(&path, outcome),
            Some(Pending::Stat(path)) => self.stat_answered(path, outcome),
            Some(Pending::List(path, at)) => self.listed(&path, at, outcome),
            Some(Pending::StatThread(id)) => match (outcome, self.threads.get_mut(&id)) {
                (Outcome::Facts(facts), Some(thread)) => thread.place.seen = seen_by(facts),
                (Outcome::Failed(failure), Some(_)) if failure.kind == FailureKind::NotFound => {
                    self.threads.remove(&id);
                }
                _ => {}
            },
            Some(Pending::Visit(id, place, purpose, visit)) => self.visit_answered(id, place, purpose, visit, outcome),
            // A file that was closed.
            None => {}
        }
    }
}

const fn seen_by(facts: Facts) -> Seen {
    (facts.identity, facts.size, facts.modified)
}
