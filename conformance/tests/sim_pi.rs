//! Panes in which pi works: found by the path it reports, by a session's id, by the directory, and without herdr.

use core::time::Duration;

use panewire_conformance::herdr::Pane;
use panewire_conformance::sim::scene::{CWD, SESSION_POLLED, TWO_POLLS};
use panewire_conformance::sim::{Frames as _, TOKEN, World};
use serde_json::{Value, json};

const PANE: &str = "w1:p7";
const ROOT: &str = "/home/u/.pi/agent/sessions";
const DIRECTORY: &str = "/home/u/.pi/agent/sessions/--home-u-project--";
const FIRST: &str = "0199c0de-0001-7000-8000-000000000001";
const SECOND: &str = "0199c0de-0002-7000-8000-000000000002";

fn file_of(session: &str) -> String {
    format!("{DIRECTORY}/2026-07-09T10-00-00-000Z_{session}.jsonl")
}

fn header(session: &str, cwd: &str) -> String {
    json!({"type": "session", "version": 3, "id": session, "timestamp": "2026-07-09T10:00:00.000Z", "cwd": cwd})
        .to_string()
        + "\n"
}

fn said(text: &str) -> String {
    let message = json!({"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1});
    json!({"type": "message", "id": "0a0b0c0d", "parentId": null, "message": message}).to_string() + "\n"
}

/// A world in which pi runs in a pane and reports what `report` says of it.
fn world(report: impl Fn(Pane) -> Pane) -> World {
    let mut world = World::new();
    world.herdr.open(report(Pane::claude(PANE, CWD).of_kind("pi")));
    world
}

fn write(world: &mut World, path: &str, session: &str, texts: &[&str]) {
    let lines = texts.iter().map(|text| said(text)).collect::<String>();
    world.disk.append(path, header(session, CWD) + &lines);
}

fn hello(world: &mut World, pane: &str) -> Value {
    let client = world.watch(pane);
    world.fresh(client).only("hello").json.clone()
}

#[test]
fn the_file_that_pi_reports_is_followed() {
    let mut world = world(|pane| pane.with_file(&file_of(FIRST)));
    write(&mut world, &file_of(FIRST), FIRST, &["one", "two"]);
    let client = world.watch(PANE);
    let frames = world.fresh(client);
    let hello = &frames.only("hello").json;
    assert_eq!((&hello["agent_kind"], &hello["session_id"], &hello["total"]), (&json!("pi"), &json!(FIRST), &json!(2)));
    assert!(hello.get("subagents").is_none());
    world.disk.append(&file_of(FIRST), said("three"));
    world.advance(TWO_POLLS);
    let frames = world.fresh(client);
    assert_eq!(
        (frames.kinds(), frames.seqs(), &frames[0].json["entry"]["text"]),
        (vec!["live"], vec![3], &json!("three"))
    );
    world.finish();
}

#[test]
fn a_file_that_is_not_written_yet_is_waited_for() {
    let mut world = world(|pane| pane.with_file(&file_of(FIRST)));
    let client = world.watch(PANE);
    assert_eq!(world.fresh(client).only("hello").json["total"], 0);
    write(&mut world, &file_of(FIRST), FIRST, &["one"]);
    world.advance(SESSION_POLLED);
    assert_eq!(world.fresh(client).seqs(), [1]);
    world.finish();
}

#[test]
fn a_bare_id_is_found_by_the_end_of_a_name_and_waited_for() {
    let mut world = world(|pane| pane.with_session(FIRST));
    write(&mut world, &format!("{DIRECTORY}/2026-07-09T10-00-00-000Z_{SECOND}.jsonl"), SECOND, &["not mine"]);
    let client = world.watch(PANE);
    let frames = world.fresh(client);
    let hello = &frames.only("hello").json;
    assert_eq!((&hello["session_id"], &hello["total"]), (&json!(FIRST), &json!(0)));
    // Its name holds a time that nobody could know, and its directory is another one.
    let path = format!("{ROOT}/--home-u-elsewhere--/2026-07-09T11-00-00-000Z_{FIRST}.jsonl");
    write(&mut world, &path, FIRST, &["one", "two"]);
    world.advance(SESSION_POLLED * 2);
    assert_eq!(world.fresh(client).seqs(), [1, 2]);
    world.finish();
}

#[test]
fn without_an_id_the_newest_session_of_the_directory_is_it() {
    let mut world = world(|pane| pane);
    write(&mut world, &file_of(FIRST), FIRST, &["one"]);
    world.advance(Duration::from_secs(5));
    // Another directory that is encoded alike.
    world.disk.append(&file_of(SECOND), header(SECOND, "/home/u-project") + &said("no"));
    assert_eq!(hello(&mut world, PANE)["session_id"], FIRST);
    world.finish();
}

#[test]
fn a_new_session_is_followed_once_its_file_is_there() {
    let mut world = world(|pane| pane.with_file(&file_of(FIRST)));
    write(&mut world, &file_of(FIRST), FIRST, &["one"]);
    let client = world.watch(PANE);
    world.fresh(client);
    *world.herdr.pane(PANE).unwrap() = Pane::claude(PANE, CWD).of_kind("pi").with_file(&file_of(SECOND));
    world.advance(SESSION_POLLED);
    assert!(world.fresh(client).is_empty());
    write(&mut world, &file_of(SECOND), SECOND, &["two"]);
    world.advance(SESSION_POLLED);
    let frames = world.fresh(client);
    assert_eq!(frames.kinds(), ["session_changed", "hello", "entry", "backlog_complete"]);
    assert_eq!((&frames[0].json["from"], &frames[0].json["to"]), (&json!(FIRST), &json!(SECOND)));
    world.finish();
}

#[test]
fn a_session_that_is_migrated_in_place_is_another_conversation() {
    let mut world = world(|pane| pane.with_file(&file_of(FIRST)));
    let old =
        json!({"type": "session", "id": FIRST, "timestamp": "2025-11-20T08:00:00.000Z", "cwd": CWD}).to_string() + "\n";
    let bare = |text: &str| json!({"type": "message", "message": {"role": "user", "content": text}}).to_string() + "\n";
    world.disk.append(&file_of(FIRST), old + &bare("one") + &bare("two"));
    let client = world.watch(PANE);
    assert_eq!(world.fresh(client).seqs(), [1, 2]);
    world.disk.replace(&file_of(FIRST), header(FIRST, CWD) + &said("one") + &said("two") + &said("three"));
    world.advance(TWO_POLLS);
    let frames = world.fresh(client);
    assert_eq!(frames.kinds(), ["session_changed", "hello", "entry", "entry", "entry", "backlog_complete"]);
    assert_eq!(frames[0].json["to"], format!("{FIRST}~1"));
    world.finish();
}

#[test]
fn a_path_outside_pis_own_sessions_is_not_opened() {
    for path in ["/home/u/.ssh/keys.jsonl", "/home/u/.pi/agent/sessions/../../../.ssh/keys.jsonl"] {
        let mut world = world(|pane| pane.with_file(path));
        world.disk.append("/home/u/.ssh/keys.jsonl", header(FIRST, CWD) + &said("secret"));
        let client = world.connect(&format!("/agent-transcript?pane={PANE}&token={TOKEN}"));
        world.advance(Duration::from_secs(5));
        let answer = world.client(client).answer().unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (404, "no transcript file for pane\n"), "{path}");
    }
}

#[test]
fn standalone_panes_are_named_by_their_kind() {
    let mut world = world(|pane| pane);
    write(&mut world, &file_of(FIRST), FIRST, &["one"]);
    for pane in [format!("pi:{FIRST}"), "pi:latest".into(), format!("pi:dir:{CWD}")] {
        let hello = hello(&mut world, &pane);
        assert_eq!((&hello["agent_kind"], &hello["session_id"]), (&json!("pi"), &json!(FIRST)), "{pane}");
    }
    let listing = world.get(&format!("/panes?token={TOKEN}"));
    world.run();
    let panes: Value = serde_json::from_str(&world.client(listing).answer().unwrap().body).unwrap();
    let names: Vec<&str> = panes["panes"].as_array().unwrap().iter().map(|row| row["pane"].as_str().unwrap()).collect();
    assert_eq!(names, [PANE.to_string(), format!("pi:{FIRST}")]);
    world.finish();
}
