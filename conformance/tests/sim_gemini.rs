//! Panes in which Gemini CLI works: sessions that are written anew at every change, followed by way of a spool.

use core::time::Duration;

use panewire_conformance::herdr::Pane;
use panewire_conformance::sim::scene::{CWD, TWO_POLLS};
use panewire_conformance::sim::{Frames as _, Received, Scene, TOKEN, World, config};
use panewire_core::agent::gemini::layout::project_hash;
use serde_json::{Value, json};

const PANE: &str = "w1:p6";
const SESSION: &str = "0a1b2c3d-0000-4000-8000-000000000001";

/// Longer than a reply must be unchanged to be shown.
const QUIET: Duration = Duration::from_secs(4);

fn file() -> String {
    format!("/home/u/.gemini/tmp/{}/chats/session-2026-03-01T08-00-0a1b2c3d.json", project_hash(CWD))
}

fn document(messages: &[Value]) -> String {
    format!("{:#}", json!({"sessionId": SESSION, "projectHash": project_hash(CWD), "messages": messages}))
}

fn message(id: &str, kind: &str, second: u32, content: &str) -> Value {
    let timestamp = format!("2026-03-01T08:00:{second:02}.000Z");
    json!({"id": id, "timestamp": timestamp, "type": kind, "content": content})
}

fn world(messages: &[Value]) -> World {
    let mut world = World::new();
    world.herdr.open(Pane::claude(PANE, CWD).of_kind("gemini").with_session(SESSION));
    world.disk.append(&file(), document(messages));
    world
}

fn texts(frames: &[Received]) -> Vec<(u64, String)> {
    let entries = frames.iter().filter(|frame| frame.kind() == "entry" || frame.kind() == "live");
    entries.map(|frame| (frame.seq(), frame.json["entry"]["text"].as_str().unwrap_or("?").to_owned())).collect()
}

fn told(seq: u64, text: &str) -> (u64, String) {
    (seq, text.to_owned())
}

#[test]
fn a_reply_is_sent_once_when_nothing_was_written_to_it_for_a_while() {
    let asked = message("u1", "user", 1, "Where is the rake?");
    let mut world = world(std::slice::from_ref(&asked));
    let client = world.watch(PANE);
    world.advance(TWO_POLLS);
    assert_eq!(texts(&world.fresh(client)), [told(1, "Where is the rake?")]);
    for content in ["I", "I look", "I look."] {
        world.disk.write(&file(), document(&[asked.clone(), message("g1", "gemini", 2, content)]));
        world.advance(TWO_POLLS);
        assert_eq!(texts(&world.fresh(client)), []);
    }
    world.advance(QUIET);
    assert_eq!(texts(&world.fresh(client)), [told(2, "I look.")]);
    // While nothing changes, the file is asked for and not read.
    world.disk.take_accesses();
    world.advance(QUIET);
    let read = world.disk.take_accesses().into_iter().filter(|access| access.path == file() && access.len > 0).count();
    assert_eq!(read, 0);
    world.finish();
}

#[test]
fn seqs_and_the_generation_outlive_the_daemon() {
    let messages: Vec<Value> =
        (1..=5).map(|n| message(&format!("u{n}"), "user", n, &format!("question {n}"))).collect();
    let mut first = world(&messages[..4]);
    let client = first.watch(PANE);
    first.advance(TWO_POLLS);
    let opening = first.fresh(client).only("hello").json.clone();
    first.shut_down();
    let disk = std::mem::replace(&mut first.disk, Scene::without_file(config()).world.disk);
    let mut second = world(&[]);
    second.disk = disk;
    // It went back and on while nobody looked.
    second.disk.write(&file(), document(&[messages[0].clone(), messages[4].clone()]));
    let since = format!(
        "&session={SESSION}&generation={}&since_seq=4&since_id=u4%23text",
        opening["generation"].as_str().unwrap()
    );
    let client = second.connect(&format!("/agent-transcript?pane={PANE}&token={TOKEN}{since}"));
    second.run();
    second.advance(TWO_POLLS);
    let frames = second.fresh(client);
    let hello = &frames.only("hello").json;
    assert_eq!((&hello["resumed"], &hello["generation"]), (&json!(true), &opening["generation"]));
    let shown = texts(&frames);
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown[0].1.starts_with("The conversation went back"), "{shown:?}");
    assert_eq!(shown[1], told(6, "question 5"));
}

#[test]
fn standalone_panes_are_named_by_their_kind() {
    let mut world = world(&[message("u1", "user", 1, "Where is the rake?")]);
    for pane in [format!("gemini:{SESSION}"), "gemini:latest".into(), format!("gemini:dir:{CWD}")] {
        let client = world.watch(&pane);
        world.advance(TWO_POLLS);
        let hello = world.fresh(client).only("hello").json.clone();
        assert_eq!((&hello["agent_kind"], &hello["session_id"]), (&json!("gemini"), &json!(SESSION)), "{pane}");
    }
    let listing = world.get(&format!("/panes?token={TOKEN}"));
    world.run();
    let panes: Value = serde_json::from_str(&world.client(listing).answer().unwrap().body).unwrap();
    let names: Vec<&str> = panes["panes"].as_array().unwrap().iter().map(|row| row["pane"].as_str().unwrap()).collect();
    assert_eq!(names, [PANE.to_string(), format!("gemini:{SESSION}")]);
    world.finish();
}

#[test]
fn a_session_that_is_not_written_yet_is_waited_for() {
    let mut world = World::new();
    world.herdr.open(Pane::claude(PANE, CWD).of_kind("gemini").with_session(SESSION));
    let client = world.watch(PANE);
    world.advance(TWO_POLLS);
    assert_eq!(world.fresh(client).only("hello").json["total"], 0);
    world.disk.append(&file(), document(&[message("u1", "user", 1, "Where is the rake?")]));
    world.advance(Duration::from_secs(5));
    assert_eq!(texts(&world.fresh(client)), [told(1, "Where is the rake?")]);
    world.finish();
}
