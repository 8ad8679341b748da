//! Panes in which Gemini CLI works: sessions that are written anew at every change, followed by way of a spool.

use core::time::Duration;

use panewire_conformance::herdr::Pane;
use panewire_conformance::sim::disk::Access;
use panewire_conformance::sim::scene::{CWD, TWO_POLLS};
use panewire_conformance::sim::{Frames as _, Received, Scene, TOKEN, World, config};
use panewire_core::Bridge;
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

const CHILD: &str = "x7f3ab";
const TASK: &str = "Find the rake.";

fn children() -> String {
    format!("/home/u/.gemini/tmp/{}/chats/{SESSION}", project_hash(CWD))
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// A child that was told something.
fn child(id: &str, second: u32, task: &str) -> String {
    let time = format!("2026-03-01T08:00:{second:02}.000Z");
    let meta = json!({"sessionId": id, "projectHash": project_hash(CWD), "startTime": time, "kind": "subagent"});
    lines(&[meta, message(&format!("{id}-u1"), "user", second, task)])
}

/// A reply in which an agent was started and has come to its end.
fn delegated(id: &str, call: &str, second: u32, task: &str, status: &str) -> Value {
    let mut reply = message(id, "gemini", second, "");
    let args = json!({"agent_name": "generalist", "prompt": task});
    let result = json!([{"functionResponse": {"id": call, "response": {"output": "It is in the shed."}}}]);
    reply["toolCalls"] =
        json!([{"id": call, "name": "invoke_agent", "args": args, "status": status, "result": result}]);
    reply["tokens"] = json!({"total": 3});
    reply
}

fn row(id: &str, call: &str, agent: &str, task: &str, done: bool, ts: i64) -> Value {
    json!({"agent_id": id, "tool_use_id": call, "agent_type": agent, "description": task, "spawn_depth": 1,
        "done": done, "last_activity_ts": 1_772_352_000_000_i64 + ts * 1_000})
}

/// The last roster that a client was sent.
fn roster(frames: &[Received]) -> Option<Value> {
    let told = |frame: &&Received| frame.json.get("subagents").is_some();
    frames.iter().rfind(told).map(|frame| frame.json["subagents"].clone())
}

#[test]
fn children_are_rows_and_done_when_their_call_is_answered() {
    let asked = message("u1", "user", 1, "Where is the rake?");
    let mut world = world(std::slice::from_ref(&asked));
    let client = world.watch(PANE);
    world.advance(TWO_POLLS);
    assert_eq!(world.fresh(client).only("hello").json.get("subagents"), None);

    let (session, file) = (file(), format!("{}/{CHILD}.jsonl", children()));
    world.disk.append(&file, child(CHILD, 2, TASK));
    world.advance(QUIET);
    assert_eq!(roster(&world.fresh(client)), Some(json!([row(CHILD, "", "", TASK, false, 2)])));

    // Its conversation goes on beside that of the session, each entry once.
    let watching = world.connect(&format!("/agent-transcript?pane={PANE}&token={TOKEN}&subagent={CHILD}"));
    world.advance(TWO_POLLS);
    let frames = world.fresh(watching);
    let hello = &frames.only("hello").json;
    assert_eq!((&hello["subagent"], &hello["session_id"]), (&json!(CHILD), &json!(SESSION)));
    assert_eq!(texts(&frames), [told(1, TASK)]);
    world.disk.append(&file, lines(&[message("g1", "gemini", 3, "I"), message("g1", "gemini", 3, "I look.")]));
    world.advance(QUIET);
    assert_eq!(texts(&world.fresh(watching)), [told(2, "I look.")]);
    world.fresh(client);

    // The call is written when it was answered.
    world.disk.write(&session, document(&[asked, delegated("g1", "c1", 4, TASK, "success")]));
    world.advance(QUIET);
    let frames = world.fresh(client);
    assert_eq!(roster(&frames), Some(json!([row(CHILD, "c1", "generalist", TASK, true, 3)])));
    assert_eq!(frames.kinds(), ["live", "live", "subagents"]);
    world.finish();
}

#[test]
fn two_children_with_one_task_are_told_apart_by_their_order() {
    let mut world = world(&[message("u1", "user", 1, "?"), delegated("g1", "c1", 4, TASK, "error")]);
    world.disk.append(&format!("{}/b-first.jsonl", children()), child("b-first", 2, TASK));
    world.disk.append(&format!("{}/a-second.jsonl", children()), child("a-second", 5, TASK));
    let client = world.watch(PANE);
    world.advance(QUIET);
    let (first, second) = (row("b-first", "c1", "generalist", TASK, true, 2), row("a-second", "", "", TASK, false, 5));
    assert_eq!(roster(&world.fresh(client)), Some(json!([second, first])));
    world.finish();
}

#[test]
fn a_call_that_names_its_child_needs_no_task_and_a_child_may_say_itself_that_it_has_finished() {
    let mut reply = delegated("g1", "c1", 4, "Something else.", "success");
    reply["toolCalls"][0]["agentId"] = json!(CHILD);
    let mut world = world(&[message("u1", "user", 1, "?"), reply]);
    world.disk.append(&format!("{}/{CHILD}.jsonl", children()), child(CHILD, 2, TASK));
    let other = child("other", 5, TASK) + &lines(&[json!({"$set": {"summary": "In the shed."}})]);
    world.disk.append(&format!("{}/other.jsonl", children()), other);
    world.disk.append(&format!("{}/empty.jsonl", children()), "{\"session");
    world.disk.append(&format!("{}/logs.txt", children()), child("logs", 2, TASK));
    let client = world.watch(PANE);
    world.advance(QUIET);
    let rows =
        json!([row("other", "", "", TASK, true, 5), row(CHILD, "c1", "generalist", "Something else.", true, 2),]);
    assert_eq!(roster(&world.fresh(client)), Some(rows));
    // What the spool tells is known again after a restart.
    world.reborn(Bridge::new(config()));
    let client = world.watch(PANE);
    world.advance(QUIET);
    assert_eq!(roster(&world.fresh(client)).unwrap()[1]["tool_use_id"], "c1");
    world.finish();
}

#[test]
fn a_child_is_nobodys_session_and_looking_at_it_costs_nothing_while_nothing_changes() {
    let mut world = world(&[message("u1", "user", 1, "Where is the rake?")]);
    world.advance(Duration::from_secs(60));
    let file = format!("{}/{CHILD}.jsonl", children());
    world.disk.append(&file, child(CHILD, 2, TASK));
    // One of the versions that kept children beside their sessions.
    let beside = format!("/home/u/.gemini/tmp/{}/chats/session-2026-03-01T09-00-deadbeef.jsonl", project_hash(CWD));
    world.disk.append(&beside, child("deadbeef-1", 3, TASK));
    for pane in ["gemini:latest".to_owned(), format!("gemini:dir:{CWD}")] {
        let client = world.watch(&pane);
        world.advance(TWO_POLLS);
        assert_eq!(world.fresh(client).only("hello").json["session_id"], SESSION, "{pane}");
    }
    let listing = world.get(&format!("/panes?token={TOKEN}"));
    world.run();
    let panes: Value = serde_json::from_str(&world.client(listing).answer().unwrap().body).unwrap();
    let names: Vec<&str> = panes["panes"].as_array().unwrap().iter().map(|row| row["pane"].as_str().unwrap()).collect();
    assert_eq!(names, [PANE.to_string(), format!("gemini:{SESSION}")]);
    world.advance(QUIET);
    world.disk.take_accesses();
    world.advance(Duration::from_secs(30));
    let of_children = |access: &Access| access.len > 0 && access.path.starts_with(&children());
    assert_eq!(world.disk.take_accesses().into_iter().filter(of_children).count(), 0);
    world.disk.append(&file, lines(&[message("g1", "gemini", 3, "I look.")]));
    world.advance(Duration::from_secs(10));
    assert_eq!(world.disk.take_accesses().into_iter().filter(of_children).count(), 1);
    world.finish();
}
