//! What happens in a trial: acts, and how a seed chooses them.

use core::fmt;
use core::time::Duration;

use panewire_core::io::{FailureKind, Fault};

use super::chance::Chance;
use crate::herdr::Mode;
use crate::sim::Speed;
use crate::sim::disk::{Effect, OpKind};
use crate::sim::hints::Hinting;

/// A trial: where it begins, and what happens.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed it was made from.
    pub seed: u64,
    /// Entries that the session has when it begins.
    pub entries: u32,
    /// Bytes of padding in each of the first lines: a file worth an index.
    pub padding: usize,
    /// Bytes that may wait for one client.
    pub window_bytes: usize,
    /// Bytes of one line at most.
    pub line_bytes: usize,
    /// How changes of the disk are announced when it begins.
    pub hinting: Hinting,
    /// What happens, in order.
    pub acts: Vec<Act>,
}

/// One thing that happens. Whoever is meant by a number is found by its remainder.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// The agent writes so many lines.
    Talk(u32),
    /// So many long lines at once: more than a client near the head is kept.
    Burst(u32),
    /// One line of so many bytes.
    Long(usize),
    /// The first thousandths of a line; the rest comes with the next write.
    Torn(usize),
    /// Two records on one physical line.
    Glued,
    /// The beginning of a record, and a whole one right behind it.
    Fragment(usize),
    /// The file is cut to so many thousandths.
    Cut(usize),
    /// Its content is another one from now on.
    Rewritten(Way, Content),
    /// The file is not there for now.
    Away,
    /// It is there again.
    Back,
    /// The file lies in another project's directory.
    Moved(u64),
    /// The file's name is a link from now on: to the same file, or to one with so many other entries.
    Linked(Option<u32>),
    /// The pane has a new session with so many entries.
    NextSession(u32),
    /// The pane has the session before again.
    SessionBefore,
    /// herdr reports the session of a run somewhere else.
    Nested(u32),
    /// A client comes.
    Comes(Speed),
    /// A client breaks off and comes back with its cursor.
    Returns(usize, Cursor),
    /// A client goes.
    Leaves(usize),
    /// A client takes data at another speed.
    Takes(usize, Speed),
    /// A client's machine is gone, its socket is not.
    HalfOpen(usize),
    /// A client asks for an older page: before, limit.
    Pages(usize, u64, u64),
    /// A client asks for so many older pages at once.
    Flood(usize, u32),
    /// A client says what it may not say.
    Nonsense(usize, Nonsense),
    /// Operations of a disk go wrong so often.
    Fault(OpKind, Effect, u32),
    /// The disk works again.
    Healed,
    /// herdr behaves so.
    Herdr(Mode),
    /// herdr takes so long.
    HerdrSlow(u64),
    /// herdr is restarted.
    HerdrRestarts,
    /// The daemon is stopped, or killed, and started again.
    Restart {
        /// Whether it was told to stop.
        told: bool,
    },
    /// One of the saved indexes is damaged.
    IndexSpoiled(usize),
    /// The saved indexes are exchanged for one another.
    IndexesSwapped,
    /// Changes are announced so from now on.
    Hints(Hinting),
    /// Something beside the transcript: at terminals, for followers of events, with answers.
    Beside(Beside),
    /// Milliseconds pass.
    Time(u64),
}

/// What happens beside the transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// A client attaches to the agent, or to the shell.
    Attaches(Place, Speed),
    /// A client that is attached types.
    Types(usize, u64),
    /// A client that is attached goes.
    Detaches(usize),
    /// The shell shows something else, and herdr tells of it or not.
    ShellShows {
        /// Whether herdr tells.
        told: bool,
    },
    /// An agent comes into the shell's pane, or goes.
    AgentComes(bool),
    /// A client follows the events.
    Follows,
    /// One that follows goes.
    Unfollows(usize),
    /// The agent asks something else.
    Asks,
    /// The newest question is confirmed, or the one before.
    Approves {
        /// Whether it is the newest.
        newest: bool,
    },
    /// A text is sent to the agent, or to the shell.
    Sends(Place, u64),
}

/// The panes of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// That of the agent whose transcript is followed.
    Agent,
    /// One without an agent.
    Shell,
}

/// How a file gets another content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Written over in place.
    InPlace,
    /// Another file renamed over it.
    RenamedOver,
    /// Deleted, and made again after so many milliseconds.
    Deleted(u64),
}

/// The other content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// So many entries of another conversation.
    Other(u32),
    /// As many bytes of another conversation as there were.
    SameSize,
    /// The same conversation without one of its lines, and with so many more.
    Compacted(usize, u32),
}

/// The cursor that a client comes back with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cursor {
    /// What it has.
    True,
    /// Another id than the entry has.
    WrongId,
    /// The number before.
    WrongSeq,
    /// Another generation.
    WrongGeneration,
}

/// What a client may not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nonsense {
    /// A text that is no control frame.
    Text,
    /// A binary message.
    Binary,
    /// Something that is no message.
    Fault(Fault),
}

impl Plan {
    /// The trial of a seed.
    #[must_use]
    pub fn of(seed: u64, steps: usize) -> Self {
        let mut chance = Chance::new(seed);
        let large = chance.one_in(6);
        let sizes = [(1, 0), (2, 12), (3, 170), (1, 400)];
        let entries = if large { chance.count(60, 90) } else { chance.weighted(&sizes, 12) };
        let padding = if large { 19_500 } else { 0 };
        let windows = [(3, 256 * 1024), (2, 64 * 1024), (2, 16 * 1024)];
        let window_bytes = chance.weighted(&windows, 256 * 1024);
        let line_bytes = if chance.one_in(3) { 64 * 1024 } else { 64 * 1024 * 1024 };
        let hinting = hinting(&mut chance);
        let acts = (0..steps).map(|_| Act::any(&mut chance)).collect();
        Self { seed, entries, padding, window_bytes, line_bytes, hinting, acts }
    }

    /// The same beginning with other acts.
    #[must_use]
    pub fn with(&self, acts: Vec<Act>) -> Self {
        Self { acts, ..self.clone() }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, entries, padding, window_bytes, line_bytes, hinting, acts } = self;
        writeln!(
            f,
            "seed {seed}: {entries} entries padded by {padding}, window {window_bytes}, lines up to {line_bytes}, hints {hinting:?}"
        )?;
        acts.iter().try_for_each(|act| writeln!(f, "  {act:?}"))
    }
}

impl Act {
    /// Whether something goes wrong in it, or somebody does.
    #[must_use]
    pub const fn is_fault(&self) -> bool {
        !matches!(
            self,
            Self::Talk(_)
                | Self::Burst(_)
                | Self::Long(_)
                | Self::Back
                | Self::NextSession(_)
                | Self::SessionBefore
                | Self::Comes(_)
                | Self::Returns(_, Cursor::True)
                | Self::Leaves(_)
                | Self::Takes(..)
                | Self::Pages(..)
                | Self::Fault(..)
                | Self::Healed
                | Self::Beside(_)
                | Self::Time(_)
        )
    }

    fn any(chance: &mut Chance) -> Self {
        if chance.one_in(8) {
            return Self::Beside(Beside::any(chance));
        }
        match chance.below(100) {
            0..=11 => Self::Talk(chance.count(1, 40)),
            12 => Self::Talk(chance.count(100, 700)),
            13 => Self::Burst(chance.count(40, 70)),
            14..=16 => Self::long(chance),
            // Often nothing but its newline is missing.
            17..=18 => Self::Torn(999),
            19..=20 => Self::Torn(chance.size(0, 1_000)),
            21 => Self::Glued,
            22 => Self::Fragment(chance.size(1, 900)),
            23..=24 => Self::Cut(chance.size(0, 1_000)),
            25..=28 => Self::rewritten(chance),
            29 => Self::Away,
            30..=31 => Self::Back,
            32 => Self::Moved(chance.below(3)),
            33 => Self::Linked(chance.one_in(2).then(|| chance.count(0, 60))),
            34..=35 => Self::NextSession(chance.count(1, 200)),
            36 => Self::SessionBefore,
            37 => Self::Nested(chance.count(1, 9)),
            38..=42 => Self::Comes(speed(chance)),
            43..=49 => Self::returns(chance),
            50..=51 => Self::Leaves(who(chance)),
            52..=54 => Self::Takes(who(chance), speed(chance)),
            55 => Self::HalfOpen(who(chance)),
            56..=62 => Self::Pages(who(chance), chance.below(700), chance.below(300)),
            63 => Self::Flood(who(chance), chance.count(2, 20)),
            64 => Self::nonsense(chance),
            65..=70 => Self::fault(chance),
            71 => Self::Healed,
            72..=73 => Self::herdr(chance),
            74 => Self::HerdrSlow(chance.below(6_000)),
            75 => Self::HerdrRestarts,
            76..=78 => Self::Restart { told: chance.one_in(2) },
            79 => Self::IndexSpoiled(who(chance)),
            80 => Self::IndexesSwapped,
            81 => Self::Hints(hinting(chance)),
            82..=93 => Self::Time(chance.below(700)),
            94..=98 => Self::Time(chance.below(5_000)),
            _ => Self::Time(chance.between(25_000, 70_000)),
        }
    }

    fn long(chance: &mut Chance) -> Self {
        let most = chance.weighted(&[(4, 30_000), (3, 90_000), (1, 700_000)], 700_000);
        Self::Long(chance.size(1, most))
    }

    fn rewritten(chance: &mut Chance) -> Self {
        let way = match chance.below(3) {
            0 => Way::InPlace,
            1 => Way::RenamedOver,
            _ => Way::Deleted(chance.below(900)),
        };
        let content = match chance.below(4) {
            0 | 1 => Content::Other(chance.count(0, 250)),
            2 => Content::SameSize,
            _ => Content::Compacted(who(chance), chance.count(0, 5)),
        };
        Self::Rewritten(way, content)
    }

    fn returns(chance: &mut Chance) -> Self {
        let cursor = match chance.below(8) {
            0 => Cursor::WrongId,
            1 => Cursor::WrongSeq,
            2 => Cursor::WrongGeneration,
            _ => Cursor::True,
        };
        Self::Returns(who(chance), cursor)
    }

    fn nonsense(chance: &mut Chance) -> Self {
        let what = match chance.below(5) {
            0 => Nonsense::Text,
            1 => Nonsense::Binary,
            2 => Nonsense::Fault(Fault::TooLarge),
            3 => Nonsense::Fault(Fault::NotUtf8),
            _ => Nonsense::Fault(Fault::Protocol),
        };
        Self::Nonsense(who(chance), what)
    }

    fn fault(chance: &mut Chance) -> Self {
        let kinds = [(3, OpKind::Read), (2, OpKind::Stat), (2, OpKind::Open), (1, OpKind::List), (1, OpKind::Load)];
        let kind = chance.weighted(&kinds, OpKind::Write);
        let effect = match chance.below(4) {
            0 => Effect::Fail(FailureKind::Other),
            1 => Effect::Short(chance.size(1, 3_000)),
            _ => Effect::Slow(Duration::from_millis(chance.between(1, 3_000))),
        };
        Self::Fault(kind, effect, chance.count(1, 6))
    }

    fn herdr(chance: &mut Chance) -> Self {
        Self::Herdr(match chance.below(5) {
            0 | 1 => Mode::Normal,
            2 => Mode::Wedged,
            3 => Mode::NoServer,
            _ => Mode::Broken("Error: EmptyResponse".into()),
        })
    }
}

impl Beside {
    fn any(chance: &mut Chance) -> Self {
        match chance.below(20) {
            0..=3 => Self::Attaches(place(chance), speed(chance)),
            4..=6 => Self::Types(who(chance), chance.below(1_000)),
            7 => Self::Detaches(who(chance)),
            8..=9 => Self::ShellShows { told: chance.one_in(2) },
            10 => Self::AgentComes(chance.one_in(2)),
            11 => Self::Follows,
            12 => Self::Unfollows(who(chance)),
            13..=14 => Self::Asks,
            15..=17 => Self::Approves { newest: !chance.one_in(4) },
            _ => Self::Sends(place(chance), chance.below(1_000)),
        }
    }
}

fn place(chance: &mut Chance) -> Place {
    if chance.one_in(3) { Place::Agent } else { Place::Shell }
}

fn hinting(chance: &mut Chance) -> Hinting {
    let late = Hinting::Late(Duration::from_millis(chance.below(1_500)));
    let ways =
        [(3, Hinting::Refused), (3, Hinting::Working), (1, Hinting::Silent), (1, Hinting::Overflowing), (1, late)];
    chance.weighted(&ways, Hinting::Refused)
}

fn who(chance: &mut Chance) -> usize {
    chance.size(0, 999)
}

fn speed(chance: &mut Chance) -> Speed {
    match chance.below(8) {
        0..=3 => Speed::Full,
        4..=6 => {
            let every = Duration::from_millis(chance.between(10, 400));
            Speed::Slow { bytes: chance.size(500, 60_000), every }
        }
        _ => Speed::Stuck,
    }
}
