//! The database and the service of opencode, really asked: a SQLite file that the test makes, and a small HTTP server on
//! loopback that answers as the service does.
#![cfg(feature = "opencode-sqlite")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod feeding;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use feeding::{Feeding, said};
use panewire_core::agent::AgentKind;
use panewire_core::agent::locate::{Locate, LocateError, Located, Wanted};
use panewire_core::agent::sessions::Sessions;
use panewire_core::config::{Config, Roots};
use panewire_core::ids::SessionId;
use panewire_core::source::spool::Stored;
use panewire_host::Clock;
use rusqlite::Connection;
use serde_json::{Value, json};

/// A moment that is long ago.
const NOON: i64 = 1_784_545_397_000;

/// A home directory with opencode in it.
struct Home {
    directory: tempfile::TempDir,
    database: Option<Connection>,
}

impl Home {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["data", "state", "ours"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory, database: None }
    }

    /// The same with a database, as opencode leaves it while it runs.
    fn with_database() -> Self {
        let mut home = Self::new();
        let connection = Connection::open(home.path("data/opencode.db")).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL;
                CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT,
                    time_created INTEGER, time_updated INTEGER);
                CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER,
                    data TEXT);
                CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
                    time_updated INTEGER, data TEXT);
                CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, time_created INTEGER,
                    time_updated INTEGER, data TEXT);",
            )
            .unwrap();
        home.database = Some(connection);
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn roots(&self) -> Roots {
        Roots { opencode: self.text("data"), opencode_state: self.text("state"), ..Roots::below(&self.text("nobody")) }
    }

    fn config(&self) -> Config {
        feeding::config(self.roots(), &self.text("ours"))
    }

    fn put(&self, sql: &str, values: impl rusqlite::Params) {
        self.database.as_ref().unwrap().execute(sql, values).unwrap();
    }

    fn session(&self, id: &str, parent: Option<&str>, directory: &str, updated: i64) {
        let sql = "INSERT INTO session VALUES (?1, 'p', ?2, ?3, 'a title', ?4, ?4)";
        self.put(sql, (id, parent, directory, NOON + updated));
    }

    fn message(&self, at: i64, id: &str, data: &Value) {
        let sql = "INSERT OR REPLACE INTO message VALUES (?1, 'ses_1', ?2, ?2, ?3)";
        self.put(sql, (id, NOON + at, data.to_string()));
    }

    fn part(&self, at: i64, message: &str, id: &str, data: &Value) {
        let sql = "INSERT OR REPLACE INTO part VALUES (?1, ?2, 'ses_1', ?3, ?4, ?5)";
        let created: Option<i64> = self.database.as_ref().and_then(|database| {
            database.query_row("SELECT time_created FROM part WHERE id = ?1", [id], |row| row.get(0)).ok()
        });
        self.put(sql, (id, message, created.unwrap_or(NOON + at), NOON + at, data.to_string()));
    }

    fn locate(&self, cwd: Option<&str>, wanted: &Wanted) -> Result<Located, LocateError> {
        let mut locate = Locate::new(AgentKind::Opencode, &self.roots(), cwd, wanted);
        panewire_host::blocking::settle(&mut locate, Locate::take_result).unwrap()
    }

    fn feed(&self, located: &Located) -> Feeding {
        let Located { path, under, session, recorded_cwd: directory, .. } = located.clone();
        let stored = Stored { kind: AgentKind::Opencode, session, path, under, exists: true, directory };
        Feeding::of(stored, &self.config())
    }
}

fn by_id(id: &str) -> Wanted {
    Wanted::Session(SessionId::from(id))
}

fn text(text: &str, ended: bool) -> Value {
    let mut part = json!({"type": "text", "text": text, "time": {"start": NOON}});
    if ended {
        part["time"]["end"] = json!(NOON + 1);
    }
    part
}

#[test]
fn the_database_is_followed_by_what_has_settled() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    home.message(0, "msg_z", &json!({"role": "user", "time": {"created": NOON}}));
    home.part(0, "msg_z", "prt_1", &json!({"type": "text", "text": "look around"}));
    home.message(1, "msg_a", &json!({"role": "assistant", "time": {"created": NOON + 1}}));
    let now = Clock::start().now().wall.0;
    home.part(now - NOON, "msg_a", "prt_2", &text("I am loo", false));
    let mut feeding = home.feed(&home.locate(Some("/w"), &by_id("ses_1")).unwrap());
    assert_eq!(feeding.texts(), ["user: look around"]);
    home.part(now - NOON + 5, "msg_a", "prt_2", &text("I am looking", true));
    let edit = json!({"type": "tool", "tool": "edit", "callID": "call_1", "state": {"status": "completed",
        "input": {"filePath": "/w/a.rs", "oldString": "a", "newString": "b"}, "output": "done",
        "metadata": {"diff": "Index: /w/a.rs\n===\n--- /w/a.rs\n+++ /w/a.rs\n@@ -1,1 +1,1 @@\n-a\n+b\n"}}});
    home.part(now - NOON + 6, "msg_a", "prt_3", &edit);
    let expected = [
        "user: look around",
        "assistant: I am looking",
        "assistant: edit /w/a.rs",
        "user: true done\n@@ -1,1 +1,1 @@\n-a\n+b",
    ];
    assert_eq!(feeding.texts(), expected);
    // The message ends: nothing more is said, and a look costs one question.
    home.message(1, "msg_a", &json!({"role": "assistant", "time": {"created": NOON + 1, "completed": NOON + 9}}));
    assert_eq!(feeding.texts(), expected);
    assert_eq!(feeding.texts(), expected);
    assert_eq!(
        feeding.asked,
        ["Open", "Stat", "Stat", "Query"],
        "the service's file, the database's, and one question"
    );
    // After a restart too.
    let mut again = home.feed(&home.locate(Some("/w"), &by_id("ses_1")).unwrap());
    assert_eq!(again.texts(), expected);
    assert!(again.troubles.is_empty() && feeding.troubles.is_empty(), "{:?}", again.troubles);
}

#[test]
fn a_session_of_many_messages_comes_whole_and_in_order() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    // Ids run down while time runs up.
    for n in 0..50_i64 {
        let (id, at) = (format!("msg_{:03}", 900 - n), n / 2);
        home.message(at, &id, &json!({"role": "user", "time": {"created": NOON + at}}));
        home.part(at, &id, &format!("prt_{n}"), &json!({"type": "text", "text": format!("{at} {id}")}));
    }
    let mut feeding = home.feed(&home.locate(None, &by_id("ses_1")).unwrap());
    let mut expected: Vec<(i64, String)> = (0..50_i64).map(|n| (n / 2, format!("msg_{:03}", 900 - n))).collect();
    expected.sort();
    let expected: Vec<String> = expected.into_iter().map(|(at, id)| format!("user: {at} {id}")).collect();
    assert_eq!(feeding.texts(), expected);
}

#[test]
fn a_message_that_is_stored_late_is_shown_late_and_once() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    let say = |at: i64, id: &str| {
        home.message(at, id, &json!({"role": "user", "time": {"created": NOON + at}}));
        home.part(at, id, &format!("prt_{id}"), &json!({"type": "text", "text": id}));
    };
    say(100, "one");
    say(200, "two");
    let located = home.locate(None, &by_id("ses_1")).unwrap();
    let mut feeding = home.feed(&located);
    assert_eq!(feeding.texts(), ["user: one", "user: two"]);
    // A clock was set back.
    say(50, "three");
    assert_eq!(feeding.texts(), ["user: one", "user: two", "user: three"]);
    assert!(feeding.troubles.is_empty(), "{:?}", feeding.troubles);
    drop(feeding);
    say(150, "four");
    let mut again = home.feed(&located);
    assert_eq!(again.texts(), ["user: one", "user: two", "user: three", "user: four"]);
    assert_eq!(again.texts(), ["user: one", "user: two", "user: three", "user: four"]);
    assert!(again.troubles.is_empty(), "{:?}", again.troubles);
}

#[test]
fn a_text_that_is_none_is_marked() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    home.message(0, "msg_1", &json!({"role": "user", "time": {"created": NOON}}));
    home.part(0, "msg_1", "prt_1", &json!({"type": "text", "text": 5}));
    home.part(1, "msg_1", "prt_2", &json!({"type": "text", "text": "well"}));
    let mut feeding = home.feed(&home.locate(None, &by_id("ses_1")).unwrap());
    let expected = ["system: unknown block type \"text\": {\"text\":5,\"type\":\"text\"}", "user: well"];
    assert_eq!(feeding.texts(), expected);
}

#[test]
fn a_directory_is_found_by_a_link_that_leads_to_it() {
    let home = Home::with_database();
    let (real, link) = (home.path("project"), home.path("link"));
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    home.session("ses_1", None, real.to_str().unwrap(), 1);
    home.session("ses_2", None, home.path("data").to_str().unwrap(), 2);
    for wanted in [Wanted::Newest, by_id("ses_1")] {
        let found = home.locate(link.to_str(), &wanted).map(|located| located.session);
        assert_eq!(found, Ok(SessionId::from("ses_1")), "{wanted:?}");
    }
    assert_eq!(home.locate(link.to_str(), &by_id("ses_2")), Err(LocateError::NoFile));
}

#[test]
fn where_only_the_newer_table_holds_a_session_that_is_read() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    let put = |at: i64, id: &str, kind: &str, data: Value| {
        let sql = "INSERT INTO session_message VALUES (?1, 'ses_1', ?2, ?3, ?3, ?4)";
        home.put(sql, (id, kind, NOON + at, data.to_string()));
    };
    put(0, "msg_1", "user", json!({"text": "hello"}));
    put(1, "msg_2", "agent-switched", json!({"agent": "plan"}));
    put(2, "msg_3", "assistant", json!({"content": [{"type": "text", "text": "hi"}], "time": {"completed": NOON + 3}}));
    let mut feeding = home.feed(&home.locate(None, &by_id("ses_1")).unwrap());
    assert_eq!(feeding.texts(), ["user: hello", "assistant: hi"]);
}

#[test]
fn sessions_are_found_in_every_generation_and_never_one_for_another() {
    let mut home = Home::with_database();
    home.session("ses_old", None, "/w", 1);
    home.session("ses_new", None, "/w", 2);
    home.session("ses_child", Some("ses_new"), "/w", 3);
    home.session("ses_else", None, "/else", 4);
    let tree = home.path("data/storage/session/p");
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(tree.join("ses_tree.json"), json!({"id": "ses_tree", "directory": "/t"}).to_string()).unwrap();
    let found = |cwd: Option<&str>, wanted: &Wanted| {
        home.locate(cwd, wanted).map(|located| located.session.as_str().to_owned())
    };
    assert_eq!(found(Some("/w"), &Wanted::Newest).as_deref(), Ok("ses_new"));
    assert_eq!(found(Some("/t/"), &Wanted::Newest).as_deref(), Ok("ses_tree"));
    assert_eq!(found(Some("/nowhere"), &Wanted::Newest), Err(LocateError::NoFile));
    for id in ["ses_old", "ses_new", "ses_child", "ses_tree"] {
        assert_eq!(found(None, &by_id(id)).as_deref(), Ok(id));
    }
    assert_eq!(found(None, &by_id("ses_unknown")), Err(LocateError::NoFile));
    assert_eq!(found(Some("/w"), &by_id("ses_else")), Err(LocateError::NoFile));
    let mut sessions = Sessions::new(&home.roots(), &[AgentKind::Opencode], 10);
    let newest = panewire_host::blocking::settle(&mut sessions, Sessions::take_result).unwrap();
    let ids: Vec<&str> = newest.files.iter().map(|file| file.session.as_str()).collect();
    // The tree's file was made just now.
    assert_eq!(ids, ["ses_tree", "ses_else", "ses_new", "ses_old"]);
    home.database = None;
    std::fs::remove_file(home.path("data/opencode.db")).unwrap();
    assert_eq!(home.locate(None, &by_id("ses_new")), Err(LocateError::NoFile));
}

/// What a server answers to a path with its query: a status and a body.
type Answers = dyn Fn(&str) -> (u16, Value) + Send + Sync;

/// A server on loopback that answers every request as the service does, and notes what it was asked.
struct Service {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
    answers: Arc<Mutex<Arc<Answers>>>,
}

impl Service {
    fn start(home: &Home, answers: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let answers: Arc<Mutex<Arc<Answers>>> = Arc::new(Mutex::new(Arc::new(answers)));
        let (noted, served) = (Arc::clone(&asked), Arc::clone(&answers));
        // It ends with the test.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let answers = Arc::clone(&served.lock().unwrap());
                serve(&stream.unwrap(), &noted, &*answers);
            }
        });
        let service = Self { url, asked, answers };
        service.announce(home, std::process::id());
        service
    }

    /// Says where it is, as the process of this number.
    fn announce(&self, home: &Home, pid: u32) {
        let said = json!({"id": "s", "version": "2.0.1", "url": self.url, "pid": pid, "password": "pass:word"});
        std::fs::write(home.path("state/service.json"), said.to_string()).unwrap();
    }

    fn answer(&self, answers: impl Fn(&str) -> (u16, Value) + Send + Sync + 'static) {
        *self.answers.lock().unwrap() = Arc::new(answers);
    }

    fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn serve(mut stream: &TcpStream, asked: &Mutex<Vec<String>>, answers: &Answers) {
    let mut reader = BufReader::new(stream);
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
    let (status, body) = if authorized { answers(&path) } else { (401, json!({"error": "unauthorized"})) };
    asked.lock().unwrap().push(path);
    let body = body.to_string();
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

fn session_info(id: &str, directory: &str) -> Value {
    json!({"id": id, "title": "a title", "location": {"directory": directory}, "time": {"created": NOON, "updated": NOON + 5}})
}

/// The messages of a session as the service pages them: `order` and `limit`, or a cursor.
fn paged(messages: &[Value], path: &str, key: &str) -> Value {
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

fn user(at: i64, text: &str) -> Value {
    json!({"id": format!("msg_{at:03}"), "type": "user", "text": text, "time": {"created": NOON + at}})
}

fn assistant(at: i64, completed: bool, content: Value) -> Value {
    let mut message =
        json!({"id": format!("msg_{at:03}"), "type": "assistant", "content": content, "time": {"created": NOON + at}});
    if completed {
        message["time"]["completed"] = json!(NOON + at + 1);
    }
    message
}

fn bash(status: &str) -> Value {
    let mut tool = json!({"type": "tool", "id": "call_1", "name": "bash", "time": {"created": NOON},
        "state": {"status": status, "input": {"command": "ls"}}});
    if status == "completed" {
        tool["state"]["content"] = json!([{"type": "text", "text": "a.txt"}]);
        tool["state"]["structured"] = json!({"exit": 0});
    }
    tool
}

fn serving(messages: Vec<Value>) -> impl Fn(&str) -> (u16, Value) {
    move |path: &str| match path.split('?').next().unwrap() {
        "/api/session/ses_1" => (200, json!({"data": session_info("ses_1", "/w")})),
        "/api/session/ses_1/message" => (200, paged(&messages, path, "data")),
        "/api/session" => (200, json!({"items": [session_info("ses_1", "/w"), session_info("ses_2", "/else")]})),
        _ => (404, json!({"error": "not found"})),
    }
}

#[test]
fn the_service_is_followed_by_what_has_settled() {
    let home = Home::new();
    let mut messages = vec![user(0, "hello"), assistant(1, false, json!([{"type": "text", "text": "I a"}]))];
    let service = Service::start(&home, serving(messages.clone()));
    let located = home.locate(Some("/w"), &by_id("ses_1")).unwrap();
    assert_eq!(located.recorded_cwd.as_deref(), Some("/w"));
    let mut feeding = home.feed(&located);
    assert_eq!(feeding.texts(), ["user: hello"]);
    messages[1] = assistant(1, false, json!([{"type": "text", "text": "I am"}, bash("running")]));
    service.answer(serving(messages.clone()));
    assert_eq!(feeding.texts(), ["user: hello", "assistant: I am", "assistant: bash ls"]);
    messages[1] = assistant(
        1,
        true,
        json!([{"type": "text", "text": "I am"}, bash("completed"), {"type": "text", "text": "done"}]),
    );
    service.answer(serving(messages.clone()));
    let expected = ["user: hello", "assistant: I am", "assistant: bash ls", "user: true a.txt", "assistant: done"];
    assert_eq!(feeding.texts(), expected);
    service.take_asked();
    assert_eq!(feeding.texts(), expected);
    assert_eq!(service.take_asked(), ["/api/session/ses_1/message?limit=20&order=desc"], "one page is enough");
    assert!(feeding.troubles.is_empty(), "{:?}", feeding.troubles);
}

#[test]
fn a_long_session_is_read_page_by_page_and_then_by_its_newest_page_alone() {
    let home = Home::new();
    let messages: Vec<Value> = (0..450).map(|at| user(at, &format!("no {at}"))).collect();
    let service = Service::start(&home, serving(messages));
    let mut feeding = home.feed(&home.locate(None, &by_id("ses_1")).unwrap());
    let expected: Vec<String> = (0..450).map(|at| format!("user: no {at}")).collect();
    assert_eq!(feeding.texts(), expected);
    let pages = [
        "/api/session/ses_1",
        "/api/session/ses_1/message?limit=200&order=asc",
        "/api/session/ses_1/message?limit=200&cursor=c%2B200",
        "/api/session/ses_1/message?limit=200&cursor=c%2B400",
    ];
    assert_eq!(service.take_asked(), pages);
    feeding.look();
    assert_eq!(service.take_asked(), ["/api/session/ses_1/message?limit=20&order=desc"]);
}

#[test]
fn every_type_of_message_has_its_entry() {
    let home = Home::new();
    let error = json!({"name": "ProviderError", "data": {"message": "no credit"}});
    let mut failed = assistant(6, true, json!([]));
    failed["error"] = error;
    let messages = vec![
        json!({"id": "msg_000", "type": "user", "text": "see this", "time": {"created": NOON},
            "files": [{"mime": "image/png", "uri": "data:xyz"}, {"mime": "text/plain", "name": "a.txt"}]}),
        json!({"id": "msg_001", "type": "synthetic", "text": "file contents", "time": {"created": NOON + 1}}),
        json!({"id": "msg_002", "type": "system", "text": "a rule", "time": {"created": NOON + 2}}),
        json!({"id": "msg_003", "type": "shell", "callID": "c", "command": "pwd", "output": "/w\n",
            "time": {"created": NOON + 3, "completed": NOON + 4}}),
        json!({"id": "msg_004", "type": "compaction", "reason": "auto", "summary": "all was well", "time": {"created": NOON + 4}}),
        json!({"id": "msg_005", "type": "model-switched", "time": {"created": NOON + 5}}),
        failed,
        assistant(
            7,
            true,
            json!([{"type": "reasoning", "text": "hm"}, {"type": "step-start"}, {"type": "riddle", "text": "what am I?"},
            {"type": "tool", "id": "call_2", "name": "read", "state": {"status": "error", "input": {"filePath": "/w/b"}, "error": {"message": "no such file"}}}]),
        ),
        json!({"id": "msg_008", "type": "prophecy", "text": "it will rain", "time": {"created": NOON + 8}}),
    ];
    let _service = Service::start(&home, serving(messages));
    let mut feeding = home.feed(&home.locate(None, &by_id("ses_1")).unwrap());
    let entries = feeding.look();
    let texts: Vec<String> = entries.iter().map(said).collect();
    let expected = [
        "user: see this",
        "user: [image]",
        "user: [a.txt]",
        "system: file contents",
        "system: a rule",
        "user: !pwd",
        "system: /w",
        "system: Conversation compacted\n\nall was well",
        "system: no credit",
        "assistant: (hm)",
        "system: unknown block type \"riddle\": what am I?",
        "assistant: read /w/b",
        "user: false no such file",
        "system: unknown block type \"prophecy\": it will rain",
    ];
    assert_eq!(texts, expected);
    let unplaced: Vec<bool> = entries.iter().map(|entry| entry.parsed).collect();
    assert_eq!(unplaced.iter().filter(|parsed| !**parsed).count(), 2);
    let drift: Vec<String> = feeding.feed.take_drift().rows().map(|row| row.name.to_owned()).collect();
    assert_eq!(drift, ["prophecy", "riddle"]);
}

#[test]
fn a_service_whose_process_is_gone_gets_no_password() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    home.message(0, "msg_1", &json!({"role": "user", "time": {"created": NOON}}));
    home.part(0, "msg_1", "prt_1", &json!({"type": "text", "text": "from the database"}));
    let service = Service::start(&home, serving(vec![user(0, "from the service")]));
    if Path::new("/proc/self").exists() {
        service.announce(&home, 0x7fff_fff0);
        let located = home.locate(Some("/w"), &by_id("ses_1")).unwrap();
        assert!(located.path.ends_with("/opencode.db"), "{}", located.path);
        assert_eq!(home.feed(&located).texts(), ["user: from the database"]);
        assert_eq!(service.take_asked(), [""; 0]);
    }
    // A wrong password is a trouble, and the database is asked all the same.
    service.announce(&home, std::process::id());
    let said = std::fs::read_to_string(home.path("state/service.json")).unwrap().replace("pass:word", "other");
    std::fs::write(home.path("state/service.json"), said).unwrap();
    let mut feeding = home.feed(&home.locate(Some("/w"), &by_id("ses_1")).unwrap());
    assert_eq!(feeding.texts(), ["user: from the database"]);
    assert!(feeding.troubles.iter().any(|text| text.contains("answers 401")), "{:?}", feeding.troubles);
}

#[test]
fn when_the_service_ends_the_database_goes_on_where_it_was() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    let service = Service::start(
        &home,
        serving(vec![user(0, "one"), assistant(1, true, json!([{"type": "text", "text": "two"}]))]),
    );
    let mut feeding = home.feed(&home.locate(Some("/w"), &by_id("ses_1")).unwrap());
    assert_eq!(feeding.texts(), ["user: one", "assistant: two"]);
    std::fs::remove_file(home.path("state/service.json")).unwrap();
    drop(service);
    // The same messages, with the same ids and times, in parts; and one more.
    home.message(0, "msg_000", &json!({"role": "user"}));
    home.part(0, "msg_000", "prt_0", &json!({"type": "text", "text": "one"}));
    home.message(1, "msg_001", &json!({"role": "assistant", "time": {"completed": NOON + 2}}));
    home.part(1, "msg_001", "prt_1", &text("two", true));
    home.message(5, "msg_005", &json!({"role": "user"}));
    home.part(5, "msg_005", "prt_5", &json!({"type": "text", "text": "three"}));
    assert_eq!(feeding.texts(), ["user: one", "assistant: two", "user: three"]);
}
