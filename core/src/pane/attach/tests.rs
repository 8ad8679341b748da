use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::super::simulated::{at, config};
use super::*;
use crate::config::HerdrMode;
use crate::io::Failure;

const AGENT: &str = r#"{"pane_id":"w1:p1","terminal_id":"t1","agent":"claude"}"#;
const SHELL: &str = r#"{"pane_id":"w1:p1","terminal_id":"t1"}"#;

fn occupant(is_agent: bool) -> Occupant {
    Occupant { terminal_id: Some("t1".into()), is_agent }
}

fn attach_to(pane: &str, takeover: bool) -> Attach {
    Attach::new(at(0), &config().herdr, PaneId::from(pane), takeover, occupant(true))
}

fn acts(attach: &mut Attach) -> Vec<Act> {
    core::iter::from_fn(|| attach.poll_act()).collect()
}

/// What is asked for under a terminal.
fn program(acts: &[Act]) -> (Vec<String>, Vec<(&'static str, String)>, TerminalSize) {
    match acts {
        [.., Act::Ask(Part::Terminal, Tag(0), Op::Pty { argv, environment, size })] => {
            (argv.clone(), environment.clone(), *size)
        }
        other => panic!("{other:?}"),
    }
}

/// A client whose program runs since the beginning.
fn attached() -> Attach {
    let mut attach = attach_to("w1:p1", false);
    acts(&mut attach);
    attach.handle_outcome(at(0), Part::Terminal, Tag(0), Outcome::Started);
    assert_eq!(acts(&mut attach), [Act::Pipe, Act::Hold(false)]);
    attach
}

fn ended(attach: &mut Attach, millis: u64, exit: Option<i32>) {
    attach.handle_outcome(at(millis), Part::Terminal, Tag(0), Outcome::Ran { exit, stdout: b"", stderr: b"" });
}

/// herdr is asked who is in the pane, and answers this.
fn answer(attach: &mut Attach, millis: u64, line: &str) {
    let asked = acts(attach).into_iter().find_map(|act| match act {
        Act::Ask(Part::Look, tag, Op::Call { line, .. }) => Some((tag, line)),
        _ => None,
    });
    let (tag, question) = asked.unwrap();
    let expected: &[u8] = b"{\"id\":\"panewire\",\"method\":\"pane.get\",\"params\":{\"pane_id\":\"w1:p1\"}}\n";
    assert_eq!(question, expected);
    attach.handle_outcome(at(millis), Part::Look, tag, Outcome::Answer(line.as_bytes()));
}

fn found(pane: &str) -> String {
    alloc::format!(r#"{{"id":"panewire","result":{{"type":"pane_info","pane":{pane}}}}}"#)
}

const GONE: &str = r#"{"id":"panewire","error":{"code":"pane_not_found","message":"pane w1:p1 not found"}}"#;

#[test]
fn an_agent_is_attached_by_herdrs_program() {
    let mut attach = attach_to("w1:p1", false);
    let begun = acts(&mut attach);
    assert_eq!(begun[0], Act::Hold(true), "nobody reads what is typed yet");
    let (argv, environment, size) = program(&begun);
    assert_eq!(argv, ["herdr", "agent", "attach", "w1:p1"]);
    assert_eq!(size, TerminalSize { columns: 80, rows: 24 });
    let variables = [
        ("TERM", "xterm-256color".to_string()),
        ("COLORTERM", "truecolor".into()),
        ("HERDR_SOCKET_PATH", "/run/herdr.sock".into()),
    ];
    assert_eq!(environment, variables);
    let (argv, environment, _) = program(&acts(&mut attach_to("work/w1:p1", true)));
    assert_eq!(argv, ["herdr", "--session", "work", "agent", "attach", "w1:p1", "--takeover"]);
    assert_eq!(environment, variables[..2], "a session has a socket of its own");
}

#[test]
fn a_resize_reaches_the_program_once_it_runs() {
    let mut attach = attach_to("w1:p1", false);
    acts(&mut attach);
    attach.handle_message(at(1), Message::Text(r#"{"type":"resize","cols":120,"rows":40}"#));
    assert_eq!(acts(&mut attach), []);
    attach.handle_outcome(at(2), Part::Terminal, Tag(0), Outcome::Started);
    let wide = TerminalSize { columns: 120, rows: 40 };
    assert_eq!(acts(&mut attach), [Act::Resize(wide), Act::Pipe, Act::Hold(false)]);
    for text in [
        r#"{"type":"resize","cols":120,"rows":40}"#,
        r#"{"type":"resize","cols":0,"rows":40}"#,
        r#"{"type":"hello"}"#,
        "}",
    ] {
        attach.handle_message(at(3), Message::Text(text));
        assert_eq!(acts(&mut attach), [], "{text}");
    }
    attach.handle_message(at(4), Message::Text(r#"{"type":"resize","cols":1000,"rows":1}"#));
    assert_eq!(acts(&mut attach), [Act::Resize(TerminalSize { columns: 1000, rows: 1 })]);
}

#[test]
fn a_program_that_cannot_be_started_closes_with_1011_and_the_operator_hears_why() {
    let mut attach = attach_to("w1:p1", false);
    acts(&mut attach);
    let failure = Failure { kind: crate::io::FailureKind::NotFound, text: "no such file" };
    attach.handle_outcome(at(1), Part::Terminal, Tag(0), Outcome::Failed(failure));
    let expected = [
        Act::Log(Level::Warn, "herdr agent attach w1:p1: no such file".into()),
        Act::Drop(Part::Look),
        Act::Drop(Part::Terminal),
        Act::Close(CloseCode::Internal, "attach failed"),
    ];
    assert_eq!(acts(&mut attach), expected);
    assert!(attach.is_closed());
}

#[test]
fn the_end_of_the_program_closes() {
    for (millis, exit, expected) in [
        (1_000, Some(0), Act::Close(CloseCode::Normal, "detached")),
        (1_999, Some(1), Act::Close(CloseCode::Internal, "attach failed")),
        (1_999, None, Act::Close(CloseCode::Internal, "attach failed")),
        (2_000, Some(1), Act::Close(CloseCode::Normal, "detached")),
    ] {
        let mut attach = attached();
        ended(&mut attach, millis, exit);
        answer(&mut attach, millis, &found(AGENT));
        assert_eq!(acts(&mut attach).pop(), Some(expected), "{millis} {exit:?}");
    }
    let mut attach = attached();
    ended(&mut attach, 100, Some(1));
    answer(&mut attach, 100, GONE);
    assert_eq!(acts(&mut attach).pop(), Some(Act::Close(CloseCode::Normal, "pane closed")));
}

#[test]
fn a_pane_that_is_gone_closes_while_its_program_runs() {
    let mut attach = attached();
    assert_eq!(attach.next_deadline(), at(2_000).mono);
    attach.handle_tick(at(2_000));
    answer(&mut attach, 2_001, GONE);
    let expected = [Act::Drop(Part::Look), Act::Drop(Part::Terminal), Act::Close(CloseCode::Normal, "pane closed")];
    assert_eq!(acts(&mut attach), expected);
}

#[test]
fn a_change_is_believed_when_it_is_seen_twice() {
    let mut attach = attached();
    let restarted = AGENT.replace("t1", "t2");
    for (millis, seen) in [(2_000, SHELL), (2_500, AGENT), (4_500, &restarted)] {
        assert_eq!(attach.next_deadline(), at(millis).mono);
        attach.handle_tick(at(millis));
        answer(&mut attach, millis, &found(seen));
        assert_eq!(acts(&mut attach), []);
    }
    attach.handle_tick(at(5_000));
    answer(&mut attach, 5_000, &found(&restarted));
    let changed = acts(&mut attach);
    let mode = Frame::Text(Bytes::from_static(br#"{"type":"mode","agent":true}"#));
    assert_eq!(
        changed[..4],
        [Act::Drop(Part::Look), Act::Drop(Part::Terminal), Act::Send(mode), Act::Hold(true)],
        "told before the first byte of the new one"
    );
    assert_eq!(program(&changed).0, ["herdr", "agent", "attach", "w1:p1"]);
}

#[test]
fn a_herdr_that_fails_ends_nobody() {
    let mut attach = attached();
    for look in 1..=3 {
        attach.handle_tick(at(look * 2_000));
        let error = r#"{"id":"panewire","error":{"code":"server_unavailable","message":"not now"}}"#;
        answer(&mut attach, look * 2_000, error);
        assert_eq!(acts(&mut attach), []);
    }
}

#[test]
fn who_answers_no_ping_is_closed_whatever_it_types() {
    let mut attach = attached();
    attach.next_look = at(u64::from(u32::MAX)).mono;
    for ping in 1..=2 {
        attach.handle_message(at(ping * 20_000 - 1), Message::Text("{}"));
        attach.handle_tick(at(ping * 20_000));
        assert_eq!(acts(&mut attach), [Act::Send(Frame::Ping)]);
    }
    attach.handle_tick(at(60_000));
    assert_eq!(acts(&mut attach).pop(), Some(Act::Close(CloseCode::Normal, "no sign of life for 60 s")));

    let mut attach = attached();
    attach.next_look = at(u64::from(u32::MAX)).mono;
    for step in 1..=10 {
        if step % 2 == 0 {
            attach.handle_message(at(step * 20_000), Message::Pong);
        } else {
            attach.handle_taken(at(step * 20_000));
        }
        attach.handle_tick(at(step * 20_000));
        assert_eq!(acts(&mut attach), [Act::Send(Frame::Ping)]);
    }
}

#[test]
fn a_fault_closes_with_its_own_code() {
    for (fault, code) in [
        (Fault::TooLarge, CloseCode::TooLarge),
        (Fault::NotUtf8, CloseCode::NotUtf8),
        (Fault::Protocol, CloseCode::Protocol),
    ] {
        let mut attach = attached();
        attach.handle_message(at(1), Message::Fault(fault));
        assert!(matches!(acts(&mut attach)[..], [.., Act::Close(with, _)] if with == code));
        attach.handle_message(at(2), Message::Fault(fault));
        attach.handle_tick(at(100_000));
        assert_eq!(acts(&mut attach), []);
    }
}

#[test]
fn by_herdrs_program_alone_it_is_asked_too() {
    let herdr = Herdr { mode: HerdrMode::Cli, ..config().herdr };
    let mut attach = Attach::new(at(0), &herdr, PaneId::from("w1:p1"), false, occupant(true));
    acts(&mut attach);
    attach.handle_tick(at(2_000));
    let asked = acts(&mut attach);
    let [Act::Ask(Part::Look, _, Op::Run { argv, .. })] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(argv, &["herdr", "pane", "get", "w1:p1"]);
}
