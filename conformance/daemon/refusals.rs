//! What is refused: requests that are too much for HTTP, and starts that cannot succeed.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::process::Command;

use panewire_conformance::sim::scene::{CWD, PANE, SESSION};
use panewire_conformance::sim::{Frames as _, Transcript};

use super::machine::{Daemon, Machine};
use super::{desk, machine};
use crate::PROGRAM;

/// Everything that comes back until the connection ends.
fn whole_answer(daemon: &Daemon, request: &[u8]) -> String {
    let mut stream = daemon.stream();
    // A daemon that has heard enough may close before all is sent.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

#[test]
fn a_head_that_is_too_long_is_431_and_no_http_is_400() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let long = format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: {}\r\n\r\n", "x".repeat(20_000));
    assert!(whole_answer(&daemon, long.as_bytes()).starts_with("HTTP/1.1 431 "));
    let many = format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X-Many: x\r\n".repeat(200));
    assert!(whole_answer(&daemon, many.as_bytes()).starts_with("HTTP/1.1 431 "));
    assert!(whole_answer(&daemon, b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert_eq!(daemon.ask("/healthz", false).0, 200);
}

#[test]
fn the_body_of_a_request_is_not_waited_for() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let target = format!("/info?token={}", daemon.token);
    // A body that is announced and never comes, and one that never ends.
    for body in ["Content-Length: 1000000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n"] {
        let mut stream = daemon.stream();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: localhost\r\n{body}").unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
    }
}

#[test]
fn a_body_is_taken_in_both_forms_and_up_to_its_bound() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let head = |fields: &str| {
        format!(
            "POST /send?token={} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}\r\n\r\n",
            daemon.token
        )
    };
    let body = "{\"pane\":\"\"}";
    let declared = format!("{}{body}", head(&format!("Content-Length: {}", body.len())));
    let chunked =
        format!("{}4\r\n{}\r\n7\r\n{}\r\n0\r\n\r\n", head("Transfer-Encoding: chunked"), &body[..4], &body[4..]);
    for request in [declared, chunked, head("Content-Length: 0")] {
        let answer = whole_answer(&daemon, request.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(answer.ends_with("\r\n\r\nwant {pane,text}\n"), "{answer}");
    }
    // A client that hears nothing before it has sent everything.
    let long = " ".repeat(600_000);
    for request in [
        format!("{}{long}", head(&format!("Content-Length: {}", long.len()))),
        format!("{}{:x}\r\n{long}\r\n0\r\n\r\n", head("Transfer-Encoding: chunked"), long.len()),
    ] {
        let answer = whole_answer(&daemon, request.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert!(answer.ends_with("\r\n\r\nwant a body of at most 65536 bytes\n"), "{answer}");
    }
    let answer = whole_answer(&daemon, b"GET /send HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 405 ") && answer.contains("\r\nallow: POST\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\nuse POST\n"), "{answer}");
}

#[test]
fn a_body_that_breaks_off_is_answered_and_does_nothing() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    // The object is whole, the body is not.
    let body = format!("{{\"pane\":\"{PANE}\",\"text\":\"x\"}}");
    let head = format!("POST /send?token={} HTTP/1.1\r\nHost: localhost\r\n", daemon.token);
    let no_chunk = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\nno length\r\n", body.len());
    let too_short = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len() + 1);
    for request in [no_chunk, too_short] {
        let mut stream = daemon.stream();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(answer.ends_with("\r\n\r\nthe body of the request broke off: nothing was done\n"), "{answer}");
    }
    assert_eq!(machine.desk.read().unwrap().typed, []);
}

#[test]
fn half_a_body_holds_nobody() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let mut half = daemon.stream();
    write!(half, "POST /send?token={} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{{", daemon.token)
        .unwrap();
    assert_eq!(daemon.ask("/healthz", false).0, 200);
    half.write_all(b"}").unwrap();
    let mut status = [0; 12];
    half.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 400");
}

#[test]
fn one_connection_serves_many_requests_and_half_a_head_holds_nobody() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let mut half = daemon.stream();
    half.write_all(b"GET /healthz HTTP/1.1\r\nHost: loc").unwrap();
    let pipelined = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(49)
        + "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let answers = whole_answer(&daemon, pipelined.as_bytes());
    assert_eq!((answers.matches("HTTP/1.1 200 OK\r\n").count(), answers.matches("\r\n\r\nok\n").count()), (50, 50));
    half.write_all(b"alhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    half.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nok\n"), "{answer}");
}

#[test]
fn an_upgrade_that_is_none_is_told_what_to_do() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let request = |extra: &str| {
        let target = format!("/agent-transcript?pane={PANE}&token={}", daemon.token);
        let text = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: {extra}\r\n\r\n");
        let answer = whole_answer(&daemon, text.as_bytes());
        answer.lines().next().unwrap_or_default().to_owned()
    };
    // Half of what an upgrade needs, and a version that nobody speaks.
    assert_eq!(request("close"), "HTTP/1.1 426 Upgrade Required");
    assert_eq!(request("close, Upgrade\r\nUpgrade: websocket"), "HTTP/1.1 426 Upgrade Required");
    let old = "close, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: cGFuZXdpcmUgc2ltdWxhdA==\r\n\
               Sec-WebSocket-Version: 8";
    assert_eq!(request(old), "HTTP/1.1 426 Upgrade Required");
}

#[test]
fn a_daemon_that_cannot_start_says_which_flag_helps() {
    let (machine, _) = machine(1);
    let said = |arguments: &[&str]| {
        let output = machine.run(arguments);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let program = PROGRAM.name;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, out, err) = said(&["--listen", &address]);
    assert_eq!((code, &*out), (Some(1), ""));
    assert!(err.starts_with(&format!("{program}: cannot listen on {address}: ")), "{err}");
    assert!(err.ends_with("; --listen HOST:PORT names another place\n"), "{err}");

    let file = machine.path("file");
    fs::write(&file, "").unwrap();
    let state_dir = file.join("state");
    let (code, out, err) = said(&["--state-dir", state_dir.to_str().unwrap()]);
    assert_eq!((code, &*out), (Some(1), ""));
    assert!(err.starts_with(&format!("{program}: cannot use the state directory {}: ", state_dir.display())), "{err}");
    assert!(err.ends_with("; --state-dir DIR names another\n"), "{err}");

    let (code, out, err) = said(&["--listen", "nowhere"]);
    assert_eq!((code, &*out), (Some(2), ""));
    assert!(err.starts_with(&format!("{program}: --listen wants HOST:PORT, not 'nowhere' (see {program}")), "{err}");
    assert!(err.ends_with(" --help)\n"), "{err}");

    let version = format!("{program} {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(said(&["--version"]), (Some(0), version, String::new()));
    let (code, out, err) = said(&["serve", "--help"]);
    assert_eq!((code, &*err), (Some(0), ""));
    assert!(out.contains(&format!("usage: {program} ")), "{out}");
}

#[test]
fn what_lies_in_place_of_a_transcript_and_is_no_file_is_500() {
    let machine = Machine::new(&desk());
    let place = machine.real(&Transcript::new(SESSION, CWD).path());
    let daemon = machine.start(&[]);
    let target = format!("/agent-transcript?pane={PANE}&token={}", daemon.token);
    let refused = (500, "read transcript failed\n".to_owned());
    fs::create_dir(&place).unwrap();
    assert_eq!([daemon.ask(&target, true), daemon.ask(&target, false)], [refused.clone(), refused.clone()]);
    fs::remove_dir(&place).unwrap();
    assert!(Command::new("mkfifo").arg(&place).status().unwrap().success());
    assert_eq!(daemon.ask(&target, true), refused, "nobody writes into it, and nobody waits for that");
    fs::remove_file(&place).unwrap();
    assert_eq!(daemon.watch(PANE).take(2).kinds(), ["hello", "backlog_complete"]);
}
