//! `POST /send`, `/approve` and `/agent-mode/cycle` over real sockets, by herdr's socket and by its program.

use std::time::{Duration, Instant};

use panewire_conformance::herdr::{Desk, Mode, Pane, Reaction, Typed};
use panewire_conformance::sim::scene::{CWD, PANE};
use panewire_conformance::sim::screen::{chips, prompt, yes_or_no};

use super::machine::{Daemon, Machine};

const CHIPS: &str = "w1:p2";

const LABELS: [&str; 2] = ["Allow once", "Reject"];

/// Claude Code asks in one pane, OpenCode in another.
fn desk() -> Desk {
    let pane =
        |pane_id, kind: &str| Pane { agent_status: "blocked".into(), ..Pane::claude(pane_id, CWD).of_kind(kind) };
    let reaction = |pane_id: &str, to: &str, screen: String, status: &str| Reaction {
        pane_id: pane_id.into(),
        to: to.into(),
        screen: Some(screen),
        status: Some(status.into()),
    };
    Desk {
        panes: vec![pane(PANE, "claude"), pane(CHIPS, "opencode")],
        screens: [(PANE.into(), yes_or_no("water --all")), (CHIPS.into(), chips(&LABELS, "Allow once"))].into(),
        reactions: vec![
            reaction(PANE, "2", prompt("⏵⏵ auto mode on"), "idle"),
            reaction(PANE, "\u{1b}[Z", prompt("⏸ plan mode on"), "idle"),
            reaction(CHIPS, "\u{1b}[C", chips(&LABELS, "Reject"), "blocked"),
        ],
        ..Desk::default()
    }
}

fn typed(machine: &Machine) -> Vec<Typed> {
    let mut typed = Vec::new();
    machine.desk.change(|desk| typed = core::mem::take(&mut desk.typed)).unwrap();
    typed
}

fn send(daemon: &Daemon, pane: &str, text: &str) -> (u16, String) {
    daemon.post("/send", &serde_json::json!({"pane": pane, "text": text}).to_string())
}

fn said(status: u16, text: &str) -> (u16, String) {
    (status, format!("{text}\n"))
}

/// The same story, whichever way herdr is asked.
fn tell(machine: &Machine, daemon: &Daemon) {
    let body = format!(r#"{{"agent":"{PANE}","seq":8}}"#);
    assert_eq!(daemon.post("/approve", &body), said(200, r#"{"ok":true,"applied":true}"#));
    let again = r#"{"ok":true,"applied":false,"reason":"already approved: seq 8"}"#;
    assert_eq!(daemon.post("/approve", &body), said(200, again));
    assert_eq!(send(daemon, PANE, "2\n"), said(200, r#"{"ok":true}"#));
    let gone = r#"{"ok":true,"applied":false,"reason":"agent is idle, not blocked"}"#;
    assert_eq!(daemon.post("/approve", &body), said(200, gone));
    assert_eq!(send(daemon, PANE, "and the lawn\n"), said(200, r#"{"ok":true}"#));
    let cycled = r#"{"ok":true,"cycled":true,"permission_mode":"plan"}"#;
    assert_eq!(daemon.post("/agent-mode/cycle", &format!(r#"{{"pane":"{PANE}"}}"#)), said(200, cycled));
    assert_eq!(send(daemon, CHIPS, "Reject\n"), said(200, r#"{"ok":true}"#));
    let expected = [
        (PANE, "\r"),
        (PANE, "2"),
        (PANE, "and the lawn"),
        (PANE, "\r"),
        (PANE, "\u{1b}[Z"),
        (CHIPS, "\u{1b}[C"),
        (CHIPS, "\r"),
    ];
    assert_eq!(typed(machine), expected.map(|(pane, bytes)| Typed::new(pane, bytes)));
}

#[test]
fn agents_are_answered_by_herdrs_socket() {
    let machine = Machine::new(&desk());
    tell(&machine, &machine.start(&[]));
}

#[test]
fn agents_are_answered_by_herdrs_program() {
    let machine = Machine::without_herdr_socket(&desk());
    tell(&machine, &machine.start(&[]));
}

#[test]
fn a_server_that_was_started_again_has_approved_nothing() {
    let machine = Machine::new(&desk());
    let daemon = machine.start(&[]);
    let body = format!(r#"{{"agent":"{PANE}","seq":8}}"#);
    let applied = said(200, r#"{"ok":true,"applied":true}"#);
    assert_eq!(daemon.post("/approve", &body), applied);
    machine.desk.change(|desk| desk.panes[0].terminal_id.push('a')).unwrap();
    assert_eq!(daemon.post("/approve", &body), applied);
    assert_eq!(typed(&machine), [Typed::new(PANE, "\r"), Typed::new(PANE, "\r")]);
}

#[test]
fn a_slow_herdr_is_waited_for() {
    let machine = Machine::new(&Desk { takes_ms: 250, ..desk() });
    for by in ["socket", "cli"] {
        let daemon = machine.start(&["--herdr", by]);
        let begun = Instant::now();
        let sent = daemon.post("/send", &format!(r#"{{"pane":"{PANE}","key":"esc"}}"#));
        assert_eq!(sent, said(200, r#"{"ok":true}"#), "by {by}");
        assert!(begun.elapsed() >= Duration::from_millis(250));
        assert_eq!(typed(&machine), [Typed::new(PANE, "\u{1b}")], "by {by}");
    }
}

#[test]
fn a_herdr_that_says_nothing_is_502_and_nothing_is_typed_twice() {
    let machine = Machine::new(&Desk { socket: Mode::Silent, ..desk() });
    let daemon = machine.start(&[]);
    let unknown = "herdr pane send-keys w1:p1 Escape: timed out after 4s; whether it was typed is not known: \
                   look at the pane before you try again";
    assert_eq!(daemon.post("/send", &format!(r#"{{"pane":"{PANE}","key":"esc"}}"#)), said(502, unknown));
    assert_eq!(typed(&machine), [Typed::new(PANE, "\u{1b}")]);
    machine.desk.change(|desk| (desk.socket, desk.cli) = (Mode::Wedged, Mode::Wedged)).unwrap();
    let wedged = "herdr agent get w1:p1: timed out after 4s";
    assert_eq!(daemon.post("/approve", &format!(r#"{{"agent":"{PANE}","seq":8}}"#)), said(502, wedged));
    assert_eq!(typed(&machine), []);
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let machine = Machine::new(&desk());
    let daemon = machine.start(&[]);
    let no_terminal = "nothing can be typed into this pane: only panes of herdr have a terminal";
    let no_mode = "mode switching not supported for this agent kind: opencode";
    for (target, body, status, text) in [
        ("/send", "{}", 400, "want {pane,text}"),
        ("/approve", r#"{"agent":"w1:p1"}"#, 400, "want {agent,seq}"),
        ("/agent-mode/cycle", "", 400, "want {pane}"),
        ("/send", r#"{"pane":"w9:p9","text":"x"}"#, 404, "no such pane"),
        ("/approve", r#"{"agent":"w9:p9","seq":1}"#, 200, r#"{"ok":true,"applied":false,"reason":"no such agent"}"#),
        ("/agent-mode/cycle", r#"{"pane":"w9:p9"}"#, 404, "no such agent"),
        ("/agent-mode/cycle", r#"{"pane":"w1:p2"}"#, 409, no_mode),
        ("/send", r#"{"pane":"demo","text":"x"}"#, 501, no_terminal),
        ("/approve", r#"{"agent":"claude:latest","seq":1}"#, 501, no_terminal),
    ] {
        assert_eq!(daemon.post(target, body), said(status, text), "{target} {body}");
    }
    assert_eq!(typed(&machine), []);
}
