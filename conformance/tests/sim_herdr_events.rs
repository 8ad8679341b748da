//! herdr's own events as hints: a look at once, the poll as truth, and nothing for nobody.

#![expect(clippy::unwrap_used, reason = "tests")]

use core::time::Duration;

use panewire_conformance::herdr::{Failing, Mode, Pane};
use panewire_conformance::sim::scene::{CWD, PANE};
use panewire_conformance::sim::{Frames as _, Scene, TOKEN, config};
use panewire_core::config::{HerdrMode, Push, PushDetail, PushTarget};
use panewire_core::ids::ExId;
use panewire_core::io::Level;
use panewire_core::limits::{EVENTS_HINT_REST, EVENTS_POLL, EVENTS_SAFETY_POLL, LISTEN_AGAIN, MAX_HERDR_EVENTS};

const EVENT: &str = r#"{"data":{"pane_id":"w1:p1","type":"pane_exited"},"event":"pane_exited"}"#;
const MOMENT: Duration = Duration::from_millis(1);

/// Somebody follows, and a quiet second has passed since the last look.
fn followed(scene: &mut Scene) -> ExId {
    let client = scene.world.connect(&format!("/events?token={TOKEN}"));
    scene.world.advance(Duration::from_millis(1_500));
    assert_eq!(scene.world.fresh(client).kinds(), ["snapshot"]);
    scene.world.herdr.take_questions();
    client
}

fn looks(scene: &mut Scene) -> usize {
    scene.world.herdr.take_questions().iter().filter(|asked| *asked == "socket session.snapshot").count()
}

fn set_status(scene: &mut Scene, status: &str) {
    let pane = scene.world.herdr.pane(PANE).unwrap();
    pane.agent_status = status.into();
    pane.state_change_seq += 1;
}

#[test]
fn an_event_makes_a_look_at_once_and_many_make_one_more() {
    let mut scene = Scene::with_entries(3);
    let client = followed(&mut scene);
    assert_eq!(scene.world.listeners(), 1);
    set_status(&mut scene, "blocked");
    scene.world.tell(EVENT, 1);
    scene.world.run();
    assert_eq!(scene.world.fresh(client).kinds(), ["pane_agent_status_changed"], "no time has passed");
    assert_eq!(looks(&mut scene), 1);
    // What comes right behind is looked at together, after the rest.
    set_status(&mut scene, "working");
    scene.world.tell(EVENT, 30);
    scene.world.run();
    assert_eq!(looks(&mut scene), 0);
    scene.world.advance(EVENTS_HINT_REST);
    assert_eq!(scene.world.fresh(client).kinds(), ["pane_agent_status_changed"]);
    assert_eq!(looks(&mut scene), 1);
    scene.world.finish();
}

#[test]
fn a_change_that_no_event_tells_is_found_by_the_poll() {
    let mut scene = Scene::with_entries(3);
    let client = followed(&mut scene);
    set_status(&mut scene, "blocked");
    scene.world.advance(EVENTS_POLL);
    assert_eq!(scene.world.fresh(client).kinds(), ["pane_agent_status_changed"]);
    scene.world.finish();
}

#[test]
fn a_stream_that_tells_of_nothing_costs_no_more_than_the_poll() {
    let mut scene = Scene::with_entries(3);
    followed(&mut scene);
    for _ in 0..1_000 {
        scene.world.tell(EVENT, 2);
        scene.world.advance(Duration::from_millis(10));
    }
    // 0, 200, 600 and 1,400 ms after the first; from then on one a second.
    assert_eq!(looks(&mut scene), 3 + 9);
    assert_eq!(scene.world.listeners(), 1);
    // After a quiet while it is believed again.
    scene.world.advance(3 * EVENTS_POLL + EVENTS_POLL / 2);
    looks(&mut scene);
    scene.world.tell(EVENT, 1);
    scene.world.run();
    assert_eq!(looks(&mut scene), 1);
    scene.world.finish();
}

#[test]
fn a_stream_that_floods_is_hung_up_and_tried_again_later() {
    let mut scene = Scene::with_entries(3);
    followed(&mut scene);
    scene.world.tell(EVENT, MAX_HERDR_EVENTS as usize * 2 + 10);
    scene.world.run();
    assert_eq!(scene.world.listeners(), 0);
    assert!(looks(&mut scene) <= 2);
    let told: Vec<&str> =
        scene.world.log().iter().filter(|(level, _)| *level == Level::Warn).map(|(_, text)| text.as_str()).collect();
    assert_eq!(told, ["herdr session default tells too much: it is not listened to for a while"]);
    scene.world.advance(LISTEN_AGAIN / 2);
    assert_eq!(scene.world.listeners(), 0);
    scene.world.advance(LISTEN_AGAIN);
    assert_eq!(scene.world.listeners(), 1);
    scene.world.finish();
}

#[test]
fn a_stream_that_breaks_is_a_hint_and_the_poll_goes_on() {
    let mut scene = Scene::with_entries(3);
    let client = followed(&mut scene);
    let gone = Failing { code: "server_unavailable".into(), message: "shutting down".into() };
    scene.world.herdr.set_mode(Mode::Failing(gone));
    scene.world.hang_up();
    scene.world.run();
    assert_eq!(scene.world.fresh(client).kinds(), ["herdr_disconnected"], "at once");
    scene.world.herdr.set_mode(Mode::Normal);
    scene.world.advance(EVENTS_POLL);
    assert_eq!(scene.world.fresh(client).kinds(), ["herdr_connected"]);
    scene.world.advance(LISTEN_AGAIN + EVENTS_POLL);
    assert_eq!(scene.world.listeners(), 1);
    scene.world.finish();
}

#[test]
fn a_herdr_that_cannot_tell_is_polled() {
    let mut old = Scene::with_entries(3);
    old.world.herdr.tells = false;
    let client = followed(&mut old);
    assert_eq!(old.world.listeners(), 0);
    set_status(&mut old, "blocked");
    old.world.advance(EVENTS_POLL);
    assert_eq!(old.world.fresh(client).kinds(), ["pane_agent_status_changed"]);
    // It is a newer one from now on.
    old.world.herdr.tells = true;
    old.world.advance(LISTEN_AGAIN + EVENTS_POLL);
    assert_eq!(old.world.listeners(), 1);
    old.world.finish();

    let mut config = config();
    config.herdr.mode = HerdrMode::Cli;
    let mut scene = Scene::without_file(config);
    scene.talk(3);
    let client = followed(&mut scene);
    assert_eq!(scene.world.listeners(), 0);
    set_status(&mut scene, "blocked");
    scene.world.advance(EVENTS_POLL);
    assert_eq!(scene.world.fresh(client).kinds(), ["pane_agent_status_changed"]);
    scene.world.finish();
}

#[test]
fn without_agents_the_poll_rests_while_herdr_tells() {
    let mut scene = Scene::with_entries(3);
    scene.world.herdr.pane(PANE).unwrap().agent = None;
    let client = followed(&mut scene);
    scene.world.advance(EVENTS_SAFETY_POLL);
    assert_eq!(looks(&mut scene), 1);
    // An agent comes, and is told; from then on its status is looked at every second.
    scene.world.herdr.open(Pane::claude("w1:p2", CWD));
    scene.world.tell(EVENT, 1);
    scene.world.run();
    assert_eq!(scene.world.fresh(client).kinds(), ["pane_created", "pane_agent_detected", "pane_agent_status_changed"]);
    looks(&mut scene);
    scene.world.advance(3 * EVENTS_POLL);
    assert_eq!(looks(&mut scene), 3);
    // Without the stream nothing rests.
    scene.world.herdr.close("w1:p2");
    scene.world.herdr.tells = false;
    scene.world.hang_up();
    scene.world.advance(MOMENT);
    looks(&mut scene);
    scene.world.advance(3 * EVENTS_POLL);
    assert_eq!(looks(&mut scene), 3);
    scene.world.finish();
}

#[test]
fn nobody_is_listened_to_for_nobody() {
    let mut scene = Scene::with_entries(3);
    scene.world.get(&format!("/snapshot?token={TOKEN}"));
    scene.world.advance(EVENTS_POLL);
    assert_eq!(scene.world.listeners(), 0);
    let clients = [followed(&mut scene), followed(&mut scene)];
    assert_eq!(scene.world.listeners(), 1, "one for both");
    scene.world.leave(clients[0]);
    scene.world.run();
    assert_eq!(scene.world.listeners(), 1);
    scene.world.leave(clients[1]);
    scene.world.run();
    assert_eq!(scene.world.listeners(), 0);
    scene.world.finish();
}

#[test]
fn every_session_is_listened_to_while_it_runs() {
    let mut scene = Scene::with_entries(3);
    let work = panewire_conformance::herdr::Desk { panes: vec![Pane::claude(PANE, CWD)], ..Default::default() };
    scene.world.herdr.desk.sessions.insert("work".into(), work);
    scene.world.disk.append("/home/u/.config/herdr/sessions/work/herdr.sock", "");
    let client = followed(&mut scene);
    assert_eq!(scene.world.listeners(), 2);
    scene.world.herdr.desk.sessions.remove("work");
    scene.world.disk.delete("/home/u/.config/herdr/sessions/work/herdr.sock");
    scene.world.advance(EVENTS_POLL);
    assert_eq!(scene.world.listeners(), 1);
    assert!(!scene.world.fresh(client).is_empty());
    scene.world.finish();
}

#[test]
fn push_is_told_at_once_too() {
    let mut config = config();
    config.push = Push { targets: vec![PushTarget::Webhook("http://h.example/".into())], detail: PushDetail::Title };
    let mut scene = Scene::without_file(config);
    scene.talk(3);
    scene.world.get("/healthz");
    scene.world.advance(Duration::from_millis(1_500));
    assert_eq!(scene.world.listeners(), 1);
    set_status(&mut scene, "blocked");
    scene.world.tell(EVENT, 1);
    scene.world.run();
    assert_eq!(scene.world.web.take_sent().len(), 1);
    scene.world.shut_down();
    assert_eq!(scene.world.listeners(), 0);
    scene.world.finish();
}

/// Every event that was captured of a real herdr, told to somebody who follows and to somebody at a terminal.
#[test]
fn captured_events_are_reasons_to_look_and_nothing_more() {
    let Some(shared) = std::env::var_os("PANEWIRE_SHARED") else {
        return println!("skipped: PANEWIRE_SHARED names no directory with captures");
    };
    let mut told = 0;
    for entry in std::fs::read_dir(std::path::Path::new(&shared).join("herdr/captures/events")).unwrap() {
        let lines = std::fs::read_to_string(entry.unwrap().path().join("events.jsonl")).unwrap();
        let (first, events) = lines.split_once('\n').unwrap();
        assert!(first.contains(r#""result":{"type":"subscription_started"}"#), "{first}");
        let mut scene = Scene::with_entries(3);
        scene.world.herdr.open(Pane { agent: None, ..Pane::claude("w1:p6", CWD) });
        let client = followed(&mut scene);
        let attached = scene.world.connect(&format!("/attach?pane=w1:p6&token={TOKEN}"));
        scene.world.advance(Duration::from_secs(5));
        for line in events.lines().filter(|line| !line.is_empty()) {
            scene.world.tell(line, 1);
            scene.world.advance(Duration::from_millis(100));
            told += 1;
        }
        scene.world.advance(Duration::from_secs(5));
        assert_eq!(scene.world.fresh(client).kinds(), [] as [&str; 0], "what is shown has not changed");
        assert_eq!((scene.world.listeners(), scene.world.client(attached).closing()), (1, None));
        scene.world.finish();
    }
    assert_ne!(told, 0, "no event was captured");
}
