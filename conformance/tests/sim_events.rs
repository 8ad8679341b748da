//! `WS /events`: a snapshot first, then what changes, for as long as somebody follows and takes it.

#![expect(clippy::unwrap_used, reason = "tests")]

use core::time::Duration;

use panewire_conformance::herdr::{Failing, Mode, Pane};
use panewire_conformance::sim::scene::{CWD, PANE};
use panewire_conformance::sim::{Ask, Frames as _, Scene, Speed, TOKEN, World};
use panewire_core::ids::ExId;
use panewire_core::io::Fault;
use serde_json::json;

const SECOND: Duration = Duration::from_secs(1);

fn follow(world: &mut World) -> ExId {
    let client = world.connect(&format!("/events?token={TOKEN}"));
    world.run();
    client
}

fn set_status(scene: &mut Scene, status: &str) {
    let pane = scene.world.herdr.pane(PANE).unwrap();
    pane.agent_status = status.into();
    pane.state_change_seq += 1;
}

#[test]
fn a_snapshot_comes_first_and_then_what_changes() {
    let mut scene = Scene::with_entries(3);
    let client = follow(&mut scene.world);
    let first = scene.world.fresh(client);
    assert_eq!(first.kinds(), ["snapshot"]);
    let json = &first[0].json;
    assert_eq!((&json["source"], &json["seq"]), (&json!("gothalo"), &json!(0)));
    assert_eq!(json["snapshot"]["result"]["snapshot"]["agents"][0]["pane_id"], PANE);
    scene.world.advance(3 * SECOND);
    assert_eq!(scene.world.fresh(client).kinds(), [] as [&str; 0], "nothing has changed");

    set_status(&mut scene, "blocked");
    scene.world.advance(SECOND);
    let change = scene.world.fresh(client);
    assert_eq!(change.kinds(), ["pane_agent_status_changed"]);
    let json = &change[0].json;
    assert_eq!((&json["source"], &json["seq"]), (&json!("herdr"), &json!(1)));
    let payload = json!({
        "agent": "claude", "agent_status": "blocked", "pane_id": PANE, "state_change_seq": 9, "workspace_id": "w1",
    });
    assert_eq!(json["payload"], payload);

    scene.world.herdr.open(Pane { agent: None, ..Pane::claude("w1:p2", CWD) });
    scene.world.advance(SECOND);
    assert_eq!(scene.world.fresh(client).kinds(), ["pane_created"]);
    scene.world.herdr.close(PANE);
    scene.world.advance(SECOND);
    assert_eq!(scene.world.fresh(client).kinds(), ["pane_agent_detected", "pane_closed"]);
    // Whoever comes later begins with what there is now.
    let late = follow(&mut scene.world);
    let first = scene.world.fresh(late);
    assert_eq!(
        (first[0].number("seq"), first[0].json["snapshot"]["result"]["snapshot"]["agents"].clone()),
        (4, json!([]))
    );
    scene.world.finish();
}

#[test]
fn nothing_is_asked_for_nobody() {
    let mut scene = Scene::with_entries(3);
    let clients = [follow(&mut scene.world), follow(&mut scene.world)];
    scene.world.herdr.take_questions();
    scene.world.advance(3 * SECOND);
    assert_eq!(scene.world.herdr.take_questions(), ["socket session.snapshot"; 3], "one question for both");
    for client in clients {
        scene.world.leave(client);
    }
    scene.world.run();
    scene.world.advance(60 * SECOND);
    assert_eq!(scene.world.herdr.take_questions(), [] as [&str; 0]);
    scene.world.finish();
}

/// Clients that connect at once, or never read what they are sent, cost one snapshot and not one each.
#[test]
fn whoever_comes_before_anything_is_looked_at_again_shares_the_first_frame() {
    let mut scene = Scene::with_entries(3);
    let first = follow(&mut scene.world);
    let shown = scene.world.fresh(first)[0].raw.clone();
    scene.world.herdr.take_questions();
    let second = follow(&mut scene.world);
    assert_eq!(scene.world.herdr.take_questions(), [] as [&str; 0]);
    assert_eq!(scene.world.fresh(second)[0].raw, shown);
    // Both hear of everything that comes after it.
    set_status(&mut scene, "blocked");
    scene.world.advance(SECOND);
    for client in [first, second] {
        assert_eq!(scene.world.fresh(client).kinds(), ["pane_agent_status_changed"]);
    }
    let third = follow(&mut scene.world);
    let fresh = scene.world.fresh(third);
    let status = &fresh[0].json["snapshot"]["result"]["snapshot"]["agents"][0]["agent_status"];
    assert_eq!((fresh[0].number("seq"), status), (1, &json!("blocked")));
    scene.world.finish();
}

#[test]
fn a_herdr_that_goes_and_comes_back_is_told_and_nothing_is_invented() {
    let mut scene = Scene::with_entries(3);
    let client = follow(&mut scene.world);
    scene.world.fresh(client);
    let gone = Failing { code: "server_unavailable".into(), message: "shutting down".into() };
    scene.world.herdr.set_mode(Mode::Failing(gone));
    scene.world.advance(5 * SECOND);
    let lost = scene.world.fresh(client);
    assert_eq!(lost.kinds(), ["herdr_disconnected"], "once, and no pane is closed");
    let payload = json!({"session": "default", "error": "herdr api snapshot: shutting down"});
    assert_eq!(lost[0].json["payload"], payload);
    scene.world.herdr.set_mode(Mode::Normal);
    scene.world.herdr.restart();
    scene.world.advance(2 * SECOND);
    let back = scene.world.fresh(client);
    assert_eq!(back.kinds()[0], "herdr_connected");
    assert!(back.kinds().contains(&"pane_updated") && !back.kinds().contains(&"pane_closed"), "{:?}", back.kinds());
    scene.world.finish();
}

#[test]
fn a_heartbeat_comes_every_20_s_whatever_a_client_says() {
    let mut scene = Scene::with_entries(3);
    let client = follow(&mut scene.world);
    scene.world.fresh(client);
    scene.world.say(client, "hello there");
    scene.world.say_binary(client, &[1, 2, 3]);
    scene.world.advance(61 * SECOND);
    assert_eq!(scene.world.fresh(client).kinds(), ["heartbeat"; 3]);
    assert_eq!(scene.world.client(client).closed(), None);
    scene.world.say_wrong(client, Fault::TooLarge);
    scene.world.run();
    assert_eq!(scene.world.client(client).closed(), Some((1009, "message too large")));
    scene.world.finish();
}

#[test]
fn a_client_that_lags_is_closed_with_4000_and_holds_nobody() {
    let mut scene = Scene::with_entries(3);
    let (slow, quick) = (follow(&mut scene.world), follow(&mut scene.world));
    scene.world.set_speed(slow, Speed::Stuck);
    let title = "x".repeat(40_000);
    // It has room for a few of these, and takes nothing for 30 s while others wait.
    for turn in 0..40 {
        scene.world.herdr.pane(PANE).unwrap().terminal_title_stripped = Some(format!("{title}{turn}"));
        scene.world.advance(SECOND);
    }
    assert_eq!(scene.world.client(slow).closing(), Some((4000, "resync: subscriber lagged")));
    assert!(scene.world.fresh(quick).len() > 10);
    assert_eq!(scene.world.client(quick).closed(), None);
    scene.world.finish();
}

#[test]
fn who_may_not_follow_is_told_before_the_upgrade() {
    let mut scene = Scene::with_entries(3);
    let status = |scene: &mut Scene, ask: &Ask| {
        let client = scene.world.ask(ask);
        scene.world.advance(5 * SECOND);
        scene.world.client(client).answer().map(|answer| (answer.status, answer.body))
    };
    let target = format!("/events?token={TOKEN}");
    assert_eq!(status(&mut scene, &Ask::socket("/events")), Some((401, "unauthorized\n".into())));
    assert_eq!(status(&mut scene, &Ask::get(&target)), Some((426, "connect with a WebSocket\n".into())));
    scene.world.herdr.set_mode(Mode::Wedged);
    let late = Some((502, "herdr api snapshot: timed out after 4s\n".into()));
    assert_eq!(status(&mut scene, &Ask::socket(&target)), late);
    scene.world.finish();
}

#[test]
fn when_the_server_stops_every_follower_is_closed() {
    let mut scene = Scene::with_entries(3);
    let client = follow(&mut scene.world);
    scene.world.shut_down();
    scene.world.run();
    assert_eq!(scene.world.client(client).closed(), Some((1000, "server stopped")));
    scene.world.finish();
}
