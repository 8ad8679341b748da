//! Finds the threads of one session, and looks again at what has changed.
//!
//! ```text
//!   Idle ── look ──▶ days: stat, list what changed ──▶ beginnings of new rollouts ──▶ ends of the session's threads ──▶
//!     ▲                                                              (a row for each thread: ready)                  │
//!     └──────────── threads that have started others, or all if asked for: read as a whole, then on from there ◀─────┘
//! ```

mod visits;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use self::visits::Purpose;
use super::days::Days;
use super::end::End;
use super::head::Head;
use super::said::Said;
use crate::agent::Reader;
use crate::agent::codex::CodexReader;
use crate::agent::codex::layout::session_of_file;
use crate::agent::codex::time;
use crate::io::{DirEntry, FailureKind, FileKind, Op, Outcome};
use crate::limits::MAX_CHILD_DEPTH;
use crate::roster::{Destination, Found, Kin, Listed, Look, Looked, Row, Seen, Through, Told, seen_by};
use crate::source::follow::Source;

/// The threads of one session.
#[derive(Debug)]
pub(crate) struct Threads {
    session: String,
    days: Days,
    /// By id: every rollout that is somebody's child.
    threads: BTreeMap<String, Thread>,
    /// Rollouts that are nobody's.
    strangers: BTreeSet<String>,
}

/// A question about a place.
#[derive(Debug)]
pub(crate) enum Question {
    /// The root, a year or a month is listed.
    Above(String),
    Stat(String),
    List(String, Listed),
    StatThread(String),
}

/// Where a rollout lies, and what it was when that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    directory: String,
    name: String,
    seen: Seen,
}

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
    pub(crate) fn new(parent: &Source) -> Self {
        let name = parent.path.rsplit_once('/').map_or(parent.path.as_str(), |(_, name)| name);
        Self {
            session: session_of_file(name).map(|session| session.as_str().to_string()).unwrap_or_default(),
            days: Days::new(&parent.path, &parent.under),
            threads: BTreeMap::new(),
            strangers: BTreeSet::new(),
        }
    }

    fn above_listed(&mut self, path: &str, outcome: &Outcome<'_>, look: &mut Look<Self>) {
        let Looked::There((names, _)) = look.names(path, outcome) else { return };
        let known: BTreeSet<String> = self.days.to_look_at(true).map(String::from).collect();
        for below in self.days.inside(path, names) {
            list_above(below, look);
        }
        self.days.to_look_at(true).filter(|day| !known.contains(*day)).for_each(|day| stat(day, look));
    }

    fn stat_answered(&mut self, path: String, outcome: &Outcome<'_>, look: &mut Look<Self>) {
        match look.directory(&path, outcome) {
            Looked::There(now) => {
                if self.days.has_changed(&path, now) {
                    look.list(Question::List(path.clone(), now), &path);
                }
            }
            Looked::Gone => {
                self.threads.retain(|_, thread| thread.place.directory != path);
                self.days.listed(&path, None);
            }
            Looked::Unknown => {}
        }
    }

    fn listed(&mut self, path: &str, at: Listed, outcome: &Outcome<'_>, look: &mut Look<Self>) {
        let Looked::There((names, truncated)) = look.names(path, outcome) else { return };
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
            self.found(id.as_str(), Place { directory, name, seen: seen_by(entry.facts) }, look);
        }
    }

    /// A rollout that may be a thread of this session.
    fn found(&mut self, id: &str, place: Place, look: &mut Look<Self>) {
        if let Some(thread) = self.threads.get_mut(id) {
            thread.place = place;
        } else if id != self.session && !self.strangers.contains(id) && !self.is_older(id) {
            look.visit((id.to_string(), place, Purpose::Head));
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
    fn visit_ends(&mut self, look: &mut Look<Self>) {
        let own: Vec<String> = self.depths().into_keys().map(String::from).collect();
        for id in own {
            if let Some(thread) = self.threads.get_mut(&id)
                && thread.visited != Some(thread.place.seen)
            {
                thread.visited = Some(thread.place.seen);
                look.visit((id, thread.place.clone(), Purpose::Tail));
            }
        }
    }

    /// The threads that are to be read as a whole, as far as they have changed since: those that have started others, or all.
    fn read_through(&mut self, look: &mut Look<Self>) {
        let depths = self.depths();
        let parents = depths.keys().filter_map(|id| self.threads.get(*id)?.head.parent.clone());
        let spawners: BTreeSet<String> = parents.collect();
        let own: Vec<String> =
            depths.into_keys().filter(|id| look.reads_through() || spawners.contains(*id)).map(String::from).collect();
        let mut bytes = 0_u64;
        for id in own {
            let Some(thread) = self.threads.get_mut(&id) else { continue };
            if thread.closed || thread.read_through == Some(thread.place.seen) {
                continue;
            }
            thread.read_through = Some(thread.place.seen);
            let known = thread.through.as_ref().map_or(0, |through| through.end());
            bytes = bytes.saturating_add(thread.place.seen.1.saturating_sub(known));
            look.visit((id, thread.place.clone(), Purpose::Through));
        }
        look.will_read(bytes);
    }

    fn row(&self, id: &str, depth: u64, thread: &Thread, told: &Told, in_full: bool) -> Row {
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
            read: thread.through.as_ref().filter(|_| in_full).map(|through| through.known.read.clone()),
        }
    }
}

impl Kin for Threads {
    type Question = Question;
    type Errand = (String, Place, Purpose);
    type Said = Said;

    fn begin(&mut self, look: &mut Look<Self>) {
        if !self.days.has_begun() {
            return;
        }
        self.days.to_look_at(look.is_nth()).for_each(|day| stat(day, look));
        if look.is_nth() {
            list_above(self.days.root().to_string(), look);
        }
        if look.every_child() {
            for id in self.depths().into_keys() {
                if let Some(Thread { place, .. }) = self.threads.get(id) {
                    let path = format!("{}/{}", place.directory, place.name);
                    look.ask(Question::StatThread(id.to_string()), Op::Stat { path });
                }
            }
        }
    }

    fn answered(&mut self, question: Question, outcome: Outcome<'_>, look: &mut Look<Self>) {
        match question {
            Question::Above(path) => self.above_listed(&path, &outcome, look),
            Question::Stat(path) => self.stat_answered(path, &outcome, look),
            Question::List(path, at) => self.listed(&path, at, &outcome, look),
            Question::StatThread(id) => match (outcome, self.threads.get_mut(&id)) {
                (Outcome::Facts(facts), Some(thread)) => thread.place.seen = seen_by(facts),
                (Outcome::Failed(failure), Some(_)) if failure.kind == FailureKind::NotFound => {
                    self.threads.remove(&id);
                }
                _ => {}
            },
        }
    }

    fn set_out(&mut self, errand: &Self::Errand) -> Option<Destination<Said>> {
        Some(self.destination(errand))
    }

    fn visited(&mut self, errand: Self::Errand, found: Found<Said>, look: &mut Look<Self>) {
        self.take_visit(errand, found, look);
    }

    fn step(&mut self, step: u32, _told: &Told, look: &mut Look<Self>) -> bool {
        match step {
            0 => self.visit_ends(look),
            1 => self.read_through(look),
            _ => return false,
        }
        true
    }

    fn rows(&self, told: &Told, in_full: bool) -> Vec<Row> {
        let rows = self.depths().into_iter().filter_map(|(id, depth)| {
            let thread = self.threads.get(id).filter(|thread| !thread.closed)?;
            Some(self.row(id, depth, thread, told, in_full))
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
}

fn list_above(path: String, look: &mut Look<Threads>) {
    look.list(Question::Above(path.clone()), &path);
}

fn stat(path: &str, look: &mut Look<Threads>) {
    look.ask(Question::Stat(path.to_string()), Op::Stat { path: path.to_string() });
}
