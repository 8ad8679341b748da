//! Finds the children of one session, and looks again at what has changed.
//!
//! ```text
//!   Idle ── look ──▶ directories: stat; list if changed or if every child is looked at ──▶ files that changed: visit ──▶
//!     ▲                                                                        (a row for each child: ready)           │
//!     └──────── children that may have started others, or all if asked for: read as a whole, then on from there ◀──────┘
//! ```

mod visits;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
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
use crate::io::{DirEntry, Facts, FileKind, Op, Outcome};
use crate::limits::{MAX_CHILD_DIRECTORIES, MAX_CHILDREN};
use crate::roster::{
    Answer, Call, Destination, Found, Inside, Kin, Listed, Look, Looked, Row, Seen, Through, Told, seen_by,
};
use crate::source::follow::Source;

/// The children of one session.
#[derive(Debug)]
pub(crate) struct Children {
    /// The session's own file.
    parent: String,
    under: String,
    session: String,
    directories: BTreeMap<String, Directory>,
    /// By id.
    children: BTreeMap<String, Child>,
    /// Files in the shared directory that are children of other sessions.
    strangers: BTreeSet<String>,
}

/// A question about a place.
#[derive(Debug)]
pub(crate) enum Question {
    Stat(String),
    List(String, Listed),
    /// A child in the shared directory is looked at alone.
    StatChild(String),
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

impl Children {
    /// The children of the session whose transcript this is.
    #[must_use]
    pub(crate) fn new(parent: &Source) -> Self {
        let stem = parent.path.strip_suffix(".jsonl").unwrap_or(&parent.path);
        let (shared, session) = stem.rsplit_once('/').unwrap_or(("", stem));
        let directory = |layout| Directory { layout, listed: None };
        let own = (format!("{stem}/subagents"), directory(Layout::Own(0)));
        Self {
            parent: parent.path.clone(),
            under: parent.under.clone(),
            session: session.to_string(),
            directories: BTreeMap::from([own, (shared.to_string(), directory(Layout::Shared))]),
            children: BTreeMap::new(),
            strangers: BTreeSet::new(),
        }
    }

    fn stat_answered(&mut self, path: String, outcome: &Outcome<'_>, look: &mut Look<Self>) {
        let Some(directory) = self.directories.get(&path) else { return };
        match look.directory(&path, outcome) {
            Looked::There(now) => {
                let every = look.every_child() && directory.layout != Layout::Shared;
                if every || directory.listed != Some(now) {
                    look.list(Question::List(path.clone(), now), &path);
                }
            }
            Looked::Gone => self.directory_gone(&path),
            Looked::Unknown => {}
        }
    }

    fn listed(&mut self, path: &str, at: Listed, outcome: &Outcome<'_>, look: &mut Look<Self>) {
        let (names, truncated) = match look.names(path, outcome) {
            Looked::There(found) => found,
            Looked::Gone => return self.directory_gone(path),
            Looked::Unknown => return,
        };
        let Some(directory) = self.directories.get_mut(path) else { return };
        directory.listed = Some(at);
        let layout = directory.layout;
        if !truncated {
            self.forget_missing(path, layout, names);
        }
        let mut names: Vec<&DirEntry> = names.iter().collect();
        names.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        for entry in &names {
            match (entry.facts.kind, named(&entry.name), layout) {
                (FileKind::File, Named::Child(id), _) => self.seen(id, path, entry, layout, look),
                (FileKind::Directory, _, Layout::Own(depth)) if depth < DEEPEST => {
                    self.found_directory(format!("{path}/{}", entry.name), depth.saturating_add(1), look);
                }
                _ => {}
            }
        }
        for entry in names {
            if let (FileKind::File, Named::Meta(id), Layout::Own(_)) = (entry.facts.kind, named(&entry.name), layout) {
                self.seen_meta(id, path, entry.facts, look);
            }
        }
        if layout != Layout::Shared {
            self.visit_beginnings(path, look);
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

    fn found_directory(&mut self, path: String, depth: u32, look: &mut Look<Self>) {
        if !self.directories.contains_key(&path) && self.directories.len() < MAX_CHILD_DIRECTORIES {
            self.directories.insert(path.clone(), Directory { layout: Layout::Own(depth), listed: None });
            look.ask(Question::Stat(path.clone()), Op::Stat { path });
        }
    }

    fn seen(&mut self, id: &str, directory: &str, entry: &DirEntry, layout: Layout, look: &mut Look<Self>) {
        let (seen, name) = (seen_by(entry.facts), &entry.name);
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
            return look.visit((id.to_string(), Purpose::Head));
        }
        self.visit_if_changed(id, look);
    }

    /// A child without metadata is known by what it was told to do.
    fn visit_beginnings(&mut self, directory: &str, look: &mut Look<Self>) {
        for (id, child) in &mut self.children {
            let unknown =
                child.head.as_ref().is_none_or(|head| head.prompt == 0) && child.head_seen != Some(child.seen);
            if child.directory == directory && child.meta_seen.is_none() && unknown {
                child.head_seen = Some(child.seen);
                look.visit((id.clone(), Purpose::Head));
            }
        }
    }

    fn seen_meta(&mut self, id: &str, directory: &str, facts: Facts, look: &mut Look<Self>) {
        let Some(child) = self.children.get_mut(id).filter(|child| child.directory == directory) else { return };
        let seen = Some(seen_by(facts));
        if child.meta_seen != seen {
            child.meta_seen = seen;
            look.visit((id.to_string(), Purpose::Meta));
        }
    }

    fn visit_if_changed(&mut self, id: &str, look: &mut Look<Self>) {
        if let Some(child) = self.children.get_mut(id)
            && child.visited != Some(child.seen)
        {
            child.visited = Some(child.seen);
            look.visit((id.to_string(), Purpose::Tail));
        }
    }

    /// The children that are to be read as a whole, as far as they have changed since.
    fn read_through(&mut self, told: &Told, look: &mut Look<Self>) {
        let spawners = self.spawners(told);
        let mut bytes = 0_u64;
        for (id, child) in &mut self.children {
            let wanted = look.reads_through() || spawners.contains(id);
            if !wanted || child.closed || child.read_through == Some(child.seen) {
                continue;
            }
            child.read_through = Some(child.seen);
            let known = child.through.as_ref().map_or(0, |through| through.end());
            bytes = bytes.saturating_add(child.seen.1.saturating_sub(known));
            look.visit((id.clone(), Purpose::Through));
        }
        look.will_read(bytes);
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

    /// Whether a child lies in the directory that sessions share.
    fn is_shared(&self, child: &Child) -> bool {
        self.directories.get(&child.directory).is_some_and(|directory| directory.layout == Layout::Shared)
    }

    /// The child that made each call, of those that were read as a whole.
    fn callers(&self) -> BTreeMap<&str, (&str, &Told)> {
        let told = self.children.iter().filter_map(|(id, child)| Some((id, &child.through.as_ref()?.known.told)));
        told.flat_map(|(id, told)| told.calls().map(move |call| (call, (id.as_str(), told)))).collect()
    }
}

impl Kin for Children {
    type Question = Question;
    type Errand = (String, Purpose);
    type Said = Said;

    fn begin(&mut self, look: &mut Look<Self>) {
        for (path, directory) in &self.directories {
            if look.is_nth() || directory.layout != Layout::Shared {
                look.ask(Question::Stat(path.clone()), Op::Stat { path: path.clone() });
            }
        }
        if look.every_child() {
            for (id, child) in self.children.iter().filter(|(_, child)| self.is_shared(child)) {
                look.ask(Question::StatChild(id.clone()), Op::Stat { path: child.path.clone() });
            }
        }
    }

    fn answered(&mut self, question: Question, outcome: Outcome<'_>, look: &mut Look<Self>) {
        match question {
            Question::Stat(path) => self.stat_answered(path, &outcome, look),
            Question::List(path, at) => self.listed(&path, at, &outcome, look),
            Question::StatChild(id) => {
                if let Outcome::Facts(facts) = outcome
                    && let Some(child) = self.children.get_mut(&id)
                {
                    child.seen = seen_by(facts);
                    if child.head.is_some() {
                        self.visit_if_changed(&id, look);
                    }
                }
            }
        }
    }

    fn set_out(&mut self, errand: &Self::Errand) -> Option<Destination<Said>> {
        self.destination(errand)
    }

    fn visited(&mut self, errand: Self::Errand, found: Found<Said>, look: &mut Look<Self>) {
        self.take_visit(errand, found, look);
    }

    fn step(&mut self, step: u32, told: &Told, look: &mut Look<Self>) -> bool {
        if step == 0 {
            self.read_through(told, look);
        }
        step == 0
    }

    fn rows(&self, told: &Told, in_full: bool) -> Vec<Row> {
        let callers = self.callers();
        let shown = self.children.iter().filter(|(_, child)| !child.closed);
        let mut rows: Vec<Row> = shown.map(|(id, child)| child.row(id, told, &callers, self, in_full)).collect();
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
    fn row(
        &self,
        id: &str,
        told: &Told,
        callers: &BTreeMap<&str, (&str, &Told)>,
        all: &Children,
        in_full: bool,
    ) -> Row {
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
            read: through.filter(|_| in_full).map(|through| through.known.read.clone()),
            tool_use_id,
        }
    }
}
