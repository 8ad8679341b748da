//! opencode's three stores, written while the real program follows them, is killed in the middle, and started again: every
//! block comes once with its final text, under one seq for whoever looks and whenever.
#![cfg(feature = "opencode-sqlite")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[path = "../../host/tests/feeding/mod.rs"]
mod feeding;
#[allow(dead_code, reason = "the list of what every daemon must do uses all of it")]
#[path = "../../conformance/daemon/machine.rs"]
mod machine;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use feeding::home::{Home, NOON, text};
use feeding::service::{Service, assistant, session_info, user};
use machine::{BOUND, Daemon, Machine, Socket};
use panewire_conformance::herdr::{Desk, Pane};
use panewire_host::Clock;
use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::{Value, json};

const PROGRAM: machine::Program =
    machine::Program { name: "panewire", path: env!("CARGO_BIN_EXE_panewire"), fake_herdr: "fake-herdr" };

/// The pane of the session in the database; those in the tree and with the service are asked for by their names.
const PANES: [&str; 3] = ["w1:p1", "opencode:ses_2", "opencode:ses_3"];

/// A turn is written in so many steps, and makes so many entries.
const STEPS: usize = 5;
const ENTRIES: u64 = 5;

/// What a turn says in the end.
fn said(turn: i64) -> [String; 5] {
    let [question, answer, call, output, end] = ["question", "answer", "ls", "output", "end"];
    [question, answer, call, output, end].map(|what| format!("{what} {turn}"))
}

/// The tool of a turn, in the form of parts.
fn tool(turn: i64, is_over: bool) -> Value {
    let mut state = json!({"status": "pending", "input": {}});
    if is_over {
        let [_, _, call, output, _] = said(turn);
        state = json!({"status": "completed", "input": {"command": call}, "output": output, "metadata": {"exit": 0}});
    }
    json!({"type": "tool", "tool": "bash", "callID": format!("call_{turn}"), "state": state})
}

/// The parts of the assistant's message after so many steps, and whether it is over.
fn parts(turn: i64, steps: usize) -> Vec<Value> {
    let [_, answer, _, _, end] = said(turn);
    match steps {
        0 => vec![],
        1 => vec![text(&answer[..4], false)],
        2 => vec![text(&answer, true), tool(turn, false)],
        3 => vec![text(&answer, true), tool(turn, true)],
        _ => vec![text(&answer, true), tool(turn, true), text(&end, true)],
    }
}

/// One writer for all stores: the same conversation in each.
struct Writer {
    home: Home,
    service: Service,
    messages: Vec<Value>,
    /// When it began, behind [`NOON`]: what nobody wrote to for ten minutes counts as ended.
    begun: i64,
}

impl Writer {
    /// One step of a turn, in every store.
    fn write(&mut self, turn: i64, step: usize) {
        let at = self.begun + turn * 10;
        let (question, answer) = (format!("msg_{at}"), format!("msg_{}", at + 1));
        let [asked, ..] = said(turn);
        let is_over = step + 1 == STEPS;
        let mut info = json!({"role": "assistant", "time": {"created": NOON + at + 1}});
        if is_over {
            info["time"]["completed"] = json!(NOON + at + 9);
        }
        let human = json!({"role": "user", "time": {"created": NOON + at}});
        let words = json!({"type": "text", "text": asked});
        if step == 0 {
            self.home.message(at, &question, &human);
            self.home.part(at, &question, &format!("prt_{at}"), &words);
            self.tree(&format!("message/ses_2/{question}"), &question, human);
            self.tree(&format!("part/{question}/prt_{at}"), &format!("prt_{at}"), words);
            self.messages.push(user(at, &asked));
        }
        // A message is there before its parts, and is over after them.
        if !is_over {
            self.home.message(at + 1, &answer, &info);
            self.tree(&format!("message/ses_2/{answer}"), &answer, info.clone());
        }
        for (n, part) in (0..).zip(parts(turn, step)) {
            let id = format!("prt_{at}_{n}");
            self.home.part(at + i64::try_from(step).unwrap(), &answer, &id, &part);
            self.tree(&format!("part/{answer}/{id}"), &id, part);
        }
        if is_over {
            self.home.message(at + 1, &answer, &info);
            self.tree(&format!("message/ses_2/{answer}"), &answer, info);
        }
        self.messages.truncate(usize::try_from(turn).unwrap() * 2 + 1);
        self.messages.push(of_service(turn, at + 1, step, is_over));
        let messages = self.messages.clone();
        self.service.answer(move |path: &str| match path.split('?').next().unwrap() {
            "/api/session/ses_3" => (200, json!({"data": session_info("ses_3", "/w")})),
            "/api/session/ses_3/message" => (200, page(&messages, path)),
            _ => (404, json!({})),
        });
        self.service.tell(&json!({"type": "message.updated", "properties": {"sessionID": "ses_3"}}));
    }

    /// A file of the tree, which is there in part for a moment.
    fn tree(&self, name: &str, id: &str, mut document: Value) {
        (document["id"], document["sessionID"]) = (json!(id), json!("ses_2"));
        let path = self.home.path("data/storage").join(name).with_extension("json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = document.to_string();
        fs::write(&path, &text[..text.len() / 2]).unwrap();
        fs::write(&path, text).unwrap();
    }
}

/// The assistant's message as the service holds it.
fn of_service(turn: i64, at: i64, steps: usize, is_over: bool) -> Value {
    let content = parts(turn, steps).into_iter().map(|mut part| {
        if part["type"] == "tool" {
            (part["name"], part["id"]) = (json!("bash"), part["callID"].clone());
        } else {
            part.as_object_mut().unwrap().remove("time");
        }
        part
    });
    assistant(at, is_over, content.collect())
}

/// The newest messages, or all of them: one page holds them.
fn page(messages: &[Value], path: &str) -> Value {
    let mut data = messages.to_vec();
    if path.contains("order=desc") {
        data.reverse();
        data.truncate(20);
    }
    json!({"data": data, "cursor": {"next": null}})
}

/// Somebody who sees a session, comes back, and remembers.
struct Client {
    pane: &'static str,
    socket: Option<Socket>,
    hello: Value,
    /// Of each seq the id and the text.
    seen: BTreeMap<u64, (String, String)>,
}

impl Client {
    fn watch(daemon: &Daemon, pane: &'static str) -> Self {
        let socket = Some(daemon.watch(&format!("{pane}&features=heartbeat")));
        Self { pane, socket, hello: Value::Null, seen: BTreeMap::new() }
    }

    /// Comes back with the last entry that it has seen.
    fn resume(&mut self, daemon: &Daemon) {
        let (seq, (id, _)) = self.seen.last_key_value().unwrap();
        let get = |key: &str| self.hello[key].as_str().unwrap();
        let (session, generation) = (get("session_id"), get("generation"));
        let back = format!(
            "{}&features=heartbeat&session={session}&generation={generation}&since_seq={seq}&since_id={}",
            self.pane,
            id.replace('#', "%23")
        );
        self.socket = Some(daemon.watch(&back));
    }

    /// Reads until it has seen so many entries.
    fn read_to(&mut self, entries: u64) {
        let socket = self.socket.as_mut().unwrap();
        let until = Instant::now() + BOUND * 2;
        while self.seen.last_key_value().is_none_or(|(seq, _)| *seq < entries) {
            // Heartbeats keep a connection that tells nothing else.
            assert!(Instant::now() < until, "{}: {:?}", self.pane, self.seen);
            let frame = socket.next();
            if frame.kind() == "hello" {
                self.hello = frame.json.clone();
            }
            let entry = &frame.json["entry"];
            if entry.is_null() {
                continue;
            }
            let words = [&entry["text"], &entry["tool"]["command"], &entry["result"]["output_summary"]];
            let words = words.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned();
            let before = self.seen.insert(frame.seq(), (entry["id"].as_str().unwrap().to_owned(), words));
            assert_eq!(before, None, "{}: {}", self.pane, frame.raw);
        }
    }

    fn texts(&self) -> Vec<String> {
        self.seen.values().map(|(_, text)| text.clone()).collect()
    }
}

fn all_said(turns: i64) -> Vec<String> {
    (0..turns).flat_map(said).collect()
}

/// Somebody else who writes to the database all the time, tidies it and numbers its rows anew.
fn noise(path: &str, is_over: &AtomicBool) {
    let other = Connection::open(path).unwrap();
    other.busy_timeout(Duration::from_secs(30)).unwrap();
    for n in 0..20_000 {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let id = format!("noise_{n}");
        let sql = "INSERT INTO message VALUES (?1, 'ses_9', ?2, ?2, '{}')";
        other.execute(sql, (&id, NOON + n)).unwrap();
        if n % 50 == 49 {
            // Whoever reads at this moment is in its way.
            let _ = other.execute("DELETE FROM message WHERE session_id = 'ses_9' AND rowid % 3 = 0", ());
            let _ = other.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
        }
        thread::yield_now();
    }
}

/// A machine on which all three stores are where opencode has them.
fn machine_with(home: &Home) -> Machine {
    let desk =
        Desk { panes: vec![Pane::claude(PANES[0], "/w").of_kind("opencode").with_session("ses_1")], ..Desk::default() };
    let machine = Machine::new(&desk);
    for (place, name) in [("/home/u/.local/share/opencode", "data"), ("/home/u/.local/state/opencode", "state")] {
        std::os::unix::fs::symlink(home.path(name), machine.real(place)).unwrap();
    }
    machine
}

#[test]
fn every_block_comes_once_with_its_final_text_whatever_happens_to_stores_and_daemon() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    home.put_file("session/p/ses_2", &json!({"id": "ses_2", "directory": "/w"}));
    let machine = machine_with(&home);
    let service = Service::start(&home, |_: &str| (404, Value::Null));
    service.begin_to_tell();
    let database = home.text("data/opencode.db");
    let begun = Clock::start().now().wall.0 - NOON;
    let mut writer = Writer { home, service, messages: Vec::new(), begun };
    let is_over = Arc::new(AtomicBool::new(false));
    let noisy = {
        let is_over = Arc::clone(&is_over);
        thread::spawn(move || noise(&database, &is_over))
    };
    let mut turns = 0..;
    let mut next_turn = || turns.next().unwrap();

    // Live, turn by turn.
    writer.write(next_turn(), 0);
    let daemon = machine.start(&[]);
    let mut clients = PANES.map(|pane| Client::watch(&daemon, pane));
    (1..STEPS).for_each(|step| writer.write(0, step));
    for written in 1..5_i64 {
        clients.iter_mut().for_each(|client| client.read_to(u64::try_from(written).unwrap() * ENTRIES));
        let turn = next_turn();
        (0..STEPS).for_each(|step| writer.write(turn, step));
    }
    // Killed in the middle of a turn, which goes on meanwhile.
    let turn = next_turn();
    (0..3).for_each(|step| writer.write(turn, step));
    clients.iter_mut().for_each(|client| client.read_to(5 * ENTRIES + 2));
    // Its end is that of a program that is killed.
    drop(daemon);
    (3..STEPS).for_each(|step| writer.write(turn, step));
    let turn = next_turn();
    (0..STEPS).for_each(|step| writer.write(turn, step));
    let daemon = machine.start(&[]);
    for client in &mut clients {
        client.resume(&daemon);
        client.read_to(7 * ENTRIES);
        assert_eq!(client.hello["resumed"], true, "{}", client.pane);
    }
    let turn = next_turn();
    (0..STEPS).for_each(|step| writer.write(turn, step));
    for client in &mut clients {
        client.read_to(8 * ENTRIES);
        assert_eq!(client.texts(), all_said(8), "{}", client.pane);
        // Whoever comes now sees the same under the same numbers.
        let mut another = Client::watch(&daemon, client.pane);
        another.read_to(8 * ENTRIES);
        assert_eq!(another.seen, client.seen, "{}", client.pane);
    }
    assert!(writer.service.take_asked().contains(&"/event".to_owned()));
    is_over.store(true, Ordering::Relaxed);
    noisy.join().unwrap();

    // The service hangs, the database is locked, the tree is gone: what was shown is shown.
    writer.service.answer(|_: &str| {
        loop {
            thread::park();
        }
    });
    // Its end is that of a program that is killed.
    drop(daemon);
    fs::rename(writer.home.path("data/storage"), writer.home.path("away")).unwrap();
    writer.home.connection().execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT").unwrap();
    let daemon = machine.start(&[]);
    for client in &mut clients {
        let mut another = Client::watch(&daemon, client.pane);
        another.read_to(8 * ENTRIES);
        assert_eq!((&another.seen, &another.hello["generation"]), (&client.seen, &client.hello["generation"]));
        client.resume(&daemon);
    }
    // The database and the tree are there again: they go on where they were.
    writer.home.connection().execute_batch("PRAGMA locking_mode = NORMAL; SELECT count(*) FROM session").unwrap();
    fs::rename(writer.home.path("away"), writer.home.path("data/storage")).unwrap();
    let turn = next_turn();
    (0..STEPS).for_each(|step| writer.write(turn, step));
    for client in clients.iter_mut().take(2) {
        client.read_to(9 * ENTRIES);
        assert_eq!(client.texts(), all_said(9), "{}", client.pane);
    }
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait(), Some(0));
}
