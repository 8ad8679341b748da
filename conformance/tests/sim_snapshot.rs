//! `GET /snapshot`: what herdr shows, and what is added to it.

#![expect(clippy::unwrap_used, reason = "tests")]

use core::time::Duration;

use panewire_conformance::herdr::{Desk, Failing, Mode, Pane};
use panewire_conformance::sim::config::HERDR_SESSIONS;
use panewire_conformance::sim::scene::{CWD, PANE, SESSION};
use panewire_conformance::sim::{Ask, Scene, TOKEN, World, config};
use panewire_core::config::HerdrMode;
use serde_json::{Value, json};

/// Status and body of the answer, however long it takes.
fn get(world: &mut World, target: &str) -> (u16, String) {
    let client = world.ask(&Ask::get(&format!("{target}?token={TOKEN}")));
    world.advance(Duration::from_secs(5));
    world.client(client).answer().map(|answer| (answer.status, answer.body)).unwrap_or_default()
}

#[track_caller]
fn snapshot(world: &mut World) -> Value {
    let (status, body) = get(world, "/snapshot");
    assert_eq!(status, 200, "{body}");
    assert!(body.ends_with("}\n"), "{body}");
    let mut body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["id"], "gothalo:snapshot");
    body["result"]["snapshot"].take()
}

fn column(snapshot: &Value, key: &str) -> Vec<Value> {
    snapshot["agents"].as_array().unwrap().iter().map(|agent| agent[key].clone()).collect()
}

#[test]
fn agents_are_enriched() {
    let mut scene = Scene::with_entries(3);
    scene.world.disk.write(&format!("{CWD}/.git/HEAD"), "ref: refs/heads/rake\n");
    let blocked = Pane { agent_status: "blocked".into(), state_change_seq: 9, ..Pane::claude("w1:p2", "/srv/none") };
    scene.world.herdr.open(blocked.of_kind("aider"));
    let found = snapshot(&mut scene.world);
    assert_eq!(column(&found, "pane_id"), [PANE, "w1:p2"]);
    assert_eq!(column(&found, "branch"), ["rake", ""]);
    assert_eq!(column(&found, "attention_rank"), [3, 0]);
    assert_eq!(column(&found, "recency_rank"), [0, 1]);
    assert_eq!(column(&found, "session"), ["default", "default"]);
    assert_eq!(found["agents"][0]["last_activity_ts"], 1_772_352_003_250_i64, "the time of the last record");
    assert_eq!(found["agents"][1].get("last_activity_ts"), None);
    assert_eq!(found["agents"][0].get("subagents"), None);
    assert_eq!((&found["sessions"], &found["tabs"][0]["tab_id"]), (&json!(["default"]), &json!("w1:t1")));
    scene.world.finish();
}

#[test]
fn who_asks_at_one_time_shares_one_question() {
    let mut scene = Scene::with_entries(3);
    scene.world.herdr.take_questions();
    let clients = [1, 2, 3].map(|_| scene.world.ask(&Ask::get(&format!("/snapshot?token={TOKEN}"))));
    scene.world.run();
    assert_eq!(scene.world.herdr.take_questions(), ["socket session.snapshot"]);
    for client in clients {
        assert_eq!(scene.world.client(client).answer().map(|answer| answer.status), Some(200));
    }
    scene.world.finish();
}

#[test]
fn what_goes_wrong_is_said() {
    let mut scene = Scene::with_entries(3);
    assert_eq!(get(&mut scene.world, "/snapshot?x=1&"), (401, "unauthorized\n".into()));
    let slow = Failing { code: "timeout".into(), message: "the server is busy".into() };
    scene.world.herdr.set_mode(Mode::Failing(slow));
    assert_eq!(get(&mut scene.world, "/snapshot"), (502, "herdr api snapshot: the server is busy\n".into()));
    scene.world.herdr.set_mode(Mode::Wedged);
    assert_eq!(get(&mut scene.world, "/snapshot"), (502, "herdr api snapshot: timed out after 4s\n".into()));
    scene.world.herdr.set_mode(Mode::Normal);
    scene.world.herdr.desk.socket = Mode::NoServer;
    assert_eq!(column(&snapshot(&mut scene.world), "pane_id"), [PANE], "by its command line");
    scene.world.herdr.desk.cli = Mode::NoServer;
    let (status, body) = get(&mut scene.world, "/snapshot");
    assert_eq!((status, body.contains("server_not_running")), (502, true), "{body}");
    scene.world.finish();
}

#[test]
fn many_panes_are_listed_and_too_many_are_told_as_such() {
    let mut scene = Scene::with_entries(3);
    for n in 0..999 {
        scene.world.herdr.open(Pane::claude(&format!("w2:p{n}"), CWD));
    }
    let found = snapshot(&mut scene.world);
    let mut ranks: Vec<u64> = column(&found, "recency_rank").iter().filter_map(Value::as_u64).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, (0..1_000).collect::<Vec<_>>());
    for n in 999..10_000 {
        scene.world.herdr.open(Pane::claude(&format!("w2:p{n}"), CWD));
    }
    scene.world.herdr.take_questions();
    assert_eq!(get(&mut scene.world, "/snapshot"), (502, "herdr api snapshot: answer too large\n".into()));
    assert_eq!(scene.world.herdr.take_questions(), ["socket session.snapshot"], "the other way it would be cut");
    let client = scene.world.watch(PANE);
    scene.world.advance(Duration::from_secs(5));
    assert!(scene.world.client(client).accepted(), "one pane is found as ever");
    scene.world.finish();
}

#[test]
fn a_pane_is_found_by_what_the_list_calls_it_whatever_herdr_does() {
    let mut scene = Scene::with_entries(3);
    let named = |pane: &str, title: &str| Pane {
        terminal_title_stripped: Some(title.into()),
        ..Pane::claude("w1:p1", "/srv/none").with_id(pane)
    };
    let work = Desk { panes: vec![named("w1:p1", "of work"), named("demo", "of work, demo")], ..Desk::default() };
    scene.world.herdr.desk.sessions.insert("work".into(), work);
    scene.world.disk.append(&format!("{HERDR_SESSIONS}/work/herdr.sock"), "");
    let ids = ["work/w1:p1", "demo", "claude:latest", "codex:dir:/srv", "w1:p1/x", "a b%2F?&", "é", "w1:P1"];
    ids.iter().for_each(|id| scene.world.herdr.open(named(id, &format!("my {id}"))));
    // The same pane again, and one with a title that fills a screen.
    scene.world.herdr.open(named("é", "another"));
    scene.world.herdr.open(named("w9:p9", &"long ".repeat(40_000)));
    let found = snapshot(&mut scene.world);
    let panes = column(&found, "pane_id");
    let listed = get(&mut scene.world, "/panes").1;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let rows = listed["panes"].as_array().unwrap();
    let herdrs: Vec<Value> = rows.iter().take(panes.len()).map(|row| row["pane"].clone()).collect();
    assert_eq!(panes, herdrs);
    assert_eq!(panes.len(), 1 + ids.len() + 1 + 2);
    for (pane, title) in panes.iter().zip(column(&found, "terminal_title_stripped")).skip(1) {
        let escaped: String = pane.as_str().unwrap().bytes().map(|byte| format!("%{byte:02X}")).collect();
        let client = scene.world.ask(&Ask::get(&format!("/agent-state?pane={escaped}&token={TOKEN}")));
        scene.world.advance(Duration::from_secs(5));
        let answer = scene.world.client(client).answer().unwrap();
        let card: Value = serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{pane} {answer:?}"));
        let headline = match title.as_str().unwrap() {
            title if title.starts_with("long") => "long ".repeat(24).trim_end().to_owned() + "…",
            title => title.to_owned(),
        };
        assert_eq!((answer.status, &card["headline"]), (200, &json!(headline)), "{pane}");
    }
    scene.world.finish();
}

#[test]
fn a_named_session_stands_behind_the_default_one_and_survives_it() {
    let mut scene = Scene::with_entries(3);
    let panes = vec![Pane::claude(PANE, CWD).with_session(SESSION)];
    scene.world.herdr.desk.sessions.insert("work".into(), Desk { panes, ..Desk::default() });
    scene.world.disk.append(&format!("{HERDR_SESSIONS}/work/herdr.sock"), "");
    let found = snapshot(&mut scene.world);
    assert_eq!(column(&found, "pane_id"), [PANE, "work/w1:p1"]);
    assert_eq!(found["panes"][1]["tab_id"], "work/w1:t1");
    assert_eq!(found["sessions"], json!(["default", "work"]));
    (scene.world.herdr.desk.socket, scene.world.herdr.desk.cli) = (Mode::Wedged, Mode::Wedged);
    let found = snapshot(&mut scene.world);
    assert_eq!((column(&found, "pane_id"), &found["sessions"]), (vec!["work/w1:p1".into()], &json!(["work"])));
    scene.world.finish();
}

#[test]
fn without_herdr_it_shows_the_sessions_on_disk() {
    let mut alone = config();
    alone.herdr.mode = HerdrMode::Off;
    let mut scene = Scene::without_file(alone);
    scene.talk(2);
    let found = snapshot(&mut scene.world);
    assert_eq!(column(&found, "pane_id"), [format!("claude:{SESSION}")]);
    assert_eq!((&found["sessions"], &found["workspaces"]), (&json!([]), &json!([])));
    let agent = &found["agents"][0];
    assert_eq!(
        (&agent["agent_status"], &agent["attention_rank"], &agent["recency_rank"]),
        (&json!("unknown"), &json!(4), &json!(0))
    );
    assert!(agent["last_activity_ts"].is_i64(), "{agent}");
    scene.world.finish();
}
