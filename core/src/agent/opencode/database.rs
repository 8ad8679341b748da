//! The SQLite store: tables `message` and `part`, or `session_message` where only that holds the session.
//!
//! ```text
//!  files changed? ── the rows made since the newest that was seen ──▶ messages that have not settled ──▶ their parts
//!        │ nothing was seen yet, or that row is gone                        ▲
//!        └─▶ is the session here? ──▶ the newest row ──▶ all places behind what has settled
//! ```

mod queries;
mod row;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use self::queries::{HAS_SESSION, PARTS, Shape};
use self::row::{Cursor, Row};
pub(super) use self::row::{number, text};
use super::block::{Author, Message};
use super::settle::{self, Behind};
use super::tree::is_recent;
use super::v1::{self, Content, Part};
use super::v2;
use crate::agent::drift::Drift;
use crate::ids::SessionId;
use crate::io::{Cell, Facts, FailureKind, Op, Outcome};
use crate::limits::{
    STORE_ANSWER_BYTES, STORE_PART_BYTES, STORE_PLACES, STORE_QUERY, STORE_ROWS, STORE_ROWS_BYTES, STORE_SENT,
};
use crate::machine::{Asks, Machine, Tag};
use crate::source::json::Value;
use crate::source::spool::{Feeder, Place, Spool};
use crate::time::Now;

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
    /// The newest row that was seen, if all that was made before it was looked at.
    cursor: Option<Cursor>,
    /// Where messages lie that have not settled, in order; and behind which place there may be more, on the way through all.
    ahead: BTreeSet<Place>,
    more_behind: Option<Place>,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    Facts(usize),
    Probe,
    /// It is to be asked what is new, or where everything lies.
    Probed,
    Newest,
    News,
    Places,
    Placed,
    Messages,
    /// `long`: of one message alone, however long it is.
    Parts {
        long: bool,
    },
    Loaded,
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
            cursor: None,
            ahead: BTreeSet::new(),
            more_behind: None,
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
            (self.found, self.is_silent, self.shape) = (false, false, None);
            self.forget();
        }
    }

    /// Whatever is there is looked at again.
    fn forget(&mut self) {
        (self.seen, self.cursor, self.more_behind) = (None, None, None);
        self.ahead.clear();
    }

    fn ask(&mut self, stage: Stage, sql: &'static str, parameters: Vec<Cell>, answer_cap: usize) {
        self.stage = stage;
        self.asked = Some(self.asks.ask(Op::Query {
            database: self.path.clone(),
            under: self.under.clone(),
            sql,
            parameters,
            within: STORE_QUERY,
            answer_cap,
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
                let session = Cell::Text(self.session.to_string());
                self.ask(Stage::Probe, HAS_SESSION, [session].into(), STORE_ANSWER_BYTES);
            }
        }
    }

    const fn shape(&self) -> Shape {
        match self.shape {
            Some(Shape::Documents) => Shape::Documents,
            Some(Shape::Parts) | None => Shape::Parts,
        }
    }

    /// Asks what is new since the last look, or for the row behind which everything will be.
    fn ask_news(&mut self) {
        let shape = self.shape();
        match &self.cursor {
            Some(cursor) => {
                let parameters = [Cell::Integer(cursor.row), Cell::Integer(places_at_once())];
                self.ask(Stage::News, shape.news(), parameters.into(), STORE_ANSWER_BYTES);
            }
            None => self.ask(Stage::Newest, shape.newest(), Vec::new(), STORE_ANSWER_BYTES),
        }
    }

    fn handle_news(&mut self, rows: &[Vec<Cell>]) {
        let first = rows.first().and_then(|row| Cursor::of(row));
        if first.is_none() || first != self.cursor {
            // What was seen last is gone or has moved: nothing tells what is new.
            self.forget();
            return self.ask_news();
        }
        let is_ours = |row: &&Vec<Cell>| row.get(3).and_then(text).is_some_and(|id| id == self.session.as_str());
        let place = |row: &Vec<Cell>| Some(Place { time: number(row.get(2)?), id: text(row.get(1)?)?.clone() });
        let new: Vec<Place> = rows.iter().skip(1).filter(is_ours).filter_map(place).collect();
        self.ahead.extend(new);
        let last = rows.last().and_then(|row| Cursor::of(row));
        let is_all = last == self.cursor || rows.len() < STORE_PLACES;
        self.cursor = last;
        if is_all {
            self.stage = Stage::Placed;
        } else {
            self.ask_news();
        }
    }

    /// Asks where messages lie behind this place.
    fn ask_places(&mut self, from: Option<Place>) {
        let from = from.unwrap_or(Place { time: i64::MIN, id: String::new() });
        let parameters = [
            Cell::Text(self.session.to_string()),
            Cell::Integer(from.time),
            Cell::Text(from.id),
            Cell::Integer(places_at_once()),
        ];
        self.ask(Stage::Places, self.shape().places(), parameters.into(), STORE_ANSWER_BYTES);
    }

    fn handle_places(&mut self, rows: &[Vec<Cell>], truncated: bool) {
        let place = |row: &Vec<Cell>| Some(Place { time: number(row.get(1)?), id: text(row.first()?)?.clone() });
        let places: Vec<Place> = rows.iter().filter_map(place).collect();
        self.more_behind = places.last().filter(|_| truncated || rows.len() >= STORE_PLACES).cloned();
        self.ahead.extend(places);
        self.stage = Stage::Placed;
    }

    fn take_places(&mut self, spool: &Spool) {
        self.ahead.retain(|place| !spool.all_settled().holds(place));
        match self.more_behind.take() {
            Some(place) if self.ahead.is_empty() => self.ask_places(Some(place)),
            more => {
                self.more_behind = more;
                if self.ahead.is_empty() {
                    self.stage = Stage::Idle;
                } else {
                    self.ask_messages();
                }
            }
        }
    }

    /// Asks for the first of those that have not settled, and one more that tells what is behind them.
    fn ask_messages(&mut self) {
        let parameters = self.parameters(self.ahead.iter().take(STORE_ROWS.saturating_add(1)));
        self.ask(Stage::Messages, self.shape().messages(), parameters, STORE_ROWS_BYTES);
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
        let shape = self.found.then_some(if flag(1) { Shape::Parts } else { Shape::Documents });
        if self.shape != shape {
            self.shape = shape;
            self.forget();
        }
        self.stage = Stage::Probed;
    }

    fn handle_messages(&mut self, now: Now, rows: &[Vec<Cell>], truncated: bool) {
        self.window = rows.iter().filter_map(|row| Row::of(row)).collect();
        // What is not there any more is not asked for again.
        let asked = STORE_ROWS.saturating_add(1).min(self.ahead.len());
        let came: BTreeSet<&Place> = self.window.iter().map(|row| &row.place).collect();
        let mut at = 0_usize;
        self.ahead.retain(|place| {
            at = at.saturating_add(1);
            truncated || at > asked || came.contains(place)
        });
        let more = truncated || self.more_behind.is_some() || self.ahead.len() > STORE_ROWS;
        let behind = self.window.get(STORE_ROWS..).unwrap_or_default();
        self.behind =
            Behind { any: more, assistant: behind.iter().any(|row| row.author() == Author::Assistant), quiet: false };
        self.window.truncate(STORE_ROWS);
        self.keep_window();
        if self.window.is_empty() || self.shape() == Shape::Documents {
            self.stage = Stage::Loaded;
        } else {
            self.ask_parts(now, false);
        }
    }

    /// Only what belongs to the window is kept.
    fn keep_window(&mut self) {
        let places: BTreeSet<&Place> = self.window.iter().map(|row| &row.place).collect();
        self.kept.retain(|place, _| places.contains(place));
    }

    /// Asks for the parts of the window; of messages whose parts are known, for what was written since.
    fn ask_parts(&mut self, now: Now, long: bool) {
        let newest = |row: &Row| self.kept.get(&row.place)?.values().map(|(updated, _)| *updated).max();
        // A clock's step is allowed for; one that was set back says of what is written now that it was there before.
        let margin = i64::try_from(STORE_SENT.as_millis()).unwrap_or(i64::MAX);
        let since = self.window.iter().map(newest).min().flatten().filter(|at| !long && *at <= now.wall.0);
        let mut parameters = self.parameters(self.window.iter().map(|row| &row.place));
        parameters.push(Cell::Integer(since.map_or(i64::MIN, |at| at.saturating_sub(margin))));
        let answer_cap = if long { STORE_ANSWER_BYTES } else { STORE_ROWS_BYTES };
        self.ask(Stage::Parts { long }, PARTS, parameters, answer_cap);
    }

    fn handle_parts(&mut self, now: Now, rows: &[Vec<Cell>], truncated: bool, long: bool) {
        let places: BTreeMap<String, Place> =
            self.window.iter().map(|row| (row.place.id.clone(), row.place.clone())).collect();
        let mut last = None;
        for row in rows {
            let [message, created, id, updated, length, data] = row.as_slice() else { continue };
            let (Some(message), Some(id)) = (text(message), text(id)) else { continue };
            let Some(place) = places.get(message) else { continue };
            let content = match data {
                Cell::Text(data) => Content::of(data.clone().into_bytes(), false),
                _ => Content::damaged(b"too long to be shown", u64::try_from(number(length)).unwrap_or_default()),
            };
            let part = Place { time: number(created), id: id.clone() };
            self.kept.entry(place.clone()).or_default().insert(part, (number(updated), content));
            last = Some(message.clone());
        }
        if truncated {
            // Of the last message some parts are missing, of those behind it all are.
            let complete = self.window.iter().take_while(|row| Some(&row.place.id) != last.as_ref()).count();
            self.behind.any |= self.window.len() > complete.max(1);
            self.window.truncate(complete.max(1));
            self.keep_window();
            if complete == 0 && !long {
                return self.ask_parts(now, true);
            }
            if complete == 0 {
                let message = last.unwrap_or_default();
                self.trouble =
                    Some(alloc::format!("message {message} in {} is too long: some of it is missing", self.path));
            }
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
            let message = if self.shape() == Shape::Documents {
                v2::note(row.kind.as_bytes(), data, &self.path, &mut self.drift);
                v2::message(row.place.clone(), row.kind.as_bytes(), data)
            } else {
                v1::note(data, parts, &self.path, &mut self.drift);
                v1::message(row.place.clone(), data, parts)
            };
            messages.push((message, *changed));
        }
        let settled = settle::window(&messages, self.behind, now.wall, spool);
        self.ahead.retain(|place| !spool.all_settled().holds(place));
        if !self.ahead.is_empty() {
            // What waits settles by the clock, too: it is looked at again although nothing was written.
            self.seen = None;
        }
        self.stage = Stage::Idle;
        if settled.is_none() {
            return;
        }
        match self.more_behind.take() {
            Some(place) if self.ahead.len() <= STORE_ROWS => self.ask_places(Some(place)),
            more => {
                self.more_behind = more;
                if !self.ahead.is_empty() {
                    self.ask_messages();
                }
            }
        }
    }
}

/// As many places as are asked for at once.
fn places_at_once() -> i64 {
    i64::try_from(STORE_PLACES).unwrap_or(i64::MAX)
}

impl Feeder for Database {
    fn look(&mut self, _now: Now, spool: &Spool) {
        if self.life != Some(spool.life()) {
            self.life = Some(spool.life());
            self.forget();
        }
        self.has_settled = spool.settled().is_some();
        self.ask_facts(0);
    }

    fn go_on(&mut self, now: Now, spool: &mut Spool) {
        if self.life != Some(spool.life()) && self.asked.is_none() {
            self.stage = Stage::Idle;
        }
        match self.stage {
            Stage::Probed if self.found => self.ask_news(),
            Stage::Probed => self.stage = Stage::Idle,
            Stage::Newest if self.asked.is_none() => self.ask_places(spool.all_settled().floor().cloned()),
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
            (Stage::Probe, Outcome::Rows { rows, .. }) => self.handle_probe(rows),
            (Stage::Newest, Outcome::Rows { rows, .. }) => {
                self.cursor = rows.first().and_then(|row| Cursor::of(row));
            }
            (Stage::News, Outcome::Rows { rows, .. }) => self.handle_news(rows),
            (Stage::Places, Outcome::Rows { rows, truncated }) => self.handle_places(rows, truncated),
            (Stage::Messages, Outcome::Rows { rows, truncated }) => self.handle_messages(now, rows, truncated),
            (Stage::Parts { long }, Outcome::Rows { rows, truncated }) => self.handle_parts(now, rows, truncated, long),
            // A table without numbered rows: everything is looked at each time.
            (Stage::Newest, Outcome::Failed(failure)) if failure.kind == FailureKind::Other => {}
            (_, Outcome::Failed(failure)) => {
                self.stage = Stage::Idle;
                self.is_silent = self.found() && failure.kind == FailureKind::TimedOut;
                (self.found, self.shape) = (false, None);
                self.forget();
                if !matches!(failure.kind, FailureKind::NotFound | FailureKind::Unsupported) {
                    self.trouble = Some(alloc::format!("cannot ask {}: {}", self.path, failure.text));
                }
            }
            _ => self.stage = Stage::Idle,
        }
    }
}
