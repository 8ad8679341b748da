//! Everything that could be followed here: herdr's panes first, then the sessions on disk, newest first.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::activity::Transcript;
use super::herdr::{Everywhere, HerdrError, PaneAgent, Question, Replies, Reply};
use super::name::PaneName;
use crate::agent::AgentKind;
use crate::agent::sessions::{Newest, SessionFile, Sessions};
use crate::config::{Config, Demo};
use crate::ids::{PaneId, SessionId};
use crate::io::{Op, Outcome};
use crate::limits;
use crate::machine::{Machine, Tag};
use crate::time::Now;

/// One pane of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// What a client calls it.
    pub pane: PaneId,
    /// The kind of agent, in herdr's or our own word.
    pub kind: String,
    /// The session that it shows now, if that is known.
    pub session: Option<SessionId>,
    /// Where the agent works.
    pub cwd: Option<String>,
    /// The transcript's file, if it is among the newest.
    pub path: Option<String>,
    /// The same as it was seen, of a session that herdr does not show.
    pub transcript: Option<Transcript>,
    /// The size of that file in bytes.
    pub size: Option<u64>,
    /// When that file changed last, in milliseconds since 1970.
    pub modified_ms: Option<i64>,
    /// What it is about, one line.
    pub title: Option<String>,
    /// What herdr thinks the agent does.
    pub status: Option<String>,
}

/// What a census found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The panes: herdr's, the newest sessions, and `demo` if it is served.
    pub listed: Vec<Listed>,
    /// Whether the pane `demo` is served.
    pub demo: bool,
    /// What could not be looked at, in words for the operator. A census never fails as a whole.
    pub notes: Vec<String>,
}

/// Looks for everything that could be followed.
#[derive(Debug)]
pub struct Census {
    demo: Demo,
    sessions: Option<Box<Sessions>>,
    agents: Vec<PaneAgent>,
    found: Found,
    step: Step,
    result: Option<Found>,
}

#[derive(Debug)]
enum Step {
    Agents(Box<Everywhere>),
    Sessions(Box<Sessions>),
    Done,
}

impl Census {
    /// Begins to look.
    #[must_use]
    pub fn new(now: Now, config: &Config) -> Self {
        let mut census = Self {
            demo: config.demo,
            sessions: Some(Box::new(Sessions::new(&config.roots, AgentKind::ALL, limits::MAX_LISTED_SESSIONS))),
            agents: Vec::new(),
            found: Found::default(),
            step: Step::Agents(Box::new(Everywhere::new(now, &config.herdr, Question::Agents))),
            result: None,
        };
        census.advance();
        census
    }

    /// The result, once. No file is open by then.
    pub fn take_result(&mut self) -> Option<Found> {
        self.result.take()
    }

    fn advance(&mut self) {
        if let Step::Agents(ask) = &mut self.step
            && let Some(replies) = ask.take_result()
        {
            self.take_agents(replies);
            self.step = self.sessions.take().map_or(Step::Done, Step::Sessions);
        }
        if let Step::Sessions(sessions) = &mut self.step
            && let Some(newest) = sessions.take_result()
        {
            self.step = Step::Done;
            self.settle(newest);
        }
    }

    fn take_agents(&mut self, replies: Replies) {
        for (_, reply) in replies {
            match reply {
                Ok(Reply::Agents(agents)) => self.agents.extend(agents),
                Err(HerdrError::Failed(text)) => self.found.notes.push(text),
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn settle(&mut self, newest: Newest) {
        let mut found = core::mem::take(&mut self.found);
        let Newest { files, unreadable } = newest;
        found.notes.extend(unreadable);
        found.listed = self.agents.iter().map(|agent| Listed::of_agent(agent, &files)).collect();
        found.listed.extend(files.iter().map(Listed::of_file));
        let is_followable = |listed: &Listed| AgentKind::from_label(&listed.kind).is_some();
        found.demo = self.demo == Demo::Always || !found.listed.iter().any(is_followable);
        if found.demo {
            found.listed.push(Listed::demo());
        }
        self.result = Some(found);
    }
}

impl Machine for Census {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        match &mut self.step {
            Step::Agents(ask) => ask.poll_op(),
            Step::Sessions(sessions) => sessions.poll_op(),
            Step::Done => None,
        }
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        match &mut self.step {
            Step::Agents(ask) => ask.handle_outcome(now, tag, outcome),
            Step::Sessions(sessions) => sessions.handle_outcome(now, tag, outcome),
            Step::Done => {}
        }
        self.advance();
    }
}

impl Listed {
    fn of_agent(agent: &PaneAgent, files: &[SessionFile]) -> Self {
        let session = agent.session.as_ref().map(|session| SessionId::from(session.value.as_str()));
        let file = session.as_ref().and_then(|session| files.iter().find(|file| file.session == *session));
        Self {
            pane: agent.pane.clone(),
            kind: agent.kind_label.clone(),
            session,
            cwd: agent.directory().map(String::from),
            path: file.map(|file| file.path.clone()),
            transcript: None,
            size: file.map(|file| file.facts.size),
            modified_ms: file.map(|file| file.facts.modified.as_unix_millis()),
            title: agent.title.clone().or_else(|| file.and_then(title_of)),
            status: Some(agent.status.clone()),
        }
    }

    fn of_file(file: &SessionFile) -> Self {
        Self {
            pane: PaneName::of_session(file.kind, &file.session),
            kind: file.kind.label().into(),
            session: Some(file.session.clone()),
            cwd: file.recorded.cwd.clone(),
            path: Some(file.path.clone()),
            transcript: Some(Transcript { kind: file.kind, located: file.clone().into(), facts: file.facts }),
            size: (!file.kind.is_stored()).then_some(file.facts.size),
            modified_ms: Some(file.facts.modified.as_unix_millis()),
            title: title_of(file),
            status: None,
        }
    }

    fn demo() -> Self {
        Self {
            pane: PaneId::from("demo"),
            kind: AgentKind::Claude.label().into(),
            session: None,
            cwd: None,
            path: None,
            transcript: None,
            size: None,
            modified_ms: None,
            title: Some("a conversation that Panewire writes by itself".into()),
            status: None,
        }
    }
}

fn title_of(file: &SessionFile) -> Option<String> {
    file.recorded.first_prompt.as_ref().map(|prompt| prompt.chars().take(limits::SUMMARY_CHARS).collect())
}

#[cfg(test)]
mod tests;
