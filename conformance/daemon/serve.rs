//! The real program over real sockets, with a real growing file and a fake herdr: frames, bodies and close codes.

use std::fs::{self, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use panewire_conformance::herdr::{Failing, Mode, Pane};
use panewire_conformance::sim::scene::{CWD, NEXT_SESSION, PANE, SESSION};
use panewire_conformance::sim::{Frames as _, Scene, Transcript};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, test_kill_process};

use super::machine::{BOUND, Machine};
use super::{desk, machine};

#[test]
fn a_pane_is_streamed_byte_for_byte_as_the_core_streams_it() {
    let (machine, mut agent) = machine(200);
    let daemon = machine.start(&[]);
    let mut client = daemon.watch(PANE);
    let mut real: Vec<String> = client.until("backlog_complete").into_iter().map(|frame| frame.raw).collect();
    machine.append(&agent.path(), agent.talk(3));
    real.extend(client.take(3).into_iter().map(|frame| frame.raw));
    client.say(r#"{"type":"load_older","before_seq":51,"limit":20}"#);
    real.extend(client.until("page_complete").into_iter().map(|frame| frame.raw));

    let mut scene = Scene::with_entries(200);
    let simulated = scene.world.watch(PANE);
    scene.talk(3);
    scene.world.advance(Duration::from_secs(1));
    scene.world.load_older(simulated, 51, 20);
    scene.world.run();
    let expected: Vec<&str> = scene.world.client(simulated).received().iter().map(|frame| frame.raw.as_str()).collect();
    assert_eq!(expected.len(), 1 + 150 + 1 + 3 + 20 + 1);
    assert_eq!(real, expected);
}

#[test]
fn a_file_that_appears_later_and_a_last_line_without_newline_arrive() {
    let machine = Machine::new(&desk());
    let mut agent = Transcript::new(SESSION, CWD);
    let daemon = machine.start(&[]);
    let mut client = daemon.watch(PANE);
    assert_eq!(client.take(2).kinds(), ["hello", "backlog_complete"]);
    let line = agent.assistant("no newline yet");
    machine.append(&agent.path(), line.trim_end());
    assert_eq!(client.take(1).texts(), ["no newline yet"]);
    machine.append(&agent.path(), "\n");
    machine.append(&agent.path(), agent.user("next"));
    let next = client.next();
    assert_eq!((next.seq(), next.live()), (2, true));
}

#[test]
fn the_socket_follows_the_pane_to_its_next_session() {
    let (machine, _) = machine(5);
    let daemon = machine.start(&[]);
    let mut client = daemon.watch(PANE);
    client.until("backlog_complete");
    let mut next = Transcript::new(NEXT_SESSION, CWD);
    machine.append(&next.path(), next.talk(2));
    machine.desk.change(|desk| desk.panes[0].set_session(NEXT_SESSION)).unwrap();
    let frames = client.take(5);
    assert_eq!(frames.kinds(), ["session_changed", "hello", "entry", "entry", "backlog_complete"]);
    let expected = format!(r#"{{"type":"session_changed","pane":"w1:p1","from":"{SESSION}","to":"{NEXT_SESSION}"}}"#);
    assert_eq!(frames[0].raw, expected);
}

#[test]
fn a_file_that_is_cut_and_one_that_is_replaced_open_again() {
    let (machine, agent) = machine(10);
    let daemon = machine.start(&[]);
    let mut client = daemon.watch(PANE);
    client.until("backlog_complete");
    let file = fs::OpenOptions::new().write(true).open(machine.real(&agent.path())).unwrap();
    file.set_len(u64::try_from(Transcript::new(SESSION, CWD).talk(2).len()).unwrap()).unwrap();
    let frames = client.until("backlog_complete");
    assert_eq!(frames.kinds(), ["session_changed", "hello", "entry", "entry", "backlog_complete"]);
    assert_eq!(frames[1].json["session_id"], format!("{SESSION}~1"));
    let beside = machine.path("home/beside");
    fs::write(&beside, Transcript::new(NEXT_SESSION, CWD).talk(3)).unwrap();
    fs::rename(beside, machine.real(&agent.path())).unwrap();
    let frames = client.until("backlog_complete");
    assert_eq!((frames[1].number("total"), &frames[1].json["session_id"]), (3, &format!("{SESSION}~2").into()));
}

#[test]
fn ten_clients_see_the_same_stream() {
    let (machine, mut agent) = machine(160);
    let daemon = machine.start(&[]);
    let mut clients: Vec<_> = (0..10).map(|_| daemon.watch(PANE)).collect();
    let openings: Vec<Vec<u64>> = clients.iter_mut().map(|client| client.until("backlog_complete").seqs()).collect();
    machine.append(&agent.path(), agent.talk(2));
    for (client, opening) in clients.iter_mut().zip(openings) {
        assert_eq!(opening, (11..=160).collect::<Vec<_>>());
        assert_eq!(client.take(2).seqs(), [161, 162]);
    }
}

#[test]
fn statuses_and_bodies_before_the_upgrade() {
    let (machine, _) = machine(1);
    machine
        .desk
        .change(|desk| desk.panes.push(Pane { agent: Some("aider".into()), ..Pane::claude("w1:p2", CWD) }))
        .unwrap();
    machine.desk.change(|desk| desk.panes.push(Pane::claude("w1:p3", "/home/u/empty"))).unwrap();
    let daemon = machine.start(&[]);
    let token = &daemon.token;
    for (target, status, body) in [
        ("/agent-transcript?pane=w1:p1&token=wrong".to_owned(), 401, "unauthorized\n"),
        ("/agent-transcript".to_owned(), 401, "unauthorized\n"),
        (format!("/agent-transcript?token={token}"), 400, "want ?pane=<pane_id>\n"),
        (format!("/agent-transcript?pane=w9:p9&token={token}"), 404, "no such agent\n"),
        (format!("/agent-transcript?pane=w1:p2&token={token}"), 404, "transcript not supported for this agent kind\n"),
        (format!("/agent-transcript?pane=w1:p3&token={token}"), 404, "no transcript file for pane\n"),
    ] {
        for upgrade in [false, true] {
            assert_eq!(daemon.ask(&target, upgrade), (status, body.to_owned()), "{target} upgrade {upgrade}");
        }
    }
    assert_eq!(daemon.ask(&format!("/agent-transcript?pane=w1:p1&token={token}"), false).0, 426);
    assert_eq!(daemon.ask(&format!("/agent-transcript?pane=w1:p1&probe=1&token={token}"), false), (204, String::new()));
    assert_eq!(daemon.ask("/healthz", false), (200, "ok\n".to_owned()));
    let info = format!(
        r#"{{"name":"panewire","version":"{}","protocol":5,"features":["resume","heartbeat","entry","drift","roster","branches","card","snapshot","events","answers","attach","pairing"],"#,
        env!("CARGO_PKG_VERSION")
    );
    let (status, body) = daemon.ask(&format!("/info?token={token}"), false);
    let server_id = fs::read_to_string(machine.path("state/server-id")).unwrap();
    assert!(status == 200 && body.starts_with(&info), "{body}");
    assert!(body.contains(&format!(r#""server_id":"{}","server_name":""#, server_id.trim())), "{body}");
}

#[test]
fn an_entry_larger_than_every_buffer_comes_whole_or_not_at_all() {
    let (machine, mut agent) = machine(2);
    let text = "a line of many ".repeat(400_000);
    machine.append(&agent.path(), agent.assistant(text.trim_end()));
    let daemon = machine.start(&[]);
    let entry = |seq| format!("/agent-transcript/entry?pane={PANE}&seq={seq}&token={}", daemon.token);
    let (status, body) = daemon.ask(&entry(3), false);
    assert_eq!((status, body.contains(text.trim_end()), body.ends_with("\"parsed\":true}\n")), (200, true, true));
    assert_eq!(daemon.ask(&entry(4), false), (404, "no such entry\n".into()));

    let watcher = daemon.watch(PANE);
    let mut reader = daemon.stream();
    write!(reader, "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", entry(3), daemon.address).unwrap();
    let mut begun = [0; 12];
    reader.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    daemon.signal(Signal::TERM);
    assert_eq!(watcher.closed().0, 1000, "nothing more is begun from here on");
    let mut rest = Vec::new();
    // The connection ends before the length that was promised.
    let _ = reader.read_to_end(&mut rest);
    assert!(rest.len() < body.len());
    drop(reader);
    assert_eq!(daemon.wait(), Some(0));
}

#[test]
fn what_herdr_says_is_the_body_of_502() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let error = Failing { code: "server_unavailable".into(), message: "shutting down".into() };
    machine.desk.change(|desk| desk.socket = Mode::Failing(error)).unwrap();
    let target = format!("/agent-transcript?pane=w1:p1&token={}", daemon.token);
    assert_eq!(daemon.ask(&target, true), (502, "herdr agent get w1:p1: shutting down\n".to_owned()));
}

#[test]
fn herdrs_command_answers_where_there_is_no_socket() {
    let machine = Machine::without_herdr_socket(&desk());
    let mut agent = Transcript::new(SESSION, CWD);
    machine.append(&agent.path(), agent.talk(2));
    let daemon = machine.start(&[]);
    assert_eq!(daemon.watch(PANE).take(4).kinds(), ["hello", "entry", "entry", "backlog_complete"]);
    let unknown = format!("/agent-transcript?pane=w9:p9&token={}", daemon.token);
    assert_eq!(daemon.ask(&unknown, true), (404, "no such agent\n".to_owned()));
    machine.desk.change(|desk| desk.cli = Mode::NoServer).unwrap();
    let (status, body) = daemon.ask(&unknown, true);
    assert_eq!(status, 502);
    assert!(body.starts_with("herdr agent get w9:p9: ") && body.contains("server_not_running"), "{body}");
}

#[test]
fn a_wedged_herdr_is_502_within_five_seconds() {
    let (machine, _) = machine(1);
    machine.desk.change(|desk| (desk.socket, desk.cli) = (Mode::Wedged, Mode::Wedged)).unwrap();
    let daemon = machine.start(&[]);
    let begun = Instant::now();
    let (status, body) = daemon.ask(&format!("/agent-transcript?pane=w1:p1&token={}", daemon.token), true);
    assert_eq!((status, body.as_str()), (502, "herdr agent get w1:p1: timed out after 4s\n"));
    assert!(begun.elapsed() >= Duration::from_secs(4));
}

#[test]
fn every_close_code_arrives() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let open = || {
        let mut client = daemon.watch(PANE);
        client.until("backlog_complete");
        client
    };
    let mut garbage = open();
    garbage.say("garbage");
    assert_eq!(garbage.closed(), (1000, "unrecognized control frame".to_owned()));
    let mut binary = open();
    binary.0.send(tungstenite::Message::binary(vec![1, 2, 3])).unwrap();
    assert_eq!(binary.closed(), (1000, "unrecognized control frame".to_owned()));
    let mut large = open();
    large.say(&"x".repeat(64 * 1024));
    assert_eq!(large.closed().0, 1009);
    let mut not_utf8 = open();
    not_utf8.say_raw(&[0x81, 0x81, 0, 0, 0, 0, 0xff]);
    assert_eq!(not_utf8.closed().0, 1007);
    let mut unmasked = open();
    unmasked.say_raw(&[0x81, 0x02, b'h', b'i']);
    assert_eq!(unmasked.closed().0, 1002);
}

#[test]
fn a_signal_closes_every_socket_with_1000_and_exits_0() {
    for signal in [Signal::TERM, Signal::INT] {
        let (machine, _) = machine(1);
        let daemon = machine.start(&[]);
        let mut clients = [daemon.watch(PANE), daemon.watch(PANE)];
        clients.iter_mut().for_each(|client| _ = client.until("backlog_complete"));
        daemon.signal(signal);
        for client in clients {
            assert_eq!(client.closed().0, 1000);
        }
        assert_eq!(daemon.wait(), Some(0));
    }
}

#[test]
fn a_signal_ends_programs_that_were_started() {
    let (machine, _) = machine(1);
    let (program, started) = (machine.path("wedged-herdr"), machine.path("started"));
    let script = format!("#!/bin/sh\necho $$ >> '{}'\nexec sleep 1000\n", started.display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let daemon = machine.start(&["--herdr", "cli", "--herdr-bin", program.to_str().unwrap()]);
    // The daemon asks for the panes it can name as soon as it runs.
    let begun = Instant::now();
    let pid = loop {
        assert!(begun.elapsed() < BOUND, "herdr was not asked");
        let text = fs::read_to_string(&started).unwrap_or_default();
        match text.lines().next().map(str::parse).filter(|_| text.ends_with('\n')) {
            Some(pid) => break Pid::from_raw(pid.unwrap()).unwrap(),
            None => std::thread::yield_now(),
        }
    };
    assert_eq!(test_kill_process(pid), Ok(()));
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait(), Some(0));
    assert_eq!(test_kill_process(pid), Err(Errno::SRCH));
}

#[test]
fn without_herdr_sessions_are_panes() {
    let (machine, _) = machine(2);
    let daemon = machine.start(&["--herdr", "none"]);
    for pane in [format!("claude:{SESSION}"), "claude:latest".to_owned(), format!("claude:dir:{CWD}")] {
        let frames = daemon.watch(&pane).take(4);
        assert_eq!(frames.kinds(), ["hello", "entry", "entry", "backlog_complete"], "{pane}");
        assert_eq!(frames[0].json["session_id"], SESSION);
    }
}

#[test]
fn the_token_is_made_once_kept_private_and_overridden_by_the_environment() {
    let (machine, _) = machine(1);
    let first = machine.start(&[]).token.clone();
    assert!(first.len() >= 32);
    let daemon = machine.start(&[]);
    assert_eq!(daemon.token, first);
    let file = daemon.line.split_whitespace().last().unwrap();
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    drop(daemon);
    let daemon = machine.start_with(&[], &[("PANEWIRE_TOKEN", "chosen-by-hand-0123456789abcdef01")]);
    assert!(daemon.line.ends_with(" token-variable PANEWIRE_TOKEN\n"), "{}", daemon.line);
    assert_eq!(daemon.ask(&format!("/info?token={first}"), false).0, 401);
    assert_eq!(daemon.ask(&format!("/info?token={}", daemon.token), false).0, 200);
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let said = |arguments: &[&str]| {
        let output = machine.run(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((stderr.lines().count(), output.stdout.len()), (1, 0), "{stderr}");
        (output.status.code(), stderr)
    };
    assert_eq!(said(&["serve", "--no-such-flag"]).0, Some(2));
    let state = machine.path("other-state").to_str().unwrap().to_owned();
    let address = daemon.address.to_string();
    let (code, text) = said(&["serve", "--listen", &address, "--state-dir", &state]);
    assert_eq!(code, Some(1));
    assert!(text.contains(&address), "{text}");
    let state = machine.path("state").to_str().unwrap().to_owned();
    let (code, text) = said(&["serve", "--listen", "127.0.0.1:0", "--state-dir", &state]);
    assert_eq!(code, Some(1));
    assert!(text.contains("another daemon"), "{text}");
    assert_eq!(said(&["serve", "--listen", "127.0.0.1:0", "--home", "/nonexistent-home"]).0, Some(1));
}
