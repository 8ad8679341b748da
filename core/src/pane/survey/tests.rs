use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde_json::json;

use super::{Failed, Memory, Survey, Surveyed};
use crate::ids::PaneId;
use crate::io::Op;
use crate::pane::herdr::HerdrSession;
use crate::pane::simulated::{SESSIONS, World, at, config, conversation};

const SNAPSHOT: &[u8] = include_bytes!("../../../tests/data/herdr/socket-snapshot.json");
const TRANSCRIPT: &str = "/home/u/.claude/projects/-home-u-project/7d2c19f0-5a1e-4c3b-9f54-2f1b0c6d8e21.jsonl";

fn survey(world: &mut World, millis: u64, memory: Memory) -> (Result<Surveyed, Failed>, Memory) {
    let mut machine = Survey::new(at(millis), &config(), memory);
    world.drive(at(millis), &mut machine);
    machine.take_result().expect("a result when nothing is asked any more")
}

fn world() -> World {
    let mut world = World::new();
    world.put(TRANSCRIPT, &conversation("/home/u/project", "make it blue"), 5);
    world.put("/home/u/project/.git/HEAD", "ref: refs/heads/blue\n", 1);
    world
}

fn touched(world: &mut World) -> Vec<String> {
    let path = |op| match op {
        Op::Open { path, .. } | Op::Stat { path } | Op::List { path, .. } => Some(path),
        _ => None,
    };
    core::mem::take(&mut world.log).into_iter().filter_map(path).collect()
}

#[test]
fn agents_are_known_by_their_directory_and_their_conversation() {
    let mut world = world();
    world.answers.push_back(SNAPSHOT.to_vec());
    let (surveyed, _) = survey(&mut world, 0, Memory::default());
    let surveyed = surveyed.unwrap();
    assert_eq!(surveyed.servers[0].1["focused_pane_id"], "w1:p1");
    let facts = |pane: &str| {
        let facts = &surveyed.agents[&PaneId::from(pane)];
        (facts.branch.as_str(), facts.last_activity_ts)
    };
    assert_eq!(facts("w1:p1"), ("blue", Some(1_788_602_400_000)));
    assert_eq!(facts("w1:p2"), ("blue", None));
    assert_eq!(surveyed.agents.len(), 5);
    assert!(surveyed.failed.is_empty());
}

#[test]
fn what_did_not_change_costs_a_stat() {
    let mut world = world();
    world.answers.push_back(SNAPSHOT.to_vec());
    let (_, memory) = survey(&mut world, 0, Memory::default());
    touched(&mut world);
    world.answers.push_back(SNAPSHOT.to_vec());
    let (surveyed, memory) = survey(&mut world, 4_000, memory);
    assert_eq!(touched(&mut world), [SESSIONS, TRANSCRIPT]);
    assert_eq!(surveyed.unwrap().agents[&PaneId::from("w1:p1")].branch, "blue");
    // A branch is believed for 5 s, and a conversation that is not there is looked for again after 10.
    world.put("/home/u/project/.git/HEAD", "ref: refs/heads/red\n", 2);
    world.answers.push_back(SNAPSHOT.to_vec());
    let (surveyed, memory) = survey(&mut world, 5_000, memory);
    assert_eq!(touched(&mut world), [SESSIONS, "/home/u/project/.git/HEAD", TRANSCRIPT]);
    assert_eq!(surveyed.unwrap().agents[&PaneId::from("w1:p1")].branch, "red");
    world.answers.push_back(SNAPSHOT.to_vec());
    survey(&mut world, 10_000, memory).0.unwrap();
    assert!(touched(&mut world).iter().any(|path| path.starts_with("/home/u/.codex/")));
}

#[test]
fn a_session_that_fails_is_left_out_unless_all_do() {
    let slow = br#"{"error":{"code":"timeout","message":"too slow"}}"#;
    let mut world = world();
    world.put(&format!("{SESSIONS}/work/herdr.sock"), "", 1);
    world.answers.push_back(slow.to_vec());
    world.answers.push_back(SNAPSHOT.to_vec());
    let surveyed = survey(&mut world, 0, Memory::default()).0.unwrap();
    // The world answers the default server first.
    assert_eq!(surveyed.failed, [(HerdrSession::DEFAULT, "herdr api snapshot: too slow".into())]);
    assert_eq!(surveyed.servers[0].0, HerdrSession::named("work"));
    assert_eq!(surveyed.agents[&PaneId::from("work/w1:p1")].branch, "blue");
    world.answers.extend([slow.to_vec(), slow.to_vec()]);
    let both = ["herdr api snapshot: too slow", "herdr --session work api snapshot: too slow"];
    let failed = survey(&mut world, 0, Memory::default()).0.unwrap_err();
    assert_eq!(failed.into_iter().map(|(_, why)| why).collect::<Vec<_>>(), both);
}

#[test]
fn of_rows_with_one_pane_the_first_counts_and_of_very_many_the_first_are_looked_at() {
    let mut world = world();
    let row = |pane: &str, cwd: &str| json!({"pane_id": pane, "agent": "claude", "agent_status": "idle", "cwd": cwd});
    let mut rows =
        alloc::vec![json!(7), row("w1:p1", "/home/u/project"), row("w1:p1", "/nowhere"), json!({"agent": "pi"})];
    rows.extend((0..3_000).map(|n| row(&format!("w2:p{n}"), "/home/u/project")));
    world.answers.push_back(json!({"result": {"snapshot": {"agents": rows}}}).to_string().into_bytes());
    let (surveyed, _) = survey(&mut world, 0, Memory::default());
    let agents = surveyed.unwrap().agents;
    assert_eq!(agents.len(), 2_048);
    let first = &agents[&PaneId::from("w1:p1")];
    assert_eq!(
        (first.branch.as_str(), first.agent.as_ref().unwrap().cwd.as_deref()),
        ("blue", Some("/home/u/project"))
    );
    assert!(agents.contains_key(&PaneId::from("w2:p2046")) && !agents.contains_key(&PaneId::from("w2:p2047")));
}

#[test]
fn without_herdr_the_sessions_on_disk_have_its_shape() {
    let mut world = world();
    let surveyed = survey(&mut world, 0, Memory::default()).0.unwrap();
    assert!(surveyed.servers.is_empty());
    let row = json!({
        "pane_id": "claude:7d2c19f0-5a1e-4c3b-9f54-2f1b0c6d8e21", "agent": "claude", "agent_status": "unknown",
        "state_change_seq": 0, "cwd": "/home/u/project", "terminal_title_stripped": "make it blue",
        "agent_session": {
            "agent": "claude", "kind": "id", "source": "panewire", "value": "7d2c19f0-5a1e-4c3b-9f54-2f1b0c6d8e21",
        },
    });
    assert_eq!(surveyed.standalone["agents"], json!([row]));
    assert_eq!(surveyed.standalone["panes"], json!([row]));
    assert_eq!(surveyed.standalone["tabs"], json!([]));
    let facts = surveyed.agents.values().next().unwrap();
    assert_eq!((facts.branch.as_str(), facts.last_activity_ts), ("blue", Some(5)));
}
