//! Devices: paired by a code, known by a bearer, refused beyond their scope, gone when revoked.

use core::time::Duration;

use panewire_conformance::sim::config::{SERVER_ID, TOKEN_FILE};
use panewire_conformance::sim::disk::{Effect, OpKind};
use panewire_conformance::sim::scene::PANE;
use panewire_conformance::sim::{Ask, Frames as _, Scene, TOKEN, World, config};
use panewire_core::Bridge;
use panewire_core::ids::ExId;
use panewire_core::io::{FailureKind, Fin, Level};
use panewire_core::limits::{DEVICES_AGAIN, MAX_DEVICES, MAX_PAIRING_BODIES, MAX_PARKED, PAIRING_REST, WRONG_CODES};
use serde_json::{Value, json};

const FILE: &str = "/home/u/.local/state/panewire/devices.json";

/// Status and body of the answer, if there is one.
fn answer(world: &World, client: ExId) -> Option<(u16, String)> {
    world.client(client).answer().map(|answer| (answer.status, answer.body))
}

/// Status and body of the answer to a request.
fn ask(world: &mut World, ask: &Ask) -> (u16, String) {
    let client = world.ask(ask);
    world.run();
    answer(world, client).unwrap_or_default()
}

fn json_of(answer: &(u16, String)) -> Value {
    serde_json::from_str(&answer.1).unwrap_or_default()
}

/// What a request with the daemon's own token is answered.
fn admin(world: &mut World, target: &str, body: Option<&Value>) -> (u16, String) {
    let wanted = body.map_or_else(|| Ask::get(target), |body| Ask::post(target, body.to_string()));
    ask(world, &wanted.with("Authorization", format!("Bearer {TOKEN}")))
}

fn bearing(bearer: &str, wanted: Ask) -> Ask {
    wanted.with("Authorization", format!("Bearer {bearer}"))
}

/// A code that was just opened.
fn code(world: &mut World, body: &Value) -> String {
    let offered = admin(world, "/admin/pairing", Some(body));
    assert_eq!(offered.0, 200, "{}", offered.1);
    json_of(&offered)["code"].as_str().map(str::to_owned).unwrap_or_default()
}

fn pair(world: &mut World, code: &str) -> (u16, String) {
    ask(world, &Ask::post("/pair", json!({"code": code, "device_name": "Ana's phone"}).to_string()))
}

/// Id and bearer of a device that was just paired.
fn device(world: &mut World, scope: &str) -> (String, String) {
    let code = code(world, &json!({"scope": scope}));
    let paired = json_of(&pair(world, &code));
    let text = |field: &str| paired[field].as_str().map(str::to_owned).unwrap_or_default();
    (text("id"), text("bearer"))
}

fn kept(world: &World) -> String {
    String::from_utf8_lossy(world.disk.content(FILE).unwrap_or_default()).into_owned()
}

#[test]
fn a_code_makes_a_device_and_nothing_of_its_secret_stays_here() {
    let mut world = World::new();
    let offered = admin(&mut world, "/admin/pairing", Some(&json!({})));
    let code = json_of(&offered)["code"].as_str().map(str::to_owned).unwrap_or_default();
    let expected =
        format!(r#"{{"code":"{code}","url":"http://127.0.0.1:8787/#pair={code}","scope":"full","expires_in_s":300}}"#);
    assert_eq!(offered, (200, format!("{expected}\n")));
    assert_eq!(code.len(), 8);
    let paired = pair(&mut world, &code.to_lowercase());
    let fields = json_of(&paired);
    let (id, bearer) = (fields["id"].as_str().unwrap_or_default(), fields["bearer"].as_str().unwrap_or_default());
    assert_eq!((paired.0, id.len(), bearer.len()), (200, 8, 64));
    let expected = json!({
        "id": id, "bearer": bearer, "name": "Ana's phone", "scope": "full",
        "server_id": SERVER_ID, "server_name": "workstation",
    });
    assert_eq!(fields, expected);
    let info = json_of(&ask(&mut world, &bearing(bearer, Ask::get("/info"))));
    assert_eq!((&info["scope"], &info["device"]), (&json!("full"), &json!({"id": id, "name": "Ana's phone"})));
    assert_eq!((&info["server_id"], &info["server_name"]), (&json!(SERVER_ID), &json!("workstation")));
    let by_query = ask(&mut world, &Ask::get(&format!("/info?token={bearer}")));
    assert_eq!(by_query.0, 200);
    let told = format!("{:?}", world.log());
    assert!(told.contains(&format!("paired the device 'Ana's phone' ({id}): it may read and answer")), "{told}");
    for place in [kept(&world), told] {
        assert!(!place.contains(bearer) && !place.contains(&code), "{place}");
    }
    world.finish();
}

#[test]
fn a_code_that_another_token_made_opens_nothing() {
    let mut world = World::new();
    let stale = code(&mut world, &json!({}));
    world.disk.write(TOKEN_FILE, "another-t0ken");
    let fresh = |wanted: Ask| bearing("another-t0ken", wanted);
    assert_eq!(ask(&mut world, &fresh(Ask::get("/info"))).0, 200);
    assert_eq!(pair(&mut world, &stale), (403, "invalid or expired pairing code\n".into()));
    let offered = ask(&mut world, &fresh(Ask::post("/admin/pairing", "{}")));
    let code = json_of(&offered)["code"].as_str().map(str::to_owned).unwrap_or_default();
    assert_eq!(pair(&mut world, &code).0, 200);
    world.finish();
}

#[test]
fn the_list_names_devices_and_no_secret() {
    let mut world = World::new();
    assert_eq!(admin(&mut world, "/admin/devices", None), (200, "{\"devices\":[]}\n".into()));
    let (phone, _) = device(&mut world, "full");
    world.advance(Duration::from_secs(10));
    let code = code(&mut world, &json!({"scope": "read", "name": "wall"}));
    let tablet = json_of(&pair(&mut world, &code))["id"].clone();
    let listed = json_of(&admin(&mut world, "/admin/devices", None));
    let row = |at: usize| {
        let row = &listed["devices"][at];
        let fields: Vec<&str> = row.as_object().map(|row| row.keys().map(String::as_str).collect()).unwrap_or_default();
        assert_eq!(fields, ["id", "last_seen", "name", "paired_at", "scope"]);
        assert_eq!(row["paired_at"], row["last_seen"]);
        (row["id"].clone(), row["name"].clone(), row["scope"].clone(), row["paired_at"].as_i64().unwrap_or_default())
    };
    let (newest, oldest) = (row(0), row(1));
    assert_eq!((newest.0, newest.1, newest.2), (tablet, json!("wall"), json!("read")));
    assert_eq!((oldest.0, oldest.1, oldest.2), (json!(phone), json!("Ana's phone"), json!("full")));
    assert_eq!(newest.3 - oldest.3, 10_000);
    world.finish();
}

#[test]
fn a_code_works_once_and_for_five_minutes() {
    let mut world = World::new();
    let used = code(&mut world, &json!({}));
    assert_eq!(pair(&mut world, &used).0, 200);
    let refused = (403, "invalid or expired pairing code\n".to_owned());
    assert_eq!(pair(&mut world, &used), refused);
    let (late, in_time) = (code(&mut world, &json!({})), code(&mut world, &json!({})));
    world.advance(Duration::from_secs(299));
    assert_eq!(pair(&mut world, &in_time).0, 200);
    world.advance(Duration::from_secs(1));
    assert_eq!(pair(&mut world, &late), refused);
    world.finish();
}

#[test]
fn guesses_are_counted_and_then_nobody_pairs_for_a_minute() {
    let mut world = World::new();
    let right = code(&mut world, &json!({}));
    for _ in 0..WRONG_CODES {
        assert_eq!(pair(&mut world, "00000000").0, 403);
    }
    world.advance(Duration::from_millis(1_500));
    let client = world.ask(&Ask::post("/pair", json!({"code": right, "device_name": "a"}).to_string()));
    world.run();
    let resting = world.client(client).answer().map(|answer| {
        let retry = answer.header("retry-after").map(str::to_owned);
        (answer.status, answer.body, retry)
    });
    let text = "too many wrong codes: pairing rests for 59 s\n".to_owned();
    assert_eq!(resting, Some((429, text.clone(), Some("59".into()))));
    assert_eq!(admin(&mut world, "/admin/pairing", Some(&json!({}))), (429, text));
    let told = "10 wrong pairing codes: every code is dropped, and pairing rests for a minute".to_owned();
    assert!(world.log().contains(&(Level::Warn, told)));
    world.advance(PAIRING_REST);
    assert_eq!(pair(&mut world, &right).0, 403);
    let fresh = code(&mut world, &json!({}));
    assert_eq!(pair(&mut world, &fresh).0, 200);
    world.finish();
}

#[test]
fn a_read_device_looks_and_does_nothing_else() {
    let mut scene = Scene::with_entries(3);
    let world = &mut scene.world;
    let (_, bearer) = device(world, "read");
    let socket = world.connect(&format!("/agent-transcript?pane={PANE}&token={bearer}"));
    world.run();
    assert_eq!(world.fresh(socket).seqs(), [1, 2, 3]);
    for target in ["/panes", "/info", &format!("/agent-state?pane={PANE}")] {
        assert_eq!(ask(world, &bearing(&bearer, Ask::get(target))).0, 200, "{target}");
    }
    let text = "this device may only read: to let it answer agents, revoke it and pair it without --read\n";
    for target in ["/send", "/approve", "/agent-mode/cycle"] {
        let refused = ask(world, &bearing(&bearer, Ask::post(target, r#"{"pane":"w1:p1","text":"a"}"#)));
        assert_eq!(refused, (403, text.into()), "{target}");
    }
    for target in ["/admin/pairing", "/admin/devices/revoke"] {
        assert_eq!(ask(world, &bearing(&bearer, Ask::post(target, "{}"))), (401, "unauthorized\n".into()), "{target}");
    }
    assert_eq!(ask(world, &bearing(&bearer, Ask::get("/admin/devices"))).0, 401);
    scene.world.finish();
}

#[test]
fn whoever_is_revoked_is_out_at_once() {
    let mut scene = Scene::with_entries(3);
    let world = &mut scene.world;
    let (phone, bearer) = device(world, "full");
    let (_, other) = device(world, "full");
    let socket = world.connect(&format!("/agent-transcript?pane={PANE}&token={bearer}"));
    let unmoved = world.connect(&format!("/agent-transcript?pane={PANE}&token={other}"));
    world.run();
    let (waits, wants_body) = {
        world.disk.spoil(OpKind::List, "/home/u/.claude/projects", Effect::Slow(Duration::from_secs(1)));
        let waits = world.ask(&bearing(&bearer, Ask::get("/agent-transcript/entry?pane=claude:latest&seq=1")));
        let wants_body = world.ask(&bearing(&bearer, Ask::get("/send").by("POST")));
        world.run();
        (waits, wants_body)
    };
    assert_eq!((answer(world, waits), answer(world, wants_body)), (None, None));
    let revoked = admin(world, "/admin/devices/revoke", Some(&json!({"id": phone})));
    assert_eq!(revoked, (200, "{\"revoked\":true,\"name\":\"Ana's phone\"}\n".into()));
    assert_eq!(world.client(socket).closing(), Some((1008, "device revoked")));
    assert_eq!(world.client(unmoved).closing(), None);
    let unauthorized = Some((401, "unauthorized\n".to_owned()));
    assert_eq!((answer(world, waits), answer(world, wants_body)), (unauthorized.clone(), unauthorized.clone()));
    assert_eq!(Some(ask(world, &bearing(&bearer, Ask::get("/info")))), unauthorized);
    assert_eq!(ask(world, &bearing(&other, Ask::get("/info"))).0, 200);
    let again = admin(world, "/admin/devices/revoke", Some(&json!({"id": phone})));
    assert_eq!(again, (404, "no such device\n".into()));
    assert_eq!(admin(world, "/admin/devices/revoke", Some(&json!({}))), (400, "want {id}\n".into()));
    scene.talk(1);
    assert_eq!(scene.polled(unmoved).seqs(), [1, 2, 3, 4]);
    scene.world.finish();
}

#[test]
fn nothing_more_is_typed_for_a_device_that_is_revoked() {
    let mut scene = Scene::with_entries(1);
    let world = &mut scene.world;
    world.herdr.desk.screens.insert(PANE.into(), "────────────\n❯ \n────────────\n  ? for shortcuts\n".into());
    let ((phone, bearer), (_, other)) = (device(world, "full"), device(world, "full"));
    let send = |world: &mut World, bearer: &str, text: &str| {
        let body = json!({"pane": PANE, "text": text}).to_string();
        let client = world.ask(&bearing(bearer, Ask::post("/send", body)));
        world.run();
        client
    };
    let begun = send(world, &bearer, "dig\n");
    let waits = send(world, &bearer, "deeper\n");
    let unmoved = send(world, &other, "rest\n");
    assert_eq!(admin(world, "/admin/devices/revoke", Some(&json!({"id": phone}))).0, 200);
    let unknown = "unauthorized; whether everything was typed is not known: look at the pane before you try again\n";
    assert_eq!(answer(world, begun), Some((401, unknown.into())));
    assert_eq!(answer(world, waits), Some((401, "unauthorized\n".into())));
    world.advance(Duration::from_secs(1));
    assert_eq!(answer(world, unmoved), Some((200, "{\"ok\":true}\n".into())));
    let typed: Vec<&str> = world.herdr.desk.typed.iter().map(|typed| typed.bytes.as_str()).collect();
    assert_eq!(typed, ["dig", "rest", "\r"]);
    scene.world.finish();
}

#[test]
fn a_device_survives_a_restart_and_need_not_come_twice_while_the_list_is_read() {
    let mut scene = Scene::with_entries(2);
    let (_, bearer) = device(&mut scene.world, "full");
    let world = &mut scene.world;
    world.reborn(Bridge::new(config()));
    world.disk.spoil(OpKind::Load, FILE, Effect::Slow(Duration::from_millis(300)));
    let socket = world.connect(&format!("/agent-transcript?pane={PANE}&token={bearer}"));
    let plain = world.ask(&bearing(&bearer, Ask::get("/info")));
    let posted = world.ask(&bearing(&bearer, Ask::get("/send").by("POST")));
    let stranger = world.ask(&bearing("nobody", Ask::get("/info")));
    let gone = world.ask(&bearing(&bearer, Ask::get("/info")));
    let own = world.get("/info");
    world.upload(posted, br#"{"pane":"demo","#, Fin::More);
    world.run();
    assert_eq!(answer(world, own).map(|answer| answer.0), Some(200), "the daemon's own token needs no list");
    assert!(answer(world, plain).is_none() && !world.client(socket).accepted());
    assert!(world.client(posted).held());
    world.leave(gone);
    world.advance(Duration::from_millis(300));
    assert_eq!(world.fresh(socket).seqs(), [1, 2]);
    assert_eq!(answer(world, plain).map(|answer| answer.0), Some(200));
    assert_eq!(answer(world, stranger), Some((401, "unauthorized\n".into())));
    assert!(!world.client(posted).held());
    world.upload(posted, br#""text":"a"}"#, Fin::Last);
    world.run();
    assert_eq!(answer(world, posted).map(|answer| answer.0), Some(501));
    scene.world.finish();
}

#[test]
fn a_daemon_that_stops_does_not_keep_those_waiting_whom_it_does_not_know() {
    let mut world = World::new();
    world.disk.spoil(OpKind::Load, FILE, Effect::Slow(Duration::from_secs(1)));
    let waits = world.ask(&bearing("nobody", Ask::get("/info")));
    world.run();
    world.shut_down();
    assert_eq!(answer(&world, waits), Some((503, "shutting down\n".into())));
    world.finish();
}

#[test]
fn only_so_many_wait_for_the_list() {
    let mut world = World::new();
    world.disk.spoil(OpKind::Load, FILE, Effect::Slow(Duration::from_secs(1)));
    let clients: Vec<ExId> = (0..=MAX_PARKED).map(|_| world.ask(&bearing("nobody", Ask::get("/info")))).collect();
    world.run();
    let status = |world: &World, client: &ExId| answer(world, *client).map(|answer| answer.0);
    assert_eq!(clients.iter().filter_map(|client| status(&world, client)).collect::<Vec<_>>(), [503]);
    world.advance(Duration::from_secs(1));
    let refused = clients.iter().filter(|client| status(&world, client) == Some(401)).count();
    assert_eq!(refused, MAX_PARKED);
    world.finish();
}

#[test]
fn a_list_that_cannot_be_read_makes_nobody_pair_anew() {
    let mut world = World::new();
    let (_, bearer) = device(&mut world, "full");
    let before = kept(&world);
    world.reborn(Bridge::new(config()));
    world.disk.spoil(OpKind::Load, FILE, Effect::Fail(FailureKind::Denied));
    let unknown = ask(&mut world, &bearing(&bearer, Ask::get("/info")));
    let text = "the list of devices cannot be read, so nobody knows whose token this is: try again later\n";
    assert_eq!(unknown, (503, text.into()));
    let refused = admin(&mut world, "/admin/pairing", Some(&json!({})));
    let why = format!("the list of devices cannot be used: cannot read {FILE}: Permission denied (os error 13)");
    assert_eq!(refused, (500, format!("{why}\n")));
    assert!(world.log().contains(&(Level::Warn, format!("no device is known: {why}"))));
    world.disk.heal();
    assert_eq!(ask(&mut world, &bearing(&bearer, Ask::get("/info"))).0, 503);
    world.advance(DEVICES_AGAIN);
    assert_eq!(ask(&mut world, &bearing(&bearer, Ask::get("/info"))).0, 200);
    assert_eq!(kept(&world), before);
    world.finish();
}

#[test]
fn a_damaged_list_is_kept_under_another_name() {
    let mut world = World::new();
    let (_, bearer) = device(&mut world, "full");
    let damaged = kept(&world).replace("\"format\":1", "\"format\":\"one\"");
    world.disk.write(FILE, &damaged);
    world.reborn(Bridge::new(config()));
    assert_eq!(ask(&mut world, &bearing(&bearer, Ask::get("/info"))).0, 401);
    let (_, second) = device(&mut world, "full");
    let names = world.disk.names("/home/u/.local/state/panewire");
    let aside: Vec<&String> = names.iter().filter(|name| name.starts_with("devices.json.damaged-")).collect();
    assert_eq!(aside.len(), 1, "{names:?}");
    let aside = format!("/home/u/.local/state/panewire/{}", aside[0]);
    assert_eq!(world.disk.content(&aside), Some(damaged.as_bytes()));
    let told = format!("no device is known any more: pair each again, or repair {aside} and put it back");
    assert!(world.log().contains(&(Level::Warn, told)));
    world.reborn(Bridge::new(config()));
    assert_eq!(ask(&mut world, &bearing(&second, Ask::get("/info"))).0, 200);
    world.finish();
}

#[test]
fn the_list_is_written_when_something_changed_and_not_for_every_call() {
    let mut world = World::new();
    let (_, bearer) = device(&mut world, "full");
    let writes = |world: &mut World| {
        let accesses = world.disk.take_accesses();
        accesses.iter().filter(|access| access.kind == OpKind::Write && access.path == FILE).count()
    };
    assert_eq!(writes(&mut world), 1);
    for _ in 0..150 {
        assert_eq!(ask(&mut world, &bearing(&bearer, Ask::get("/info"))).0, 200);
        world.advance(Duration::from_secs(60));
    }
    assert_eq!(writes(&mut world), 2, "two hours and a half: after each whole hour");
    world.finish();
}

#[test]
fn a_socket_that_was_open_for_two_hours_was_seen_until_its_end() {
    let mut scene = Scene::with_entries(1);
    let world = &mut scene.world;
    let (_, bearer) = device(world, "full");
    let socket = world.connect(&format!("/agent-transcript?pane={PANE}&token={bearer}"));
    world.advance(Duration::from_secs(2 * 3_600));
    world.leave(socket);
    let listed = json_of(&admin(world, "/admin/devices", None));
    let [paired_at, last_seen] =
        ["paired_at", "last_seen"].map(|field| listed["devices"][0][field].as_i64().unwrap_or_default());
    assert_eq!(last_seen - paired_at, 2 * 3_600_000);
    scene.world.finish();
}

#[test]
fn who_leaves_before_the_bearer_came_is_no_device() {
    let mut world = World::new();
    let code = code(&mut world, &json!({}));
    world.disk.spoil(OpKind::Write, FILE, Effect::Slow(Duration::from_secs(1)));
    let client = world.ask(&Ask::post("/pair", json!({"code": code, "device_name": "a"}).to_string()));
    world.run();
    assert_eq!(answer(&world, client), None);
    world.leave(client);
    world.advance(Duration::from_secs(3));
    assert_eq!(admin(&mut world, "/admin/devices", None), (200, "{\"devices\":[]}\n".into()));
    assert_eq!(kept(&world), "{\"format\":1,\"devices\":[]}\n");
    world.finish();
}

#[test]
fn there_is_room_for_so_many_devices() {
    let mut world = World::new();
    let spare = code(&mut world, &json!({}));
    for _ in 0..MAX_DEVICES {
        device(&mut world, "read");
    }
    let full = (409, "64 devices are paired, and no more are allowed: revoke one first\n".to_owned());
    assert_eq!(admin(&mut world, "/admin/pairing", Some(&json!({}))), full);
    assert_eq!(pair(&mut world, &spare), full);
    world.finish();
}

#[test]
fn strangers_hold_few_bodies_and_short_ones() {
    let mut world = World::new();
    let open: Vec<ExId> = (0..=MAX_PAIRING_BODIES).map(|_| world.ask(&Ask::get("/pair").by("POST"))).collect();
    world.run();
    let answers: Vec<u16> = open.iter().filter_map(|client| answer(&world, *client)).map(|answer| answer.0).collect();
    assert_eq!(answers, [503]);
    world.upload(open[0], &[b' '; 4 * 1024 + 1], Fin::Last);
    world.run();
    assert_eq!(answer(&world, open[0]), Some((413, "want a body of at most 4096 bytes\n".into())));
    assert_eq!(ask(&mut world, &Ask::post("/pair", "{}")), (400, "want {code,device_name}\n".into()));
    assert_eq!(ask(&mut world, &Ask::get("/pair")).0, 405);
    world.finish();
}

#[test]
fn without_secrets_nothing_is_paired() {
    let mut world = World::new();
    world.random.dry = true;
    let refused = admin(&mut world, "/admin/pairing", Some(&json!({})));
    assert_eq!(refused, (500, "no code can be made: Input/output error (os error 5)\n".into()));
    world.finish();
}
