//! Clients that are slow, silent, wrong, or gone.

use core::time::Duration;

use panewire_conformance::sim::disk::{Effect, OpKind};
use panewire_conformance::sim::scene::PANE;
use panewire_conformance::sim::{Ask, Frames as _, Scene, Speed, TOKEN, Transcript};
use panewire_core::ids::ExId;
use panewire_core::io::Fault;
use panewire_core::limits::LONG_LINE_BYTES;

const WINDOW: usize = 256 * 1024;

fn slow_client(scene: &mut Scene, speed: Speed) -> ExId {
    let client = scene.world.ask(&Ask::socket(&format!("/agent-transcript?pane={PANE}&token={TOKEN}")).at(speed));
    scene.world.run();
    client
}

/// So many lines of about 4 KiB.
fn burst(scene: &mut Scene, lines: usize) {
    let burst: String = (0..lines).map(|_| scene.agent.assistant(&"burst ".repeat(680))).collect();
    scene.append(&burst);
}

#[test]
fn a_slow_client_loses_nothing_holds_little_and_disturbs_nobody() {
    let mut scene = Scene::with_entries(2);
    let slow = slow_client(&mut scene, Speed::Slow { bytes: 40_000, every: Duration::from_secs(1) });
    let quick = scene.watch();
    burst(&mut scene, 600);
    scene.world.advance(Duration::from_secs(2));
    assert_eq!(scene.world.fresh(quick).seqs(), (3..=602).collect::<Vec<_>>());
    assert!(scene.world.client(slow).received().len() < 40);
    scene.world.advance(Duration::from_secs(120));
    assert_eq!(scene.world.fresh(slow).seqs(), (1..=602).collect::<Vec<_>>());
    assert!(scene.world.client(slow).most_outstanding() <= WINDOW + 5_000);
    scene.talk(1);
    assert_eq!(scene.polled(quick).seqs(), [603]);
    scene.world.advance(Duration::from_secs(2));
    assert_eq!(scene.world.fresh(slow).seqs(), [603], "live again");
    scene.world.finish();
}

#[test]
fn one_client_at_a_time_puts_a_long_line_together() {
    let mut scene = Scene::with_entries(2);
    let long = scene.agent.assistant(&"long ".repeat(LONG_LINE_BYTES));
    scene.append(&long);
    scene.talk(2);
    scene.watch();
    scene.world.disk.take_accesses();
    let clients: Vec<ExId> =
        (0..5).map(|_| scene.world.connect(&format!("/agent-transcript?pane={PANE}&token={TOKEN}"))).collect();
    scene.world.run();
    for client in clients {
        assert_eq!(scene.world.fresh(client).seqs(), [1, 2, 3, 4, 5]);
    }
    let reads = scene.world.disk.take_accesses();
    let far = u64::try_from(2 * LONG_LINE_BYTES).unwrap()..u64::try_from(4 * LONG_LINE_BYTES).unwrap();
    let far: Vec<u64> = reads
        .iter()
        .filter(|access| access.kind == OpKind::Read && far.contains(&access.offset))
        .map(|access| access.offset)
        .collect();
    // Each goes through the middle of the line from its beginning to its end before the next does.
    assert_eq!(far.iter().zip(&far[1..]).filter(|(before, after)| before >= after).count(), 4);
    scene.world.finish();
}

#[test]
fn who_has_the_turn_for_a_long_line_and_leaves_gives_it_on() {
    let mut scene = Scene::with_entries(2);
    let long = scene.agent.assistant(&"long ".repeat(LONG_LINE_BYTES));
    scene.append(&long);
    scene.watch();
    scene.world.disk.spoil(OpKind::Read, &scene.path, Effect::Slow(Duration::from_millis(10)));
    let first = scene.world.watch(PANE);
    let second = scene.world.watch(PANE);
    scene.world.advance(Duration::from_millis(500));
    assert!(!scene.world.client(first).received().iter().any(|frame| frame.kind() == "backlog_complete"));
    scene.world.leave(first);
    scene.world.advance(Duration::from_secs(5));
    assert_eq!(scene.world.fresh(second).seqs(), [1, 2, 3]);
    scene.world.finish();
}

#[test]
fn a_client_that_takes_nothing_for_thirty_seconds_is_closed() {
    let mut scene = Scene::with_entries(2);
    let stuck = slow_client(&mut scene, Speed::Stuck);
    scene.world.advance(Duration::from_millis(29_900));
    assert_eq!(scene.world.client(stuck).closing(), None);
    scene.world.advance(Duration::from_millis(200));
    assert_eq!(scene.world.client(stuck).closing(), Some((1000, "nothing was taken for 30 s")));
    scene.world.finish();
}

#[test]
fn a_client_that_takes_a_little_now_and_then_is_not_closed() {
    let mut scene = Scene::with_entries(2);
    let slow = slow_client(&mut scene, Speed::Slow { bytes: 100, every: Duration::from_secs(25) });
    burst(&mut scene, 1);
    scene.world.advance(Duration::from_secs(200));
    assert_eq!(scene.world.client(slow).closing(), None);
}

#[test]
fn a_client_is_pinged_every_twenty_seconds() {
    let mut scene = Scene::with_entries(2);
    let client = scene.watch();
    for (seconds, pings) in [(14, 0), (7, 1), (20, 2), (20, 3), (3_600 - 61, 180)] {
        scene.world.advance(Duration::from_secs(seconds));
        assert_eq!(scene.world.client(client).pings(), pings);
    }
    assert_eq!(scene.world.client(client).closing(), None);
    scene.world.finish();
}

#[test]
fn clients_that_came_at_different_times_are_pinged_together() {
    let mut scene = Scene::with_entries(2);
    let mut clients = Vec::new();
    for _ in 0..8 {
        clients.push(scene.watch());
        scene.world.advance(Duration::from_millis(600));
    }
    let pings = |scene: &Scene| clients.iter().map(|client| scene.world.client(*client).pings()).sum::<usize>();
    let mut moments = 0;
    for _ in 0..400 {
        let before = pings(&scene);
        scene.world.advance(Duration::from_millis(50));
        moments += usize::from(pings(&scene) > before);
    }
    assert_eq!(pings(&scene), clients.len());
    assert!(moments <= 2, "eight clients of five seconds share two moments, not {moments}");
    scene.world.finish();
}

#[test]
fn a_client_that_is_silent_for_sixty_seconds_is_closed() {
    let mut scene = Scene::with_entries(2);
    let (silent, well) = (scene.watch(), scene.watch());
    scene.world.stop_answering(silent);
    scene.world.advance(Duration::from_millis(59_900));
    assert_eq!(scene.world.client(silent).closed(), None);
    scene.world.advance(Duration::from_millis(200));
    assert_eq!(scene.world.client(silent).closed(), Some((1000, "no sign of life for 60 s")));
    assert_eq!(scene.world.client(well).closed(), None);
    scene.world.finish();
}

#[test]
fn what_is_no_load_older_closes_the_socket_cleanly() {
    for garbage in ["", "garbage", "{}", "[]", r#"{"type":"resize"}"#, r#"{"type":"load_older","before_seq":"8"}"#] {
        let mut scene = Scene::with_entries(2);
        let (client, other) = (scene.watch(), scene.watch());
        scene.world.say(client, garbage);
        scene.world.run();
        assert_eq!(scene.world.client(client).closed(), Some((1000, "unrecognized control frame")), "{garbage}");
        scene.talk(1);
        assert_eq!(scene.polled(other).seqs(), [3]);
        assert!(scene.world.fresh(client).is_empty());
        scene.world.finish();
    }
}

#[test]
fn every_fault_has_its_close_code() {
    let mut scene = Scene::with_entries(2);
    let close = |wrong: &dyn Fn(&mut Scene, ExId)| {
        let client = scene.watch();
        wrong(&mut scene, client);
        scene.world.run();
        scene.world.client(client).closed().map(|(code, _)| code)
    };
    let mut close = close;
    assert_eq!(close(&|scene, client| scene.world.say_binary(client, b"\x00\x01")), Some(1000));
    assert_eq!(close(&|scene, client| scene.world.say(client, &" ".repeat(4_097))), Some(1009));
    assert_eq!(close(&|scene, client| scene.world.say_binary(client, &[0; 9_000])), Some(1009));
    assert_eq!(close(&|scene, client| scene.world.say_wrong(client, Fault::NotUtf8)), Some(1007));
    assert_eq!(close(&|scene, client| scene.world.say_wrong(client, Fault::Protocol)), Some(1002));
    scene.world.finish();
}

#[test]
fn a_control_frame_of_exactly_four_kilobytes_is_read() {
    let mut scene = Scene::with_entries(2);
    let client = scene.watch();
    let frame = r#"{"type":"load_older","before_seq":2,"limit":1}"#;
    scene.world.say(client, &format!("{frame}{}", " ".repeat(4_096 - frame.len())));
    scene.world.run();
    assert_eq!(scene.world.fresh(client).kinds(), ["entry", "page_complete"]);
}

#[test]
fn a_client_that_leaves_in_the_middle_of_anything_leaves_nothing_behind() {
    let mut scene = Scene::with_entries(500);
    let stays = scene.watch();
    for steps in 0..12 {
        let leaves = slow_client(&mut scene, Speed::Slow { bytes: 9_000, every: Duration::from_millis(10) });
        scene.world.load_older(leaves, 300, 200);
        scene.world.advance(Duration::from_millis(10 * steps));
        scene.world.leave(leaves);
        scene.world.run();
    }
    scene.talk(1);
    assert_eq!(scene.polled(stays).seqs(), [501]);
    scene.world.finish();
}

#[test]
fn a_client_that_leaves_before_it_is_answered_is_not_answered() {
    let mut scene = Scene::with_entries(5);
    scene.world.herdr.socket_latency = Duration::from_millis(500);
    let client = scene.world.connect(&format!("/agent-transcript?pane={PANE}&token={TOKEN}"));
    scene.world.advance(Duration::from_millis(100));
    scene.world.leave(client);
    scene.world.advance(Duration::from_secs(3));
    assert!(!scene.world.client(client).accepted());
    scene.world.finish();
}

#[test]
fn when_the_server_stops_every_socket_is_closed_with_1000() {
    let mut scene = Scene::with_entries(200);
    let clients = [scene.watch(), scene.watch()];
    let stuck = slow_client(&mut scene, Speed::Stuck);
    scene.world.load_older(clients[0], 50, 20);
    scene.world.shut_down();
    for client in clients {
        assert_eq!(scene.world.client(client).closed().map(|(code, _)| code), Some(1000));
    }
    assert_eq!(scene.world.client(stuck).closing().map(|(code, _)| code), Some(1000));
    scene.talk(1);
    scene.world.advance(Duration::from_secs(10));
    assert!(scene.world.client(clients[1]).received().kinds().last() == Some(&"backlog_complete"));
}

#[test]
fn many_clients_at_many_speeds_all_see_the_same_stream() {
    let mut scene = Scene::with_entries(160);
    let speeds = [1_000, 5_000, 20_000, 100_000].map(|bytes| Speed::Slow { bytes, every: Duration::from_millis(50) });
    let clients: Vec<ExId> =
        speeds.into_iter().chain([Speed::Full]).map(|speed| slow_client(&mut scene, speed)).collect();
    for _ in 0..40 {
        scene.talk(7);
        scene.world.advance(Duration::from_millis(330));
    }
    scene.world.advance(Duration::from_secs(60));
    let expected: Vec<u64> = (11..=440).collect();
    for client in clients {
        assert_eq!(scene.world.fresh(client).seqs(), expected);
    }
    scene.world.finish();
}

#[test]
fn a_client_that_takes_nothing_is_not_told_of_every_rewrite() {
    let mut scene = Scene::with_entries(2);
    let stuck = slow_client(&mut scene, Speed::Stuck);
    burst(&mut scene, 200);
    scene.world.advance(Duration::from_secs(1));
    let full = scene.world.client(stuck).most_outstanding();
    assert!(full >= WINDOW);
    for n in 0..40 {
        scene.world.disk.replace(&scene.path, Transcript::new("other", "/").talk(n));
        scene.world.advance(Duration::from_millis(500));
    }
    assert_eq!(scene.world.client(stuck).most_outstanding(), full);
    scene.world.set_speed(stuck, Speed::Full);
    scene.world.advance(Duration::from_secs(1));
    let frames = scene.world.fresh(stuck);
    assert_eq!(
        frames.only("session_changed").json["to"].as_str().and_then(|to| to.split_once('~')).map(|to| to.1),
        Some("40")
    );
    scene.world.finish();
}
