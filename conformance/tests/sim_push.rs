//! Push: who is told, when, how often, and how much.

#![expect(clippy::unwrap_used, reason = "tests")]

use core::time::Duration;

use panewire_conformance::herdr::{Mode, Pane};
use panewire_conformance::sim::scene::{CWD, PANE, SESSION};
use panewire_conformance::sim::web::Sent;
use panewire_conformance::sim::{Frames as _, Scene, TOKEN, Transcript, World, config};
use panewire_core::config::{HerdrMode, Push, PushDetail, PushTarget};
use panewire_core::io::{FailureKind, Level};
use serde_json::Value;

const HOOK: &str = "http://hooks.example/secret-path";
const SECOND: Duration = Duration::from_secs(1);

const QUESTION: &str = "──────────────────────────────\n ☐ Beds\n\nWhich bed comes first?\n\n❯ 1. North\n  2. South\n\n\
    Enter to select · ↑/↓ to navigate · Esc to cancel\n";

fn scene(detail: PushDetail) -> Scene {
    let mut config = config();
    config.push = Push { targets: vec![PushTarget::Webhook(HOOK.into())], detail };
    let mut scene = Scene::without_file(config);
    scene.talk(3);
    begin(&mut scene.world);
    scene
}

/// A runtime asks for its first deadline before anything happens; in this world something happens first.
fn begin(world: &mut World) {
    world.get("/healthz");
    world.advance(4 * SECOND);
}

fn enter(scene: &mut Scene, status: &str) -> Vec<Sent> {
    let pane = scene.world.herdr.pane(PANE).unwrap();
    pane.agent_status = status.into();
    pane.state_change_seq += 1;
    scene.world.advance(3 * SECOND);
    scene.world.web.take_sent()
}

fn bodies(sent: &[Sent]) -> Vec<String> {
    let body = |sent: &Sent| {
        let data: Value = serde_json::from_str(&sent.body).unwrap();
        data["body"].as_str().unwrap_or_default().to_owned()
    };
    sent.iter().map(body).collect()
}

fn warnings(world: &World) -> Vec<&str> {
    world.log().iter().filter(|(level, _)| *level == Level::Warn).map(|(_, text)| text.as_str()).collect()
}

#[test]
fn entering_is_told_once_and_what_was_so_at_the_start_is_not() {
    let mut config = config();
    config.push = Push { targets: vec![PushTarget::Webhook(HOOK.into())], detail: PushDetail::Title };
    let mut scene = Scene::without_file(config);
    scene.world.herdr.pane(PANE).unwrap().agent_status = "blocked".into();
    begin(&mut scene.world);
    scene.world.advance(6 * SECOND);
    assert_eq!(scene.world.web.take_sent(), []);
    assert_eq!(enter(&mut scene, "working"), []);
    let sent = enter(&mut scene, "blocked");
    assert_eq!((sent.len(), sent[0].url.as_str(), bodies(&sent)), (1, HOOK, vec!["Needs you".to_owned()]));
    scene.world.advance(6 * SECOND);
    assert_eq!(scene.world.web.take_sent(), [], "what stays so is no entry");
    assert_eq!(enter(&mut scene, "blocked").len(), 1, "it went on and asks again, between two looks");
    assert_eq!(bodies(&enter(&mut scene, "done")), ["Finished"]);
    assert_eq!(enter(&mut scene, "idle"), []);
    scene.world.finish();
}

#[test]
fn what_is_asked_is_told_where_everything_may_be() {
    let mut scene = scene(PushDetail::Full);
    scene.world.herdr.desk.screens.insert(PANE.into(), QUESTION.into());
    let sent = enter(&mut scene, "blocked");
    assert_eq!(bodies(&sent), ["Needs you — Which bed comes first? · 1. North / 2. South"]);
    let mut plain = self::scene(PushDetail::None);
    plain.world.herdr.desk.screens.insert(PANE.into(), QUESTION.into());
    plain.world.herdr.take_questions();
    let sent = enter(&mut plain, "blocked");
    assert_eq!(bodies(&sent), ["Needs you"]);
    assert!(!sent[0].body.contains("bed") && !sent[0].body.contains("shelf"), "{}", sent[0].body);
    assert_eq!(plain.world.herdr.take_questions(), ["socket session.snapshot"], "no screen is read for nothing");
}

#[test]
fn a_target_that_fails_is_tried_three_times_and_then_named_in_the_log() {
    let mut scene = scene(PushDetail::Title);
    scene.world.web.answers.extend([Ok(503), Err(FailureKind::Unreachable), Ok(200)]);
    assert_eq!(enter(&mut scene, "blocked").len(), 3);
    assert_eq!(warnings(&scene.world), [] as [&str; 0]);
    scene.world.web.answers.extend([Ok(500), Ok(429), Ok(502)]);
    assert_eq!(enter(&mut scene, "done").len(), 3);
    assert_eq!(warnings(&scene.world), ["cannot push to http://hooks.example: it answered 502"]);
    scene.world.web.answers.push_back(Ok(410));
    assert_eq!(enter(&mut scene, "blocked").len(), 1, "what is gone is not tried again");
    scene.world.finish();
}

#[test]
fn many_at_once_are_sent_one_after_the_other_and_all_of_them() {
    let second = "http://second.example/hook";
    let mut config = config();
    let targets = [HOOK, second].map(|url| PushTarget::Webhook(url.into()));
    config.push = Push { targets: targets.into(), detail: PushDetail::None };
    let mut scene = Scene::without_file(config);
    for n in 0..60 {
        scene.world.herdr.open(Pane::claude(&format!("w2:p{n}"), CWD));
    }
    begin(&mut scene.world);
    for pane in &mut scene.world.herdr.desk.panes {
        (pane.agent_status, pane.state_change_seq) = ("blocked".into(), pane.state_change_seq + 1);
    }
    scene.world.advance(60 * SECOND);
    let sent = scene.world.web.take_sent();
    let to = |url: &str| sent.iter().filter(|sent| sent.url == url).count();
    assert_eq!((to(HOOK), to(second)), (61, 61));
    assert_eq!(warnings(&scene.world), [] as [&str; 0]);
    scene.world.finish();
}

#[test]
fn a_herdr_that_comes_back_is_no_news() {
    let mut scene = scene(PushDetail::Title);
    scene.world.herdr.set_mode(Mode::Wedged);
    scene.world.advance(30 * SECOND);
    scene.world.herdr.set_mode(Mode::Normal);
    scene.world.herdr.restart();
    scene.world.herdr.pane(PANE).unwrap().agent_status = "blocked".into();
    scene.world.advance(30 * SECOND);
    assert_eq!(scene.world.web.take_sent(), [], "another life of the pane");
    enter(&mut scene, "working");
    assert_eq!(enter(&mut scene, "blocked").len(), 1);
    scene.world.finish();
}

#[test]
fn those_who_follow_events_hear_that_it_was_sent() {
    let mut scene = scene(PushDetail::Title);
    let client = scene.world.connect(&format!("/events?token={TOKEN}"));
    scene.world.advance(SECOND);
    scene.world.fresh(client);
    enter(&mut scene, "blocked");
    let frames = scene.world.fresh(client);
    assert_eq!(frames.kinds(), ["pane_agent_status_changed", "push_sent"]);
    assert_eq!(frames[1].json["payload"].to_string(), r#"{"pane":"w1:p1","status":"blocked"}"#);
    scene.world.leave(client);
    scene.world.run();
    scene.world.herdr.take_questions();
    scene.world.advance(9 * SECOND);
    assert!((3..=4).contains(&scene.world.herdr.take_questions().len()), "watched every 3 s");
    scene.world.finish();
}

#[test]
fn without_targets_or_without_herdr_nobody_watches() {
    let mut scene = Scene::with_entries(1);
    scene.world.advance(30 * SECOND);
    assert_eq!(scene.world.herdr.take_questions(), [] as [&str; 0]);
    let mut off = config();
    off.push.targets.push(PushTarget::Webhook(HOOK.into()));
    off.herdr.mode = HerdrMode::Off;
    let mut world = World::with(off);
    let mut agent = Transcript::new(SESSION, CWD);
    let talk = agent.talk(1);
    world.disk.append(&agent.path(), talk);
    world.disk.take_accesses();
    begin(&mut world);
    world.advance(30 * SECOND);
    assert_eq!(world.disk.take_accesses(), []);
    world.finish();
}
