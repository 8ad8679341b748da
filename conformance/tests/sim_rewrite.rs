//! A file that is not only appended to: truncated, replaced, written anew.

use core::time::Duration;

use panewire_conformance::sim::client::Received;
use panewire_conformance::sim::disk::{Effect, OpKind};
use panewire_conformance::sim::scene::{CWD, NEXT_SESSION, PANE, SESSION};
use panewire_conformance::sim::{Frames as _, Scene, Transcript};
use panewire_core::io::FailureKind;

/// The stream opened again as the `n`th rewrite of the session, with so many entries.
fn assert_reopened(frames: &[Received], n: u32, total: u64) {
    let id = |n: u32| if n == 0 { SESSION.to_owned() } else { format!("{SESSION}~{n}") };
    assert_eq!(
        frames[0].raw,
        format!(r#"{{"type":"session_changed","pane":"w1:p1","from":"{}","to":"{}"}}"#, id(n - 1), id(n))
    );
    assert_eq!((frames[1].json["session_id"].as_str(), frames[1].number("total")), (Some(&*id(n)), total));
    assert_eq!(frames.seqs(), (1..=total).collect::<Vec<_>>());
    assert_eq!(frames.kinds().last(), Some(&"backlog_complete"));
}

#[test]
fn a_file_that_is_cut_is_another_conversation() {
    let mut scene = Scene::with_entries(10);
    let client = scene.watch();
    let two = Transcript::new(SESSION, CWD).talk(2).len();
    scene.world.disk.truncate(&scene.path, two);
    scene.world.advance(Duration::from_secs(2));
    assert_reopened(&scene.world.fresh(client), 1, 2);
    scene.talk(1);
    let frames = scene.polled(client);
    assert_eq!((frames.kinds(), frames.seqs()), (vec!["live"], vec![3]));
    scene.world.finish();
}

#[test]
fn every_replacement_by_rename_is_counted() {
    let mut scene = Scene::with_entries(10);
    let client = scene.watch();
    for n in 1..=3 {
        let other = Transcript::new(&format!("rewrite-{n}"), CWD).talk(10 + n);
        scene.world.disk.replace(&scene.path, other);
        scene.world.advance(Duration::from_secs(2));
        assert_reopened(&scene.world.fresh(client), n, u64::from(10 + n));
    }
    scene.world.finish();
}

#[test]
fn a_file_written_anew_in_place_is_seen_whatever_its_new_size() {
    for entries in [4, 10, 40] {
        let mut scene = Scene::with_entries(10);
        let client = scene.watch();
        let other = Transcript::new(NEXT_SESSION, CWD).talk(entries);
        scene.world.advance(Duration::from_secs(1));
        scene.world.disk.write(&scene.path, other);
        scene.world.advance(Duration::from_secs(2));
        assert_reopened(&scene.world.fresh(client), 1, u64::from(entries));
        scene.world.finish();
    }
}

#[test]
fn a_file_that_is_emptied_and_filled_again_begins_again() {
    let mut scene = Scene::with_entries(10);
    let client = scene.watch();
    scene.world.disk.truncate(&scene.path, 0);
    scene.world.advance(Duration::from_secs(2));
    assert_reopened(&scene.world.fresh(client), 1, 0);
    let again = Transcript::new(NEXT_SESSION, CWD).talk(2);
    scene.append(&again);
    assert_eq!(scene.polled(client).seqs(), [1, 2]);
    scene.world.finish();
}

#[test]
fn a_file_that_is_deleted_and_made_again_is_another_one() {
    let mut scene = Scene::with_entries(10);
    let client = scene.watch();
    scene.world.disk.delete(&scene.path);
    assert!(scene.polled(client).is_empty());
    let again = Transcript::new(NEXT_SESSION, CWD).talk(11);
    scene.append(&again);
    scene.world.advance(Duration::from_secs(2));
    assert_reopened(&scene.world.fresh(client), 1, 11);
    scene.world.finish();
}

#[test]
fn a_page_of_the_old_content_is_never_mixed_with_the_new() {
    let mut scene = Scene::with_entries(400);
    let client = scene.watch();
    let other = Transcript::new(NEXT_SESSION, CWD).talk(30);
    scene.world.load_older(client, 251, 100);
    scene.world.disk.replace(&scene.path, other);
    scene.world.advance(Duration::from_secs(3));
    let frames = scene.world.fresh(client);
    let changed = frames.iter().position(|frame| frame.kind() == "session_changed").unwrap();
    assert_reopened(&frames[changed..], 1, 30);
    scene.world.load_older(client, 11, 10);
    scene.world.run();
    assert_eq!(scene.world.fresh(client).seqs(), (1..=10).collect::<Vec<_>>());
    scene.world.finish();
}

#[test]
fn an_agent_that_touches_its_file_without_changing_it_disturbs_nobody() {
    for short in [None, Some(Effect::Short(777)), Some(Effect::Short(100))] {
        let mut scene = Scene::with_entries(10);
        let client = scene.watch();
        short.into_iter().for_each(|short| scene.world.disk.spoil(OpKind::Read, "", short));
        let same = scene.world.disk.content(&scene.path).unwrap().to_vec();
        scene.world.advance(Duration::from_secs(1));
        scene.world.disk.write(&scene.path, same);
        scene.world.advance(Duration::from_secs(2));
        assert!(scene.world.fresh(client).is_empty());
        scene.talk(1);
        assert_eq!(scene.polled(client).seqs(), [11]);
        let other = scene.world.watch(PANE);
        assert_eq!(scene.world.fresh(other).only("hello").json["session_id"], SESSION);
        scene.world.finish();
    }
}

#[test]
fn a_page_never_mixes_two_states_of_a_file() {
    let mut scene = Scene::with_entries(1_200);
    let client = scene.watch();
    let uuid_of_old = scene.agent.uuid();
    let old = |frame: &Received| {
        frame.json.pointer("/entry/id").is_none_or(|id| id.as_str().unwrap()[..8] == uuid_of_old[..8])
    };
    // The same number of lines of the same length: only the bytes tell that it is another conversation.
    let other = String::from_utf8(scene.world.disk.content(&scene.path).unwrap().to_vec()).unwrap();
    let other = other.replace(&uuid_of_old[..8], "ffffffff");
    let path = scene.path.clone();
    scene.world.disk.spoil(OpKind::Read, &path, Effect::Slow(Duration::from_millis(40)));
    scene.world.load_older(client, 1_051, 500);
    scene.world.after(Duration::from_millis(60), move |world| world.disk.write(&path, other));
    scene.world.advance(Duration::from_secs(5));
    scene.world.disk.heal();
    scene.world.advance(Duration::from_secs(5));
    let frames = scene.world.fresh(client);
    let changed = frames.iter().position(|frame| frame.kind() == "session_changed").unwrap();
    assert_eq!(frames[..changed].iter().filter(|frame| !old(frame)).count(), 0);
    assert_eq!(frames[changed..].iter().filter(|frame| frame.kind() == "entry" && old(frame)).count(), 0);
    assert_eq!(frames[changed..].seqs(), (1_051..=1_200).collect::<Vec<_>>());
    scene.world.finish();
}

#[test]
fn a_look_that_fails_is_no_proof_that_a_page_is_sound() {
    let mut scene = Scene::with_entries(400);
    let client = scene.watch();
    let shorter = Transcript::new(SESSION, CWD).talk(200).len();
    scene.world.disk.truncate(&scene.path, shorter);
    let other = Transcript::new(NEXT_SESSION, CWD).talk(400);
    scene.append(&other);
    scene.world.disk.spoil_times(3, OpKind::Stat, &scene.path, Effect::Fail(FailureKind::Other));
    scene.world.load_older(client, 251, 100);
    scene.world.advance(Duration::from_secs(4));
    let frames = scene.world.fresh(client);
    assert_eq!(frames.kinds()[..2], ["session_changed", "hello"]);
    scene.world.finish();
}
