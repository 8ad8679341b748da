//! The demo pane: there where nothing else is, alive, and small for ever.

use core::time::Duration;

use panewire_conformance::sim::{Ask, Frames as _, Scene, TOKEN, World, config};
use panewire_core::config::{Config, Demo, HerdrMode};

fn alone() -> Config {
    let mut config = config();
    config.herdr.mode = HerdrMode::Off;
    config
}

#[test]
fn the_demo_is_there_where_nothing_else_is_and_goes_on_by_itself() {
    let mut world = World::with(alone());
    let client = world.watch("demo");
    world.advance(Duration::from_secs(2));
    assert_eq!(world.fresh(client).kinds().first(), Some(&"hello"));
    world.advance(Duration::from_secs(60));
    let frames = world.fresh(client);
    assert!(frames.iter().any(|frame| frame.live() && frame.json["entry"]["parsed"] == true), "{:?}", frames.kinds());
    assert!(frames.iter().all(|frame| frame.json["entry"]["parsed"] != false));
    world.finish();
}

#[test]
fn the_demo_stays_small_however_long_somebody_watches() {
    let mut world = World::with(alone());
    let client = world.watch("demo");
    world.advance(Duration::from_secs(6 * 3_600));
    assert_eq!(world.client(client).closed(), None);
    let largest = world.disk.take_accesses().iter().map(|access| access.offset).max().unwrap_or_default();
    assert!(largest < 4 * 1024 * 1024, "{largest}");
    world.finish();
}

#[test]
fn the_demo_makes_room_for_the_first_real_session_unless_it_is_wanted() {
    for (demo, expected) in [(Demo::Auto, 404), (Demo::Always, 426)] {
        let mut scene = Scene::without_file(Config { demo, ..alone() });
        scene.talk(2);
        let client = scene.world.ask(&Ask::get(&format!("/agent-transcript?pane=demo&token={TOKEN}")));
        scene.world.advance(Duration::from_secs(2));
        assert_eq!(scene.world.client(client).answer().map(|answer| answer.status), Some(expected), "{demo:?}");
    }
}
