//! `GET /agent-transcript/entry`: one whole entry, from the file that everybody follows.

use core::time::Duration;

use panewire_conformance::sim::disk::{Effect, OpKind};
use panewire_conformance::sim::scene::{PANE, TWO_POLLS};
use panewire_conformance::sim::{Ask, Frames as _, Scene, Speed, TOKEN, config};
use panewire_core::ids::ExId;
use panewire_core::io::FailureKind;
use panewire_core::limits::{BODY_PIECE_BYTES, MAX_WHOLE_ENTRIES, STALL, STREAM_GRACE, TEXT_CHARS};
use serde_json::Value;

const WITHIN: Duration = Duration::from_secs(5);

fn target(seq: &str) -> String {
    format!("/agent-transcript/entry?pane={PANE}&seq={seq}&token={TOKEN}")
}

fn ask(scene: &mut Scene, seq: u64) -> ExId {
    scene.world.ask(&Ask::get(&target(&seq.to_string())))
}

/// Status and body of what it was answered.
fn answered(scene: &Scene, client: ExId) -> (u16, String) {
    scene.world.client(client).answer().map(|answer| (answer.status, answer.body)).unwrap_or_default()
}

fn get(scene: &mut Scene, target: &str) -> (u16, String) {
    let client = scene.world.ask(&Ask::get(target));
    scene.world.advance(WITHIN);
    answered(scene, client)
}

/// A text that no frame holds whole.
fn long(mark: &str, bytes: usize) -> String {
    format!("{mark}{}", mark.repeat(bytes / mark.len()))
}

#[test]
fn an_entry_comes_whole_where_its_frame_is_cut() {
    let mut scene = Scene::with_entries(3);
    let text = long("wörd ", TEXT_CHARS * 6).trim_end().to_owned();
    let line = scene.agent.assistant(&text);
    scene.append(&line);
    let watcher = scene.world.watch(PANE);
    let frame = scene.world.fresh(watcher).into_iter().find(|frame| frame.seq() == 4).unwrap();
    assert_eq!(frame.json["entry"]["text_truncated"], true);

    let (status, body) = get(&mut scene, &target("4"));
    assert_eq!(status, 200);
    let expected = format!(
        "{{\"id\":\"{0}#0\",\"parent_id\":{1},\"seq\":4,\"ts\":\"2026-03-01T08:00:04.250Z\",\"role\":\"assistant\",\
         \"kind\":\"message\",\"text\":\"{text}\",\"parsed\":true}}\n",
        scene.agent.uuid(),
        frame.json["entry"]["parent_id"],
    );
    assert!(body == expected, "{}", &body[..200]);
    scene.world.finish();
}

#[test]
fn an_uncut_entry_is_what_its_frame_holds() {
    let mut scene = Scene::with_entries(9);
    let watcher = scene.world.watch(PANE);
    let frames = scene.world.fresh(watcher);
    for seq in 1..=9 {
        let (status, body) = get(&mut scene, &target(&seq.to_string()));
        let framed = frames.iter().find(|frame| frame.seq() == seq).map(|frame| &frame.json["entry"]);
        assert_eq!((status, Some(&serde_json::from_str::<Value>(&body).unwrap())), (200, framed), "{seq}");
    }
}

#[test]
fn it_needs_no_watcher_and_leaves_nothing_open() {
    let mut scene = Scene::with_entries(400);
    let (status, body) = get(&mut scene, &target("200"));
    assert_eq!((status, body.contains("\"seq\":200,")), (200, true));
    assert_eq!(scene.world.disk.open_files().len(), 1, "the stream is kept for the next");
    let (status, body) = get(&mut scene, &target("400"));
    assert_eq!((status, body.contains("\"seq\":400,")), (200, true));
    scene.world.advance(STREAM_GRACE + WITHIN);
    assert_eq!(scene.world.disk.open_files(), Vec::<String>::new());
    assert_eq!(scene.world.waits_for().0, None, "nothing is polled for nobody");
    scene.world.finish();
}

#[test]
fn what_is_asked_wrongly_is_refused_as_everywhere() {
    let mut scene = Scene::with_entries(3);
    let no_such = |text: &str| (404, format!("{text}\n"));
    assert_eq!(get(&mut scene, &target("4")), no_such("no such entry"));
    assert_eq!(get(&mut scene, &target("18446744073709551615")), no_such("no such entry"));
    for seq in ["", "0", "x", "99999999999999999999"] {
        assert_eq!(get(&mut scene, &target(seq)), (400, "want ?pane=<pane_id>&seq=<n>\n".into()), "{seq:?}");
    }
    let child = format!("{}&subagent=a3979c6700530d9fe", target("1"));
    assert_eq!(get(&mut scene, &child), no_such("no transcript file for pane"));
    let other = format!("/agent-transcript/entry?pane=w9:p9&seq=1&token={TOKEN}");
    assert_eq!(get(&mut scene, &other), no_such("no such agent"));
    let stranger = format!("/agent-transcript/entry?pane={PANE}&seq=1&token=wrong");
    assert_eq!(get(&mut scene, &stranger), (401, "unauthorized\n".into()));
    scene.world.finish();
}

#[test]
fn a_session_without_a_file_has_no_entries() {
    let mut scene = Scene::without_file(config());
    assert_eq!(get(&mut scene, &target("1")), (404, "no such entry\n".into()));
    scene.talk(1);
    scene.world.advance(STREAM_GRACE * 2);
    assert_eq!(get(&mut scene, &target("1")).0, 200);
    scene.world.finish();
}

#[test]
fn an_entry_that_came_while_nobody_watched_is_there() {
    let mut scene = Scene::with_entries(2);
    assert_eq!(get(&mut scene, &target("3")).0, 404);
    scene.talk(1);
    assert_eq!(get(&mut scene, &target("3")).0, 200);
    scene.world.finish();
}

#[test]
fn a_file_that_cannot_be_read_is_500() {
    let mut scene = Scene::with_entries(3);
    scene.watch();
    scene.world.disk.spoil(OpKind::Read, &scene.path, Effect::Fail(FailureKind::Other));
    assert_eq!(get(&mut scene, &target("2")), (500, "read transcript failed\n".into()));
    scene.world.disk.heal();
    assert_eq!(get(&mut scene, &target("2")).0, 200, "the next one succeeds");
    scene.world.finish();
}

#[test]
fn a_slow_client_is_sent_no_more_than_its_window() {
    let mut scene = Scene::with_entries(1);
    let text = long("slow ", 3_000_000).trim_end().to_owned();
    let line = scene.agent.assistant(&text);
    scene.append(&line);
    let speed = Speed::Slow { bytes: 50_000, every: Duration::from_millis(100) };
    let client = scene.world.ask(&Ask::get(&target("2")).at(speed));
    scene.world.advance(Duration::from_secs(1));
    assert_eq!(scene.world.client(client).answer(), None);
    scene.world.advance(Duration::from_secs(20));
    let (status, body) = answered(&scene, client);
    assert_eq!((status, body.contains(&text)), (200, true));
    let window = config().limits.window_bytes;
    let most = scene.world.client(client).most_outstanding();
    assert!(most <= window + BODY_PIECE_BYTES, "{most}");
    scene.world.finish();
}

#[test]
fn a_client_that_takes_nothing_gives_up_its_seat() {
    let mut scene = Scene::with_entries(1);
    let line = scene.agent.assistant(&long("seat ", 1_000_000));
    scene.append(&line);
    let stuck: Vec<ExId> =
        (0..MAX_WHOLE_ENTRIES).map(|_| scene.world.ask(&Ask::get(&target("2")).at(Speed::Stuck))).collect();
    scene.world.advance(WITHIN);
    let next = ask(&mut scene, 2);
    scene.world.advance(WITHIN);
    assert_eq!(scene.world.client(next).answer(), None, "every seat is taken");
    assert_eq!(get(&mut scene, &target("3")).0, 404, "to be told that there is none needs no seat");
    scene.world.advance(STALL);
    assert_eq!(answered(&scene, next).0, 200);
    assert!(stuck.iter().all(|client| scene.world.client(*client).cut()));
    scene.world.finish();
}

#[test]
fn clients_that_leave_make_room_at_once() {
    let mut scene = Scene::with_entries(1);
    let line = scene.agent.assistant(&long("room ", 1_000_000));
    scene.append(&line);
    let stuck: Vec<ExId> =
        (0..MAX_WHOLE_ENTRIES).map(|_| scene.world.ask(&Ask::get(&target("2")).at(Speed::Stuck))).collect();
    let next = ask(&mut scene, 2);
    scene.world.advance(WITHIN);
    assert_eq!(scene.world.client(next).answer(), None);
    scene.world.leave(stuck[0]);
    scene.world.run();
    scene.world.advance(Duration::from_millis(100));
    assert_eq!(answered(&scene, next).0, 200);
    scene.world.finish();
}

#[test]
fn a_rewritten_file_answers_with_what_it_holds_now() {
    let mut scene = Scene::with_entries(5);
    let watcher = scene.watch();
    let mut other = panewire_conformance::sim::Transcript::new(scene.agent.session(), "/home/u/project");
    let talk = other.user("Anew.") + &other.assistant("Yes, anew.");
    scene.world.disk.write(&scene.path, talk);
    let client = ask(&mut scene, 2);
    scene.world.advance(WITHIN);
    let (status, body) = answered(&scene, client);
    assert_eq!((status, body.contains("Yes, anew.")), (200, true), "{body}");
    assert_eq!(scene.world.fresh(watcher).kinds()[0], "session_changed");
    scene.world.finish();
}

#[test]
fn a_file_that_stays_shorter_than_counted_is_given_up() {
    let mut scene = Scene::with_entries(1);
    let line = scene.agent.assistant(&long("room ", 1_000_000));
    scene.append(&line);
    let stuck: Vec<ExId> =
        (0..MAX_WHOLE_ENTRIES).map(|_| scene.world.ask(&Ask::get(&target("2")).at(Speed::Stuck))).collect();
    // It waits for a seat: its pane is known, and of the file nothing was read for it.
    let client = ask(&mut scene, 2);
    scene.world.advance(WITHIN);
    scene.world.disk.spoil_times(100, OpKind::Stat, "", Effect::Fail(FailureKind::Other));
    scene.world.disk.truncate(&scene.path, 10);
    scene.world.leave(stuck[0]);
    scene.world.advance(TWO_POLLS);
    assert_eq!(scene.world.client(client).answer(), None);
    scene.world.advance(TWO_POLLS * 3);
    assert_eq!(answered(&scene, client), (500, "read transcript failed\n".into()));
}

#[test]
fn a_head_request_is_told_the_length() {
    let mut scene = Scene::with_entries(2);
    let (_, body) = get(&mut scene, &target("2"));
    let client = scene.world.ask(&Ask::get(&target("2")).by("HEAD"));
    scene.world.advance(WITHIN);
    let answer = scene.world.client(client).answer().unwrap();
    assert_eq!(
        (answer.status, answer.header("content-length"), &*answer.body),
        (200, Some(&*body.len().to_string()), "")
    );
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

#[test]
fn stopping_ends_it() {
    let mut scene = Scene::with_entries(1);
    let line = scene.agent.assistant(&long("stop ", 1_000_000));
    scene.append(&line);
    let sending = scene.world.ask(&Ask::get(&target("2")).at(Speed::Stuck));
    scene.world.advance(WITHIN);
    scene.world.disk.spoil_times(1, OpKind::Read, "", Effect::Slow(WITHIN));
    let reading = ask(&mut scene, 2);
    scene.world.advance(Duration::from_millis(100));
    scene.world.shut_down();
    assert!(scene.world.client(sending).cut());
    assert_eq!(answered(&scene, reading), (503, "shutting down\n".into()));
    scene.world.finish();
}
