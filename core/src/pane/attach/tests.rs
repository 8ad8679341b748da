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
    Attach::new(at(0), &config().herdr, (PaneId::from(pane), takeover), occupant(true), 1_000)
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
        Act::Drop(Part::Read),
        Act::Drop(Part::Write),
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
    let (code, reason) = (CloseCode::Normal, "pane closed");
    let expected: Vec<Act> = Part::ALL.map(Act::Drop).into_iter().chain([Act::Close(code, reason)]).collect();
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
        changed[3..6],
        [Act::Drop(Part::Write), Act::Send(mode), Act::Hold(true)],
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
            attach.handle_taken(at(step * 20_000), 1);
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
    let mut attach = Attach::new(at(0), &herdr, (PaneId::from("w1:p1"), false), occupant(true), 1_000);
    acts(&mut attach);
    attach.handle_tick(at(2_000));
    let asked = acts(&mut attach);
    let [Act::Ask(Part::Look, _, Op::Run { argv, .. })] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(argv, &["herdr", "pane", "get", "w1:p1"]);
}

/// A client of a pane without an agent, of which the first frame was read.
fn plain() -> Attach {
    let mut attach = Attach::new(at(0), &config().herdr, (PaneId::from("w1:p1"), false), occupant(false), 1_000);
    let (tag, line) = asked(&mut attach, Part::Read).unwrap();
    let question = concat!(
        r#"{"id":"panewire","method":"pane.read","params":"#,
        r#"{"format":"ansi","lines":1000,"pane_id":"w1:p1","source":"recent","strip_ansi":false}}"#
    );
    assert_eq!(line, question);
    shows(&mut attach, 0, tag, "old\r\n$");
    assert_eq!(acts(&mut attach), [Act::Send(Frame::Binary(Bytes::from_static(b"old\r\n$")))]);
    attach
}

/// What this part asks herdr's socket now, without its newline.
fn asked(attach: &mut Attach, part: Part) -> Option<(Tag, String)> {
    acts(attach).into_iter().find_map(|act| match act {
        Act::Ask(of, tag, Op::Call { line, .. }) if of == part => {
            Some((tag, String::from_utf8_lossy(line.trim_ascii_end()).into_owned()))
        }
        _ => None,
    })
}

fn shows(attach: &mut Attach, millis: u64, tag: Tag, text: &str) {
    let answer = serde_json::json!({"id": "panewire", "result": {"type": "pane_read", "read": {"text": text}}});
    attach.handle_outcome(at(millis), Part::Read, tag, Outcome::Answer(answer.to_string().as_bytes()));
}

#[test]
fn a_plain_pane_is_painted_anew_when_it_has_changed_one_look_at_a_time() {
    let mut attach = plain();
    assert_eq!(attach.next_deadline(), at(40).mono);
    attach.handle_tick(at(40));
    let (tag, line) = asked(&mut attach, Part::Read).unwrap();
    assert!(line.contains(r#""source":"visible""#) && !line.contains("lines"), "{line}");
    attach.handle_tick(at(90));
    assert_eq!(asked(&mut attach, Part::Read), None, "one is on its way");
    shows(&mut attach, 100, tag, "$");
    assert_eq!((acts(&mut attach), attach.next_deadline()), (Vec::new(), at(180).mono));
    attach.handle_tick(at(180));
    let (tag, _) = asked(&mut attach, Part::Read).unwrap();
    shows(&mut attach, 181, tag, "$ ls\r\nfile");
    let frame = Frame::Binary(Bytes::from_static(b"\x1b[H\x1b[2J$ ls\r\nfile"));
    assert_eq!((acts(&mut attach), attach.next_deadline()), (alloc::vec![Act::Send(frame)], at(221).mono));
}

#[test]
fn what_herdr_tells_of_a_plain_pane_is_painted_soon_together_with_what_comes_meanwhile() {
    let mut attach = plain();
    // It rests, and is looked at less and less.
    for millis in [40, 120, 280, 600, 1_240] {
        attach.handle_tick(at(millis));
        let (tag, _) = asked(&mut attach, Part::Read).unwrap();
        shows(&mut attach, millis, tag, "$");
    }
    assert_eq!(acts(&mut attach), []);
    assert_eq!(attach.next_deadline(), at(2_000).mono, "who is there is looked at before the screen");
    for millis in [1_300, 1_320, 1_339] {
        attach.handle_hint(at(millis), Concern::Screen);
    }
    assert_eq!((acts(&mut attach), attach.next_deadline()), (Vec::new(), at(1_340).mono));
    attach.handle_tick(at(1_340));
    let (tag, _) = asked(&mut attach, Part::Read).unwrap();
    attach.handle_hint(at(1_341), Concern::Screen);
    shows(&mut attach, 1_345, tag, "$ make");
    let frame = Frame::Binary(Bytes::from_static(b"\x1b[H\x1b[2J$ make"));
    assert_eq!((acts(&mut attach), attach.next_deadline()), (alloc::vec![Act::Send(frame)], at(1_385).mono));
}

#[test]
fn what_herdr_tells_of_the_occupant_is_a_look_at_once_and_still_seen_twice() {
    let mut attach = attached();
    attach.handle_hint(at(100), Concern::Screen);
    assert_eq!(attach.next_deadline(), at(2_000).mono, "the program says what is on the screen");
    attach.handle_hint(at(100), Concern::Occupant);
    assert_eq!(attach.next_deadline(), at(100).mono);
    attach.handle_tick(at(100));
    answer(&mut attach, 101, &found(SHELL));
    assert_eq!((acts(&mut attach), attach.next_deadline()), (Vec::new(), at(601).mono));
    attach.handle_hint(at(110), Concern::Occupant);
    attach.handle_tick(at(110));
    answer(&mut attach, 111, GONE);
    assert_eq!(acts(&mut attach).pop(), Some(Act::Close(CloseCode::Normal, "pane closed")));
}

#[test]
fn a_client_that_takes_nothing_is_not_painted_for_and_closed() {
    let mut attach = plain();
    attach.handle_tick(at(40));
    let (tag, _) = asked(&mut attach, Part::Read).unwrap();
    shows(&mut attach, 41, tag, &"x".repeat(2_000));
    assert_eq!(acts(&mut attach).len(), 1);
    attach.handle_tick(at(1_500));
    assert_eq!(asked(&mut attach, Part::Read), None);
    assert_eq!(attach.next_deadline(), at(2_000).mono, "only who is there is looked at");
    attach.handle_taken(at(1_600), 1_500);
    attach.handle_tick(at(1_600));
    assert!(asked(&mut attach, Part::Read).is_some());
    attach.handle_tick(at(31_600));
    assert_eq!(acts(&mut attach).pop(), Some(Act::Close(CloseCode::Normal, "took nothing for 30 s")));
}

#[test]
fn what_is_typed_into_a_plain_pane_goes_out_in_order_one_write_at_a_time() {
    let mut attach = plain();
    attach.handle_message(at(10), Message::Binary(b"ls\r"));
    let done: &[u8] = br#"{"id":"panewire","result":{"type":"ok"}}"#;
    let (tag, line) = asked(&mut attach, Part::Write).unwrap();
    assert_eq!(line, r#"{"id":"panewire","method":"pane.send_text","params":{"pane_id":"w1:p1","text":"ls"}}"#);
    attach.handle_message(at(11), Message::Binary(b"\x1b[A"));
    assert_eq!(asked(&mut attach, Part::Write), None, "the first is on its way");
    attach.handle_outcome(at(12), Part::Write, tag, Outcome::Answer(done));
    let (tag, line) = asked(&mut attach, Part::Write).unwrap();
    let keys = r#"{"id":"panewire","method":"pane.send_keys","params":{"keys":["Enter","Up"],"pane_id":"w1:p1"}}"#;
    assert_eq!(line, keys);
    attach.handle_outcome(at(13), Part::Write, tag, Outcome::Answer(done));
    assert_eq!(acts(&mut attach), []);
    // A key that herdr does not know is none, and those behind it are typed.
    attach.handle_message(at(14), Message::Binary(b"\x1b[24~x"));
    let (tag, _) = asked(&mut attach, Part::Write).unwrap();
    let refused: &[u8] = br#"{"id":"panewire","error":{"code":"invalid_key","message":"unsupported key F12"}}"#;
    attach.handle_outcome(at(15), Part::Write, tag, Outcome::Answer(refused));
    let (_, line) = asked(&mut attach, Part::Write).unwrap();
    assert!(line.contains(r#""text":"x""#), "{line}");
}

#[test]
fn who_types_more_than_herdr_takes_is_held() {
    let mut attach = plain();
    attach.handle_message(at(10), Message::Binary(&[b'x'; PIPE_INPUT_BYTES]));
    assert!(asked(&mut attach, Part::Write).is_some());
    attach.handle_message(at(10), Message::Binary(&[b'\r'; PIPE_INPUT_BYTES]));
    assert_eq!(acts(&mut attach), [Act::Hold(true)]);
    let done: &[u8] = br#"{"id":"panewire","result":{"type":"ok"}}"#;
    let mut writes = 0;
    while !acts(&mut attach).contains(&Act::Hold(false)) {
        // Each question is a machine of its own, and its first tag the first.
        attach.handle_outcome(at(11), Part::Write, Tag(1), Outcome::Answer(done));
        writes += 1;
    }
    // Four texts; the keys that were looked for behind them made room.
    assert_eq!(writes, 4);
}

#[test]
fn a_pane_whose_agent_ends_goes_on_as_a_plain_one_and_back() {
    let mut attach = attached();
    ended(&mut attach, 5_000, Some(0));
    answer(&mut attach, 5_001, &found(SHELL));
    let changed = acts(&mut attach);
    let mode = Act::Send(Frame::Text(Bytes::from_static(br#"{"type":"mode","agent":false}"#)));
    let reads = |act: &Act| matches!(act, Act::Ask(Part::Read, ..));
    let order: Vec<usize> =
        [changed.iter().position(|act| *act == mode), changed.iter().position(reads)].into_iter().flatten().collect();
    assert!(matches!(order[..], [first, second] if first < second), "{changed:?}");
    assert!(changed.contains(&Act::Hold(false)));
}
