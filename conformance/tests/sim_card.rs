//! `GET /agent-state`: statuses, what a card is made of, and what it costs.

use core::time::Duration;

use panewire_conformance::herdr::{Failing, Mode, Pane};
use panewire_conformance::sim::disk::{Effect, OpKind};
use panewire_conformance::sim::scene::{CWD, NEXT_SESSION, PANE, SESSION};
use panewire_conformance::sim::screen::permission;
use panewire_conformance::sim::{Ask, Scene, TOKEN, World, config};
use panewire_core::config::{Config, Demo, HerdrMode};
use panewire_core::io::FailureKind;
use panewire_core::limits::{CARD_READ_BYTES, STREAM_GRACE};
use serde_json::{Value, json};

const READ: &str = "socket agent.read w1:p1";
const GET: &str = "socket agent.get w1:p1";

/// Status and body of the answer, however long it takes.
fn get(world: &mut World, target: &str) -> (u16, String) {
    let client = world.ask(&Ask::get(target));
    world.advance(Duration::from_secs(5));
    world.client(client).answer().map(|answer| (answer.status, answer.body)).unwrap_or_default()
}

fn target(pane: &str) -> String {
    format!("/agent-state?pane={pane}&token={TOKEN}")
}

#[track_caller]
fn card(world: &mut World, pane: &str) -> Value {
    let (status, body) = get(world, &target(pane));
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap_or_default()
}

fn shows(scene: &mut Scene, kind: &str, status: &str, screen: &str) {
    if let Some(pane) = scene.world.herdr.pane(PANE) {
        pane.agent = Some(kind.into());
        pane.agent_status = status.into();
    }
    scene.world.herdr.desk.screens.insert(PANE.into(), screen.into());
}

const CHIPS: &str = "┃\n┃  △ Permission required\n┃    # Shell command\n┃\n┃  $ water --all\n┃\n\
    ┃   \u{1b}[48;2;250;170;70m Allow once \u{1b}[0m  Allow always   Reject  ctrl+f fullscreen  ⇆ select  enter confirm\n┃\n";

#[test]
fn a_blocked_pane_shows_its_question_for_one_look_and_one_read() {
    let mut scene = Scene::with_entries(3);
    shows(&mut scene, "claude", "blocked", &permission("water --all", 1));
    scene.world.herdr.take_questions();
    let card = card(&mut scene.world, PANE);
    assert_eq!(scene.world.herdr.take_questions(), [GET, READ]);
    assert_eq!(scene.world.disk.open_files(), Vec::<String>::new(), "no file is touched");
    assert_eq!(card["pane_id"], PANE);
    assert_eq!(card["agent_kind"], "claude");
    assert_eq!(card["agent_status"], "blocked");
    assert_eq!(card["headline"], "Do you want to proceed?");
    assert_eq!(card["detail"], "Bash command\nwater --all");
    assert_eq!(card["blocked"]["question"], "Do you want to proceed?");
    assert_eq!(card["blocked"]["category"], "permission");
    assert_eq!(
        card["blocked"]["options"],
        json!([
            {"index": 1, "label": "Yes", "selected": true},
            {"index": 2, "label": "Yes, and always allow it in this garden", "selected": false},
            {"index": 3, "label": "No", "selected": false},
        ])
    );
    assert_eq!(card["parsed"], true);
    assert_eq!(card["permission_mode"], Value::Null);
    scene.world.finish();
}

#[test]
fn another_command_is_another_question() {
    let mut scene = Scene::with_entries(1);
    let mut prints = Vec::new();
    for command in ["water --all", "water --roses", "water --all"] {
        shows(&mut scene, "claude", "blocked", &permission(command, 1));
        prints.push(card(&mut scene.world, PANE)["blocked"]["fingerprint"].clone());
    }
    assert_eq!(prints[0], prints[2]);
    assert_ne!(prints[0], prints[1]);
}

#[test]
fn colours_say_which_chip_enter_takes() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "opencode", "blocked", CHIPS);
    let coloured = card(&mut scene.world, PANE);
    assert_eq!(
        coloured["blocked"]["options"],
        json!([
            {"index": 0, "label": "Allow once", "selected": true},
            {"index": 0, "label": "Allow always", "selected": false},
            {"index": 0, "label": "Reject", "selected": false},
        ])
    );
    assert_eq!(
        (&coloured["headline"], &coloured["detail"]),
        (&json!("Permission required: Shell command"), &json!("$ water --all"))
    );
    // The same on the command line.
    scene.world.herdr.desk.socket = Mode::NoServer;
    assert_eq!(card(&mut scene.world, PANE), coloured);
}

#[test]
fn what_is_followed_is_read_and_nothing_else() {
    let mut scene = Scene::with_entries(4);
    let line = scene.agent.assistant("# Done\n\nThe **roses** are `wet`.");
    scene.append(&line);
    shows(&mut scene, "claude", "idle", "⏺ Old words\n\n──────────\n❯\n──────────\n  ⏵⏵ auto mode on\n");
    let from_screen = card(&mut scene.world, PANE);
    assert_eq!((&from_screen["headline"], &from_screen["permission_mode"]), (&json!("Old words"), &json!("auto")));
    assert!(scene.world.disk.open_files().is_empty());
    let watcher = scene.watch();
    let card = card(&mut scene.world, PANE);
    assert_eq!((&card["headline"], &card["detail"]), (&json!("Done"), &json!("Done\n\nThe roses are wet.")));
    assert_eq!(card["transcript"], json!(["Old words"]));
    scene.world.leave(watcher);
    scene.world.advance(STREAM_GRACE * 2);
    assert!(scene.world.disk.open_files().is_empty(), "the card keeps nothing open");
    scene.world.finish();
}

#[test]
fn a_pane_that_went_to_another_session_is_not_shown_by_the_old_one() {
    let mut scene = Scene::with_entries(2);
    let line = scene.agent.assistant("Words of yesterday.");
    scene.append(&line);
    shows(&mut scene, "claude", "idle", "⏺ Words of today.\n");
    scene.watch();
    scene.world.herdr.rotate(PANE, NEXT_SESSION);
    let client = scene.world.ask(&Ask::get(&target(PANE)));
    scene.world.advance(Duration::from_millis(10));
    let body = scene.world.client(client).answer().unwrap().body;
    let card: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(card["headline"], "Words of today.");
}

#[test]
fn newest_entries_that_are_too_long_are_left_to_the_screen() {
    let mut scene = Scene::with_entries(2);
    let line = scene.agent.assistant(&"long ".repeat(usize::try_from(CARD_READ_BYTES).unwrap() / 4));
    scene.append(&line);
    shows(&mut scene, "claude", "idle", "⏺ Short words.\n");
    scene.watch();
    assert_eq!(card(&mut scene.world, PANE)["headline"], "Short words.");
}

#[test]
fn an_empty_screen_leaves_a_thin_card() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "working", "");
    let card = card(&mut scene.world, PANE);
    assert_eq!(
        card,
        json!({"pane_id": PANE, "agent_kind": "claude", "agent_status": "working", "headline": "Tidy the shelf",
               "detail": "Tidy the shelf", "parsed": true})
    );
}

#[test]
fn a_herdr_that_dies_between_agent_and_screen_leaves_one_too() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "blocked", &permission("water", 1));
    scene.world.herdr.socket_latency = Duration::from_millis(100);
    let client = scene.world.ask(&Ask::get(&target(PANE)));
    scene.world.advance(Duration::from_millis(50));
    scene.world.herdr.set_mode(Mode::Wedged);
    scene.world.advance(Duration::from_millis(3_900));
    assert_eq!(scene.world.client(client).answer(), None);
    scene.world.advance(Duration::from_millis(100));
    let answer = scene.world.client(client).answer().unwrap();
    let card: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((answer.status, &card["headline"], &card["parsed"]), (200, &json!("Tidy the shelf"), &json!(false)));
    assert!(card.get("blocked").is_none());
    scene.world.finish();
}

#[test]
fn who_asks_at_one_time_is_answered_by_one_look() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "idle", "⏺ All wet.\n");
    scene.world.herdr.socket_latency = Duration::from_millis(20);
    let clients: Vec<_> = (0..3).map(|_| scene.world.ask(&Ask::get(&target(PANE)))).collect();
    scene.world.leave(clients[0]);
    scene.world.advance(Duration::from_secs(1));
    assert_eq!(scene.world.herdr.take_questions(), [GET, READ]);
    let bodies: Vec<_> = clients[1..].iter().map(|ex| scene.world.client(*ex).answer().unwrap().body).collect();
    assert!(bodies[0] == bodies[1] && bodies[0].contains("All wet."));
    // The last one leaves while herdr is asked: nobody is answered, and the next starts anew.
    let gone = scene.world.ask(&Ask::get(&target(PANE)));
    scene.world.leave(gone);
    scene.world.advance(Duration::from_secs(1));
    assert_eq!(card(&mut scene.world, PANE)["headline"], "All wet.");
    scene.world.finish();
}

#[test]
fn errors_are_those_of_the_contract() {
    let mut scene = Scene::with_entries(1);
    let world = &mut scene.world;
    let text = |status: u16, body: &str| (status, format!("{body}\n"));
    assert_eq!(get(world, "/agent-state?pane=w1:p1"), text(401, "unauthorized"));
    assert_eq!(get(world, &format!("/agent-state?token={TOKEN}")), text(400, "want ?pane=<pane_id>"));
    assert_eq!(get(world, &target("w9:p9")), text(404, "no such agent"));
    world.herdr.open(Pane { agent: None, ..Pane::claude("w1:p6", CWD) });
    assert_eq!(get(world, &target("w1:p6")), text(404, "no such agent"));
    let failing = Failing { code: "server_unavailable".into(), message: "shutting down".into() };
    world.herdr.set_mode(Mode::Failing(failing));
    assert_eq!(get(world, &target(PANE)), text(502, "herdr agent get w1:p1: shutting down"));
    world.herdr.set_mode(Mode::Wedged);
    assert_eq!(get(world, &target(PANE)), text(502, "herdr agent get w1:p1: timed out after 4s"));
}

#[test]
fn a_kind_without_a_parser_is_shown_raw() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "aider", "blocked", "Water the roses? (Y)es/(N)o\n");
    let card = card(&mut scene.world, PANE);
    assert_eq!(
        card,
        json!({"pane_id": PANE, "agent_kind": "aider", "agent_status": "blocked", "headline": "Water the roses? (Y)es/(N)o",
               "detail": "Water the roses? (Y)es/(N)o", "transcript": ["Water the roses? (Y)es/(N)o"], "parsed": false})
    );
}

fn alone() -> Config {
    let mut config = config();
    config.herdr.mode = HerdrMode::Off;
    config
}

#[test]
fn a_standalone_pane_has_a_card_from_its_transcript() {
    let mut scene = Scene::without_file(alone());
    let talk = [scene.agent.talk(3), scene.agent.assistant("The roses are **wet**.")].concat();
    scene.append(&talk);
    for pane in [format!("claude:{SESSION}"), format!("claude:dir:{CWD}"), "claude:latest".into()] {
        let card = card(&mut scene.world, &pane);
        assert_eq!(card["pane_id"], pane);
        assert_eq!((&card["agent_kind"], &card["agent_status"]), (&json!("claude"), &json!("unknown")));
        assert_eq!((&card["headline"], &card["parsed"]), (&json!("The roses are wet."), &json!(true)));
        assert_eq!(card["transcript"].as_array().unwrap().last(), Some(&json!("The roses are wet.")));
    }
    assert_eq!(get(&mut scene.world, &target("claude:nobody")).0, 404);
    assert_eq!(get(&mut scene.world, &target("w1:p1")), (404, "no such agent\n".into()));
    scene.world.advance(STREAM_GRACE * 2);
    assert!(scene.world.disk.open_files().is_empty());
    scene.world.finish();
}

#[test]
fn a_standalone_transcript_that_cannot_be_read_is_500() {
    let mut scene = Scene::without_file(alone());
    let talk = scene.agent.talk(3);
    scene.append(&talk);
    scene.world.disk.spoil(OpKind::Read, &scene.path, Effect::Fail(FailureKind::Other));
    let answer = get(&mut scene.world, &target(&format!("claude:{SESSION}")));
    assert_eq!(answer, (500, "read transcript failed\n".into()));
    scene.world.finish();
}

#[test]
fn the_demo_has_a_card() {
    let mut world = World::with(Config { demo: Demo::Always, ..alone() });
    let card = card(&mut world, "demo");
    assert_eq!(
        (&card["pane_id"], &card["agent_status"], &card["parsed"]),
        (&json!("demo"), &json!("unknown"), &json!(true))
    );
    assert_ne!(card["headline"], "Agent unknown");
    world.finish();
}

#[test]
fn who_waits_when_the_server_stops_is_told() {
    let mut scene = Scene::with_entries(1);
    scene.world.herdr.set_mode(Mode::Wedged);
    let client = scene.world.ask(&Ask::get(&target(PANE)));
    scene.world.advance(Duration::from_millis(100));
    scene.world.shut_down();
    let answer = scene.world.client(client).answer().unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (503, "shutting down\n"));
}
