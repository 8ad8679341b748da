//! Pairing over real sockets, and the table of everything that is refused.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use panewire_conformance::sim::scene::PANE;
use panewire_conformance::sim::{Frames as _, Transcript};
use serde_json::{Value, json};

use super::machine;
use super::machine::{Daemon, Machine};

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: cGFuZXdpcmUgc2ltdWxhdA==\r\n";

/// A request as a client writes it, with what a case adds to it.
struct Call<'a> {
    method: &'a str,
    target: &'a str,
    body: &'a str,
    upgrade: bool,
}

/// Who may call, beside whoever has the daemon's own token.
#[derive(Clone, Copy, PartialEq)]
enum For {
    Readers,
    Writers,
    Admin,
}

const CALLS: &[(For, Call<'_>)] = &[
    (For::Readers, get("/info")),
    (For::Readers, get("/panes")),
    (For::Readers, get("/drift")),
    (For::Readers, get("/agent-state?pane=w1:p1")),
    (For::Readers, get("/agent-transcript?pane=w1:p1&probe=1")),
    (For::Readers, Call { upgrade: true, ..get("/agent-transcript?pane=w1:p1") }),
    (For::Readers, get("/agent-transcript/entry?pane=w1:p1&seq=1")),
    (For::Readers, get("/snapshot")),
    (For::Readers, get("/events")),
    (For::Readers, Call { upgrade: true, ..get("/events") }),
    (For::Writers, get("/attach?pane=w1:p1")),
    (For::Writers, Call { upgrade: true, ..get("/attach?pane=w1:p1") }),
    (For::Writers, post("/send", r#"{"pane":"demo","text":"a"}"#)),
    (For::Writers, post("/approve", r#"{"agent":"demo","seq":1}"#)),
    (For::Writers, post("/agent-mode/cycle", r#"{"pane":"demo"}"#)),
    (For::Admin, post("/admin/pairing", "{}")),
    (For::Admin, get("/admin/devices")),
    (For::Admin, post("/admin/devices/revoke", r#"{"id":"00000000"}"#)),
];

const fn get(target: &str) -> Call<'_> {
    Call { method: "GET", target, body: "", upgrade: false }
}

const fn post<'a>(target: &'a str, body: &'a str) -> Call<'a> {
    Call { method: "POST", target, body, upgrade: false }
}

impl Call<'_> {
    /// Status and body of the answer. Only of an upgrade that was made there is no body.
    fn put(&self, daemon: &Daemon, host: &str, headers: &[String]) -> (u16, String) {
        let Self { method, target, body, upgrade } = self;
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let upgrade = if *upgrade { UPGRADE } else { "Connection: close\r\n" };
        let mut stream = daemon.stream();
        let length = body.len();
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: {host}\r\n{upgrade}{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
        loop {
            let text = String::from_utf8_lossy(&answer);
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let length: usize = length.map_or(0, |length| length.parse().unwrap());
                if status == 101 || body.len() >= length {
                    return (status, if status == 101 { String::new() } else { body.to_owned() });
                }
            }
            let read = stream.read(&mut piece).unwrap();
            assert!(read > 0, "{method} {target}: {}", String::from_utf8_lossy(&answer));
            answer.extend_from_slice(&piece[..read]);
        }
    }
}

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

/// What the daemon's own token is answered.
fn admin(daemon: &Daemon, call: &Call<'_>) -> Value {
    let (status, body) = call.put(daemon, &daemon.address.to_string(), &[bearer(&daemon.token)]);
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// Id and bearer of a device that was just paired.
fn pair(daemon: &Daemon, scope: &str) -> (String, String) {
    let offered = admin(daemon, &post("/admin/pairing", &json!({"scope": scope}).to_string()));
    let body = json!({"code": offered["code"], "device_name": "Ana's phone", "fcm_token": "ignored"}).to_string();
    let (status, body) = post("/pair", &body).put(daemon, &daemon.address.to_string(), &[]);
    assert_eq!(status, 200, "{body}");
    let paired: Value = serde_json::from_str(&body).unwrap();
    let text = |field: &str| paired[field].as_str().unwrap().to_owned();
    (text("id"), text("bearer"))
}

fn revoke(daemon: &Daemon, id: &str) {
    let revoked = admin(daemon, &post("/admin/devices/revoke", &json!({"id": id}).to_string()));
    assert_eq!(revoked, json!({"revoked": true, "name": "Ana's phone"}));
}

#[test]
fn wrong_tokens_revoked_devices_read_scope_foreign_hosts_and_origins_are_refused() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let own = daemon.address.to_string();
    let right = bearer(&daemon.token);
    let (phone, tablet, (lost, gone)) = (pair(&daemon, "full").1, pair(&daemon, "read").1, pair(&daemon, "full"));
    revoke(&daemon, &lost);
    let unauthorized = Some((401, "unauthorized\n"));
    let only_reads =
        Some((403, "this device may only read: to let it answer agents, revoke it and pair it without --read\n"));
    let host = Some((403, "host not allowed: start with --allow-host NAME to allow it\n"));
    let origin = Some((403, "origin not allowed: start with --allow-origin ORIGIN to allow it\n"));
    // Each case: its host, its headers, what it adds to the query, and how readers', writers' and the admin's calls are
    // refused, if they are.
    let from = |origin: &str| vec![right.clone(), format!("Origin: {origin}")];
    let cases = [
        ("the right token", &*own, vec![right.clone()], "", [None; 3]),
        ("the right token in the query", &own, vec![], &*daemon.token, [None; 3]),
        ("no token", &own, vec![], "", [unauthorized; 3]),
        ("a wrong token", &own, vec![bearer("wrong")], "", [unauthorized; 3]),
        ("a wrong token in the query", &own, vec![], "wrong", [unauthorized; 3]),
        ("a wrong token before a right one", &own, vec![bearer("wrong")], &daemon.token, [unauthorized; 3]),
        ("half of the right token", &own, vec![bearer(&daemon.token[..32])], "", [unauthorized; 3]),
        ("the digest of a device's bearer", &own, vec![bearer(&digest(&machine))], "", [unauthorized; 3]),
        ("a full device", &own, vec![bearer(&phone)], "", [None, None, unauthorized]),
        ("a full device in the query", &own, vec![], &phone, [None, None, unauthorized]),
        ("a read device", &own, vec![bearer(&tablet)], "", [None, only_reads, unauthorized]),
        ("a read device in the query", &own, vec![], &tablet, [None, only_reads, unauthorized]),
        ("a revoked device", &own, vec![bearer(&gone)], "", [unauthorized; 3]),
        ("a revoked device in the query", &own, vec![], &gone, [unauthorized; 3]),
        ("a foreign host", "rebound.example", vec![right.clone()], "", [host; 3]),
        ("a foreign host with our port", "rebound.example:8787", vec![right.clone()], "", [host; 3]),
        ("our own origin", &own, from(&format!("http://{own}")), "", [None; 3]),
        ("a foreign origin", &own, from("https://elsewhere.example"), "", [origin; 3]),
        ("our host on another port", &own, from("http://127.0.0.1:1"), "", [origin; 3]),
        ("an origin that is none", &own, from("null"), "", [origin; 3]),
    ];
    for (case, host, headers, query, refused) in &cases {
        for (wanted, call) in CALLS {
            let between = if call.target.contains('?') { '&' } else { '?' };
            let target = if query.is_empty() {
                call.target.to_owned()
            } else {
                format!("{}{between}token={query}", call.target)
            };
            let (status, body) = Call { target: &target, ..*call }.put(&daemon, host, headers);
            let expected = match wanted {
                For::Readers => refused[0],
                For::Writers => refused[1],
                For::Admin => refused[2],
            };
            match expected {
                Some(expected) => assert_eq!((status, &*body), expected, "{case}: {} {}", call.method, call.target),
                None => assert!(![401, 403].contains(&status), "{case}: {} {}: {body}", call.method, call.target),
            }
        }
    }
    // Who pairs has no token yet, and no browser of a foreign page may do it for him.
    let pairs = post("/pair", r#"{"code":"00000000","device_name":"a"}"#);
    let refused = (403, "invalid or expired pairing code\n".to_owned());
    assert_eq!(pairs.put(&daemon, &own, &[]), refused);
    let refusal = |refused: Option<(u16, &str)>| refused.map(|(status, body)| (status, body.to_owned()));
    assert_eq!(Some(pairs.put(&daemon, "rebound.example", &[])), refusal(host));
    let foreign = ["Origin: https://elsewhere.example".to_owned()];
    assert_eq!(Some(pairs.put(&daemon, &own, &foreign)), refusal(origin));
}

/// The first digest in the list of devices.
fn digest(machine: &Machine) -> String {
    let kept: Value = serde_json::from_slice(&fs::read(machine.path("state/devices.json")).unwrap()).unwrap();
    kept["devices"][0]["digest"].as_str().unwrap().to_owned()
}

#[test]
fn a_revoked_device_loses_what_it_has_open() {
    let (machine, mut agent) = machine(2);
    let daemon = machine.start(&[]);
    let ((phone, one), (_, other)) = (pair(&daemon, "full"), pair(&daemon, "read"));
    let [revoked, mut stays] = [&one, &other].map(|token| {
        let mut socket = daemon.watch_with(PANE, token);
        assert_eq!(socket.until("backlog_complete").seqs(), [1, 2]);
        socket
    });
    revoke(&daemon, &phone);
    assert_eq!(revoked.closed(), (1008, "device revoked".into()));
    machine.append(&agent.path(), Transcript::talk(&mut agent, 1));
    assert_eq!(stays.take(1).seqs(), [3]);
}

#[test]
fn another_token_in_its_file_counts_when_it_is_brought() {
    let (machine, mut agent) = machine(2);
    let daemon = machine.start(&[]);
    let [old, mut stays] = [daemon.token.clone(), pair(&daemon, "read").1].map(|token| {
        let mut socket = daemon.watch_with(PANE, &token);
        assert_eq!(socket.until("backlog_complete").seqs(), [1, 2]);
        socket
    });
    fs::write(machine.path("state/token"), "fresh-token\n").unwrap();
    let status = |token: &str| get("/info").put(&daemon, &daemon.address.to_string(), &[bearer(token)]).0;
    assert_eq!(status("fresh-token"), 200);
    assert_eq!(old.closed(), (1008, "token rotated".into()));
    assert_eq!((status(&daemon.token), status("fresh-token")), (401, 200));
    machine.append(&agent.path(), Transcript::talk(&mut agent, 1));
    assert_eq!(stays.take(1).seqs(), [3], "a device has a bearer of its own");
}

#[test]
fn a_token_of_the_environment_is_not_replaced_by_that_of_the_file() {
    let (machine, _) = machine(1);
    let daemon = machine.start_with(&[], &[("PANEWIRE_TOKEN", "from-outside")]);
    fs::write(machine.path("state/token"), "fresh-token\n").unwrap();
    let status = |token: &str| get("/info").put(&daemon, &daemon.address.to_string(), &[bearer(token)]).0;
    assert_eq!((status("fresh-token"), status("from-outside")), (401, 200));
}

#[test]
fn devices_outlive_the_daemon_and_are_kept_privately() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&[]);
    let (id, token) = pair(&daemon, "read");
    let path = machine.path("state/devices.json");
    let kept = fs::read_to_string(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(kept.contains(&id) && !kept.contains(&token), "{kept}");
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    let info = |daemon: &Daemon| {
        let (status, body) = get("/info").put(daemon, &daemon.address.to_string(), &[bearer(&token)]);
        assert_eq!(status, 200, "{body}");
        let info: Value = serde_json::from_str(&body).unwrap();
        [info["scope"].clone(), info["device"]["id"].clone(), info["server_id"].clone()]
    };
    let first = info(&daemon);
    assert_eq!((&first[0], &first[1]), (&json!("read"), &json!(id)));
    drop(daemon);
    let daemon = machine.start(&[]);
    assert_eq!(info(&daemon), first);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before, "nothing changed, so nothing is written");
    let told = fs::read_to_string(machine.path("stderr")).unwrap();
    assert!(!told.contains(&token) && !told.contains(&daemon.token), "{told}");
}
