//! The sessions that the service and the databases hold. Those of the JSON tree are files, found like those of other kinds.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::time::Duration;

use super::block::time;
use super::database::{number, text};
use super::service::{Ask, Reply, directory_of, list, one};
use crate::agent::Recorded;
use crate::agent::layout::is_session_id;
use crate::agent::locate::Located;
use crate::agent::shown::named;
use crate::config::Roots;
use crate::ids::SessionId;
use crate::io::{Cell, FailureKind, FileKind, FileTime, Op, Outcome};
use crate::limits::{
    MAX_DIRECTORY_NAMES, MAX_STORE_DATABASES, SERVICE_PAGE, STORE_ANSWER_BYTES, STORE_FETCH, STORE_LOCATE, STORE_QUERY,
};
use crate::machine::{Asks, Machine, Tag, of_side};
use crate::source::json::Value;
use crate::time::Now;

/// Which sessions are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sought {
    /// The one with this id.
    Session(SessionId),
    /// The newest ones.
    Newest,
    /// Those that may lie below this one, whose parents say whether they do.
    Children(SessionId),
}

impl Sought {
    /// How long a store may take to answer. Somebody waits for a pane, and the next store may know, too.
    const fn patience(&self) -> Duration {
        match self {
            Self::Session(_) | Self::Newest => STORE_LOCATE,
            Self::Children(_) => Duration::MAX,
        }
    }
}

/// A session, as its store describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredSession {
    pub(crate) session: SessionId,
    pub(crate) parent: Option<String>,
    pub(crate) directory: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) created: i64,
    pub(crate) updated: i64,
    /// The database, or the file of the service.
    pub(crate) path: String,
    pub(crate) under: String,
}

impl StoredSession {
    /// What its store says about it.
    pub(crate) fn recorded(&self) -> Recorded {
        Recorded {
            cwd: self.directory.clone(),
            conversation: true,
            child: self.parent.is_some(),
            first_prompt: self.title.clone(),
            ..Recorded::default()
        }
    }

    /// When it changed last.
    pub(crate) const fn modified(&self) -> FileTime {
        FileTime(self.updated.saturating_mul(1_000_000))
    }

    pub(crate) fn located(self) -> Located {
        let modified = self.modified();
        let Self { path, under, session, directory, .. } = self;
        Located { path, under, session, exists: true, recorded_cwd: directory, modified }
    }
}

/// Looks for sessions.
#[derive(Debug)]
pub(crate) struct Search {
    sought: Sought,
    data_dir: String,
    state_dir: String,
    stage: Stage,
    databases: VecDeque<String>,
    asks: Asks,
    asked: Option<Tag>,
    found: Found,
    result: Option<Found>,
}

/// What a search found: newest first, each session once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) sessions: Vec<StoredSession>,
    /// A store that is there and cannot be asked.
    pub(crate) trouble: Option<String>,
}

#[derive(Debug)]
enum Stage {
    Service(Box<Ask>),
    Databases,
    Database(String),
    Done,
}

const BY_ID: &str = "SELECT id, parent_id, directory, title, time_created, time_updated FROM session WHERE id = ?1";
const NEWEST: &str = "SELECT id, parent_id, directory, title, time_created, time_updated FROM session \
    WHERE parent_id IS NULL ORDER BY time_updated DESC, id DESC LIMIT 200";
/// All below a session, at every depth.
const CHILDREN: &str = "WITH RECURSIVE below(id) AS (SELECT ?1 UNION SELECT s.id FROM session s, below \
        WHERE s.parent_id = below.id LIMIT 2049) \
    SELECT id, parent_id, directory, title, time_created, time_updated FROM session \
    WHERE id IN (SELECT id FROM below) AND id <> ?1";

impl Search {
    pub(crate) fn new(roots: &Roots, sought: Sought) -> Self {
        let path = match &sought {
            Sought::Session(session) => format!("/api/session/{session}"),
            Sought::Newest | Sought::Children(_) => format!("/api/session?limit={SERVICE_PAGE}&order=desc"),
        };
        let state_dir = roots.opencode_state.clone();
        Self {
            stage: Stage::Service(Box::new(Ask::new(&state_dir, path, sought.patience().min(STORE_FETCH)))),
            sought,
            data_dir: roots.opencode.clone(),
            state_dir,
            databases: VecDeque::new(),
            asks: Asks::default(),
            asked: None,
            found: Found::default(),
            result: None,
        }
    }

    /// The result, once.
    pub(crate) fn take_result(&mut self) -> Option<Found> {
        self.result.take()
    }

    fn handle_reply(&mut self, reply: Reply) {
        match reply {
            Reply::Json(body) => {
                let sessions =
                    if matches!(self.sought, Sought::Session(_)) { [one(&body)].into() } else { list(&body) };
                let path = format!("{}/service.json", self.state_dir);
                let under = self.state_dir.clone();
                let found: Vec<StoredSession> =
                    sessions.into_iter().filter_map(|session| of_service(session, &path, &under)).collect();
                self.take(found);
            }
            Reply::Failed(why) | Reply::Slow(why) => self.found.trouble = Some(why),
            Reply::Unknown | Reply::Absent | Reply::TooLarge => {}
        }
        if self.is_settled() {
            return self.finish();
        }
        self.stage = Stage::Databases;
        self.asked = Some(self.asks.ask(Op::List { path: self.data_dir.clone(), max_names: MAX_DIRECTORY_NAMES }));
    }

    /// Whether what was found is all that there is to find.
    fn is_settled(&self) -> bool {
        matches!(self.sought, Sought::Session(_)) && !self.found.sessions.is_empty()
    }

    fn take(&mut self, sessions: Vec<StoredSession>) {
        for session in sessions {
            let wanted = match &self.sought {
                Sought::Session(id) => session.session == *id,
                Sought::Newest => session.parent.is_none(),
                Sought::Children(_) => session.parent.is_some(),
            };
            let is_new = self.found.sessions.iter().all(|other| other.session != session.session);
            if wanted && is_new && is_session_id(session.session.as_str()) {
                self.found.sessions.push(session);
            }
        }
    }

    fn ask_on(&mut self) {
        let Some(database) = self.databases.pop_front().filter(|_| !self.is_settled()) else { return self.finish() };
        let (sql, parameters) = match &self.sought {
            Sought::Session(id) => (BY_ID, [Cell::Text(id.to_string())].into()),
            Sought::Newest => (NEWEST, Vec::new()),
            Sought::Children(id) => (CHILDREN, [Cell::Text(id.to_string())].into()),
        };
        let op = Op::Query {
            database: database.clone(),
            under: self.data_dir.clone(),
            sql,
            parameters,
            within: self.sought.patience().min(STORE_QUERY),
            answer_cap: STORE_ANSWER_BYTES,
        };
        self.asked = Some(self.asks.ask(op));
        self.stage = Stage::Database(database);
    }

    fn handle_database(&mut self, database: &str, outcome: Outcome<'_>) {
        match outcome {
            Outcome::Rows { rows, .. } => {
                let under = self.data_dir.clone();
                let found = rows.iter().filter_map(|row| of_row(row, database, &under)).collect();
                self.take(found);
            }
            Outcome::Failed(failure) if !matches!(failure.kind, FailureKind::NotFound | FailureKind::Unsupported) => {
                self.found.trouble = Some(format!("cannot ask {database}: {}", failure.text));
            }
            _ => {}
        }
        self.ask_on();
    }

    fn finish(&mut self) {
        self.stage = Stage::Done;
        let mut found = core::mem::take(&mut self.found);
        found.sessions.sort_by(|one, other| (other.updated, &other.session).cmp(&(one.updated, &one.session)));
        self.result = Some(found);
    }
}

impl Machine for Search {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        if let Stage::Service(ask) = &mut self.stage {
            return ask.poll_op().map(of_side::<2>(1));
        }
        self.asks.take().map(of_side::<2>(0))
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        let (side, inner) = tag.side::<2>();
        if let Stage::Service(ask) = &mut self.stage {
            if side == 1 {
                ask.handle_outcome(now, inner, outcome);
            }
            if let Some(reply) = ask.take_result() {
                self.handle_reply(reply);
            }
            return;
        }
        if side == 1 || self.asked != Some(inner) {
            return;
        }
        self.asked = None;
        match core::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Databases => {
                if let Outcome::Listing { names, .. } = outcome {
                    let databases =
                        names.iter().filter(|entry| entry.facts.kind == FileKind::File && is_database(&entry.name));
                    let mut names: Vec<&str> = databases.map(|entry| entry.name.as_str()).collect();
                    names.sort_unstable();
                    names.truncate(MAX_STORE_DATABASES);
                    self.databases = names.into_iter().map(|name| format!("{}/{name}", self.data_dir)).collect();
                }
                self.ask_on();
            }
            Stage::Database(database) => self.handle_database(&database, outcome),
            Stage::Service(_) | Stage::Done => {}
        }
    }
}

/// `opencode.db`, and `opencode-<channel>.db` of other builds.
fn is_database(name: &str) -> bool {
    let stem = name.strip_suffix(".db").and_then(|stem| stem.strip_prefix("opencode"));
    stem.is_some_and(|channel| channel.is_empty() || channel.starts_with('-'))
}

fn of_row(row: &[Cell], path: &str, under: &str) -> Option<StoredSession> {
    let [id, parent, directory, title, created, updated] = row else { return None };
    let filled = |cell| text(cell).filter(|text| !text.trim().is_empty()).cloned();
    Some(StoredSession {
        session: SessionId::from(text(id)?.as_str()),
        parent: filled(parent),
        directory: filled(directory),
        title: filled(title),
        created: number(created),
        updated: number(updated),
        path: path.into(),
        under: under.into(),
    })
}

fn of_service(session: Value<'_>, path: &str, under: &str) -> Option<StoredSession> {
    let created = time(session, "created").unwrap_or_default();
    Some(StoredSession {
        session: SessionId::from(named(session.get("id"))?.as_str()),
        parent: named(session.get("parentID")),
        directory: directory_of(session),
        title: named(session.get("title")),
        created,
        updated: time(session, "updated").unwrap_or(created),
        path: path.into(),
        under: under.into(),
    })
}
