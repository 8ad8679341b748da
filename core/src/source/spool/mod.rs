//! The spool of a session whose store rewrites itself: its settled entries in an append-only file of our own, so that it
//! is followed, counted, paged and resumed like any transcript.
//!
//! ```text
//!  store ── Feeder ──▶ settled entries ──▶ Spool ──▶ file in the state directory ──▶ Follower
//!             ▲                              │
//!             └─ settled(), holds() ─────────┘   what is in it already, after a restart too
//! ```
//!
//! An entry is in the spool once, with its final text: whoever feeds it asks [`Spool::holds`] first, and says with
//! [`Spool::settle`] up to where nothing is missing any more. Both are known again after a restart, because they are read
//! from the file. What a crash left of a line is marked as torn, and its entry comes again.

mod feed;
pub(crate) mod record;
mod settled;
#[cfg(test)]
mod tests;

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::ops::ControlFlow;

use bytes::Bytes;

pub use feed::{Feed, FeedEvent, Feeder};
pub use settled::Settled;

use self::record::Told;
use super::follow::Source;
use super::lines::LineSplitter;
use super::own_files::OwnFiles;
use super::records;
use crate::agent::AgentKind;
use crate::entry::{Body, Entry, Role, Text};
use crate::ids::{Handle, SessionId};
use crate::io::{FailureKind, FileKind, Op, Outcome};
use crate::limits::{
    MAX_READ_BYTES, MAX_SPOOLED_BYTES, MAX_SPOOLS, SPOOL_BYTES, SPOOL_LINE_BYTES, SPOOL_MARK_BYTES, SPOOL_QUEUE_BYTES,
};
use crate::machine::{Asks, Machine, Tag};
use crate::time::Now;

/// The place of a message in its session: by time, then by id. Never by id alone: ids may wrap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Place {
    /// When it was made, in milliseconds since 1970, or whatever else orders the messages of the store.
    pub time: i64,
    /// Its id.
    pub id: String,
}

/// A session in a store that rewrites itself: what its spool is fed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The kind of agent.
    pub kind: AgentKind,
    /// The session.
    pub session: SessionId,
    /// Where it was found: a document of its own, or the store that holds it.
    pub path: String,
    /// The directory that must contain what is opened there.
    pub under: String,
    /// Whether it is there. If not, `path` is where it may come to be, and what is found elsewhere need not be of the pane.
    pub exists: bool,
    /// The directory that it was recorded in, as far as that is known.
    pub directory: Option<String>,
}

impl Stored {
    /// What is followed in its place: its spool.
    #[must_use]
    pub fn source(self, state_dir: &str) -> Source {
        let path = path_of(state_dir, self.kind.label(), &self.session);
        Source { path, under: directory(state_dir), part: None, stored: Some(self) }
    }
}

/// What a message tells of a child: which call started it, and whether it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child<'a> {
    /// The child.
    pub agent: &'a str,
    /// The call that started it.
    pub call: &'a str,
    /// Whether it has ended.
    pub ended: bool,
}

/// A call that starts a child, where the store says no more of the child than the call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started<'a> {
    /// The call.
    pub call: &'a str,
    /// The child, if the call says which.
    pub child: Option<&'a str>,
    /// The configured agent that runs.
    pub agent_type: &'a str,
    /// What it is started for.
    pub description: &'a str,
    /// The [`digest`](crate::roster::digest) of what it is told to do.
    pub prompt: u64,
    /// Whether it has ended.
    pub ended: bool,
}

/// The directory of all spools.
#[must_use]
pub fn directory(state_dir: &str) -> String {
    SPOOLS.directory_in(state_dir)
}

/// Where the spool of a session is. The name says nothing about it.
#[must_use]
pub fn path_of(state_dir: &str, kind: &str, session: &SessionId) -> String {
    SPOOLS.path_of(state_dir, &[kind.as_bytes(), &[0], session.as_str().as_bytes()].concat())
}

/// The files of spools.
pub(crate) const SPOOLS: OwnFiles =
    OwnFiles { directory: "spool", suffix: ".spool", most: MAX_SPOOLS, most_bytes: MAX_SPOOLED_BYTES };

/// One spool: takes settled entries, appends them, and knows after a restart what it took.
#[derive(Debug)]
pub struct Spool {
    path: String,
    under: String,
    /// It begins anew when it is larger.
    max_bytes: u64,
    kind: &'static str,
    session: SessionId,
    directory: Option<String>,
    phase: Phase,
    pending: Option<(Tag, Pending)>,
    asks: Asks,
    /// While it is read: its lines.
    lines: LineSplitter,
    /// Whether the first line is one of ours, as far as that was seen.
    ours: Option<bool>,
    settled: Settled,
    /// The entries in it that belong behind what is settled, by their messages.
    open: BTreeMap<Place, BTreeSet<String>>,
    /// Bytes of the file when all that is queued is written.
    bytes: u64,
    /// Places to begin anew from, when it becomes too large: what is settled up to them, and how long the file was then.
    marks: Vec<(u64, Place)>,
    queue: Vec<u8>,
    appended: bool,
    /// Entries were pushed since that was asked.
    entries: bool,
    /// How often everything that was known of it was forgotten.
    life: u32,
    trouble: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is known of the file.
    Closed,
    /// It is being read.
    Reading(Option<Handle>),
    /// It is known, and can be written.
    Open,
    /// It is removed, because it became too large or is none of ours.
    Replacing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Open,
    Read,
    Append,
    Remove,
}

impl Spool {
    /// The spool of a session, of which nothing is known yet.
    #[must_use]
    pub fn new(state_dir: &str, kind: &'static str, session: &SessionId) -> Self {
        Self {
            path: path_of(state_dir, kind, session),
            under: directory(state_dir),
            max_bytes: SPOOL_BYTES,
            kind,
            session: session.clone(),
            directory: None,
            phase: Phase::Closed,
            pending: None,
            asks: Asks::default(),
            lines: LineSplitter::new(0, SPOOL_LINE_BYTES),
            ours: None,
            settled: Settled::default(),
            open: BTreeMap::new(),
            bytes: 0,
            marks: Vec::new(),
            queue: Vec::new(),
            appended: false,
            entries: false,
            life: 0,
            trouble: None,
        }
    }

    /// The directory that the session was recorded in: a spool that begins says so, for times in which its store cannot.
    #[must_use]
    pub fn recorded_in(mut self, directory: Option<&str>) -> Self {
        self.directory = directory.map(String::from);
        self
    }

    /// The session was found: from now on it is known where it was recorded.
    fn recorded_by(&mut self, stored: &Stored) {
        if stored.directory.is_some() {
            self.directory.clone_from(&stored.directory);
        }
    }

    /// Begins to read what is there, unless that is known or on its way.
    pub fn begin(&mut self) {
        if self.phase == Phase::Closed && self.pending.is_none() {
            self.lines = LineSplitter::new(0, SPOOL_LINE_BYTES);
            self.ours = None;
            self.forget();
            self.phase = Phase::Reading(None);
            self.ask(Pending::Open, Op::Open { path: self.path.clone(), under: Some(self.under.clone()) });
        }
    }

    /// Whether what is in it is known.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Whether nothing is in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Another number than before: what it held is not what it holds, and is to be asked anew.
    #[must_use]
    pub const fn life(&self) -> u32 {
        self.life
    }

    /// Everything up to this message is in it, but for what came late.
    #[must_use]
    pub const fn settled(&self) -> Option<&Place> {
        self.settled.up_to()
    }

    /// Which messages have settled.
    #[must_use]
    pub const fn all_settled(&self) -> &Settled {
        &self.settled
    }

    /// Whether this message has settled itself, wherever its store says now that it lies.
    #[must_use]
    pub fn has_settled(&self, message: &Place) -> bool {
        self.settled.knows(message)
    }

    /// The messages of which something is in it, and which have not settled.
    pub fn open_messages(&self) -> impl Iterator<Item = &Place> {
        self.open.keys()
    }

    /// Where this message lies: where it was when something of it was pushed first.
    #[must_use]
    pub fn place_of(&self, message: &Place) -> Place {
        self.open.keys().find(|open| open.id == message.id).unwrap_or(message).clone()
    }

    /// Whether this message lies before what is settled, whether or not it was there then.
    #[must_use]
    pub fn is_settled(&self, message: &Place) -> bool {
        self.settled.reaches(message)
    }

    /// Whether this entry of this message is in it, or its message has settled.
    #[must_use]
    pub fn holds(&self, message: &Place, entry_id: &str) -> bool {
        self.settled.holds(message) || self.open.get(message).is_some_and(|entries| entries.contains(entry_id))
    }

    /// The ids of the entries of an open message that are in it.
    pub fn entries_of(&self, message: &Place) -> impl Iterator<Item = &str> {
        self.open.get(message).into_iter().flatten().map(String::as_str)
    }

    /// Whether it takes more now. What is pushed in spite of that is taken, too.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.phase == Phase::Open && self.queue.len() < SPOOL_QUEUE_BYTES
    }

    /// Takes an entry of a message, unless it holds it. Texts that are too long for one line are cut.
    pub fn push(&mut self, message: &Place, entry: &Entry) {
        if self.phase != Phase::Open || self.holds(message, &entry.id) {
            return;
        }
        let mut line = record::entry(message, entry);
        if line.len() > SPOOL_LINE_BYTES {
            line = record::entry(message, &shortened(entry));
        }
        self.open.entry(message.clone()).or_default().insert(entry.id.clone());
        self.entries = true;
        self.write(&line);
    }

    /// Takes what a message tells of a child, unless it holds that.
    pub fn push_child(&mut self, message: &Place, child: &Child<'_>) {
        let id = format!("{}:{}", child.agent, if child.ended { "ended" } else { "begun" });
        self.push_telling(message, id, |id| record::child(message, id, child));
    }

    /// Takes what a message tells of a call that starts a child, unless it holds that.
    pub fn push_started(&mut self, message: &Place, started: &Started<'_>) {
        let id = format!("{}:{}", started.call, if started.ended { "answered" } else { "called" });
        self.push_telling(message, id, |id| record::started(message, id, started));
    }

    fn push_telling(&mut self, message: &Place, id: String, line: impl FnOnce(&str) -> Vec<u8>) {
        if self.phase == Phase::Open && !self.holds(message, &id) {
            let line = line(&id);
            self.open.entry(message.clone()).or_default().insert(id);
            self.write(&line);
        }
    }

    /// Says that everything up to this message was pushed and nothing of it changes any more; of a message that came late,
    /// that this is so of itself.
    pub fn settle(&mut self, message: &Place) {
        if self.phase != Phase::Open || self.settled.holds(message) {
            return;
        }
        self.write(&record::settled(message));
        self.note_settled(message.clone(), self.bytes);
    }

    /// Whether everything that was pushed is in the file.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.queue.is_empty() && self.pending.is_none()
    }

    /// Appends what is queued. Comes after pushes and after every outcome.
    pub fn go_on(&mut self, now: Now) {
        if self.phase != Phase::Open || self.pending.is_some() || self.queue.is_empty() {
            return;
        }
        if self.bytes > self.max_bytes {
            return self.replace();
        }
        let mut bytes = Vec::new();
        if self.bytes == self.queue.len() as u64 {
            bytes = record::header(self.kind, &self.session, self.directory.as_deref(), now.wall);
            self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        }
        bytes.append(&mut self.queue);
        self.ask(Pending::Append, Op::Append { path: self.path.clone(), bytes: Bytes::from(bytes) });
    }

    /// Whether the file has grown since this was asked last.
    pub fn take_appended(&mut self) -> bool {
        core::mem::take(&mut self.appended)
    }

    /// Whether entries were pushed since this was asked last.
    fn take_entries(&mut self) -> bool {
        core::mem::take(&mut self.entries)
    }

    /// What went wrong since this was asked last. It is tried again with the next [`begin`](Self::begin).
    pub fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    fn write(&mut self, line: &[u8]) {
        self.queue.extend_from_slice(line);
        self.bytes = self.bytes.saturating_add(line.len() as u64);
    }

    fn note_settled(&mut self, message: Place, bytes: u64) {
        if self.settled.reaches(&message) {
            self.open.remove(&message);
            self.settled.note(message);
            return;
        }
        self.open = self.open.split_off(&message);
        self.open.remove(&message);
        if self.marks.last().is_none_or(|(at, _)| bytes >= at.saturating_add(SPOOL_MARK_BYTES.min(self.max_bytes / 8)))
        {
            self.marks.push((bytes, message.clone()));
        }
        self.settled.note(message);
    }

    fn take_line(&mut self, line: &[u8], end: u64) {
        match Told::of(line) {
            Told::Header { session } if self.ours.is_none() => {
                self.ours = Some(session.as_deref() == Some(self.session.as_str()));
            }
            Told::Entry { of, id } if id == LEFT_OUT && self.settled.up_to().is_none() => self.settled.begin_behind(of),
            Told::Entry { of, id } if !self.settled.holds(&of) => {
                self.open.entry(of).or_default().insert(id);
            }
            Told::Settled(place) if !self.settled.holds(&place) => self.note_settled(place, end),
            _ => {}
        }
        // What does not begin as ours does is none.
        self.ours.get_or_insert(false);
    }

    fn handle_bytes(&mut self, handle: Handle, bytes: &[u8]) {
        if bytes.is_empty() {
            return self.read_whole(handle);
        }
        let mut lines = core::mem::replace(&mut self.lines, LineSplitter::new(0, SPOOL_LINE_BYTES));
        let _ = lines.push(bytes, |line| {
            self.take_line(line.bytes, line.offset.saturating_add(line.bytes.len() as u64));
            ControlFlow::<()>::Continue(())
        });
        self.lines = lines;
        if self.ours == Some(false) {
            return self.read_whole(handle);
        }
        self.ask_read(handle);
    }

    /// Everything that is there was read: the unfinished last line is finished, one way or the other.
    fn read_whole(&mut self, handle: Handle) {
        self.bytes = self.lines.end();
        self.asks.ask(Op::CloseFile { handle });
        let tail = core::mem::replace(&mut self.lines, LineSplitter::new(0, SPOOL_LINE_BYTES));
        if records::is_whole(tail.tail()) {
            self.take_line(tail.tail(), tail.end());
            self.write(b"\n");
        } else if tail.end() > tail.line_start() {
            self.write(&[record::TORN, b'\n']);
        }
        self.phase = Phase::Open;
        if self.ours != Some(true) && tail.end() > 0 {
            // Another format, or what is left of a first line: nothing of it can be gone on with.
            self.forget();
            self.replace();
        }
    }

    /// The file is gone: a new one begins with the newest half of what the old one held, told again by the store.
    fn begin_anew(&mut self) {
        let half = self.marks.iter().find(|(at, _)| *at >= self.max_bytes / 2).map(|(_, place)| place.clone());
        let from = half.or_else(|| self.settled.up_to().cloned());
        self.forget();
        self.bytes = 0;
        self.phase = Phase::Open;
        if let Some(place) = from {
            self.write(&record::entry(&place, &left_out()));
            self.write(&record::settled(&place));
            self.settled.begin_behind(place);
        }
    }

    /// Replaces the file by a new one.
    fn replace(&mut self) {
        self.phase = Phase::Replacing;
        self.ask(Pending::Remove, Op::Remove { path: self.path.clone() });
    }

    /// What was known of the file holds no more.
    fn forget(&mut self) {
        self.life = self.life.wrapping_add(1);
        self.settled = Settled::default();
        self.open.clear();
        self.marks.clear();
        self.queue.clear();
    }

    fn fail(&mut self, what: &str, why: &str) {
        self.trouble = Some(format!("cannot {what} {}: {why}", self.path));
        self.phase = Phase::Closed;
        self.queue.clear();
    }

    fn ask_read(&mut self, handle: Handle) {
        self.phase = Phase::Reading(Some(handle));
        self.ask(Pending::Read, Op::Read { handle, offset: self.lines.end(), len: MAX_READ_BYTES });
    }

    fn ask(&mut self, pending: Pending, op: Op) {
        self.pending = Some((self.asks.ask(op), pending));
    }
}

impl Machine for Spool {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, _now: Now, tag: Tag, outcome: Outcome<'_>) {
        let Some((_, pending)) = self.pending.filter(|(asked, _)| *asked == tag) else { return };
        self.pending = None;
        match (pending, outcome, self.phase) {
            (Pending::Open, Outcome::Opened { handle, facts }, _) if facts.kind == FileKind::File => {
                self.ask_read(handle);
            }
            (Pending::Open, Outcome::Opened { handle, .. }, _) => {
                self.asks.ask(Op::CloseFile { handle });
                self.fail("use", "it is no regular file");
            }
            (Pending::Open, Outcome::Failed(failure), _) if failure.kind == FailureKind::NotFound => {
                self.bytes = 0;
                self.phase = Phase::Open;
            }
            (Pending::Read, Outcome::Bytes { bytes, .. }, Phase::Reading(Some(handle))) => {
                self.handle_bytes(handle, bytes);
            }
            (Pending::Append, Outcome::Done, _) => self.appended = true,
            (Pending::Remove, Outcome::Done, _) => self.begin_anew(),
            (Pending::Remove, Outcome::Failed(failure), _) if failure.kind == FailureKind::NotFound => {
                self.begin_anew();
            }
            (pending, outcome, phase) => {
                if let Phase::Reading(Some(handle)) = phase {
                    self.asks.ask(Op::CloseFile { handle });
                }
                let why = match outcome {
                    Outcome::Failed(failure) => failure.text,
                    _ => "unexpected outcome",
                };
                let what = if matches!(pending, Pending::Append | Pending::Remove) { "write" } else { "read" };
                self.fail(what, why);
            }
        }
    }
}

/// The id of the entry that says so.
const LEFT_OUT: &str = "left-out";

/// What stands at the beginning of a spool that became too large once.
fn left_out() -> Entry {
    let text = format!("Earlier messages are left out: the session is larger than {} MiB.", SPOOL_BYTES >> 20);
    Entry {
        id: LEFT_OUT.to_string(),
        parent_id: None,
        ts: None,
        role: Role::System,
        body: Body::Message(Text { text, truncated: true }),
        parsed: true,
    }
}

/// The same entry with texts that fit in one line, however they are written.
fn shortened(entry: &Entry) -> Entry {
    // A character takes six bytes at most when it is escaped, and an entry has three long texts at most.
    let chars = SPOOL_LINE_BYTES / 32;
    let cut = |text: &str| -> Cow<'static, str> { text.chars().take(chars).collect::<String>().into() };
    let cut_option = |text: &Option<String>| text.as_deref().map(|text| cut(text).into_owned());
    let said = |text: &Text| Text { text: cut(&text.text).into_owned(), truncated: true };
    let body = match &entry.body {
        Body::Message(text) => Body::Message(said(text)),
        Body::Thinking(text) => Body::Thinking(said(text)),
        Body::Attachment(text) => Body::Attachment(said(text)),
        Body::ToolCall(call) => {
            let mut call = call.clone();
            (call.command, call.command_truncated) = (cut_option(&call.command), true);
            (call.diff, call.diff_truncated) = (None, true);
            Body::ToolCall(call)
        }
        Body::ToolResult(result) => {
            let mut result = result.clone();
            (result.output_summary, result.diff) = (cut_option(&result.output_summary), None);
            result.truncated = true;
            Body::ToolResult(result)
        }
    };
    Entry { body, id: entry.id.clone(), parent_id: entry.parent_id.clone(), ts: entry.ts.clone(), ..*entry }
}
