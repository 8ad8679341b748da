//! The threads that a Codex session starts: rows of its roster, streams of their own, and nobody's newest session.

use panewire_conformance::herdr::Pane;
use panewire_conformance::sim::disk::OpKind;
use panewire_conformance::sim::scene::{CWD, ROSTER_POLLED, TWO_POLLS};
use panewire_conformance::sim::{Frames as _, TOKEN, World};
use panewire_core::limits::TALLY_REST;
use serde_json::{Value, json};

const PANE: &str = "w1:p8";
const ROOT: &str = "/home/u/.codex/sessions";
const SESSION: &str = "019fc8be-0001-7000-8000-000000000001";
const CHILD: &str = "019fc8be-0002-7000-8000-000000000002";
const GRANDCHILD: &str = "019fc8be-0003-7000-8000-000000000003";
const OTHER: &str = "019fc8be-0004-7000-8000-000000000004";

fn file_of(day: &str, session: &str) -> String {
    format!("{ROOT}/{}/rollout-{day}T10-48-56-{session}.jsonl", day.replace('-', "/"))
}

fn at(second: u32, kind: &str, payload: &Value) -> String {
    json!({"timestamp": format!("2026-08-03T10:48:{second:02}.000Z"), "type": kind, "payload": payload}).to_string()
        + "\n"
}

fn session() -> String {
    at(0, "session_meta", &json!({"id": SESSION, "cwd": CWD, "source": "cli"}))
}

fn thread(id: &str, parent: &str, role: Option<&str>) -> String {
    let spawn = json!({"parent_thread_id": parent, "depth": 1, "agent_nickname": "Ada", "agent_role": role});
    at(10, "session_meta", &json!({"id": id, "cwd": CWD, "source": {"subagent": {"thread_spawn": spawn}}}))
        + &at(11, "event_msg", &json!({"type": "task_started", "turn_id": "t"}))
}

fn said(second: u32, text: &str) -> String {
    at(second, "event_msg", &json!({"type": "agent_message", "message": text}))
}

fn spawn(call: &str, thread: &str, task: &str) -> String {
    let arguments = json!({"agent_type": "worker", "message": task}).to_string();
    let output = json!({"agent_id": thread}).to_string();
    at(
        9,
        "response_item",
        &json!({"type": "function_call", "name": "spawn_agent", "arguments": arguments, "call_id": call}),
    ) + &at(10, "response_item", &json!({"type": "function_call_output", "call_id": call, "output": output}))
}

fn notification(thread: &str, status: &Value) -> String {
    let text =
        format!("<subagent_notification>\n{}\n</subagent_notification>", json!({"agent_id": thread, "status": status}));
    let content = json!([{"type": "input_text", "text": text}]);
    at(30, "response_item", &json!({"type": "message", "role": "user", "content": content}))
}

fn world() -> World {
    let mut world = World::new();
    world.herdr.open(Pane::claude(PANE, CWD).of_kind("codex").with_session(SESSION));
    world
}

fn rows(world: &mut World) -> Value {
    let client = world.watch(PANE);
    let rows = world.fresh(client).only("hello").json["subagents"].clone();
    world.leave(client);
    rows
}

#[test]
fn every_thread_is_a_row_with_who_started_it_for_what_and_how_deep() {
    let mut world = world();
    world.disk.append(&file_of("2026-08-03", SESSION), session() + &spawn("k1", CHILD, "test it\nwell"));
    world.disk.append(
        &file_of("2026-08-03", CHILD),
        thread(CHILD, SESSION, Some("worker")) + &spawn("k2", GRANDCHILD, "look"),
    );
    world.disk.append(&file_of("2026-08-04", GRANDCHILD), thread(GRANDCHILD, CHILD, None) + &said(20, "found"));
    // Of another session, and nobody's.
    world.disk.append(&file_of("2026-08-04", OTHER), thread(OTHER, "019fc8be-0009-7000-8000-000000000009", None));
    let expected = json!([
        {"agent_id": CHILD, "tool_use_id": "k1", "agent_type": "worker", "description": "test it well", "spawn_depth": 1,
         "done": false, "last_activity_ts": 1_785_754_090_000_i64},
        {"agent_id": GRANDCHILD, "tool_use_id": "k2", "agent_type": "worker", "description": "look", "spawn_depth": 2,
         "done": false, "last_activity_ts": 1_785_754_100_000_i64},
    ]);
    assert_eq!(rows(&mut world), expected);
    world.finish();
}

#[test]
fn a_thread_is_done_when_its_parent_was_told_or_its_last_turn_is_over() {
    let mut world = world();
    let (parent, child) = (file_of("2026-08-03", SESSION), file_of("2026-08-03", CHILD));
    world.disk.append(&parent, session());
    world.disk.append(&child, thread(CHILD, SESSION, None));
    let client = world.watch(PANE);
    let done = |rows: &Value| rows[0]["done"].clone();
    assert_eq!(done(&world.fresh(client).only("hello").json["subagents"]), false);
    world.disk.append(&child, at(20, "event_msg", &json!({"type": "task_complete", "turn_id": "t"})));
    world.advance(ROSTER_POLLED * 3);
    assert_eq!(done(&world.fresh(client).only("subagents").json["subagents"]), true);
    // It works again, and then only its parent is told.
    world.disk.append(&child, at(21, "event_msg", &json!({"type": "task_started", "turn_id": "u"})));
    world.advance(ROSTER_POLLED * 3);
    assert_eq!(done(&world.fresh(client).only("subagents").json["subagents"]), false);
    world.disk.append(&parent, notification(CHILD, &json!({"completed": "all good"})));
    world.advance(ROSTER_POLLED);
    let frames = world.fresh(client);
    assert_eq!(
        (frames.kinds(), done(&frames.only("subagents").json["subagents"])),
        (vec!["live", "subagents"], json!(true))
    );
    world.finish();
}

#[test]
fn a_thread_appears_while_it_is_watched_and_is_streamed_by_its_id() {
    let mut world = world();
    world.disk.append(&file_of("2026-08-03", SESSION), session() + &said(1, "one"));
    let client = world.watch(PANE);
    assert_eq!(world.fresh(client).only("hello").json.get("subagents"), None);
    let child = file_of("2026-08-05", CHILD);
    world.disk.append(&child, thread(CHILD, SESSION, Some("scout")) + &said(12, "of the thread"));
    world.advance(ROSTER_POLLED * 3);
    let roster = world.fresh(client).only("subagents").json["subagents"].clone();
    assert_eq!((&roster[0]["agent_type"], &roster[0]["description"]), (&json!("scout"), &json!("Ada")));

    let watching = world.connect(&format!("/agent-transcript?pane={PANE}&token={TOKEN}&subagent={CHILD}"));
    world.run();
    let frames = world.fresh(watching);
    let hello = &frames.only("hello").json;
    assert_eq!((&hello["session_id"], &hello["total"]), (&json!(SESSION), &json!(1)));
    world.disk.append(&child, said(13, "more of it"));
    world.advance(TWO_POLLS);
    let frames = world.fresh(watching);
    assert_eq!((frames.seqs(), &frames[0].json["entry"]["text"]), (vec![2], &json!("more of it")));
    world.finish();
}

#[test]
fn a_thread_is_nobodys_newest_session_and_no_pane() {
    let mut world = World::new();
    world.disk.append(&file_of("2026-08-03", SESSION), session() + &said(1, "one"));
    world.advance(ROSTER_POLLED);
    world.disk.append(&file_of("2026-08-03", CHILD), thread(CHILD, SESSION, None) + &said(12, "newer"));
    for pane in ["codex:latest".into(), format!("codex:dir:{CWD}")] {
        let client = world.watch(&pane);
        assert_eq!(world.fresh(client).only("hello").json["session_id"], SESSION, "{pane}");
    }
    let listing = world.get(&format!("/panes?token={TOKEN}"));
    world.run();
    let panes: Value = serde_json::from_str(&world.client(listing).answer().unwrap().body).unwrap();
    let names: Vec<&str> = panes["panes"].as_array().unwrap().iter().map(|row| row["pane"].as_str().unwrap()).collect();
    assert_eq!(names, [format!("codex:{SESSION}")]);
    world.finish();
}

#[test]
fn what_beginnings_were_read_once_are_not_read_again() {
    let mut world = world();
    world.disk.append(&file_of("2026-08-03", SESSION), session());
    world.disk.append(&file_of("2026-08-03", CHILD), thread(CHILD, SESSION, None));
    for n in 0..20 {
        let id = format!("019fc8be-1{n:03}-7000-8000-000000000001");
        world.disk.append(&file_of("2026-08-03", &id), at(1, "session_meta", &json!({"id": id, "source": "cli"})));
    }
    let _client = world.watch(PANE);
    world.advance(ROSTER_POLLED * 3);
    world.disk.take_accesses();
    world.advance(ROSTER_POLLED * 9);
    let opened = world.disk.take_accesses().into_iter().filter(|access| access.kind == OpKind::Open).count();
    assert_eq!(opened, 0);
    world.finish();
}

#[test]
fn threads_of_a_session_that_nobody_follows_are_counted() {
    let mut world = world();
    let file = file_of("2026-08-03", SESSION);
    world.disk.append(&file, session() + &spawn("k1", CHILD, "test it"));
    world.disk.append(&file_of("2026-08-03", CHILD), thread(CHILD, SESSION, None));
    let mut counted = || {
        let client = world.get(&format!("/snapshot?token={TOKEN}"));
        world.advance(TALLY_REST);
        let body: Value = serde_json::from_str(&world.client(client).answer().unwrap().body).unwrap();
        world.disk.append(&file, notification(CHILD, &json!({"completed": "well"})));
        body["result"]["snapshot"]["agents"][0]["subagents"].clone()
    };
    assert_eq!(counted(), json!({"total": 1, "running": 1}));
    assert_eq!(counted(), json!({"total": 1, "running": 0}));
    world.finish();
}
