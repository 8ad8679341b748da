//! Push over real sockets: a server of the test is told what an agent has come to, byte by byte.

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::TcpListener;
use std::thread;
use std::time::Instant;

use panewire_conformance::herdr::Desk;
use panewire_conformance::sim::scene::PANE;
use serde_json::Value;

use super::machine;
use super::machine::{BOUND, Daemon, Machine};
use crate::PROGRAM;

/// Takes one request and answers it with this status: its first line and its body.
fn take(listener: &TcpListener, status: u16) -> (String, String) {
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    let request = read_request(&stream);
    write!(&stream, "HTTP/1.1 {status} Said\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    request
}

/// The first line and the body of a request.
pub(crate) fn read_request(stream: impl Read) -> (String, String) {
    let mut reader = BufReader::new(stream);
    let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
    while reader.read_line(&mut line).unwrap() > 0 && line != "\r\n" {
        if first.is_empty() {
            first = line.trim_end().to_owned();
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (first, String::from_utf8(body).unwrap())
}

#[test]
fn an_agent_that_needs_somebody_is_told_to_webhooks_and_topics() {
    let (machine, _) = machine(1);
    let [hook, topic] = [(), ()].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let url = |listener: &TcpListener, path: &str| format!("http://{}{path}", listener.local_addr().unwrap());
    let daemon = machine.start(&["--push", &url(&hook, "/hook"), "--push-ntfy", &url(&topic, "/beds")]);
    // It is seen as it was before it changes.
    let mut client = daemon.events();
    assert_eq!(client.next().kind(), "snapshot");
    let blocked =
        |desk: &mut Desk| (desk.panes[0].agent_status, desk.panes[0].state_change_seq) = ("blocked".into(), 9);
    machine.desk.change(blocked).unwrap();
    let (first, body) = take(&hook, 503);
    assert_eq!(first, "POST /hook HTTP/1.1");
    assert_eq!(take(&hook, 200), (first, body.clone()), "the same once more");
    let data: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((data["agent"].as_str(), data["state_change_seq"].as_u64()), (Some("w1:p1"), Some(9)));
    assert_eq!(data["body"], "Needs you");
    let (first, body) = take(&topic, 200);
    assert!(first.starts_with("POST /beds?priority=high&tags=raised_hand&title="), "{first}");
    assert_eq!(body, "Needs you");
    let mut kinds = client.take(3).into_iter().map(|frame| frame.kind().to_owned()).collect::<Vec<_>>();
    kinds.sort();
    assert_eq!(kinds, ["pane_agent_status_changed", "push_sent", "push_sent"]);
}

/// Takes one request whole, answers it with this status, and gives back its head in lower case, sorted, and its body.
fn take_whole(listener: &TcpListener, status: u16) -> (Vec<String>, String) {
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    let (mut reader, mut head) = (BufReader::new(&stream), Vec::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let length = head.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    write!(&stream, "HTTP/1.1 {status} Said\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
    head[1..].sort();
    (head, String::from_utf8(body).unwrap())
}

const QUESTION: &str = "──────────────────────────────\n ☐ Beds\n\nWhich bed — “north” or south?\n\n❯ 1. North\n  2. South\n\n\
    Enter to select · ↑/↓ to navigate · Esc to cancel\n";

/// The agent has come to this, and nobody has seen it so before.
fn comes_to(machine: &Machine, status: &str, seq: u64) {
    let status = status.to_owned();
    machine.desk.change(|desk| (desk.panes[0].agent_status, desk.panes[0].state_change_seq) = (status, seq)).unwrap();
}

/// Waits until a line of the log begins so, behind the program's name: how many do.
fn wait_for_log(machine: &Machine, line: &str) -> usize {
    let (begun, line) = (Instant::now(), format!("{}: {line}", PROGRAM.name));
    loop {
        let log = fs::read_to_string(machine.path("stderr")).unwrap();
        if log.contains(&line) {
            return log.matches(&line).count();
        }
        assert!(begun.elapsed() < BOUND, "{line:?} is not in {log}");
        thread::yield_now();
    }
}

/// What a daemon calls itself: its id and its name.
fn names(daemon: &Daemon) -> (String, String) {
    let info: Value = serde_json::from_str(&daemon.ask(&format!("/info?token={}", daemon.token), false).1).unwrap();
    let text = |key: &str| info[key].as_str().unwrap().to_owned();
    (text("server_id"), text("server_name"))
}

#[test]
fn a_webhook_and_a_topic_get_exactly_this() {
    let (machine, _) = machine(1);
    let [hook, topic] = [(), ()].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [hook_at, topic_at] = [&hook, &topic].map(|listener| listener.local_addr().unwrap());
    machine.desk.change(|desk| _ = desk.screens.insert(PANE.into(), QUESTION.into())).unwrap();
    let (hook_url, topic_url) = (format!("http://{hook_at}/hook?key=a%20b"), format!("http://{topic_at}/beds?auth=x"));
    for detail in ["none", "title", "full"] {
        comes_to(&machine, "working", 8);
        let daemon = machine.start(&["--push", &hook_url, "--push-ntfy", &topic_url, "--push-detail", detail]);
        let (id, name) = names(&daemon);
        assert_eq!(daemon.events().next().kind(), "snapshot");
        comes_to(&machine, "blocked", 9);
        let (title, body, more) = match detail {
            "none" => ("Panewire".to_owned(), "Needs you", String::new()),
            "title" => (format!("{name} · Tidy the shelf"), "Needs you", String::new()),
            _ => (
                format!("{name} · Tidy the shelf"),
                "Needs you — Which bed — “north” or south? · 1. North / 2. South",
                concat!(
                    r#""options":[{"index":1,"label":"North","selected":true},{"index":2,"label":"South","selected":false}],"#,
                    r#""question":"Which bed — “north” or south?","#
                )
                .to_owned(),
            ),
        };
        let (task, server) = match detail {
            "none" => (String::new(), String::new()),
            _ => (r#""agent_title":"Tidy the shelf","#.to_owned(), format!(r#""server_name":"{name}","#)),
        };
        let data = format!(
            r#"{{"agent":"w1:p1",{task}"body":"{body}",{more}"server_id":"{id}",{server}"state_change_seq":9,"status":"blocked","title":"{title}","type":"alert"}}"#
        );
        let (head, said) = take_whole(&hook, 204);
        assert_eq!(said, data, "{detail}");
        let length = format!("content-length: {}", data.len());
        let expected = [
            "POST /hook?key=a%20b HTTP/1.1".to_owned(),
            length,
            "content-type: application/json".into(),
            format!("host: {hook_at}"),
        ];
        assert_eq!(head, expected, "{detail}");
        let (head, said) = take_whole(&topic, 200);
        assert_eq!(said, body, "{detail}");
        let escaped: String = title
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
                other => format!("%{other:02X}"),
            })
            .collect();
        let expected = [
            format!("POST /beds?auth=x&priority=high&tags=raised_hand&title={escaped} HTTP/1.1"),
            format!("content-length: {}", body.len()),
            "content-type: text/plain; charset=utf-8".into(),
            format!("host: {topic_at}"),
        ];
        assert_eq!(head, expected, "{detail}");
    }
}

#[test]
fn what_cannot_be_delivered_is_tried_three_times_and_told_in_the_log_without_its_secrets() {
    let (machine, _) = machine(1);
    let hook = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = hook.local_addr().unwrap();
    comes_to(&machine, "working", 8);
    let daemon = machine.start(&["--push", &format!("http://{at}/secret-path?key=secret")]);
    assert_eq!(daemon.events().next().kind(), "snapshot");
    comes_to(&machine, "blocked", 9);
    let tries: Vec<String> = [500, 429, 503].map(|status| take_whole(&hook, status).1).into();
    assert!(tries.iter().all(|body| *body == tries[0] && body.contains("Needs you")), "{tries:?}");
    assert_eq!(wait_for_log(&machine, &format!("warning: cannot push to http://{at}: it answered 503")), 1);
    // The next one begins anew, and what will not get better is not tried again.
    comes_to(&machine, "done", 10);
    assert!(take_whole(&hook, 404).1.contains(r#""body":"Finished""#));
    assert_eq!(wait_for_log(&machine, &format!("warning: cannot push to http://{at}: it answered 404")), 1);
    // Nobody listens there any more.
    drop(hook);
    comes_to(&machine, "blocked", 11);
    wait_for_log(&machine, &format!("warning: cannot push to http://{at}: Connection refused"));
    let log = fs::read_to_string(machine.path("stderr")).unwrap();
    assert!(!log.contains("secret"), "{log}");
}
