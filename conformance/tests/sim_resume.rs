//! A client that comes back names the last entry it has, and gets what came since, or a fresh start.

#![expect(clippy::unwrap_used, reason = "what a test does not find has failed it")]

use core::time::Duration;

use panewire_conformance::sim::client::Received;
use panewire_conformance::sim::scene::{CWD, NEXT_SESSION, PANE, SESSION};
use panewire_conformance::sim::{Frames as _, Scene, TOKEN, Transcript};

/// What a client remembers of a stream.
#[derive(Clone)]
struct Cursor {
    session: String,
    generation: String,
    seq: u64,
    id: String,
}

impl Cursor {
    /// The cursor behind the last entry of an opening.
    fn after(frames: &[Received]) -> Self {
        let hello = frames.only("hello");
        let last = frames.iter().rfind(|frame| frame.kind() == "entry").unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        Self {
            session: text(&hello.json["session_id"]),
            generation: text(&hello.json["generation"]),
            seq: last.seq(),
            id: text(&last.json["entry"]["id"]),
        }
    }

    /// The opening that a client gets who comes with this cursor.
    fn resume(&self, scene: &mut Scene, more: &str) -> Vec<Received> {
        let id = self.id.replace('#', "%23");
        let target = format!(
            "/agent-transcript?pane={PANE}&token={TOKEN}&session={}&generation={}&since_seq={}&since_id={id}{more}",
            self.session, self.generation, self.seq
        );
        let client = scene.world.connect(&target);
        scene.world.run();
        scene.world.fresh(client)
    }
}

/// What `hello` says of a resume: whether it went on, how many follow, from where.
fn said(frames: &[Received]) -> (Option<bool>, u64, u64) {
    let hello = frames.only("hello");
    (hello.json["resumed"].as_bool(), hello.number("backlog_count"), hello.number("oldest_loaded_seq"))
}

fn opening(scene: &mut Scene) -> Vec<Received> {
    let client = scene.world.watch(PANE);
    scene.world.fresh(client)
}

#[test]
fn exactly_what_came_since_is_sent() {
    let mut scene = Scene::with_entries(300);
    let cursor = Cursor::after(&opening(&mut scene));
    assert_eq!(cursor.seq, 300);
    scene.talk(7);
    scene.world.advance(Duration::from_secs(1));
    let frames = cursor.resume(&mut scene, "");
    assert_eq!(said(&frames), (Some(true), 7, 301));
    assert_eq!(frames.seqs(), (301..=307).collect::<Vec<_>>());
    let done = frames.only("backlog_complete");
    assert_eq!((done.number("count"), done.json["has_more"].as_bool()), (7, Some(true)));
    scene.world.finish();
}

#[test]
fn nothing_new_is_nothing_sent() {
    let mut scene = Scene::with_entries(5);
    let cursor = Cursor::after(&opening(&mut scene));
    let frames = cursor.resume(&mut scene, "");
    assert_eq!((said(&frames), frames.kinds()), ((Some(true), 0, 6), vec!["hello", "backlog_complete"]));
    scene.world.finish();
}

#[test]
fn a_cursor_survives_the_daemon() {
    let mut scene = Scene::with_entries(20);
    let cursor = Cursor::after(&opening(&mut scene));
    let mut later = Scene::with_entries(25);
    let frames = cursor.resume(&mut later, "");
    assert_eq!((said(&frames), frames.seqs()), ((Some(true), 5, 21), vec![21, 22, 23, 24, 25]));
}

#[test]
fn a_cursor_that_does_not_fit_is_a_fresh_start_that_says_so() {
    let mut scene = Scene::with_entries(200);
    let good = Cursor::after(&opening(&mut scene));
    let fresh = (Some(false), 150, 51);
    for (what, cursor) in [
        ("session", Cursor { session: NEXT_SESSION.into(), ..good.clone() }),
        ("generation", Cursor { generation: "0-0".into(), ..good.clone() }),
        ("id", Cursor { id: "another#0".into(), ..good.clone() }),
        ("seq", Cursor { seq: 199, ..good.clone() }),
        ("the future", Cursor { seq: 201, ..good.clone() }),
        ("nothing", Cursor { seq: 0, ..good.clone() }),
    ] {
        assert_eq!(said(&cursor.resume(&mut scene, "")), fresh, "{what}");
    }
    assert_eq!(said(&good.resume(&mut scene, "&max=0")), (Some(true), 0, 201));
    scene.talk(3);
    scene.world.advance(Duration::from_secs(1));
    assert_eq!(said(&good.resume(&mut scene, "&max=2")), (Some(false), 150, 54));
    assert_eq!(said(&good.resume(&mut scene, "&max=3")), (Some(true), 3, 201));
    assert_eq!(opening(&mut scene).only("hello").json.get("resumed"), None);
    scene.world.finish();
}

#[test]
fn a_rewritten_file_is_never_resumed() {
    let mut scene = Scene::with_entries(10);
    let cursor = Cursor::after(&opening(&mut scene));
    let watcher = scene.watch();
    let mut other = Transcript::new(SESSION, CWD);
    scene.world.disk.replace(&scene.path, other.talk(12));
    scene.world.advance(Duration::from_secs(1));
    assert_eq!(scene.world.fresh(watcher).only("session_changed").json["to"], format!("{SESSION}~1"));
    assert_eq!(said(&cursor.resume(&mut scene, "")), (Some(false), 12, 1));
    scene.world.finish();
}
