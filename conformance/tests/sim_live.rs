//! The live tail: what the agent writes while somebody watches.

use core::time::Duration;

use panewire_conformance::sim::disk::{Effect, OpKind};
use panewire_conformance::sim::scene::{PANE, TWO_POLLS};
use panewire_conformance::sim::{Frames as _, Scene, TOKEN};
use panewire_core::io::FailureKind;
use serde_json::json;

#[test]
fn an_entry_appears_within_one_poll_with_the_next_seq() {
    let mut scene = Scene::with_entries(3);
    let client = scene.watch();
    scene.talk(1);
    scene.world.advance(Duration::from_millis(250));
    let frames = scene.world.fresh(client);
    assert_eq!((frames.kinds(), frames.seqs()), (vec!["live"], vec![4]));
    scene.talk(2);
    let frames = scene.polled(client);
    assert_eq!((frames.kinds(), frames.seqs()), (vec!["live", "live"], vec![5, 6]));
    scene.world.finish();
}

#[test]
fn a_torn_line_is_one_entry_when_it_is_finished_two_polls_later() {
    let mut scene = Scene::with_entries(1);
    let client = scene.watch();
    let line = scene.agent.assistant("torn, but not “lost” 🔎");
    let (head, tail) = line.as_bytes().split_at(line.find('🔎').unwrap() + 2);
    scene.world.disk.append(&scene.path, head);
    assert!(scene.polled(client).is_empty());
    scene.world.disk.append(&scene.path, tail);
    let frames = scene.polled(client);
    assert_eq!((frames.seqs(), frames.texts()), (vec![2], vec!["torn, but not “lost” 🔎"]));
    scene.world.finish();
}

#[test]
fn a_whole_last_line_without_its_newline_is_shown_at_once_and_only_once() {
    let mut scene = Scene::with_entries(1);
    let client = scene.watch();
    let line = scene.agent.assistant("no newline yet");
    scene.append(line.trim_end());
    assert_eq!(scene.polled(client).texts(), ["no newline yet"]);
    scene.append("\n");
    assert!(scene.polled(client).is_empty());
    let other = scene.watch();
    assert_eq!(scene.world.client(other).received().only("hello").number("total"), 2);
    scene.talk(1);
    assert_eq!(scene.polled(client).seqs(), [3]);
}

#[test]
fn a_whole_last_line_without_its_newline_counts_at_the_opening_too() {
    let mut scene = Scene::with_entries(2);
    let line = scene.agent.assistant("the end");
    scene.append(line.trim_end());
    let client = scene.world.watch(PANE);
    let frames = scene.world.fresh(client);
    assert_eq!((frames.only("hello").number("total"), frames.seqs()), (3, vec![1, 2, 3]));
    scene.append("\n");
    scene.talk(1);
    assert_eq!(scene.polled(client).seqs(), [4]);
}

#[test]
fn a_line_with_several_blocks_is_several_entries() {
    let mut scene = Scene::with_entries(1);
    let client = scene.watch();
    let line = scene.agent.blocks(&json!([
        {"type": "text", "text": "first"},
        {"type": "text", "text": "   "},
        {"type": "text", "text": "third"},
    ]));
    scene.append(&line);
    let frames = scene.polled(client);
    let ids: Vec<&str> = frames.iter().filter_map(|frame| frame.json["entry"]["id"].as_str()).collect();
    let uuid = scene.agent.uuid();
    assert_eq!((frames.seqs(), ids), (vec![2, 3], vec![&*format!("{uuid}#0"), &*format!("{uuid}#2")]));
}

#[test]
fn ten_clients_on_one_file_make_one_stat_and_one_read_per_poll() {
    let mut scene = Scene::with_entries(20);
    let clients: Vec<_> = (0..10).map(|_| scene.watch()).collect();
    scene.world.advance(TWO_POLLS);
    scene.world.disk.take_accesses();
    scene.world.advance(Duration::from_secs(1));
    let of_kind = |accesses: &[_], kind| {
        let accesses: &[panewire_conformance::sim::disk::Access] = accesses;
        accesses.iter().filter(|access| access.kind == kind && access.path.ends_with(".jsonl")).count()
    };
    let idle = scene.world.disk.take_accesses();
    assert_eq!((of_kind(&idle, OpKind::Stat), of_kind(&idle, OpKind::Read)), (4, 0));
    scene.talk(1);
    scene.world.advance(Duration::from_millis(250));
    let busy = scene.world.disk.take_accesses();
    assert_eq!((of_kind(&busy, OpKind::Stat), of_kind(&busy, OpKind::Read)), (1, 1));
    for client in clients {
        assert_eq!(scene.world.fresh(client).seqs(), [21]);
    }
    scene.world.finish();
}

#[test]
fn nobody_watching_means_nobody_looking() {
    let mut scene = Scene::with_entries(3);
    let client = scene.watch();
    scene.world.leave(client);
    scene.world.advance(Duration::from_secs(120));
    scene.world.disk.take_accesses();
    scene.world.herdr.take_questions();
    scene.world.advance(Duration::from_secs(3_600));
    assert_eq!(scene.world.disk.take_accesses(), []);
    assert!(scene.world.herdr.take_questions().is_empty());
}

#[test]
fn a_read_or_a_look_that_fails_for_a_while_loses_nothing() {
    for kind in [OpKind::Read, OpKind::Stat, OpKind::Open] {
        let mut scene = Scene::with_entries(3);
        let client = scene.watch();
        scene.world.disk.spoil(kind, &scene.path, Effect::Fail(FailureKind::Other));
        scene.talk(2);
        scene.world.advance(Duration::from_secs(5));
        scene.world.disk.heal();
        scene.talk(1);
        scene.world.advance(Duration::from_secs(5));
        let frames = scene.world.fresh(client);
        assert_eq!((frames.seqs(), scene.world.client(client).closed()), (vec![4, 5, 6], None), "{kind:?}");
        scene.world.finish();
    }
}

#[test]
fn a_file_that_is_away_for_a_moment_and_comes_back_is_the_same_stream() {
    let mut scene = Scene::with_entries(3);
    let client = scene.watch();
    let away = format!("{}.away", scene.path);
    scene.world.disk.rename(&scene.path, &away);
    assert!(scene.polled(client).is_empty());
    scene.world.disk.rename(&away, &scene.path);
    scene.talk(1);
    let frames = scene.polled(client);
    assert_eq!((frames.kinds(), frames.seqs()), (vec!["live"], vec![4]));
    scene.world.finish();
}

#[test]
fn a_burst_that_is_larger_than_any_buffer_arrives_whole_and_in_order() {
    let mut scene = Scene::with_entries(1);
    let client = scene.watch();
    let burst: String = (0..900).map(|_| scene.agent.assistant(&"long ".repeat(900))).collect();
    assert!(burst.len() > 4_000_000);
    scene.append(&burst);
    scene.world.advance(Duration::from_secs(2));
    let frames = scene.world.fresh(client);
    assert_eq!(frames.seqs(), (2..=901).collect::<Vec<_>>());
    scene.world.finish();
}

#[test]
fn who_opts_in_gets_a_sign_of_life_every_fifteen_seconds_and_nobody_else() {
    let mut scene = Scene::with_entries(3);
    let target = format!("/agent-transcript?pane={PANE}&token={TOKEN}&features=usage,heartbeat");
    let client = scene.world.connect(&target);
    scene.world.run();
    let other = scene.watch();
    scene.world.fresh(client);
    scene.world.advance(Duration::from_secs(16));
    scene.talk(1);
    scene.world.advance(Duration::from_secs(15));
    let frames = scene.world.fresh(client);
    assert_eq!(frames.kinds(), ["heartbeat", "live", "heartbeat"]);
    assert_eq!(frames[0].number("head_seq"), 3);
    assert_eq!(frames[0].json["agent_status"], "idle");
    assert_eq!(
        (frames[2].number("head_seq"), frames[2].number("server_time_ms") - frames[0].number("server_time_ms")),
        (4, 15_000)
    );
    assert_eq!(scene.world.fresh(other).kinds(), ["live"]);
    scene.world.finish();
}
