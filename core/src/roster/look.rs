//! A look at the children of a session, whatever kind of agent started them.
//!
//! ```text
//!   Idle ── look: kin.begin ──▶ questions, answers, errands ── nothing under way ──▶ kin.step 0, 1, … ──▶ no more: ready, Idle
//! ```
//!
//! A kind says where its children lie, what it reads of their files and what is left to do when that is read: its [`Kin`].
//! [`KinFinder`] keeps the count of looks, of what is under way, and of files that are open.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::through::Known;
use super::visit::{Found, Next, Part, Visit};
use super::{Finder, Row, Told, Wanted};
use crate::agent::Reader;
use crate::io::{DirEntry, Facts, FailureKind, FileIdentity, FileKind, FileTime, Op, Outcome};
use crate::limits::{CHILDREN_EVERY, CHILDREN_FIRST_BYTES, MAX_DIRECTORY_NAMES, MAX_OPEN_CHILDREN};
use crate::machine::{Asks, Machine, Tag};
use crate::source::follow::Source;
use crate::time::Now;

/// The children of one session, as a kind of agent keeps them.
pub(crate) trait Kin: fmt::Debug + Send + Sized {
    /// A question about a place, told again with its answer.
    type Question: fmt::Debug + Send;
    /// A file of a child, and what it is visited for.
    type Errand: fmt::Debug + Send;
    /// What is known of a child that was read as a whole.
    type Said: Known + fmt::Debug + Send;

    /// A look begins: asks about places in which something may be new.
    fn begin(&mut self, look: &mut Look<Self>);

    /// Takes an answer.
    fn answered(&mut self, question: Self::Question, outcome: Outcome<'_>, look: &mut Look<Self>);

    /// Where an errand leads; nothing if it is needless by now.
    fn set_out(&mut self, errand: &Self::Errand) -> Option<Destination<Self::Said>>;

    /// Takes what an errand found.
    fn visited(&mut self, errand: Self::Errand, found: Found<Self::Said>, look: &mut Look<Self>);

    /// All that was begun has come to its end. Begins what comes next, and tells whether anything did: the first step of a
    /// look is 0.
    fn step(&mut self, step: u32, told: &Told, look: &mut Look<Self>) -> bool;

    /// See [`Finder::rows`]. `in_full`: with what only reading as a whole tells.
    fn rows(&self, told: &Told, in_full: bool) -> Vec<Row>;

    /// See [`Finder::find`].
    fn find(&self, agent_id: &str, told: &Told) -> Option<(Source, Box<dyn Reader>)>;
}

/// Where an errand leads.
#[derive(Debug)]
pub(crate) struct Destination<K> {
    pub(crate) path: String,
    /// The directory that must contain it.
    pub(crate) under: String,
    pub(crate) part: Part<K>,
}

/// What a place was found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looked<T> {
    There(T),
    Gone,
    /// It could not be looked at this time.
    Unknown,
}

/// By what a change of a directory is seen.
pub(crate) type Listed = (FileIdentity, FileTime);

/// By what a change of a file is seen.
pub(crate) type Seen = (FileIdentity, u64, FileTime);

/// By what a change of this file would be seen.
pub(crate) const fn seen_by(facts: Facts) -> Seen {
    (facts.identity, facts.size, facts.modified)
}

/// The look that goes on, and what outlives it.
#[derive(Debug)]
pub(crate) struct Look<K: Kin> {
    line_bytes: usize,
    /// The next step of a look; nothing if none goes on.
    step: Option<u32>,
    looks: u64,
    is_nth: bool,
    wanted: Wanted,
    ready: bool,
    pending: BTreeMap<Tag, Pending<K>>,
    errands: VecDeque<K::Errand>,
    open: usize,
    trouble: Option<String>,
    asks: Asks,
}

#[derive(Debug)]
enum Pending<K: Kin> {
    Question(K::Question),
    Visit(K::Errand, Box<Visit<K::Said>>),
}

impl<K: Kin> Look<K> {
    /// Whether this look is one of those in which everything is looked at.
    pub(crate) const fn is_nth(&self) -> bool {
        self.is_nth
    }

    /// Whether every child is looked at, whether or not its directory changed.
    pub(crate) const fn every_child(&self) -> bool {
        self.wanted.every_child
    }

    /// Whether every child is read as a whole.
    pub(crate) const fn reads_through(&self) -> bool {
        self.wanted.read_through
    }

    /// Asks about a place.
    pub(crate) fn ask(&mut self, question: K::Question, op: Op) {
        let tag = self.asks.ask(op);
        self.pending.insert(tag, Pending::Question(question));
    }

    /// Asks for the names in a directory.
    pub(crate) fn list(&mut self, question: K::Question, path: &str) {
        self.ask(question, Op::List { path: path.into(), max_names: MAX_DIRECTORY_NAMES });
    }

    /// Visits a file when it is its turn.
    pub(crate) fn visit(&mut self, errand: K::Errand) {
        self.errands.push_back(errand);
    }

    /// So many bytes of children are about to be read as a whole. If they are many, rows are shown before.
    pub(crate) fn will_read(&mut self, bytes: u64) {
        self.ready |= bytes > CHILDREN_FIRST_BYTES;
    }

    /// Something is wrong with this file or directory.
    pub(crate) fn trouble(&mut self, path: &str, text: &str) {
        self.trouble.get_or_insert_with(|| format!("cannot look for subagents in {path}: {text}"));
    }

    /// What the answer to [`Op::Stat`] says of a directory.
    pub(crate) fn directory(&mut self, path: &str, outcome: &Outcome<'_>) -> Looked<Listed> {
        match outcome {
            Outcome::Facts(facts) if facts.kind == FileKind::Directory => {
                Looked::There((facts.identity, facts.modified))
            }
            Outcome::Facts(_) => Looked::Gone,
            outcome => self.absent(path, outcome),
        }
    }

    /// The names in a directory, and whether that is not all of them.
    pub(crate) fn names<'o>(&mut self, path: &str, outcome: &Outcome<'o>) -> Looked<(&'o [DirEntry], bool)> {
        match outcome {
            Outcome::Listing { names, truncated } => Looked::There((names, *truncated)),
            outcome => self.absent(path, outcome),
        }
    }

    fn absent<T>(&mut self, path: &str, outcome: &Outcome<'_>) -> Looked<T> {
        match outcome {
            Outcome::Failed(failure) if failure.kind == FailureKind::NotFound => return Looked::Gone,
            Outcome::Failed(failure) => self.trouble(path, failure.text),
            _ => {}
        }
        Looked::Unknown
    }
}

/// Finds the children of one session by what their [`Kin`] says.
#[derive(Debug)]
pub(crate) struct KinFinder<K: Kin> {
    kin: K,
    look: Look<K>,
}

impl<K: Kin> KinFinder<K> {
    /// Nothing was looked at yet.
    pub(crate) fn new(kin: K, line_bytes: usize) -> Self {
        let look = Look {
            line_bytes,
            step: None,
            looks: 0,
            is_nth: false,
            wanted: Wanted::default(),
            ready: false,
            pending: BTreeMap::new(),
            errands: VecDeque::new(),
            open: 0,
            trouble: None,
            asks: Asks::default(),
        };
        Self { kin, look }
    }

    /// Sets out on errands, a few at a time.
    fn set_out(&mut self) {
        let Self { kin, look } = self;
        while look.open < MAX_OPEN_CHILDREN
            && let Some(errand) = look.errands.pop_front()
        {
            let Some(Destination { path, under, part }) = kin.set_out(&errand) else { continue };
            look.open = look.open.saturating_add(1);
            let tag = look.asks.ask(Op::Open { path, under: Some(under) });
            look.pending.insert(tag, Pending::Visit(errand, Box::new(Visit::new(part, look.line_bytes))));
        }
    }
}

impl<K: Kin> Finder for KinFinder<K> {
    fn look(&mut self, wanted: Wanted) {
        let Self { kin, look } = self;
        if look.step.is_some() {
            if wanted.read_through && !look.wanted.read_through {
                // Somebody came who wants more: what is to be read is found out anew when this look is through.
                (look.wanted.read_through, look.step) = (true, Some(0));
            }
            return;
        }
        look.step = Some(0);
        look.is_nth = look.looks.is_multiple_of(CHILDREN_EVERY);
        look.looks = look.looks.saturating_add(1);
        look.wanted = Wanted { every_child: wanted.every_child || look.is_nth, ..wanted };
        kin.begin(look);
    }

    fn go_on(&mut self, told: &Told) {
        while let Some(step) = self.look.step {
            self.set_out();
            if !self.look.pending.is_empty() {
                return;
            }
            let Self { kin, look } = self;
            look.step = kin.step(step, told, look).then(|| step.saturating_add(1));
            look.ready |= look.step.is_none();
        }
    }

    fn is_looking(&self) -> bool {
        self.look.step.is_some()
    }

    fn is_ready(&self) -> bool {
        self.look.ready
    }

    fn rows(&self, told: &Told) -> Vec<Row> {
        self.kin.rows(told, self.look.wanted.read_through)
    }

    fn find(&self, agent_id: &str, told: &Told) -> Option<(Source, Box<dyn Reader>)> {
        self.kin.find(agent_id, told)
    }

    fn take_trouble(&mut self) -> Option<String> {
        self.look.trouble.take()
    }
}

impl<K: Kin> Machine for KinFinder<K> {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.look.asks.take()
    }

    fn handle_outcome(&mut self, _now: Now, tag: Tag, outcome: Outcome<'_>) {
        let Self { kin, look } = self;
        match look.pending.remove(&tag) {
            Some(Pending::Question(question)) => kin.answered(question, outcome, look),
            Some(Pending::Visit(errand, mut visit)) => match visit.take(outcome) {
                Next::Op(op) => {
                    let tag = look.asks.ask(op);
                    look.pending.insert(tag, Pending::Visit(errand, visit));
                }
                Next::Done(found, handle) => {
                    look.open = look.open.saturating_sub(1);
                    if let Some(handle) = handle {
                        look.asks.ask(Op::CloseFile { handle });
                    }
                    kin.visited(errand, found, look);
                }
            },
            // A file that was closed.
            None => {}
        }
    }
}
