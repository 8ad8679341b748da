use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::Demo;
use crate::io::{Failure, FailureKind, Op, Outcome};
use crate::limits;
use crate::machine::Machine as _;
use crate::pane::simulated::{at, config};

const FIRST: &str = "/home/u/.local/state/panewire/demo/demo-1.jsonl";
const SECOND: &str = "/home/u/.local/state/panewire/demo/demo-2.jsonl";

/// Performs what is asked, and says what it was and to which file.
fn perform(demo: &mut Demo, millis: u64, disk: &mut BTreeMap<String, Vec<u8>>) -> Vec<(&'static str, String)> {
    let mut done = Vec::new();
    while let Some((tag, op)) = demo.poll_op() {
        match op {
            Op::Write { path, bytes } => {
                disk.insert(path.clone(), bytes.to_vec());
                done.push(("write", path));
            }
            Op::Append { path, bytes } => {
                disk.get_mut(&path).unwrap().extend_from_slice(&bytes);
                done.push(("append", path));
            }
            other => panic!("{other:?}"),
        }
        demo.handle_outcome(at(millis), tag, Outcome::Done);
    }
    done
}

fn fail(demo: &mut Demo, millis: u64) {
    let (tag, _) = demo.poll_op().unwrap();
    demo.handle_outcome(at(millis), tag, Outcome::Failed(Failure { kind: FailureKind::Other, text: "disk full" }));
}

#[test]
fn a_session_is_there_at_once_and_rests_until_somebody_watches() {
    let mut demo = Demo::new(at(0), &config());
    assert_eq!((demo.located().path.as_str(), demo.located().exists), (FIRST, false));
    let session = demo.located().session.clone();
    let mut disk = BTreeMap::new();
    assert_eq!(perform(&mut demo, 1, &mut disk), [("write", FIRST.into())]);
    assert_eq!((demo.located().exists, &demo.located().session), (true, &session));
    assert_eq!(demo.located().under, "/home/u/.local/state/panewire/demo");
    assert_eq!(demo.deadline(), None);
    demo.handle_tick(at(60_000));
    assert!(demo.poll_op().is_none());
}

#[test]
fn one_line_is_appended_at_each_deadline() {
    let mut demo = Demo::new(at(0), &config());
    let mut disk = BTreeMap::new();
    perform(&mut demo, 0, &mut disk);
    demo.set_watched(at(100), true);
    assert_eq!(demo.deadline(), Some(at(1600).mono));
    demo.handle_tick(at(1599));
    assert!(demo.poll_op().is_none());
    demo.handle_tick(at(1600));
    assert_eq!(demo.deadline(), None);
    let before = disk[FIRST].len();
    assert_eq!(perform(&mut demo, 1610, &mut disk), [("append", FIRST.into())]);
    assert_eq!(disk[FIRST][before..].iter().filter(|byte| **byte == b'\n').count(), 1);
    assert_eq!(demo.deadline(), Some(at(3110).mono));
    demo.set_watched(at(3000), false);
    assert_eq!(demo.deadline(), None);
}

#[test]
fn two_small_files_take_turns_and_every_session_is_new() {
    let mut demo = Demo::new(at(0), &config());
    let mut disk = BTreeMap::new();
    perform(&mut demo, 0, &mut disk);
    demo.set_watched(at(0), true);
    let mut sessions = BTreeSet::from([demo.located().session.clone()]);
    let mut turns = Vec::new();
    while turns.len() < 4 {
        let millis = demo.deadline().unwrap().as_millis();
        demo.handle_tick(at(millis));
        for (what, path) in perform(&mut demo, millis, &mut disk) {
            assert_eq!(demo.located().path, path);
            if what == "write" {
                assert!(sessions.insert(demo.located().session.clone()));
                turns.push(path);
            }
        }
        assert!(disk.values().all(|bytes| bytes.len() as u64 <= limits::DEMO_FILE_BYTES));
    }
    assert_eq!(turns, [SECOND, FIRST, SECOND, FIRST]);
    assert_eq!(disk.len(), 2);
}

#[test]
fn another_start_is_another_session() {
    assert_ne!(Demo::new(at(0), &config()).located().session, Demo::new(at(1), &config()).located().session);
}

#[test]
fn a_first_write_that_fails_is_tried_again() {
    let mut demo = Demo::new(at(0), &config());
    demo.set_watched(at(0), true);
    assert_eq!(demo.deadline(), None);
    fail(&mut demo, 1);
    assert!(!demo.located().exists);
    let millis = demo.deadline().unwrap().as_millis();
    assert_eq!(millis, 10_001);
    demo.handle_tick(at(millis));
    let mut disk = BTreeMap::new();
    assert_eq!(perform(&mut demo, millis, &mut disk), [("write", SECOND.into())]);
    assert_eq!((demo.located().path.as_str(), demo.located().exists), (SECOND, true));
}

#[test]
fn after_a_torn_line_the_story_goes_on_in_the_other_file() {
    let mut demo = Demo::new(at(0), &config());
    let mut disk = BTreeMap::new();
    perform(&mut demo, 0, &mut disk);
    demo.set_watched(at(0), true);
    demo.handle_tick(at(1500));
    fail(&mut demo, 1500);
    assert_eq!(demo.located().path, FIRST);
    let millis = demo.deadline().unwrap().as_millis();
    demo.handle_tick(at(millis));
    assert_eq!(perform(&mut demo, millis, &mut disk), [("write", SECOND.into())]);
    assert_eq!(demo.located().path, SECOND);
}
