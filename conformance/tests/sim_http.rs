//! Before the upgrade: statuses and exact bodies, in their order, for a WebSocket and for a plain `GET`.

use core::time::Duration;

use panewire_conformance::herdr::{Failing, Mode, Pane};
use panewire_conformance::sim::disk::{Effect, OpKind};
use panewire_conformance::sim::scene::{CWD, PANE, SESSION};
use panewire_conformance::sim::{Ask, Frames as _, Scene, TOKEN, World, config};
use panewire_core::config::{Config, HerdrMode};
use panewire_core::io::FailureKind;

/// Status and body of an answer, however long it takes.
fn answer(world: &mut World, ask: &Ask) -> (u16, String) {
    let client = world.ask(ask);
    world.advance(Duration::from_secs(5));
    assert!(!world.client(client).accepted(), "accepted: {ask:?}");
    world.client(client).answer().map(|answer| (answer.status, answer.body)).unwrap_or_default()
}

/// The upgrade and the plain `GET` of one target are refused alike.
#[track_caller]
fn assert_refused(world: &mut World, target: &str, status: u16, body: &str) {
    let expected = (status, format!("{body}\n"));
    assert_eq!(answer(world, &Ask::socket(target)), expected, "upgrade of {target}");
    assert_eq!(answer(world, &Ask::get(target)), expected, "GET of {target}");
    assert_eq!(answer(world, &Ask::get(&format!("{target}&probe=1"))), expected, "probe of {target}");
}

fn of_pane(pane: &str) -> String {
    format!("/agent-transcript?pane={pane}&token={TOKEN}")
}

#[test]
fn a_wrong_or_missing_token_comes_before_everything_else() {
    let mut scene = Scene::with_entries(1);
    for target in ["/agent-transcript?x=1", "/agent-transcript?pane=w1:p1", "/agent-transcript?pane=w9:p9&token=wrong"]
    {
        assert_refused(&mut scene.world, target, 401, "unauthorized");
    }
    assert!(scene.world.herdr.take_questions().is_empty());
}

#[test]
fn a_header_wins_over_the_query() {
    let mut scene = Scene::with_entries(1);
    let wrong = Ask::get(&of_pane(PANE)).with("Authorization", "Bearer wrong");
    assert_eq!(answer(&mut scene.world, &wrong), (401, "unauthorized\n".into()));
    let right = Ask::get("/agent-transcript?pane=w1:p1&token=wrong").with("authorization", format!("Bearer {TOKEN}"));
    assert_eq!(answer(&mut scene.world, &right).0, 426);
}

#[test]
fn a_missing_pane_is_400() {
    let mut scene = Scene::with_entries(1);
    for query in ["", "&pane="] {
        let target = format!("/agent-transcript?token={TOKEN}{query}");
        assert_refused(&mut scene.world, &target, 400, "want ?pane=<pane_id>");
    }
}

#[test]
fn a_pane_that_herdr_does_not_know_is_404() {
    let mut scene = Scene::with_entries(1);
    assert_refused(&mut scene.world, &of_pane("w9:p9"), 404, "no such agent");
    let shell = Pane { agent: None, ..Pane::claude("w1:p6", CWD) };
    scene.world.herdr.open(shell);
    assert_refused(&mut scene.world, &of_pane("w1:p6"), 404, "no such agent");
    scene.world.herdr.desk.socket = Mode::NoServer;
    assert_refused(&mut scene.world, &of_pane("w9:p9"), 404, "no such agent");
}

#[test]
fn an_agent_without_a_reader_is_404() {
    let mut scene = Scene::with_entries(1);
    scene.world.herdr.open(Pane { agent: Some("aider".into()), ..Pane::claude("w1:p2", CWD) });
    assert_refused(&mut scene.world, &of_pane("w1:p2"), 404, "transcript not supported for this agent kind");
}

#[test]
fn a_pane_without_session_and_without_a_file_is_404() {
    let mut scene = Scene::with_entries(1);
    scene.world.herdr.open(Pane::claude("w1:p3", "/home/u/empty"));
    assert_refused(&mut scene.world, &of_pane("w1:p3"), 404, "no transcript file for pane");
}

#[test]
fn two_panes_without_a_session_in_one_directory_are_not_guessed_at() {
    let mut scene = Scene::with_entries(1);
    scene.world.herdr.pane(PANE).unwrap().agent_session = None;
    scene.world.herdr.open(Pane::claude("w1:p2", CWD));
    let body = "transcript not available yet — this agent has not reported its session id";
    assert_refused(&mut scene.world, &of_pane(PANE), 404, body);
}

#[test]
fn a_file_that_cannot_be_read_is_500() {
    for (kind, failure) in [(OpKind::Open, FailureKind::Denied), (OpKind::Read, FailureKind::Other)] {
        let mut scene = Scene::with_entries(1);
        scene.world.disk.spoil(kind, &scene.path, Effect::Fail(failure));
        assert_refused(&mut scene.world, &of_pane(PANE), 500, "read transcript failed");
        scene.world.finish();
    }
}

#[test]
fn what_herdr_says_is_the_body_of_502() {
    let mut scene = Scene::with_entries(1);
    scene
        .world
        .herdr
        .set_mode(Mode::Failing(Failing { code: "server_unavailable".into(), message: "shutting down".into() }));
    assert_refused(&mut scene.world, &of_pane(PANE), 502, "herdr agent get w1:p1: shutting down");
    scene.world.herdr.desk.socket = Mode::NoServer;
    scene.world.herdr.desk.cli = Mode::Broken("Error: Custom { kind: Other, error: EmptyResponse }".into());
    let body = "herdr agent get w1:p1: Error: Custom { kind: Other, error: EmptyResponse }";
    assert_refused(&mut scene.world, &of_pane(PANE), 502, body);
}

#[test]
fn a_wedged_herdr_is_502_before_the_client_gives_up() {
    let mut scene = Scene::with_entries(1);
    scene.world.herdr.set_mode(Mode::Wedged);
    let client = scene.world.watch(PANE);
    scene.world.advance(Duration::from_millis(3_900));
    assert_eq!(scene.world.client(client).answer(), None);
    scene.world.advance(Duration::from_millis(200));
    let answer = scene.world.client(client).answer().unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (502, "herdr agent get w1:p1: timed out after 4s\n"));
    assert_eq!(scene.world.herdr.take_questions(), ["socket agent.get w1:p1", "cli agent get w1:p1"]);
}

#[test]
fn the_command_line_answers_where_the_socket_does_not() {
    for socket in [Mode::NoServer, Mode::Broken(String::new()), Mode::Wedged] {
        let mut scene = Scene::with_entries(2);
        scene.world.herdr.desk.socket = socket;
        let client = scene.world.watch(PANE);
        scene.world.advance(Duration::from_secs(3));
        assert_eq!(scene.world.fresh(client).kinds(), ["hello", "entry", "entry", "backlog_complete"]);
        scene.world.finish();
    }
}

#[test]
fn a_plain_get_and_a_probe_say_that_an_upgrade_would_succeed() {
    let mut scene = Scene::with_entries(2);
    let plain = scene.world.get("/agent-transcript?pane=w1:p1");
    let plain = scene.world.client(plain).answer().unwrap();
    assert_eq!((plain.status, plain.header("upgrade")), (426, Some("websocket")));
    assert!(plain.body.ends_with('\n') && plain.body.len() > 1);
    let probe = Ask::get(&format!("{}&probe=1", of_pane(PANE)));
    assert_eq!(answer(&mut scene.world, &probe), (204, String::new()));
    scene.world.finish();
}

#[test]
fn a_probe_of_a_session_without_a_file_says_what_an_upgrade_would() {
    let mut scene = Scene::without_file(config());
    assert_eq!(answer(&mut scene.world, &Ask::get(&format!("{}&probe=1", of_pane(PANE)))).0, 204);
    scene.world.finish();
}

#[test]
fn error_bodies_are_text_that_nobody_keeps() {
    let mut scene = Scene::with_entries(1);
    let client = scene.world.connect(&of_pane("w9:p9"));
    scene.world.run();
    let answer = scene.world.client(client).answer().unwrap();
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.header("content-length"), Some("14"));
}

#[test]
fn hosts_and_origins_that_are_not_ours_are_kept_out() {
    let config = Config {
        allow_hosts: vec!["tv.example".into()],
        allow_origins: vec!["https://app.example".into()],
        ..config()
    };
    let mut scene = Scene::without_file(config);
    scene.talk(1);
    let status = |scene: &mut Scene, host: &str, origin: Option<&str>| {
        let mut ask = Ask::get(&of_pane(PANE)).with("Host", host);
        if let Some(origin) = origin {
            ask = ask.with("Origin", origin);
        }
        answer(&mut scene.world, &ask).0
    };
    for host in ["127.0.0.1:8787", "[::1]:8787", "localhost", "workstation:8787", "tv.example"] {
        assert_eq!(status(&mut scene, host, None), 426, "{host}");
    }
    assert_eq!(status(&mut scene, "evil.example", None), 403);
    assert_eq!(status(&mut scene, "127.0.0.1:8787", Some("http://127.0.0.1:8787")), 426);
    assert_eq!(status(&mut scene, "127.0.0.1:8787", Some("https://app.example")), 426);
    assert_eq!(status(&mut scene, "127.0.0.1:8787", Some("https://evil.example")), 403);
}

#[test]
fn health_is_for_everybody_and_info_for_those_with_a_token() {
    let mut world = World::new();
    assert_eq!(answer(&mut world, &Ask::get("/healthz")), (200, "ok\n".into()));
    assert_eq!(answer(&mut world, &Ask::get("/info")).0, 401);
    let info = concat!(
        r#"{"name":"panewire","version":"0.0.0-sim","protocol":5,"features":["resume","heartbeat","entry","drift","roster","branches","card","snapshot","events","answers","attach","pairing"],"#,
        r#""server_id":"5e12e1d000000001","server_name":"workstation","scope":"admin"}"#
    );
    assert_eq!(answer(&mut world, &Ask::get(&format!("/info?token={TOKEN}"))), (200, format!("{info}\n")));
    assert_eq!(answer(&mut world, &Ask::get(&format!("/nothing?token={TOKEN}"))).0, 404);
    assert_eq!(answer(&mut world, &Ask::get(&format!("/info?token={TOKEN}")).by("POST")).0, 405);
    world.finish();
}

#[test]
fn without_herdr_only_its_panes_are_missing() {
    let mut off = config();
    off.herdr.mode = HerdrMode::Off;
    let mut scene = Scene::without_file(off);
    scene.talk(2);
    assert_refused(&mut scene.world, &of_pane(PANE), 404, "no such agent");
    let standalone = scene.world.watch(&format!("claude:{SESSION}"));
    assert_eq!(scene.world.fresh(standalone).kinds(), ["hello", "entry", "entry", "backlog_complete"]);
    assert!(scene.world.herdr.take_questions().is_empty());
}

#[test]
fn no_token_ever_reaches_the_log() {
    let mut scene = Scene::with_entries(2);
    scene.world.disk.spoil(OpKind::Stat, "", Effect::Fail(FailureKind::Other));
    let client = scene.world.watch(PANE);
    scene.world.say(client, "garbage");
    scene.world.advance(Duration::from_secs(10));
    scene.world.get(&format!("/agent-transcript?pane=w9:p9&token={TOKEN}"));
    assert!(scene.world.log().iter().all(|(_, text)| !text.contains(TOKEN)));
}
