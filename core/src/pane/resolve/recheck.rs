//! Whether a watched pane still shows the transcript that is followed.

use alloc::boxed::Box;

use super::{Resolved, Step, look_at_both_ends, newest, wanted_by};
use crate::agent::AgentKind;
use crate::agent::locate::{Locate, LocateError, Located, Wanted, without_final_slash};
use crate::agent::sessions::Sessions;
use crate::config::{Config, Roots};
use crate::io::{Facts, FailureKind, FileKind, FileTime, Op, Outcome};
use crate::limits;
use crate::machine::{Machine, Tag};
use crate::pane::herdr::{HerdrAsk, HerdrError, PaneAgent, Question, Reply};
use crate::pane::name::PaneName;
use crate::time::Now;

/// What a second look at a pane comes to. Whatever is resolved here is what the next recheck starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The same transcript, with fresh facts about it and its agent.
    Same(Resolved),
    /// The same session, whose file was moved, or came to be elsewhere than expected.
    Relocated(Resolved),
    /// Another session: the one to follow from now on.
    Moved(Resolved),
    /// It cannot be told now. The transcript stays, and the question is asked again later.
    Unknown,
}

/// Asks once whether a pane still shows the transcript that was resolved before.
#[derive(Debug)]
pub struct Recheck {
    name: PaneName,
    roots: Roots,
    current: Resolved,
    /// Whether the current file is still where it was, and did not change since the last look.
    is_there: bool,
    is_quiet: bool,
    step: Stage,
    result: Option<Verdict>,
}

#[derive(Debug)]
enum Stage {
    /// Facts about the current file, which may be asked for already.
    Current {
        asked: bool,
    },
    /// A step of resolving, and what its end means.
    Step(Step, Purpose),
    Done,
}

#[derive(Debug)]
enum Purpose {
    /// herdr says what is in the pane.
    Agent,
    /// The current session, which is not where it was.
    Relocation,
    /// Another session that was reported. `new_life`: the pane was started anew, so that nothing of it is left.
    Rotation { agent: Box<PaneAgent>, new_life: bool },
    /// The newest session of a standalone pane.
    Newest,
    /// The current session, of which no file of its own tells when it changed.
    Current,
    /// The transcript that the verdict is about can be read.
    Reading(fn(Resolved) -> Verdict, Box<Resolved>),
}

impl Recheck {
    /// Looks again at what was resolved before. `demo` is where the demo conversation is, if it is served.
    #[must_use]
    pub fn new(now: Now, config: &Config, current: &Resolved, demo: Option<&Located>) -> Self {
        let name = PaneName::of(&current.pane);
        let mut recheck = Self {
            name,
            roots: config.roots.clone(),
            current: current.clone(),
            is_there: false,
            is_quiet: false,
            step: Stage::Done,
            result: None,
        };
        match &recheck.name {
            PaneName::Herdr => {
                let ask = HerdrAsk::new(now, &config.herdr, Question::Agent(current.pane.clone()));
                recheck.step = Stage::Step(Step::Agent(Box::new(ask)), Purpose::Agent);
            }
            PaneName::Demo => recheck.compare_demo(demo),
            PaneName::Session(..) | PaneName::Directory(..) | PaneName::Latest(_) => recheck.look_at_current(),
        }
        recheck.advance();
        recheck
    }

    /// The verdict, once. No file is open by then.
    pub fn take_result(&mut self) -> Option<Verdict> {
        self.result.take()
    }

    fn compare_demo(&mut self, demo: Option<&Located>) {
        let Some(demo) = demo else { return self.finish(Verdict::Unknown) };
        let is_same = demo.session == self.current.located.session;
        self.current.located = demo.clone();
        let current = self.current.clone();
        self.finish(if is_same { Verdict::Same(current) } else { Verdict::Moved(current) });
    }

    /// Goes on as far as the answers at hand allow.
    fn advance(&mut self) {
        while let Stage::Step(step, _) = &mut self.step {
            let Some(end) = End::of(step) else { return };
            let Stage::Step(_, purpose) = core::mem::replace(&mut self.step, Stage::Done) else { return };
            self.handle_end(end, purpose);
        }
    }

    fn handle_end(&mut self, end: End, purpose: Purpose) {
        match (end, purpose) {
            (End::Agent(Ok(Reply::Agent(agent))), Purpose::Agent) => self.handle_agent(*agent),
            (End::Located(Ok(located)), Purpose::Relocation) => self.handle_relocation(located),
            (End::Located(Err(_)), Purpose::Relocation) => self.stay(),
            (End::Located(Ok(located)), Purpose::Rotation { agent, new_life }) => {
                self.handle_rotation(located, *agent, new_life);
            }
            (End::Located(Ok(located)), Purpose::Newest) => self.handle_newest(located),
            (End::Located(Err(_)), Purpose::Newest) if self.is_there => self.stay(),
            (End::Located(located), Purpose::Current) => {
                if let Ok(located) = located {
                    self.current_is_there(located.modified);
                }
                self.look_further();
            }
            (End::Read(true), Purpose::Reading(verdict, resolved)) => self.finish(verdict(*resolved)),
            _ => self.finish(Verdict::Unknown),
        }
    }

    fn handle_agent(&mut self, agent: PaneAgent) {
        if AgentKind::from_label(&agent.kind_label) != Some(self.current.kind) {
            return self.finish(Verdict::Unknown);
        }
        let new_life = is_new_life(self.current.agent.as_ref(), &agent);
        match wanted_by(&agent) {
            // Nothing is known about the new agent yet.
            Wanted::Newest if new_life => self.finish(Verdict::Unknown),
            // An id that is missing is no rotation.
            Wanted::Newest => self.look_at_current_with(agent),
            wanted if wanted.is(&self.current.located) => self.look_at_current_with(agent),
            wanted => {
                let step = self.locate(agent.directory(), &wanted);
                self.step = Stage::Step(step, Purpose::Rotation { agent: Box::new(agent), new_life });
            }
        }
    }

    fn handle_rotation(&mut self, located: Located, agent: PaneAgent, new_life: bool) {
        if !located.exists {
            return self.finish(Verdict::Unknown);
        }
        match &located.recorded_cwd {
            _ if new_life => {}
            None => return self.finish(Verdict::Unknown),
            Some(cwd) if self.is_related(cwd, &agent) => {}
            // A nested run of the same agent reported its own session.
            Some(_) => return self.look_at_current_with(agent),
        }
        let resolved = Resolved { agent: Some(agent), located, ..self.current.clone() };
        self.read(Verdict::Moved, resolved);
    }

    /// Whether a transcript that recorded `cwd` can be of this pane.
    fn is_related(&self, cwd: &str, agent: &PaneAgent) -> bool {
        let of_pane = [agent.cwd.as_deref(), agent.foreground_cwd.as_deref()];
        self.current.located.recorded_cwd.as_deref().is_some_and(|before| is_same_path(before, cwd))
            || of_pane.into_iter().flatten().any(|place| is_within(place, cwd) || is_within(cwd, place))
    }

    fn look_at_current_with(&mut self, agent: PaneAgent) {
        self.current.agent = Some(agent);
        self.look_at_current();
    }

    fn look_at_current(&mut self) {
        let follows_newest = matches!(self.name, PaneName::Directory(..) | PaneName::Latest(_));
        if follows_newest && self.current.kind.is_stored() {
            let step = self.locate(None, &Wanted::Session(self.current.located.session.clone()));
            self.step = Stage::Step(step, Purpose::Current);
        } else if self.current.located.exists && !self.current.located.is_spooled() {
            self.step = Stage::Current { asked: false };
        } else {
            self.relocate();
        }
    }

    fn handle_current(&mut self, outcome: Outcome<'_>) {
        match outcome {
            Outcome::Facts(Facts { kind: FileKind::File, modified, .. }) => self.current_is_there(modified),
            Outcome::Failed(failure) if failure.kind == FailureKind::NotFound => {}
            // It is there, and the follower of the file will say what is wrong with it.
            _ => self.is_there = true,
        }
        self.look_further();
    }

    fn current_is_there(&mut self, modified: FileTime) {
        self.is_there = true;
        self.is_quiet = modified == self.current.located.modified;
        self.current.located.modified = modified;
    }

    /// What the pane shows, now that it is known whether the current transcript is still there.
    fn look_further(&mut self) {
        match &self.name {
            PaneName::Directory(_, cwd) => {
                let step = self.locate(Some(cwd), &Wanted::Newest);
                self.step = Stage::Step(step, Purpose::Newest);
            }
            PaneName::Latest(kind) => {
                let sessions = Sessions::new(&self.roots, &[*kind], limits::MAX_LATEST_PROBED);
                self.step = Stage::Step(Step::Newest(Box::new(sessions)), Purpose::Newest);
            }
            _ if self.is_there => self.stay(),
            _ => self.relocate(),
        }
    }

    fn relocate(&mut self) {
        let reported = self.current.agent.as_ref();
        // By the name that it was reported under; what a nested run reported is not about it.
        let reported_as = reported.map(wanted_by).filter(|wanted| wanted.is(&self.current.located));
        let wanted = reported_as.unwrap_or_else(|| Wanted::Session(self.current.located.session.clone()));
        let step = self.locate(reported.and_then(PaneAgent::directory), &wanted);
        self.step = Stage::Step(step, Purpose::Relocation);
    }

    fn locate(&self, cwd: Option<&str>, wanted: &Wanted) -> Step {
        Step::Locate(Box::new(Locate::new(self.current.kind, &self.roots, cwd, wanted)))
    }

    fn handle_relocation(&mut self, located: Located) {
        if !located.exists {
            return self.stay();
        }
        let is_elsewhere = located.path != self.current.located.path;
        self.current.located = located;
        if is_elsewhere {
            self.read(Verdict::Relocated, self.current.clone());
        } else {
            self.stay();
        }
    }

    /// The newest session is followed once the current one rests: two that work at the same time do not take turns.
    fn handle_newest(&mut self, located: Located) {
        let current = &self.current.located;
        let is_another = (&located.path, &located.session) != (&current.path, &current.session);
        let is_newer = is_another && located.modified > current.modified;
        if self.is_there && !(is_newer && self.is_quiet) {
            return self.stay();
        }
        let resolved = Resolved { located, ..self.current.clone() };
        self.read(Verdict::Moved, resolved);
    }

    fn read(&mut self, verdict: fn(Resolved) -> Verdict, resolved: Resolved) {
        match look_at_both_ends(resolved.kind, &resolved.located) {
            Some(probe) => {
                self.step = Stage::Step(Step::Read(Box::new(probe)), Purpose::Reading(verdict, Box::new(resolved)))
            }
            None => self.finish(Verdict::Unknown),
        }
    }

    fn stay(&mut self) {
        self.finish(Verdict::Same(self.current.clone()));
    }

    fn finish(&mut self, verdict: Verdict) {
        self.step = Stage::Done;
        self.result = Some(verdict);
    }
}

impl Machine for Recheck {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        match &mut self.step {
            Stage::Current { asked } => {
                let is_new = !core::mem::replace(asked, true);
                is_new.then(|| (Tag(0), Op::Stat { path: self.current.located.path.clone() }))
            }
            Stage::Step(step, _) => step.poll_op(),
            Stage::Done => None,
        }
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        match &mut self.step {
            Stage::Current { .. } => self.handle_current(outcome),
            Stage::Step(step, _) => step.handle_outcome(now, tag, outcome),
            Stage::Done => {}
        }
        self.advance();
    }
}

/// How a step ended.
enum End {
    Agent(Result<Reply, HerdrError>),
    Located(Result<Located, LocateError>),
    Read(bool),
}

impl End {
    fn of(step: &mut Step) -> Option<Self> {
        match step {
            Step::Agent(ask) | Step::Siblings(ask) => ask.take_result().map(Self::Agent),
            Step::Locate(locate) => locate.take_result().map(Self::Located),
            Step::Newest(sessions) => sessions.take_result().map(newest).map(Self::Located),
            Step::Read(probe) => probe.take_result().map(|looked| Self::Read(looked.is_ok())),
            Step::Done => None,
        }
    }
}

/// Whether the pane was started anew since: what has the same name is another pane.
fn is_new_life(before: Option<&PaneAgent>, now: &PaneAgent) -> bool {
    match (before.and_then(|agent| agent.terminal_id.as_deref()), now.terminal_id.as_deref()) {
        (Some(before), Some(now)) => before != now,
        _ => false,
    }
}

fn is_same_path(a: &str, b: &str) -> bool {
    without_final_slash(a) == without_final_slash(b)
}

/// Whether `path` is `ancestor` or lies below it.
fn is_within(path: &str, ancestor: &str) -> bool {
    let (path, ancestor) = (without_final_slash(path), without_final_slash(ancestor));
    !ancestor.is_empty()
        && path.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || ancestor == "/")
}

#[cfg(test)]
mod tests;
