//! `?subagent=`: the conversation of a child, streamed like any other.

use core::time::Duration;

use panewire_conformance::sim::disk::{Effect, OpKind};
use panewire_conformance::sim::scene::{PANE, ROSTER_POLLED, SESSION, SESSION_POLLED};
use panewire_conformance::sim::{Ask, Frames as _, Scene, TOKEN, Transcript};
use panewire_core::ids::ExId;
use panewire_core::io::FailureKind;
use serde_json::json;

fn target(agent_id: &str) -> String {
    format!("/agent-transcript?pane={PANE}&token={TOKEN}&subagent={agent_id}")
}

/// A session with one child of so many entries.
fn scene(entries: u32) -> (Scene, Transcript) {
    let mut scene = Scene::with_entries(3);
    let child = scene.spawn("a1", "toolu_1", 1, entries);
    (scene, child)
}

fn connect(scene: &mut Scene, target: &str) -> ExId {
    let client = scene.world.connect(target);
    scene.world.run();
    client
}

fn watch_child(scene: &mut Scene) -> ExId {
    connect(scene, &target("a1"))
}

fn status(scene: &mut Scene, ask: &Ask) -> (u16, String) {
    let ex = scene.world.ask(ask);
    scene.world.run();
    scene.world.client(ex).answer().map(|answer| (answer.status, answer.body)).unwrap_or_default()
}

#[test]
fn a_child_has_an_opening_pages_and_a_tail_of_its_own() {
    let (mut scene, mut child) = scene(200);
    let client = watch_child(&mut scene);
    let frames = scene.world.fresh(client);
    let hello = frames.only("hello");
    assert_eq!((hello.json["subagent"].clone(), hello.json["session_id"].clone()), (json!("a1"), json!(SESSION)));
    assert_eq!((hello.number("total"), hello.number("oldest_loaded_seq")), (200, 51));
    // The roster is the whole session's, whichever conversation is shown.
    assert_eq!(hello.json["subagents"][0]["agent_id"], "a1");
    assert_eq!(frames.seqs(), (51..=200).collect::<Vec<_>>());
    assert_eq!(frames.last().map(|frame| frame.kind()), Some("backlog_complete"));

    scene.world.load_older(client, 51, 20);
    scene.world.run();
    let page = scene.world.fresh(client);
    assert_eq!((page.seqs(), page.only("page_complete").number("oldest_loaded_seq")), ((31..=50).collect(), 31));

    scene.world.disk.append(&child.path(), child.talk(2));
    assert_eq!(scene.polled(client).seqs(), [201, 202]);
    // What the session writes is not shown, and the other way round.
    let other = scene.watch();
    scene.talk(1);
    assert!(scene.polled(client).is_empty());
    assert_eq!(scene.world.fresh(other).seqs(), [4]);
    scene.world.finish();
}

#[test]
fn a_child_is_told_of_changes_of_the_roster_and_of_its_own_end() {
    let (mut scene, _) = scene(2);
    let client = watch_child(&mut scene);
    scene.world.fresh(client);
    let end = scene.agent.notification(&["a1"], Some("completed"));
    scene.append(&end);
    scene.world.advance(ROSTER_POLLED);
    let frames = scene.world.fresh(client);
    assert_eq!(
        (frames.kinds(), &frames.only("subagents").json["subagents"][0]["done"]),
        (vec!["subagents"], &json!(true))
    );
    scene.world.finish();
}

#[test]
fn a_child_never_rotates() {
    let (mut scene, mut child) = scene(2);
    let client = watch_child(&mut scene);
    scene.world.fresh(client);
    let next = scene.next_session(3);
    scene.world.herdr.rotate(PANE, next.session());
    scene.world.advance(SESSION_POLLED * 2);
    assert!(scene.world.fresh(client).is_empty());
    scene.world.disk.append(&child.path(), child.talk(1));
    assert_eq!(scene.polled(client).seqs(), [3]);
    // The pane itself shows the next session, in which there is no such child.
    let other = scene.world.watch(PANE);
    assert_eq!(scene.world.fresh(other).only("hello").number("total"), 3);
    assert_eq!(status(&mut scene, &Ask::socket(&target("a1"))).0, 404);
    scene.world.finish();
}

#[test]
fn a_cursor_in_a_child_goes_on_and_one_of_its_session_does_not() {
    let (mut scene, mut child) = scene(5);
    let client = watch_child(&mut scene);
    let frames = scene.world.fresh(client);
    let generation = frames.only("hello").json["generation"].as_str().unwrap().to_owned();
    let id = frames.iter().filter_map(|frame| frame.json["entry"]["id"].as_str()).next_back().unwrap().to_owned();
    scene.world.leave(client);
    scene.world.disk.append(&child.path(), child.talk(2));
    let cursor = format!("&session={SESSION}&generation={generation}&since_seq=5&since_id={}", id.replace('#', "%23"));
    let client = connect(&mut scene, &(target("a1") + &cursor));
    let frames = scene.world.fresh(client);
    assert_eq!((frames.only("hello").json["resumed"].clone(), frames.seqs()), (json!(true), vec![6, 7]));
    let main = connect(&mut scene, &(format!("/agent-transcript?pane={PANE}&token={TOKEN}") + &cursor));
    let frames = scene.world.fresh(main);
    assert_eq!((frames.only("hello").json["resumed"].clone(), frames.seqs()), (json!(false), vec![1, 2, 3]));
    scene.world.finish();
}

#[test]
fn one_whole_entry_of_a_child_by_its_seq() {
    let (mut scene, mut child) = scene(1);
    let long = "word ".repeat(9_000);
    scene.world.disk.append(&child.path(), child.assistant(&long));
    let entry =
        |seq: u32| Ask::get(&format!("/agent-transcript/entry?pane={PANE}&token={TOKEN}&subagent=a1&seq={seq}"));
    let (code, body) = status(&mut scene, &entry(2));
    assert_eq!((code, body.contains(long.trim_end())), (200, true));
    assert_eq!(status(&mut scene, &entry(3)), (404, "no such entry\n".into()));
    scene.world.finish();
}

#[test]
fn an_id_is_looked_up_and_is_never_a_path() {
    let (mut scene, _) = scene(1);
    scene.world.disk.append("/home/u/secret.jsonl", "{\"type\":\"user\",\"message\":{\"content\":\"secret\"}}\n");
    scene.world.disk.take_accesses();
    for id in ["../../secret", "%2e%2e%2fsecret", "/home/u/secret", "a1/../a1", "a1.jsonl", "*", "A1", "%00", "a2"] {
        let refused = (404, "no transcript file for pane\n".to_owned());
        assert_eq!(status(&mut scene, &Ask::socket(&target(id))), refused, "{id}");
        assert_eq!(status(&mut scene, &Ask::get(&target(id))), refused, "{id}");
        let entry = format!("/agent-transcript/entry?pane={PANE}&token={TOKEN}&seq=1&subagent={id}");
        assert_eq!(status(&mut scene, &Ask::get(&entry)), refused, "{id}");
    }
    let touched = |path: &str| path.contains("secret") || path.contains("..");
    assert!(!scene.world.disk.take_accesses().iter().any(|access| touched(&access.path)));
    assert_eq!(status(&mut scene, &Ask::get(&target("a1"))).0, 426);
    assert_eq!(status(&mut scene, &Ask::get(&(target("a1") + "&probe=1"))).0, 204);
    scene.world.finish();
}

#[test]
fn without_a_session_file_there_is_no_child() {
    let mut scene = Scene::without_file(panewire_conformance::sim::config());
    scene.spawn("a1", "toolu_1", 1, 1);
    assert_eq!(status(&mut scene, &Ask::socket(&target("a1"))).0, 404);
    scene.world.finish();
}

#[test]
fn a_child_of_a_roster_that_cannot_be_had_is_not_found() {
    let (mut scene, _) = scene(1);
    let directory = scene.agent.children();
    scene.world.disk.spoil(OpKind::List, &directory, Effect::Fail(FailureKind::Denied));
    assert_eq!(status(&mut scene, &Ask::socket(&target("a1"))).0, 404);
    scene.world.finish();
}

#[test]
fn who_leaves_while_a_child_is_looked_for_leaves_nothing_behind() {
    let (mut scene, _) = scene(1);
    let directory = scene.agent.children();
    scene.world.disk.spoil(OpKind::List, &directory, Effect::Slow(Duration::from_secs(5)));
    let client = scene.world.ask(&Ask::socket(&target("a1")));
    scene.world.advance(Duration::from_secs(1));
    assert!(scene.world.client(client).answer().is_none());
    scene.world.leave(client);
    scene.world.advance(Duration::from_secs(120));
    scene.world.disk.take_accesses();
    scene.world.advance(Duration::from_secs(600));
    assert_eq!(scene.world.disk.take_accesses(), []);
    scene.world.finish();
}

#[test]
fn a_child_that_is_deleted_leaves_the_roster_and_its_stream_stays() {
    let (mut scene, child) = scene(2);
    let client = watch_child(&mut scene);
    scene.world.fresh(client);
    // A directory that changes twice at one time is seen to have changed by every third look alone.
    scene.world.advance(Duration::from_secs(1));
    scene.world.disk.delete(&child.path());
    scene.world.advance(ROSTER_POLLED);
    let frames = scene.world.fresh(client);
    assert_eq!((frames.kinds(), &frames.only("subagents").json["subagents"]), (vec!["subagents"], &json!([])));
    assert_eq!(scene.world.client(client).closed(), None);
    assert_eq!(status(&mut scene, &Ask::socket(&target("a1"))).0, 404);
    scene.world.finish();
}

#[test]
fn a_grandchild_is_streamed_like_a_child() {
    let (mut scene, _) = scene(1);
    scene.spawn("b2", "toolu_2", 2, 4);
    let client = connect(&mut scene, &target("b2"));
    assert_eq!(scene.world.fresh(client).seqs(), [1, 2, 3, 4]);
    scene.world.finish();
}

#[test]
fn an_old_child_inside_the_sessions_file_has_a_row_and_a_stream_of_its_own() {
    let mut scene = Scene::with_entries(1);
    let call = scene.agent.spawn("toolu_1", None, "look for shelves") + &scene.agent.spawn("toolu_2", None, "count");
    let line = |uuid: &str, follows: Option<&str>, role: &str, text: &str| {
        let message = json!({"role": role, "content": [{"type": "text", "text": text}]});
        let follows = json!(follows);
        format!(
            "{{\"parentUuid\":{follows},\"isSidechain\":true,\"sessionId\":\"{SESSION}\",\"type\":\"{role}\",\"message\":{message},\
             \"uuid\":\"{uuid}\",\"timestamp\":\"2026-03-01T09:00:00.000Z\"}}\n"
        )
    };
    let inside = line("k1", None, "user", "look for shelves")
        + &line("m1", None, "user", "count")
        + &line("k2", Some("k1"), "assistant", "I look.")
        + &line("m2", Some("m1"), "assistant", "One, two.")
        + &line("k3", Some("k2"), "assistant", "Here they are.");
    let answer = scene.agent.answer("toolu_1", &json!({"content": [], "totalDurationMs": 5}));
    scene.append(&(call + &inside + &answer));
    let client = scene.world.watch(PANE);
    let frames = scene.world.fresh(client);
    // None of it is the session's own.
    assert_eq!(frames.only("hello").number("total"), 4);
    let row = |id: &str, call: &str, done: bool| {
        json!({"agent_id": id, "tool_use_id": call, "agent_type": "Explore", "description": format!("do {call}"),
            "spawn_depth": 1, "done": done, "last_activity_ts": 1_772_355_600_000_i64})
    };
    assert_eq!(
        frames.only("hello").json["subagents"],
        json!([row("k1", "toolu_1", true), row("m1", "toolu_2", false)])
    );
    for (id, texts) in [("k1", &["look for shelves", "I look.", "Here they are."][..]), ("m1", &["count", "One, two."])]
    {
        let child = connect(&mut scene, &target(id));
        let frames = scene.world.fresh(child);
        assert_eq!((frames.texts(), frames.only("hello").json["subagent"].clone()), (texts.to_vec(), json!(id)));
    }
    let entry = format!("/agent-transcript/entry?pane={PANE}&token={TOKEN}&subagent=k1&seq=3");
    let (code, body) = status(&mut scene, &Ask::get(&entry));
    assert_eq!((code, body.contains("Here they are.")), (200, true));
    assert_eq!(status(&mut scene, &Ask::socket(&target("k2"))).0, 404);
    scene.world.finish();
}
