//! What one life of the daemon has counted the next one need not count again.

use panewire_conformance::sim::disk::{Access, OpKind};
use panewire_conformance::sim::scene::PANE;
use panewire_conformance::sim::{Frames as _, Scene, config};

const LINES: u32 = 9_000;

/// The bytes of the session that were asked for since this was asked last, and whether an index was written.
fn accesses(scene: &mut Scene) -> (usize, bool) {
    let accesses = scene.world.disk.take_accesses();
    let read = |access: &&Access| access.kind == OpKind::Read && access.path == scene.path;
    let saved = |access: &Access| access.kind == OpKind::Write && access.path.ends_with(".index");
    (accesses.iter().filter(read).map(|access| access.len).sum(), accesses.iter().any(saved))
}

/// A new daemon on the same disk.
fn restarted(before: Scene) -> Scene {
    let Scene { mut world, agent, path } = before;
    world.shut_down();
    let disk = std::mem::replace(&mut world.disk, Scene::without_file(config()).world.disk);
    let mut scene = Scene::without_file(config());
    scene.world.disk = disk;
    Scene { world: scene.world, agent, path }
}

#[test]
fn a_large_session_opens_at_once_in_the_next_life_and_goes_on() {
    let mut scene = Scene::with_entries(LINES);
    let size = scene.world.disk.content(&scene.path).map_or(0, <[u8]>::len);
    assert!(size > 1 << 20, "{size} bytes are not worth an index");
    let client = scene.world.watch(PANE);
    let first = scene.world.fresh(client).only("hello").raw.clone();
    let (read, saved) = accesses(&mut scene);
    assert!(read > size && saved, "{read} bytes read, index saved: {saved}");

    let mut scene = restarted(scene);
    scene.talk(3);
    let client = scene.world.watch(PANE);
    let frames = scene.world.fresh(client);
    let (read, _) = accesses(&mut scene);
    assert!(read < size, "{read} bytes were asked for of {size}");
    assert_eq!(frames.only("hello").number("total"), u64::from(LINES) + 3);
    assert_eq!(frames.seqs(), (u64::from(LINES) - 146..=u64::from(LINES) + 3).collect::<Vec<_>>());
    let generation = |raw: &str| raw.split("\"generation\":").nth(1).map(str::to_owned);
    assert_eq!(generation(&frames.only("hello").raw), generation(&first));
    scene.talk(1);
    assert_eq!(scene.polled(client).seqs(), [u64::from(LINES) + 4]);
}

#[test]
fn a_session_that_was_rewritten_between_two_lives_is_another_one() {
    let mut scene = Scene::with_entries(LINES);
    let client = scene.world.watch(PANE);
    let first = scene.world.fresh(client).only("hello").json["generation"].clone();
    let mut scene = restarted(scene);
    let content = scene.world.disk.content(&scene.path).map(<[u8]>::to_vec).unwrap_or_default();
    let half = content.iter().take(content.len() / 2).rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    scene.world.disk.truncate(&scene.path.clone(), half);
    let client = scene.world.watch(PANE);
    let frames = scene.world.fresh(client);
    let hello = frames.only("hello");
    assert!(hello.number("total") < u64::from(LINES));
    assert_ne!(hello.json["generation"], first);
    assert!(hello.json["session_id"].as_str().is_some_and(|id| id.ends_with("~1")), "{}", hello.raw);
}
