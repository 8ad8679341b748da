//! Playing a plan: each act changes the world and the model, then everything that clients took is compared.

mod audience;
mod beside;
mod script;
mod verdict;

use core::time::Duration;

use panewire_core::Bridge;

use self::beside::{SHELL, Visitors};
use self::script::{Script, part};
use super::act::{Act, Plan};
use super::meter::{Meter, Metered};
use super::view::{Chronicles, View};
use crate::herdr::Pane;
use crate::sim::config::STATE_DIR;
use crate::sim::scene::{CWD, PANE, SESSION};
use crate::sim::{Transcript, World, config};

/// What was played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Virtual time.
    pub millis: u64,
    /// Acts.
    pub acts: u64,
    /// Acts and operations that went wrong.
    pub faults: u64,
    /// Frames that clients took.
    pub frames: u64,
    /// Clients that came.
    pub clients: u64,
    /// The most that the core held at once.
    pub peak_bytes: usize,
}

/// Plays a plan to its end. The `told` story of a failure costs time.
///
/// # Errors
/// The rule that was broken.
pub fn play(plan: &Plan, told: bool, meter: Option<Meter>) -> (Tally, Result<(), String>) {
    let mut stage = Stage::new(plan, told, meter);
    let mut result = Ok(());
    for act in &plan.acts {
        stage.happens(act);
        result = stage.check();
        if result.is_err() {
            break;
        }
    }
    let result = result.and_then(|()| stage.settles());
    stage.tally.faults += stage.world.disk.faults_met();
    stage.tally.millis = stage.world.elapsed();
    (stage.tally, result)
}

/// The world that is played in, the model of it, and who is there.
struct Stage {
    plan: Plan,
    told: bool,
    meter: Option<Meter>,
    world: World<Metered>,
    files: Chronicles,
    scripts: Vec<Script>,
    current: usize,
    views: Vec<View>,
    visitors: Visitors,
    longest_line: usize,
    others: u32,
    tally: Tally,
}

impl Stage {
    fn new(plan: &Plan, told: bool, meter: Option<Meter>) -> Self {
        let mut world = World::around(daemon(plan, meter), plan.window_bytes).lenient(told);
        world.hints.set(plan.hinting);
        world.herdr.open(Pane::claude(PANE, CWD).with_session(SESSION));
        world.herdr.open(Pane { agent: None, ..Pane::claude(SHELL, CWD) });
        let mut stage = Self {
            plan: plan.clone(),
            told,
            meter,
            world,
            files: Chronicles::new(),
            scripts: Vec::new(),
            current: 0,
            views: Vec::new(),
            visitors: Visitors::default(),
            longest_line: 0,
            others: 0,
            tally: Tally::default(),
        };
        stage.begin(Transcript::new(SESSION, CWD));
        let talk = stage.opening();
        stage.write(talk.as_bytes());
        if let Some(meter) = meter {
            (meter.take_peak)();
        }
        stage
    }

    fn happens(&mut self, act: &Act) {
        self.tally.acts += 1;
        self.tally.faults += u64::from(act.is_fault());
        // Two changes of a file at one moment of time and of one size cannot be told apart by anybody.
        self.world.advance(Duration::from_millis(3));
        match act {
            Act::Talk(lines) => self.writes(|agent| agent.talk(*lines)),
            Act::Burst(lines) => {
                self.writes(|agent| (0..*lines).map(|_| agent.assistant(&"burst ".repeat(3_300))).collect());
            }
            Act::Long(bytes) => self.writes(|agent| agent.assistant(&"long ".repeat(bytes / 5))),
            Act::Glued => self.writes(|agent| [agent.talk(1).trim_end(), &agent.talk(1)].concat()),
            Act::Fragment(thousandths) => self.writes(|agent| {
                let (torn, whole) = (agent.talk(1), agent.talk(1));
                [part(&torn, *thousandths), &whole].concat()
            }),
            Act::Torn(thousandths) => self.torn(*thousandths),
            Act::Cut(thousandths) => self.cut(*thousandths),
            Act::Rewritten(way, content) => {
                let content = self.other_content(*content);
                self.replace(*way, content);
            }
            Act::Away => self.goes_away(),
            Act::Back => self.comes_back(),
            Act::Moved(to) => self.moves(*to),
            Act::Linked(other) => self.links(*other),
            Act::NextSession(entries) => self.next_session(*entries),
            Act::SessionBefore => {
                let before = self.scripts.iter().take(self.current).rposition(|script| !script.elsewhere);
                self.show(before.unwrap_or(self.current));
            }
            Act::Nested(entries) => self.nested(*entries),
            Act::Comes(speed) => self.comes("", *speed, None),
            Act::Returns(who, cursor) => self.returns(*who, *cursor),
            Act::HerdrSlow(millis) => {
                let latency = Duration::from_millis(*millis);
                (self.world.herdr.socket_latency, self.world.herdr.cli_latency) = (latency, latency);
            }
            Act::Restart { told } => self.restart(*told),
            Act::IndexSpoiled(at) => self.spoil_index(*at),
            Act::IndexesSwapped => self.swap_indexes(),
            Act::Beside(beside) => self.beside(*beside),
            Act::Time(millis) => self.world.advance(Duration::from_millis(*millis)),
            Act::Fault(kind, effect, times) => self.world.disk.spoil_times(*times, *kind, "", effect.clone()),
            Act::Hints(hinting) => self.world.hints.set(*hinting),
            Act::Healed => self.world.disk.heal(),
            Act::Herdr(mode) => self.world.herdr.set_mode(mode.clone()),
            Act::HerdrRestarts => self.world.herdr.restart(),
            Act::Leaves(..)
            | Act::Takes(..)
            | Act::HalfOpen(_)
            | Act::Pages(..)
            | Act::Flood(..)
            | Act::Nonsense(..) => self.client_does(act),
        }
        self.world.run();
    }

    fn restart(&mut self, told: bool) {
        if told {
            self.world.shut_down();
        }
        let face = daemon(&self.plan, self.meter);
        self.world.reborn(face);
        self.visitors.lose();
    }

    fn indexes(&self) -> Vec<String> {
        let directory = format!("{STATE_DIR}/index");
        self.world.disk.names(&directory).into_iter().map(|name| format!("{directory}/{name}")).collect()
    }

    fn spoil_index(&mut self, at: usize) {
        let indexes = self.indexes();
        let Some(path) = at.checked_rem(indexes.len()).and_then(|at| indexes.get(at)) else { return };
        let mut bytes = self.world.disk.content(path).unwrap_or_default().to_vec();
        let half = bytes.len() / 2;
        if at.is_multiple_of(2) {
            bytes.truncate(half);
        } else if let Some(byte) = bytes.get_mut(half) {
            *byte ^= 1;
        }
        self.world.disk.write(path, bytes);
    }

    fn swap_indexes(&mut self) {
        if let [one, .., other] = self.indexes().as_slice() {
            let contents = [one, other].map(|path| self.world.disk.content(path).unwrap_or_default().to_vec());
            let [of_one, of_other] = contents;
            self.world.disk.write(one, of_other);
            self.world.disk.write(other, of_one);
        }
    }
}

fn daemon(plan: &Plan, meter: Option<Meter>) -> Metered {
    let mut config = config();
    config.limits.window_bytes = plan.window_bytes;
    config.limits.line_bytes = plan.line_bytes;
    Metered::new(Bridge::new(config), meter)
}
