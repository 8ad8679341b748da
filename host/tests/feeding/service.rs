//! A small HTTP server on loopback that answers as opencode's service does.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::home::{Home, NOON};

/// What a server answers to a path with its query: a status and a body.
pub(crate) type Answers = dyn Fn(&str) -> (u16, Value) + Send + Sync;

/// A server on loopback that answers every request as the service does, and notes what it was asked.
pub(crate) struct Service {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
    answers: Arc<Mutex<Arc<Answers>>>,
    /// Those who listen to its events; none if it has no events.
    listeners: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl Service {
    pub(crate) fn start(home: &Home, answers: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answers: Arc<Mutex<Arc<Answers>>> = Arc::new(Mutex::new(Arc::new(answers)));
        let listeners = Arc::new(Mutex::new(None));
        let (noted, served, told) = (Arc::clone(&asked), Arc::clone(&answers), Arc::clone(&listeners));
        // It ends with the test.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let answers = Arc::clone(&served.lock().unwrap());
                let (noted, told) = (Arc::clone(&noted), Arc::clone(&told));
                thread::spawn(move || serve(stream.unwrap(), &noted, &*answers, &told));
            }
        });
        let service = Self { url, asked, answers, listeners };
        service.announce(home, std::process::id());
        service
    }

    /// Says where it is, as the process of this number.
    pub(crate) fn announce(&self, home: &Home, pid: u32) {
        let said = json!({"id": "s", "version": "2.0.1", "url": self.url, "pid": pid, "password": "pass:word"});
        std::fs::write(home.path("state/service.json"), said.to_string()).unwrap();
    }

    pub(crate) fn answer(&self, answers: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static) {
        *self.answers.lock().unwrap() = Arc::new(answers);
    }

    /// From now on it has events.
    pub(crate) fn begin_to_tell(&self) {
        *self.listeners.lock().unwrap() = Some(Vec::new());
    }

    /// Tells an event to all who listen.
    pub(crate) fn tell(&self, event: &Value) {
        if let Some(listeners) = &mut *self.listeners.lock().unwrap() {
            listeners.retain_mut(|stream| write!(stream, "data: {event}\n\n").is_ok());
        }
    }

    pub(crate) fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn serve(
    mut stream: TcpStream,
    asked: &Mutex<Vec<String>>,
    answers: &Answers,
    listeners: &Mutex<Option<Vec<TcpStream>>>,
) {
    let mut reader = BufReader::new(&stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 || line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let path = lines[0].split(' ').nth(1).unwrap().to_owned();
    // base64 of `opencode:pass:word`.
    let authorized = lines.iter().any(|line| line == "authorization: Basic b3BlbmNvZGU6cGFzczp3b3Jk");
    if let (true, "/event", Some(listeners)) = (authorized, path.as_str(), &mut *listeners.lock().unwrap()) {
        asked.lock().unwrap().push(path);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let connected = "data: {\"type\":\"server.connected\"}\n\n";
        if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(connected.as_bytes())).is_ok() {
            listeners.push(stream);
        }
        return;
    }
    let (status, body) = if authorized { answers(&path) } else { (401, json!({"error": "unauthorized"})) };
    asked.lock().unwrap().push(path);
    let body = body.to_string();
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

pub(crate) fn session_info(id: &str, directory: &str) -> Value {
    json!({"id": id, "title": "a title", "location": {"directory": directory}, "time": {"created": NOON, "updated": NOON + 5}})
}

/// The messages of a session as the service pages them: `order` and `limit`, or a cursor.
pub(crate) fn paged(messages: &[Value], path: &str, key: &str) -> Value {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    let get = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let limit: usize = get("limit").unwrap().parse().unwrap();
    assert!(limit <= 200 && get("cursor").is_none_or(|_| get("order").is_none()), "{path}");
    let mut ordered = messages.to_vec();
    let mut from = 0;
    if let Some(cursor) = get("cursor") {
        from = cursor.strip_prefix("c%2B").unwrap().parse().unwrap();
    } else if get("order") == Some("desc") {
        ordered.reverse();
    }
    let page: Vec<Value> = ordered.iter().skip(from).take(limit).cloned().collect();
    let end = from + page.len();
    let next = (end < ordered.len() && get("order") != Some("desc")).then(|| format!("c+{end}"));
    let more = (end < ordered.len()).then(|| "more".to_owned());
    json!({key: page, "cursor": {"previous": null, "next": next.or(more)}})
}

pub(crate) fn user(at: i64, text: &str) -> Value {
    json!({"id": format!("msg_{at:03}"), "type": "user", "text": text, "time": {"created": NOON + at}})
}

pub(crate) fn assistant(at: i64, completed: bool, content: Value) -> Value {
    let mut message =
        json!({"id": format!("msg_{at:03}"), "type": "assistant", "content": content, "time": {"created": NOON + at}});
    if completed {
        message["time"]["completed"] = json!(NOON + at + 1);
    }
    message
}

pub(crate) fn bash(status: &str) -> Value {
    let mut tool = json!({"type": "tool", "id": "call_1", "name": "bash", "time": {"created": NOON},
        "state": {"status": status, "input": {"command": "ls"}}});
    if status == "completed" {
        tool["state"]["content"] = json!([{"type": "text", "text": "a.txt"}]);
        tool["state"]["structured"] = json!({"exit": 0});
    }
    tool
}

pub(crate) fn serving(messages: Vec<Value>) -> impl Fn(&str) -> (u16, Value) {
    move |path: &str| match path.split('?').next().unwrap() {
        "/api/session/ses_1" => (200, json!({"data": session_info("ses_1", "/w")})),
        "/api/session/ses_1/message" => (200, paged(&messages, path, "data")),
        "/api/session" => (200, json!({"items": [session_info("ses_1", "/w"), session_info("ses_2", "/else")]})),
        _ => (404, json!({"error": "not found"})),
    }
}
