//! Finds the children of one session, and looks again at what has changed.
//!
//! ```text
//!   Idle ── look ──▶ directories: stat; list if changed or if every child is looked at ──▶ files that changed: visit ──▶
//!     ▲                                                                        (a row for each child: ready)           │
//!     └──────── children that may have started others, or all if asked for: read as a whole, then on from there ◀──────┘
//! ```

mod visits;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use self::visits::Purpose;
use super::directory::{DEEPEST, Directory, Layout, Named, named};
use super::ends::Head;
use super::inside::InsideReader;
use super::meta::Meta;
use super::said::Said;
use crate::agent::Reader;
use crate::agent::claude::{ClaudeReader, Selection};
use crate::io::{DirEntry, Facts, FailureKind, FileIdentity, FileKind, FileTime, Op, Outcome};
use crate::limits::{CHILDREN_EVERY, CHILDREN_FIRST_BYTES, MAX_CHILD_DIRECTORIES, MAX_CHILDREN, MAX_DIRECTORY_NAMES};
use crate::machine::{Asks, Machine, Tag};
use crate::roster::{Answer, Call, Finder, Inside, Row, Through, Told, Visit, Wanted};
use crate::source::follow::Source;
use crate::time::Now;

/// The children of one session.
#[derive(Debug)]
pub struct Children {
    /// The session's own file.
    parent: String,
    under: String,
    session: String,
    line_bytes: usize,
    directories: BTreeMap<String, Directory>,
    /// By id.
    children: BTreeMap<String, Child>,
    /// Files in the shared directory that are children of other sessions.
    strangers: BTreeSet<String>,
    phase: Phase,
    looks: u64,
    wanted: Wanted,
    ready: bool,
    pending: BTreeMap<Tag, Pending>,
    visits: VecDeque<(String, Purpose)>,
    open: usize,
    trouble: Option<String>,
    asks: Asks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    /// Directories are looked at, and the ends of what changed in them.
    Looking,
    /// Children are read as a whole.
    Reading,
}

#[derive(Debug)]
enum Pending {
    Stat(String),
    List(String, FileIdentity, FileTime),
    /// A child in the shared directory is looked at alone.
    StatChild(String),
    Visit(String, Purpose, Box<Visit<Said>>),
}

/// One child.
#[derive(Debug)]
struct Child {
    directory: String,
    path: String,
    seen: Seen,
    /// What its file was when its end was looked at.
    visited: Option<Seen>,
    last_ts: Option<i64>,
    /// Its metadata file, and what it said.
    meta_seen: Option<Seen>,
    meta: Option<Meta>,
    head: Option<Head>,
    /// What its file was when its beginning was read.
    head_seen: Option<Seen>,
    through: Option<Box<Through<Said>>>,
    /// What its file was when it was read as a whole.
    read_through: Option<Seen>,
    /// It cannot be opened: no row is shown of it.
    closed: bool,
}

/// By what a change of a file is seen.
type Seen = (FileIdentity, u64, FileTime);

impl Children {
    /// The children of the session whose transcript this is.
    #[must_use]
    pub fn new(parent: &Source, line_bytes: usize) -> Self {
        let stem = parent.path.strip_suffix(".jsonl").unwrap_or(&parent.path);
        let (shared, session) = stem.rsplit_once('/').unwrap_or(("", stem));
        let directory = |layout| Directory { layout, listed: None };
        let own = (format!("{stem}/subagents"), directory(Layout::Own(0)));
        Self {
            parent: parent.path.clone(),
            under: parent.under.clone(),
            session: session.to_string(),
            line_bytes,
            directories: BTreeMap::from([own, (shared.to_string(), directory(Layout::Shared))]),
            children: BTreeMap::new(),
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

    fn stat_answered(&mut self, path: String, outcome: Outcome<'_>) {
        let Some(directory) = self.directories.get(&path) else { return };
        match outcome {
            Outcome::Facts(facts) if facts.kind == FileKind::Directory => {
                let now = (facts.identity, facts.modified);
                let every = self.wanted.every_child && directory.layout != Layout::Shared;
                if every || directory.listed != Some(now) {
                    let op = Op::List { path: path.clone(), max_names: MAX_DIRECTORY_NAMES };
                    self.ask(Pending::List(path, now.0, now.1), op);
                }
            }
            Outcome::Facts(_) => self.directory_gone(&path),
            Outcome::Failed(failure) if failure.kind == FailureKind::NotFound => self.directory_gone(&path),
            Outcome::Failed(failure) => self.trouble(&path, failure.text),
            _ => {}
        }
    }

    fn listed(&mut self, path: String, at: (FileIdentity, FileTime), outcome: Outcome<'_>) {
        let (names, truncated) = match outcome {
            Outcome::Listing { names, truncated } => (names, truncated),
            Outcome::Failed(failure) if failure.kind == FailureKind::NotFound => return self.directory_gone(&path),
            Outcome::Failed(failure) => return self.trouble(&path, failure.text),
            _ => return,
        };
        let Some(directory) = self.directories.get_mut(&path) else { return };
        directory.listed = Some(at);
        let layout = directory.layout;
        if !truncated {
            self.forget_missing(&path, layout, names);
        }
        let mut names: Vec<&DirEntry> = names.iter().collect();
        names.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        for entry in &names {
            match (entry.facts.kind, named(&entry.name), layout) {
                (FileKind::File, Named::Child(id), _) => self.seen(id, &path, &entry.name, entry.facts, layout),
                (FileKind::Directory, _, Layout::Own(depth)) if depth < DEEPEST => {
                    self.found_directory(format!("{path}/{}", entry.name), depth.saturating_add(1));
                }
                _ => {}
            }
        }
        for entry in names {
            if let (FileKind::File, Named::Meta(id), Layout::Own(_)) = (entry.facts.kind, named(&entry.name), layout) {
                self.seen_meta(id, &path, entry.facts);
            }
        }
        if layout != Layout::Shared {
            self.visit_beginnings(&path);
        }
    }

    /// Forgets what is not in its directory any more.
    fn forget_missing(&mut self, path: &str, layout: Layout, names: &[DirEntry]) {
        let there: BTreeSet<&str> = names.iter().map(|entry| entry.name.as_str()).collect();
        let is_there = |file: &str| file.rsplit('/').next().is_some_and(|name| there.contains(name));
        self.children.retain(|_, child| child.directory != path || is_there(&child.path));
        for (id, child) in &mut self.children {
            if child.directory == path && !there.contains(format!("agent-{id}.meta.json").as_str()) {
                (child.meta, child.meta_seen) = (None, None);
            }
        }
        if layout == Layout::Shared {
            self.strangers.retain(|name| there.contains(name.as_str()));
            return;
        }
        let inside = format!("{path}/");
        let gone: Vec<String> = self
            .directories
            .keys()
            .filter(|below| {
                below.strip_prefix(&inside).is_some_and(|name| !name.contains('/') && !there.contains(name))
            })
            .cloned()
            .collect();
        for directory in gone {
            self.directory_gone(&directory);
        }
    }

    /// A directory is not there, and so nothing in it is.
    fn directory_gone(&mut self, path: &str) {
        let inside = format!("{path}/");
        self.children.retain(|_, child| child.directory != path && !child.directory.starts_with(&inside));
        self.directories.retain(|below, _| !below.starts_with(&inside));
        match self.directories.get_mut(path) {
            // Children may still come to these two.
            Some(directory) if matches!(directory.layout, Layout::Own(0) | Layout::Shared) => directory.listed = None,
            _ => drop(self.directories.remove(path)),
        }
    }

    fn found_directory(&mut self, path: String, depth: u32) {
        if !self.directories.contains_key(&path) && self.directories.len() < MAX_CHILD_DIRECTORIES {
            self.directories.insert(path.clone(), Directory { layout: Layout::Own(depth), listed: None });
            self.ask(Pending::Stat(path.clone()), Op::Stat { path });
        }
    }

    fn seen(&mut self, id: &str, directory: &str, name: &str, facts: Facts, layout: Layout) {
        let seen = seen_by(facts);
        if layout == Layout::Shared && self.strangers.contains(name) {
            return;
        }
        let is_new = match self.children.get_mut(id) {
            // Of two files for one id the first one found stays.
            Some(child) if child.directory != directory => return,
            Some(child) => {
                child.seen = seen;
                false
            }
            None => true,
        };
        if is_new {
            if self.children.len() >= MAX_CHILDREN {
                return;
            }
            let child = Child {
                directory: directory.to_string(),
                path: format!("{directory}/{name}"),
                seen,
                visited: None,
                last_ts: None,
                meta_seen: None,
                meta: None,
                head: None,
                head_seen: None,
                through: None,
                read_through: None,
                // A file in the shared directory is nobody's child before its beginning was read.
                closed: layout == Layout::Shared,
            };
            self.children.insert(id.to_string(), child);
        }
        if layout == Layout::Shared && self.children.get(id).is_some_and(|child| child.head.is_none()) {
            return self.visits.push_back((id.to_string(), Purpose::Head));
        }
        self.visit_if_changed(id);
    }

    /// A child without metadata is known by what it was told to do.
    fn visit_beginnings(&mut self, directory: &str) {
        for (id, child) in &mut self.children {
            let unknown =
                child.head.as_ref().is_none_or(|head| head.prompt == 0) && child.head_seen != Some(child.seen);
            if child.directory == directory && child.meta_seen.is_none() && unknown {
                child.head_seen = Some(child.seen);
                self.visits.push_back((id.clone(), Purpose::Head));
            }
        }
    }

    fn seen_meta(&mut self, id: &str, directory: &str, facts: Facts) {
        let Some(child) = self.children.get_mut(id).filter(|child| child.directory == directory) else { return };
        let seen = Some(seen_by(facts));
        if child.meta_seen != seen {
            child.meta_seen = seen;
            self.visits.push_back((id.to_string(), Purpose::Meta));
        }
    }

    fn visit_if_changed(&mut self, id: &str) {
        if let Some(child) = self.children.get_mut(id)
            && child.visited != Some(child.seen)
        {
            child.visited = Some(child.seen);
            self.visits.push_back((id.to_string(), Purpose::Tail));
        }
    }

    /// The children that are to be read as a whole, as far as they have changed since.
    fn read_through(&mut self, told: &Told) {
        let spawners = self.spawners(told);
        let mut bytes = 0_u64;
        for (id, child) in &mut self.children {
            let wanted = self.wanted.read_through || spawners.contains(id);
            if !wanted || child.closed || child.read_through == Some(child.seen) {
                continue;
            }
            child.read_through = Some(child.seen);
            let known = child.through.as_ref().map_or(0, |through| through.end());
            bytes = bytes.saturating_add(child.seen.1.saturating_sub(known));
            self.visits.push_back((id.clone(), Purpose::Through));
        }
        self.ready |= bytes > CHILDREN_FIRST_BYTES;
    }

    /// The children that may have started one of which the session itself does not know whether it has finished.
    fn spawners(&self, told: &Told) -> BTreeSet<String> {
        let mut spawners = BTreeSet::new();
        for (id, child) in &self.children {
            let Some(meta) = child.meta.as_ref().filter(|meta| meta.spawn_depth > 1 || meta.parent_agent_id.is_some())
            else {
                continue;
            };
            if told.end(id).is_some() || told.call(&meta.tool_use_id).is_some() {
                continue;
            }
            if let Some(parent) = &meta.parent_agent_id {
                spawners.insert(parent.clone());
                continue;
            }
            let knows =
                |other: &Child| other.through.as_ref().is_some_and(|t| t.known.told.call(&meta.tool_use_id).is_some());
            if let Some((spawner, _)) = self.children.iter().find(|(_, other)| knows(other)) {
                spawners.insert(spawner.clone());
                continue;
            }
            let above = |other: &Child| {
                let depth = other.meta.as_ref().map_or(0, |meta| meta.spawn_depth);
                depth == 0 || depth.saturating_add(1) == meta.spawn_depth
            };
            spawners.extend(self.children.iter().filter(|(_, other)| above(other)).map(|(other, _)| other.clone()));
        }
        spawners
    }

    /// The child that made each call, of those that were read as a whole.
    fn callers(&self) -> BTreeMap<&str, (&str, &Told)> {
        let told = self.children.iter().filter_map(|(id, child)| Some((id, &child.through.as_ref()?.known.told)));
        told.flat_map(|(id, told)| told.calls().map(move |call| (call, (id.as_str(), told)))).collect()
    }

    fn trouble(&mut self, path: &str, text: &str) {
        self.trouble.get_or_insert_with(|| format!("cannot look for subagents in {path}: {text}"));
    }

    fn ask(&mut self, pending: Pending, op: Op) {
        let tag = self.asks.ask(op);
        self.pending.insert(tag, pending);
    }
}

impl Finder for Children {
    fn look(&mut self, wanted: Wanted) {
        if self.phase != Phase::Idle {
            if wanted.read_through && !self.wanted.read_through {
                // Somebody came who wants more: what is to be read is found out anew when this look is through.
                (self.wanted.read_through, self.phase) = (true, Phase::Looking);
            }
            return;
        }
        self.phase = Phase::Looking;
        let is_nth = self.looks.is_multiple_of(CHILDREN_EVERY);
        self.looks = self.looks.saturating_add(1);
        self.wanted = Wanted { every_child: wanted.every_child || is_nth, ..wanted };
        let directories: Vec<String> = self
            .directories
            .iter()
            .filter(|(_, directory)| is_nth || directory.layout != Layout::Shared)
            .map(|(path, _)| path.clone())
            .collect();
        for path in directories {
            self.ask(Pending::Stat(path.clone()), Op::Stat { path });
        }
        if self.wanted.every_child {
            let is_shared = |child: &Child| {
                self.directories.get(&child.directory).is_some_and(|directory| directory.layout == Layout::Shared)
            };
            let shared: Vec<(String, String)> = self
                .children
                .iter()
                .filter(|(_, child)| is_shared(child))
                .map(|(id, child)| (id.clone(), child.path.clone()))
                .collect();
            for (id, path) in shared {
                self.ask(Pending::StatChild(id), Op::Stat { path });
            }
        }
    }

    fn go_on(&mut self, told: &Told) {
        self.begin_visits();
        if self.phase == Phase::Looking && self.pending.is_empty() {
            self.phase = Phase::Reading;
            self.read_through(told);
            self.begin_visits();
        }
        if self.phase == Phase::Reading && self.pending.is_empty() {
            self.phase = Phase::Idle;
            self.ready = true;
        }
    }

    fn is_looking(&self) -> bool {
        self.phase != Phase::Idle
    }

    fn is_ready(&self) -> bool {
        self.ready
    }

    fn rows(&self, told: &Told) -> Vec<Row> {
        let callers = self.callers();
        let shown = self.children.iter().filter(|(_, child)| !child.closed);
        let mut rows: Vec<Row> = shown.map(|(id, child)| child.row(id, told, &callers, self)).collect();
        let known: BTreeSet<String> = rows.iter().map(|row| row.agent_id.clone()).collect();
        rows.extend(
            told.insides().iter().filter(|inside| !known.contains(&inside.agent_id)).map(|i| inside_row(i, told)),
        );
        rows.truncate(MAX_CHILDREN);
        rows
    }

    fn find(&self, agent_id: &str, told: &Told) -> Option<(Source, Box<dyn Reader>)> {
        let under = self.under.clone();
        if let Some(child) = self.children.get(agent_id).filter(|child| !child.closed) {
            let source = Source { path: child.path.clone(), under, part: None, stored: None };
            return Some((source, Box::new(ClaudeReader { selection: Selection::Child })));
        }
        let inside = told.insides().iter().find(|inside| inside.agent_id == agent_id)?;
        let source = Source { path: self.parent.clone(), under, part: Some(agent_id.to_string()), stored: None };
        Some((source, Box::new(InsideReader { runs: inside.runs.as_slice().into() })))
    }

    fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }
}

/// A child inside the session's file. Where these were written every call waited: its answer is the child's end.
fn inside_row(inside: &Inside, told: &Told) -> Row {
    let id = told.call_of(&inside.agent_id);
    let id = id.or_else(|| told.call_with_prompt(inside.prompt).filter(|_| inside.prompt != 0)).unwrap_or_default();
    let call = told.call(id);
    let answered = call.and_then(|call| call.answer).is_some_and(|answer| answer != Answer::Launched);
    Row {
        agent_id: inside.agent_id.clone(),
        tool_use_id: id.to_string(),
        agent_type: call.map(|call| call.agent_type.clone()).unwrap_or_default(),
        description: call.map(|call| call.description.clone()).unwrap_or_default(),
        spawn_depth: 1,
        done: told.end(&inside.agent_id).unwrap_or(answered),
        last_activity_ts: inside.last_ts,
        ..Row::default()
    }
}

impl Child {
    fn row(&self, id: &str, told: &Told, callers: &BTreeMap<&str, (&str, &Told)>, all: &Children) -> Row {
        let meta = self.meta.clone().unwrap_or_default();
        let prompt = self.head.as_ref().map_or(0, |head| head.prompt);
        let tool_use_id = if meta.tool_use_id.is_empty() {
            let named = told.call_of(id).or_else(|| told.call_with_prompt(prompt).filter(|_| prompt != 0));
            named.unwrap_or_default().to_string()
        } else {
            meta.tool_use_id
        };
        let own_call = told.call(&tool_use_id);
        let caller = callers.get(tool_use_id.as_str()).filter(|_| own_call.is_none());
        let call = own_call.or_else(|| caller.and_then(|(_, told)| told.call(&tool_use_id)));
        let caller_depth = caller.and_then(|(id, _)| all.children.get(*id)?.meta.as_ref()).map_or(1, |m| m.spawn_depth);
        let known_depth = match (own_call, caller) {
            (Some(_), _) => 1,
            (None, Some(_)) => caller_depth.saturating_add(1),
            (None, None) => 0,
        };
        let label = |label: String, of: fn(&Call) -> &String| {
            if label.is_empty() && self.meta.is_none() { call.map(of).cloned().unwrap_or_default() } else { label }
        };
        let end = told.end(id).or_else(|| caller.and_then(|(_, told)| told.end(id)));
        let through = self.through.as_ref();
        Row {
            agent_id: id.to_string(),
            agent_type: label(meta.agent_type, |call| &call.agent_type),
            description: label(meta.description, |call| &call.description),
            spawn_depth: if self.meta.is_none() { known_depth } else { meta.spawn_depth },
            done: end.unwrap_or_else(|| call.is_some_and(Call::is_finished)),
            last_activity_ts: self.last_ts,
            parent_agent_id: meta.parent_agent_id.or_else(|| caller.map(|(id, _)| (*id).to_string())),
            read: through.filter(|_| all.wanted.read_through).map(|through| through.known.read.clone()),
            tool_use_id,
        }
    }
}

impl Machine for Children {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, _now: Now, tag: Tag, outcome: Outcome<'_>) {
        match self.pending.remove(&tag) {
            Some(Pending::Stat(path)) => self.stat_answered(path, outcome),
            Some(Pending::List(path, identity, modified)) => self.listed(path, (identity, modified), outcome),
            Some(Pending::StatChild(id)) => {
                if let Outcome::Facts(facts) = outcome
                    && let Some(child) = self.children.get_mut(&id)
                {
                    child.seen = seen_by(facts);
                    if child.head.is_some() {
                        self.visit_if_changed(&id);
                    }
                }
            }
            Some(Pending::Visit(id, purpose, visit)) => self.visit_answered(id, purpose, visit, outcome),
            // A file that was closed.
            None => {}
        }
    }
}

const fn seen_by(facts: Facts) -> Seen {
    (facts.identity, facts.size, facts.modified)
}
