//! Asking herdr: by its socket where one answers, by its command line otherwise, within one budget.
//!
//! ```text
//!            socket: Op::Call ──answer──────────────────────────────▶ result
//!  question ┤   │ no socket, nobody there, silence, not our dialect
//!           └─ command line: Op::Run ──output, error, deadline──────▶ result
//! ```
//!
//! A named session that has no socket is looked for first: without its directory there is no such session. What is typed
//! must never be typed twice: where it is not known whether the socket took it, the command line is not tried.

mod agent;
mod answer;
mod everywhere;
mod occupant;
mod question;
mod session;
mod subscription;

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use serde_json::{Map, Value};

pub use agent::{PaneAgent, SessionKind, SessionRef};
pub use everywhere::{Everywhere, Replies};
pub use occupant::Occupant;
pub use question::{Question, Rows, ScreenSource};
pub use session::HerdrSession;
pub(crate) use session::{is_session_name, socket_in};
pub use subscription::Concern;
pub(crate) use subscription::{concern, event, is_started, listen};

use answer::Verdict;

use crate::config::{Herdr, HerdrMode};
use crate::ids::PaneId;
use crate::io::{FailureKind, Op, Outcome};
use crate::limits;
use crate::machine::{Asks, Machine, Tag};
use crate::time::{Instant, Now};

/// What herdr said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// To [`Question::Agent`].
    Agent(Box<PaneAgent>),
    /// To [`Question::Occupant`].
    Occupant(Occupant),
    /// To [`Question::Agents`], in herdr's order.
    Agents(Vec<PaneAgent>),
    /// To [`Question::Snapshot`], in herdr's own words.
    Snapshot(Map<String, Value>),
    /// To [`Question::Screen`] and [`Question::Rows`]: plain text, or text with ANSI colours.
    Screen(String),
    /// To [`Question::Type`] and [`Question::Press`]: it was done.
    Done,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HerdrError {
    /// herdr answered: no such pane, or no agent in it.
    NoSuchAgent,
    /// herdr has no session of this name.
    NoSuchSession(String),
    /// There is no herdr here, or it is not to be asked.
    Absent,
    /// The question failed. The whole text for people: `herdr agent get w1:p1: timed out after 4s`. Nothing was typed.
    Failed(String),
    /// The same, and whether something was typed is not known.
    Unknown(String),
}

/// One question to herdr.
#[derive(Debug)]
pub struct HerdrAsk {
    session: HerdrSession,
    /// In the words of that session's server.
    question: Question,
    config: Herdr,
    deadline: Instant,
    stage: Stage,
    /// What the socket said, if the command line is asked after it.
    socket_said: Option<String>,
    asks: Asks,
    result: Option<Result<Reply, HerdrError>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Socket(Tag),
    /// Is there such a session at all?
    Directory(Tag),
    Cli(Tag),
    Done,
}

impl HerdrAsk {
    /// Asks `question`, with a budget of [`HERDR_BUDGET`](limits::HERDR_BUDGET) from now on.
    #[must_use]
    pub fn new(now: Now, config: &Herdr, question: Question) -> Self {
        Self::until(now, now.mono.plus(limits::HERDR_BUDGET), config, question)
    }

    /// Asks `question` within a budget that has begun before: several questions of one client request share one.
    #[must_use]
    pub fn until(now: Now, deadline: Instant, config: &Herdr, question: Question) -> Self {
        let (session, question) = question.in_session();
        let mut ask = Self {
            session,
            question,
            config: config.clone(),
            deadline,
            stage: Stage::Done,
            socket_said: None,
            asks: Asks::default(),
            result: None,
        };
        ask.begin(now);
        ask
    }

    /// The result, once.
    pub fn take_result(&mut self) -> Option<Result<Reply, HerdrError>> {
        self.result.take()
    }

    fn begin(&mut self, now: Now) {
        if self.config.mode == HerdrMode::Off {
            return self.fail(HerdrError::Absent);
        }
        if !self.question.is_askable() {
            return self.fail(HerdrError::NoSuchAgent);
        }
        let Some(name) = self.session.name() else {
            return match (self.config.mode, self.config.socket.clone()) {
                (HerdrMode::Auto | HerdrMode::Socket, Some(socket)) => self.call(now, socket),
                (HerdrMode::Socket, None) => self.fail_with("no socket is known: name one with --herdr-socket"),
                _ => self.run(now),
            };
        };
        match self.session.directory(&self.config) {
            Some(directory) if self.config.mode == HerdrMode::Cli => self.look_for(directory),
            Some(directory) => self.call(now, socket_in(&directory)),
            None => self.fail(HerdrError::NoSuchSession(name.into())),
        }
    }

    fn look_for(&mut self, path: String) {
        self.stage = Stage::Directory(self.asks.ask(Op::Stat { path }));
    }

    fn call(&mut self, now: Now, socket: String) {
        let left = self.deadline.since(now.mono);
        let within = if self.leaves_time() { left.min(limits::HERDR_SOCKET_BUDGET) } else { left };
        if within.is_zero() {
            return self.time_out();
        }
        let line = self.question.socket_line();
        let answer_cap = limits::HERDR_ANSWER_BYTES;
        self.stage = Stage::Socket(self.asks.ask(Op::Call { socket, line, within, answer_cap }));
    }

    fn run(&mut self, now: Now) {
        let within = self.deadline.since(now.mono);
        if within.is_zero() {
            return self.time_out();
        }
        let mut argv = vec![self.config.program.clone()];
        argv.extend(self.arguments());
        self.stage = Stage::Cli(self.asks.ask(Op::Run { argv, within, output_cap: limits::HERDR_ANSWER_BYTES }));
    }

    /// What comes behind the program's name.
    fn arguments(&self) -> Vec<String> {
        let session = self.session.name().map(|name| ["--session".into(), name.into()]);
        session.into_iter().flatten().chain(self.question.arguments()).collect()
    }

    /// The same without what was typed: that is between a person and the agent. Of keys the names are shown, and not those
    /// that are characters.
    fn shown_arguments(&self) -> Vec<String> {
        let mut arguments = self.arguments();
        let hidden = match &self.question {
            Question::Type(..) => 1,
            Question::Press(_, keys) if keys.iter().any(|key| key.chars().nth(1).is_none()) => keys.len(),
            _ => 0,
        };
        for argument in arguments.iter_mut().rev().take(hidden) {
            *argument = "…".into();
        }
        arguments
    }

    /// Whether the command line may be tried after the socket was silent.
    fn leaves_time(&self) -> bool {
        self.config.mode == HerdrMode::Auto && !self.question.types()
    }

    fn handle_socket(&mut self, now: Now, outcome: Outcome<'_>) {
        if let Outcome::Failed(failure) = outcome
            && failure.kind == FailureKind::NotFound
            && let Some(directory) = self.session.directory(&self.config)
        {
            return self.look_for(directory);
        }
        let verdict = match outcome {
            Outcome::Answer(line) => answer::of_socket(&self.question, line),
            Outcome::Failed(failure) if failure.kind == FailureKind::NotFound => Verdict::OtherWay(None),
            Outcome::Failed(failure) if failure.kind == FailureKind::TimedOut => {
                let spent = if self.leaves_time() { limits::HERDR_SOCKET_BUDGET } else { limits::HERDR_BUDGET };
                let text = timed_out(spent);
                if self.question.types() { Verdict::Unknown(text) } else { Verdict::OtherWay(Some(text)) }
            }
            Outcome::Failed(failure)
                if self.question.types() && matches!(failure.kind, FailureKind::Lost | FailureKind::TooLarge) =>
            {
                Verdict::Unknown(failure.text.to_string())
            }
            // The other way it would be as long, and what is cut there is not told.
            Outcome::Failed(failure) if failure.kind == FailureKind::TooLarge => {
                Verdict::Failed(failure.text.to_string())
            }
            Outcome::Failed(failure) => Verdict::OtherWay(Some(failure.text.to_string())),
            _ => Verdict::OtherWay(Some(answer::UNEXPECTED.to_string())),
        };
        match verdict {
            Verdict::Reply(reply) => self.reply(reply),
            Verdict::NoSuchAgent => self.fail(HerdrError::NoSuchAgent),
            Verdict::Failed(text) => self.fail_with(&text),
            Verdict::Unknown(text) => self.lose(&text),
            Verdict::OtherWay(said) if self.config.mode == HerdrMode::Auto => {
                self.socket_said = said;
                self.run(now);
            }
            Verdict::OtherWay(said) => self.fail_with(said.as_deref().unwrap_or(NO_SOCKET)),
        }
    }

    fn handle_directory(&mut self, now: Now, outcome: Outcome<'_>) {
        match outcome {
            Outcome::Failed(failure) if failure.kind == FailureKind::NotFound => {
                self.fail(HerdrError::NoSuchSession(self.session.label().into()));
            }
            _ if self.config.mode == HerdrMode::Socket => self.fail_with(NO_SOCKET),
            _ => self.run(now),
        }
    }

    fn handle_cli(&mut self, outcome: Outcome<'_>) {
        match outcome {
            Outcome::Ran { stdout, .. } if stdout.len() >= limits::HERDR_ANSWER_BYTES && !self.question.types() => {
                self.fail_with(&alloc::format!("answer of over {} bytes", limits::HERDR_ANSWER_BYTES));
            }
            Outcome::Ran { exit, stdout, stderr } => match answer::of_cli(&self.question, exit, stdout, stderr) {
                Verdict::Reply(reply) => self.reply(reply),
                Verdict::NoSuchAgent => self.fail(HerdrError::NoSuchAgent),
                Verdict::Failed(text) => self.fail_with(&text),
                Verdict::Unknown(text) => self.lose(&text),
                Verdict::OtherWay(said) => self.fail_with(said.as_deref().unwrap_or(answer::UNEXPECTED)),
            },
            Outcome::Failed(failure) if failure.kind == FailureKind::TimedOut && self.question.types() => {
                self.lose(&timed_out(limits::HERDR_BUDGET));
            }
            Outcome::Failed(failure) if failure.kind == FailureKind::TimedOut => self.time_out(),
            Outcome::Failed(failure)
                if failure.kind == FailureKind::NotFound && self.config.mode == HerdrMode::Auto =>
            {
                match self.socket_said.take() {
                    Some(said) => self.fail_with(&said),
                    None => self.fail(HerdrError::Absent),
                }
            }
            Outcome::Failed(failure) => self.fail_with(failure.text),
            _ => self.fail_with(answer::UNEXPECTED),
        }
    }

    fn time_out(&mut self) {
        self.fail_with(&timed_out(limits::HERDR_BUDGET));
    }

    fn fail_with(&mut self, why: &str) {
        self.fail(HerdrError::Failed(self.complaint(why)));
    }

    /// It was asked for, and nobody knows what became of it.
    fn lose(&mut self, why: &str) {
        self.fail(HerdrError::Unknown(self.complaint(why)));
    }

    fn complaint(&self, why: &str) -> String {
        let mut text = String::from("herdr");
        for argument in self.shown_arguments() {
            text.push(' ');
            text.push_str(&argument);
        }
        text.push_str(": ");
        text.push_str(&answer::shortened(why));
        text
    }

    fn reply(&mut self, mut reply: Reply) {
        let session = &self.session;
        let agents = match &mut reply {
            Reply::Agent(agent) => core::slice::from_mut(&mut **agent),
            Reply::Agents(agents) => agents,
            Reply::Occupant(_) | Reply::Snapshot(_) | Reply::Screen(_) | Reply::Done => &mut [],
        };
        for agent in agents {
            agent.pane = PaneId(session.qualified(agent.pane.as_str()));
        }
        self.finish(Ok(reply));
    }

    fn fail(&mut self, error: HerdrError) {
        self.finish(Err(error));
    }

    fn finish(&mut self, result: Result<Reply, HerdrError>) {
        self.stage = Stage::Done;
        self.result = Some(result);
    }
}

impl Machine for HerdrAsk {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        match self.stage {
            Stage::Socket(asked) if asked == tag => self.handle_socket(now, outcome),
            Stage::Directory(asked) if asked == tag => self.handle_directory(now, outcome),
            Stage::Cli(asked) if asked == tag => self.handle_cli(outcome),
            _ => {}
        }
    }
}

const NO_SOCKET: &str = "the socket is not there";

fn timed_out(after: Duration) -> String {
    alloc::format!("timed out after {}s", after.as_secs())
}

#[cfg(test)]
mod tests;
