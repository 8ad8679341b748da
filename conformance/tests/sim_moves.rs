//! A file that is moved, taken away and brought back, or reached by a link that is set anew.

use core::time::Duration;

use panewire_conformance::sim::scene::{CWD, NEXT_SESSION, PANE, SESSION};
use panewire_conformance::sim::{Frames as _, Scene, Transcript};

const A_WHILE: Duration = Duration::from_secs(5);

/// The session's file in another project directory.
fn elsewhere(path: &str) -> String {
    path.replace("-home-u-project", "-home-u-elsewhere")
}

#[test]
fn a_file_that_moves_to_another_project_directory_is_followed_without_a_break() {
    let mut scene = Scene::with_entries(10);
    let client = scene.watch();
    let moved = elsewhere(&scene.path);
    assert_ne!(moved, scene.path);
    scene.world.disk.rename(&scene.path, &moved);
    scene.path = moved;
    scene.world.advance(A_WHILE);
    scene.talk(2);
    scene.world.advance(A_WHILE);
    let frames = scene.world.fresh(client);
    assert_eq!((frames.kinds(), frames.seqs()), (vec!["live", "live"], vec![11, 12]));
    scene.world.finish();
}

#[test]
fn a_file_that_is_away_for_a_while_goes_on_when_it_is_back() {
    let mut scene = Scene::with_entries(10);
    let client = scene.watch();
    let away = format!("{}.away", scene.path);
    scene.world.disk.rename(&scene.path, &away);
    scene.world.advance(A_WHILE);
    assert_eq!(scene.world.fresh(client).kinds(), Vec::<&str>::new());
    scene.world.load_older(client, 5, 3);
    scene.world.run();
    assert_eq!(scene.world.fresh(client).seqs(), [2, 3, 4]);
    scene.world.disk.rename(&away, &scene.path);
    scene.talk(1);
    scene.world.advance(A_WHILE);
    let frames = scene.world.fresh(client);
    assert_eq!((frames.kinds(), frames.seqs()), (vec!["live"], vec![11]));
    scene.world.finish();
}

#[test]
fn a_link_that_is_set_anew_is_another_file() {
    let mut scene = Scene::with_entries(0);
    let (first, second) = (format!("{}.first", scene.path), format!("{}.second", scene.path));
    let mut other = Transcript::new(NEXT_SESSION, CWD);
    scene.world.disk.delete(&scene.path);
    scene.world.disk.append(&first, Transcript::new(SESSION, CWD).talk(4));
    scene.world.disk.append(&second, other.talk(6));
    scene.world.disk.link(&scene.path, &first);
    let client = scene.world.watch(PANE);
    assert_eq!(scene.world.fresh(client).only("hello").number("total"), 4);
    scene.world.disk.delete(&scene.path);
    scene.world.disk.link(&scene.path, &second);
    scene.world.advance(A_WHILE);
    let frames = scene.world.fresh(client);
    assert_eq!(frames.kinds()[..2], ["session_changed", "hello"]);
    assert_eq!(frames[0].json["to"], format!("{SESSION}~1"));
    assert_eq!(frames.seqs(), [1, 2, 3, 4, 5, 6]);
    scene.world.finish();
}
