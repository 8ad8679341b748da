//! `WS /attach` on the whole core: who is let in, what ends it, and that nothing is left behind.

use core::time::Duration;

use panewire_conformance::herdr::{Failing, Mode, Pane};
use panewire_conformance::sim::scene::{CWD, PANE};
use panewire_conformance::sim::{Scene, TOKEN, World};
use panewire_core::ids::ExId;
use panewire_core::limits::MAX_ATTACHED;

fn target(pane: &str) -> String {
    format!("/attach?pane={pane}&token={TOKEN}")
}

fn attach(world: &mut World) -> ExId {
    let client = world.connect(&target(PANE));
    world.run();
    assert!(world.is_at_terminal(client), "{:?}", world.client(client).answer());
    client
}

/// Status and body of a refusal.
fn refusal(world: &mut World, target: &str) -> Option<(u16, String)> {
    let client = world.connect(target);
    world.advance(Duration::from_secs(5));
    world.client(client).answer().map(|answer| (answer.status, answer.body))
}

#[test]
fn who_is_in_the_pane_is_asked_once_before_the_upgrade() {
    let mut scene = Scene::with_entries(1);
    attach(&mut scene.world);
    assert_eq!(scene.world.herdr.take_questions(), ["socket pane.get w1:p1"]);
}

#[test]
fn herdr_has_its_own_words_for_what_fails() {
    let mut scene = Scene::with_entries(1);
    scene.world.herdr.set_mode(Mode::Failing(Failing { code: "busy".into(), message: "not today".into() }));
    let failed = Some((502, "herdr pane get w1:p1: not today\n".to_owned()));
    assert_eq!(refusal(&mut scene.world, &target(PANE)), failed);
    scene.world.herdr.set_mode(Mode::Wedged);
    let late = Some((502, "herdr pane get w1:p1: timed out after 4s\n".to_owned()));
    assert_eq!(refusal(&mut scene.world, &target(PANE)), late);
    scene.world.herdr.set_mode(Mode::Normal);
    attach(&mut scene.world);
}

#[test]
fn so_many_are_attached_at_once_and_a_seat_is_given_back() {
    let mut scene = Scene::with_entries(1);
    let clients: Vec<ExId> = (0..MAX_ATTACHED).map(|_| attach(&mut scene.world)).collect();
    let full = Some((503, "too many attached clients: try again later\n".to_owned()));
    assert_eq!(refusal(&mut scene.world, &target(PANE)), full);
    scene.world.leave(clients[7]);
    scene.world.run();
    attach(&mut scene.world);
}

#[test]
fn a_program_that_ends_well_has_detached() {
    let mut scene = Scene::with_entries(1);
    let client = attach(&mut scene.world);
    scene.world.end_program(client, Some(0));
    assert_eq!(scene.world.client(client).closed(), Some((1000, "detached")));
}

#[test]
fn what_ends_an_attachment_leaves_nothing_under_way() {
    let mut scene = Scene::with_entries(1);
    let first = attach(&mut scene.world);
    let second = attach(&mut scene.world);
    scene.world.herdr.close(PANE);
    scene.world.advance(Duration::from_secs(3));
    for client in [first, second] {
        assert_eq!(scene.world.client(client).closed(), Some((1000, "pane closed")));
        assert!(!scene.world.is_at_terminal(client));
    }
    scene.world.herdr.open(Pane::claude(PANE, CWD));
    let third = attach(&mut scene.world);
    scene.world.shut_down();
    assert_eq!(scene.world.client(third).closed(), Some((1000, "server stopped")));
}

/// A pane without an agent that shows a prompt.
fn with_shell() -> Scene {
    let mut scene = Scene::with_entries(1);
    scene.world.herdr.open(Pane { agent: None, ..Pane::claude("w1:p6", CWD) });
    scene.world.herdr.desk.screens.insert("w1:p6".into(), "$\n".into());
    scene
}

#[test]
fn a_shell_that_rests_costs_one_question_a_second() {
    let mut scene = with_shell();
    scene.world.connect(&target("w1:p6"));
    scene.world.advance(Duration::from_secs(10));
    scene.world.herdr.take_questions();
    scene.world.advance(Duration::from_secs(10));
    let questions = scene.world.herdr.take_questions();
    let asked = |what: &str| questions.iter().filter(|question| question.starts_with(what)).count();
    assert_eq!((asked("socket pane.read"), asked("socket pane.get"), questions.len()), (10, 5, 15), "{questions:?}");
}

fn told(pane: &str) -> String {
    format!(
        r#"{{"data":{{"pane":{{"agent_status":"unknown","pane_id":"{pane}"}},"type":"pane_updated"}},"event":"pane_updated"}}"#
    )
}

#[test]
fn what_herdr_tells_of_a_shell_is_painted_after_40_ms_and_what_it_does_not_within_a_second() {
    let mut scene = with_shell();
    let clients = [scene.world.connect(&target("w1:p6")), scene.world.connect(&target("default/w1:p6"))];
    scene.world.advance(Duration::from_secs(10));
    assert_eq!(scene.world.listeners(), 1, "one stream for all of a server");
    scene.world.herdr.take_questions();
    let show = |scene: &mut Scene, screen: &str| {
        scene.world.herdr.desk.screens.insert("w1:p6".into(), screen.into());
    };
    let reads = |scene: &mut Scene| {
        let questions = scene.world.herdr.take_questions();
        questions.iter().filter(|question| question.starts_with("socket pane.read")).count()
    };
    show(&mut scene, "$ make\n");
    scene.world.tell(&told("w1:p7"), 5);
    scene.world.advance(Duration::from_millis(40));
    assert_eq!(reads(&mut scene), 0, "another pane");
    scene.world.tell(&told("w1:p6"), 30);
    scene.world.advance(Duration::from_millis(39));
    assert_eq!(reads(&mut scene), 0);
    scene.world.advance(Duration::from_millis(1));
    assert_eq!(reads(&mut scene), 2, "one for each client");
    for client in clients {
        assert_eq!(scene.world.client(client).screen(), "$\u{1b}[H\u{1b}[2J$ make");
    }
    scene.world.advance(Duration::from_secs(10));
    show(&mut scene, "$ make\ndone\n");
    scene.world.advance(Duration::from_secs(1));
    for client in clients {
        assert_eq!(scene.world.client(client).screen(), "$\u{1b}[H\u{1b}[2J$ make\u{1b}[H\u{1b}[2J$ make\r\ndone");
    }
    scene.world.leave(clients[0]);
    scene.world.run();
    assert_eq!(scene.world.listeners(), 1);
    scene.world.leave(clients[1]);
    scene.world.run();
    assert_eq!(scene.world.listeners(), 0, "nobody is there to look");
    scene.world.finish();
}

#[test]
fn those_who_follow_events_and_those_who_are_attached_share_what_is_listened_to() {
    let mut scene = with_shell();
    let follower = scene.world.connect(&format!("/events?token={TOKEN}"));
    scene.world.advance(Duration::from_secs(2));
    let attached = scene.world.connect(&target("w1:p6"));
    scene.world.advance(Duration::from_secs(2));
    assert_eq!(scene.world.listeners(), 1);
    scene.world.leave(follower);
    scene.world.advance(Duration::from_secs(30));
    assert_eq!(scene.world.listeners(), 1);
    // An agent comes: told, seen at once, and believed when it is seen again.
    if let Some(pane) = scene.world.herdr.pane("w1:p6") {
        pane.agent = Some("claude".into());
    }
    scene.world.tell(
        r#"{"data":{"agent":"claude","pane_id":"w1:p6","type":"pane_agent_detected"},"event":"pane_agent_detected"}"#,
        1,
    );
    scene.world.advance(Duration::from_millis(501));
    assert!(scene.world.is_at_terminal(attached));
    // herdr hangs up, and is listened to again after a while.
    scene.world.hang_up();
    scene.world.run();
    assert_eq!(scene.world.listeners(), 0);
    scene.world.advance(Duration::from_secs(10));
    assert_eq!(scene.world.listeners(), 1);
    scene.world.leave(attached);
    scene.world.run();
    assert_eq!(scene.world.listeners(), 0);
    scene.world.finish();
}

#[test]
fn what_is_typed_into_a_shell_is_typed_once_and_in_order() {
    let mut scene = with_shell();
    let client = scene.world.connect(&target("w1:p6"));
    scene.world.run();
    scene.world.herdr.socket_latency = Duration::from_millis(300);
    for keys in [&b"ls"[..], b" -la\r", b"\x1b[A", b"\r"] {
        scene.world.say_binary(client, keys);
    }
    scene.world.advance(Duration::from_secs(5));
    assert_eq!(scene.world.client(client).screen(), "$", "nothing else was on it");
    let typed = core::mem::take(&mut scene.world.herdr.desk.typed);
    let bytes: Vec<&str> = typed.iter().map(|typed| typed.bytes.as_str()).collect();
    assert_eq!(bytes, ["ls", " -la", "\r\u{1b}[A\r"]);
    // herdr does what it is asked, and its answer is lost: nothing is typed twice, and what comes next is typed.
    scene.world.herdr.set_mode(Mode::Silent);
    scene.world.say_binary(client, b"x");
    scene.world.advance(Duration::from_secs(5));
    scene.world.herdr.set_mode(Mode::Normal);
    scene.world.say_binary(client, b"y");
    scene.world.advance(Duration::from_secs(5));
    let typed = core::mem::take(&mut scene.world.herdr.desk.typed);
    let bytes: Vec<&str> = typed.iter().map(|typed| typed.bytes.as_str()).collect();
    assert_eq!(bytes, ["x", "y"]);
}

#[test]
fn a_herdr_that_never_answers_ends_a_painted_client() {
    let mut scene = with_shell();
    let client = scene.world.connect(&target("w1:p6"));
    scene.world.run();
    scene.world.herdr.set_mode(Mode::Wedged);
    scene.world.advance(Duration::from_secs(30));
    assert_eq!(scene.world.client(client).closed(), Some((1011, "herdr does not answer")));
}
