//! The oldest store: a file for each message and for each part of one.
//!
//! ```text
//! storage/message/<session>/<message>.json     who wrote it and when
//! storage/part/<message>/<part>.json           its text, calls, … (or part/<session>/<message>/<part>.json)
//! ```
//!
//! A look costs one question about the directory of the messages, and then only what has not settled: the directory is
//! listed when it has changed, and of each message that may still grow, the parts that were written.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::block::{Author, Message};
use super::settle::{self, Behind};
use super::v1::{self, Content, Part};
use crate::agent::drift::Drift;
use crate::agent::layout::is_session_id;
use crate::ids::SessionId;
use crate::io::{DirEntry, Facts, FailureKind, FileKind, FileTime, Op, Outcome};
use crate::limits::{
    MAX_OPEN_STORE_FILES, MAX_STORE_NAMES, MAX_STORE_PARTS, STORE_PART_BYTES, STORE_SENT, STORE_WINDOW,
};
use crate::machine::{Asks, Machine, Tag, of_side};
use crate::source::json::Value;
use crate::source::spool::{Feeder, Place, Settled, Spool};
use crate::source::whole_files::{Whole, WholeFiles};
use crate::time::{Now, UnixMillis};

/// Feeds a spool from the JSON tree.
#[derive(Debug)]
pub(super) struct Tree {
    root: String,
    session: SessionId,
    stage: Stage,
    /// Which life of the spool is fed.
    life: Option<u32>,
    /// When the directory of the messages had changed last when it was listed.
    listed: Option<FileTime>,
    /// The files of messages that were read, and the messages that have not settled, in order.
    known: BTreeSet<String>,
    waiting: BTreeMap<Place, Waiting>,
    /// What had settled when the look began.
    settled: Settled,
    /// Files of messages that are to be read for the first time; and those that are to be read again, because they were not whole.
    unread: VecDeque<String>,
    torn: VecDeque<String>,
    window: Vec<Loading>,
    /// Parts that were read of messages that have not settled.
    kept: BTreeMap<Place, BTreeMap<String, Kept>>,
    files: WholeFiles<Wanted>,
    asks: Asks,
    asked: BTreeMap<Tag, Asked>,
    trouble: Option<String>,
    drift: Drift,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    /// Whether the directory of the messages has changed.
    Directory,
    /// What is in it.
    Names,
    /// Messages that are read for the first time.
    Infos,
    /// The first messages that have not settled, with their parts.
    Window,
    /// They are in memory, and handed over when the spool has room.
    Loaded,
}

/// A message that has not settled.
#[derive(Debug)]
struct Waiting {
    file: String,
    author: Author,
}

/// A message on its way into memory.
#[derive(Debug)]
struct Loading {
    place: Place,
    info: Option<Vec<u8>>,
    parts: Vec<Part>,
    changed: Option<i64>,
}

#[derive(Debug, Clone)]
struct Kept {
    facts: (FileTime, u64),
    content: Content,
}

/// Which file is read.
#[derive(Debug)]
enum Wanted {
    /// A message, for its place.
    Place(String),
    /// A message of the window.
    Info(usize),
    /// A part of one.
    Part(usize, String),
}

/// What else was asked.
#[derive(Debug)]
enum Asked {
    Directory,
    Names,
    /// The parts of a message of the window; `old`: in the older place.
    Parts {
        at: usize,
        old: bool,
    },
}

impl Tree {
    pub(super) fn new(root: &str, session: &SessionId) -> Self {
        Self {
            root: root.into(),
            session: session.clone(),
            stage: Stage::Idle,
            life: None,
            listed: None,
            known: BTreeSet::new(),
            waiting: BTreeMap::new(),
            settled: Settled::default(),
            unread: VecDeque::new(),
            torn: VecDeque::new(),
            window: Vec::new(),
            kept: BTreeMap::new(),
            files: WholeFiles::new(root.into(), STORE_PART_BYTES, MAX_OPEN_STORE_FILES),
            asks: Asks::default(),
            asked: BTreeMap::new(),
            trouble: None,
            drift: Drift::default(),
        }
    }

    fn directory(&self) -> String {
        format!("{}/message/{}", self.root, self.session)
    }

    fn ask(&mut self, asked: Asked, op: Op) {
        let tag = self.asks.ask(op);
        self.asked.insert(tag, asked);
    }

    fn list(&mut self, asked: Asked, path: String) {
        self.ask(asked, Op::List { path, max_names: MAX_STORE_NAMES });
    }

    fn handle_directory(&mut self, outcome: Outcome<'_>) {
        match outcome {
            Outcome::Facts(facts) if facts.kind == FileKind::Directory => {
                if self.listed == Some(facts.modified) {
                    self.unread = core::mem::take(&mut self.torn);
                    self.stage = Stage::Infos;
                    self.read_infos();
                } else {
                    self.listed = Some(facts.modified);
                    self.stage = Stage::Names;
                    self.list(Asked::Names, self.directory());
                }
            }
            Outcome::Failed(failure) if failure.kind != FailureKind::NotFound => {
                self.fail(&self.directory(), failure.text);
            }
            // Nothing was written yet, or it was migrated away.
            _ => self.stage = Stage::Idle,
        }
    }

    fn handle_names(&mut self, now: Now, outcome: Outcome<'_>) {
        let Outcome::Listing { names, truncated } = outcome else {
            self.listed = None;
            let why = if let Outcome::Failed(failure) = outcome { failure.text } else { "unexpected outcome" };
            return self.fail(&self.directory(), why);
        };
        if truncated {
            self.trouble =
                Some(format!("{} holds more than {MAX_STORE_NAMES} messages: some are missing", self.directory()));
        }
        // What is made in the same tick of the file system's clock does not change the directory's time again.
        self.listed = self.listed.filter(|modified| !is_recent(*modified, now.wall));
        let is_new = |entry: &&DirEntry| is_document(entry) && !self.known.contains(&entry.name);
        self.torn.clear();
        self.unread = names.iter().filter(is_new).map(|entry| entry.name.clone()).collect();
        self.stage = Stage::Infos;
        self.read_infos();
    }

    /// Reads messages for their places, a few at a time.
    fn read_infos(&mut self) {
        while self.stage == Stage::Infos
            && self.files.has_room()
            && let Some(file) = self.unread.pop_front()
        {
            let path = format!("{}/{file}", self.directory());
            self.files.read(Wanted::Place(file), path);
        }
        if self.stage == Stage::Infos && self.files.is_idle() {
            self.load_window();
        }
    }

    /// Brings the first messages that have not settled into memory.
    fn load_window(&mut self) {
        self.stage = Stage::Window;
        let places: Vec<(Place, String)> = self
            .waiting
            .iter()
            .take(STORE_WINDOW)
            .map(|(place, message)| (place.clone(), message.file.clone()))
            .collect();
        self.kept.retain(|place, _| places.iter().any(|(kept, _)| kept == place));
        self.window.clear();
        for (at, (place, file)) in places.into_iter().enumerate() {
            self.files.read(Wanted::Info(at), format!("{}/{file}", self.directory()));
            self.window.push(Loading { place, info: None, parts: Vec::new(), changed: None });
        }
        self.settle_window();
    }

    fn handle_parts(&mut self, at: usize, old: bool, outcome: Outcome<'_>) {
        let Some(message) = self.window.get(at) else { return };
        let id = message.place.id.clone();
        let directory =
            if old { format!("{}/part/{}/{id}", self.root, self.session) } else { format!("{}/part/{id}", self.root) };
        match outcome {
            Outcome::Listing { names, .. } => self.take_parts(at, &directory, names),
            Outcome::Failed(failure) if failure.kind == FailureKind::NotFound && !old => {
                self.list(Asked::Parts { at, old: true }, format!("{}/part/{}/{id}", self.root, self.session));
            }
            Outcome::Failed(failure) if failure.kind != FailureKind::NotFound => {
                self.trouble = Some(format!("cannot list {directory}: {}", failure.text));
            }
            _ => {}
        }
    }

    /// Takes the parts of a message that are known as they are, and reads the others.
    fn take_parts(&mut self, at: usize, directory: &str, names: &[DirEntry]) {
        let Some(message) = self.window.get_mut(at) else { return };
        let kept = self.kept.entry(message.place.clone()).or_default();
        let mut documents: Vec<&DirEntry> = names.iter().filter(|entry| is_document(entry)).collect();
        documents.sort_by(|one, other| one.name.cmp(&other.name));
        for entry in documents.into_iter().take(MAX_STORE_PARTS) {
            let changed = entry.facts.modified.as_unix_millis();
            message.changed = Some(message.changed.map_or(changed, |before| before.max(changed)));
            let is_same = |kept: &&Kept| kept.facts == times(entry.facts) && kept.content != Content::Torn;
            match kept.get(&entry.name).filter(is_same) {
                Some(kept) => message.parts.push(Part { id: stem(&entry.name), content: kept.content.clone() }),
                None => {
                    let path = format!("{directory}/{}", entry.name);
                    self.files.read(Wanted::Part(at, entry.name.clone()), path);
                }
            }
        }
    }

    fn handle_file(&mut self, now: Now, wanted: Wanted, whole: Whole) {
        match wanted {
            Wanted::Place(file) => self.take_place(file, whole),
            Wanted::Info(at) => self.take_info(at, whole),
            Wanted::Part(at, name) => self.take_part(now, at, &name, whole),
        }
    }

    fn take_place(&mut self, file: String, whole: Whole) {
        let bytes = match whole {
            Whole::Bytes(_, bytes) => bytes,
            Whole::Absent | Whole::TooLarge(_) => return,
            Whole::Unreadable(why) => {
                self.trouble = Some(format!("cannot read {}/{file}: {why}", self.directory()));
                return self.torn.push_back(file);
            }
        };
        // It is read again with the next look, until it is whole.
        let Content::Whole(bytes) = Content::of(bytes, true) else { return self.torn.push_back(file) };
        let info = Value(bytes.trim_ascii());
        let place = v1::place(info, &stem(&file));
        let author = v1::author(info);
        self.known.insert(file.clone());
        if !self.settled.holds(&place) {
            self.waiting.insert(place, Waiting { file, author });
        }
    }

    /// A message says whether it is over; only then are its parts listed: all that it had when it said so are among them.
    fn take_info(&mut self, at: usize, whole: Whole) {
        let (Some(message), Whole::Bytes(_, bytes)) = (self.window.get_mut(at), whole) else { return };
        message.info = Some(bytes);
        let id = message.place.id.clone();
        if is_session_id(&id) {
            self.list(Asked::Parts { at, old: false }, format!("{}/part/{id}", self.root));
        }
    }

    fn take_part(&mut self, now: Now, at: usize, name: &str, whole: Whole) {
        let Some(message) = self.window.get_mut(at) else { return };
        let (facts, content) = match whole {
            Whole::Bytes(facts, bytes) => (facts, Content::of(bytes, is_recent(facts.modified, now.wall))),
            Whole::TooLarge(facts) => (facts, Content::damaged(b"too long to be shown", facts.size)),
            // It was there a moment ago.
            Whole::Absent => return,
            Whole::Unreadable(why) => {
                self.trouble = Some(format!("cannot read part {name} of message {}: {why}", message.place.id));
                return;
            }
        };
        let kept = self.kept.entry(message.place.clone()).or_default();
        kept.insert(name.into(), Kept { facts: times(facts), content: content.clone() });
        message.parts.push(Part { id: stem(name), content });
    }

    /// When everything that belongs to the window is in memory, it can be handed over.
    fn settle_window(&mut self) {
        if self.stage == Stage::Window && self.files.is_idle() && self.asked.is_empty() {
            self.stage = Stage::Loaded;
            for message in &mut self.window {
                message.parts.sort_by(|one, other| one.id.cmp(&other.id));
            }
        }
    }

    fn hand_over(&mut self, now: Now, spool: &mut Spool) {
        let window = core::mem::take(&mut self.window);
        let mut messages: Vec<(Message<'_>, Option<i64>)> = Vec::new();
        let directory = self.directory();
        for loading in &window {
            let Some(info) = loading.info.as_deref().filter(|info| Value(info.trim_ascii()).is_object()) else { break };
            let info = Value(info.trim_ascii());
            v1::note(info, &loading.parts, &directory, &mut self.drift);
            messages.push((v1::message(loading.place.clone(), info, &loading.parts), loading.changed));
        }
        let mut later = self.waiting.iter().skip(messages.len());
        let behind = Behind {
            any: self.waiting.len() > messages.len(),
            assistant: later.any(|(_, message)| message.author == Author::Assistant),
            quiet: false,
        };
        let settled = settle::window(&messages, behind, now.wall, spool);
        self.stage = Stage::Idle;
        if let Some(settled) = settled {
            self.waiting.retain(|place, _| *place > settled);
            if !self.waiting.is_empty() {
                self.load_window();
            }
        }
    }

    fn fail(&mut self, path: &str, why: &str) {
        self.trouble = Some(format!("cannot look at {path}: {why}"));
        self.stage = Stage::Idle;
    }
}

impl Feeder for Tree {
    fn look(&mut self, _now: Now, spool: &Spool) {
        if self.life != Some(spool.life()) {
            // What is settled there is known by place alone: everything is read for its place again.
            self.life = Some(spool.life());
            self.listed = None;
            self.known.clear();
            self.torn.clear();
            self.waiting.clear();
            self.kept.clear();
        }
        self.settled.clone_from(spool.all_settled());
        self.stage = Stage::Directory;
        self.ask(Asked::Directory, Op::Stat { path: self.directory() });
    }

    fn go_on(&mut self, now: Now, spool: &mut Spool) {
        while let Some((wanted, whole)) = self.files.take() {
            self.handle_file(now, wanted, whole);
        }
        self.read_infos();
        self.settle_window();
        while self.stage == Stage::Loaded && spool.has_room() {
            if self.life != Some(spool.life()) {
                // It began anew meanwhile: so does the next look.
                self.window.clear();
                self.stage = Stage::Idle;
                return;
            }
            self.waiting.retain(|place, _| !spool.all_settled().holds(place));
            self.window.retain(|message| !spool.all_settled().holds(&message.place));
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

impl Machine for Tree {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take().map(of_side::<2>(0)).or_else(|| self.files.poll_op().map(of_side::<2>(1)))
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        let (side, inner) = tag.side::<2>();
        if side == 1 {
            return self.files.handle_outcome(now, inner, outcome);
        }
        match self.asked.remove(&inner) {
            Some(Asked::Directory) => self.handle_directory(outcome),
            Some(Asked::Names) => self.handle_names(now, outcome),
            Some(Asked::Parts { at, old }) => self.handle_parts(at, old, outcome),
            None => {}
        }
    }
}

fn is_document(entry: &DirEntry) -> bool {
    entry.facts.kind == FileKind::File && entry.name.ends_with(".json")
}

fn stem(name: &str) -> String {
    name.strip_suffix(".json").unwrap_or(name).into()
}

const fn times(facts: Facts) -> (FileTime, u64) {
    (facts.modified, facts.size)
}

/// Whether something changed so recently that it may be changing now.
pub(super) fn is_recent(modified: FileTime, now: UnixMillis) -> bool {
    let age = now.0.saturating_sub(modified.as_unix_millis());
    age < i64::try_from(STORE_SENT.as_millis()).unwrap_or(i64::MAX)
}
