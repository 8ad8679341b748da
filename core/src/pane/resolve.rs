//! From a pane to its transcript: once when a client connects, and again and again while one watches.
//!
//! ```text
//!  connect   herdr ── agent ──▶ (no id: its siblings) ──▶ locate ──▶ read both ends ──▶ Resolved | status and body
//!  recheck   herdr ── agent ──▶ the same id? still there? ───────────────────────────▶ Same | Relocated
//!                              another id: locate, related?, read ──────────────────▶ Moved | Same | Unknown
//! ```

mod recheck;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

pub use recheck::{Recheck, Verdict};

use super::herdr::{HerdrAsk, HerdrError, HerdrSession, PaneAgent, Question, Reply};
use super::name::PaneName;
use super::probe::{Ends, Probe, ProbeError};
use crate::agent::AgentKind;
use crate::agent::locate::{Locate, LocateError, Located, Wanted, without_final_slash};
use crate::agent::sessions::{Newest, Sessions};
use crate::config::{Config, Herdr, Roots};
use crate::ids::{PaneId, SessionId};
use crate::io::{Op, Outcome};
use crate::limits;
use crate::machine::{Machine, Tag};
use crate::time::{Instant, Now};

/// A pane and the transcript that it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The pane, in the client's word.
    pub pane: PaneId,
    /// Which reader its transcript needs.
    pub kind: AgentKind,
    /// What herdr says about it; none for a standalone pane.
    pub agent: Option<PaneAgent>,
    /// The transcript.
    pub located: Located,
}

/// Why a pane shows no transcript, in the words of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolveError {
    /// The HTTP status.
    pub status: u16,
    /// The body, without its final newline.
    pub body: String,
    /// What the operator should know beside that.
    pub cause: Option<String>,
}

/// Finds the transcript of a pane for a client that connects, and makes sure that it can be read.
#[derive(Debug)]
pub struct Resolve {
    pane: PaneId,
    herdr: Herdr,
    roots: Roots,
    state_dir: String,
    deadline: Instant,
    kind: AgentKind,
    agent: Option<PaneAgent>,
    located: Option<Located>,
    step: Step,
    result: Option<Result<Resolved, ResolveError>>,
}

#[derive(Debug)]
enum Step {
    Agent(Box<HerdrAsk>),
    Siblings(Box<HerdrAsk>),
    Locate(Box<Locate>),
    Newest(Box<Sessions>),
    Read(Box<Probe>),
    Done,
}

impl Resolve {
    /// Begins with a pane's name. `demo` is where the demo conversation is, if it is served.
    #[must_use]
    pub fn connect(now: Now, config: &Config, pane: PaneId, demo: Option<&Located>) -> Self {
        let name = PaneName::of(&pane);
        let mut resolve = Self {
            pane,
            herdr: config.herdr.clone(),
            roots: config.roots.clone(),
            state_dir: config.state_dir.clone(),
            deadline: now.mono.plus(limits::HERDR_BUDGET),
            // What the demo conversation is written like; every other pane names its own.
            kind: AgentKind::Claude,
            agent: None,
            located: None,
            step: Step::Done,
            result: None,
        };
        match name {
            PaneName::Herdr => {
                let question = Question::Agent(resolve.pane.clone());
                resolve.step = Step::Agent(Box::new(HerdrAsk::until(now, resolve.deadline, &resolve.herdr, question)));
            }
            PaneName::Session(kind, session) => {
                resolve.kind = kind;
                resolve.locate(None, &Wanted::Session(session));
            }
            PaneName::Directory(kind, cwd) => {
                resolve.kind = kind;
                resolve.locate(Some(&cwd), &Wanted::Newest);
            }
            PaneName::Latest(kind) => {
                resolve.kind = kind;
                let sessions = Sessions::new(&resolve.roots, &[kind], limits::MAX_LATEST_PROBED);
                resolve.step = Step::Newest(Box::new(sessions));
            }
            PaneName::Demo => match demo {
                Some(located) => resolve.read(located.clone()),
                None => resolve.finish(Err(ResolveError::no_such_agent())),
            },
        }
        resolve.advance(now);
        resolve
    }

    /// The result, once. No file is open by then.
    pub fn take_result(&mut self) -> Option<Result<Resolved, ResolveError>> {
        self.result.take()
    }

    /// Goes on as far as the answers at hand allow.
    fn advance(&mut self, now: Now) {
        loop {
            match &mut self.step {
                Step::Agent(ask) => match ask.take_result() {
                    Some(reply) => self.handle_agent(now, reply),
                    None => return,
                },
                Step::Siblings(ask) => match ask.take_result() {
                    Some(reply) => self.handle_siblings(reply),
                    None => return,
                },
                Step::Locate(locate) => match locate.take_result() {
                    Some(Ok(located)) => self.read(located),
                    Some(Err(error)) => self.finish(Err(error.into())),
                    None => return,
                },
                Step::Newest(sessions) => match sessions.take_result() {
                    Some(found) => match newest(found) {
                        Ok(located) => self.read(located),
                        Err(error) => self.finish(Err(error.into())),
                    },
                    None => return,
                },
                Step::Read(probe) => match probe.take_result() {
                    Some(Ok(_)) => self.settle(),
                    Some(Err(ProbeError::NoFile)) => self.finish(Err(ResolveError::no_file())),
                    Some(Err(ProbeError::Unreadable(text))) => {
                        let path = self.located.as_ref().map_or("the transcript", |located| &located.path);
                        let cause = format!("cannot read {path}: {text}");
                        self.finish(Err(ResolveError::unreadable(cause)));
                    }
                    None => return,
                },
                Step::Done => return,
            }
        }
    }

    fn handle_agent(&mut self, now: Now, reply: Result<Reply, HerdrError>) {
        let agent = match reply {
            Ok(Reply::Agent(agent)) => *agent,
            Ok(_) => return self.finish(Err(ResolveError::no_such_agent())),
            Err(error) => return self.finish(Err(error.into())),
        };
        let Some(kind) = AgentKind::from_label(&agent.kind_label) else {
            return self.finish(Err(ResolveError::unsupported()));
        };
        self.kind = kind;
        let wanted = wanted_by(&agent);
        if wanted == Wanted::Newest && agent.directory().is_some() {
            let question = Question::Agents(HerdrSession::of(&self.pane).0);
            self.step = Step::Siblings(Box::new(HerdrAsk::until(now, self.deadline, &self.herdr, question)));
        } else {
            self.locate(agent.directory(), &wanted);
        }
        self.agent = Some(agent);
    }

    /// With nothing but the directory to go by, another agent there that has no id either could own the newest file.
    fn handle_siblings(&mut self, reply: Result<Reply, HerdrError>) {
        let agents = match reply {
            Ok(Reply::Agents(agents)) => agents,
            Ok(_) => return self.finish(Err(ResolveError::no_such_agent())),
            Err(error) => return self.finish(Err(error.into())),
        };
        let Some(agent) = self.agent.take() else { return self.finish(Err(ResolveError::no_such_agent())) };
        if agents.iter().any(|other| could_own_the_same(&agent, other)) {
            return self.finish(Err(ResolveError::not_reported()));
        }
        self.locate(agent.directory(), &Wanted::Newest);
        self.agent = Some(agent);
    }

    fn locate(&mut self, cwd: Option<&str>, wanted: &Wanted) {
        let locate = Locate::new(self.kind, &self.roots, cwd, wanted).or_spooled(self.kind, &self.state_dir);
        self.step = Step::Locate(Box::new(locate));
    }

    fn read(&mut self, located: Located) {
        let probe = look_at_both_ends(self.kind, &located);
        self.located = Some(located);
        match probe {
            Some(probe) => self.step = Step::Read(Box::new(probe)),
            None => self.settle(),
        }
    }

    fn settle(&mut self) {
        let Some(located) = self.located.take() else { return self.finish(Err(ResolveError::no_file())) };
        let agent = self.agent.take();
        self.finish(Ok(Resolved { pane: self.pane.clone(), kind: self.kind, agent, located }));
    }

    fn finish(&mut self, result: Result<Resolved, ResolveError>) {
        self.step = Step::Done;
        self.result = Some(result);
    }
}

impl Machine for Resolve {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.step.poll_op()
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        self.step.handle_outcome(now, tag, outcome);
        self.advance(now);
    }
}

/// No two steps have operations open at one time, so a tag needs no more than the step that is going on.
impl Machine for Step {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        match self {
            Self::Agent(ask) | Self::Siblings(ask) => ask.poll_op(),
            Self::Locate(locate) => locate.poll_op(),
            Self::Newest(sessions) => sessions.poll_op(),
            Self::Read(probe) => probe.poll_op(),
            Self::Done => None,
        }
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        match self {
            Self::Agent(ask) | Self::Siblings(ask) => ask.handle_outcome(now, tag, outcome),
            Self::Locate(locate) => locate.handle_outcome(now, tag, outcome),
            Self::Newest(sessions) => sessions.handle_outcome(now, tag, outcome),
            Self::Read(probe) => probe.handle_outcome(now, tag, outcome),
            Self::Done => {}
        }
    }
}

impl ResolveError {
    fn new(status: u16, body: &str) -> Self {
        Self { status, body: body.into(), cause: None }
    }

    /// There is no such pane, or no agent in it.
    #[must_use]
    pub fn no_such_agent() -> Self {
        Self::new(404, "no such agent")
    }

    /// The agent is there and its transcript is not.
    #[must_use]
    pub fn no_file() -> Self {
        Self::new(404, "no transcript file for pane")
    }

    fn unsupported() -> Self {
        Self::new(404, "transcript not supported for this agent kind")
    }

    fn not_reported() -> Self {
        Self::new(404, "transcript not available yet — this agent has not reported its session id")
    }

    fn unreadable(cause: String) -> Self {
        Self { cause: Some(cause), ..Self::new(500, "read transcript failed") }
    }
}

impl From<HerdrError> for ResolveError {
    fn from(error: HerdrError) -> Self {
        match error {
            HerdrError::NoSuchAgent | HerdrError::Absent => Self::no_such_agent(),
            HerdrError::NoSuchSession(name) => Self::new(404, &format!("herdr session {name:?} not found")),
            HerdrError::Failed(text) | HerdrError::Unknown(text) => Self::new(502, &text),
        }
    }
}

impl From<LocateError> for ResolveError {
    fn from(error: LocateError) -> Self {
        match error {
            LocateError::NoFile => Self::no_file(),
            LocateError::Unreadable(text) => Self::unreadable(text),
        }
    }
}

/// What an agent's report says about its session. Whether a path is the name of one is for the kind of agent to say.
pub(super) fn wanted_by(agent: &PaneAgent) -> Wanted {
    match &agent.session {
        None => Wanted::Newest,
        Some(session) if session.is_path() => Wanted::File(session.value.clone()),
        Some(session) => Wanted::Session(SessionId::from(session.value.as_str())),
    }
}

pub(super) fn could_own_the_same(agent: &PaneAgent, other: &PaneAgent) -> bool {
    let is_of_kind = || AgentKind::from_label(&other.kind_label) == AgentKind::from_label(&agent.kind_label);
    let is_there = || other.directory().map(without_final_slash) == agent.directory().map(without_final_slash);
    other.session.is_none() && other.pane != agent.pane && is_there() && is_of_kind()
}

/// The newest conversation, or the newest file if none holds one.
fn newest(found: Newest) -> Result<Located, LocateError> {
    let Newest { files, unreadable } = found;
    let at = files.iter().position(|file| file.recorded.conversation).unwrap_or(0);
    let error = || unreadable.into_iter().next().map_or(LocateError::NoFile, LocateError::Unreadable);
    files.into_iter().nth(at).map(Located::from).ok_or_else(error)
}

/// What decides whether a transcript can be read, if it is there already.
fn look_at_both_ends(kind: AgentKind, located: &Located) -> Option<Probe> {
    located.exists.then(|| Probe::new(&located.path, &located.under, Ends::Both, kind.layout().recorded()))
}

#[cfg(test)]
mod tests;
