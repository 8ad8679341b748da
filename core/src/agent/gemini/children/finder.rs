//! Finds the children of one session, and looks again at what has changed.
//!
//! ```text
//!   the session's directory: stat; list if changed or if every child is looked at ──▶ files that changed: beginning, end
//! ```

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::end::End;
use super::head::Head;
use crate::agent::layout::is_session_id;
use crate::agent::spooled::SpoolReader;
use crate::agent::{AgentKind, Reader};
use crate::config::Config;
use crate::ids::SessionId;
use crate::io::{DirEntry, FileKind, Op, Outcome};
use crate::limits::{CHILD_LONG_TAIL_BYTES, CHILD_TAIL_BYTES, MAX_CHILD_ID_BYTES, MAX_CHILDREN, PROBE_BYTES};
use crate::roster::{Call, Destination, Found, Kin, Listed, Look, Looked, Part, Row, Seen, Told, seen_by};
use crate::source::follow::Source;
use crate::source::spool::Stored;

/// The children of one session.
#[derive(Debug)]
pub(crate) struct Children {
    session: String,
    /// Where they lie; nothing if the session's file is not known.
    directory: Option<String>,
    under: String,
    state_dir: String,
    /// What the directory was when it was listed.
    listed: Option<Listed>,
    /// By id.
    children: BTreeMap<String, Child>,
}

/// A question about the directory.
#[derive(Debug)]
pub(crate) enum Question {
    Stat,
    List(Listed),
}

/// What a child is visited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// What it was told to do.
    Head,
    /// When it was written last, and whether it has finished.
    Tail,
    /// The same, behind a last line that is longer than what was read.
    LongTail,
}

#[derive(Debug)]
struct Child {
    name: String,
    seen: Seen,
    /// What its file was when it was visited.
    visited: Option<Seen>,
    /// Nothing: its beginning is not that of a session yet, and no row is shown of it.
    head: Option<Head>,
    end: End,
    /// It cannot be opened: no row is shown of it.
    closed: bool,
}

impl Children {
    /// The children of the session that this spool is of.
    pub(crate) fn new(parent: &Source, config: &Config) -> Self {
        let stored = parent.stored.as_ref();
        let session = stored.map(|stored| stored.session.as_str().to_string()).unwrap_or_default();
        let chats = stored.and_then(|stored| Some(stored.path.rsplit_once('/')?.0));
        Self {
            directory: chats.filter(|_| is_session_id(&session)).map(|chats| format!("{chats}/{session}")),
            session,
            under: stored.map(|stored| stored.under.clone()).unwrap_or_default(),
            state_dir: config.state_dir.clone(),
            listed: None,
            children: BTreeMap::new(),
        }
    }

    fn stat_answered(&mut self, path: &str, outcome: &Outcome<'_>, look: &mut Look<Self>) {
        match look.directory(path, outcome) {
            Looked::There(now) if look.every_child() || self.listed != Some(now) => {
                look.list(Question::List(now), path);
            }
            Looked::Gone => self.gone(),
            Looked::There(_) | Looked::Unknown => {}
        }
    }

    fn listed(&mut self, path: &str, at: Listed, outcome: &Outcome<'_>, look: &mut Look<Self>) {
        let (names, truncated) = match look.names(path, outcome) {
            Looked::There(found) => found,
            Looked::Gone => return self.gone(),
            Looked::Unknown => return,
        };
        self.listed = Some(at);
        let mut names: Vec<&DirEntry> = names.iter().filter(|entry| entry.facts.kind == FileKind::File).collect();
        names.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        if !truncated {
            let is_there = |name: &str| names.binary_search_by(|entry| entry.name.as_str().cmp(name)).is_ok();
            self.children.retain(|_, child| is_there(&child.name));
        }
        for entry in names {
            self.found(entry);
        }
        self.visit_changed(look);
    }

    /// Of two forms of one child its log counts, whose name comes last.
    fn found(&mut self, entry: &DirEntry) {
        let Some(id) = child_of_file(&entry.name) else { return };
        let seen = seen_by(entry.facts);
        if let Some(child) = self.children.get_mut(id) {
            if child.seen.0 != seen.0 {
                // Another file in its place.
                child.head = None;
            }
            (child.name, child.seen) = (entry.name.clone(), seen);
        } else if self.children.len() < MAX_CHILDREN {
            let (name, end) = (entry.name.clone(), End::default());
            self.children.insert(id.into(), Child { name, seen, visited: None, head: None, end, closed: false });
        }
    }

    fn visit_changed(&mut self, look: &mut Look<Self>) {
        for (id, child) in self.children.iter_mut().filter(|(_, child)| child.visited != Some(child.seen)) {
            child.visited = Some(child.seen);
            if child.head.as_ref().is_none_or(|head| head.prompts.is_empty()) {
                look.visit((id.clone(), Purpose::Head));
            }
            look.visit((id.clone(), Purpose::Tail));
        }
    }

    /// The directory is not there, and so nothing in it is. Children may still come.
    fn gone(&mut self) {
        self.listed = None;
        self.children.clear();
    }

    /// The children that rows are shown of.
    fn shown(&self) -> impl Iterator<Item = (&str, &Child, &Head)> {
        let open = self.children.iter().filter(|(_, child)| !child.closed);
        open.filter_map(|(id, child)| Some((id.as_str(), child, child.head.as_ref()?)))
    }

    /// The call that started each child: the one that names it, or the first one with its task that is not another child's.
    fn calls<'t>(&self, told: &'t Told) -> BTreeMap<&str, &'t str> {
        let mut calls: BTreeMap<&str, &str> =
            self.shown().filter_map(|(id, ..)| Some((id, told.call_of(id)?))).collect();
        let mut taken: BTreeSet<&str> = calls.values().copied().collect();
        let mut others: Vec<(Option<i64>, &str, &Head)> = self
            .shown()
            .filter(|(id, ..)| !calls.contains_key(id))
            .map(|(id, _, head)| (head.began, id, head))
            .collect();
        others.sort_unstable_by_key(|(began, id, _)| (*began, *id));
        for (_, id, head) in others {
            let tasks = head.prompts.iter().filter(|prompt| **prompt != 0);
            let same = tasks.flat_map(|prompt| told.calls_with_prompt(*prompt));
            if let Some(call) = same.into_iter().find(|call| !taken.contains(call)) {
                taken.insert(call);
                calls.insert(id, call);
            }
        }
        calls
    }
}

impl Kin for Children {
    type Question = Question;
    type Errand = (String, Purpose);
    type Said = ();

    fn begin(&mut self, look: &mut Look<Self>) {
        if let Some(path) = self.directory.clone() {
            look.ask(Question::Stat, Op::Stat { path });
        }
    }

    fn answered(&mut self, question: Question, outcome: Outcome<'_>, look: &mut Look<Self>) {
        let Some(path) = self.directory.clone() else { return };
        match question {
            Question::Stat => self.stat_answered(&path, &outcome, look),
            Question::List(at) => self.listed(&path, at, &outcome, look),
        }
    }

    fn set_out(&mut self, (id, purpose): &Self::Errand) -> Option<Destination<()>> {
        let part = match purpose {
            Purpose::Head => Part::Beginning(PROBE_BYTES),
            Purpose::Tail => Part::End(CHILD_TAIL_BYTES),
            Purpose::LongTail => Part::End(CHILD_LONG_TAIL_BYTES),
        };
        let path = format!("{}/{}", self.directory.as_ref()?, self.children.get(id)?.name);
        Some(Destination { path, under: self.under.clone(), part })
    }

    fn visited(&mut self, (id, purpose): Self::Errand, found: Found<()>, look: &mut Look<Self>) {
        let Some(child) = self.children.get_mut(&id) else { return };
        match (purpose, found) {
            (Purpose::Head, Found::Bytes { bytes, .. }) => (child.head, child.closed) = (Head::of(&bytes), false),
            (Purpose::Tail, Found::Bytes { bytes, cut: true }) if End::of(&bytes, true).last_ts.is_none() => {
                look.visit((id, Purpose::LongTail));
            }
            (_, Found::Bytes { bytes, cut }) => (child.end, child.closed) = (End::of(&bytes, cut), false),
            (_, Found::Nothing) => child.closed = true,
            (_, Found::Through(_)) => {}
            (_, Found::Failed(text)) => {
                // It is tried again with the next look.
                (child.visited, self.listed) = (None, None);
                let path = format!("{}/{}", self.directory.as_deref().unwrap_or_default(), child.name);
                look.trouble(&path, &text);
            }
        }
    }

    fn step(&mut self, _step: u32, _told: &Told, _look: &mut Look<Self>) -> bool {
        false
    }

    fn rows(&self, told: &Told, _in_full: bool) -> Vec<Row> {
        let calls = self.calls(told);
        let row = |(id, child, head): (&str, &Child, &Head)| {
            let call_id = calls.get(id).copied().unwrap_or_default();
            let call = told.call(call_id);
            let ended = told.end(id).or_else(|| call.map(Call::is_finished));
            let description = call.map(|call| &call.description).filter(|text| !text.is_empty());
            Row {
                agent_id: id.into(),
                tool_use_id: call_id.into(),
                agent_type: call.map(|call| call.agent_type.clone()).unwrap_or_default(),
                description: description.unwrap_or(&head.description).clone(),
                spawn_depth: 1,
                done: ended.unwrap_or(child.end.finished),
                last_activity_ts: child.end.last_ts.or(head.began),
                ..Row::default()
            }
        };
        self.shown().map(row).collect()
    }

    fn find(&self, agent_id: &str, _told: &Told) -> Option<(Source, Box<dyn Reader>)> {
        let (_, child, _) = self.shown().find(|(id, ..)| *id == agent_id)?;
        let stored = Stored {
            kind: AgentKind::Gemini,
            // Its id is short, and its own only among those of its session.
            session: SessionId::from(format!("{}/{agent_id}", self.session).as_str()),
            path: format!("{}/{}", self.directory.as_ref()?, child.name),
            under: self.under.clone(),
            directory: None,
            exists: true,
        };
        Some((stored.source(&self.state_dir), Box::new(SpoolReader)))
    }
}

/// The child that the name of a file stands for.
fn child_of_file(name: &str) -> Option<&str> {
    let id = name.strip_suffix(".jsonl").or_else(|| name.strip_suffix(".json"))?;
    (id.len() <= MAX_CHILD_ID_BYTES && is_session_id(id)).then_some(id)
}
