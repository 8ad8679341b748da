//! Anything may happen, in any order: whoever is still there when it is over has what the file has.
//!
//! On the way the world checks every step; here only the end is compared, with a client that connects then.

use core::time::Duration;
use std::collections::BTreeMap;

use panewire_conformance::herdr::Mode;
use panewire_conformance::sim::disk::{Effect, OpKind};
use panewire_conformance::sim::scene::{CWD, PANE};
use panewire_conformance::sim::{Ask, Frames as _, Hinting, Scene, Speed, TOKEN, Transcript, World};
use panewire_core::ids::ExId;
use panewire_core::io::FailureKind;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// One thing that happens.
#[derive(Debug, Clone)]
enum Step {
    Talk(u32),
    Long(usize),
    Torn(Index),
    Cut(Index),
    Replaced(u32),
    Rewritten(u32),
    Away,
    Back,
    NextSession(u32),
    SessionBefore,
    Connects(Speed),
    Leaves(Index),
    Takes(Index, Speed),
    Pages(Index, u64, u64),
    Nonsense(Index),
    Fault(OpKind, Effect, u32),
    Herdr(Mode),
    HerdrRestarts,
    Hinting(Hinting),
    Time(u64),
}

fn speed() -> impl Strategy<Value = Speed> {
    prop_oneof![
        4 => Just(Speed::Full),
        3 => (500_usize..60_000, 10_u64..400)
            .prop_map(|(bytes, every)| Speed::Slow { bytes, every: Duration::from_millis(every) }),
        1 => Just(Speed::Stuck),
    ]
}

fn fault() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![Just(OpKind::Open), Just(OpKind::Read), Just(OpKind::Stat), Just(OpKind::List)];
    let effect = prop_oneof![
        Just(Effect::Fail(FailureKind::Other)),
        (1_usize..3_000).prop_map(Effect::Short),
        (1_u64..3_000).prop_map(|millis| Effect::Slow(Duration::from_millis(millis))),
    ];
    (kind, effect, 1_u32..6).prop_map(|(kind, effect, times)| Step::Fault(kind, effect, times))
}

fn hinting() -> impl Strategy<Value = Hinting> {
    prop_oneof![
        4 => Just(Hinting::Working),
        1 => Just(Hinting::Silent),
        1 => Just(Hinting::Refused),
        1 => Just(Hinting::Overflowing),
        1 => (1_u64..3_000).prop_map(|millis| Hinting::Late(Duration::from_millis(millis))),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let mode = prop_oneof![
        2 => Just(Mode::Normal),
        1 => Just(Mode::Wedged),
        1 => Just(Mode::NoServer),
        1 => Just(Mode::Broken("Error: EmptyResponse".into())),
    ];
    prop_oneof![
        8 => (1_u32..40).prop_map(Step::Talk),
        2 => (1_usize..200_000).prop_map(Step::Long),
        3 => any::<Index>().prop_map(Step::Torn),
        1 => any::<Index>().prop_map(Step::Cut),
        1 => (0_u32..60).prop_map(Step::Replaced),
        1 => (0_u32..60).prop_map(Step::Rewritten),
        1 => Just(Step::Away),
        2 => Just(Step::Back),
        1 => (0_u32..200).prop_map(Step::NextSession),
        1 => Just(Step::SessionBefore),
        5 => speed().prop_map(Step::Connects),
        2 => any::<Index>().prop_map(Step::Leaves),
        2 => (any::<Index>(), speed()).prop_map(|(who, speed)| Step::Takes(who, speed)),
        6 => (any::<Index>(), 0_u64..400, 0_u64..300).prop_map(|(who, before, limit)| Step::Pages(who, before, limit)),
        1 => any::<Index>().prop_map(Step::Nonsense),
        3 => fault(),
        1 => mode.prop_map(Step::Herdr),
        1 => Just(Step::HerdrRestarts),
        3 => hinting().prop_map(Step::Hinting),
        10 => (0_u64..4_000).prop_map(Step::Time),
    ]
}

/// A world in which things happen.
struct Play {
    world: World,
    agents: Vec<Transcript>,
    current: usize,
    rest: Vec<u8>,
    away: bool,
    clients: Vec<ExId>,
    rewrites: u32,
}

impl Play {
    fn new() -> Self {
        let scene = Scene::with_entries(30);
        let Scene { world, agent, .. } = scene;
        Self { world, agents: vec![agent], current: 0, rest: Vec::new(), away: false, clients: Vec::new(), rewrites: 0 }
    }

    fn path(&self) -> String {
        self.agents[self.current].path()
    }

    /// The agent writes, unless its file is away: then it does not know where to.
    fn write(&mut self, bytes: &[u8]) {
        let rest = core::mem::take(&mut self.rest);
        if !self.away {
            let path = self.path();
            self.world.disk.append(&path, rest);
            self.world.disk.append(&path, bytes);
        }
    }

    fn other(&mut self, entries: u32) -> String {
        self.rewrites += 1;
        Transcript::new(&format!("other-{}", self.rewrites), CWD).talk(entries)
    }

    fn client(&self, who: Index) -> Option<ExId> {
        (!self.clients.is_empty()).then(|| self.clients[who.index(self.clients.len())])
    }

    fn come_back(&mut self) {
        if core::mem::take(&mut self.away) {
            let path = self.path();
            self.world.disk.rename(&format!("{path}.away"), &path);
        }
    }

    fn show(&mut self, session: usize) {
        self.write(b"");
        self.come_back();
        self.current = session;
        let session = self.agents[session].session().to_owned();
        self.world.herdr.rotate(PANE, &session);
    }

    fn happens(&mut self, step: Step) {
        // Two changes of a file at one moment of time and of one size cannot be told apart by anybody.
        self.world.advance(Duration::from_millis(3));
        match step {
            Step::Talk(entries) => {
                let talk = self.agents[self.current].talk(entries);
                self.write(talk.as_bytes());
            }
            Step::Long(bytes) => {
                let line = self.agents[self.current].assistant(&"long ".repeat(bytes / 5));
                self.write(line.as_bytes());
            }
            Step::Torn(at) => {
                let line = self.agents[self.current].assistant("torn — “here” 🔎 or there").into_bytes();
                let (head, tail) = line.split_at(at.index(line.len()));
                self.write(head);
                self.rest = tail.to_vec();
            }
            Step::Cut(at) if !self.away => {
                let path = self.path();
                let len = self.world.disk.content(&path).map_or(0, <[u8]>::len);
                self.world.disk.truncate(&path, at.index(len + 1));
            }
            Step::Replaced(entries) if !self.away => {
                let (path, other) = (self.path(), self.other(entries));
                self.world.disk.replace(&path, other);
            }
            Step::Rewritten(entries) if !self.away => {
                let (path, other) = (self.path(), self.other(entries));
                self.world.disk.write(&path, other);
            }
            Step::Cut(_) | Step::Replaced(_) | Step::Rewritten(_) => {}
            Step::Away => {
                let path = self.path();
                if !core::mem::replace(&mut self.away, true) {
                    self.world.disk.rename(&path, &format!("{path}.away"));
                }
            }
            Step::Back => self.come_back(),
            Step::NextSession(entries) => {
                let mut agent = Transcript::new(&format!("session-{}", self.agents.len()), CWD);
                let talk = agent.talk(entries.max(1));
                self.world.disk.append(&agent.path(), talk);
                self.agents.push(agent);
                self.show(self.agents.len() - 1);
            }
            Step::SessionBefore => self.show(self.current.saturating_sub(1)),
            Step::Connects(speed) => {
                let ask = Ask::socket(&format!("/agent-transcript?pane={PANE}&token={TOKEN}")).at(speed);
                let client = self.world.ask(&ask);
                self.clients.push(client);
            }
            Step::Leaves(who) => self.client(who).into_iter().for_each(|client| self.world.leave(client)),
            Step::Takes(who, speed) => {
                self.client(who).into_iter().for_each(|client| self.world.set_speed(client, speed));
            }
            Step::Pages(who, before, limit) => {
                self.client(who).into_iter().for_each(|client| self.world.load_older(client, before, limit));
            }
            Step::Nonsense(who) => self.client(who).into_iter().for_each(|client| self.world.say(client, "nonsense")),
            Step::Fault(kind, effect, times) => self.world.disk.spoil_times(times, kind, "", effect),
            Step::Herdr(mode) => self.world.herdr.set_mode(mode),
            Step::HerdrRestarts => self.world.herdr.restart(),
            Step::Hinting(hinting) => self.world.hints.set(hinting),
            Step::Time(millis) => self.world.advance(Duration::from_millis(millis)),
        }
        self.world.run();
    }

    /// Everything works again, and everybody has time.
    fn settles(&mut self) {
        self.world.disk.heal();
        self.world.herdr.set_mode(Mode::Normal);
        self.write(b"");
        self.come_back();
        self.clients.clone().into_iter().for_each(|client| self.world.set_speed(client, Speed::Full));
        self.world.advance(Duration::from_secs(30));
    }
}

/// What a client holds after all it was sent: the session, and every entry by its seq.
fn held(world: &World, client: ExId) -> (String, BTreeMap<u64, String>) {
    let (mut session, mut entries) = (String::new(), BTreeMap::new());
    for frame in world.client(client).received() {
        match frame.kind() {
            "hello" => {
                session = frame.json["session_id"].as_str().unwrap_or_default().into();
                entries.clear();
            }
            "entry" => {
                let entry = frame.raw.split_once("\"entry\":").map(|(_, entry)| entry.to_owned());
                entries.insert(frame.seq(), entry.unwrap_or_default());
            }
            _ => {}
        }
    }
    (session, entries)
}

proptest! {
    // `PROPTEST_CASES` plays longer.
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 4,
        max_shrink_iters: 4_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whoever_is_there_at_the_end_has_what_the_file_has(steps in vec(step(), 1..60)) {
        let mut play = Play::new();
        steps.into_iter().for_each(|step| play.happens(step));
        play.settles();
        let last = play.world.watch(PANE);
        play.world.advance(Duration::from_secs(10));
        let (session, entries) = held(&play.world, last);
        prop_assert!(session.starts_with(play.agents[play.current].session()), "{session}");
        for client in play.clients {
            let there = play.world.client(client);
            if !there.accepted() || there.closing().is_some() || there.left() {
                continue;
            }
            let (other_session, other_entries) = held(&play.world, client);
            prop_assert_eq!(&other_session, &session);
            for (seq, entry) in &entries {
                prop_assert_eq!(other_entries.get(seq), Some(entry), "entry {} of {:?}", seq, client);
            }
            prop_assert_eq!(other_entries.keys().last(), entries.keys().last());
            prop_assert!(there.received().kinds().contains(&"backlog_complete"));
        }
        play.world.finish();
    }
}
