//! The sessions that a session has started: rows of its roster, at every depth.
//!
//! Databases and the service say whose child a session is. In the JSON tree each file of a session does, and is read
//! once. Which call started a child, and whether it has ended, the session's own transcript tells.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::block::time;
use super::search::{Search, Sought, StoredSession};
use crate::agent::shown::named;
use crate::agent::spooled::SpoolReader;
use crate::agent::{AgentKind, Reader};
use crate::config::{Config, Roots};
use crate::ids::SessionId;
use crate::io::{FileKind, Op, Outcome};
use crate::limits::{CHILD_LABEL_CHARS, CHILD_META_BYTES, MAX_CHILDREN, MAX_DIRECTORY_NAMES, MAX_OPEN_CHILDREN};
use crate::machine::{Asks, Machine, Tag, of_side};
use crate::roster::{Finder, Row, Told, Wanted};
use crate::source::follow::Source;
use crate::source::json::Value;
use crate::source::spool::Stored;
use crate::source::whole_files::{Whole, WholeFiles};
use crate::time::Now;

/// Finds the children of one session.
#[derive(Debug)]
pub(crate) struct Children {
    roots: Roots,
    state_dir: String,
    session: SessionId,
    /// The directory of the session's file in the JSON tree, and the root of that.
    directory: Option<(String, String)>,
    stage: Stage,
    asks: Asks,
    listing: Option<Tag>,
    files: WholeFiles<String>,
    /// Files that were read, and the children among them.
    read: BTreeSet<String>,
    in_tree: BTreeMap<SessionId, StoredSession>,
    /// What the last look found.
    found: Vec<StoredSession>,
    looked: bool,
    trouble: Option<String>,
}

#[derive(Debug)]
enum Stage {
    Idle,
    Searching(Box<Search>),
    /// Files of the JSON tree.
    Tree,
}

impl Children {
    pub(crate) fn new(parent: &Source, config: &Config) -> Self {
        let stored = parent.stored.as_ref();
        let of_tree = stored.filter(|stored| stored.path.ends_with(".json") && stored.under.ends_with("/storage"));
        let directory =
            of_tree.and_then(|stored| Some((stored.path.rsplit_once('/')?.0.to_string(), stored.under.clone())));
        let under = directory.as_ref().map(|(_, under)| under.clone()).unwrap_or_default();
        Self {
            roots: config.roots.clone(),
            state_dir: config.state_dir.clone(),
            session: stored.map_or_else(|| SessionId::from(""), |stored| stored.session.clone()),
            directory,
            stage: Stage::Idle,
            asks: Asks::default(),
            listing: None,
            files: WholeFiles::new(under, CHILD_META_BYTES, MAX_OPEN_CHILDREN),
            read: BTreeSet::new(),
            in_tree: BTreeMap::new(),
            found: Vec::new(),
            looked: false,
            trouble: None,
        }
    }

    fn advance(&mut self) {
        if let Stage::Searching(search) = &mut self.stage
            && let Some(found) = search.take_result()
        {
            self.found = found.sessions;
            self.trouble = found.trouble;
            self.stage = Stage::Idle;
            match &self.directory {
                Some((path, _)) => {
                    let op = Op::List { path: path.clone(), max_names: MAX_DIRECTORY_NAMES };
                    self.listing = Some(self.asks.ask(op));
                    self.stage = Stage::Tree;
                }
                None => self.finish(),
            }
        }
        while let Some((name, whole)) = self.files.take() {
            self.take_file(name, whole);
        }
        if matches!(self.stage, Stage::Tree) && self.listing.is_none() && self.files.is_idle() {
            self.finish();
        }
    }

    /// Reads the files of sessions that were not read yet. Whose child a session is does not change.
    fn take_listing(&mut self, outcome: Outcome<'_>) {
        let (Outcome::Listing { names, .. }, Some((directory, _))) = (outcome, self.directory.clone()) else { return };
        for entry in names {
            if entry.facts.kind == FileKind::File
                && entry.name.ends_with(".json")
                && self.read.insert(entry.name.clone())
            {
                self.files.read(entry.name.clone(), format!("{directory}/{}", entry.name));
            }
        }
    }

    fn take_file(&mut self, name: String, whole: Whole) {
        let Whole::Bytes(_, bytes) = whole else { return };
        let session = Value(bytes.trim_ascii());
        let (Some(id), Some((directory, under))) = (named(session.get("id")), self.directory.clone()) else {
            // It is being written: it is read again.
            self.read.remove(&name);
            return;
        };
        let Some(parent) = named(session.get("parentID")) else { return };
        let created = time(session, "created").unwrap_or_default();
        let stored = StoredSession {
            session: SessionId::from(id.as_str()),
            parent: Some(parent),
            directory: named(session.get("directory")),
            title: named(session.get("title")),
            created,
            updated: time(session, "updated").unwrap_or(created),
            path: format!("{directory}/{name}"),
            under,
        };
        self.in_tree.insert(stored.session.clone(), stored);
    }

    fn finish(&mut self) {
        for (session, stored) in &self.in_tree {
            if self.found.iter().all(|other| other.session != *session) {
                self.found.push(stored.clone());
            }
        }
        self.stage = Stage::Idle;
        self.looked = true;
    }

    /// The sessions below this one with their depths: those whose parents lead to it.
    fn descendants(&self) -> Vec<(u64, &StoredSession)> {
        let mut below = Vec::new();
        let mut parents: Vec<&str> = [self.session.as_str()].into();
        let mut seen: BTreeSet<&str> = parents.iter().copied().collect();
        let mut depth = 0_u64;
        while !parents.is_empty() && below.len() < MAX_CHILDREN {
            depth = depth.saturating_add(1);
            let is_child =
                |stored: &&StoredSession| stored.parent.as_deref().is_some_and(|parent| parents.contains(&parent));
            let children: Vec<&StoredSession> =
                self.found.iter().filter(is_child).filter(|stored| seen.insert(stored.session.as_str())).collect();
            parents = children.iter().map(|stored| stored.session.as_str()).collect();
            below.extend(children.into_iter().map(|stored| (depth, stored)));
        }
        below.truncate(MAX_CHILDREN);
        below
    }
}

impl Finder for Children {
    fn look(&mut self, _wanted: Wanted) {
        if !self.is_looking() {
            let sought = Sought::Children(self.session.clone());
            self.stage = Stage::Searching(Box::new(Search::new(&self.roots, sought)));
        }
    }

    fn go_on(&mut self, _told: &Told) {
        self.advance();
    }

    fn is_looking(&self) -> bool {
        !matches!(self.stage, Stage::Idle)
    }

    fn is_ready(&self) -> bool {
        self.looked
    }

    fn rows(&self, told: &Told) -> Vec<Row> {
        let row = |(depth, stored): (u64, &StoredSession)| {
            let id = stored.session.as_str();
            let (description, agent_type) = labels(stored.title.as_deref().unwrap_or_default());
            Row {
                agent_id: id.into(),
                tool_use_id: told.call_of(id).unwrap_or_default().into(),
                agent_type,
                description,
                spawn_depth: depth,
                done: told.end(id).unwrap_or(false),
                last_activity_ts: Some(stored.updated).filter(|updated| *updated > 0),
                parent_agent_id: stored.parent.clone().filter(|parent| *parent != self.session.as_str()),
                read: None,
            }
        };
        self.descendants().into_iter().map(row).collect()
    }

    fn find(&self, agent_id: &str, _told: &Told) -> Option<(Source, Box<dyn Reader>)> {
        let (_, stored) = self.descendants().into_iter().find(|(_, stored)| stored.session.as_str() == agent_id)?;
        let StoredSession { path, under, session, directory, .. } = stored.clone();
        let stored = Stored { kind: AgentKind::Opencode, session, path, under, exists: true, directory };
        Some((stored.source(&self.state_dir), Box::new(SpoolReader)))
    }

    fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }
}

impl Machine for Children {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        let searched = match &mut self.stage {
            Stage::Searching(search) => search.poll_op(),
            Stage::Idle | Stage::Tree => None,
        };
        searched
            .map(of_side::<3>(0))
            .or_else(|| self.asks.take().map(of_side::<3>(1)))
            .or_else(|| self.files.poll_op().map(of_side::<3>(2)))
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        let (side, inner) = tag.side::<3>();
        match (side, &mut self.stage) {
            (0, Stage::Searching(search)) => search.handle_outcome(now, inner, outcome),
            (1, _) if self.listing == Some(inner) => {
                self.listing = None;
                self.take_listing(outcome);
            }
            (2, _) => self.files.handle_outcome(now, inner, outcome),
            _ => {}
        }
        self.advance();
    }
}

/// `look around (@explore subagent)`: what it was started for, and the agent that runs.
fn labels(title: &str) -> (String, String) {
    let cut = |text: &str| text.trim().chars().take(CHILD_LABEL_CHARS).collect::<String>();
    let named = title.rsplit_once(" (@").and_then(|(what, rest)| Some((what, rest.strip_suffix(" subagent)")?)));
    named.map_or_else(|| (cut(title), String::new()), |(what, agent)| (cut(what), cut(agent)))
}

#[cfg(test)]
mod tests {
    use super::labels;

    #[test]
    fn a_title_says_what_for_and_who() {
        for (title, what, who) in [
            ("look around (@explore subagent)", "look around", "explore"),
            ("plain", "plain", ""),
            ("odd (@x) subagent)", "odd", "x)"),
            ("", "", ""),
        ] {
            assert_eq!(labels(title), (what.into(), who.into()), "{title}");
        }
    }
}
