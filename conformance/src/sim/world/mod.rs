//! The loop around the core, and the rules of its face that are checked on every step.
//!
//! A scenario changes the [`Disk`] and the [`Herdr`], lets clients come, talk and go, and moves time. The world never waits:
//! [`World::run`] does what is due now, [`World::advance`] goes from deadline to deadline.
//!
//! What is checked: outputs only for exchanges that are there and in an order that makes sense; no `Send` before
//! `Accept`; credit (one frame, and the few that belong to it, may overdraw a window); operations within their bounds; each
//! deadline moves on once it was served; work in hand always has an operation or a deadline that brings it on; every
//! client's frames are a [transcript stream](crate::sim::contract); and at the [end](World::finish) nothing is left open.

mod clients;
mod perform;
mod story;
#[cfg(test)]
mod tests;

use core::fmt;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use panewire_core::ids::{ExId, Handle, OpId};
use panewire_core::io::{FailureKind, Fin, Input, Level, Output, Why};
use panewire_core::limits::STREAM_GRACE;
use panewire_core::time::{Instant, Now};
use panewire_core::{Bridge, Config, Misuse};

use crate::sim::client::{Client, Phase};
use crate::sim::clock::Clock;
use crate::sim::config::config;
use crate::sim::disk::Disk;
use crate::sim::herdr::Herdr;
use crate::sim::hints::{Change, Hints};
use crate::sim::random::Random;
use crate::sim::reply::Reply;
use crate::sim::web::Web;

use self::story::Story;

/// Outputs that one input may cause before the core must wait.
const MAX_OUTPUTS: usize = 100_000;
/// Inputs that one moment of virtual time may need.
const MAX_STEPS: usize = 500_000;
/// Broken rules that are told of.
const MAX_TOLD: usize = 4;
/// Ticks in a row that may leave a deadline where it was.
const MAX_IDLE_TICKS: usize = 8;

/// The face of the core: [`Bridge`], or something that stands in for it.
pub trait Face {
    /// [`Bridge::handle_input`]
    ///
    /// # Errors
    /// If outputs were not drained.
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse>;

    /// [`Bridge::poll_output`]
    fn poll_output(&mut self) -> Output;
}

impl Face for Bridge {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        Self::handle_input(self, now, input)
    }

    fn poll_output(&mut self) -> Output {
        Self::poll_output(self)
    }
}

/// The simulated world.
pub struct World<F: Face = Bridge> {
    /// The disk, to change it as agents do.
    pub disk: Disk,
    /// herdr, to change it as people do.
    pub herdr: Herdr,
    /// The servers that the core may call.
    pub web: Web,
    /// The file watcher, which is none at first.
    pub hints: Hints,
    /// Where secrets come from.
    pub random: Random,
    face: F,
    clock: Clock,
    window: usize,
    clients: BTreeMap<ExId, Client>,
    next_client: u64,
    agenda: BTreeMap<(Instant, u64), Due<F>>,
    arranged: u64,
    wait: (Option<Instant>, Why),
    idle_ticks: usize,
    pending: BTreeSet<OpId>,
    /// Those of them that listen to herdr.
    listening: BTreeSet<OpId>,
    read_turn: BTreeMap<Handle, Instant>,
    log: Vec<(Level, String)>,
    story: Story,
    violations: Vec<String>,
    lenient: bool,
}

/// What a scenario wants done later.
type Script<F> = Box<dyn FnOnce(&mut World<F>)>;

/// Something that happens at its time.
enum Due<F: Face> {
    Outcome(OpId, Reply),
    Change(Change),
    Take(ExId),
    Listen(ExId),
    End(ExId),
    More,
    Script(Script<F>),
}

impl World {
    /// A world with the [standard configuration](config).
    #[must_use]
    pub fn new() -> Self {
        Self::with(config())
    }

    /// A world with a configuration of its own.
    #[must_use]
    pub fn with(config: Config) -> Self {
        let window = config.limits.window_bytes;
        Self::around(Bridge::new(config), window)
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// What a scenario does.
impl<F: Face> World<F> {
    /// A world around something with the face of the core.
    pub fn around(face: F, window: usize) -> Self {
        let clock = Clock::new();
        Self {
            disk: Disk::new(clock.file_time()),
            herdr: Herdr::new(),
            web: Web::default(),
            hints: Hints::default(),
            random: Random::default(),
            face,
            clock,
            window,
            clients: BTreeMap::new(),
            next_client: 0,
            agenda: BTreeMap::new(),
            arranged: 0,
            wait: (None, Why::Idle),
            idle_ticks: 0,
            pending: BTreeSet::new(),
            listening: BTreeSet::new(),
            read_turn: BTreeMap::new(),
            log: Vec::new(),
            story: Story::default(),
            violations: Vec::new(),
            lenient: false,
        }
    }

    /// The same world, in which a broken rule ends nothing: [`broken`](Self::broken) tells of it. The story of what happened
    /// is kept only if it is wanted.
    #[must_use]
    pub fn lenient(mut self, with_story: bool) -> Self {
        self.lenient = true;
        self.story = if with_story { Story::default() } else { Story::untold() };
        self
    }

    /// The rules that were broken, and what happened before.
    #[must_use]
    pub fn broken(&self) -> Option<String> {
        let told = self.violations.get(..MAX_TOLD).unwrap_or(&self.violations).join("\n");
        (!told.is_empty()).then(|| format!("{told}\nwhat happened before:\n{}", self.story.whole()))
    }

    /// What happened last.
    #[must_use]
    pub fn story(&self) -> String {
        self.story.whole()
    }

    /// Virtual milliseconds since the beginning.
    #[must_use]
    pub fn elapsed(&self) -> u64 {
        self.clock.mono().as_millis() - Clock::new().mono().as_millis()
    }

    /// The daemon ends without a word and another one begins: every connection is gone, every file is closed, and what was
    /// being done is never answered. Disk, herdr and clocks go on.
    pub fn reborn(&mut self, face: F) {
        self.clients.values_mut().for_each(Client::go);
        self.agenda.retain(|_, due| matches!(due, Due::Script(_)));
        self.pending.clear();
        self.listening.clear();
        self.read_turn.clear();
        self.disk.close_all();
        self.hints.end_all();
        self.wait = (None, Why::Idle);
        self.idle_ticks = 0;
        self.face = face;
    }

    /// herdr tells this to all who listen, so often.
    pub fn tell(&mut self, line: &str, times: usize) {
        for op in self.listening.clone() {
            for _ in 0..times {
                self.arrange(self.clock.mono(), Due::Outcome(op, Reply::Answer(line.into())));
            }
        }
    }

    /// herdr hangs up on all who listen.
    pub fn hang_up(&mut self) {
        for op in self.listening.clone() {
            self.arrange(self.clock.mono(), Due::Outcome(op, Reply::failed(FailureKind::Lost)));
        }
    }

    /// How many streams of herdr are listened to.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.listening.len()
    }

    /// The runtime is told to stop.
    pub fn shut_down(&mut self) {
        self.hand(Input::Shutdown);
        self.run();
    }

    /// Does this after a while of virtual time.
    pub fn after(&mut self, delay: Duration, script: impl FnOnce(&mut Self) + 'static) {
        let at = self.clock.mono().plus(delay);
        self.arrange(at, Due::Script(Box::new(script)));
    }

    /// Does everything that is due now; time stands still.
    pub fn run(&mut self) {
        let now = self.clock.mono();
        for _ in 0..MAX_STEPS {
            self.announce();
            if self.lenient && !self.violations.is_empty() {
                return;
            }
            if let Some(due) = self.take_due(now) {
                self.idle_ticks = 0;
                self.happen(due);
            } else if self.wait.0.is_some_and(|until| until <= now) {
                self.idle_ticks += 1;
                if self.idle_ticks > MAX_IDLE_TICKS {
                    self.violate(format!("the deadline for {:?} stays in the past: livelock", self.wait.1));
                    break;
                }
                self.hand(Input::Tick);
            } else {
                self.idle_ticks = 0;
                self.check_alive();
                self.judge();
                return;
            }
        }
        self.violate(format!("more than {MAX_STEPS} inputs without the passing of time"));
        self.judge();
    }

    /// Lets time pass, and does everything that is due on the way.
    pub fn advance(&mut self, by: Duration) {
        let end = self.clock.mono().plus(by);
        loop {
            self.run();
            let next = [self.agenda.keys().next().map(|(at, _)| *at), self.wait.0].into_iter().flatten().min();
            let over = self.lenient && !self.violations.is_empty();
            match next {
                Some(next) if next <= end && !over => self.move_clock(next),
                _ => break,
            }
        }
        self.move_clock(end);
        self.run();
    }

    /// Ends it: every client leaves, streams are dropped after their grace, and nothing may be left open.
    pub fn finish(mut self) {
        self.close_down();
    }

    /// What [`finish`](Self::finish) does, for a world that is looked at afterwards.
    pub fn close_down(&mut self) {
        let clients: Vec<ExId> = self.clients.keys().copied().collect();
        clients.into_iter().for_each(|ex| self.leave(ex));
        self.advance(STREAM_GRACE * 2 + Duration::from_secs(10));
        let open = self.disk.open_files().join(", ");
        if !open.is_empty() {
            self.violate(format!("still open at the end: {open}"));
        }
        let watched = self.hints.watched().join(", ");
        if !watched.is_empty() {
            self.violate(format!("still watched at the end: {watched}"));
        }
        // Who watches for somebody that is to be pushed to goes on to listen.
        let goes_on = self.wait.1 == Why::EventsPoll;
        if self.pending.iter().any(|op| !goes_on || !self.listening.contains(op)) {
            self.violate(format!("operations still wanted at the end: {:?}", self.pending));
        }
        self.judge();
    }

    /// Both clocks, to set the one on the wall.
    pub const fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    /// The deadline that the core waits for.
    #[must_use]
    pub const fn waits_for(&self) -> (Option<Instant>, Why) {
        self.wait
    }

    /// What the core said to the operator.
    #[must_use]
    pub fn log(&self) -> &[(Level, String)] {
        &self.log
    }
}

/// How the world goes on.
impl<F: Face> World<F> {
    fn hand(&mut self, input: Input<'_>) {
        self.story.input(self.clock.mono().as_millis(), &input);
        if let Err(misuse) = self.face.handle_input(self.clock.now(), input) {
            self.violate(format!("{misuse}"));
        }
        for _ in 0..MAX_OUTPUTS {
            let output = self.face.poll_output();
            self.story.output(&output);
            if let Output::Wait { until, why } = output {
                if why == Why::More {
                    self.arrange(self.clock.mono(), Due::More);
                }
                self.wait = (until, why);
                let clients: Vec<ExId> = self.clients.keys().copied().collect();
                clients.into_iter().for_each(|ex| self.arrange_taking(ex));
                return;
            }
            self.perform(output);
        }
        self.violate(format!("more than {MAX_OUTPUTS} outputs for one input"));
    }

    fn happen(&mut self, due: Due<F>) {
        match due {
            Due::Outcome(op, reply) => {
                let more = reply == Reply::Started || matches!(reply, Reply::Answer(_)) && self.listening.contains(&op);
                let fin = if more { Fin::More } else { Fin::Last };
                let wanted = if fin == Fin::More { self.pending.contains(&op) } else { self.pending.remove(&op) };
                if fin == Fin::Last {
                    self.listening.remove(&op);
                }
                if wanted {
                    self.hand(Input::Outcome(op, reply.outcome(), fin));
                }
            }
            Due::Change(change) => self.hand(change.input()),
            Due::Take(ex) => self.take(ex),
            Due::Listen(ex) => self.listen(ex),
            Due::End(ex) => self.leave(ex),
            Due::More => self.hand(Input::Tick),
            Due::Script(script) => script(self),
        }
    }

    fn arrange(&mut self, at: Instant, due: Due<F>) {
        self.arranged += 1;
        self.agenda.insert((at, self.arranged), due);
    }

    /// The watcher tells what changed on the disk.
    fn announce(&mut self) {
        let changed = self.disk.take_changes();
        if !changed.is_empty() {
            let (changes, after) = self.hints.announce(&changed, &self.disk);
            let at = self.clock.mono().plus(after);
            changes.into_iter().for_each(|change| self.arrange(at, Due::Change(change)));
        }
    }

    fn take_due(&mut self, now: Instant) -> Option<Due<F>> {
        let first = self.agenda.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    fn move_clock(&mut self, to: Instant) {
        self.clock.move_to(to);
        self.disk.set_time(self.clock.file_time());
    }

    /// Clients are watched over: something must be going to happen.
    fn check_alive(&mut self) {
        let open = self.clients.values().any(|client| matches!(client.phase, Phase::Asked | Phase::Open));
        if open && self.wait.0.is_none() && self.pending.is_empty() {
            self.violate("a client is there, and neither a deadline nor an operation".into());
        }
    }

    fn violate(&mut self, what: String) {
        self.violations.push(what);
    }

    /// A scenario ends where a rule was broken first.
    #[expect(clippy::panic, reason = "the scenario has failed")]
    fn judge(&self) {
        if let Some(broken) = self.broken().filter(|_| !self.lenient) {
            panic!("{broken}");
        }
    }
}

impl<F: Face> fmt::Debug for World<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("clock", &self.clock)
            .field("clients", &self.clients)
            .field("wait", &self.wait)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}
