//! The roster: which agents a session has started, which of them have finished, and when clients are told.

use core::time::Duration;

use panewire_conformance::sim::client::Received;
use panewire_conformance::sim::disk::{Access, Effect, OpKind};
use panewire_conformance::sim::scene::{PANE, ROSTER_POLLED, SESSION_POLLED};
use panewire_conformance::sim::transcript::notification;
use panewire_conformance::sim::{Frames as _, Scene, TOKEN};
use panewire_core::ids::ExId;
use panewire_core::io::{FailureKind, Level};
use serde_json::{Value, json};

/// The hello of somebody who connects now.
fn hello(scene: &mut Scene) -> Value {
    let client = scene.world.watch(PANE);
    let hello = scene.world.fresh(client).only("hello").json.clone();
    scene.world.leave(client);
    hello
}

/// Which children there are now, and whether they are done.
fn done(scene: &mut Scene) -> Vec<(String, bool)> {
    states(&hello(scene)["subagents"])
}

fn states(rows: &Value) -> Vec<(String, bool)> {
    let row = |row: &Value| (row["agent_id"].as_str().unwrap_or_default().to_owned(), row["done"] == true);
    rows.as_array().map(|rows| rows.iter().map(row).collect()).unwrap_or_default()
}

fn told(id: &str, done: bool) -> (String, bool) {
    (id.to_owned(), done)
}

/// The rosters that a client was sent after the next look at the children.
fn frames(scene: &mut Scene, client: ExId) -> Vec<Value> {
    scene.world.advance(ROSTER_POLLED);
    let rosters = |frame: Received| (frame.kind() == "subagents").then(|| frame.json["subagents"].clone());
    scene.world.fresh(client).into_iter().filter_map(rosters).collect()
}

#[test]
fn a_session_that_delegated_nothing_has_no_roster() {
    let mut scene = Scene::with_entries(3);
    assert_eq!(hello(&mut scene).get("subagents"), None);
    scene.world.finish();
}

#[test]
fn every_field_of_every_child_by_depth_and_id() {
    let mut scene = Scene::with_entries(2);
    scene.spawn("b2", "toolu_b", 2, 1);
    scene.spawn("c3", "toolu_c", 1, 3);
    scene.spawn("a1", "toolu_a", 1, 2);
    let row = |id: &str, call: &str, depth: u64, seconds: i64| {
        json!({
            "agent_id": id, "tool_use_id": call, "agent_type": "Explore", "description": format!("do {call}"),
            "spawn_depth": depth, "done": false, "last_activity_ts": 1_772_352_000_250_i64 + seconds * 1_000,
        })
    };
    let rows = [row("a1", "toolu_a", 1, 2), row("c3", "toolu_c", 1, 3), row("b2", "toolu_b", 2, 1)];
    assert_eq!(hello(&mut scene)["subagents"], json!(rows));
    scene.world.finish();
}

#[test]
fn a_change_of_any_field_but_the_age_is_a_frame_and_an_empty_roster_too() {
    let mut scene = Scene::with_entries(2);
    let client = scene.watch();
    assert_eq!(frames(&mut scene, client), Vec::<Value>::new());
    let mut child = scene.spawn("a1", "toolu_a", 1, 1);
    let (path, meta) = (child.path(), child.meta_path());
    assert_eq!(frames(&mut scene, client).iter().map(states).collect::<Vec<_>>(), [[told("a1", false)]]);

    // It goes on: no news.
    scene.world.disk.append(&path, child.talk(4));
    assert_eq!(frames(&mut scene, client), Vec::<Value>::new());
    // Another label is.
    scene.world.disk.replace(&meta, json!({"agentType": "Plan", "toolUseId": "toolu_a", "spawnDepth": 1}).to_string());
    scene.world.advance(ROSTER_POLLED);
    let rosters = frames(&mut scene, client);
    assert_eq!(rosters.len(), 1);
    assert_eq!((&rosters[0][0]["agent_type"], &rosters[0][0]["description"]), (&json!("Plan"), &json!("")));
    // By now the age is shown with it.
    assert_eq!(rosters[0][0]["last_activity_ts"], 1_772_352_005_250_i64);

    let end = scene.agent.notification(&["a1"], Some("completed"));
    scene.append(&end);
    assert_eq!(frames(&mut scene, client).iter().map(states).collect::<Vec<_>>(), [[told("a1", true)]]);
    scene.world.disk.delete(&path);
    scene.world.disk.delete(&meta);
    assert_eq!(frames(&mut scene, client), [json!([])]);
    assert_eq!(hello(&mut scene).get("subagents"), None);
    scene.world.finish();
}

#[test]
fn who_is_told_waits_for_the_entries_that_were_there() {
    let mut scene = Scene::with_entries(2);
    let client = scene.watch();
    scene.spawn("a1", "toolu_a", 1, 1);
    let call = scene.agent.spawn("toolu_a", None, "do it");
    scene.append(&call);
    scene.world.advance(ROSTER_POLLED);
    assert_eq!(scene.world.fresh(client).kinds(), ["live", "subagents"]);
    scene.world.finish();
}

/// One child of a session in which these lines were written.
fn with_lines(lines: impl FnOnce(&mut Scene) -> String) -> bool {
    let mut scene = Scene::with_entries(1);
    scene.spawn("a1", "toolu_1", 1, 1);
    let lines = lines(&mut scene);
    scene.append(&lines);
    let states = done(&mut scene);
    assert_eq!(states.len(), 1, "{states:?}");
    scene.world.finish();
    states[0].1
}

#[test]
fn a_call_that_waits_is_done_by_its_answer_and_no_other() {
    let plain = json!("Error: it broke");
    let launched = json!({"isAsync": true, "status": "async_launched", "agentId": "a1"});
    let completed = json!({"status": "completed", "agentId": "a1", "content": []});
    for (waits, result, done) in [
        (Some(true), None, false),
        (Some(true), Some(&plain), true),
        (Some(true), Some(&completed), true),
        (Some(true), Some(&launched), false),
        (Some(false), Some(&plain), false),
        (Some(false), Some(&launched), false),
        (None, Some(&plain), false),
        (None, Some(&launched), false),
        (None, Some(&completed), true),
    ] {
        for answer_first in [false, true] {
            let found = with_lines(|scene| {
                let agent = &mut scene.agent;
                let call = agent.spawn("toolu_1", waits, "do it");
                let answer = result.map(|result| agent.answer("toolu_1", result)).unwrap_or_default();
                if answer_first { answer + &call } else { call + &answer }
            });
            assert_eq!(found, done, "{waits:?} {result:?} answer first: {answer_first}");
        }
    }
}

#[test]
fn a_notification_is_the_end_whatever_the_call_says_and_the_last_one_counts() {
    for (statuses, done) in [
        (&["completed"][..], true),
        (&["failed"], true),
        (&["killed"], true),
        (&["stopped", "killed", "failed", "completed"], true),
        (&["completed", "running"], false),
        (&["completed", "Running "], false),
        (&["running", "stopped"], true),
    ] {
        for waits in [None, Some(false), Some(true)] {
            let found = with_lines(|scene| {
                let agent = &mut scene.agent;
                let spawn = agent.spawn("toolu_1", waits, "do it") + &agent.answer("toolu_1", &json!({}));
                let ends: String = statuses.iter().map(|status| agent.notification(&["a1"], Some(status))).collect();
                spawn + &ends
            });
            assert_eq!(found, done, "{statuses:?} {waits:?}");
        }
    }
}

#[test]
fn one_status_ends_all_that_it_names_and_no_status_ends_nobody() {
    let mut scene = Scene::with_entries(1);
    for (id, call) in [("a1", "toolu_1"), ("a2", "toolu_2"), ("a3", "toolu_3")] {
        scene.spawn(id, call, 1, 1);
    }
    let agent = &mut scene.agent;
    let lines = agent.notification(&["a1", "a3"], Some("stopped")) + &agent.notification(&["a2"], None);
    scene.append(&lines);
    assert_eq!(done(&mut scene), [told("a1", true), told("a2", false), told("a3", true)]);
    scene.world.finish();
}

#[test]
fn tags_that_are_quoted_end_nobody() {
    let quoted = notification(&["a1"], Some("completed"));
    let human = json!({"type": "user", "message": {"role": "user", "content": quoted}, "origin": {"kind": "human"}});
    let typed = json!({"type": "attachment", "attachment": {
        "type": "queued_command", "prompt": quoted, "commandMode": "prompt", "origin": {"kind": "human"}}});
    let lines: [&dyn Fn(&mut Scene) -> String; 7] = [
        &|scene| scene.agent.assistant(&quoted),
        &|scene| scene.agent.user(&format!("What does this mean: {quoted}")),
        &|_| format!("{human}\n"),
        &|_| format!("{typed}\n"),
        &|scene| {
            let text = format!(
                "<task-notification><task-id>b7</task-id><status>failed</status><result>{quoted}</result></task-notification>"
            );
            scene.agent.user(&text)
        },
        &|scene| {
            let call = scene.agent.tool_use("Bash", &json!({"command": "cat log"}));
            call + &scene.agent.tool_result(&quoted, false, &json!({"stdout": quoted}))
        },
        &|scene| {
            let open = scene.agent.user("<task-notification> is never closed here <task-id>a1</task-id>");
            open + &scene.agent.user("<status>completed</status></task-notification>")
        },
    ];
    for (no, line) in lines.iter().enumerate() {
        assert!(!with_lines(line), "line {no}");
    }
}

#[test]
fn notifications_of_all_shapes_of_records_count() {
    let text = notification(&["a1"], Some("completed"));
    for record in [
        json!({"type": "user", "message": {"role": "user", "content": text}}),
        json!({"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}}),
        json!({"type": "user", "message": {"role": "user", "content": text}, "origin": {"kind": "task-notification"}}),
        json!({"type": "attachment", "attachment": {
            "type": "queued_command", "prompt": text, "commandMode": "task-notification"}}),
        json!({"type": "attachment", "attachment": {
            "type": "queued_command", "prompt": [{"type": "text", "text": text}], "origin": {"kind": "task-notification"}}}),
    ] {
        assert!(with_lines(|_| format!("{record}\n")), "{record}");
    }
    let queued = format!("{{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"content\":{}}}\n", json!(text));
    assert!(with_lines(|_| queued.clone()));
    assert!(!with_lines(|_| queued.replace("enqueue", "remove")));
}

#[test]
fn an_end_that_is_told_before_anything_else_is_applied_when_the_row_appears() {
    let mut scene = Scene::with_entries(1);
    let client = scene.watch();
    let end = scene.agent.notification(&["a1"], Some("completed"));
    scene.append(&end);
    assert_eq!(frames(&mut scene, client), Vec::<Value>::new());
    scene.spawn("a1", "toolu_1", 1, 1);
    assert_eq!(frames(&mut scene, client).iter().map(states).collect::<Vec<_>>(), [[told("a1", true)]]);
    scene.world.finish();
}

#[test]
fn a_resumed_agent_is_done_while_it_writes_and_a_later_word_overrides() {
    let mut scene = Scene::with_entries(1);
    let mut child = scene.spawn("a1", "toolu_1", 1, 1);
    let end = scene.agent.notification(&["a1"], Some("completed"));
    scene.append(&end);
    let last = |scene: &mut Scene| {
        let row = hello(scene)["subagents"][0].clone();
        (row["done"] == true, row["last_activity_ts"].as_i64().unwrap())
    };
    let (was_done, before) = last(&mut scene);
    scene.world.disk.append(&child.path(), child.talk(9));
    let (is_done, after) = last(&mut scene);
    assert_eq!((was_done, is_done, after - before), (true, true, 9_000));
    let again = scene.agent.notification(&["a1"], Some("running"));
    scene.append(&again);
    assert_eq!(done(&mut scene), [told("a1", false)]);
    scene.world.finish();
}

#[test]
fn a_synchronous_grandchild_is_done_by_the_child_that_called_it() {
    let mut scene = Scene::with_entries(1);
    let mut child = scene.spawn("a1", "toolu_1", 1, 1);
    scene.spawn("b2", "toolu_2", 2, 1);
    let spawn = scene.agent.spawn("toolu_1", Some(true), "do it");
    scene.append(&spawn);
    scene.world.disk.append(&child.path(), child.spawn("toolu_2", Some(true), "do a part of it"));
    assert_eq!(done(&mut scene), [told("a1", false), told("b2", false)]);
    let client = scene.watch();
    scene.world.disk.append(&child.path(), child.answer("toolu_2", &json!({"status": "completed"})));
    let rosters: Vec<Value> = (0..3).flat_map(|_| frames(&mut scene, client)).collect();
    assert_eq!(rosters.iter().map(states).collect::<Vec<_>>(), [[told("a1", false), told("b2", true)]]);
    // What the session itself is told wins.
    let again = scene.agent.notification(&["b2"], Some("running"));
    scene.append(&again);
    let rosters = frames(&mut scene, client);
    assert_eq!(rosters.iter().map(states).collect::<Vec<_>>(), [[told("a1", false), told("b2", false)]]);
    scene.world.finish();
}

#[test]
fn children_that_nobody_names_are_found_in_the_directory() {
    let mut scene = Scene::with_entries(2);
    for id in ["a2898e3", "6633a783"] {
        let mut child = scene.agent.child(id);
        let talk = child.talk(1);
        scene.world.disk.append(&child.path(), talk);
    }
    assert_eq!(done(&mut scene), [told("6633a783", false), told("a2898e3", false)]);
    scene.world.finish();
}

#[test]
fn a_child_without_metadata_is_joined_to_its_call_by_what_it_was_told_or_by_the_answer() {
    let mut scene = Scene::with_entries(1);
    let calls = scene.agent.spawn("toolu_1", None, "look for shelves") + &scene.agent.spawn("toolu_2", None, "count");
    scene.append(&calls);
    for (id, prompt) in [("a1", "look for shelves"), ("a2", "another prompt than in the call")] {
        let mut child = scene.agent.child(id);
        let line = child.user(prompt);
        scene.world.disk.append(&child.path(), line);
    }
    let rows = hello(&mut scene)["subagents"].clone();
    let joined = |rows: &Value, id: &str| {
        let row = rows.as_array().unwrap().iter().find(|row| row["agent_id"] == id).cloned().unwrap();
        (row["tool_use_id"].clone(), row["description"].clone(), row["spawn_depth"].clone(), row["done"].clone())
    };
    assert_eq!(joined(&rows, "a1"), (json!("toolu_1"), json!("do toolu_1"), json!(1), json!(false)));
    assert_eq!(joined(&rows, "a2"), (json!(""), json!(""), json!(0), json!(false)));
    let answer = scene.agent.answer("toolu_2", &json!({"status": "completed", "agentId": "a2"}));
    scene.append(&answer);
    let rows = hello(&mut scene)["subagents"].clone();
    assert_eq!(joined(&rows, "a2"), (json!("toolu_2"), json!("do toolu_2"), json!(1), json!(true)));
    scene.world.finish();
}

#[test]
fn workflow_children_count_their_journal_and_the_hidden_summary_do_not() {
    let mut scene = Scene::with_entries(1);
    let directory = scene.agent.children();
    let run = format!("{directory}/workflows/wf_1");
    let mut child = scene.agent.child("a1");
    scene.world.disk.append(&format!("{run}/agent-a1.jsonl"), child.talk(1));
    scene.world.disk.append(&format!("{run}/agent-a1.meta.json"), r#"{"agentType":"worker","spawnDepth":1}"#);
    scene.world.disk.append(&format!("{run}/journal.jsonl"), "{\"type\":\"started\",\"agentId\":\"a1\"}\n");
    scene.world.disk.append(&format!("{directory}/agent-acompact-70d8e7.jsonl"), child.talk(1));
    let rows = hello(&mut scene)["subagents"].clone();
    assert_eq!((states(&rows), &rows[0]["agent_type"]), (vec![told("a1", false)], &json!("worker")));
    // One more appears in another run, while somebody watches.
    let client = scene.watch();
    scene.world.disk.append(&format!("{directory}/workflows/wf_2/agent-a2.jsonl"), child.talk(1));
    let rosters: Vec<Value> = (0..3).flat_map(|_| frames(&mut scene, client)).collect();
    assert_eq!(rosters.iter().map(|rows| states(rows).len()).collect::<Vec<_>>(), [2]);
    scene.world.finish();
}

#[test]
fn old_children_beside_the_session_are_those_whose_lines_name_it() {
    let mut scene = Scene::with_entries(1);
    let beside = |id: &str| scene_directory(&scene.path) + &format!("/agent-{id}.jsonl");
    let (ours, theirs) = (beside("6633a783"), beside("77f00d11"));
    let mut child = scene.agent.child("6633a783");
    scene.world.disk.append(&ours, child.talk(2));
    let foreign = child.talk(2).replace(scene.agent.session(), "5e550009-0000-4000-8000-000000000009");
    scene.world.disk.append(&theirs, foreign);
    let rows = hello(&mut scene)["subagents"].clone();
    assert_eq!(
        (states(&rows), &rows[0]["last_activity_ts"]),
        (vec![told("6633a783", false)], &json!(1_772_352_002_250_i64))
    );
    scene.world.disk.append(&ours, child.talk(1));
    assert_eq!(hello(&mut scene)["subagents"][0]["last_activity_ts"], 1_772_352_005_250_i64);
    scene.world.finish();
}

fn scene_directory(path: &str) -> String {
    path.rsplit_once('/').map(|(directory, _)| directory.to_owned()).unwrap_or_default()
}

#[test]
fn metadata_that_cannot_be_read_leaves_a_row_and_metadata_alone_none() {
    let mut scene = Scene::with_entries(1);
    let child = scene.spawn("a1", "toolu_1", 1, 1);
    scene.world.disk.write(&child.meta_path(), "{\"agentType\":\"Expl");
    scene.world.disk.write(&scene.agent.child("a2").meta_path(), "{\"agentType\":\"Explore\"}");
    let rows = hello(&mut scene)["subagents"].clone();
    let row = json!([{"agent_id": "a1", "tool_use_id": "", "agent_type": "", "description": "", "spawn_depth": 0,
        "done": false, "last_activity_ts": 1_772_352_001_250_i64}]);
    assert_eq!(rows, row);
    scene.world.finish();
}

#[test]
fn a_child_without_a_time_has_none_and_a_long_last_line_hides_it_not() {
    let mut scene = Scene::with_entries(1);
    scene.world.disk.append(&scene.agent.child("a1").path(), "{\"type\":\"mode\"}\n");
    let mut child = scene.agent.child("a2");
    let long = child.user(&"shelf ".repeat(30_000));
    scene.world.disk.append(&child.path(), long);
    let rows = hello(&mut scene)["subagents"].clone();
    assert_eq!(rows[0].get("last_activity_ts"), None);
    assert_eq!(rows[1]["last_activity_ts"], 1_772_352_001_250_i64);
    scene.world.finish();
}

/// What one look at the children costs: operations on anything below the session's directory, and the bytes asked for.
fn cost(scene: &mut Scene) -> (usize, usize) {
    let stem = scene.path.trim_end_matches(".jsonl").to_owned() + "/";
    let accesses: Vec<Access> = scene.world.disk.take_accesses();
    let of_children: Vec<&Access> = accesses.iter().filter(|access| access.path.starts_with(&stem)).collect();
    (of_children.len(), of_children.iter().filter(|access| access.kind == OpKind::Read).map(|access| access.len).sum())
}

fn with_children(children: usize) -> Scene {
    let mut scene = Scene::with_entries(1);
    for no in 0..children {
        scene.spawn(&format!("a{no:04}"), &format!("toolu_{no:04}"), 1, 40);
    }
    scene
}

#[test]
fn what_has_not_changed_costs_one_look_at_the_directory() {
    let mut scene = with_children(63);
    let clients: Vec<ExId> = (0..10).map(|_| scene.watch()).collect();
    // The directory, its names; of each child its metadata and its end: opened and read.
    let (first, _) = cost(&mut scene);
    assert_eq!(first, 2 + 63 * 4);
    let looks: Vec<(usize, usize)> = (0..6)
        .map(|_| {
            scene.world.advance(Duration::from_secs(3));
            cost(&mut scene)
        })
        .collect();
    // Every third look asks for the names, and with them for the facts of every child.
    assert_eq!(looks, [(1, 0), (1, 0), (2, 0), (1, 0), (1, 0), (2, 0)]);

    // One child goes on: it alone is read, at the third look.
    let mut child = scene.agent.child("a0007");
    scene.world.disk.append(&child.path(), child.talk(1));
    let size = scene.world.disk.content(&child.path()).map_or(0, <[u8]>::len);
    let looks: Vec<(usize, usize)> = (0..3)
        .map(|_| {
            scene.world.advance(Duration::from_secs(3));
            cost(&mut scene)
        })
        .collect();
    assert_eq!(looks, [(1, 0), (1, 0), (2 + 2, size)]);
    // The session goes on: the children are looked at with the next look.
    scene.world.disk.append(&child.path(), child.talk(1));
    scene.talk(1);
    scene.world.advance(Duration::from_secs(3));
    assert_eq!(cost(&mut scene).0, 2 + 2);
    for client in clients {
        scene.world.leave(client);
    }
    scene.world.advance(Duration::from_secs(60));
    cost(&mut scene);
    scene.world.advance(Duration::from_secs(3_600));
    assert_eq!(cost(&mut scene), (0, 0));
    scene.world.finish();
}

#[test]
fn five_hundred_children_cost_at_most_eight_times_what_sixty_three_cost() {
    let costs = [63, 500].map(|children| {
        let mut scene = with_children(children);
        let client = scene.watch();
        assert_eq!(
            scene.world.client(client).received().only("hello").json["subagents"].as_array().map(Vec::len),
            Some(children)
        );
        let first = cost(&mut scene);
        scene.world.advance(Duration::from_secs(9));
        let idle = cost(&mut scene);
        scene.world.finish();
        (first, idle)
    });
    let [((ops, bytes), idle), ((many_ops, many_bytes), many_idle)] = costs;
    assert!(many_ops <= ops * 8 && many_bytes <= bytes * 8, "{many_ops} of {ops}, {many_bytes} of {bytes}");
    assert_eq!(idle, many_idle);
}

#[test]
fn a_roster_that_cannot_be_had_costs_the_conversation_a_second_and_no_more() {
    for (kind, effect) in [
        (OpKind::Stat, Effect::Fail(FailureKind::Denied)),
        (OpKind::List, Effect::Fail(FailureKind::Other)),
        (OpKind::Stat, Effect::Slow(Duration::from_secs(600))),
        (OpKind::List, Effect::Slow(Duration::from_secs(600))),
    ] {
        let mut scene = with_children(2);
        let directory = scene.agent.children();
        scene.world.disk.spoil(kind, &directory, effect.clone());
        let client = scene.world.watch(PANE);
        scene.world.advance(Duration::from_secs(1));
        let frames = scene.world.fresh(client);
        assert_eq!(frames.kinds(), ["hello", "entry", "backlog_complete"], "{kind:?} {effect:?}");
        assert_eq!(frames.only("hello").json.get("subagents"), None);
        scene.talk(1);
        scene.world.advance(Duration::from_secs(1));
        assert_eq!(scene.world.fresh(client).kinds(), ["live"]);
        scene.world.leave(client);
        scene.world.finish();
    }
}

#[test]
fn a_roster_that_comes_back_is_shown() {
    let mut scene = with_children(2);
    let directory = scene.agent.children();
    scene.world.disk.spoil(OpKind::List, &directory, Effect::Fail(FailureKind::Other));
    let client = scene.watch();
    scene.world.disk.heal();
    let rosters: Vec<Value> = (0..3).flat_map(|_| frames(&mut scene, client)).collect();
    assert_eq!(rosters.iter().map(states).collect::<Vec<_>>(), [[told("a0000", false), told("a0001", false)]]);
    let warnings = scene.world.log().iter().filter(|(level, _)| *level == Level::Warn).count();
    assert_eq!(warnings, 1);
    scene.world.finish();
}

#[test]
fn a_child_that_lies_elsewhere_in_truth_has_no_row() {
    let mut scene = with_children(1);
    scene.world.disk.append("/etc/secret.jsonl", "{\"type\":\"user\"}\n");
    scene.world.disk.link(&scene.agent.child("zz").path(), "/etc/secret.jsonl");
    assert_eq!(done(&mut scene), [told("a0000", false)]);
    scene.world.finish();
}

#[test]
fn the_next_session_has_its_own_roster() {
    let mut scene = with_children(2);
    let client = scene.watch();
    let next = scene.next_session(2);
    let mut child = next.child("b1");
    scene.world.disk.append(&child.path(), child.talk(1));
    scene.world.herdr.rotate(PANE, next.session());
    scene.world.advance(SESSION_POLLED);
    let frames = scene.world.fresh(client);
    assert_eq!(states(&frames.only("hello").json["subagents"]), [told("b1", false)]);
    scene.world.finish();
}

#[test]
fn what_was_told_before_a_restart_is_known_after_it() {
    let mut scene = Scene::with_entries(1);
    scene.spawn("a1", "toolu_1", 1, 1);
    scene.spawn("a2", "toolu_2", 1, 1);
    let agent = &mut scene.agent;
    let lines = agent.notification(&["a2"], Some("failed"))
        + &agent.spawn("toolu_1", Some(true), "do it")
        + &agent.answer("toolu_1", &json!({}))
        + &agent.talk(9_000);
    scene.append(&lines);
    let client = scene.watch();
    scene.world.leave(client);
    let Scene { mut world, agent, path } = scene;
    world.shut_down();
    let disk = std::mem::replace(&mut world.disk, Scene::with_entries(0).world.disk);
    let mut scene = Scene::with_entries(0);
    (scene.world.disk, scene.agent, scene.path) = (disk, agent, path);
    scene.world.disk.take_accesses();
    assert_eq!(done(&mut scene), [told("a1", true), told("a2", true)]);
    let accesses = scene.world.disk.take_accesses();
    let read = accesses.iter().filter(|access| access.kind == OpKind::Read && access.path == scene.path);
    let bytes: usize = read.map(|access| access.len).sum();
    let size = scene.world.disk.content(&scene.path).map_or(0, <[u8]>::len);
    assert!(bytes * 3 < size, "{bytes} of {size} bytes of the session were read again");
}

#[test]
fn who_asks_for_more_sees_it_grow_and_others_are_told_nothing() {
    let mut scene = Scene::with_entries(1);
    let mut child = scene.spawn("a1", "toolu_1", 1, 2);
    let brief = scene.watch();
    let full = scene.world.connect(&format!("/agent-transcript?pane={PANE}&token={TOKEN}&features=roster"));
    scene.world.run();
    scene.world.advance(ROSTER_POLLED);
    let rows = |frames: &[Received]| -> Vec<Value> {
        frames.iter().filter_map(|frame| frame.json.get("subagents")).map(|rows| rows[0].clone()).collect()
    };
    let first = rows(&scene.world.fresh(full)).pop().unwrap();
    let seen = |row: &Value| ["entries", "tokens", "last_text"].map(|field| row[field].clone());
    assert_eq!(seen(&first), [json!(2), json!(8), json!("I look at shelf 2 — “one moment” 🔎.")]);
    assert!(first["running_for_ms"].is_i64());
    scene.world.disk.append(&child.path(), child.assistant("The last shelf.\nNothing."));
    let grown: Vec<Value> = (0..3)
        .flat_map(|_| {
            scene.world.advance(ROSTER_POLLED);
            rows(&scene.world.fresh(full))
        })
        .collect();
    assert_eq!(grown.iter().map(seen).collect::<Vec<_>>(), [[json!(3), json!(16), json!("The last shelf. Nothing.")]]);
    assert!(scene.world.fresh(brief).is_empty());
    scene.world.finish();
}
