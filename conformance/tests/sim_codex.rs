//! Panes in which Codex works: found by a session's id over the days, by the directory, and without herdr; read with a memory
//! that outlives pages and restarts.

use core::time::Duration;

use panewire_conformance::herdr::Pane;
use panewire_conformance::sim::scene::{CWD, SESSION_POLLED, TWO_POLLS};
use panewire_conformance::sim::{Frames as _, Scene, TOKEN, World, config};
use serde_json::{Value, json};

const PANE: &str = "w1:p8";
const ROOT: &str = "/home/u/.codex/sessions";
const FIRST: &str = "019fc8be-0001-7000-8000-000000000001";
const SECOND: &str = "019fc8be-0002-7000-8000-000000000002";

fn file_of(session: &str) -> String {
    format!("{ROOT}/2026/08/03/rollout-2026-08-03T10-48-56-{session}.jsonl")
}

fn record(kind: &str, payload: &Value) -> String {
    json!({"timestamp": "2026-08-03T10:48:56.000Z", "type": kind, "payload": payload}).to_string() + "\n"
}

fn meta(session: &str, cwd: &str) -> String {
    record("session_meta", &json!({"id": session, "cwd": cwd, "cli_version": "0.150.0"}))
}

/// A text as it is written by two ways: as an event, then as an item.
fn event(text: &str) -> String {
    record("event_msg", &json!({"type": "agent_message", "message": text}))
}

fn item(text: &str) -> String {
    let content = json!([{"type": "output_text", "text": text}]);
    record("response_item", &json!({"type": "message", "role": "assistant", "content": content}))
}

fn world(session: Option<&str>) -> World {
    let mut world = World::new();
    let pane = Pane::claude(PANE, CWD).of_kind("codex");
    world.herdr.open(if let Some(session) = session { pane.with_session(session) } else { pane });
    world
}

#[test]
fn a_session_is_found_by_its_id_over_the_days_and_each_text_comes_once() {
    let mut world = world(Some(FIRST));
    world.disk.append(&file_of(FIRST), meta(FIRST, CWD) + &event("one") + &item("one") + &event("two"));
    world.disk.append(&format!("{ROOT}/2026/09/01/rollout-2026-09-01T10-48-56-{SECOND}.jsonl"), meta(SECOND, CWD));
    let client = world.watch(PANE);
    let frames = world.fresh(client);
    let hello = &frames.only("hello").json;
    assert_eq!(
        (&hello["agent_kind"], &hello["session_id"], &hello["total"]),
        (&json!("codex"), &json!(FIRST), &json!(2))
    );
    // The double of what was counted is no entry, live too.
    world.disk.append(&file_of(FIRST), item("two") + &item("three"));
    world.advance(TWO_POLLS);
    let frames = world.fresh(client);
    assert_eq!((frames.seqs(), &frames[0].json["entry"]["text"]), (vec![3], &json!("three")));
    world.disk.append(&file_of(FIRST), event("three"));
    world.advance(TWO_POLLS);
    assert!(world.fresh(client).is_empty());
    world.finish();
}

#[test]
fn pages_begin_at_any_checkpoint_with_what_the_reader_remembers_there() {
    let mut world = world(Some(FIRST));
    let filling = "x".repeat(1_000);
    // Every event's double is the next line: where a page begins, it may be on the other side of a checkpoint.
    let turns: String = (0..400).map(|n| event(&format!("{n} {filling}")) + &item(&format!("{n} {filling}"))).collect();
    world.disk.append(&file_of(FIRST), meta(FIRST, CWD) + &turns);
    let client = world.watch(PANE);
    let mut texts: Vec<(u64, String)> = Vec::new();
    let mut take = |frames: &[panewire_conformance::sim::client::Received]| {
        for frame in frames.iter().filter(|frame| frame.kind() == "entry") {
            let text = frame.json["entry"]["text"].as_str().unwrap_or_default();
            texts.push((frame.seq(), text.split(' ').next().unwrap_or_default().to_owned()));
        }
    };
    let opening = world.fresh(client);
    assert_eq!(opening.only("hello").number("total"), 400);
    take(&opening);
    for before in [251, 244, 101, 94] {
        world.load_older(client, before, 150);
        world.run();
        take(&world.fresh(client));
    }
    assert!(texts.len() > 400);
    for (seq, text) in texts {
        assert_eq!(text, (seq - 1).to_string());
    }
    world.finish();
}

#[test]
fn what_the_reader_remembers_outlives_the_daemon() {
    let mut first = world(Some(FIRST));
    let filling = "x".repeat(4_000);
    let turns: String = (0..300).map(|n| event(&format!("{n} {filling}")) + &item(&format!("{n} {filling}"))).collect();
    first.disk.append(&file_of(FIRST), meta(FIRST, CWD) + &turns + &event("last"));
    let client = first.watch(PANE);
    let opening = first.fresh(client).only("hello").json.clone();
    assert_eq!(opening["total"], 301);
    first.shut_down();
    let disk = std::mem::replace(&mut first.disk, Scene::without_file(config()).world.disk);
    let mut second = world(Some(FIRST));
    second.disk = disk;
    second.disk.append(&file_of(FIRST), item("last") + &item("new"));
    let client = second.watch(PANE);
    let hello = second.fresh(client).only("hello").json.clone();
    assert_eq!((&hello["total"], &hello["generation"]), (&json!(302), &opening["generation"]));
}

#[test]
fn an_archived_session_is_found_and_one_without_a_file_is_waited_for() {
    let mut world = world(Some(FIRST));
    let client = world.watch(PANE);
    assert_eq!(world.fresh(client).only("hello").json["total"], 0);
    let archived = format!("/home/u/.codex/archived_sessions/rollout-2026-08-03T10-48-56-{FIRST}.jsonl");
    world.disk.append(&archived, meta(FIRST, CWD) + &item("one"));
    world.advance(SESSION_POLLED * 2);
    assert_eq!(world.fresh(client).seqs(), [1]);
    world.finish();
}

#[test]
fn a_session_that_is_put_away_is_followed_there_and_back() {
    let mut world = world(Some(FIRST));
    world.disk.append(&file_of(FIRST), meta(FIRST, CWD) + &item("one"));
    let client = world.watch(PANE);
    assert_eq!(world.fresh(client).seqs(), [1]);
    let archived = format!("/home/u/.codex/archived_sessions/rollout-2026-08-03T10-48-56-{FIRST}.jsonl");
    world.disk.rename(&file_of(FIRST), &archived);
    world.advance(SESSION_POLLED * 2);
    assert!(world.fresh(client).is_empty());
    // What was said before the move has its double behind it.
    world.disk.append(&archived, event("one") + &item("two"));
    world.advance(SESSION_POLLED);
    assert_eq!(world.fresh(client).seqs(), [2]);
    world.disk.rename(&archived, &file_of(FIRST));
    world.disk.append(&file_of(FIRST), item("three"));
    world.advance(SESSION_POLLED * 2);
    assert_eq!(world.fresh(client).seqs(), [3]);
    world.finish();
}

#[test]
fn a_new_session_is_followed_once_its_file_is_there() {
    let mut world = world(Some(FIRST));
    world.disk.append(&file_of(FIRST), meta(FIRST, CWD) + &item("one"));
    let client = world.watch(PANE);
    world.fresh(client);
    *world.herdr.pane(PANE).unwrap() = Pane::claude(PANE, CWD).of_kind("codex").with_session(SECOND);
    world.advance(SESSION_POLLED);
    assert!(world.fresh(client).is_empty());
    // The same text in another session is no double.
    world.disk.append(&file_of(SECOND), meta(SECOND, CWD) + &event("one"));
    world.advance(SESSION_POLLED);
    let frames = world.fresh(client);
    assert_eq!(frames.kinds(), ["session_changed", "hello", "entry", "backlog_complete"]);
    assert_eq!((&frames[0].json["from"], &frames[0].json["to"]), (&json!(FIRST), &json!(SECOND)));
    assert_eq!(frames[2].json["entry"]["text"], "one");
    world.finish();
}

#[test]
fn a_fork_whose_replay_is_still_being_written_shows_its_own_alone() {
    let mut world = world(Some(SECOND));
    let forked = record("session_meta", &json!({"id": SECOND, "forked_from_id": FIRST, "cwd": CWD}));
    let turn = |id: &str| record("event_msg", &json!({"type": "task_started", "turn_id": id}));
    let replay = meta(FIRST, CWD)
        + &turn("019fc8be-0001-7000-8000-000000000009")
        + &item("the parent's")
        + &event("the parent's");
    let (head, tail) = replay.split_at(replay.len() / 2);
    world.disk.append(&file_of(SECOND), forked + head);
    let client = world.watch(PANE);
    let opening = world.fresh(client);
    assert_eq!((opening.only("hello").number("total"), opening.seqs()), (1, vec![1]));
    // There is no file of the parent.
    world.disk.append(&file_of(SECOND), tail);
    world.advance(TWO_POLLS);
    assert!(world.fresh(client).is_empty());
    world.disk.append(&file_of(SECOND), turn("019fc8be-0002-7000-8000-000000000009") + &item("the parent's"));
    world.advance(TWO_POLLS);
    let frames = world.fresh(client);
    assert_eq!((frames.seqs(), &frames[0].json["entry"]["text"]), (vec![2], &json!("the parent's")));
    world.finish();
}

#[test]
fn without_an_id_the_newest_session_of_the_directory_is_it() {
    let mut world = world(None);
    world.disk.append(&file_of(FIRST), meta(FIRST, CWD) + &item("one"));
    world.advance(Duration::from_secs(5));
    world.disk.append(&file_of(SECOND), meta(SECOND, "/home/u/elsewhere") + &item("no"));
    let client = world.watch(PANE);
    assert_eq!(world.fresh(client).only("hello").json["session_id"], FIRST);
    world.finish();
}

#[test]
fn standalone_panes_are_named_by_their_kind() {
    let mut world = world(None);
    world.disk.append(&file_of(FIRST), meta(FIRST, CWD) + &item("one"));
    for pane in [format!("codex:{FIRST}"), "codex:latest".into(), format!("codex:dir:{CWD}")] {
        let client = world.watch(&pane);
        let hello = world.fresh(client).only("hello").json.clone();
        assert_eq!((&hello["agent_kind"], &hello["session_id"]), (&json!("codex"), &json!(FIRST)), "{pane}");
    }
    let listing = world.get(&format!("/panes?token={TOKEN}"));
    world.run();
    let panes: Value = serde_json::from_str(&world.client(listing).answer().unwrap().body).unwrap();
    let names: Vec<&str> = panes["panes"].as_array().unwrap().iter().map(|row| row["pane"].as_str().unwrap()).collect();
    assert_eq!(names, [PANE.to_string(), format!("codex:{FIRST}")]);
    world.finish();
}
