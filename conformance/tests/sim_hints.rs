//! A file watcher that works, one that does not, and one that stops: what is live at once, and when.

use core::time::Duration;

use panewire_conformance::herdr::Pane;
use panewire_conformance::sim::disk::{Effect, OpKind};
use panewire_conformance::sim::scene::{CWD, PANE};
use panewire_conformance::sim::{Frames as _, Hinting, Scene, Transcript, config};
use panewire_core::ids::ExId;

const POLL: Duration = Duration::from_millis(250);
/// Long enough for a look for safety.
const SAFETY: Duration = Duration::from_millis(2_250);

/// A session of three entries with a client, in a world that announces changes so.
fn scene(hinting: Hinting) -> (Scene, ExId) {
    let mut scene = Scene::with_entries(3);
    scene.world.hints.set(hinting);
    let client = scene.watch();
    (scene, client)
}

/// The same, when its hints have earned their trust: six entries, and its polls rest.
fn trusted() -> (Scene, ExId) {
    let (mut scene, client) = scene(Hinting::Working);
    for seq in 4..=6 {
        assert_eq!(at_once(&mut scene, client), [seq]);
    }
    // The last look for safety is just over.
    scene.world.advance(SAFETY);
    (scene, client)
}

/// One more entry is written: what the client sees of it without the passing of time.
fn at_once(scene: &mut Scene, client: ExId) -> Vec<u64> {
    within(scene, client, Duration::ZERO)
}

fn within(scene: &mut Scene, client: ExId, time: Duration) -> Vec<u64> {
    scene.talk(1);
    scene.world.advance(time);
    scene.world.fresh(client).seqs()
}

/// How often the file was looked at: for what is new in it, and every two seconds because its pane was asked for its session.
fn looks_in(scene: &mut Scene, time: Duration) -> usize {
    scene.world.disk.take_accesses();
    scene.world.advance(time);
    let accesses = scene.world.disk.take_accesses();
    accesses.iter().filter(|access| access.kind == OpKind::Stat && access.path == scene.path).count()
}

#[test]
fn an_entry_is_live_at_once_and_an_idle_file_is_looked_at_every_two_seconds() {
    let (mut scene, client) = trusted();
    assert_eq!(looks_in(&mut scene, Duration::from_secs(10)), 5 + 5);
    for seq in 7..=20 {
        assert_eq!(at_once(&mut scene, client), [seq]);
    }
    scene.world.finish();
}

#[test]
fn before_hints_have_proven_themselves_the_clock_goes_on() {
    let (mut scene, client) = scene(Hinting::Working);
    assert_eq!(at_once(&mut scene, client), [4]);
    assert_eq!(at_once(&mut scene, client), [5]);
    assert_eq!(looks_in(&mut scene, Duration::from_secs(10)), 40 + 5);
    assert_eq!(at_once(&mut scene, client), [6]);
    scene.world.advance(Duration::from_secs(2));
    assert_eq!(looks_in(&mut scene, Duration::from_secs(10)), 5 + 5);
}

#[test]
fn lost_hints_cost_two_seconds_once_and_then_a_poll() {
    let (mut scene, client) = trusted();
    scene.world.hints.set(Hinting::Silent);
    assert!(within(&mut scene, client, POLL).is_empty());
    scene.world.advance(Duration::from_secs(2) - POLL);
    assert_eq!(scene.world.fresh(client).seqs(), [7]);
    for seq in 8..=30 {
        assert_eq!(within(&mut scene, client, POLL), [seq]);
    }
    scene.world.finish();
}

#[test]
fn hints_that_failed_must_announce_twice_as_many_changes() {
    let (mut scene, client) = trusted();
    scene.world.hints.set(Hinting::Silent);
    assert_eq!(within(&mut scene, client, Duration::from_secs(3)), [7]);
    scene.world.hints.set(Hinting::Working);
    for seq in 8..=12 {
        assert_eq!(at_once(&mut scene, client), [seq]);
    }
    assert_eq!(looks_in(&mut scene, Duration::from_secs(2)), 8 + 1);
    assert_eq!(at_once(&mut scene, client), [13]);
    scene.world.advance(Duration::from_secs(2));
    assert_eq!(looks_in(&mut scene, Duration::from_secs(10)), 5 + 5);
}

#[test]
fn a_watcher_that_says_nothing_is_never_trusted() {
    let (mut scene, client) = scene(Hinting::Silent);
    for seq in 4..=30 {
        assert_eq!(within(&mut scene, client, POLL), [seq]);
    }
    assert_eq!(looks_in(&mut scene, Duration::from_secs(10)), 40 + 5);
    scene.world.finish();
}

#[test]
fn late_hints_are_worth_what_they_are_late() {
    let (mut scene, client) = trusted();
    scene.world.hints.set(Hinting::Late(Duration::from_millis(100)));
    assert!(within(&mut scene, client, Duration::from_millis(99)).is_empty());
    scene.world.advance(Duration::from_millis(1));
    assert_eq!(scene.world.fresh(client).seqs(), [7]);
    scene.world.hints.set(Hinting::Late(Duration::from_secs(60)));
    assert_eq!(within(&mut scene, client, Duration::from_secs(2)), [8]);
    assert_eq!(within(&mut scene, client, POLL), [9]);
    scene.world.finish();
}

#[test]
fn an_overflow_means_that_anything_may_have_changed() {
    let (mut scene, client) = trusted();
    scene.world.hints.set(Hinting::Overflowing);
    for seq in 7..=12 {
        assert_eq!(at_once(&mut scene, client), [seq]);
    }
    assert_eq!(looks_in(&mut scene, Duration::from_secs(10)), 5 + 5);
}

#[test]
fn a_hint_during_a_look_is_a_look_right_after_it() {
    let (mut scene, client) = trusted();
    scene.world.disk.spoil_times(1, OpKind::Stat, &scene.path, Effect::Slow(Duration::from_millis(100)));
    // The look that is on its way saw the file before the second entry.
    assert!(at_once(&mut scene, client).is_empty());
    assert!(within(&mut scene, client, Duration::from_millis(99)).is_empty());
    scene.world.advance(Duration::from_millis(1));
    assert_eq!(scene.world.fresh(client).seqs(), [7, 8]);
    scene.world.finish();
}

#[test]
fn a_storm_of_hints_is_one_look_and_one_more() {
    let (mut scene, client) = trusted();
    scene.world.disk.spoil_times(1, OpKind::Stat, &scene.path, Effect::Slow(Duration::from_millis(100)));
    scene.world.disk.take_accesses();
    for _ in 0..1_000 {
        assert!(at_once(&mut scene, client).is_empty());
    }
    assert_eq!(looks_in(&mut scene, Duration::ZERO), 0);
    assert_eq!(looks_in(&mut scene, Duration::from_millis(100)), 1);
    assert_eq!(scene.world.fresh(client).seqs(), (7..=1_006).collect::<Vec<_>>());
    scene.world.finish();
}

#[test]
fn other_files_of_the_directory_are_nobodys_business() {
    let (mut scene, _client) = trusted();
    let neighbour = scene.path.replace(".jsonl", "-other.jsonl");
    scene.world.disk.append(&neighbour, "x\n");
    assert_eq!(looks_in(&mut scene, Duration::from_millis(100)), 0);
}

#[test]
fn a_look_that_fails_is_tried_again_soon_though_hints_are_trusted() {
    let (mut scene, client) = trusted();
    scene.world.disk.spoil_times(1, OpKind::Read, &scene.path, Effect::Fail(panewire_core::io::FailureKind::Other));
    assert!(at_once(&mut scene, client).is_empty());
    scene.world.advance(POLL);
    assert_eq!(scene.world.fresh(client).seqs(), [7]);
    assert_eq!(at_once(&mut scene, client), [8]);
    scene.world.finish();
}

#[test]
fn a_file_that_is_not_there_yet_is_live_at_once_when_its_directory_is() {
    let mut scene = Scene::without_file(config());
    scene.world.hints.set(Hinting::Working);
    scene.world.disk.make_directory(scene.path.rsplit_once('/').unwrap().0);
    let client = scene.watch();
    assert_eq!(at_once(&mut scene, client), [1]);
    assert_eq!(at_once(&mut scene, client), [2]);
    scene.world.finish();
}

#[test]
fn a_directory_that_is_not_there_yet_is_watched_when_it_is() {
    let mut scene = Scene::without_file(config());
    scene.world.hints.set(Hinting::Working);
    let client = scene.watch();
    scene.world.advance(Duration::from_secs(10));
    assert_eq!(within(&mut scene, client, POLL), [1]);
    scene.world.advance(SAFETY);
    assert_eq!(at_once(&mut scene, client), [2]);
    scene.world.finish();
}

#[test]
fn a_directory_that_moves_away_and_comes_back_is_watched_again() {
    let (mut scene, client) = trusted();
    let directory = scene.path.rsplit_once('/').unwrap().0.to_owned();
    let away = "/home/u/elsewhere";
    scene.world.disk.rename(&directory, away);
    scene.world.advance(Duration::from_secs(5));
    scene.world.disk.rename(away, &directory);
    assert_eq!(within(&mut scene, client, POLL), [7]);
    scene.world.advance(SAFETY);
    assert_eq!(at_once(&mut scene, client), [8]);
    scene.world.finish();
}

#[test]
fn panes_of_one_directory_share_one_watch_and_the_last_gives_it_back() {
    let (mut scene, client) = scene(Hinting::Working);
    let mut neighbour = Transcript::new("5e550009-0a0b-4c0d-8e0f-000000000009", CWD);
    let talk = neighbour.talk(1);
    scene.world.disk.append(&neighbour.path(), talk);
    scene.world.herdr.open(Pane::claude("w1:p2", CWD).with_session(neighbour.session()));
    let other = scene.world.watch("w1:p2");
    scene.world.fresh(other);
    assert_eq!(scene.world.hints.watched(), [scene.path.rsplit_once('/').unwrap().0]);
    let talk = neighbour.talk(1);
    scene.world.disk.append(&neighbour.path(), talk);
    scene.world.run();
    assert_eq!((scene.world.fresh(client).seqs(), scene.world.fresh(other).seqs()), (Vec::<u64>::new(), vec![2]));
    scene.world.leave(client);
    scene.world.run();
    assert_eq!(scene.world.hints.watched().len(), 1);
    scene.world.leave(other);
    scene.world.run();
    assert!(scene.world.hints.watched().is_empty());
    let again = scene.world.watch(PANE);
    scene.world.fresh(again);
    assert_eq!(at_once(&mut scene, again), [4]);
    scene.world.finish();
}
