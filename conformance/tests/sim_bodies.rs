//! Requests with a body: how much of it is taken, for how long, and what a client hears that does not keep to it.

use core::time::Duration;

use panewire_conformance::sim::{Ask, TOKEN, World};
use panewire_core::ids::ExId;
use panewire_core::io::Fin;
use panewire_core::limits::{BODIES_BYTES, BODY_WITHIN, DISCARDED_BODY_BYTES, MAX_BODY_BYTES};

/// Status and body of the answer, if there is one.
fn answer(world: &World, client: ExId) -> Option<(u16, String)> {
    world.client(client).answer().map(|answer| (answer.status, answer.body))
}

fn said(status: u16, body: &str) -> Option<(u16, String)> {
    Some((status, format!("{body}\n")))
}

fn begin(world: &mut World) -> ExId {
    let client = world.ask(&Ask::get(&format!("/send?token={TOKEN}")).by("POST"));
    world.run();
    client
}

/// A call of this many bytes.
fn body(bytes: usize) -> Vec<u8> {
    let (head, tail) = (r#"{"text":"a","pane":""#, r#""}"#);
    format!("{head}{}{tail}", "x".repeat(bytes - head.len() - tail.len())).into_bytes()
}

#[test]
fn a_body_may_come_in_any_pieces() {
    let mut world = World::new();
    let whole = world.post("/send", &serde_json::json!({"pane": "demo", "text": "a"}));
    let expected = answer(&world, whole);
    assert_eq!(expected.as_ref().map(|answer| answer.0), Some(501));
    let client = begin(&mut world);
    for byte in br#"{"pane":"demo","text":"a"}"# {
        world.upload(client, &[*byte], Fin::More);
        assert_eq!(answer(&world, client), None);
    }
    world.upload(client, b"", Fin::Last);
    world.run();
    assert_eq!(answer(&world, client), expected);
    world.finish();
}

#[test]
fn a_body_that_is_no_call_says_what_would_be() {
    let mut world = World::new();
    for (target, wanted) in
        [("/send", "want {pane,text}"), ("/approve", "want {agent,seq}"), ("/agent-mode/cycle", "want {pane}")]
    {
        for body in ["", "{}", "[1]", "pane=w1:p1"] {
            let client = world.ask(&Ask::post(&format!("{target}?token={TOKEN}"), body));
            world.run();
            assert_eq!(answer(&world, client), said(400, wanted), "{target} {body}");
        }
    }
    world.finish();
}

#[test]
fn more_than_64_kib_is_413_when_the_rest_was_read() {
    let mut world = World::new();
    let fits = begin(&mut world);
    world.upload(fits, &body(MAX_BODY_BYTES), Fin::Last);
    world.run();
    assert_ne!(answer(&world, fits).map(|answer| answer.0), Some(413));
    let client = begin(&mut world);
    world.upload(client, &body(MAX_BODY_BYTES), Fin::More);
    world.upload(client, b" ", Fin::More);
    world.run();
    assert_eq!(answer(&world, client), None);
    world.upload(client, b"", Fin::Last);
    world.run();
    assert_eq!(answer(&world, client), said(413, "want a body of at most 65536 bytes"));
    world.finish();
}

#[test]
fn a_body_without_end_is_given_up() {
    let mut world = World::new();
    let client = begin(&mut world);
    let pieces = DISCARDED_BODY_BYTES / MAX_BODY_BYTES;
    (0..pieces).for_each(|_| world.upload(client, &[b' '; MAX_BODY_BYTES], Fin::More));
    world.run();
    assert_eq!(answer(&world, client), None);
    world.upload(client, b" ", Fin::More);
    world.run();
    assert_eq!(answer(&world, client).map(|answer| answer.0), Some(413));
    world.finish();
}

#[test]
fn a_body_that_does_not_come_is_408() {
    let mut world = World::new();
    let client = begin(&mut world);
    world.upload(client, b"{", Fin::More);
    world.advance(BODY_WITHIN - Duration::from_millis(1));
    assert_eq!(answer(&world, client), None);
    world.advance(Duration::from_millis(1));
    assert_eq!(answer(&world, client), said(408, "the body did not come within 10s"));
    world.finish();
}

#[test]
fn a_body_that_is_too_large_is_413_though_its_rest_does_not_come() {
    let mut world = World::new();
    let client = begin(&mut world);
    world.upload(client, &body(MAX_BODY_BYTES), Fin::More);
    world.upload(client, b" ", Fin::More);
    world.advance(BODY_WITHIN);
    assert_eq!(answer(&world, client), said(413, "want a body of at most 65536 bytes"));
    world.finish();
}

#[test]
fn who_goes_before_the_end_leaves_nothing() {
    let mut world = World::new();
    let client = begin(&mut world);
    world.upload(client, b"{", Fin::More);
    world.leave(client);
    world.finish();
}

#[test]
fn bodies_have_room_for_so_many_bytes_together() {
    let mut world = World::new();
    let seats = BODIES_BYTES / MAX_BODY_BYTES;
    let full: Vec<ExId> = (0..seats).map(|_| begin(&mut world)).collect();
    full.iter().for_each(|client| world.upload(*client, &[b' '; MAX_BODY_BYTES], Fin::More));
    let late = begin(&mut world);
    world.upload(late, b"{", Fin::Last);
    world.run();
    assert_eq!(answer(&world, late), said(503, "too many requests with a body: try again later"));
    // What one of them took is free again when it is over, however it ends.
    world.leave(full[0]);
    world.upload(full[1], b"", Fin::Last);
    let next = begin(&mut world);
    world.upload(next, &[b' '; MAX_BODY_BYTES], Fin::Last);
    world.run();
    assert_eq!(answer(&world, next), said(400, "want {pane,text}"));
    world.finish();
}

#[test]
fn a_daemon_that_stops_waits_for_no_body() {
    let mut world = World::new();
    let client = begin(&mut world);
    world.shut_down();
    assert_eq!(answer(&world, client), said(503, "shutting down"));
    world.finish();
}
