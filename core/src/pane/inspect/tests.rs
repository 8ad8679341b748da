use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use super::super::simulated::{SESSIONS, SOCKET, World, at, calls};
use super::{HerdrError, Inspect, Inspection, ScreenSource};
use crate::config::{Herdr, HerdrMode};
use crate::ids::PaneId;
use crate::io::{Failure, FailureKind, Op, Outcome};
use crate::machine::Machine as _;

fn herdr(mode: HerdrMode) -> Herdr {
    Herdr { mode, socket: Some(SOCKET.into()), sessions_dir: Some(SESSIONS.into()), program: "herdr".into() }
}

fn agent(kind: &str, status: &str) -> Vec<u8> {
    alloc::format!(
        r#"{{"id":"p","result":{{"agent":{{"pane_id":"w1:p1","agent":"{kind}","agent_status":"{status}"}}}}}}"#
    )
    .into()
}

fn screen(text: &str) -> Vec<u8> {
    let read =
        serde_json::json!({"id": "p", "result": {"type": "pane_read", "read": {"pane_id": "w1:p1", "text": text}}});
    read.to_string().into()
}

fn refused(code: &str, message: &str) -> Vec<u8> {
    alloc::format!(r#"{{"id":"p","error":{{"code":"{code}","message":"{message}"}}}}"#).into()
}

/// What comes of these answers of the socket, and the lines that were asked.
fn inspected(answers: &[Vec<u8>]) -> (Result<Inspection, HerdrError>, Vec<String>) {
    let mut world = World::new();
    world.answers = answers.to_vec().into();
    let mut inspect = Inspect::new(at(0), &herdr(HerdrMode::Socket), PaneId::from("w1:p1"));
    world.drive(at(1), &mut inspect);
    let asked = calls(&world.log).iter().map(|line| String::from_utf8(line.to_vec()).unwrap()).collect();
    (inspect.take_result().expect("a result"), asked)
}

fn read_line(source: &str, format: &str, strip: bool) -> String {
    alloc::format!(
        "{{\"id\":\"panewire\",\"method\":\"agent.read\",\"params\":{{\"format\":\"{format}\",\"source\":\"{source}\",\
         \"strip_ansi\":{strip},\"target\":\"w1:p1\"}}}}\n"
    )
}

#[test]
fn one_question_for_the_agent_and_one_for_the_screen() {
    let (found, asked) = inspected(&[agent("claude", "blocked"), screen("❯ 1. Yes")]);
    let found = found.unwrap();
    assert_eq!((found.agent.status.as_str(), found.screen.as_deref(), found.note), ("blocked", Some("❯ 1. Yes"), None));
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1], read_line("detection", "text", true));
}

#[test]
fn colours_are_asked_for_only_where_they_decide() {
    for (kind, status, line) in [
        ("opencode", "blocked", read_line("visible", "ansi", false)),
        ("opencode", "working", read_line("detection", "text", true)),
        ("codex", "blocked", read_line("detection", "text", true)),
    ] {
        assert_eq!(inspected(&[agent(kind, status), screen("")]).1[1], line, "{kind} {status}");
    }
}

#[test]
fn a_source_that_is_refused_is_replaced_once() {
    let no = || refused("agent_not_idle", "the agent works");
    let (found, asked) = inspected(&[agent("claude", "working"), no(), screen("Soon.")]);
    let found = found.unwrap();
    assert_eq!((found.screen.as_deref(), found.source), (Some("Soon."), ScreenSource::Visible));
    assert_eq!(asked[2], read_line("visible", "text", true));
    let (found, asked) = inspected(&[agent("claude", "working"), no(), no(), screen("never")]);
    let found = found.unwrap();
    assert_eq!((found.screen, asked.len()), (None, 3));
    let note = "herdr agent read w1:p1 --source visible --format text: the agent works";
    assert_eq!(found.note.as_deref(), Some(note));
}

#[test]
fn without_an_agent_there_is_nothing_to_see() {
    let (found, asked) = inspected(&[refused("agent_not_found", "w1:p1")]);
    assert_eq!((found, asked.len()), (Err(HerdrError::NoSuchAgent), 1));
    let (found, _) = inspected(&[refused("server_unavailable", "shutting down")]);
    let error = found.unwrap_err();
    assert_eq!(error, HerdrError::Failed("herdr agent get w1:p1: shutting down".into()));
    // The agent was there a moment ago.
    let (found, _) = inspected(&[agent("claude", "idle"), refused("agent_not_found", "w1:p1")]);
    assert_eq!(found.unwrap().screen, None);
}

#[test]
fn the_command_line_is_asked_in_the_same_words_and_both_share_one_budget() {
    let mut inspect = Inspect::new(at(0), &herdr(HerdrMode::Cli), PaneId::from("w1:p1"));
    let (tag, op) = inspect.poll_op().unwrap();
    assert!(matches!(op, Op::Run { within, .. } if within.as_secs() == 4));
    let stdout = agent("pi", "idle");
    inspect.handle_outcome(at(3_000), tag, Outcome::Ran { exit: Some(0), stdout: &stdout, stderr: b"" });
    let (tag, op) = inspect.poll_op().unwrap();
    let Op::Run { argv, within, .. } = op else { panic!("{op:?}") };
    let words = ["herdr", "agent", "read", "w1:p1", "--source", "detection", "--format", "text"];
    assert_eq!((argv, within.as_secs()), (words.map(|word| word.to_string()).to_vec(), 1));
    let failure = Failure { kind: FailureKind::TimedOut, text: "late" };
    inspect.handle_outcome(at(4_000), tag, Outcome::Failed(failure));
    let found = inspect.take_result().unwrap().unwrap();
    let note = "herdr agent read w1:p1 --source detection --format text: timed out after 4s";
    assert_eq!((found.screen, found.note.as_deref(), inspect.poll_op()), (None, Some(note), None));
}

#[test]
fn what_the_command_line_prints_is_the_screen_as_it_is() {
    for (exit, stdout, expected) in [
        (0, "{\"a\":1}\n", Some("{\"a\":1}\n")),
        (0, "", Some("")),
        (1, "half", None),
        (0, r#"{"error":{"code":"agent_not_found","message":"gone"}}"#, None),
    ] {
        let mut inspect = Inspect::new(at(0), &herdr(HerdrMode::Cli), PaneId::from("w1:p1"));
        let (tag, _) = inspect.poll_op().unwrap();
        let agent = agent("pi", "idle");
        inspect.handle_outcome(at(0), tag, Outcome::Ran { exit: Some(0), stdout: &agent, stderr: b"" });
        let mut answers = vec![(exit, stdout); 2].into_iter();
        while let Some((tag, _)) = inspect.poll_op() {
            let (exit, stdout) = answers.next().unwrap();
            inspect.handle_outcome(
                at(0),
                tag,
                Outcome::Ran { exit: Some(exit), stdout: stdout.as_bytes(), stderr: b"" },
            );
        }
        assert_eq!(inspect.take_result().unwrap().unwrap().screen.as_deref(), expected, "{stdout}");
    }
}
