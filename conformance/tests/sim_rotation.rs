//! A pane whose agent goes on to another session.

use core::time::Duration;

use panewire_conformance::herdr::{Mode, Session};
use panewire_conformance::sim::disk::{Effect, OpKind};
use panewire_conformance::sim::scene::{CWD, NEXT_SESSION, PANE, SESSION, SESSION_POLLED};
use panewire_conformance::sim::transcript::project_directory;
use panewire_conformance::sim::{Frames as _, Scene, Transcript};

#[test]
fn the_socket_follows_with_session_changed_and_a_fresh_opening() {
    let mut scene = Scene::with_entries(10);
    let client = scene.watch();
    let mut next = scene.next_session(3);
    scene.world.herdr.rotate(PANE, NEXT_SESSION);
    scene.world.advance(SESSION_POLLED);
    let frames = scene.world.fresh(client);
    assert_eq!(frames.kinds(), ["session_changed", "hello", "entry", "entry", "entry", "backlog_complete"]);
    let expected = format!(r#"{{"type":"session_changed","pane":"w1:p1","from":"{SESSION}","to":"{NEXT_SESSION}"}}"#);
    assert_eq!(frames[0].raw, expected);
    assert_eq!((frames[1].json["session_id"].as_str(), frames[1].number("total")), (Some(NEXT_SESSION), 3));
    scene.talk(5);
    assert!(scene.polled(client).is_empty(), "nothing of the old session");
    let line = next.talk(1);
    scene.world.disk.append(&next.path(), line);
    let frames = scene.polled(client);
    assert_eq!((frames.kinds(), frames.seqs()), (vec!["live"], vec![4]));
    scene.world.finish();
}

#[test]
fn a_page_of_the_old_session_is_dropped_with_its_end() {
    let mut scene = Scene::with_entries(400);
    let client = scene.watch();
    scene.next_session(2);
    scene.world.disk.spoil(OpKind::Read, &scene.path, Effect::Slow(Duration::from_secs(6)));
    scene.world.load_older(client, 251, 150);
    scene.world.herdr.rotate(PANE, NEXT_SESSION);
    scene.world.advance(Duration::from_secs(20));
    let frames = scene.world.fresh(client);
    assert_eq!(frames.kinds(), ["session_changed", "hello", "entry", "entry", "backlog_complete"]);
    scene.world.finish();
}

#[test]
fn a_session_without_a_file_is_waited_for_and_the_old_one_goes_on() {
    let mut scene = Scene::with_entries(3);
    let client = scene.watch();
    scene.world.herdr.rotate(PANE, NEXT_SESSION);
    scene.world.advance(SESSION_POLLED * 2);
    scene.talk(1);
    assert_eq!(scene.polled(client).seqs(), [4]);
    scene.next_session(1);
    scene.world.advance(SESSION_POLLED);
    assert_eq!(scene.world.fresh(client).kinds(), ["session_changed", "hello", "entry", "backlog_complete"]);
    scene.world.finish();
}

#[test]
fn a_nested_run_elsewhere_is_not_followed_and_one_below_is() {
    for (cwd, followed) in
        [("/tmp/scratch", false), ("/home/u/projector", false), ("/home/u/project/sub", true), ("/home/u", true)]
    {
        let mut scene = Scene::with_entries(3);
        let client = scene.watch();
        let mut nested = Transcript::new(NEXT_SESSION, cwd);
        let talk = nested.talk(2);
        scene.world.disk.append(&nested.path(), talk);
        scene.world.herdr.rotate(PANE, NEXT_SESSION);
        scene.world.advance(SESSION_POLLED);
        let kinds =
            if followed { vec!["session_changed", "hello", "entry", "entry", "backlog_complete"] } else { vec![] };
        assert_eq!(scene.world.fresh(client).kinds(), kinds, "{cwd}");
        scene.talk(1);
        assert_eq!(scene.polled(client).len(), usize::from(!followed), "{cwd}");
        scene.world.finish();
    }
}

#[test]
fn a_session_that_is_absent_or_of_another_agent_changes_nothing() {
    let of = |agent: &str| Session {
        source: format!("herdr:{agent}"),
        agent: agent.into(),
        kind: "id".into(),
        value: NEXT_SESSION.into(),
    };
    for session in [None, Some(of("codex"))] {
        let mut scene = Scene::with_entries(3);
        let client = scene.watch();
        scene.next_session(9);
        scene.world.herdr.pane(PANE).unwrap().agent_session = session;
        scene.world.advance(SESSION_POLLED * 2);
        assert!(scene.world.fresh(client).is_empty());
        scene.talk(1);
        assert_eq!(scene.polled(client).seqs(), [4]);
    }
}

#[test]
fn herdr_may_fail_hang_and_restart_while_the_stream_goes_on() {
    let mut scene = Scene::with_entries(3);
    let client = scene.watch();
    for mode in [Mode::Wedged, Mode::NoServer, Mode::Broken("Error: EmptyResponse".into())] {
        scene.world.herdr.set_mode(mode);
        scene.talk(1);
        assert_eq!(scene.polled(client).kinds(), ["live"]);
        scene.world.advance(Duration::from_secs(15));
    }
    scene.world.herdr.set_mode(Mode::Normal);
    scene.world.herdr.restart();
    scene.world.advance(Duration::from_secs(10));
    assert!(scene.world.fresh(client).is_empty());
    scene.next_session(1);
    scene.world.herdr.rotate(PANE, NEXT_SESSION);
    scene.world.advance(Duration::from_secs(10));
    assert_eq!(scene.world.fresh(client).kinds(), ["session_changed", "hello", "entry", "backlog_complete"]);
    scene.world.finish();
}

#[test]
fn a_pane_may_come_back_to_the_session_it_had() {
    let mut scene = Scene::with_entries(3);
    let client = scene.watch();
    scene.next_session(2);
    scene.world.herdr.rotate(PANE, NEXT_SESSION);
    scene.world.advance(SESSION_POLLED);
    scene.talk(1);
    scene.world.herdr.rotate(PANE, SESSION);
    scene.world.advance(SESSION_POLLED);
    let frames = scene.world.fresh(client);
    let hellos: Vec<_> = frames.iter().filter(|frame| frame.kind() == "hello").collect();
    assert_eq!(hellos.iter().map(|hello| hello.number("total")).collect::<Vec<_>>(), [2, 4]);
    assert_eq!(hellos[1].json["session_id"], SESSION);
    scene.world.finish();
}

#[test]
fn herdr_is_asked_once_every_two_seconds_however_many_clients_watch() {
    let mut scene = Scene::with_entries(3);
    (0..5).for_each(|_| _ = scene.watch());
    scene.world.advance(Duration::from_secs(4));
    scene.world.herdr.take_questions();
    scene.world.advance(Duration::from_secs(10));
    assert_eq!(scene.world.herdr.take_questions(), ["socket agent.get w1:p1"; 5]);
}

#[test]
fn clients_of_one_pane_change_together_and_a_new_one_begins_in_the_new_session() {
    let mut scene = Scene::with_entries(3);
    let (one, two) = (scene.watch(), scene.watch());
    scene.next_session(2);
    scene.world.herdr.rotate(PANE, NEXT_SESSION);
    scene.world.advance(SESSION_POLLED);
    for client in [one, two] {
        assert_eq!(scene.world.fresh(client).only("hello").json["session_id"], NEXT_SESSION);
    }
    let three = scene.world.watch(PANE);
    assert_eq!(scene.world.fresh(three).kinds(), ["hello", "entry", "entry", "backlog_complete"]);
    scene.world.finish();
}

#[test]
fn a_pane_that_reports_no_session_is_found_by_its_directory_and_keeps_what_it_found() {
    let mut scene = Scene::with_entries(3);
    scene.world.herdr.pane(PANE).unwrap().agent_session = None;
    let elsewhere = Transcript::new(NEXT_SESSION, "/home/u/other").talk(9);
    scene.world.advance(Duration::from_secs(1));
    scene.world.disk.append(&format!("{}/{NEXT_SESSION}.jsonl", project_directory(CWD)), elsewhere);
    let client = scene.world.watch(PANE);
    let frames = scene.world.fresh(client);
    assert_eq!((frames.only("hello").json["session_id"].as_str(), frames.seqs()), (Some(SESSION), vec![1, 2, 3]));
    scene.world.finish();
}

#[test]
fn what_was_asked_of_the_old_session_is_not_answered_from_the_new_one() {
    let mut scene = Scene::with_entries(400);
    let client = scene.watch();
    let next = scene.next_session(300);
    scene.world.disk.spoil_times(3, OpKind::Read, &next.path(), Effect::Slow(Duration::from_millis(1_900)));
    scene.world.herdr.rotate(PANE, NEXT_SESSION);
    for _ in 0..100 {
        scene.world.advance(Duration::from_millis(100));
        if !scene.world.client(client).received().kinds().contains(&"session_changed") {
            scene.world.load_older(client, 100, 10);
        }
    }
    let frames = scene.world.fresh(client);
    let changed = frames.iter().position(|frame| frame.kind() == "session_changed").unwrap();
    let (old, new) = frames.split_at(changed);
    assert!(old.kinds().iter().filter(|kind| **kind == "page_complete").count() > 10);
    assert_eq!((new.len(), new.seqs()), (153, (151..=300).collect::<Vec<_>>()));
    scene.world.finish();
}

#[test]
fn a_client_that_leaves_while_the_next_session_is_looked_at_leaves_no_file_open() {
    for wait in (1_500..8_000).step_by(130) {
        let mut scene = Scene::with_entries(3);
        let client = scene.watch();
        let next = scene.next_session(5);
        scene.world.disk.spoil(OpKind::Open, &next.path(), Effect::Slow(Duration::from_millis(700)));
        scene.world.disk.spoil(OpKind::Read, &next.path(), Effect::Slow(Duration::from_millis(700)));
        scene.world.herdr.rotate(PANE, NEXT_SESSION);
        scene.world.advance(Duration::from_millis(wait));
        scene.world.leave(client);
        scene.world.finish();
    }
}

#[test]
fn a_client_that_connects_right_after_the_file_moved_follows_it_with_those_who_were_there() {
    let mut scene = Scene::with_entries(3);
    let client = scene.watch();
    let moved = format!("{}/{SESSION}.jsonl", project_directory("/home/u/project-2"));
    scene.world.disk.rename(&scene.path, &moved);
    scene.path = moved;
    let other = scene.watch();
    scene.world.advance(SESSION_POLLED);
    scene.talk(1);
    for client in [client, other] {
        let frames = scene.polled(client);
        assert_eq!((frames.kinds(), frames.seqs()), (vec!["live"], vec![4]));
    }
    scene.world.finish();
}

#[test]
fn panes_that_come_together_on_a_file_that_moved_begin_anew() {
    let mut scene = Scene::with_entries(3);
    let client = scene.watch();
    let moved = format!("{}/{SESSION}.jsonl", project_directory("/home/u/project-2"));
    scene.world.disk.rename(&scene.path, &moved);
    let other = scene.world.watch(&format!("claude:{SESSION}"));
    scene.world.fresh(other);
    scene.world.advance(SESSION_POLLED);
    for client in [client, other] {
        let frames = scene.world.fresh(client);
        assert_eq!(frames.only("session_changed").json["to"], format!("{SESSION}~1"));
        assert_eq!(frames.seqs(), [1, 2, 3]);
    }
    scene.world.finish();
}

#[test]
fn a_page_asked_for_before_the_first_hello_is_served_from_whichever_session_comes() {
    let mut scene = Scene::with_entries(3);
    scene.next_session(9);
    scene.world.disk.spoil_times(9, OpKind::Read, &scene.path, Effect::Slow(Duration::from_millis(2_600)));
    let client = scene.world.watch(PANE);
    scene.world.herdr.rotate(PANE, NEXT_SESSION);
    while !scene.world.client(client).accepted() {
        scene.world.advance(Duration::from_millis(100));
    }
    scene.world.load_older(client, 4, 2);
    scene.world.advance(Duration::from_secs(10));
    let frames = scene.world.fresh(client);
    assert_eq!(frames[0].json["session_id"], NEXT_SESSION);
    assert_eq!(frames.only("page_complete").number("oldest_loaded_seq"), 2);
    scene.world.finish();
}
