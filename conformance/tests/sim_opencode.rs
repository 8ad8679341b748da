//! Panes in which opencode works, with the JSON tree of its older versions: a store that rewrites itself.

use core::time::Duration;

use panewire_conformance::herdr::Pane;
use panewire_conformance::sim::scene::{CWD, TWO_POLLS};
use panewire_conformance::sim::{Clock, Frames as _, Received, TOKEN, World, config};
use panewire_core::Bridge;
use panewire_core::ids::ExId;
use serde_json::{Value, json};

const PANE: &str = "w1:p5";
const STORAGE: &str = "/home/u/.local/share/opencode/storage";
const SESSION: &str = "ses_first";

/// Time after which the first message of a human counts as complete.
const SENT: Duration = Duration::from_secs(4);

/// A minute before the story is looked at, in milliseconds since 1970.
const NOON: i64 = Clock::START.0 - 60_000;

fn put(world: &mut World, path: &str, document: &Value) {
    let path = format!("{STORAGE}/{path}.json");
    let text = format!("{document:#}");
    if world.disk.content(&path).is_some() {
        world.disk.write(&path, text);
    } else {
        world.disk.append(&path, text);
    }
}

fn session(world: &mut World, id: &str, cwd: &str) {
    let document = json!({"id": id, "projectID": "p", "directory": cwd, "title": "a title",
        "time": {"created": NOON, "updated": NOON}});
    put(world, &format!("session/p/{id}"), &document);
}

fn human(world: &mut World, at: i64, id: &str, text: &str) {
    let info = json!({"id": id, "sessionID": SESSION, "role": "user", "time": {"created": NOON + at}});
    put(world, &format!("message/{SESSION}/{id}"), &info);
    part(world, id, &format!("prt_{id}"), json!({"type": "text", "text": text}));
}

fn assistant(world: &mut World, at: i64, id: &str, completed: Option<i64>) {
    let mut info = json!({"id": id, "sessionID": SESSION, "role": "assistant", "parentID": "msg_a",
        "time": {"created": NOON + at}});
    if let Some(completed) = completed {
        info["time"]["completed"] = json!(NOON + completed);
    }
    put(world, &format!("message/{SESSION}/{id}"), &info);
}

fn part(world: &mut World, message: &str, id: &str, mut part: Value) {
    (part["id"], part["messageID"], part["sessionID"]) = (json!(id), json!(message), json!(SESSION));
    put(world, &format!("part/{message}/{id}"), &part);
}

fn text(of: &str, ended: bool) -> Value {
    let mut part = json!({"type": "text", "text": of, "time": {"start": NOON}});
    if ended {
        part["time"]["end"] = json!(NOON + 1);
    }
    part
}

fn bash(status: &str, output: Option<&str>) -> Value {
    let mut state = json!({"status": status, "input": {"command": "ls", "description": "lists"},
        "time": {"start": NOON + 5}});
    if let Some(output) = output {
        state["output"] = json!(output);
        state["metadata"] = json!({"exit": 0});
        state["time"]["end"] = json!(NOON + 9);
    }
    json!({"type": "tool", "tool": "bash", "callID": "call_1", "state": state})
}

/// A world with one question and its whole answer.
fn world() -> World {
    let mut world = World::new();
    session(&mut world, SESSION, CWD);
    human(&mut world, 0, "msg_a", "how are you?");
    assistant(&mut world, 10, "msg_b", Some(20));
    part(&mut world, "msg_b", "prt_1", text("very well", true));
    world.advance(SENT);
    world
}

fn shown(frames: &[Received]) -> Vec<(u64, String)> {
    let entries = frames.iter().map(|frame| &frame.json["entry"]).filter(|entry| !entry.is_null());
    let said = |entry: &Value| {
        let result = &entry["result"];
        let said = [&entry["text"], &entry["tool"]["command"], &result["output_summary"]];
        said.iter().find_map(|said| said.as_str()).unwrap_or("?").to_owned()
    };
    entries.map(|entry| (entry["seq"].as_u64().unwrap_or_default(), said(entry))).collect()
}

fn status(world: &World, client: ExId) -> Option<u16> {
    world.client(client).answer().map(|answer| answer.status)
}

fn texts(frames: &[Received]) -> Vec<String> {
    shown(frames).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn a_session_is_shown_like_any_other() {
    let mut world = world();
    let client = world.watch(&format!("opencode:{SESSION}"));
    world.advance(TWO_POLLS);
    let frames = world.fresh(client);
    let hello = &frames.only("hello").json;
    assert_eq!(
        (&hello["agent_kind"], &hello["session_id"], &hello["total"]),
        (&json!("opencode"), &json!(SESSION), &json!(2))
    );
    assert_eq!(shown(&frames), [(1, "how are you?".to_owned()), (2, "very well".to_owned())]);
    let entry = &frames.iter().find(|frame| frame.json["entry"]["seq"] == 2).unwrap().json["entry"];
    let expected = json!({"id": "prt_1", "parent_id": "msg_b", "seq": 2, "ts": "2026-03-01T08:59:00.000Z",
        "role": "assistant", "kind": "message", "text": "very well", "parsed": true});
    assert_eq!(entry, &expected);
    world.finish();
}

#[test]
fn a_block_is_sent_when_it_has_settled_and_once() {
    let mut world = world();
    let client = world.watch(&format!("opencode:{SESSION}"));
    world.advance(SENT);
    world.fresh(client);
    assistant(&mut world, 5_000, "msg_c", None);
    for so_far in ["I", "I look", "I look around"] {
        part(&mut world, "msg_c", "prt_2", text(so_far, false));
        world.advance(SENT);
        assert!(world.fresh(client).is_empty(), "{so_far}");
    }
    part(&mut world, "msg_c", "prt_2", text("I look around.", true));
    part(&mut world, "msg_c", "prt_3", bash("pending", None));
    world.advance(SENT);
    assert_eq!(shown(&world.fresh(client)), [(3, "I look around.".to_owned())]);
    part(&mut world, "msg_c", "prt_3", bash("running", None));
    world.advance(SENT);
    let frames = world.fresh(client);
    assert_eq!((shown(&frames), frames.kinds()), (vec![(4, "ls".to_owned())], vec!["live"]));
    // Another call of the same message answers first.
    let mut quick = bash("completed", Some("quick"));
    quick["callID"] = json!("call_2");
    part(&mut world, "msg_c", "prt_4", quick);
    world.advance(SENT);
    assert_eq!(shown(&world.fresh(client)), [(5, "ls".to_owned()), (6, "quick".to_owned())]);
    part(&mut world, "msg_c", "prt_3", bash("completed", Some("a.txt")));
    world.advance(SENT);
    assert_eq!(shown(&world.fresh(client)), [(7, "a.txt".to_owned())]);
    // What is rewritten afterwards, and what the message says at its end, brings nothing more.
    part(&mut world, "msg_c", "prt_2", text("I look around. Twice.", true));
    assistant(&mut world, 5_000, "msg_c", Some(6_000));
    world.advance(SENT);
    assert!(world.fresh(client).is_empty());
    // Whoever comes now sees the same, in the same order.
    let another = world.watch(&format!("opencode:{SESSION}"));
    let frames = world.fresh(another);
    assert_eq!(texts(&frames), ["how are you?", "very well", "I look around.", "ls", "ls", "quick", "a.txt"]);
    world.finish();
}

#[test]
fn a_text_that_nobody_finished_is_shown_when_the_assistant_goes_on_or_is_quiet_for_long() {
    let mut world = world();
    let client = world.watch(&format!("opencode:{SESSION}"));
    assistant(&mut world, 5_000, "msg_c", None);
    part(&mut world, "msg_c", "prt_2", text("I was ki", false));
    human(&mut world, 6_000, "msg_d", "are you there?");
    world.advance(SENT);
    assert_eq!(texts(&world.fresh(client)), ["how are you?", "very well", "are you there?"]);
    assistant(&mut world, 7_000, "msg_e", None);
    part(&mut world, "msg_e", "prt_5", text("yes, of cou", false));
    world.advance(SENT);
    assert_eq!(texts(&world.fresh(client)), ["I was ki"]);
    world.advance(Duration::from_secs(590));
    assert!(world.fresh(client).is_empty());
    world.advance(Duration::from_secs(20));
    assert_eq!(texts(&world.fresh(client)), ["yes, of cou"]);
    world.finish();
}

#[test]
fn messages_are_in_order_of_time_and_then_of_id() {
    let mut world = World::new();
    session(&mut world, SESSION, CWD);
    // Ids wrapped between the first two.
    for (at, id) in [(3, "msg_00000ea6c001"), (1, "msg_fffff15a4001"), (4, "msg_b"), (4, "msg_a")] {
        human(&mut world, at, id, &format!("{at} {id}"));
    }
    world.advance(SENT);
    let client = world.watch(&format!("opencode:{SESSION}"));
    world.advance(TWO_POLLS);
    let expected = ["1 msg_fffff15a4001", "3 msg_00000ea6c001", "4 msg_a", "4 msg_b"];
    assert_eq!(texts(&world.fresh(client)), expected);
    world.finish();
}

#[test]
fn seqs_are_the_same_after_a_restart_and_a_client_resumes() {
    let mut world = world();
    assistant(&mut world, 5_000, "msg_c", None);
    part(&mut world, "msg_c", "prt_3", bash("running", None));
    let client = world.watch(&format!("opencode:{SESSION}"));
    world.advance(SENT);
    let before = world.fresh(client);
    let generation = before.only("hello").json["generation"].as_str().unwrap().to_owned();
    let before = shown(&before);
    assert_eq!(before.len(), 3);
    world.reborn(Bridge::new(config()));
    // Meanwhile an earlier call was answered, and a text came behind it.
    part(&mut world, "msg_c", "prt_3", bash("completed", Some("a.txt")));
    part(&mut world, "msg_c", "prt_4", text("done", true));
    let resumed = format!(
        "/agent-transcript?pane=opencode:{SESSION}&token={TOKEN}&session={SESSION}&generation={generation}\
         &since_seq=3&since_id=prt_3%23call"
    );
    let client = world.connect(&resumed);
    world.advance(SENT);
    let frames = world.fresh(client);
    assert_eq!(frames.only("hello").json["resumed"], true);
    assert_eq!(shown(&frames), [(4, "a.txt".to_owned()), (5, "done".to_owned())]);
    world.finish();
}

#[test]
fn a_look_costs_the_same_however_long_the_session_is() {
    let cost = |messages: usize| {
        let mut world = World::new();
        session(&mut world, SESSION, CWD);
        for n in 0..messages {
            let id = format!("msg_{n:05}");
            human(&mut world, i64::try_from(n).unwrap(), &id, "again");
        }
        world.advance(SENT);
        let client = world.watch(&format!("opencode:{SESSION}"));
        world.advance(SENT * 2);
        let frames = world.fresh(client);
        assert_eq!(frames.only("hello").json["total"], messages);
        world.disk.take_accesses();
        world.advance(Duration::from_secs(10));
        let accesses = world.disk.take_accesses().len();
        world.finish();
        accesses
    };
    let (short, long) = (cost(3), cost(300));
    assert_eq!(short, long);
    assert!(long < 250, "{long} questions to the disk in 10 s");
}

#[test]
fn a_session_of_another_directory_is_no_transcript_of_the_pane() {
    let mut world = World::new();
    session(&mut world, "ses_here", CWD);
    session(&mut world, "ses_there", "/home/u/other");
    // One that is not written yet is waited for.
    for (pane, reported, expected) in
        [("w1:p1", "ses_here", 426), ("w1:p2", "ses_there", 404), ("w1:p3", "ses_later", 426)]
    {
        world.herdr.open(Pane::claude(pane, CWD).of_kind("opencode").with_session(reported));
        let client = world.get(&format!("/agent-transcript?pane={pane}&token={TOKEN}"));
        world.run();
        assert_eq!(status(&world, client), Some(expected), "{reported}");
    }
    world.finish();
}

#[test]
fn without_an_id_the_newest_session_of_the_directory_is_it_and_never_a_childs() {
    let mut world = World::new();
    session(&mut world, "ses_old", CWD);
    world.advance(Duration::from_secs(5));
    session(&mut world, SESSION, CWD);
    world.advance(Duration::from_secs(5));
    let child = json!({"id": "ses_child", "parentID": SESSION, "directory": CWD, "title": "t (@explore subagent)"});
    put(&mut world, "session/p/ses_child", &child);
    session(&mut world, "ses_elsewhere", "/home/u/other");
    world.herdr.open(Pane::claude(PANE, CWD).of_kind("OpenCode "));
    for pane in [PANE.to_owned(), format!("opencode:dir:{CWD}")] {
        let client = world.watch(&pane);
        world.advance(TWO_POLLS);
        assert_eq!(world.fresh(client).only("hello").json["session_id"], SESSION, "{pane}");
    }
    let client = world.watch("opencode:latest");
    world.advance(TWO_POLLS);
    assert_eq!(world.fresh(client).only("hello").json["session_id"], "ses_elsewhere");
    world.finish();
}

#[test]
fn an_unknown_session_is_an_error_and_never_another_one() {
    let mut world = world();
    let client = world.get(&format!("/agent-transcript?pane=opencode:ses_unknown&token={TOKEN}"));
    world.run();
    assert_eq!(status(&world, client), Some(404));
    world.finish();
}

#[test]
fn a_part_that_is_half_written_is_waited_for_and_a_broken_one_is_shown_as_such() {
    let mut world = world();
    let client = world.watch(&format!("opencode:{SESSION}"));
    assistant(&mut world, 5_000, "msg_c", Some(5_001));
    world.disk.append(&format!("{STORAGE}/part/msg_c/prt_2.json"), "{\"type\":\"text\",\"te");
    world.advance(TWO_POLLS);
    assert_eq!(texts(&world.fresh(client)), ["how are you?", "very well"]);
    part(&mut world, "msg_c", "prt_2", text("whole now", true));
    world.advance(TWO_POLLS);
    assert_eq!(texts(&world.fresh(client)), ["whole now"]);
    assistant(&mut world, 6_000, "msg_d", Some(6_001));
    world.disk.append(&format!("{STORAGE}/part/msg_d/prt_3.json"), "{\"type\":\"text\",\"te");
    world.advance(SENT);
    let frames = world.fresh(client);
    assert_eq!(texts(&frames), ["unreadable part (18 bytes): {\"type\":\"text\",\"te"]);
    assert_eq!(frames[0].json["entry"]["parsed"], false);
    world.finish();
}

#[test]
fn sessions_that_a_session_starts_are_rows_of_its_roster() {
    let mut world = world();
    let task = |status: &str| {
        json!({"type": "tool", "tool": "task", "callID": "call_9", "state": {"status": status,
            "input": {"description": "look around", "subagent_type": "explore", "prompt": "…"},
            "metadata": {"sessionId": "ses_child"}, "output": "all is well", "time": {"start": NOON + 5_000}}})
    };
    assistant(&mut world, 5_000, "msg_c", None);
    part(&mut world, "msg_c", "prt_2", task("running"));
    let child = json!({"id": "ses_child", "parentID": SESSION, "directory": CWD,
        "title": "look around (@explore subagent)", "time": {"created": NOON, "updated": NOON + 7}});
    put(&mut world, "session/p/ses_child", &child);
    let grandchild = json!({"id": "ses_below", "parentID": "ses_child", "directory": CWD, "title": "deeper",
        "time": {"created": NOON, "updated": NOON + 8}});
    put(&mut world, "session/p/ses_below", &grandchild);
    world.herdr.open(Pane::claude("w1:p5", CWD).of_kind("opencode").with_session(SESSION));
    let listed = |world: &mut World| {
        let client = world.get(&format!("/snapshot?token={TOKEN}"));
        world.advance(SENT);
        let body: Value = serde_json::from_str(&world.client(client).answer().unwrap().body).unwrap();
        body["result"]["snapshot"]["agents"][0].get("subagents").cloned()
    };
    assert_eq!(listed(&mut world), None, "nobody follows it: it would have to be copied");
    let client = world.watch(&format!("opencode:{SESSION}"));
    world.advance(SENT);
    assert_eq!(listed(&mut world), Some(json!({"total": 2, "running": 2})));
    let frames = world.fresh(client);
    let row = |id: &str, call: &str, agent: &str, what: &str, depth: u64, done: bool, at: i64| {
        json!({"agent_id": id, "tool_use_id": call, "agent_type": agent, "description": what, "spawn_depth": depth,
            "done": done, "last_activity_ts": NOON + at})
    };
    let rows = |frames: &[Received]| {
        let told = |frame: &&Received| frame.json.get("subagents").is_some();
        frames.iter().rfind(told).map(|frame| frame.json["subagents"].clone())
    };
    let below = row("ses_below", "", "", "deeper", 2, false, 8);
    let started = row("ses_child", "call_9", "explore", "look around", 1, false, 7);
    assert_eq!(rows(&frames), Some(json!([started, below])));
    part(&mut world, "msg_c", "prt_2", task("completed"));
    world.advance(SENT * 2);
    let frames = world.fresh(client);
    let ended = row("ses_child", "call_9", "explore", "look around", 1, true, 7);
    assert_eq!(rows(&frames), Some(json!([ended, below])));
    assert_eq!(shown(&frames), [(4, "all is well".to_owned())]);

    let info = json!({"id": "msg_x", "sessionID": "ses_child", "role": "user", "time": {"created": NOON}});
    put(&mut world, "message/ses_child/msg_x", &info);
    part(&mut world, "msg_x", "prt_x", json!({"type": "text", "text": "go and look"}));
    let child = world.connect(&format!("/agent-transcript?pane=opencode:{SESSION}&subagent=ses_child&token={TOKEN}"));
    world.advance(SENT);
    let frames = world.fresh(child);
    assert_eq!(frames.only("hello").json["subagent"], "ses_child");
    assert_eq!(texts(&frames), ["go and look"]);
    world.finish();
}

#[test]
fn after_a_restart_hello_counts_what_came_meanwhile() {
    let mut world = World::new();
    session(&mut world, SESSION, CWD);
    let say = |world: &mut World, n: i64| human(world, n, &format!("msg_{n:03}"), "again");
    (0..20).for_each(|n| say(&mut world, n));
    world.advance(SENT);
    let client = world.watch(&format!("opencode:{SESSION}"));
    world.advance(SENT);
    assert_eq!(world.fresh(client).only("hello").json["total"], 20);
    world.reborn(Bridge::new(config()));
    (20..25).for_each(|n| say(&mut world, n));
    let client = world.watch(&format!("opencode:{SESSION}"));
    world.advance(SENT);
    assert_eq!(world.fresh(client).only("hello").json["total"], 25);
    world.finish();
}

#[test]
fn a_session_whose_store_is_gone_at_a_restart_is_what_was_shown_of_it() {
    let mut world = world();
    session(&mut world, "ses_there", "/home/u/other");
    world.herdr.open(Pane::claude(PANE, CWD).of_kind("opencode").with_session(SESSION));
    for pane in [PANE, "opencode:ses_there"] {
        let client = world.watch(pane);
        world.advance(SENT);
        world.fresh(client);
    }
    let info = json!({"id": "msg_y", "sessionID": "ses_there", "role": "user", "time": {"created": NOON}});
    put(&mut world, "message/ses_there/msg_y", &info);
    part(&mut world, "msg_y", "prt_y", json!({"type": "text", "text": "of another directory"}));
    world.advance(SENT);
    let shown_before = format!("/agent-transcript?pane={PANE}&token={TOKEN}");
    world.reborn(Bridge::new(config()));
    world.disk.rename(STORAGE, "/home/u/away");
    let client = world.watch(PANE);
    world.advance(SENT);
    let frames = world.fresh(client);
    assert_eq!(frames.only("hello").json["session_id"], SESSION);
    assert_eq!(shown(&frames), [(1, "how are you?".to_owned()), (2, "very well".to_owned())]);
    // Another directory's is not shown here, neither from its spool nor as something to wait for.
    world.herdr.open(Pane::claude("w1:p6", CWD).of_kind("opencode").with_session("ses_there"));
    let client = world.get(&format!("/agent-transcript?pane=w1:p6&token={TOKEN}"));
    world.run();
    assert_eq!(status(&world, client), Some(404));
    // The store is there again: it goes on where it was.
    world.disk.rename("/home/u/away", STORAGE);
    human(&mut world, 9_000, "msg_c", "and now?");
    let client = world.connect(&shown_before);
    world.advance(SENT);
    assert_eq!(texts(&world.fresh(client)), ["how are you?", "very well", "and now?"]);
    world.finish();
}

#[test]
fn a_message_that_is_never_whole_costs_itself_alone() {
    let cost = |messages: i64| {
        let mut world = World::new();
        session(&mut world, SESSION, CWD);
        (0..messages).for_each(|n| human(&mut world, n, &format!("msg_{n:05}"), "again"));
        world.disk.append(&format!("{STORAGE}/message/{SESSION}/msg_torn.json"), "{\"role\":\"us");
        world.advance(SENT);
        let client = world.watch(&format!("opencode:{SESSION}"));
        world.advance(SENT * 2);
        assert_eq!(shown(&world.fresh(client)).len(), usize::try_from(messages).unwrap());
        world.disk.take_accesses();
        world.advance(Duration::from_secs(10));
        let accesses = world.disk.take_accesses().len();
        world.finish();
        accesses
    };
    let (few, many) = (cost(3), cost(100));
    assert_eq!(few, many);
}
