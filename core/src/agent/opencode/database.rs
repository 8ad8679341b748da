//! The SQLite store: tables `message` and `part`, or `session_message` where only that holds the session.
//!
//! A look asks whether the files of the database have changed, and if so where messages lie that have not settled; then for the first of
//! these, and those of their parts that were written since.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::block::Message;
use super::settle::{self, Behind};
use super::tree::is_recent;
use super::v1::{self, Content, Part};
use super::{block::Author, v2};
use crate::agent::drift::Drift;
use crate::ids::SessionId;
use crate::io::{Cell, Facts, FailureKind, Op, Outcome};
use crate::limits::{STORE_ANSWER_BYTES, STORE_PART_BYTES, STORE_PLACES, STORE_QUERY, STORE_SENT, STORE_WINDOW};
use crate::machine::{Asks, Machine, Tag};
use crate::source::json::Value;
use crate::source::spool::{Feeder, Place, Spool};
use crate::time::Now;

const HAS_SESSION: &str = "SELECT EXISTS (SELECT 1 FROM session WHERE id = ?1), \
    EXISTS (SELECT 1 FROM message WHERE session_id = ?1)";

/// Where messages lie, behind the newest of which nothing is known.
const PLACES: &str = "SELECT id, time_created FROM message \
    WHERE session_id = ?1 AND (time_created, id) > (?2, ?3) ORDER BY time_created, id LIMIT ?4";

/// The same where messages are whole documents.
const DOCUMENT_PLACES: &str = "SELECT id, time_created FROM session_message \
    WHERE session_id = ?1 AND (time_created, id) > (?2, ?3) ORDER BY time_created, id LIMIT ?4";

// The plus keeps an index of sessions out of this: the ids alone are the way to the rows.
const MESSAGES: &str = "SELECT id, time_created, CASE WHEN length(data) > ?3 THEN NULL ELSE data END FROM message \
    WHERE id IN (SELECT value FROM json_each(?1)) AND +session_id = ?2 ORDER BY time_created, id";

const PARTS: &str = "SELECT message_id, time_created, id, time_updated, length(data), \
    CASE WHEN length(data) > ?3 THEN NULL ELSE data END FROM part \
    WHERE message_id IN (SELECT value FROM json_each(?1)) AND +session_id = ?2 AND time_updated >= ?4 \
    ORDER BY message_id, time_created, id";

const DOCUMENTS: &str = "SELECT id, time_created, CASE WHEN length(data) > ?3 THEN NULL ELSE data END, type \
    FROM session_message WHERE id IN (SELECT value FROM json_each(?1)) AND +session_id = ?2 ORDER BY time_created, id";

/// Feeds a spool from a database.
#[derive(Debug)]
pub(super) struct Database {
    path: String,
    under: String,
    session: SessionId,
    shape: Option<Shape>,
    /// Which life of the spool is fed.
    life: Option<u32>,
    has_settled: bool,
    stage: Stage,
    /// What the files were when nothing was left to settle in them.
    seen: Option<Files>,
    files: Files,
    /// Where messages lie that have not settled, in order; and whether there are more behind them.
    ahead: VecDeque<Place>,
    more: bool,
    window: Vec<Row>,
    behind: Behind,
    /// Parts that were read of messages that have not settled.
    kept: BTreeMap<Place, BTreeMap<Place, (i64, Content)>>,
    asks: Asks,
    asked: Option<Tag>,
    /// Whether the last look found that the database holds the session; and whether it does, though it did not answer.
    found: bool,
    is_silent: bool,
    trouble: Option<String>,
    drift: Drift,
}

/// The database and its write-ahead log.
type Files = [Option<Facts>; 2];

/// In which tables the session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Parts,
    Documents,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    Facts(usize),
    Probe,
    /// Places are to be asked for.
    Probed,
    Places,
    Placed,
    Messages,
    Parts,
    Loaded,
}

/// One message.
#[derive(Debug)]
struct Row {
    place: Place,
    kind: String,
    data: Option<String>,
}

impl Database {
    pub(super) fn new(path: &str, under: &str, session: &SessionId) -> Self {
        Self {
            path: path.into(),
            under: under.into(),
            session: session.clone(),
            shape: None,
            life: None,
            has_settled: false,
            stage: Stage::Idle,
            seen: None,
            files: [None; 2],
            ahead: VecDeque::new(),
            more: false,
            window: Vec::new(),
            behind: Behind { any: false, assistant: false, quiet: false },
            kept: BTreeMap::new(),
            asks: Asks::default(),
            asked: None,
            found: false,
            is_silent: false,
            trouble: None,
            drift: Drift::default(),
        }
    }

    /// Whether the session is here. It is, too, if it was and the database does not answer for a moment.
    pub(super) const fn found(&self) -> bool {
        self.found || self.is_silent
    }

    /// The session is in this database from now on.
    pub(super) fn relocate(&mut self, path: &str) {
        if self.path != path {
            self.path = path.into();
            (self.found, self.is_silent, self.shape, self.seen) = (false, false, None, None);
        }
    }

    fn ask(&mut self, stage: Stage, sql: &'static str, parameters: Vec<Cell>) {
        self.stage = stage;
        self.asked = Some(self.asks.ask(Op::Query {
            database: self.path.clone(),
            under: self.under.clone(),
            sql,
            parameters,
            within: STORE_QUERY,
            answer_cap: STORE_ANSWER_BYTES,
        }));
    }

    fn ask_facts(&mut self, at: usize) {
        self.stage = Stage::Facts(at);
        let path = if at == 0 { self.path.clone() } else { alloc::format!("{}-wal", self.path) };
        self.asked = Some(self.asks.ask(Op::Stat { path }));
    }

    fn handle_facts(&mut self, at: usize, now: Now, outcome: &Outcome<'_>) {
        let facts = if let Outcome::Facts(facts) = outcome { Some(*facts) } else { None };
        if let Some(file) = self.files.get_mut(at) {
            *file = facts;
        }
        if at == 0 {
            self.ask_facts(1);
        } else if self.found && self.seen == Some(self.files) {
            self.stage = Stage::Idle;
        } else {
            // What is written in the same tick of the file system's clock does not change a file's time again.
            let is_recent = |file: &Facts| is_recent(file.modified, now.wall);
            self.seen = (!self.files.iter().flatten().any(is_recent)).then_some(self.files);
            // Where it is may change while nothing of it has settled.
            if self.found && self.has_settled {
                self.stage = Stage::Probed;
            } else {
                self.ask(Stage::Probe, HAS_SESSION, [Cell::Text(self.session.to_string())].into());
            }
        }
    }

    fn ask_places(&mut self, spool: &Spool) {
        let from = spool.all_settled().floor().cloned().unwrap_or(Place { time: i64::MIN, id: String::new() });
        let sql = if self.shape == Some(Shape::Documents) { DOCUMENT_PLACES } else { PLACES };
        let parameters = [
            Cell::Text(self.session.to_string()),
            Cell::Integer(from.time),
            Cell::Text(from.id),
            Cell::Integer(i64::try_from(STORE_PLACES).unwrap_or(i64::MAX)),
        ];
        self.ask(Stage::Places, sql, parameters.into());
    }

    fn take_places(&mut self, spool: &Spool) {
        self.ahead.retain(|place| !spool.all_settled().holds(place));
        if self.ahead.is_empty() {
            self.stage = Stage::Idle;
        } else {
            self.ask_messages();
        }
    }

    /// Asks for the first of those that have not settled, and one more that tells what is behind them.
    fn ask_messages(&mut self) {
        let sql = if self.shape == Some(Shape::Documents) { DOCUMENTS } else { MESSAGES };
        let parameters = self.parameters(self.ahead.iter().take(STORE_WINDOW.saturating_add(1)));
        self.ask(Stage::Messages, sql, parameters);
    }

    fn parameters<'a>(&self, places: impl Iterator<Item = &'a Place>) -> Vec<Cell> {
        let ids: Vec<&str> = places.map(|place| place.id.as_str()).collect();
        [
            Cell::Text(serde_json::to_string(&ids).unwrap_or_default()),
            Cell::Text(self.session.to_string()),
            Cell::Integer(i64::try_from(STORE_PART_BYTES).unwrap_or(i64::MAX)),
        ]
        .into()
    }

    fn handle_probe(&mut self, rows: &[Vec<Cell>]) {
        let flag = |at: usize| rows.first().and_then(|row| row.get(at)) == Some(&Cell::Integer(1));
        (self.found, self.is_silent) = (flag(0), false);
        self.shape = self.found.then_some(if flag(1) { Shape::Parts } else { Shape::Documents });
        self.stage = Stage::Probed;
    }

    fn handle_messages(&mut self, rows: &[Vec<Cell>], truncated: bool) {
        self.window = rows.iter().filter_map(|row| Row::of(row)).collect();
        // What is not there any more is not asked for again.
        let asked = STORE_WINDOW.saturating_add(1).min(self.ahead.len());
        let (window, mut at) = (&self.window, 0_usize);
        self.ahead.retain(|place| {
            at = at.saturating_add(1);
            truncated || at > asked || window.iter().any(|row| row.place == *place)
        });
        let more = truncated || self.more || self.ahead.len() > STORE_WINDOW;
        let behind = self.window.get(STORE_WINDOW..).unwrap_or_default();
        self.behind =
            Behind { any: more, assistant: behind.iter().any(|row| row.author() == Author::Assistant), quiet: false };
        self.window.truncate(STORE_WINDOW);
        let window = &self.window;
        self.kept.retain(|place, _| window.iter().any(|row| row.place == *place));
        if self.window.is_empty() || self.shape == Some(Shape::Documents) {
            self.stage = Stage::Loaded;
            return;
        }
        // Of the messages whose parts are known, what was written since; a clock's step is allowed for.
        let newest = |row: &Row| {
            let parts = self.kept.get(&row.place)?;
            parts.values().map(|(updated, _)| *updated).max()
        };
        let margin = i64::try_from(STORE_SENT.as_millis()).unwrap_or(i64::MAX);
        let since = self.window.iter().map(newest).min().flatten().map_or(i64::MIN, |at| at.saturating_sub(margin));
        let mut parameters = self.parameters(self.window.iter().map(|row| &row.place));
        parameters.push(Cell::Integer(since));
        self.ask(Stage::Parts, PARTS, parameters);
    }

    fn handle_parts(&mut self, rows: &[Vec<Cell>], truncated: bool) {
        let mut last = None;
        for row in rows {
            let [message, created, id, updated, length, data] = row.as_slice() else { continue };
            let (Some(message), Some(id)) = (text(message), text(id)) else { continue };
            let Some(place) = self.window.iter().find(|row| row.place.id == *message).map(|row| &row.place) else {
                continue;
            };
            let content = match data {
                Cell::Text(data) => Content::of(data.clone().into_bytes(), false),
                _ => Content::damaged(b"too long to be shown", u64::try_from(number(length)).unwrap_or_default()),
            };
            let part = Place { time: number(created), id: id.clone() };
            self.kept.entry(place.clone()).or_default().insert(part, (number(updated), content));
            last = Some(message.clone());
        }
        if truncated && self.window.len() > 1 {
            // Of the last message some parts are missing, of those that did not come at all all are: with fewer it fits.
            let complete = self.window.iter().take_while(|row| Some(&row.place.id) != last.as_ref()).count();
            self.window.truncate(complete.clamp(1, self.window.len().saturating_sub(1)));
            self.behind.any = true;
            let window = &self.window;
            self.kept.retain(|place, _| window.iter().any(|row| row.place == *place));
        }
        self.stage = Stage::Loaded;
    }

    fn hand_over(&mut self, now: Now, spool: &mut Spool) {
        let window = core::mem::take(&mut self.window);
        let mut parts: Vec<(Vec<Part>, Option<i64>)> = Vec::new();
        for row in &window {
            let kept = self.kept.get(&row.place).into_iter().flatten();
            let changed = kept.clone().map(|(_, (updated, _))| *updated).max();
            let of_row = kept.map(|(part, (_, content))| Part { id: part.id.clone(), content: content.clone() });
            parts.push((of_row.collect(), changed));
        }
        let mut messages: Vec<(Message<'_>, Option<i64>)> = Vec::new();
        for (row, (parts, changed)) in window.iter().zip(&parts) {
            let data = Value(row.data.as_deref().unwrap_or("{}").as_bytes());
            let message = if self.shape == Some(Shape::Documents) {
                v2::note(row.kind.as_bytes(), data, &self.path, &mut self.drift);
                v2::message(row.place.clone(), row.kind.as_bytes(), data)
            } else {
                v1::note(data, parts, &self.path, &mut self.drift);
                v1::message(row.place.clone(), data, parts)
            };
            messages.push((message, *changed));
        }
        let settled = settle::window(&messages, self.behind, now.wall, spool);
        self.stage = Stage::Idle;
        self.ahead.retain(|place| !spool.all_settled().holds(place));
        if !self.ahead.is_empty() {
            // What waits settles by the clock, too: it is looked at again although nothing was written.
            self.seen = None;
        }
        if settled.is_some() {
            if self.more && self.ahead.len() <= STORE_WINDOW {
                self.ask_places(spool);
            } else if !self.ahead.is_empty() {
                self.ask_messages();
            }
        }
    }
}

impl Row {
    fn of(row: &[Cell]) -> Option<Self> {
        let place = Place { time: number(row.get(1)?), id: text(row.first()?)?.clone() };
        let kind = row.get(3).and_then(text).cloned().unwrap_or_default();
        Some(Self { place, kind, data: row.get(2).and_then(text).cloned() })
    }

    fn author(&self) -> Author {
        let by_role = self.data.as_deref().map(|data| v1::author(Value(data.as_bytes())));
        if self.kind == "assistant" { Author::Assistant } else { by_role.unwrap_or(Author::Human) }
    }
}

impl Feeder for Database {
    fn look(&mut self, _now: Now, spool: &Spool) {
        if self.life != Some(spool.life()) {
            (self.life, self.seen) = (Some(spool.life()), None);
        }
        self.has_settled = spool.settled().is_some();
        self.ask_facts(0);
    }

    fn go_on(&mut self, now: Now, spool: &mut Spool) {
        if self.life != Some(spool.life()) && matches!(self.stage, Stage::Probed | Stage::Placed | Stage::Loaded) {
            self.stage = Stage::Idle;
        }
        match self.stage {
            Stage::Probed if self.found => self.ask_places(spool),
            Stage::Probed => self.stage = Stage::Idle,
            Stage::Placed => self.take_places(spool),
            _ => {}
        }
        while self.stage == Stage::Loaded && spool.has_room() {
            self.hand_over(now, spool);
        }
    }

    fn is_looking(&self) -> bool {
        self.stage != Stage::Idle
    }

    fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    fn take_drift(&mut self) -> Drift {
        core::mem::take(&mut self.drift)
    }
}

impl Machine for Database {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        if self.asked != Some(tag) {
            return;
        }
        self.asked = None;
        match (self.stage, outcome) {
            (Stage::Facts(at), outcome) => self.handle_facts(at, now, &outcome),
            (Stage::Places, Outcome::Rows { rows, truncated }) => {
                let place =
                    |row: &Vec<Cell>| Some(Place { time: number(row.get(1)?), id: text(row.first()?)?.clone() });
                self.ahead = rows.iter().filter_map(place).collect();
                self.more = truncated || rows.len() >= STORE_PLACES;
                self.stage = Stage::Placed;
            }
            (Stage::Probe, Outcome::Rows { rows, .. }) => self.handle_probe(rows),
            (Stage::Messages, Outcome::Rows { rows, truncated }) => self.handle_messages(rows, truncated),
            (Stage::Parts, Outcome::Rows { rows, truncated }) => self.handle_parts(rows, truncated),
            (_, Outcome::Failed(failure)) => {
                self.stage = Stage::Idle;
                self.is_silent = self.found() && failure.kind == FailureKind::TimedOut;
                (self.found, self.shape, self.seen) = (false, None, None);
                if !matches!(failure.kind, FailureKind::NotFound | FailureKind::Unsupported) {
                    self.trouble = Some(alloc::format!("cannot ask {}: {}", self.path, failure.text));
                }
            }
            _ => self.stage = Stage::Idle,
        }
    }
}

pub(super) const fn text(cell: &Cell) -> Option<&String> {
    match cell {
        Cell::Text(text) => Some(text),
        Cell::Null | Cell::Integer(_) => None,
    }
}

pub(super) const fn number(cell: &Cell) -> i64 {
    match cell {
        Cell::Integer(number) => *number,
        Cell::Null | Cell::Text(_) => 0,
    }
}
