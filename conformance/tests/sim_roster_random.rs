//! Children that are spawned, go on, finish, are resumed and are deleted at random, against a naive model that is told
//! the same.

use core::time::Duration;
use std::collections::BTreeMap;

use panewire_conformance::sim::client::Received;
use panewire_conformance::sim::scene::PANE;
use panewire_conformance::sim::{Frames as _, Scene, TOKEN, Transcript};
use panewire_conformance::trial::Chance;
use panewire_core::ids::ExId;
use serde_json::{Value, json};

const PLAYS: u64 = 24;
const ACTS: usize = 40;
/// Long enough for every third look, and for the one behind it that reads who has called whom.
const SETTLED: Duration = Duration::from_secs(13);

/// What the model knows of one child.
struct Child {
    transcript: Transcript,
    call: String,
    depth: u64,
    /// The child that called it; the session itself if there is none.
    caller: Option<String>,
    waits: Option<bool>,
    called: bool,
    answer: Option<Value>,
    told: Option<bool>,
    kind: String,
}

impl Child {
    /// The rules once more, from the contract's words.
    fn done(&self) -> bool {
        let is_async = self.answer.as_ref().is_some_and(|answer| answer["isAsync"] == true);
        let completed = self.answer.as_ref().is_some_and(|answer| answer["status"] == "completed");
        let by_answer = match self.waits {
            _ if !self.called || self.answer.is_none() || is_async => false,
            Some(waits) => waits,
            None => completed,
        };
        self.told.unwrap_or(by_answer)
    }
}

struct Play {
    scene: Scene,
    chance: Chance,
    children: BTreeMap<String, Child>,
    spawned: u32,
    client: ExId,
    /// The roster that the client holds.
    held: Value,
}

impl Play {
    /// With a client that follows the conversation.
    fn followed(seed: u64) -> Self {
        Self::new(seed, |scene| scene.world.watch(PANE))
    }

    /// With a client that follows the list.
    fn listed(seed: u64) -> Self {
        Self::new(seed, |scene| scene.world.connect(&format!("/events?token={TOKEN}")))
    }

    fn new(seed: u64, client: impl FnOnce(&mut Scene) -> ExId) -> Self {
        let mut scene = Scene::with_entries(1);
        let client = client(&mut scene);
        let held = json!([]);
        Self { scene, chance: Chance::new(seed), children: BTreeMap::new(), spawned: 0, client, held }
    }

    fn act(&mut self) {
        match self.chance.below(10) {
            0..=2 => self.spawn(),
            3 => self.grow(),
            4 => self.answer(),
            5 | 6 => self.notify(),
            7 => self.delete(),
            8 => self.relabel(),
            _ => self.scene.talk(1),
        }
        let wait = [0, 250, 1_000, 3_000][usize::try_from(self.chance.below(4)).unwrap_or_default()];
        self.scene.world.advance(Duration::from_millis(wait));
    }

    fn any(&mut self) -> Option<String> {
        let at = usize::try_from(self.chance.below(self.children.len().max(1) as u64)).unwrap_or_default();
        self.children.keys().nth(at).cloned()
    }

    /// Who called writes on: the session itself, or a child.
    fn write(&mut self, who: Option<&str>, line: impl Fn(&mut Transcript) -> String) {
        match who.and_then(|who| self.children.get_mut(who)) {
            Some(caller) => {
                let (line, path) = (line(&mut caller.transcript), caller.transcript.path());
                self.scene.world.disk.append(&path, line);
            }
            None => {
                let line = line(&mut self.scene.agent);
                self.scene.append(&line);
            }
        }
    }

    fn spawn(&mut self) {
        self.spawned += 1;
        let (id, call) = (format!("a{:03}", self.spawned), format!("toolu_{:03}", self.spawned));
        let caller = if self.chance.below(3) == 0 { self.any() } else { None };
        let depth = caller.as_ref().map_or(1, |caller| self.children[caller].depth + 1);
        let waits = [None, Some(true), Some(false)][usize::try_from(self.chance.below(3)).unwrap_or_default()];
        let called = self.chance.below(8) > 0;
        if called {
            self.write(caller.as_deref(), |transcript| transcript.spawn(&call, waits, "do it"));
        }
        let transcript = self.scene.spawn(&id, &call, depth, 1);
        let kind = "Explore".to_owned();
        let child = Child { transcript, call, depth, caller, waits, called, answer: None, told: None, kind };
        self.children.insert(id, child);
    }

    fn grow(&mut self) {
        if let Some(id) = self.any() {
            self.write(Some(&id), |transcript| transcript.talk(3));
        }
    }

    fn answer(&mut self) {
        let Some(id) = self.any() else { return };
        let Some(child) = self.children.get_mut(&id).filter(|child| child.answer.is_none()) else { return };
        let answers = [
            json!("Error: it broke"),
            json!({"isAsync": true, "status": "async_launched", "agentId": id}),
            json!({"status": "completed", "agentId": id}),
        ];
        let answer = answers[usize::try_from(self.chance.below(3)).unwrap_or_default()].clone();
        child.answer = Some(answer.clone());
        let (call, caller) = (child.call.clone(), child.caller.clone());
        self.write(caller.as_deref(), |transcript| transcript.answer(&call, &answer));
    }

    /// One notification for one child or several, some of which may have been resumed.
    fn notify(&mut self) {
        let ids: Vec<String> = (0..=self.chance.below(2)).filter_map(|_| self.any()).collect();
        let statuses = [Some("completed"), Some("failed"), Some("running"), Some("stopped"), None];
        let status = statuses[usize::try_from(self.chance.below(5)).unwrap_or_default()];
        let named: Vec<&str> = ids.iter().map(String::as_str).collect();
        self.write(None, |transcript| transcript.notification(&named, status));
        for id in &ids {
            if let Some(child) = self.children.get_mut(id).filter(|_| status.is_some()) {
                child.told = status.map(|status| status != "running");
            }
        }
    }

    /// A child that called others takes what it knew of them along; so only those go that called nobody.
    fn delete(&mut self) {
        let Some(id) = self.any() else { return };
        if self.children.values().all(|child| child.caller.as_deref() != Some(&*id))
            && let Some(child) = self.children.remove(&id)
        {
            self.scene.world.disk.delete(&child.transcript.path());
            self.scene.world.disk.delete(&child.transcript.meta_path());
        }
    }

    fn relabel(&mut self) {
        let Some(id) = self.any() else { return };
        let kind = format!("Kind{}", self.chance.below(100));
        let Some(child) = self.children.get_mut(&id) else { return };
        child.kind.clone_from(&kind);
        let description = format!("do {}", child.call);
        let meta =
            json!({"agentType": kind, "description": description, "toolUseId": child.call, "spawnDepth": child.depth});
        self.scene.world.disk.replace(&child.transcript.meta_path(), meta.to_string());
    }

    /// What every client holds by now must be what the model says.
    fn compare(&mut self, seed: u64) {
        self.scene.world.advance(SETTLED);
        let frames: Vec<Received> = self.scene.world.fresh(self.client);
        if let Some(roster) = frames.iter().filter_map(|frame| frame.json.get("subagents")).next_back() {
            self.held = roster.clone();
        }
        let mut rows: Vec<(u64, &String, &Child)> =
            self.children.iter().map(|(id, child)| (child.depth, id, child)).collect();
        rows.sort_by_key(|(depth, id, _)| (*depth, *id));
        let row = |(depth, id, child): &(u64, &String, &Child)| {
            json!({"agent_id": id, "tool_use_id": child.call, "agent_type": child.kind,
                "description": format!("do {}", child.call), "spawn_depth": depth, "done": child.done()})
        };
        let expected: Vec<Value> = rows.iter().map(row).collect();
        assert_eq!(without_age(&self.held), expected, "seed {seed}");
        let other = self.scene.world.watch(PANE);
        let hello = self.scene.world.fresh(other).only("hello").json.get("subagents").cloned();
        assert_eq!(without_age(&hello.unwrap_or_else(|| json!([]))), expected, "seed {seed}: hello");
        self.scene.world.leave(other);
    }
}

impl Play {
    /// What who follows the list knows by now must be what the model says. Without a record of the session itself it may
    /// be looked at too seldom.
    fn compare_numbers(&mut self, seed: u64) {
        self.scene.talk(1);
        self.scene.world.advance(SETTLED);
        for frame in self.scene.world.fresh(self.client) {
            let agent = match frame.kind() {
                "snapshot" => &frame.json["snapshot"]["result"]["snapshot"]["agents"][0],
                "agent_updated" => &frame.json["payload"]["agent"],
                _ => continue,
            };
            self.held = agent["subagents"].clone();
        }
        let running = self.children.values().filter(|child| !child.done()).count();
        let expected = match self.children.len() {
            0 => Value::Null,
            total => json!({"total": total, "running": running}),
        };
        assert_eq!(self.held, expected, "seed {seed}");
    }
}

fn without_age(rows: &Value) -> Vec<Value> {
    let mut rows = rows.as_array().cloned().unwrap_or_default();
    rows.iter_mut().filter_map(Value::as_object_mut).for_each(|row| drop(row.remove("last_activity_ts")));
    rows
}

#[test]
fn rosters_are_what_the_model_says() {
    for seed in 0..PLAYS {
        let mut play = Play::followed(seed);
        for act in 1..=ACTS {
            play.act();
            if act % 8 == 0 {
                play.compare(seed);
            }
        }
        play.scene.world.finish();
    }
}

#[test]
fn numbers_of_a_list_are_what_the_model_says() {
    for seed in 0..PLAYS {
        let mut play = Play::listed(seed);
        for act in 1..=ACTS {
            play.act();
            if act % 8 == 0 {
                play.compare_numbers(seed);
            }
        }
        play.scene.world.finish();
    }
}
