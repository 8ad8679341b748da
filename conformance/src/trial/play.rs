//! Playing a plan: each act changes the world and the model, then everything that clients took is compared.

use core::time::Duration;

use panewire_core::Bridge;
use panewire_core::ids::ExId;
use panewire_core::limits::{MAX_EXCHANGES, RING_BYTES};

use super::act::{Act, Content, Cursor, Nonsense, Plan, Way};
use super::chronicle::Chronicle;
use super::meter::{Meter, Metered};
use super::view::{Chronicles, View, base};
use crate::herdr::{Mode, Pane};
use crate::sim::config::{CLAUDE_ROOT, STATE_DIR};
use crate::sim::scene::{CWD, PANE, SESSION};
use crate::sim::transcript::project_directory;
use crate::sim::{Ask, Speed, TOKEN, Transcript, World, config};

/// What the core may hold beside its streams and clients.
const BASE_BYTES: usize = 1024 * 1024;
/// What one stream may hold beside its ring and two lines: the line it splits, and the entry it makes of it.
const STREAM_BYTES: usize = 256 * 1024;
/// What one client may hold beside its window and two lines.
const CLIENT_BYTES: usize = 128 * 1024;
/// Clients that are there at once; one more is not let in.
const MAX_VIEWS: usize = 24;

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

/// The session's file: who writes it, where it lies.
#[derive(Debug)]
struct Script {
    agent: Transcript,
    path: String,
    away: bool,
    /// It belongs to a run in another directory, which the pane does not follow.
    elsewhere: bool,
    /// The rest of a torn line.
    rest: Vec<u8>,
}

struct Stage {
    plan: Plan,
    told: bool,
    meter: Option<Meter>,
    world: World<Metered>,
    files: Chronicles,
    scripts: Vec<Script>,
    current: usize,
    views: Vec<View>,
    longest_line: usize,
    others: u32,
    tally: Tally,
}

impl Stage {
    fn new(plan: &Plan, told: bool, meter: Option<Meter>) -> Self {
        let mut world = World::around(daemon(plan, meter), plan.window_bytes).lenient(told);
        world.hints.set(plan.hinting);
        world.herdr.open(Pane::claude(PANE, CWD).with_session(SESSION));
        let mut stage = Self {
            plan: plan.clone(),
            told,
            meter,
            world,
            files: Chronicles::new(),
            scripts: Vec::new(),
            current: 0,
            views: Vec::new(),
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

    fn opening(&mut self) -> String {
        let (entries, padding) = (self.plan.entries, self.plan.padding);
        let agent = &mut self.script().agent;
        if padding == 0 {
            agent.talk(entries)
        } else {
            (0..entries).map(|_| agent.user(&"pad ".repeat(padding / 4))).collect()
        }
    }

    fn begin(&mut self, agent: Transcript) {
        self.files.insert(agent.session().into(), Chronicle::new(self.plan.line_bytes));
        let (path, elsewhere) = (agent.path(), agent.path() != Transcript::new(agent.session(), CWD).path());
        self.scripts.push(Script { agent, path, away: false, elsewhere, rest: Vec::new() });
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
            Act::Cut(thousandths) => {
                let content = self.file().content();
                let cut = content.get(..content.len() * thousandths / 1_000).unwrap_or_default().to_vec();
                self.replace(Way::InPlace, cut);
            }
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

    fn client_does(&mut self, act: &Act) {
        let (Act::Leaves(who)
        | Act::Takes(who, _)
        | Act::HalfOpen(who)
        | Act::Pages(who, ..)
        | Act::Flood(who, _)
        | Act::Nonsense(who, _)) = act
        else {
            return;
        };
        let Some(at) = who.checked_rem(self.views.len()) else { return };
        let Some(ex) = self.views.get(at).map(|view| view.ex) else { return };
        match act {
            Act::Leaves(_) => self.world.leave(ex),
            Act::Takes(_, speed) => self.world.set_speed(ex, *speed),
            Act::HalfOpen(_) => {
                self.world.stop_answering(ex);
                self.world.set_speed(ex, Speed::Stuck);
            }
            Act::Pages(_, before, limit) => self.world.load_older(ex, *before, *limit),
            Act::Flood(_, times) => (0..*times).for_each(|n| self.world.load_older(ex, 40 * u64::from(n), 50)),
            Act::Nonsense(_, Nonsense::Text) => self.world.say(ex, "nonsense"),
            Act::Nonsense(_, Nonsense::Binary) => self.world.say_binary(ex, &[0, 159]),
            Act::Nonsense(_, Nonsense::Fault(fault)) => self.world.say_wrong(ex, *fault),
            _ => {}
        }
    }

    #[expect(clippy::expect_used, reason = "the first session begins with the stage, and current names one")]
    fn script(&mut self) -> &mut Script {
        self.scripts.get_mut(self.current).expect("a current session")
    }

    #[expect(clippy::expect_used, reason = "every session has its file from its beginning")]
    fn file(&mut self) -> &mut Chronicle {
        let session = self.script().agent.session().to_owned();
        self.files.get_mut(&session).expect("the file of the session")
    }

    /// The agent writes, unless its file is away: then it does not know where to.
    fn write(&mut self, bytes: &[u8]) {
        let script = self.script();
        if script.away {
            return;
        }
        let mut written = core::mem::take(&mut script.rest);
        written.extend_from_slice(bytes);
        let path = script.path.clone();
        self.note_lines(&written);
        self.world.disk.append(&path, &written);
        self.file().append(&written);
    }

    fn writes(&mut self, what: impl FnOnce(&mut Transcript) -> String) {
        let text = what(&mut self.script().agent);
        self.write(text.as_bytes());
    }

    fn torn(&mut self, thousandths: usize) {
        let line = self.script().agent.assistant("torn — “here” 🔎 or there").into_bytes();
        let (head, rest) = line.split_at(line.len() * thousandths / 1_000);
        self.write(head);
        let script = self.script();
        if !script.away {
            script.rest = rest.to_vec();
        }
    }

    fn other_content(&mut self, content: Content) -> Vec<u8> {
        let now = self.file().content().to_vec();
        match content {
            Content::Other(entries) => self.other(entries).into_bytes(),
            Content::SameSize => {
                let entries = u32::try_from(now.len() / 200).unwrap_or(u32::MAX).saturating_add(2);
                let mut other = self.other(entries).into_bytes();
                other.resize(now.len(), b' ');
                other
            }
            Content::Compacted(at, more) => {
                let mut lines: Vec<&[u8]> = now.split_inclusive(|byte| *byte == b'\n').collect();
                if let Some(at) = at.checked_rem(lines.len()) {
                    lines.remove(at);
                }
                let mut compacted = lines.concat();
                compacted.extend_from_slice(self.script().agent.talk(more).as_bytes());
                compacted
            }
        }
    }

    fn other(&mut self, entries: u32) -> String {
        self.others += 1;
        Transcript::new(&format!("other-{}", self.others), CWD).talk(entries)
    }

    fn replace(&mut self, way: Way, content: Vec<u8>) {
        let script = self.script();
        if script.away {
            return;
        }
        script.rest.clear();
        let path = script.path.clone();
        self.note_lines(&content);
        match way {
            Way::InPlace => self.world.disk.write(&path, &content),
            Way::RenamedOver => self.world.disk.replace(&path, &content),
            Way::Deleted(millis) => {
                self.world.disk.delete(&path);
                self.world.advance(Duration::from_millis(millis));
                self.world.disk.append(&path, &content);
            }
        }
        self.file().set(content);
    }

    fn goes_away(&mut self) {
        let script = self.script();
        if !core::mem::replace(&mut script.away, true) {
            let path = script.path.clone();
            self.world.disk.rename(&path, &format!("{path}.away"));
        }
    }

    fn comes_back(&mut self) {
        let script = self.script();
        if core::mem::take(&mut script.away) {
            let path = script.path.clone();
            self.world.disk.rename(&format!("{path}.away"), &path);
        }
    }

    fn moves(&mut self, to: u64) {
        let script = self.script();
        let name = format!("{}.jsonl", script.agent.session());
        let directory = if to == 0 { CWD.to_owned() } else { format!("{CWD}-{to}") };
        let moved = format!("{}/{name}", project_directory(&directory));
        if !script.away && script.path != moved {
            let path = core::mem::replace(&mut script.path, moved.clone());
            self.world.disk.rename(&path, &moved);
        }
    }

    fn links(&mut self, other: Option<u32>) {
        if self.script().away {
            return;
        }
        let path = self.script().path.clone();
        self.others += 1;
        let target = format!("{CLAUDE_ROOT}/projects/-store/kept-{}", self.others);
        match other {
            None => self.world.disk.rename(&path, &target),
            Some(entries) => {
                let content = self.other(entries).into_bytes();
                self.world.disk.append(&target, &content);
                self.world.disk.delete(&path);
                self.script().rest.clear();
                self.file().set(content);
            }
        }
        self.world.disk.link(&path, &target);
    }

    fn next_session(&mut self, entries: u32) {
        let session = format!("session-{}", self.scripts.len());
        self.begin(Transcript::new(&session, CWD));
        let before = core::mem::replace(&mut self.current, self.scripts.len() - 1);
        self.writes(|agent| agent.talk(entries));
        let next = core::mem::replace(&mut self.current, before);
        self.show(next);
    }

    /// A run in another directory is reported for the pane: whoever is there stays where he is.
    fn nested(&mut self, entries: u32) {
        let session = format!("session-{}", self.scripts.len());
        self.begin(Transcript::new(&session, "/srv/elsewhere"));
        let before = core::mem::replace(&mut self.current, self.scripts.len() - 1);
        self.writes(|agent| agent.talk(entries));
        self.current = before;
        self.world.herdr.rotate(PANE, &session);
    }

    fn show(&mut self, session: usize) {
        self.write(b"");
        self.comes_back();
        self.current = session;
        self.comes_back();
        let session = self.script().agent.session().to_owned();
        self.world.herdr.rotate(PANE, &session);
    }

    fn comes(&mut self, cursor: &str, speed: Speed, before: Option<(View, bool)>) {
        self.views.retain(|view| !self.world.client(view.ex).left());
        if self.views.len() >= MAX_VIEWS.min(MAX_EXCHANGES) {
            return;
        }
        self.tally.clients += 1;
        let target = format!("/agent-transcript?pane={PANE}&token={TOKEN}{cursor}");
        let ex = self.world.ask(&Ask::socket(&target).at(speed));
        self.views.push(before.map_or_else(|| View::new(ex), |(view, good)| view.returned(ex, good)));
    }

    /// Breaks off and comes back. With what it has it may say where it wants to go on.
    fn returns(&mut self, who: usize, cursor: Cursor) {
        let Some(at) = who.checked_rem(self.views.len()) else { return };
        let view = self.views.remove(at);
        self.world.leave(view.ex);
        let Some(id) = view.head_id() else { return self.comes("", Speed::Full, None) };
        // In a file that lost a line the number before may be the right one.
        let rewritten = self.files.get(base(&view.session)).is_none_or(|file| file.now() > 0);
        let cursor = if rewritten && cursor == Cursor::WrongSeq { Cursor::WrongId } else { cursor };
        let (mut id, mut seq, mut generation) = (id.replace('#', "%23"), view.head, view.generation.clone());
        match cursor {
            Cursor::True => {}
            Cursor::WrongId => id.push('x'),
            Cursor::WrongSeq => seq = seq.saturating_sub(1),
            Cursor::WrongGeneration => generation.push('7'),
        }
        let session = view.session.replace('~', "%7E");
        let query = format!("&session={session}&generation={generation}&since_seq={seq}&since_id={id}");
        self.comes(&query, Speed::Full, Some((view, cursor == Cursor::True)));
    }

    fn restart(&mut self, told: bool) {
        if told {
            self.world.shut_down();
        }
        let face = daemon(&self.plan, self.meter);
        self.world.reborn(face);
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

    fn note_lines(&mut self, written: &[u8]) {
        let longest = written.split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap_or(0);
        // A line that is torn and continued is counted in its parts; it is never longer than all of them.
        self.longest_line = self.longest_line.max(2 * longest.min(self.plan.line_bytes));
    }

    fn check(&mut self) -> Result<(), String> {
        self.world.disk.take_accesses();
        self.world.herdr.take_questions();
        let broken = self.world.broken();
        for view in &mut self.views {
            let before = view.seen();
            let seen = view.look(self.world.client(view.ex), &mut self.files);
            self.tally.frames += view.seen() - before;
            if let Err(wrong) = seen {
                let story = if self.told { self.world.story() } else { String::new() };
                return Err(format!("{wrong}\n{story}"));
            }
        }
        broken.map_or_else(|| self.check_memory(), Err)
    }

    fn check_memory(&mut self) -> Result<(), String> {
        let Some(meter) = self.meter else { return Ok(()) };
        let peak = (meter.take_peak)();
        self.tally.peak_bytes = self.tally.peak_bytes.max(peak);
        let lines = 3 * self.longest_line;
        let streams = self.scripts.len() * (RING_BYTES + STREAM_BYTES + lines);
        // Of a client that is gone a frame may still be on its way.
        let clients = (MAX_VIEWS.min(self.views.len()) + 1) * (self.plan.window_bytes + CLIENT_BYTES + lines);
        let ceiling = BASE_BYTES + streams + clients;
        if peak > ceiling { Err(format!("{peak} bytes of memory, the ceiling is {ceiling}")) } else { Ok(()) }
    }

    /// Everything works again, and everybody has time: then all of them have what the file has, and nothing is left.
    fn settles(&mut self) -> Result<(), String> {
        self.world.disk.heal();
        self.world.herdr.set_mode(Mode::Normal);
        (self.world.herdr.socket_latency, self.world.herdr.cli_latency) = (Duration::ZERO, Duration::ZERO);
        self.show(self.current);
        // A session whose file names no directory is not gone over to.
        self.writes(|agent| ["\n", &agent.talk(1)].concat());
        for at in 0..self.views.len() {
            if let Some(ex) = self.views.get(at).map(|view| view.ex) {
                self.world.set_speed(ex, Speed::Full);
            }
        }
        for _ in 0..30 {
            self.world.advance(Duration::from_secs(1));
            self.check()?;
        }
        self.comes("", Speed::Full, None);
        self.world.advance(Duration::from_secs(10));
        if let Some(ex) = self.views.last().map(|view| view.ex) {
            self.page_to_the_beginning(ex)?;
        }
        self.check()?;
        let session = self.script().agent.session().to_owned();
        for view in &self.views {
            let client = self.world.client(view.ex);
            if client.accepted() && client.closing().is_none() && !client.left() {
                view.settled(&session, &mut self.files)?;
            }
        }
        let entries = self.file().now();
        let all = self.file().entries(entries).len();
        if let Some(last) = self.views.last()
            && last.entries.len() != all
        {
            return Err(format!("paged to the beginning: {} of {all} entries", last.entries.len()));
        }
        self.check_open_files()?;
        self.world.close_down();
        self.check()
    }

    /// Nobody is looking for anything now: a file is open for its stream and for nothing else.
    fn check_open_files(&self) -> Result<(), String> {
        let mut open = self.world.disk.open_files();
        open.sort_unstable();
        match open.windows(2).find(|pair| matches!(pair, [one, other] if one == other)) {
            Some(pair) => Err(format!("open more than once: {pair:?}")),
            None => Ok(()),
        }
    }

    fn page_to_the_beginning(&mut self, ex: ExId) -> Result<(), String> {
        loop {
            self.check()?;
            let oldest =
                self.views.iter().find(|view| view.ex == ex).and_then(|view| view.entries.keys().next().copied());
            let Some(oldest @ 2..) = oldest else { return Ok(()) };
            self.world.load_older(ex, oldest, 500);
            self.world.advance(Duration::from_secs(1));
            self.check()?;
            let now = self.views.iter().find(|view| view.ex == ex).and_then(|view| view.entries.keys().next().copied());
            if now.is_none_or(|now| now >= oldest) {
                return Err(format!("no page before entry {oldest}"));
            }
        }
    }
}

fn daemon(plan: &Plan, meter: Option<Meter>) -> Metered {
    let mut config = config();
    config.limits.window_bytes = plan.window_bytes;
    config.limits.line_bytes = plan.line_bytes;
    Metered::new(Bridge::new(config), meter)
}

fn part(line: &str, thousandths: usize) -> &str {
    let mut end = line.len() * thousandths / 1_000;
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.get(..end).unwrap_or_default()
}
