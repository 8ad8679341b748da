use alloc::format;
use alloc::vec::Vec;

use super::{Census, Found};
use crate::config::{Config, Demo, HerdrMode};
use crate::pane::simulated::{World, at, config, conversation};

const AGENTS: &[u8] = include_bytes!("../../../tests/data/herdr/socket-agent-list.json");
const ROOT: &str = "/home/u/.claude/projects";

fn census(world: &mut World, config: &Config) -> Found {
    let mut machine = Census::new(at(0), config);
    world.drive(at(0), &mut machine);
    machine.take_result().expect("a result when nothing is asked any more")
}

fn panes(found: &Found) -> Vec<&str> {
    found.listed.iter().map(|listed| listed.pane.as_str()).collect()
}

fn world() -> World {
    let mut world = World::new();
    let path = [ROOT, "/-home-u-project/7d2c19f0-5a1e-4c3b-9f54-2f1b0c6d8e21.jsonl"].concat();
    world.put(&path, &conversation("/home/u/project", "make it blue"), 5);
    world.put(&[ROOT, "/-w/later.jsonl"].concat(), &conversation("/w", "and green"), 6);
    world
}

#[test]
fn herdrs_panes_come_first_and_know_their_files() {
    let mut world = world();
    world.answers.push_back(AGENTS.to_vec());
    let found = census(&mut world, &config());
    let expected =
        ["w1:p1", "w1:p2", "w1:p3", "w1:p4", "w1:p5", "claude:later", "claude:7d2c19f0-5a1e-4c3b-9f54-2f1b0c6d8e21"];
    assert_eq!(panes(&found), expected);
    let first = &found.listed[0];
    assert_eq!(
        first.path.as_deref(),
        Some("/home/u/.claude/projects/-home-u-project/7d2c19f0-5a1e-4c3b-9f54-2f1b0c6d8e21.jsonl")
    );
    assert_eq!(first.modified_ms, Some(5));
    assert_eq!((first.title.as_deref(), first.status.as_deref()), (Some("Bash"), Some("blocked")));
    assert_eq!(found.listed[3].session, None);
    let later = &found.listed[5];
    assert_eq!((later.title.as_deref(), later.cwd.as_deref()), (Some("and green"), Some("/w")));
    assert_eq!((found.demo, found.notes.len()), (false, 0));
}

#[test]
fn a_failing_herdr_is_only_noted() {
    let mut world = world();
    world.answers.push_back(br#"{"error":{"code":"timeout","message":"too slow"}}"#.to_vec());
    let found = census(&mut world, &config());
    assert_eq!(panes(&found), ["claude:later", "claude:7d2c19f0-5a1e-4c3b-9f54-2f1b0c6d8e21"]);
    assert_eq!(found.notes, ["herdr agent list: too slow"]);
}

#[test]
fn unreadable_projects_are_only_noted() {
    let mut world = world();
    world.deny(ROOT);
    world.answers.push_back(AGENTS.to_vec());
    let found = census(&mut world, &config());
    assert_eq!(panes(&found).len(), 5);
    assert_eq!(found.notes, [format!("cannot look at {ROOT}: no luck")]);
}

#[test]
fn with_nothing_to_follow_there_is_the_demo() {
    let found = census(&mut World::new(), &config());
    assert_eq!((panes(&found), found.demo), (["demo"].into(), true));
    assert!(found.notes.is_empty());
}

#[test]
fn agents_that_nothing_can_be_read_of_do_not_hide_the_demo() {
    let mut world = World::new();
    world.answers.push_back(br#"{"result":{"agents":[{"pane_id":"w1:p2","agent":"aider"}]}}"#.to_vec());
    assert_eq!(panes(&census(&mut world, &config())), ["w1:p2", "demo"]);
}

#[test]
fn a_forced_demo_comes_last() {
    let mut config = config();
    config.demo = Demo::Always;
    config.herdr.mode = HerdrMode::Off;
    let found = census(&mut world(), &config);
    assert_eq!(panes(&found), ["claude:later", "claude:7d2c19f0-5a1e-4c3b-9f54-2f1b0c6d8e21", "demo"]);
}
