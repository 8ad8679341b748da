//! What this reader remembers of the lines before: which texts came by which way, and whether a fork still repeats its
//! parent.
//!
//! A text that comes by another way than the one by which it came first is its double, and makes no entry. The same text by the
//! same way again was said again. So each text is shown once, whichever way comes first.
//!
//! Codex writes the two near each other: an event right behind its item or before it, or, in 2025, that of the last answer
//! at the end of the turn. What must go to make room is what will hardly be asked for: what came by two ways already, then
//! calls, answers and thoughts, and the newest half is spared. So a message is remembered behind [`SPARED`] others at
//! least, however many calls and thoughts come between.

use alloc::vec::Vec;

use super::record::Record;
use super::time;
use crate::agent::State;
use crate::source::json::Value;

/// Texts that are remembered.
const TEXTS: usize = 40;

/// The newest of them, which stay whatever they are.
const SPARED: usize = 20;

/// Milliseconds in which the next record of a replay is written: it is all written at once. What comes later is the fork's own.
const REPLAY_GAP_MILLIS: u64 = 2_000;

/// The way by which a text came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Item = 1,
    Event = 2,
    Completed = 4,
}

/// What is compared: two things of different topics are never doubles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    User = 0x10,
    Assistant = 0x20,
    Thinking = 0x30,
    Call = 0x40,
    Answer = 0x50,
    Notice = 0x60,
    /// An image in a message of the user, told by the message and its place in it.
    Image = 0x70,
}

/// What there is so much of that it would push messages out.
const ASIDE: [Topic; 4] = [Topic::Thinking, Topic::Call, Topic::Answer, Topic::Image];

/// The memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Memory {
    /// The first session record was read: what others say is of another session.
    begun: bool,
    /// Nothing but session records was read so far.
    opening: bool,
    /// The parent is repeated.
    replaying: bool,
    /// When this session began, in milliseconds; zero if nothing says so.
    began: u64,
    /// When the last record of a replay was written.
    replayed: u64,
    texts: Vec<Known>,
}

/// A text: its topic and the ways by which it came, and a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    topic: u8,
    ways: u8,
    digest: [u8; DIGEST_BYTES],
}

/// So few that many fit, so many that one text in 2^34 is mistaken for another.
const DIGEST_BYTES: usize = 5;
/// Flags, and two moments.
const HEADER_BYTES: usize = 1 + 2 * MOMENT_BYTES;
/// Enough for every moment that can be read.
const MOMENT_BYTES: usize = 6;

/// What a session record means.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meta<'a> {
    /// A session that begins with what this one said, its parent.
    Fork(Value<'a>),
    Other,
}

impl Memory {
    /// Reads a memory; what is none is empty.
    pub(super) fn of(state: &State) -> Self {
        let Some((header, texts)) = state.as_bytes().split_first_chunk::<HEADER_BYTES>() else {
            return Self::default();
        };
        let [flags, moments @ ..] = header;
        let moment = |bytes: &[u8]| bytes.iter().fold(0, |sum, byte| (sum << 8) | u64::from(*byte));
        let (began, replayed) = moments.split_at(MOMENT_BYTES);
        let known = texts.chunks_exact(1 + DIGEST_BYTES).filter_map(|chunk| {
            let ([both, digest @ ..], []) = chunk.split_first_chunk::<{ 1 + DIGEST_BYTES }>()? else { return None };
            Some(Known { topic: both & 0xf0, ways: both & 0x0f, digest: *digest })
        });
        Self {
            begun: flags & 1 != 0,
            opening: flags & 2 != 0,
            replaying: flags & 4 != 0,
            began: moment(began),
            replayed: moment(replayed),
            texts: known.collect(),
        }
    }

    /// Its form in a checkpoint.
    pub(super) fn into_state(self) -> State {
        if self == Self::default() {
            return State::none();
        }
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.texts.len() * (1 + DIGEST_BYTES));
        let flags = [self.begun, self.opening, self.replaying];
        bytes.push(flags.iter().rev().fold(0, |sum, flag| (sum << 1) | u8::from(*flag)));
        for moment in [self.began, self.replayed] {
            bytes.extend_from_slice(moment.to_be_bytes().last_chunk::<MOMENT_BYTES>().unwrap_or(&[0; MOMENT_BYTES]));
        }
        for text in &self.texts {
            bytes.push(text.topic | text.ways);
            bytes.extend_from_slice(&text.digest);
        }
        State::new(bytes).unwrap_or_default()
    }

    /// Whether this is heard of the first time by this way.
    pub(super) fn is_news(&mut self, topic: Topic, way: Way, digest: Digest) -> bool {
        let (topic, way, digest) = (topic as u8, way as u8, digest.finish());
        let double =
            self.texts.iter_mut().find(|known| known.topic == topic && known.digest == digest && known.ways & way == 0);
        if let Some(double) = double {
            double.ways |= way;
            return false;
        }
        if self.texts.len() >= TEXTS {
            self.texts.remove(self.least_wanted());
        }
        self.texts.push(Known { topic, ways: way, digest });
        true
    }

    /// The place of the text that goes first.
    fn least_wanted(&self) -> usize {
        let old = self.texts.get(..self.texts.len().saturating_sub(SPARED)).unwrap_or_default();
        let is_paired = |known: &Known| known.ways.count_ones() > 1;
        let is_aside = |known: &Known| ASIDE.iter().any(|topic| known.topic == *topic as u8);
        old.iter().position(is_paired).or_else(|| old.iter().position(is_aside)).unwrap_or(0)
    }

    /// A session record. The first one is this session's. Others are copies of a parent's: right behind the first one they
    /// begin a replay, also where the first does not say that it is a fork, as in threads that begin with their parent's
    /// conversation.
    pub(super) fn meta<'a>(&mut self, record: &Record<'a>) -> Meta<'a> {
        let payload = &record.payload;
        let moment = time::minted(payload.id).or_else(|| time::stamped(payload.timestamp));
        let written = time::stamped(record.timestamp);
        let parent = if core::mem::replace(&mut self.begun, true) {
            let is_copy = self.opening && moment != Some(self.began);
            payload.id.filter(|_| is_copy)
        } else {
            self.opening = true;
            self.began = moment.or(written).unwrap_or_default();
            payload.forked_from
        };
        // Without its moment nobody could tell where the replay ends: then it is shown.
        let parent = parent.filter(|parent| !parent.is_empty() && self.began > 0 && !self.replaying);
        self.replaying |= parent.is_some();
        self.replayed = self.replayed.max(written.unwrap_or_default()).max(self.began);
        parent.map_or(Meta::Other, Meta::Fork)
    }

    /// Whether this record is of the parent. A turn's id tells when it began; where it has none, the time stamp does, which a
    /// replay writes anew, all at once.
    pub(super) fn is_replay(&mut self, record: &Record<'_>, begins_turn: bool) -> bool {
        self.opening = false;
        if !self.replaying {
            return false;
        }
        let turn = if begins_turn { time::minted(record.payload.turn_id) } else { None };
        let written = time::stamped(record.timestamp);
        let is_own = match turn {
            Some(began) => began >= self.began,
            None => written.is_some_and(|at| at >= self.replayed.saturating_add(REPLAY_GAP_MILLIS)),
        };
        self.replaying = !is_own;
        self.replayed = if is_own { 0 } else { self.replayed.max(written.unwrap_or_default()) };
        self.replaying
    }
}

/// A digest of a text, whatever its escapes and the blanks around it: FNV-1a, folded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Digest {
    sum: u64,
    /// The same without the blanks at the end.
    solid: u64,
}

impl Digest {
    pub(super) const fn new() -> Self {
        Self { sum: OFFSET, solid: OFFSET }
    }

    /// The digest of one text.
    pub(super) fn of(chars: impl IntoIterator<Item = char>) -> Self {
        let mut digest = Self::new();
        digest.add(chars);
        digest
    }

    /// Goes on with a text.
    pub(super) fn add(&mut self, chars: impl IntoIterator<Item = char>) {
        for char in chars {
            let blank = char.is_whitespace();
            if blank && self.solid == OFFSET {
                continue;
            }
            self.sum = (self.sum ^ u64::from(u32::from(char))).wrapping_mul(PRIME);
            if !blank {
                self.solid = self.sum;
            }
        }
    }

    /// Whether there was nothing in it but blanks.
    pub(super) const fn is_blank(self) -> bool {
        self.solid == OFFSET
    }

    fn finish(self) -> [u8; DIGEST_BYTES] {
        let mixed = (self.solid ^ (self.solid >> 32)).wrapping_mul(PRIME);
        let [_, _, _, digest @ ..] = (mixed ^ (mixed >> 29)).to_be_bytes();
        digest
    }
}

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::limits::READER_STATE_BYTES;

    fn digest(text: &str) -> Digest {
        Digest::of(text.chars())
    }

    #[test]
    fn a_double_comes_by_another_way_and_a_repetition_by_the_same() {
        let mut memory = Memory::default();
        let mut news = |way, text| memory.is_news(Topic::Assistant, way, digest(text));
        assert!(news(Way::Event, "done"));
        assert!(!news(Way::Item, " done\n"));
        assert!(!news(Way::Completed, "done"));
        assert!(news(Way::Item, "done"));
        assert!(!news(Way::Event, "done"));
        assert!(news(Way::Event, "not done"));
        assert!(memory.is_news(Topic::User, Way::Item, digest("not done")));
    }

    #[test]
    fn so_many_texts_are_remembered_and_no_more() {
        let mut memory = Memory::default();
        for n in 0..=TEXTS {
            assert!(memory.is_news(Topic::User, Way::Item, digest(&format!("text {n}"))));
        }
        assert!(!memory.clone().is_news(Topic::User, Way::Event, digest("text 1")));
        assert!(memory.is_news(Topic::User, Way::Event, digest("text 0")));
    }

    #[test]
    fn a_message_is_remembered_behind_any_number_of_calls_and_of_messages_that_came_twice() {
        let mut memory = Memory::default();
        assert!(memory.is_news(Topic::Assistant, Way::Item, digest("the answer")));
        for n in 0..1_000 {
            assert!(memory.is_news(Topic::Call, Way::Item, digest(&format!("call {n}"))));
            assert!(memory.is_news(Topic::Answer, Way::Item, digest(&format!("answer {n}"))));
            assert!(memory.is_news(Topic::Thinking, Way::Event, digest(&format!("thought {n}"))));
            assert!(memory.is_news(Topic::Assistant, Way::Event, digest(&format!("said {n}"))));
            assert!(!memory.is_news(Topic::Assistant, Way::Item, digest(&format!("said {n}"))));
        }
        assert!(!memory.is_news(Topic::Assistant, Way::Event, digest("the answer")));
    }

    #[test]
    fn what_is_new_is_not_pushed_out_by_what_is_old() {
        let mut memory = Memory::default();
        for n in 0..TEXTS {
            memory.is_news(Topic::Assistant, Way::Item, digest(&format!("said {n}")));
        }
        assert!(memory.is_news(Topic::Answer, Way::Event, digest("call")));
        assert!(memory.is_news(Topic::Assistant, Way::Item, digest("more")));
        assert!(!memory.is_news(Topic::Answer, Way::Item, digest("call")));
        assert!(memory.is_news(Topic::Assistant, Way::Event, digest("said 1")));
    }

    #[test]
    fn a_full_memory_fits_and_comes_back() {
        let mut memory = Memory {
            begun: true,
            opening: false,
            replaying: true,
            began: 1_783_591_201_250,
            replayed: 0xffff_ffff_ffff,
            texts: Vec::new(),
        };
        for n in 0..TEXTS {
            memory.is_news(Topic::Notice, Way::Completed, digest(&format!("{n}")));
        }
        let state = memory.clone().into_state();
        assert!(state.as_bytes().len() <= READER_STATE_BYTES);
        assert_eq!(Memory::of(&state), memory);
        assert_eq!(Memory::of(&State::none()), Memory::default());
        assert!(Memory::default().into_state().is_empty());
    }
}
