//! Everything that is there at one moment: what every server of herdr shows, and what the agents' directories and
//! transcripts add to it.
//!
//! ```text
//!  every server ── snapshot ──▶ agents ── branch of each directory, last record of each conversation ──▶ Surveyed
//!       └ there is no herdr ──▶ the sessions on disk, in the same shape ────────────────────────────────────┘
//! ```
//!
//! What was found out is remembered for the next survey: then a conversation that did not change costs one stat.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value, json};

use super::activity::{Activity, Known, Transcript};
use super::branch::Branch;
use super::census::{Census, Found, Listed};
use super::herdr::{Everywhere, HerdrError, HerdrSession, PaneAgent, Question, Replies, Reply};
use super::resolve::{could_own_the_same, wanted_by};
use crate::agent::AgentKind;
use crate::agent::locate::Wanted;
use crate::config::{Config, HerdrMode, Roots};
use crate::ids::PaneId;
use crate::io::{Op, Outcome};
use crate::limits::{BRANCH_FRESH, LOCATE_AGAIN, MAX_BRANCHES, MAX_SURVEYED_AGENTS};
use crate::machine::{Machine, Tag};
use crate::time::{Instant, Now};

/// What a survey found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surveyed {
    /// What each server shows, in its own words; of the default one first. None where there is no herdr.
    pub servers: Vec<(HerdrSession, Map<String, Value>)>,
    /// The sessions on disk, where there is no herdr.
    pub standalone: Map<String, Value>,
    /// What is known of each agent beyond that, by what clients call its pane.
    pub agents: BTreeMap<PaneId, AgentFacts>,
    /// Servers that failed.
    pub failed: Failed,
}

/// Servers that failed, and why, in words for people.
pub type Failed = Vec<(HerdrSession, String)>;

/// What is known of an agent beyond what herdr says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentFacts {
    /// What herdr says of it, where herdr knows it.
    pub agent: Option<PaneAgent>,
    /// The branch of its directory; empty if there is none.
    pub branch: String,
    /// When its conversation was written last, in milliseconds since 1970.
    pub last_activity_ts: Option<i64>,
    /// The conversation's file, if it is there.
    pub transcript: Option<Transcript>,
}

/// What is remembered from one survey to the next.
#[derive(Debug, Default)]
pub struct Memory {
    branches: BTreeMap<String, (String, Instant)>,
    conversations: BTreeMap<Conversation, Remembered>,
}

/// What a conversation is known by: its kind, the directory, and the session that was reported.
type Conversation = (AgentKind, Option<String>, Option<String>);

#[derive(Debug, Clone)]
enum Remembered {
    Known(Known),
    /// It was not there when it was looked for last.
    Missing(Instant),
}

/// Looks at everything.
#[derive(Debug)]
pub struct Survey {
    config: Config,
    memory: Memory,
    found: Surveyed,
    /// The newest of what memory holds; the rest is forgotten in the end.
    used: Memory,
    /// Directories whose branch is wanted, and conversations that are looked at.
    directories: VecDeque<String>,
    conversations: VecDeque<(Conversation, Wanted)>,
    /// By pane: its directory, and its conversation.
    panes: Vec<(PaneId, Option<String>, Option<Conversation>)>,
    step: Step,
    result: Option<Result<Surveyed, Failed>>,
}

#[derive(Debug)]
enum Step {
    Servers(Box<Everywhere>),
    Standalone(Box<Census>),
    Branch(String, Box<Branch>),
    Activity(Conversation, Box<Activity>),
    Done,
}

impl Survey {
    /// Begins to look, with what was remembered of the survey before.
    #[must_use]
    pub fn new(now: Now, config: &Config, memory: Memory) -> Self {
        let everywhere = Everywhere::new(now, &config.herdr, Question::Snapshot);
        let mut survey = Self {
            config: config.clone(),
            memory,
            found: Surveyed::default(),
            used: Memory::default(),
            directories: VecDeque::new(),
            conversations: VecDeque::new(),
            panes: Vec::new(),
            step: Step::Servers(Box::new(everywhere)),
            result: None,
        };
        survey.advance(now);
        survey
    }

    /// What was found, once, and what to remember; or why nothing can be said: all servers failed.
    pub fn take_result(&mut self) -> Option<(Result<Surveyed, Failed>, Memory)> {
        let result = self.result.take()?;
        // Of a survey that failed nothing new is known.
        let memory = if result.is_ok() { &mut self.used } else { &mut self.memory };
        Some((result, core::mem::take(memory)))
    }

    fn advance(&mut self, now: Now) {
        loop {
            match &mut self.step {
                Step::Servers(everywhere) => match everywhere.take_result() {
                    Some(replies) => self.take_replies(now, replies),
                    None => return,
                },
                Step::Standalone(census) => match census.take_result() {
                    Some(found) => self.take_sessions(now, &found),
                    None => return,
                },
                Step::Branch(directory, branch) => match branch.take_result() {
                    Some(branch) => {
                        let directory = core::mem::take(directory);
                        self.used.branches.insert(directory, (branch, now.mono));
                        self.look_on();
                    }
                    None => return,
                },
                Step::Activity(conversation, activity) => match activity.take_result() {
                    Some(known) => {
                        let remembered = known.map_or(Remembered::Missing(now.mono), Remembered::Known);
                        self.used.conversations.insert(conversation.clone(), remembered);
                        self.look_on();
                    }
                    None => return,
                },
                Step::Done => return,
            }
        }
    }

    fn take_replies(&mut self, now: Now, replies: Replies) {
        let mut is_absent = true;
        for (session, reply) in replies {
            match reply {
                Ok(Reply::Snapshot(fields)) => self.found.servers.push((session, fields)),
                Err(HerdrError::Failed(text)) => self.found.failed.push((session, text)),
                Ok(_) | Err(_) => continue,
            }
            is_absent = false;
        }
        if is_absent {
            let mut config = self.config.clone();
            config.herdr.mode = HerdrMode::Off;
            self.step = Step::Standalone(Box::new(Census::new(now, &config)));
            return;
        }
        if self.found.servers.is_empty() {
            let failed = core::mem::take(&mut self.found.failed);
            return self.finish(Err(failed));
        }
        let (mut agents, mut panes) = (Vec::new(), BTreeSet::new());
        for (session, fields) in &self.found.servers {
            let listed = fields.get("agents").and_then(Value::as_array).into_iter().flatten();
            let listed = listed.filter_map(|agent| PaneAgent::from_snapshot(agent, session));
            agents.extend(listed.filter(|agent| panes.insert(agent.pane.clone())));
        }
        agents.truncate(MAX_SURVEYED_AGENTS);
        for agent in &agents {
            let conversation = conversation_of(agent, &agents);
            let directory = agent.foreground_cwd.clone().or_else(|| agent.cwd.clone());
            self.want(now, agent.pane.clone(), directory, conversation);
        }
        for agent in agents {
            let facts = AgentFacts { agent: Some(agent.clone()), ..AgentFacts::default() };
            self.found.agents.insert(agent.pane, facts);
        }
        self.look_on();
    }

    fn take_sessions(&mut self, now: Now, found: &Found) {
        for listed in &found.listed {
            self.want(now, listed.pane.clone(), listed.cwd.clone(), None);
            let facts = AgentFacts {
                last_activity_ts: listed.modified_ms,
                transcript: listed.transcript.clone(),
                ..AgentFacts::default()
            };
            self.found.agents.insert(listed.pane.clone(), facts);
        }
        let rows: Vec<Value> = found.listed.iter().map(as_agent).collect();
        for empty in ["layouts", "tabs", "workspaces"] {
            self.found.standalone.insert(empty.into(), json!([]));
        }
        self.found.standalone.insert("panes".into(), rows.clone().into());
        self.found.standalone.insert("agents".into(), rows.into());
        self.look_on();
    }

    /// Notes what is to be found out for a pane, unless it is remembered.
    fn want(&mut self, now: Now, pane: PaneId, directory: Option<String>, wanted: Option<(Conversation, Wanted)>) {
        if let Some(directory) = &directory {
            let is_new = !self.used.branches.contains_key(directory) && !self.directories.contains(directory);
            let wants = self.used.branches.len().saturating_add(self.directories.len());
            match self.memory.branches.get(directory) {
                Some(known) if now.mono.since(known.1) < BRANCH_FRESH => {
                    self.used.branches.insert(directory.clone(), known.clone());
                }
                _ if is_new && wants < MAX_BRANCHES => self.directories.push_back(directory.clone()),
                _ => {}
            }
        }
        let conversation = wanted.as_ref().map(|(conversation, _)| conversation.clone());
        if let Some((conversation, wanted)) = wanted {
            match self.memory.conversations.get(&conversation) {
                Some(Remembered::Missing(at)) if now.mono.since(*at) < LOCATE_AGAIN => {
                    self.used.conversations.insert(conversation, Remembered::Missing(*at));
                }
                _ if self.conversations.iter().any(|(other, _)| *other == conversation) => {}
                _ => self.conversations.push_back((conversation, wanted)),
            }
        }
        self.panes.push((pane, directory, conversation));
    }

    /// Goes on with the next thing that is to be found out.
    fn look_on(&mut self) {
        if let Some(directory) = self.directories.pop_front() {
            let branch = Box::new(Branch::new(&directory));
            self.step = Step::Branch(directory, branch);
        } else if let Some((conversation, wanted)) = self.conversations.pop_front() {
            let known = match self.memory.conversations.remove(&conversation) {
                Some(Remembered::Known(known)) => Some(known),
                _ => None,
            };
            let roots: &Roots = &self.config.roots;
            let activity = Activity::new(conversation.0, roots, conversation.1.as_deref(), &wanted, known);
            self.step = Step::Activity(conversation, Box::new(activity));
        } else {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let mut found = core::mem::take(&mut self.found);
        for (pane, directory, conversation) in &self.panes {
            let Some(facts) = found.agents.get_mut(pane) else { continue };
            if let Some((branch, _)) = directory.as_ref().and_then(|directory| self.used.branches.get(directory)) {
                facts.branch.clone_from(branch);
            }
            if let Some(conversation) = conversation
                && let Some(Remembered::Known(known)) = self.used.conversations.get(conversation)
            {
                let Known { located, facts: file, last_ts } = known.clone();
                facts.last_activity_ts = last_ts;
                facts.transcript = Some(Transcript { kind: conversation.0, located, facts: file });
            }
        }
        self.finish(Ok(found));
    }

    fn finish(&mut self, result: Result<Surveyed, Failed>) {
        self.step = Step::Done;
        self.result = Some(result);
    }
}

impl Machine for Survey {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        match &mut self.step {
            Step::Servers(everywhere) => everywhere.poll_op(),
            Step::Standalone(census) => census.poll_op(),
            Step::Branch(_, branch) => branch.poll_op(),
            Step::Activity(_, activity) => activity.poll_op(),
            Step::Done => None,
        }
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        match &mut self.step {
            Step::Servers(everywhere) => everywhere.handle_outcome(now, tag, outcome),
            Step::Standalone(census) => census.handle_outcome(now, tag, outcome),
            Step::Branch(_, branch) => branch.handle_outcome(now, tag, outcome),
            Step::Activity(_, activity) => activity.handle_outcome(now, tag, outcome),
            Step::Done => {}
        }
        self.advance(now);
    }
}

/// The conversation of an agent, if it can be told: with nothing but the directory to go by, no other agent there may lack
/// an id too.
fn conversation_of(agent: &PaneAgent, agents: &[PaneAgent]) -> Option<(Conversation, Wanted)> {
    let kind = AgentKind::from_label(&agent.kind_label)?;
    let wanted = wanted_by(agent);
    let cwd = agent.directory().map(String::from);
    if wanted == Wanted::Newest && (cwd.is_none() || agents.iter().any(|other| could_own_the_same(agent, other))) {
        return None;
    }
    let session = agent.session.as_ref().map(|session| session.value.clone());
    Some(((kind, cwd, session), wanted))
}

/// A session on disk as herdr would list an agent. What it does is not known.
fn as_agent(listed: &Listed) -> Value {
    let mut row = Map::new();
    let mut put = |key: &str, value: Value| row.insert(key.to_owned(), value);
    put("pane_id", listed.pane.as_str().into());
    put("agent", listed.kind.as_str().into());
    put("agent_status", "unknown".into());
    put("state_change_seq", 0.into());
    if let Some(cwd) = &listed.cwd {
        put("cwd", cwd.as_str().into());
    }
    if let Some(title) = &listed.title {
        put("terminal_title_stripped", title.as_str().into());
    }
    if let Some(session) = &listed.session {
        let session = json!({"agent": listed.kind, "kind": "id", "source": "panewire", "value": session.as_str()});
        put("agent_session", session);
    }
    row.into()
}

#[cfg(test)]
mod tests;
