//! What is done in a pane for one request: it is looked at, typed into, and looked at again, all within one budget.
//!
//! ```text
//!            ┌──────── Step: look, read, type, press, rest, claim ────────┐
//!   Course ──┤                                                            ├──▶ Errand ──▶ herdr, clock
//!            └◀─────── Seen: agent and screen, typed, rested, granted ────┘
//! ```
//!
//! A course decides and asks nobody, so that each of its decisions can be tested alone. herdr has no conditional input:
//! between a look and a key there is always a gap, which a course keeps small by looking right before.

mod approve;
mod cycle;
mod pick;
mod send;

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use self::approve::Approve;
use self::cycle::Cycle;
use self::send::Send;
use super::herdr::{HerdrAsk, HerdrError, PaneAgent, Question, Reply, ScreenSource};
use super::inspect::{Inspect, Inspection};
use super::resolve::ResolveError;
use crate::config::{Herdr, HerdrMode};
use crate::http::{ApproveCall, SendCall};
use crate::ids::PaneId;
use crate::io::{Op, Outcome};
use crate::limits::{ANSWER_REST, HERDR_BUDGET};
use crate::machine::{Machine, Tag};
use crate::screen::{self, Dialog, ScreenKind};
use crate::time::{Instant, Now};

/// One request that does something in a pane.
#[derive(Debug)]
pub struct Errand {
    herdr: Herdr,
    pane: PaneId,
    /// What its screen is read by.
    reads: (Option<ScreenKind>, ScreenSource),
    deadline: Instant,
    course: Course,
    doing: Doing,
    typed: bool,
    result: Option<Result<Ended, Failed>>,
}

/// How it came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Everything was typed.
    Sent,
    /// The selected answer was confirmed.
    Approved,
    /// Nothing was pressed, for this reason.
    NotApproved(String),
    /// The agent shows another permission mode now.
    Cycled(Option<String>),
    /// It was asked for another one, and still shows this.
    NotCycled(Option<String>),
    /// This cannot be done here and now: status and text.
    Refused(u16, String),
}

/// herdr did not do its part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The HTTP status.
    pub status: u16,
    /// The body, without its final newline.
    pub body: String,
    /// Whether the last thing that was asked for may have been done all the same.
    pub is_unknown: bool,
}

/// The right to confirm one question, once: its terminal, and herdr's counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Which life of which pane.
    pub terminal: String,
    /// When the agent came to wait.
    pub seq: u64,
}

/// What is decided, by the endpoint that was called.
#[derive(Debug)]
enum Course {
    Send(Send),
    Approve(Approve),
    Cycle(Cycle),
}

/// What a course wants next.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// The agent and its screen.
    Look,
    /// The screen alone.
    Read,
    Type(String),
    Press(Vec<String>),
    /// Give the agent time to take what was typed.
    Rest,
    Claim(Claim),
    End(Ended),
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Begun,
    Agent(Box<View>),
    NoAgent,
    Screen(Shown),
    Typed,
    Rested,
    Granted(bool),
}

/// A pane at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
struct View {
    agent: PaneAgent,
    /// Its screen, or why it cannot be read.
    shown: Result<Shown, String>,
}

/// What a course looks for on a screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Shown {
    dialog: Option<Dialog>,
    mode: Option<String>,
}

#[derive(Debug)]
enum Doing {
    Waiting,
    Looking(Box<Inspect>),
    Reading(Box<HerdrAsk>),
    Typing(Box<HerdrAsk>),
    Resting(Instant),
    Claiming(Claim),
    Over,
}

impl Errand {
    /// `POST /send`
    #[must_use]
    pub fn send(now: Now, herdr: &Herdr, call: SendCall) -> Self {
        Self::new(now, herdr, call.pane.clone(), Course::Send(Send::new(call)))
    }

    /// `POST /approve`
    #[must_use]
    pub fn approve(now: Now, herdr: &Herdr, call: ApproveCall) -> Self {
        Self::new(now, herdr, call.pane.clone(), Course::Approve(Approve::new(call)))
    }

    /// `POST /agent-mode/cycle`
    #[must_use]
    pub fn cycle_mode(now: Now, herdr: &Herdr, pane: PaneId) -> Self {
        Self::new(now, herdr, pane, Course::Cycle(Cycle::default()))
    }

    /// Its time runs from now on; it does nothing before it [begins](Self::begin).
    fn new(now: Now, herdr: &Herdr, pane: PaneId, course: Course) -> Self {
        let deadline = now.mono.plus(HERDR_BUDGET);
        let reads = (None, ScreenSource::Detection);
        Self { herdr: herdr.clone(), pane, reads, deadline, course, doing: Doing::Waiting, typed: false, result: None }
    }

    /// Begins, if it has not.
    pub fn begin(&mut self, now: Now) {
        if matches!(self.doing, Doing::Waiting) {
            self.go_on(now, Seen::Begun);
        }
    }

    /// Whether it has typed or pressed anything, or has asked for it.
    #[must_use]
    pub const fn has_typed(&self) -> bool {
        self.typed || matches!(self.doing, Doing::Typing(_))
    }

    /// When [`handle_tick`](Self::handle_tick) has something to do.
    #[must_use]
    pub const fn rests_until(&self) -> Option<Instant> {
        match self.doing {
            Doing::Resting(until) => Some(until),
            _ => None,
        }
    }

    /// Goes on after a rest.
    pub fn handle_tick(&mut self, now: Now) {
        if self.rests_until().is_some_and(|until| until <= now.mono) {
            self.go_on(now, Seen::Rested);
        }
    }

    /// The right that it needs to go on.
    #[must_use]
    pub const fn claims(&self) -> Option<&Claim> {
        match &self.doing {
            Doing::Claiming(claim) => Some(claim),
            _ => None,
        }
    }

    /// Whether it has that right. It must have been taken by then: the key is pressed at once.
    pub fn handle_claim(&mut self, now: Now, granted: bool) {
        if self.claims().is_some() {
            self.go_on(now, Seen::Granted(granted));
        }
    }

    /// The result, once.
    pub fn take_result(&mut self) -> Option<Result<Ended, Failed>> {
        self.result.take()
    }

    fn go_on(&mut self, now: Now, seen: Seen) {
        let step = match &mut self.course {
            Course::Send(course) => course.next(seen),
            Course::Approve(course) => course.next(seen),
            Course::Cycle(course) => course.next(seen),
        };
        self.doing = match step {
            Step::Look => {
                let inspect = Inspect::until(now, self.deadline, &self.herdr, self.pane.clone());
                Doing::Looking(Box::new(inspect))
            }
            Step::Read => Doing::Reading(self.ask(now, Question::Screen(self.pane.clone(), self.reads.1))),
            Step::Type(text) => Doing::Typing(self.ask(now, Question::Type(self.pane.clone(), text))),
            Step::Press(keys) => Doing::Typing(self.ask(now, Question::Press(self.pane.clone(), keys))),
            Step::Rest => Doing::Resting(now.mono.plus(ANSWER_REST)),
            Step::Claim(claim) => Doing::Claiming(claim),
            Step::End(ended) => {
                self.result = Some(Ok(ended));
                Doing::Over
            }
        };
        self.advance(now);
    }

    fn ask(&self, now: Now, question: Question) -> Box<HerdrAsk> {
        Box::new(HerdrAsk::until(now, self.deadline, &self.herdr, question))
    }

    /// Goes on if there is an answer. Every step asks something new, so that this ends.
    fn advance(&mut self, now: Now) {
        match &mut self.doing {
            Doing::Looking(inspect) => match inspect.take_result() {
                Some(Ok(found)) => self.looked(now, found),
                Some(Err(HerdrError::NoSuchAgent)) => self.go_on(now, Seen::NoAgent),
                Some(Err(error)) => self.fail(error),
                None => {}
            },
            Doing::Reading(ask) => match ask.take_result() {
                Some(Ok(Reply::Screen(text))) => {
                    let shown = Shown::of(self.reads.0, &text);
                    self.go_on(now, Seen::Screen(shown));
                }
                Some(Ok(_)) => self.fail(HerdrError::NoSuchAgent),
                Some(Err(error)) => self.fail(error),
                None => {}
            },
            Doing::Typing(ask) => match ask.take_result() {
                Some(Ok(_)) => {
                    self.typed = true;
                    self.go_on(now, Seen::Typed);
                }
                Some(Err(error)) => self.fail(error),
                None => {}
            },
            Doing::Waiting | Doing::Resting(_) | Doing::Claiming(_) | Doing::Over => {}
        }
    }

    fn looked(&mut self, now: Now, found: Inspection) {
        let Inspection { agent, screen, source, note } = found;
        let kind = ScreenKind::from_label(&agent.kind_label);
        // What this herdr refused at first is not asked for again.
        self.reads = (kind, source);
        // Whatever name it was asked by, herdr types into panes by their id.
        self.pane = agent.pane.clone();
        let shown = match screen {
            Some(text) => Ok(Shown::of(kind, &text)),
            None => Err(note.unwrap_or_else(|| "the screen cannot be read".into())),
        };
        self.go_on(now, Seen::Agent(Box::new(View { agent, shown })));
    }

    fn fail(&mut self, error: HerdrError) {
        if matches!((&self.course, &error), (Course::Approve(_), HerdrError::NoSuchAgent)) {
            // It went away between the look and the key.
            self.doing = Doing::Over;
            self.result = Some(Ok(Ended::NotApproved(approve::NO_AGENT.into())));
            return;
        }
        let is_unknown = matches!(error, HerdrError::Unknown(_));
        let (status, mut body) = match error {
            HerdrError::NoSuchAgent => (404, "no such pane".to_string()),
            HerdrError::NoSuchSession(_) => {
                let error = ResolveError::from(error);
                (error.status, error.body)
            }
            HerdrError::Absent if self.herdr.mode == HerdrMode::Off => (501, HERDR_OFF.to_string()),
            HerdrError::Absent => (501, NO_HERDR.to_string()),
            HerdrError::Failed(text) | HerdrError::Unknown(text) => (502, text),
        };
        if is_unknown {
            body.push_str(UNKNOWN);
        } else if self.typed {
            body.push_str(PARTLY);
        }
        self.doing = Doing::Over;
        self.result = Some(Err(Failed { status, body, is_unknown }));
    }
}

impl Machine for Errand {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        match &mut self.doing {
            Doing::Looking(inspect) => inspect.poll_op(),
            Doing::Reading(ask) | Doing::Typing(ask) => ask.poll_op(),
            Doing::Waiting | Doing::Resting(_) | Doing::Claiming(_) | Doing::Over => None,
        }
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        match &mut self.doing {
            Doing::Looking(inspect) => inspect.handle_outcome(now, tag, outcome),
            Doing::Reading(ask) | Doing::Typing(ask) => ask.handle_outcome(now, tag, outcome),
            Doing::Waiting | Doing::Resting(_) | Doing::Claiming(_) | Doing::Over => {}
        }
        self.advance(now);
    }
}

impl View {
    fn is_blocked(&self) -> bool {
        self.agent.status.trim().eq_ignore_ascii_case("blocked")
    }
}

impl Shown {
    fn of(kind: Option<ScreenKind>, text: &str) -> Self {
        let reading = screen::read(kind, text);
        Self { dialog: reading.dialog, mode: reading.permission_mode }
    }

    /// The name of the question that is asked.
    fn fingerprint(&self) -> Option<String> {
        self.dialog.as_ref().map(Dialog::fingerprint)
    }
}

fn enter() -> Step {
    Step::Press(vec!["Enter".into()])
}

const UNKNOWN: &str = "; whether it was typed is not known: look at the pane before you try again";

const PARTLY: &str = "; what came before it was typed: look at the pane before you try again";

const NO_HERDR: &str = "nothing can be typed: there is no herdr here; start it, or name its socket with --herdr-socket";

const HERDR_OFF: &str = "nothing can be typed: this daemon was started with --herdr none";

/// That the client answers another question than the one that is asked.
const ANOTHER_QUESTION: &str = "the agent asks another question by now: look at its card again";

/// The same where none is asked.
const NO_QUESTION: &str = "the agent does not ask this question any more: look at its card again";
