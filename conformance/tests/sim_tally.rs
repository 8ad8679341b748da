//! How many children each listed agent has that nobody follows: when they are counted, what that costs, and who is told.

#![expect(clippy::unwrap_used, reason = "tests")]

use core::time::Duration;

use panewire_conformance::herdr::Pane;
use panewire_conformance::sim::disk::{Access, Effect, OpKind};
use panewire_conformance::sim::scene::{CWD, PANE, SESSION};
use panewire_conformance::sim::{Ask, Frames as _, Scene, TOKEN, Transcript, World, config};
use panewire_core::config::{HerdrMode, Push, PushDetail, PushTarget};
use panewire_core::ids::ExId;
use panewire_core::io::{FailureKind, FileTime};
use panewire_core::limits::{
    EVENTS_POLL, MAX_READ_BYTES, MAX_STREAMS, MAX_TALLYING, STANDALONE_POLL, TALLY_RECENT, TALLY_REST, TALLY_STUCK,
    TALLY_WAIT,
};
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);

fn ask(world: &mut World) -> ExId {
    world.ask(&Ask::get(&format!("/snapshot?token={TOKEN}")))
}

/// The children of each agent in an answer that has come already.
#[track_caller]
fn answered(world: &World, client: ExId) -> Vec<Option<Value>> {
    let answer = world.client(client).answer().unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    children(&serde_json::from_str(&answer.body).unwrap())
}

fn children(body: &Value) -> Vec<Option<Value>> {
    let agents = body["result"]["snapshot"]["agents"].as_array().unwrap();
    agents.iter().map(|agent| agent.get("subagents").cloned()).collect()
}

/// What a snapshot says that is asked for now and takes no time.
#[track_caller]
fn snapshot(world: &mut World) -> Vec<Option<Value>> {
    let client = ask(world);
    world.run();
    answered(world, client)
}

fn of(total: usize, running: usize) -> Option<Value> {
    Some(json!({"total": total, "running": running}))
}

fn follow(world: &mut World) -> ExId {
    let client = world.connect(&format!("/events?token={TOKEN}"));
    world.run();
    client
}

/// What a client was told of children since it was asked last; nothing else may have come.
#[track_caller]
fn told(world: &mut World, client: ExId) -> Vec<Option<Value>> {
    let fresh = world.fresh(client);
    assert!(fresh.kinds().iter().all(|kind| matches!(*kind, "agent_updated" | "heartbeat")), "{:?}", fresh.kinds());
    let updates = fresh.iter().filter(|frame| frame.kind() == "agent_updated");
    updates.map(|frame| frame.json["payload"]["agent"].get("subagents").cloned()).collect()
}

/// A child of this session that goes on by itself.
fn launch(scene: &mut Scene, id: &str, call: &str) {
    let launched = json!({"isAsync": true, "status": "async_launched", "agentId": id});
    let lines = scene.agent.spawn(call, Some(false), "do it") + &scene.agent.answer(call, &launched);
    scene.append(&lines);
    scene.spawn(id, call, 1, 2);
}

fn end(scene: &mut Scene, id: &str) {
    let line = scene.agent.notification(&[id], Some("completed"));
    scene.append(&line);
}

/// Another pane with a session of its own, which has one child.
fn open_parent(world: &mut World, number: usize, entries: usize, bytes: usize) -> (String, Transcript) {
    let mut agent = Transcript::new(&format!("session-{number}"), CWD);
    let talk: String = (0..entries).map(|_| agent.assistant(&"x".repeat(bytes))).collect();
    world.disk.append(&agent.path(), talk);
    let mut child = agent.child("a1");
    let talk = child.talk(1);
    world.disk.append(&child.path(), talk);
    let pane = format!("w9:p{number}");
    world.herdr.open(Pane::claude(&pane, CWD).with_session(agent.session()));
    (pane, agent)
}

fn reads(accesses: &[Access], path: &str) -> Vec<usize> {
    let reads = accesses.iter().filter(|access| access.kind == OpKind::Read && access.path == path);
    reads.map(|access| access.len).collect()
}

#[test]
fn children_of_a_session_that_nobody_follows_are_counted() {
    let mut scene = Scene::with_entries(3);
    assert_eq!(snapshot(&mut scene.world), [None]);
    launch(&mut scene, "a1", "toolu_1");
    launch(&mut scene, "a2", "toolu_2");
    scene.world.advance(TALLY_REST);
    assert_eq!(snapshot(&mut scene.world), [of(2, 2)]);
    end(&mut scene, "a1");
    scene.world.advance(TALLY_REST);
    assert_eq!(snapshot(&mut scene.world), [of(2, 1)]);
    // Who follows is shown the same.
    scene.watch();
    assert_eq!(snapshot(&mut scene.world), [of(2, 1)]);
    scene.world.finish();
}

#[test]
fn an_answer_costs_nothing_but_a_look_at_the_file_where_nothing_has_changed() {
    let mut scene = Scene::with_entries(3);
    launch(&mut scene, "a1", "toolu_1");
    snapshot(&mut scene.world);
    scene.world.disk.take_accesses();
    assert_eq!(snapshot(&mut scene.world), [of(1, 1)]);
    let touched = scene.world.disk.take_accesses();
    let of_it: Vec<OpKind> =
        touched.iter().filter(|access| access.path.contains(SESSION)).map(|access| access.kind).collect();
    assert_eq!(of_it, [OpKind::Stat]);
    scene.world.finish();
}

#[test]
fn followers_are_told_soon_whether_or_not_herdr_tells() {
    for tells in [true, false] {
        let mut scene = Scene::with_entries(3);
        scene.world.herdr.tells = tells;
        launch(&mut scene, "a1", "toolu_1");
        let client = follow(&mut scene.world);
        // What is not counted yet does not hold up the first frame; what was counted comes right behind it.
        let first = scene.world.fresh(client);
        assert_eq!(first.kinds(), ["snapshot", "agent_updated"]);
        assert_eq!(children(&first[0].json["snapshot"]), [None]);
        assert_eq!(first[1].json["payload"]["agent"]["subagents"], json!({"total": 1, "running": 1}));
        scene.world.advance(TALLY_REST);
        launch(&mut scene, "a2", "toolu_2");
        scene.world.advance(EVENTS_POLL);
        assert_eq!(told(&mut scene.world, client), [of(2, 2)]);
        scene.world.advance(TALLY_REST);
        end(&mut scene, "a1");
        scene.world.advance(EVENTS_POLL);
        assert_eq!(told(&mut scene.world, client), [of(2, 1)]);
        // Two changes right behind each other are one more look, once the rest is over.
        end(&mut scene, "a2");
        scene.world.advance(TALLY_REST);
        assert_eq!(told(&mut scene.world, client), [of(2, 0)]);
        scene.world.finish();
    }
}

#[test]
fn a_child_that_comes_after_the_last_record_is_found_and_a_grandchild_that_ends_too() {
    let mut scene = Scene::with_entries(3);
    let client = follow(&mut scene.world);
    scene.world.fresh(client);
    let call = scene.agent.spawn("toolu_1", Some(true), "do it");
    scene.append(&call);
    scene.world.advance(EVENTS_POLL);
    assert_eq!(told(&mut scene.world, client), []);
    // The session waits for its child, and writes nothing any more.
    let mut child = scene.spawn("a1", "toolu_1", 1, 1);
    scene.world.advance(TALLY_REST);
    assert_eq!(told(&mut scene.world, client), [of(1, 1)]);
    let path = child.path();
    scene.world.disk.append(&path, child.spawn("toolu_2", Some(true), "do that"));
    scene.spawn("a2", "toolu_2", 2, 1);
    scene.world.advance(2 * TALLY_REST);
    assert_eq!(told(&mut scene.world, client), [of(2, 2)]);
    scene.world.disk.append(&path, child.answer("toolu_2", &json!("Done.")));
    scene.world.advance(2 * TALLY_REST);
    assert_eq!(told(&mut scene.world, client), [of(2, 1)]);
    scene.world.finish();
}

/// Each comes after twice as long as the one before.
#[test]
fn what_does_not_change_is_looked_at_more_and_more_seldom() {
    let mut scene = Scene::with_entries(3);
    let childless = scene.agent.children();
    follow(&mut scene.world);
    launch(&mut scene, "a1", "toolu_1");
    let (busy, mut quiet) = (childless, Transcript::new("session-2", CWD));
    let (quiet_children, talk) = (quiet.children(), quiet.talk(1));
    scene.world.disk.append(&quiet.path(), talk);
    scene.world.herdr.open(Pane::claude("w1:p2", CWD).with_session("session-2"));
    scene.world.advance(4 * TALLY_REST);
    let looks = |accesses: &[Access], path: &str| {
        accesses.iter().filter(|access| access.kind == OpKind::Stat && access.path == path).count()
    };
    scene.world.disk.take_accesses();
    scene.world.advance(Duration::from_secs(600));
    let touched = scene.world.disk.take_accesses();
    // Of a childless session one stat each time; of a parent the glance, and its roster's look.
    assert_eq!((looks(&touched, &quiet_children), looks(&touched, &busy)), (5, 10));
    assert_eq!(reads(&touched, &quiet.path()), [] as [usize; 0]);
    scene.world.advance(Duration::from_secs(6_000));
    let touched = scene.world.disk.take_accesses();
    assert_eq!((looks(&touched, &quiet_children), looks(&touched, &busy)), (4, 8));
    scene.world.finish();
}

#[test]
fn a_large_session_that_surely_has_no_children_is_not_read_for_that() {
    let mut world = World::new();
    let mut agent = Transcript::new(SESSION, CWD);
    let talk: String = (0..40).map(|_| agent.assistant(&"x".repeat(100_000))).collect();
    world.herdr.open(Pane::claude(PANE, CWD).with_session(SESSION));
    world.disk.append(&agent.path(), &talk);
    assert_eq!(snapshot(&mut world), [None]);
    let bytes: usize = reads(&world.disk.take_accesses(), &agent.path()).into_iter().sum();
    assert!(bytes < 2 * 1024 * 1024, "{bytes} bytes: its two ends, and what was to be located");
    // Of a version whose children may lie anywhere, everything must be read.
    world.disk.replace(&agent.path(), talk.replace("\"2.1.0\"", "\"1.0.98\""));
    world.advance(TALLY_REST);
    world.disk.take_accesses();
    assert_eq!(snapshot(&mut world), [None]);
    let read = reads(&world.disk.take_accesses(), &agent.path());
    assert!(read.iter().filter(|len| **len == MAX_READ_BYTES).count() >= 8, "{read:?}");
    world.finish();
}

#[test]
fn children_inside_the_file_of_an_old_session_are_counted() {
    let mut scene = Scene::with_entries(1);
    let call = scene.agent.spawn("toolu_1", None, "look for shelves");
    let line = |uuid: &str, follows: &str, role: &str, text: &str| {
        format!(
            "{{\"parentUuid\":{follows},\"isSidechain\":true,\"type\":\"{role}\",\"message\":{{\"role\":\"{role}\",\
             \"content\":\"{text}\"}},\"uuid\":\"{uuid}\",\"timestamp\":\"2026-03-01T08:00:09.000Z\"}}\n"
        )
    };
    let inside = line("k1", "null", "user", "look for shelves") + &line("k2", "\"k1\"", "assistant", "there are none");
    scene.append(&(call + &inside));
    let old = String::from_utf8(scene.world.disk.content(&scene.path).unwrap().to_vec()).unwrap();
    scene.world.disk.replace(&scene.path, old.replace("\"2.1.0\"", "\"1.0.98\""));
    assert_eq!(snapshot(&mut scene.world), [of(1, 1)]);
    let answer = scene.agent.answer("toolu_1", &json!("Done."));
    scene.append(&answer);
    scene.world.advance(TALLY_REST);
    assert_eq!(snapshot(&mut scene.world), [of(1, 0)]);
    scene.world.finish();
}

#[test]
fn a_slow_disk_holds_an_answer_up_for_a_moment_and_the_next_one_knows() {
    let mut world = World::new();
    let (_, quick) = open_parent(&mut world, 1, 3, 10);
    let (_, slow) = open_parent(&mut world, 2, 3, 10);
    // What lists panes is not slow, only what counts: it comes behind.
    let client = ask(&mut world);
    world.disk.spoil(OpKind::List, &slow.children(), Effect::Slow(2 * TALLY_WAIT));
    world.advance(TALLY_WAIT - Duration::from_millis(1));
    assert_eq!(world.client(client).answer(), None);
    world.advance(Duration::from_millis(1));
    assert_eq!(answered(&world, client), [of(1, 1), None]);
    world.advance(2 * TALLY_WAIT);
    assert_eq!(snapshot(&mut world), [of(1, 1), of(1, 1)]);
    assert_ne!(quick.path(), slow.path());
    // Events do not wait at all.
    let client = follow(&mut world);
    assert_eq!(children(&world.fresh(client)[0].json["snapshot"]), [of(1, 1), of(1, 1)]);
    world.finish();
}

#[test]
fn what_cannot_be_counted_is_not_known_until_it_can() {
    let mut scene = Scene::with_entries(3);
    launch(&mut scene, "a1", "toolu_1");
    let client = follow(&mut scene.world);
    scene.world.fresh(client);
    // Its stream is given back by then. Its saved index is slow to come: meanwhile the file can be opened no more.
    scene.world.advance(80 * SECOND);
    scene.world.disk.spoil(OpKind::Load, "", Effect::Slow(SECOND / 2));
    end(&mut scene, "a1");
    scene.world.advance(EVENTS_POLL);
    scene.world.disk.spoil(OpKind::Open, &scene.path, Effect::Fail(FailureKind::Denied));
    scene.world.advance(EVENTS_POLL);
    assert_eq!(told(&mut scene.world, client), [None]);
    scene.world.disk.heal();
    scene.world.advance(2 * TALLY_REST);
    assert_eq!(told(&mut scene.world, client), [of(1, 0)]);
    scene.world.finish();
}

#[test]
fn a_count_that_gets_stuck_makes_room_for_others() {
    let mut world = World::new();
    let stuck: Vec<Transcript> = (0..MAX_TALLYING).map(|number| open_parent(&mut world, number, 2, 10).1).collect();
    open_parent(&mut world, 7, 2, 10);
    for agent in &stuck {
        world.disk.spoil(OpKind::Stat, &agent.children(), Effect::Slow(100 * TALLY_STUCK));
    }
    let client = ask(&mut world);
    world.advance(TALLY_WAIT);
    assert_eq!(answered(&world, client), [None, None, None]);
    world.advance(TALLY_STUCK);
    assert_eq!(snapshot(&mut world), [None, None, of(1, 1)]);
    world.disk.heal();
    world.advance(100 * TALLY_STUCK);
    world.finish();
}

/// Time from the connection of a client to its `hello`, on a disk that is slow, while a list is wanted or not.
fn time_to_open(with_list: bool) -> Duration {
    let mut world = World::new();
    let slow = Duration::from_millis(100);
    let parents: Vec<_> = (0..6).map(|number| open_parent(&mut world, number, 200, 50_000)).collect();
    for (_, agent) in &parents {
        world.disk.spoil(OpKind::Read, &agent.path(), Effect::Slow(slow));
    }
    let events = with_list.then(|| follow(&mut world));
    world.advance(30 * slow);
    world.disk.take_accesses();
    world.advance(slow);
    let counting = world.disk.take_accesses();
    let scans = counting.iter().filter(|access| access.kind == OpKind::Read && access.len == MAX_READ_BYTES).count();
    assert!((usize::from(with_list)..=2 * MAX_TALLYING * usize::from(with_list)).contains(&scans), "{scans} reads");
    // Somebody opens the last of them.
    let client = world.watch(&parents[5].0);
    let mut time = Duration::ZERO;
    while world.client(client).received().is_empty() {
        world.advance(slow / 10);
        time += slow / 10;
    }
    assert_eq!(world.fresh(client).only("hello").number("total"), 200);
    world.advance(300 * slow);
    if let Some(events) = events {
        assert_eq!(known_by(&world, events), vec![of(1, 1); 6]);
    }
    world.finish();
    time
}

#[test]
fn nobody_who_opens_a_conversation_waits_for_a_count() {
    assert!(time_to_open(true) <= time_to_open(false));
}

/// What a client who follows knows of all agents by now.
fn known_by(world: &World, client: ExId) -> Vec<Option<Value>> {
    let frames = world.client(client).received().to_vec();
    let mut known = vec![None; children(&frames[0].json["snapshot"]).len()];
    let panes: Vec<Value> = frames[0].json["snapshot"]["result"]["snapshot"]["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| agent["pane_id"].clone())
        .collect();
    for frame in frames.iter().filter(|frame| frame.kind() == "agent_updated") {
        let agent = &frame.json["payload"]["agent"];
        let at = panes.iter().position(|pane| *pane == agent["pane_id"]).unwrap();
        known[at] = agent.get("subagents").cloned();
    }
    known
}

#[test]
fn nobody_who_wants_to_follow_is_refused_for_a_count() {
    let mut world = World::new();
    let mut panes: Vec<String> = (0..MAX_STREAMS).map(|number| open_parent(&mut world, number, 1, 1).0).collect();
    let last = panes.pop().unwrap();
    for pane in &panes {
        world.watch(pane);
    }
    let (counted, agent) = open_parent(&mut world, MAX_STREAMS, 1, 1);
    let client = ask(&mut world);
    world.disk.spoil(OpKind::List, &agent.children(), Effect::Slow(TALLY_STUCK / 2));
    world.advance(TALLY_WAIT);
    // One more could not be counted, since the place is taken; but it can be followed.
    assert_eq!(answered(&world, client).iter().filter(|known| **known == of(1, 1)).count(), MAX_STREAMS);
    let client = world.watch(&last);
    assert!(world.client(client).accepted());
    let refused = world.watch(&counted);
    assert_eq!(world.client(refused).answer().map(|answer| answer.status), Some(503));
    world.finish();
}

#[test]
fn a_conversation_that_is_followed_no_more_goes_on_to_be_known() {
    let mut scene = Scene::with_entries(3);
    launch(&mut scene, "a1", "toolu_1");
    let follower = scene.watch();
    let client = follow(&mut scene.world);
    assert_eq!(children(&scene.world.fresh(client)[0].json["snapshot"]), [of(1, 1)]);
    scene.world.advance(4 * TALLY_REST);
    scene.world.leave(follower);
    scene.world.advance(4 * TALLY_REST);
    assert_eq!(told(&mut scene.world, client), [], "it was known all the time");
    end(&mut scene, "a1");
    scene.world.advance(EVENTS_POLL);
    assert_eq!(told(&mut scene.world, client), [of(1, 0)]);
    // And one that is taken up again while it is known.
    scene.watch();
    scene.world.advance(4 * TALLY_REST);
    assert_eq!(told(&mut scene.world, client), []);
    scene.world.finish();
}

#[test]
fn nothing_is_counted_for_nobody() {
    let mut config = config();
    config.push = Push { targets: vec![PushTarget::Webhook("http://h.example/".into())], detail: PushDetail::Title };
    let mut scene = Scene::without_file(config);
    scene.talk(3);
    launch(&mut scene, "a1", "toolu_1");
    scene.world.get("/healthz");
    scene.world.advance(10 * SECOND);
    let is_of_children = |access: &Access| access.path.contains("/subagents");
    assert!(!scene.world.disk.take_accesses().iter().any(is_of_children), "push alone needs no children");
    let client = follow(&mut scene.world);
    assert!(scene.world.disk.take_accesses().iter().any(is_of_children));
    scene.world.leave(client);
    scene.world.run();
    scene.talk(3);
    scene.world.advance(10 * SECOND);
    assert!(!scene.world.disk.take_accesses().iter().any(is_of_children));
    scene.world.shut_down();
}

#[test]
fn without_herdr_the_newest_sessions_are_counted() {
    let mut alone = config();
    alone.herdr.mode = HerdrMode::Off;
    let mut scene = Scene::without_file(alone);
    scene.talk(3);
    launch(&mut scene, "a1", "toolu_1");
    let mut world = scene.world;
    let old = world.clock().now().wall.0 - i64::try_from(TALLY_RECENT.as_millis()).unwrap() - 1;
    let (_, agent) = open_parent(&mut world, 1, 3, 10);
    world.disk.set_modified(&agent.path(), FileTime(old * 1_000_000));
    assert_eq!(snapshot(&mut world), [of(1, 1), None], "the newest first");
    scene.world = world;
    let client = follow(&mut scene.world);
    scene.world.fresh(client);
    scene.world.advance(STANDALONE_POLL);
    end(&mut scene, "a1");
    scene.world.advance(STANDALONE_POLL);
    assert_eq!(told(&mut scene.world, client), [of(1, 0)]);
    // Whoever follows one knows, however old it is.
    scene.world.watch("claude:session-1");
    assert_eq!(snapshot(&mut scene.world), [of(1, 0), of(1, 1)]);
    scene.world.finish();
}
