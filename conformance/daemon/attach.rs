//! Clients at the terminals of agents: herdr's program really runs under a terminal, and is gone when its client is.

use std::thread;
use std::time::Instant;

use panewire_conformance::fake_herdr::FLOOD_BYTES;
use panewire_conformance::herdr::{Desk, Pane, Reaction};
use panewire_conformance::sim::scene::{CWD, PANE};
use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::{Value, json};
use tungstenite::Message;
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;

use super::machine::{BOUND, Daemon, Machine, Socket};
use super::{desk, machine};

/// Attaches, and reads how the program greets: its process.
fn attached(daemon: &Daemon, pane: &str) -> (Socket, Pid) {
    let mut socket = daemon.attach(pane);
    let process = greeting(&mut socket, pane);
    (socket, process)
}

fn greeting(socket: &mut Socket, pane: &str) -> Pid {
    let shown = socket.shows("\r\n");
    let own = pane.rsplit('/').next().unwrap();
    let process = shown.strip_prefix(&format!("at {own}, xterm-256color, 80x24, "));
    let process = process.unwrap_or_else(|| panic!("{shown:?}")).trim_end();
    Pid::from_raw(process.parse().unwrap()).unwrap()
}

/// Waits until a process is neither running nor left to be reaped.
fn wait_for_end(process: Pid) {
    let begun = Instant::now();
    while test_kill_process(process).is_ok() {
        assert!(begun.elapsed() < BOUND, "{process:?} is still there");
        thread::yield_now();
    }
}

#[test]
fn bytes_go_both_ways_and_sizes_reach_the_program() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let (mut socket, process) = attached(&daemon, PANE);
    socket.keys("hel");
    socket.keys("lo\u{1b}[A\u{0}\r");
    assert_eq!(socket.shows("\r"), "hello\u{1b}[A\u{0}\r");
    socket.say(r#"{"type":"resize","cols":132,"rows":50}"#);
    socket.keys("s");
    assert_eq!(socket.shows("\r\n"), "132x50\r\n");
    // What is no resize is not heard, and nothing is said about it.
    for text in [
        "",
        "{",
        "[]",
        r#"{"type":"resize","cols":0,"rows":24}"#,
        r#"{"type":"resize","cols":1001,"rows":24}"#,
        r#"{"type":"resize","cols":-80,"rows":24}"#,
        r#"{"type":"resize","cols":99999999999999999999,"rows":24}"#,
        r#"{"type":"resize","cols":"80","rows":"24"}"#,
        r#"{"type":"load_older","before_seq":1}"#,
    ] {
        socket.say(text);
    }
    socket.keys("s");
    assert_eq!(socket.shows("\r\n"), "132x50\r\n");
    socket.0.close(Some(CloseFrame { code: CloseCode::Normal, reason: "bye".into() })).unwrap();
    assert_eq!(socket.closed(), (1000, "bye".into()));
    wait_for_end(process);
}

#[test]
fn a_paste_arrives_whole_and_one_that_is_too_long_is_1009() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let (mut socket, process) = attached(&daemon, PANE);
    let paste: String = ('0'..='9').cycle().take(64 * 1024 - 1).collect::<String>() + "\r";
    socket.keys(&paste);
    assert!(socket.shows("\r") == paste);
    socket.keys(&"0".repeat(64 * 1024 + 1));
    assert_eq!(socket.closed(), (1009, "message too large".into()));
    wait_for_end(process);
}

#[test]
fn a_client_that_does_not_read_holds_its_program_and_nobody_else() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let (mut slow, process) = attached(&daemon, PANE);
    slow.keys("f");
    // Others at the same time, with the same agent.
    let (mut other, _) = attached(&daemon, PANE);
    other.keys("hello\r");
    assert_eq!(other.shows("\r"), "hello\r");
    assert_eq!(daemon.ask("/healthz", false), (200, "ok\n".into()));
    test_kill_process(process).unwrap();
    let mut bytes = 0;
    while bytes < FLOOD_BYTES {
        if let Message::Binary(piece) = slow.0.read().unwrap() {
            assert!(piece.iter().all(|byte| *byte == b'y'));
            bytes += piece.len();
        }
    }
    assert_eq!(bytes, FLOOD_BYTES);
    slow.keys("hello\r");
    assert_eq!(slow.shows("\r"), "hello\r");
}

#[test]
fn a_client_that_vanishes_takes_its_program_with_it() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let (socket, process) = attached(&daemon, PANE);
    drop(socket);
    wait_for_end(process);
    // In the middle of a flood that it does not read.
    let (mut socket, process) = attached(&daemon, PANE);
    socket.keys("f");
    drop(socket);
    wait_for_end(process);
}

#[test]
fn the_end_of_the_program_closes_its_client() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    for (key, expected) in [("q", (1000, "detached")), ("x", (1011, "attach failed"))] {
        let (mut socket, process) = attached(&daemon, PANE);
        socket.keys(key);
        let (code, reason) = socket.closed();
        assert_eq!((code, reason.as_str()), expected);
        wait_for_end(process);
    }
    let (socket, process) = attached(&daemon, PANE);
    machine.desk.change(|desk| desk.panes.clear()).unwrap();
    assert_eq!(socket.closed(), (1000, "pane closed".into()));
    wait_for_end(process);
}

#[test]
fn a_pane_without_an_agent_is_painted_and_typed_into_until_one_comes_and_goes() {
    let react = |to: &str, screen: &str| Reaction {
        pane_id: "w1:p6".into(),
        to: to.into(),
        screen: Some(screen.into()),
        ..Reaction::default()
    };
    let desk = Desk {
        panes: vec![Pane { agent: None, ..Pane::claude("w1:p6", CWD) }],
        scrollback: [("w1:p6".into(), "long ago\n".into())].into(),
        screens: [("w1:p6".into(), "\u{1b}[1mshelf\u{1b}[0m\n$\n".into())].into(),
        reactions: vec![react("ls", "shelf\n$ ls\n"), react("\r\u{1b}[A", "shelf\n$ ls\nroses\n$ ls\n")],
        ..Desk::default()
    };
    let machine = Machine::new(&desk);
    for way in ["auto", "cli"] {
        machine.desk.write(&desk).unwrap();
        let daemon = machine.start(&["--herdr", way]);
        let mut socket = daemon.attach("w1:p6");
        assert_eq!(socket.shows("$"), "long ago\r\n\u{1b}[1mshelf\u{1b}[0m\r\n$");
        socket.keys("ls");
        assert_eq!(socket.shows("ls"), "\u{1b}[H\u{1b}[2Jshelf\r\n$ ls");
        socket.keys("\r\u{1b}[A");
        assert_eq!(socket.shows("roses"), "\u{1b}[H\u{1b}[2Jshelf\r\n$ ls\r\nroses\r\n$ ls");
        let agent = |agent: Option<&str>| {
            let agent = agent.map(str::to_owned);
            machine.desk.change(|desk| desk.panes[0].agent = agent).unwrap();
        };
        agent(Some("claude"));
        assert_eq!(socket.next().raw, r#"{"type":"mode","agent":true}"#);
        let process = greeting(&mut socket, "w1:p6");
        agent(None);
        socket.keys("q");
        assert_eq!(socket.next().raw, r#"{"type":"mode","agent":false}"#, "{way}");
        assert_eq!(socket.shows("roses"), "long ago\r\nshelf\r\n$ ls\r\nroses\r\n$ ls");
        wait_for_end(process);
        machine.desk.change(|desk| desk.panes.clear()).unwrap();
        assert_eq!(socket.closed(), (1000, "pane closed".into()));
    }
}

#[test]
fn the_first_frame_has_a_thousand_rows_and_what_herdr_tells_is_painted() {
    let rows = |rows: core::ops::Range<u32>| rows.map(|n| format!("row {n}\n")).collect::<String>();
    let desk = Desk {
        panes: vec![Pane { agent: None, ..Pane::claude("w1:p6", CWD) }],
        scrollback: [("w1:p6".into(), rows(0..1_500))].into(),
        screens: [("w1:p6".into(), rows(1_500..1_540) + "$\n")].into(),
        ..Desk::default()
    };
    let machine = Machine::new(&desk);
    for way in ["auto", "cli"] {
        machine.desk.write(&desk).unwrap();
        let daemon = machine.start(&["--herdr", way]);
        let mut socket = daemon.attach("w1:p6");
        let first = rows(541..1_540).replace('\n', "\r\n") + "$";
        assert!(socket.shows("$") == first, "{way}");
        let listens = usize::from(way == "auto");
        assert!(machine.herdr().has_listeners(listens, BOUND), "{way}");
        // The first is on the screen already: the next one is what has changed.
        machine.desk.change(|desk| _ = desk.screens.insert("w1:p6".into(), "$ ls\nfile\n".into())).unwrap();
        machine
            .herdr()
            .tell(r#"{"data":{"pane":{"pane_id":"w1:p6","revision":1},"type":"pane_updated"},"event":"pane_updated"}"#);
        assert_eq!(socket.shows("file"), "\u{1b}[H\u{1b}[2J$ ls\r\nfile", "{way}");
        drop(socket);
        assert!(machine.herdr().has_listeners(0, BOUND), "{way}");
    }
}

#[test]
fn a_program_that_is_not_there_is_1011() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&["--herdr-bin", machine.path("no-herdr").to_str().unwrap()]);
    assert_eq!(daemon.attach(PANE).closed(), (1011, "attach failed".into()));
}

#[test]
fn a_pane_of_a_named_session_is_attached_like_any_other() {
    let (mut machine, _) = machine(1);
    let work = Desk { panes: vec![Pane::claude("w3:p3", CWD)], ..Desk::default() };
    machine.desk.change(|desk| _ = desk.sessions.insert("work".into(), work)).unwrap();
    machine.start_session("work");
    let daemon = machine.start(&[]);
    let (_, process) = attached(&daemon, "work/w3:p3");
    wait_for_end(process);
    let ask = |pane: &str| daemon.ask(&format!("/attach?pane={pane}&token={}", daemon.token), true);
    assert_eq!(ask("x/w3:p3"), (404, "herdr session \"x\" not found\n".into()));
    assert_eq!(ask("work/w9:p9"), (404, "no such pane\n".into()));
}

#[test]
fn what_cannot_be_attached_is_refused_before_the_upgrade() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let ask = |query: &str, upgrade| {
        let (status, body) = daemon.ask(&format!("/attach?token={}&{query}", daemon.token), upgrade);
        (status, body.split(':').next().unwrap().trim_end().to_owned())
    };
    let no_terminal = "this pane is followed by its transcript alone";
    for (query, status, body) in [
        ("", 400, "want ?pane=<pane_id>"),
        ("pane=", 400, "want ?pane=<pane_id>"),
        ("pane=w9:p9", 404, "no such pane"),
        ("pane=--takeover", 404, "no such pane"),
        ("pane=demo", 501, no_terminal),
        ("pane=claude:latest", 501, no_terminal),
    ] {
        for upgrade in [true, false] {
            assert_eq!(ask(query, upgrade), (status, body.to_owned()), "{query}");
        }
    }
    assert_eq!(ask(&format!("pane={PANE}"), false).0, 426);
    assert_eq!(daemon.ask(&format!("/attach?pane={PANE}"), true), (401, "unauthorized\n".into()));
    drop(daemon);
    let daemon = machine.start(&["--herdr", "socket"]);
    let (status, body) = daemon.ask(&format!("/attach?token={}&pane={PANE}", daemon.token), true);
    assert_eq!((status, body.contains("--herdr auto")), (501, true), "{body}");
}

/// Pairs a device of this scope: its id and its bearer.
fn pair(daemon: &Daemon, scope: &str) -> (String, String) {
    let (_, offered) = daemon.post("/admin/pairing", &json!({ "scope": scope }).to_string());
    let offered: Value = serde_json::from_str(&offered).unwrap();
    let (status, paired) =
        daemon.post("/pair", &json!({ "code": offered["code"], "device_name": "Tablet" }).to_string());
    assert_eq!(status, 200, "{paired}");
    let paired: Value = serde_json::from_str(&paired).unwrap();
    (paired["id"].as_str().unwrap().to_owned(), paired["bearer"].as_str().unwrap().to_owned())
}

#[test]
fn a_device_may_attach_if_it_may_write_and_until_it_is_revoked() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let (_, reader) = pair(&daemon, "read");
    let (status, body) = daemon.ask(&format!("/attach?pane={PANE}&token={reader}"), true);
    assert_eq!((status, body.starts_with("this device may only read")), (403, true), "{body}");
    let (id, writer) = pair(&daemon, "full");
    let mut socket = daemon.attach_with(PANE, &writer);
    let process = greeting(&mut socket, PANE);
    assert_eq!(daemon.post("/admin/devices/revoke", &json!({ "id": id }).to_string()).0, 200);
    assert_eq!(socket.closed(), (1008, "device revoked".into()));
    wait_for_end(process);
}

#[test]
fn a_daemon_that_stops_takes_its_programs_with_it() {
    let machine = Machine::new(&desk());
    let daemon = machine.start(&[]);
    let (socket, process) = attached(&daemon, PANE);
    daemon.signal(Signal::TERM);
    assert_eq!(socket.closed().0, 1000);
    assert_eq!(daemon.wait(), Some(0));
    wait_for_end(process);
}
