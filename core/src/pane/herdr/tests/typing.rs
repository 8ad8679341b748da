//! What is typed: in whose words, and what is known afterwards.

use alloc::string::ToString;

use super::*;

const UNKNOWN_PANE: &[u8] = captured!("cli-pane-not-found.json");
const INVALID_KEY: &[u8] = captured!("cli-invalid-key.json");
const OK: Outcome<'static> = Outcome::Answer(br#"{"id":"panewire","result":{"type":"ok"}}"#);

fn text(text: &str) -> Question {
    Question::Type(PaneId::from("w1:p1"), text.into())
}

fn keys(keys: &[&str]) -> Question {
    Question::Press(PaneId::from("w1:p1"), keys.iter().map(ToString::to_string).collect())
}

fn unknown(text: &str) -> Option<Result> {
    Some(Err(HerdrError::Unknown(text.to_string())))
}

#[test]
fn the_socket_gets_the_whole_budget_and_its_own_words() {
    for (question, line) in [
        (
            text("a\n\"b\""),
            r#"{"id":"panewire","method":"pane.send_text","params":{"pane_id":"w1:p1","text":"a\n\"b\""}}"#,
        ),
        (
            keys(&["Down", "Enter"]),
            r#"{"id":"panewire","method":"pane.send_keys","params":{"keys":["Down","Enter"],"pane_id":"w1:p1"}}"#,
        ),
    ] {
        let (ops, result) = ask(&herdr(HerdrMode::Auto), question, &[(1, OK)]);
        let [Op::Call { line: asked, within, .. }] = &ops[..] else { panic!("{ops:?}") };
        assert_eq!(core::str::from_utf8(asked).unwrap().trim_end(), line);
        assert_eq!(*within, Duration::from_secs(4));
        assert_eq!(result, Some(Ok(Reply::Done)));
    }
}

#[test]
fn the_command_line_says_nothing_when_all_is_well() {
    for (question, words) in [
        (text("-x 'y'"), vec!["herdr", "pane", "send-text", "w1:p1", "-x 'y'"]),
        (keys(&["Down", "Enter"]), vec!["herdr", "pane", "send-keys", "w1:p1", "Down", "Enter"]),
    ] {
        let (ops, result) = ask(&herdr(HerdrMode::Cli), question, &[(1, ran(0, b"", b""))]);
        assert!(matches!(&ops[..], [Op::Run { argv, .. }] if *argv == words), "{ops:?}");
        assert_eq!(result, Some(Ok(Reply::Done)));
    }
}

#[test]
fn the_other_way_is_tried_only_where_nothing_was_sent() {
    let unspoken = br#"{"id":"","error":{"code":"invalid_request","message":"unknown variant"}}"#;
    for socket in [
        failed(FailureKind::NotFound),
        failed(FailureKind::Denied),
        failed(FailureKind::Unreachable),
        Outcome::Answer(unspoken),
    ] {
        let (ops, result) = ask(&herdr(HerdrMode::Auto), keys(&["Enter"]), &[(1, socket), (2, ran(0, b"", b""))]);
        assert_eq!((ops.len(), result), (2, Some(Ok(Reply::Done))), "{socket:?}");
    }
    let timeout = br#"{"id":"panewire","error":{"code":"timeout","message":"the pane is busy"}}"#;
    for (socket, why) in [
        (failed(FailureKind::Lost), "the system's words"),
        (failed(FailureKind::TooLarge), "the system's words"),
        (failed(FailureKind::TimedOut), "timed out after 4s"),
        (Outcome::Answer(b"{\"id\":"), "unexpected answer"),
        (Outcome::Answer(b"{\"id\":\"panewire\"}"), "unexpected answer"),
        (Outcome::Answer(timeout), "the pane is busy"),
    ] {
        let (ops, result) = ask(&herdr(HerdrMode::Auto), keys(&["Enter"]), &[(1, socket), (2, ran(0, b"", b""))]);
        let text = format!("herdr pane send-keys w1:p1 Enter: {why}");
        assert_eq!((ops.len(), result), (1, unknown(&text)), "{socket:?}");
    }
}

#[test]
fn a_command_line_that_names_its_error_has_typed_nothing() {
    let run = |outcome| ask(&herdr(HerdrMode::Cli), keys(&["Enter"]), &[(1, outcome)]).1;
    assert_eq!(run(ran(1, b"", UNKNOWN_PANE)), Some(Err(HerdrError::NoSuchAgent)));
    let words = core::str::from_utf8(INVALID_KEY).unwrap().trim_end();
    assert_eq!(run(ran(1, b"", INVALID_KEY)), Some(failure(&format!("herdr pane send-keys w1:p1 Enter: {words}"))));
    let Some(Err(HerdrError::Failed(_))) = run(ran(1, b"", MISMATCH)) else { panic!() };
    let usage = failure("herdr pane send-keys w1:p1 Enter: usage: …");
    assert_eq!(run(ran(2, b"", "usage: …\n".as_bytes())), Some(usage));
    let refused = br#"{"error":{"code":"invalid_key","message":"no such key"}}"#;
    assert_eq!(run(ran(0, refused, b"")), Some(failure("herdr pane send-keys w1:p1 Enter: no such key")));
    for (outcome, why) in [
        (
            ran(1, b"", b"Error: Custom { kind: Other, error: EmptyResponse }"),
            "Error: Custom { kind: Other, error: EmptyResponse }",
        ),
        (ran(1, b"", b""), "exit status 1"),
        (Outcome::Ran { exit: None, stdout: b"", stderr: b"" }, "ended by a signal"),
        (failed(FailureKind::TimedOut), "timed out after 4s"),
    ] {
        assert_eq!(run(outcome), unknown(&format!("herdr pane send-keys w1:p1 Enter: {why}")));
    }
    let absent = [(1, failed(FailureKind::NotFound)), (2, failed(FailureKind::NotFound))];
    assert_eq!(ask(&herdr(HerdrMode::Auto), keys(&["Enter"]), &absent).1, Some(Err(HerdrError::Absent)));
}

#[test]
fn what_was_typed_is_not_repeated_in_a_complaint() {
    let (_, result) = ask(&herdr(HerdrMode::Socket), text("my secret"), &[(1, failed(FailureKind::TimedOut))]);
    assert_eq!(result, unknown("herdr pane send-text w1:p1 …: timed out after 4s"));
    let (_, result) = ask(
        &herdr(HerdrMode::Socket),
        Question::Type(PaneId::from("garden/w1:p1"), "my secret".into()),
        &[(1, failed(FailureKind::TimedOut))],
    );
    assert_eq!(result, unknown("herdr --session garden pane send-text w1:p1 …: timed out after 4s"));
}

#[test]
fn what_comes_too_late_is_not_typed() {
    let mut late = HerdrAsk::until(at(4000), at(4000).mono, &herdr(HerdrMode::Auto), keys(&["Enter"]));
    assert!(late.poll_op().is_none());
    assert_eq!(late.take_result(), Some(failure("herdr pane send-keys w1:p1 Enter: timed out after 4s")));
}

#[test]
fn a_key_that_is_a_character_is_not_repeated() {
    let said = |question| {
        let (_, result) = ask(&herdr(HerdrMode::Cli), question, &[(1, ran(0, INVALID_KEY, b""))]);
        let Some(Err(HerdrError::Failed(text))) = result else { panic!("{result:?}") };
        text.split_once(": ").unwrap().0.to_string()
    };
    assert_eq!(said(keys(&["Down", "Enter"])), "herdr pane send-keys w1:p1 Down Enter");
    assert_eq!(said(keys(&["p"])), "herdr pane send-keys w1:p1 …");
    assert_eq!(said(keys(&["Down", "é"])), "herdr pane send-keys w1:p1 … …");
}
