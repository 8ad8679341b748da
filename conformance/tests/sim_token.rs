//! The daemon's own token: another one in its file counts from the moment in which somebody brings it.

use core::time::Duration;

use panewire_conformance::herdr::Mode;
use panewire_conformance::sim::config::TOKEN_FILE;
use panewire_conformance::sim::disk::{Effect, OpKind};
use panewire_conformance::sim::scene::PANE;
use panewire_conformance::sim::{Ask, Scene, TOKEN, World};
use panewire_core::ids::ExId;
use panewire_core::io::{FailureKind, Level};
use panewire_core::limits::{MAX_PARKED, MAX_TOKEN_BYTES, TOKEN_AGAIN};

const FRESH: &str = "another-t0ken";

fn bearing(token: &str) -> Ask {
    Ask::get("/info").with("Authorization", format!("Bearer {token}"))
}

/// The status of the answer to a request with this token.
fn status(world: &mut World, token: &str) -> Option<u16> {
    let client = world.ask(&bearing(token));
    world.run();
    answered(world, client)
}

fn answered(world: &World, client: ExId) -> Option<u16> {
    world.client(client).answer().map(|answer| answer.status)
}

fn looks(world: &mut World) -> usize {
    let accesses = world.disk.take_accesses();
    accesses.iter().filter(|access| access.kind == OpKind::Load && access.path == TOKEN_FILE).count()
}

/// What the log says of the token.
fn told(world: &World) -> Vec<(Level, &str)> {
    world.log().iter().filter(|(_, text)| text.contains("token")).map(|(level, text)| (*level, &**text)).collect()
}

#[test]
fn a_new_token_counts_when_it_is_brought_and_closes_what_the_old_one_opened() {
    let Scene { mut world, .. } = Scene::with_entries(3);
    let watches = world.watch(PANE);
    let follows = world.connect(&format!("/events?token={TOKEN}"));
    world.run();
    world.disk.write(TOKEN_FILE, format!("{FRESH}\n"));
    assert_eq!(status(&mut world, TOKEN), Some(200), "nobody has brought the new one yet");
    assert_eq!(looks(&mut world), 0, "a token that is known is worth no look");
    assert_eq!(status(&mut world, FRESH), Some(200));
    for client in [watches, follows] {
        assert_eq!(world.client(client).closing(), Some((1008, "token rotated")));
    }
    assert_eq!((status(&mut world, TOKEN), status(&mut world, FRESH)), (Some(401), Some(200)));
    let text = "the token file has a new token: it counts from now on, and what was opened with the old one is closed";
    assert_eq!(told(&world), [(Level::Info, text)]);
    let stays = world.connect(&format!("/agent-transcript?pane={PANE}&token={FRESH}"));
    world.advance(TOKEN_AGAIN);
    assert_eq!(status(&mut world, "wrong"), Some(401));
    assert_eq!(world.client(stays).closing(), None, "the same token again closes nothing");
    world.finish();
}

#[test]
fn who_waits_for_an_answer_with_the_old_token_is_refused() {
    let Scene { mut world, .. } = Scene::with_entries(3);
    world.herdr.set_mode(Mode::Wedged);
    let waits = world.get("/panes");
    assert_eq!(answered(&world, waits), None);
    world.disk.write(TOKEN_FILE, FRESH);
    assert_eq!(status(&mut world, FRESH), Some(200));
    assert_eq!(answered(&world, waits), Some(401));
    world.finish();
}

#[test]
fn a_wrong_token_costs_one_look_a_second_and_changes_nothing() {
    let Scene { mut world, .. } = Scene::with_entries(3);
    world.disk.write(TOKEN_FILE, TOKEN);
    let watches = world.watch(PANE);
    looks(&mut world);
    for _ in 0..20 {
        assert_eq!(status(&mut world, "wrong"), Some(401));
    }
    assert_eq!(looks(&mut world), 1);
    world.advance(TOKEN_AGAIN);
    assert_eq!(status(&mut world, "wrong"), Some(401));
    assert_eq!(looks(&mut world), 1);
    let without = world.ask(&Ask::get("/info"));
    world.advance(TOKEN_AGAIN);
    assert_eq!((answered(&world, without), looks(&mut world)), (Some(401), 0), "no token is no new one");
    assert_eq!(world.client(watches).closing(), None);
    assert_eq!(told(&world), []);
    world.finish();
}

#[test]
fn all_who_come_during_one_look_wait_for_it_and_no_more_than_there_is_room_for() {
    let mut world = World::new();
    world.disk.write(TOKEN_FILE, FRESH);
    // The list of devices is known then.
    world.get("/admin/devices");
    let slow = Duration::from_millis(500);
    world.disk.spoil(OpKind::Load, TOKEN_FILE, Effect::Slow(slow));
    let strangers: Vec<ExId> = (0..=MAX_PARKED).map(|_| world.ask(&bearing("wrong"))).collect();
    world.run();
    let refused = |world: &World| strangers.iter().filter(|stranger| answered(world, **stranger) == Some(401)).count();
    assert_eq!(refused(&world), 1);
    world.advance(slow);
    assert_eq!(refused(&world), MAX_PARKED + 1);
    assert_eq!(looks(&mut world), 1);
    assert_eq!((status(&mut world, FRESH), looks(&mut world)), (Some(200), 0), "a stranger's look has found it");
    world.finish();
}

#[test]
fn a_file_that_holds_no_token_leaves_the_old_one_and_says_so_once() {
    for content in ["".to_owned(), "two words".to_owned(), "x".repeat(MAX_TOKEN_BYTES + 1)] {
        let mut world = World::new();
        world.disk.write(TOKEN_FILE, content);
        for _ in 0..3 {
            assert_eq!(status(&mut world, "wrong"), Some(401));
            world.advance(TOKEN_AGAIN);
        }
        assert_eq!((status(&mut world, TOKEN), looks(&mut world)), (Some(200), 3));
        let told = told(&world);
        let [(Level::Warn, text)] = told.as_slice() else { panic!("{told:?}") };
        assert!(text.starts_with(&format!("the token of before still counts: cannot use {TOKEN_FILE}: ")), "{text}");
        world.disk.write(TOKEN_FILE, FRESH);
        assert_eq!(status(&mut world, FRESH), Some(200));
        world.finish();
    }
    let mut world = World::new();
    world.disk.spoil(OpKind::Load, TOKEN_FILE, Effect::Fail(FailureKind::Denied));
    assert_eq!((status(&mut world, "wrong"), status(&mut world, TOKEN)), (Some(401), Some(200)));
    world.finish();
}
