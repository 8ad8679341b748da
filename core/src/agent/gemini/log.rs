//! The list of a session's messages, as its records come, whichever of the two forms the file has.
//!
//! A message comes again at every change: its last form counts, its first place stays. Going back drops messages from the
//! conversation and not from the list: what was shown stays shown, and a note says what happened. Of what has settled no
//! more is held than that it was there.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::render;
use crate::agent::shown::{glance, named};
use crate::roster::digest;
use crate::source::json::{Scanner, Value};
use crate::source::spool::Place;
use crate::time::UnixMillis;

/// Whether a message has settled.
pub(super) type IsSettled<'f> = &'f dyn Fn(&Place) -> bool;

/// Everything in a file that is or was a message, in order.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Those that have not settled.
    pub(super) items: VecDeque<Item>,
    /// The number of each message in the list, by the digest of its id, and those that the conversation consists of now.
    known: BTreeMap<u64, usize>,
    current: BTreeSet<usize>,
    /// The same of what is no message.
    others: BTreeSet<u64>,
    /// Which message says the answer of a call first, by the digest of the call.
    answers: BTreeMap<u64, usize>,
    /// How many there are, and the place of the last one.
    count: usize,
    last: i64,
    /// Bytes that are held.
    held: usize,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) place: Place,
    pub(super) number: usize,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// A message, as it was written last.
    Message(Vec<u8>),
    Other(Other),
}

/// What is in the list and is no message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Other {
    /// The conversation went back: how many messages were dropped.
    Rewound(usize),
    /// Bytes that are no record: how many, and how they begin.
    Damaged(u64, String),
    /// A message that is too large to be looked at, and its size.
    TooLong(u64),
    /// An object that is no session, and how it begins.
    NoSession(String),
}

impl Other {
    /// Whether it is there by mistake.
    pub(super) const fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged(..) | Self::TooLong(_) | Self::NoSession(_))
    }
}

impl Log {
    /// Whether there was anything of this id.
    pub(super) fn holds(&self, id: &str) -> bool {
        let id = digest(id.as_bytes());
        self.known.contains_key(&id) || self.others.contains(&id)
    }

    /// How many of these messages are not in it, by the digests of their ids.
    pub(super) fn lacks(&self, ids: &BTreeSet<u64>) -> usize {
        ids.iter().filter(|id| !self.known.contains_key(id)).count()
    }

    /// The digests of the ids of all messages.
    pub(super) fn ids(&self) -> BTreeSet<u64> {
        self.known.keys().copied().collect()
    }

    /// Whether it is for the message of this number to say what a call was answered.
    pub(super) fn answers(&self, number: usize, call: &str) -> bool {
        self.answers.get(&digest(call.as_bytes())).is_none_or(|first| *first == number)
    }

    /// How many items there ever were.
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// Bytes of messages that are held.
    pub(super) const fn held(&self) -> usize {
        self.held
    }

    /// The first item has settled.
    pub(super) fn drop_first(&mut self) {
        if let Some(Item { what: What::Message(bytes), .. }) = self.items.pop_front() {
            self.held = self.held.saturating_sub(bytes.len());
        }
    }

    /// Takes a line of a log.
    pub(super) fn record(&mut self, record: Value<'_>, settled: IsSettled<'_>) {
        if let Some(set) = record.get("$set") {
            if let Some(messages) = set.get("messages").filter(|messages| messages.is_list()) {
                self.replace(messages, settled);
            }
        } else if let Some(to) = record.get("$rewindTo") {
            let to = named(Some(to)).and_then(|id| self.known.get(&digest(id.as_bytes())).copied());
            let kept = to.filter(|number| self.current.contains(number)).unwrap_or(0);
            self.keep(|number| number < kept, settled);
        } else if record.get("id").is_some() {
            self.message(record, settled);
        }
    }

    /// Takes a message.
    pub(super) fn message(&mut self, message: Value<'_>, settled: IsSettled<'_>) {
        let id = named(message.get("id")).unwrap_or_else(|| format!("@{}", self.count));
        let key = digest(id.as_bytes());
        let number = match self.known.get(&key) {
            Some(number) => {
                let number = *number;
                self.rewrite(number, message.raw());
                number
            }
            None => {
                let made = named(message.get("timestamp")).and_then(|text| UnixMillis::parse(&text));
                self.known.insert(key, self.count);
                self.push(id, made, What::Message(message.raw().into()), settled)
            }
        };
        self.current.insert(number);
        render::each_answer(message, &mut |call| {
            let first = self.answers.entry(digest(call.as_bytes())).or_insert(number);
            *first = number.min(*first);
        });
    }

    /// Takes what is no message, once.
    pub(super) fn other(&mut self, id: String, other: Other, settled: IsSettled<'_>) {
        if self.others.insert(digest(id.as_bytes())) {
            self.push(id, None, What::Other(other), settled);
        }
    }

    /// Takes bytes that are no record.
    pub(super) fn damaged(&mut self, at: u64, bytes: &[u8], settled: IsSettled<'_>) {
        self.other(format!("@{at}"), Other::Damaged(bytes.len() as u64, glance(bytes)), settled);
    }

    /// Whatever comes again of what has settled is not looked at.
    fn rewrite(&mut self, number: usize, bytes: &[u8]) {
        let at = self.items.binary_search_by_key(&number, |item| item.number);
        if let Some(item) = at.ok().and_then(|at| self.items.get_mut(at))
            && let What::Message(before) = &mut item.what
        {
            self.held = self.held.saturating_sub(before.len()).saturating_add(bytes.len());
            *before = bytes.into();
        }
    }

    /// The list is another one: what is not in it any more was dropped.
    fn replace(&mut self, messages: Value<'_>, settled: IsSettled<'_>) {
        let ids = messages.elements().filter_map(|message| named(message.get("id")));
        let numbers: BTreeSet<usize> = ids.filter_map(|id| self.known.get(&digest(id.as_bytes())).copied()).collect();
        self.keep(|number| numbers.contains(&number), settled);
        messages.elements().for_each(|message| self.message(message, settled));
    }

    fn keep(&mut self, stays: impl Fn(usize) -> bool, settled: IsSettled<'_>) {
        let before = self.current.len();
        self.current.retain(|number| stays(*number));
        let dropped = before.saturating_sub(self.current.len());
        if dropped > 0 {
            self.other(format!("rewind-{}", self.count), Other::Rewound(dropped), settled);
        }
    }

    /// Places are in order of the list, whatever the clocks said, and what is new lies behind all that was there.
    fn push(&mut self, id: String, made: Option<UnixMillis>, what: What, settled: IsSettled<'_>) -> usize {
        let (number, next) = (self.count, self.last.saturating_add(1));
        self.last = if number == 0 { made.map_or(0, |made| made.0) } else { next.max(made.map_or(0, |at| at.0)) };
        self.count = number.saturating_add(1);
        let place = Place { time: self.last, id };
        if !settled(&place) {
            if let What::Message(bytes) = &what {
                self.held = self.held.saturating_add(bytes.len());
            }
            self.items.push_back(Item { place, number, what });
        }
        number
    }
}

/// The value that is all of these bytes.
pub(super) fn whole(bytes: &[u8]) -> Option<Value<'_>> {
    let mut scanner = Scanner::new(bytes, 0);
    let value = scanner.skip().ok()?;
    let is_all = scanner.between(scanner.at(), bytes.len()).trim_ascii().is_empty();
    is_all.then_some(Value(value))
}
