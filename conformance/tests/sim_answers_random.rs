//! Approvals and answers from a seed, while questions change and herdr is slow, silent, gone or started again: every request
//! is answered in time, no question is confirmed twice, and what is said to be pressed is what was pressed.

use core::time::Duration;
use std::collections::BTreeSet;

use panewire_conformance::herdr::{Failing, Mode};
use panewire_conformance::sim::Scene;
use panewire_conformance::sim::scene::PANE;
use panewire_conformance::trial::Chance;
use panewire_core::ids::ExId;
use panewire_core::limits::HERDR_BUDGET;
use serde_json::{Value, json};

const SEEDS: u64 = 30;
const ACTS: u64 = 60;

/// Small steps of time, so that what was typed is seen in the state in which it was typed.
const STEP: Duration = Duration::from_millis(5);

struct Trial {
    scene: Scene,
    chance: Chance,
    /// Requests that were not answered yet: since when, and for which counter.
    open: Vec<(ExId, Duration, u64)>,
    now: Duration,
    question: u64,
    /// How often Enter was pressed.
    pressed: usize,
    /// Counters of which that is said, or that it is not known. No two lives have one in common here.
    settled: BTreeSet<u64>,
    applied: usize,
    unknown: usize,
}

impl Trial {
    fn new(seed: u64) -> Self {
        let (scene, chance) = (Scene::with_entries(1), Chance::new(seed));
        let mut trial = Self {
            scene,
            chance,
            open: Vec::new(),
            now: Duration::ZERO,
            question: 0,
            pressed: 0,
            settled: BTreeSet::new(),
            applied: 0,
            unknown: 0,
        };
        trial.ask_anew(true);
        trial
    }

    fn act(&mut self) {
        match self.chance.below(12) {
            0..=4 => self.approve(),
            5 => self.ask_anew(true),
            // The screen changes, and herdr has not counted it yet.
            6 => self.ask_anew(false),
            7 => {
                let next = self.counter() + 1_000;
                self.scene.world.herdr.restart();
                self.scene.world.herdr.pane(PANE).into_iter().for_each(|pane| pane.state_change_seq = next);
            }
            8 => {
                let busy = Failing { code: "server_unavailable".into(), message: "moving house".into() };
                let modes = [
                    (1, Mode::Silent),
                    (1, Mode::Wedged),
                    (1, Mode::NoServer),
                    (1, Mode::Failing(busy)),
                    (2, Mode::Normal),
                ];
                self.scene.world.herdr.desk.socket = self.chance.weighted(&modes, Mode::Normal);
            }
            9 => {
                let latency =
                    Duration::from_millis(self.chance.weighted(&[0, 5, 20, 300, 1_500, 5_000].map(|ms| (1, ms)), 0));
                self.scene.world.herdr.socket_latency = latency;
                self.scene.world.herdr.cli_latency = latency / 2;
            }
            // The press is asked for after four questions, its answer is lost, and it is tried again.
            10 => {
                self.scene.world.herdr.socket_latency = Duration::from_millis(20);
                self.approve();
                let millis = self.chance.between(60, 80);
                self.pass(millis);
                self.scene.world.herdr.desk.socket = Mode::Silent;
                self.pass(100);
                self.scene.world.herdr.desk.socket = Mode::Normal;
                self.pass(4_000);
                self.approve();
                self.pass(100);
            }
            _ => {
                let millis = self.chance.below(400);
                self.pass(millis);
            }
        }
    }

    fn ask_anew(&mut self, counted: bool) {
        self.question += 1;
        let screen = format!(
            "────────────\n Bash command\n\n   dig bed {}\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel\n",
            self.question
        );
        let desk = &mut self.scene.world.herdr.desk;
        desk.screens.insert(PANE.into(), screen);
        if counted {
            desk.set_status(PANE, "blocked");
        }
    }

    fn counter(&mut self) -> u64 {
        self.scene.world.herdr.pane(PANE).map_or(0, |pane| pane.state_change_seq)
    }

    fn approve(&mut self) {
        let seq = self.counter() - self.chance.below(2) * self.chance.below(2);
        let client = self.scene.world.post("/approve", &json!({"agent": PANE, "seq": seq}));
        self.open.push((client, self.now, seq));
        self.look();
    }

    fn pass(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        while self.now < end {
            self.scene.world.advance(STEP);
            self.now += STEP;
            self.look();
        }
    }

    /// What was typed meanwhile, and who was answered.
    fn look(&mut self) {
        self.pressed += self.scene.world.herdr.desk.take_typed(PANE).len();
        let (world, now) = (&self.scene.world, self.now);
        let mut answered = Vec::new();
        self.open.retain(|(client, since, seq)| {
            let answer = world.client(*client).answer();
            assert!(answer.is_some() || now - *since <= HERDR_BUDGET + STEP, "not answered in time");
            answered.extend(answer.clone().map(|answer| (answer, *seq)));
            answer.is_none()
        });
        for (answer, seq) in answered {
            let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
            assert!(matches!(answer.status, 200 | 502 | 503), "{} {}", answer.status, answer.body);
            let (applied, unknown) = (body["applied"] == true, answer.body.contains("not known"));
            self.applied += usize::from(applied);
            self.unknown += usize::from(unknown);
            assert!(!(applied || unknown) || self.settled.insert(seq), "seq {seq} is confirmed again: {}", answer.body);
        }
    }

    fn finish(mut self) -> (usize, usize) {
        self.scene.world.herdr.set_mode(Mode::Normal);
        self.pass(10_000);
        assert!(self.open.is_empty());
        assert!(self.applied <= self.pressed, "more was said than done");
        assert!(self.pressed <= self.applied + self.unknown, "more was done than said");
        self.scene.world.finish();
        (self.applied, self.unknown)
    }
}

#[test]
fn no_question_is_confirmed_twice_whatever_herdr_does() {
    let (mut applied, mut unknown) = (0, 0);
    for seed in 0..SEEDS {
        let mut trial = Trial::new(seed);
        (0..ACTS).for_each(|_| trial.act());
        let (pressed, lost) = trial.finish();
        (applied, unknown) = (applied + pressed, unknown + lost);
    }
    assert!(applied > 50 && unknown > 10, "{applied} {unknown}");
}
