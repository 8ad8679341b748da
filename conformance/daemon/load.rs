//! Clients that behave badly, and many at once: who is slow or rude loses nothing of others, and holds nobody.

use std::io::{Read as _, Write as _};

use panewire_conformance::sim::scene::PANE;
use panewire_conformance::sim::{Frames as _, Transcript};
use rustix::process::Signal;

use super::machine;
use super::machine::{Daemon, Socket};

/// So many long entries are more than the buffers between a daemon and its client hold.
const MANY: usize = 200;

/// Long, and within the cap of a message.
const CHARS: usize = 15_000;

/// What the agent says next.
fn long_entries(agent: &mut Transcript) -> String {
    (0..MANY).map(|_| agent.assistant(&"x".repeat(CHARS))).collect()
}

fn opened(daemon: &Daemon) -> Socket {
    let mut client = daemon.watch(PANE);
    client.until("backlog_complete");
    client
}

#[test]
fn a_client_that_reads_late_has_lost_nothing_and_held_nobody() {
    let (machine, mut agent) = machine(1);
    let daemon = machine.start(&[]);
    let (mut late, mut prompt) = (opened(&daemon), opened(&daemon));
    machine.append(&agent.path(), long_entries(&mut agent));
    let all: Vec<u64> = (2..).take(MANY).collect();
    assert_eq!(prompt.take(MANY).seqs(), all);
    // By now everything was read and sent to another client: what this one has not taken waits in the file.
    assert_eq!(late.take(MANY).seqs(), all);
    machine.append(&agent.path(), agent.talk(1));
    let next = all.last().unwrap() + 1;
    assert_eq!((late.next().seq(), prompt.next().seq()), (next, next));
}

#[test]
fn a_client_that_never_reads_holds_neither_others_nor_the_end() {
    let (machine, mut agent) = machine(1);
    let daemon = machine.start(&[]);
    let (never, mut prompt) = (opened(&daemon), opened(&daemon));
    machine.append(&agent.path(), long_entries(&mut agent));
    prompt.take(MANY);
    daemon.signal(Signal::TERM);
    assert_eq!(prompt.closed().0, 1000);
    assert_eq!(daemon.wait(), Some(0));
    drop(never);
}

#[test]
fn more_requests_than_may_wait_are_all_answered_in_order() {
    let (machine, _) = machine(300);
    let daemon = machine.start(&[]);
    let mut client = opened(&daemon);
    let wanted: Vec<u64> = (2..=101).collect();
    for seq in &wanted {
        client.say(&format!(r#"{{"type":"load_older","before_seq":{seq},"limit":1}}"#));
    }
    for seq in wanted {
        let page = client.take(2);
        assert_eq!((page.kinds(), page[0].seq()), (vec!["entry", "page_complete"], seq - 1));
    }
}

#[test]
fn what_a_hasty_client_sends_behind_its_request_is_heard() {
    let (machine, _) = machine(200);
    let daemon = machine.start(&[]);
    let mut stream = daemon.stream();
    let page = r#"{"type":"load_older","before_seq":4,"limit":3}"#;
    let mut bytes = format!(
        "GET /agent-transcript?pane={PANE}&token={} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: cGFuZXdpcmUgc2ltdWxhdA==\r\n\r\n",
        daemon.token, daemon.address
    )
    .into_bytes();
    bytes.extend([0x81, 0x80 | u8::try_from(page.len()).unwrap(), 0, 0, 0, 0]);
    bytes.extend(page.as_bytes());
    stream.write_all(&bytes).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    assert!(head.starts_with(b"HTTP/1.1 101 "));
    let mut client = Socket::upgraded(stream);
    let frames = client.until("page_complete");
    assert_eq!(frames.len(), 1 + 150 + 1 + 3 + 1);
    assert_eq!(frames.seqs(), (51..=200).chain(1..=3).collect::<Vec<_>>());
}

#[test]
fn many_clients_that_come_and_go_leave_nothing_behind() {
    let (machine, mut agent) = machine(20);
    let daemon = machine.start(&[]);
    let mut stays = opened(&daemon);
    for round in 0..10_u64 {
        // Some say goodbye, some vanish in the middle of the opening.
        let mut clients: Vec<Socket> = (0..20).map(|_| daemon.watch(PANE)).collect();
        for client in clients.iter_mut().step_by(2) {
            client.until("backlog_complete");
            client.0.close(None).unwrap();
        }
        drop(clients);
        machine.append(&agent.path(), agent.talk(1));
        assert_eq!(stays.next().seq(), 21 + round);
    }
    daemon.signal(Signal::TERM);
    assert_eq!(stays.closed().0, 1000);
    assert_eq!(daemon.wait(), Some(0));
}
