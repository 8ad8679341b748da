//! Push over real sockets: a server of the test is told what an agent has come to.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::TcpListener;

use panewire_conformance::herdr::Desk;
use serde_json::Value;

use super::machine;
use super::machine::BOUND;

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
