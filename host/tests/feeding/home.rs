//! A home directory with opencode in it.

use std::path::PathBuf;

use panewire_core::agent::AgentKind;
use panewire_core::agent::locate::{Locate, LocateError, Located, Wanted};
use panewire_core::config::{Config, Roots};
use panewire_core::ids::SessionId;
use panewire_core::source::spool::Stored;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::Feeding;

/// A moment that is long ago.
pub(crate) const NOON: i64 = 1_784_545_397_000;

/// The indexes of the versions of its database.
pub(crate) const INDEXES: [(&str, &str); 4] = [
    (
        "until March 2026",
        "CREATE INDEX messages ON message (session_id);
        CREATE INDEX parts ON part (message_id);
        CREATE INDEX parts_of_session ON part (session_id);
        CREATE INDEX documents ON session_message (session_id);",
    ),
    (
        "since March 2026",
        "CREATE INDEX messages ON message (session_id, time_created, id);
        CREATE INDEX parts ON part (message_id, id);
        CREATE INDEX parts_of_session ON part (session_id);
        CREATE INDEX documents ON session_message (session_id, time_created, id);
        CREATE INDEX documents_by_time ON session_message (time_created);",
    ),
    (
        "since May 2026",
        "ALTER TABLE session_message ADD COLUMN seq INTEGER;
        CREATE INDEX messages ON message (session_id, time_created, id);
        CREATE INDEX parts ON part (message_id, id);
        CREATE INDEX parts_of_session ON part (session_id);
        CREATE UNIQUE INDEX documents ON session_message (session_id, seq);",
    ),
    ("without an index of messages", "CREATE INDEX parts ON part (message_id);"),
];

/// A home directory with opencode in it.
pub(crate) struct Home {
    directory: tempfile::TempDir,
    database: Option<Connection>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["data", "state", "ours"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory, database: None }
    }

    /// The same with a database, as opencode leaves it while it runs.
    pub(crate) fn with_database() -> Self {
        Self::with_indexes(INDEXES[1].1)
    }

    /// The same with the indexes of one of its versions.
    pub(crate) fn with_indexes(indexes: &str) -> Self {
        let mut home = Self::new();
        home.database = Some(home.make_database("opencode.db", indexes));
        home
    }

    /// Another build's database becomes the one that is written.
    pub(crate) fn switch_to(&mut self, name: &str) {
        self.database = Some(self.make_database(name, INDEXES[1].1));
    }

    fn make_database(&self, name: &str, indexes: &str) -> Connection {
        let connection = Connection::open(self.path("data").join(name)).unwrap();
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
        connection.execute_batch(indexes).unwrap();
        connection.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
        connection
    }

    /// What the database is written through.
    pub(crate) fn connection(&self) -> &Connection {
        self.database.as_ref().unwrap()
    }

    /// The database is gone.
    pub(crate) fn lose_database(&mut self) {
        self.database = None;
        for name in ["opencode.db", "opencode.db-wal", "opencode.db-shm"] {
            let _ = std::fs::remove_file(self.path("data").join(name));
        }
    }

    /// A file of the JSON tree.
    pub(crate) fn put_file(&self, name: &str, document: &Value) {
        let path = self.path("data/storage").join(name).with_extension("json");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, document.to_string()).unwrap();
    }

    /// A message that is a whole document, in the newer table.
    pub(crate) fn document(&self, at: i64, id: &str, kind: &str, data: &Value) {
        let sql = "INSERT INTO session_message (id, session_id, type, time_created, time_updated, data)
            VALUES (?1, 'ses_1', ?2, ?3, ?3, ?4)";
        self.put(sql, (id, kind, NOON + at, data.to_string()));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots { opencode: self.text("data"), opencode_state: self.text("state"), ..Roots::below(&self.text("nobody")) }
    }

    pub(crate) fn config(&self) -> Config {
        super::config(self.roots(), &self.text("ours"))
    }

    pub(crate) fn put(&self, sql: &str, values: impl rusqlite::Params) {
        self.connection().execute(sql, values).unwrap();
    }

    pub(crate) fn session(&self, id: &str, parent: Option<&str>, directory: &str, updated: i64) {
        let sql = "INSERT INTO session VALUES (?1, 'p', ?2, ?3, 'a title', ?4, ?4)";
        self.put(sql, (id, parent, directory, NOON + updated));
    }

    pub(crate) fn message(&self, at: i64, id: &str, data: &Value) {
        let sql = "INSERT OR REPLACE INTO message VALUES (?1, 'ses_1', ?2, ?2, ?3)";
        self.put(sql, (id, NOON + at, data.to_string()));
    }

    pub(crate) fn part(&self, at: i64, message: &str, id: &str, data: &Value) {
        let sql = "INSERT OR REPLACE INTO part VALUES (?1, ?2, 'ses_1', ?3, ?4, ?5)";
        let created: Option<i64> = self.database.as_ref().and_then(|database| {
            database.query_row("SELECT time_created FROM part WHERE id = ?1", [id], |row| row.get(0)).ok()
        });
        self.put(sql, (id, message, created.unwrap_or(NOON + at), NOON + at, data.to_string()));
    }

    pub(crate) fn locate(&self, cwd: Option<&str>, wanted: &Wanted) -> Result<Located, LocateError> {
        let mut locate = Locate::new(AgentKind::Opencode, &self.roots(), cwd, wanted);
        panewire_host::blocking::settle(&mut locate, Locate::take_result).unwrap()
    }

    /// The same with what was shown of it before.
    pub(crate) fn locate_spooled(&self, cwd: Option<&str>, id: &str) -> Result<Located, LocateError> {
        let locate = Locate::new(AgentKind::Opencode, &self.roots(), cwd, &by_id(id));
        let mut locate = locate.or_spooled(AgentKind::Opencode, &self.text("ours"));
        panewire_host::blocking::settle(&mut locate, Locate::take_result).unwrap()
    }

    pub(crate) fn feed(&self, located: &Located) -> Feeding {
        let Located { path, under, session, recorded_cwd: directory, .. } = located.clone();
        let stored = Stored { kind: AgentKind::Opencode, session, path, under, exists: true, directory };
        Feeding::of(stored, &self.config())
    }
}

pub(crate) fn by_id(id: &str) -> Wanted {
    Wanted::Session(SessionId::from(id))
}

pub(crate) fn text(text: &str, ended: bool) -> Value {
    let mut part = json!({"type": "text", "text": text, "time": {"start": NOON}});
    if ended {
        part["time"]["end"] = json!(NOON + 1);
    }
    part
}
