//! Panes without herdr: one session, the newest of a directory, the newest of all.

use core::time::Duration;

use panewire_conformance::sim::scene::{CWD, NEXT_SESSION, SESSION, SESSION_POLLED};
use panewire_conformance::sim::{Frames as _, Scene, TOKEN, Transcript, config};
use panewire_core::config::{Config, HerdrMode};

fn alone() -> Config {
    let mut config = config();
    config.herdr.mode = HerdrMode::Off;
    config
}

/// A session of two entries on a machine without herdr.
fn scene() -> Scene {
    let mut scene = Scene::without_file(alone());
    scene.talk(2);
    scene.world.advance(Duration::from_secs(10));
    scene
}

#[test]
fn one_session_is_a_pane_that_never_changes() {
    let mut scene = scene();
    let pane = format!("claude:{SESSION}");
    let client = scene.world.watch(&pane);
    let frames = scene.world.fresh(client);
    let hello = &frames.only("hello").json;
    assert_eq!((hello["pane"].as_str(), hello["session_id"].as_str()), (Some(&*pane), Some(SESSION)));
    scene.next_session(5);
    scene.world.advance(SESSION_POLLED);
    scene.talk(1);
    assert_eq!(scene.polled(client).seqs(), [3]);
    scene.world.finish();
}

#[test]
fn a_session_that_is_not_there_is_404() {
    let mut scene = scene();
    for session in ["nobody-has-this", "..%2f..%2fetc%2fpasswd", ""] {
        let client = scene.world.connect(&format!("/agent-transcript?pane=claude:{session}&token={TOKEN}"));
        scene.world.run();
        assert_eq!(scene.world.client(client).answer().map(|answer| answer.status), Some(404), "{session}");
    }
    scene.world.finish();
}

#[test]
fn the_newest_session_of_all_is_followed_and_left_for_a_newer_one() {
    let mut scene = scene();
    let client = scene.world.watch("claude:latest");
    assert_eq!(scene.world.fresh(client).only("hello").json["session_id"], SESSION);
    scene.world.advance(Duration::from_secs(5));
    let mut elsewhere = Transcript::new(NEXT_SESSION, "/home/u/elsewhere");
    let talk = elsewhere.talk(3);
    scene.world.disk.append(&elsewhere.path(), talk);
    scene.world.advance(SESSION_POLLED);
    let frames = scene.world.fresh(client);
    assert_eq!(frames.kinds(), ["session_changed", "hello", "entry", "entry", "entry", "backlog_complete"]);
    assert_eq!(frames[1].json["session_id"], NEXT_SESSION);
    scene.world.finish();
}

#[test]
fn the_newest_session_of_a_directory_does_not_care_about_others() {
    let mut scene = scene();
    let client = scene.world.watch(&format!("claude:dir:{CWD}"));
    assert_eq!(scene.world.fresh(client).only("hello").json["session_id"], SESSION);
    let mut elsewhere = Transcript::new("elsewhere-1", "/home/u/elsewhere");
    let talk = elsewhere.talk(3);
    scene.world.disk.append(&elsewhere.path(), talk);
    scene.world.advance(SESSION_POLLED);
    assert!(scene.world.fresh(client).is_empty());
    scene.next_session(1);
    scene.world.advance(SESSION_POLLED);
    assert_eq!(scene.world.fresh(client).only("hello").json["session_id"], NEXT_SESSION);
    scene.world.finish();
}

#[test]
fn standalone_panes_are_there_beside_herdrs() {
    let mut scene = Scene::with_entries(2);
    let client = scene.world.watch("claude:latest");
    assert_eq!(scene.world.fresh(client).kinds(), ["hello", "entry", "entry", "backlog_complete"]);
    assert!(scene.world.herdr.take_questions().is_empty());
}
