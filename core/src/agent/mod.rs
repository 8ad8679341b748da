//! The kinds of agent, and what each must say about its own files: one folder a kind.

pub mod claude;
pub mod codex;
mod directories;
pub mod drift;
pub(crate) mod gather;
pub mod gemini;
mod input;
pub(crate) mod layout;
pub mod locate;
pub mod opencode;
pub mod pi;
pub mod sessions;
mod shown;
mod skim;
pub mod spooled;
mod state;
pub mod table;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::ControlFlow;

use self::claude::layout::ClaudeLayout;
use self::claude::{ClaudeReader, Selection};
use self::codex::CodexReader;
use self::codex::layout::CodexLayout;
use self::drift::Drift;
use self::gemini::layout::GeminiLayout;
use self::layout::{Layout, is_session_id};
use self::locate::Wanted;
use self::opencode::events::Events;
use self::opencode::layout::OpencodeLayout;
use self::opencode::search::{Search, Sought};
use self::pi::PiReader;
use self::pi::layout::PiLayout;
use self::spooled::SpoolReader;
pub use self::state::State;
use self::table::Table;
use crate::config::{Config, Roots};
use crate::entry::Entry;
pub use crate::entry::caps::Caps;
use crate::ids::SessionId;
use crate::roster::{Finder, Glance, KinFinder, NoChildren, Told};
use crate::source::follow::Source;
use crate::source::spool::{Feeder, Stored};

/// One physical line of a transcript, as the line splitter lends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where its first byte lies in the file.
    pub offset: u64,
    /// Its bytes without the line ending. Empty if it was over the cap.
    pub bytes: &'a [u8],
    /// Its length in the file, if it was over the cap: its bytes were not kept.
    pub over_cap: Option<u64>,
}

/// Turns the lines of one kind of transcript into entries, in two depths that agree on every line, broken ones included.
pub trait Reader: fmt::Debug + Send {
    /// The version of its counting rules: another number means that counts may differ.
    fn rules_version(&self) -> u32;

    /// How many entries the line makes, without building them, and whether there is drift in it that this depth can see.
    fn counted(&self, line: &Line<'_>) -> Counted;

    /// The same as [`counted`](Reader::counted), and notes on the way what the line tells of children.
    fn counted_telling(&self, line: &Line<'_>, told: &mut Told) -> Counted {
        self.tell(line, told);
        self.counted(line)
    }

    /// Notes what the line tells of children. A kind whose agents start none tells nothing.
    fn tell(&self, _line: &Line<'_>, _told: &mut Told) {}

    /// How many entries the line makes.
    fn count(&self, line: &Line<'_>) -> u64 {
        self.counted(line).entries
    }

    /// The entries of the line, in order: exactly [`count`](Reader::count) of them.
    fn read(&self, line: &Line<'_>, caps: &Caps, each: &mut dyn FnMut(Entry)) {
        self.read_from(line, caps, 0, &mut |entry| {
            each(entry);
            ControlFlow::Continue(())
        });
    }

    /// The same without the first `skip` of them, until `each` breaks: nothing is built that is not given out.
    fn read_from(&self, line: &Line<'_>, caps: &Caps, skip: u64, each: &mut dyn FnMut(Entry) -> ControlFlow<()>);

    /// Whether what a line makes depends on the lines before it. If not, the two that follow are the two above.
    fn is_stateful(&self) -> bool {
        false
    }

    /// As [`counted`](Reader::counted), for a line behind others: `state` is what matters of them, and then also of this
    /// one. It begins empty.
    fn counted_after(&self, state: &mut State, line: &Line<'_>) -> Counted {
        let _ = state;
        self.counted(line)
    }

    /// As [`read_from`](Reader::read_from), for a line behind others.
    fn read_after(
        &self,
        state: &State,
        line: &Line<'_>,
        caps: &Caps,
        skip: u64,
        each: &mut dyn FnMut(Entry) -> ControlFlow<()>,
    ) {
        let _ = state;
        self.read_from(line, caps, skip, each);
    }

    /// Adds what became of the line's records to the table, for a line behind others.
    fn tabulate(&self, state: &mut State, line: &Line<'_>, table: &mut Table) {
        table.add(None, None, "nothing to show", |each| {
            self.read_after(state, line, &Caps::WIRE, 0, &mut |entry| {
                each(&entry);
                ControlFlow::Continue(())
            });
        });
        self.counted_after(state, line);
    }

    /// Notes everything in the line of this file that the reader does not know.
    fn drift(&self, line: &Line<'_>, file: &str, drift: &mut Drift);
}

/// What counting a line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// How many entries it makes.
    pub entries: u64,
    /// Something in it could not be placed: [`Reader::drift`] says what. Unknown tools and members are not seen here.
    pub odd: bool,
}

/// What the beginning of a transcript says about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recorded {
    /// The first working directory that a record names.
    pub cwd: Option<String>,
    /// The SHA-256 of the working directory, where no more than that is recorded.
    pub cwd_digest: Option<String>,
    /// The session that it is of, where the name of the file does not say that in full.
    pub session: Option<SessionId>,
    /// Whether there is a record of a conversation, and not bookkeeping alone.
    pub conversation: bool,
    /// The first thing a human said, one line, for a listing.
    pub first_prompt: Option<String>,
    /// Whether it is a child's, which is part of another session: whoever looks for the newest session passes it over.
    pub child: bool,
}

impl Recorded {
    /// Goes on to look until nothing is missing.
    fn go_on(&self) -> ControlFlow<()> {
        let complete = self.cwd.is_some() && self.conversation && self.first_prompt.is_some();
        if complete { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The kinds of agent that have a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AgentKind {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// pi.
    Pi,
    /// opencode.
    Opencode,
    /// Gemini CLI.
    Gemini,
}

impl AgentKind {
    /// Every kind, in the order in which they are listed.
    pub const ALL: &'static [Self] = &[Self::Claude, Self::Codex, Self::Pi, Self::Opencode, Self::Gemini];

    /// The kind that herdr calls so; case and blanks around it do not matter.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        let label = label.trim();
        Self::ALL.iter().copied().find(|kind| label.eq_ignore_ascii_case(kind.label()))
    }

    /// Its name on the wire and in standalone panes.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Pi => "pi",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
        }
    }

    /// The reader of its main transcripts.
    #[must_use]
    pub fn reader(self) -> Box<dyn Reader> {
        match self {
            Self::Claude => Box::new(ClaudeReader { selection: Selection::Main }),
            Self::Codex => Box::new(CodexReader),
            Self::Pi => Box::new(PiReader),
            Self::Opencode | Self::Gemini => Box::new(SpoolReader),
        }
    }

    /// The reader of a file with this beginning that this kind wrote, and whether it takes the whole file as one line.
    #[must_use]
    pub fn file_reader(self, head: &[u8]) -> (Box<dyn Reader>, bool) {
        match self {
            Self::Gemini if gemini::layout::recorded(head).cwd_digest.is_some() => {
                (Box::new(gemini::SessionReader), true)
            }
            _ => (self.reader(), false),
        }
    }

    /// The kind that wrote a file with this beginning.
    #[must_use]
    pub fn that_wrote(head: &[u8]) -> Self {
        let others = Self::ALL.iter().copied().filter(|kind| *kind != Self::Claude);
        others.into_iter().find(|kind| kind.layout().wrote(head)).unwrap_or(Self::Claude)
    }

    /// The directories in which its sessions lie.
    #[must_use]
    pub fn session_roots(self, roots: &Roots) -> Vec<String> {
        self.layout().all(roots).into_iter().map(|attempt| attempt.under).collect()
    }

    /// Where its sessions lie.
    pub(crate) fn layout(self) -> &'static dyn Layout {
        match self {
            Self::Claude => &ClaudeLayout,
            Self::Codex => &CodexLayout,
            Self::Pi => &PiLayout,
            Self::Opencode => &OpencodeLayout,
            Self::Gemini => &GeminiLayout,
        }
    }

    /// Whether its store rewrites itself: what is followed is a spool of what has settled there.
    #[must_use]
    pub const fn is_stored(self) -> bool {
        matches!(self, Self::Opencode | Self::Gemini)
    }

    /// What looks for its sessions where they are no files, if it has such stores.
    pub(crate) fn stores(self, roots: &Roots, wanted: &Wanted) -> Option<Search> {
        let sought = match (self, wanted) {
            (Self::Opencode, Wanted::Session(session)) if is_session_id(session.as_str()) => {
                Sought::Session(session.clone())
            }
            (Self::Opencode, Wanted::Newest) => Sought::Newest,
            _ => return None,
        };
        Some(Search::new(roots, sought))
    }

    /// What feeds the spool of a session; nothing for a kind whose own files are followed.
    #[must_use]
    pub fn feeder(self, stored: &Stored, config: &Config) -> Option<Box<dyn Feeder>> {
        match self {
            Self::Claude | Self::Codex | Self::Pi => None,
            Self::Opencode => Some(Box::new(opencode::Store::new(stored, config))),
            Self::Gemini => Some(Box::new(gemini::Store::new(stored))),
        }
    }

    /// What tells of changes in its store, for a kind that has such a thing.
    pub(crate) fn events(self, roots: &Roots) -> Option<Events> {
        (self == Self::Opencode).then(|| Events::new(roots.opencode_state.clone()))
    }

    /// What may find without reading this transcript that its session has no children; nothing for a kind of which that
    /// cannot be told.
    #[must_use]
    pub fn glance(self, parent: &Source) -> Option<Box<dyn Glance>> {
        match self {
            Self::Claude => Some(Box::new(claude::children::Childless::new(parent))),
            Self::Codex | Self::Opencode | Self::Gemini => None,
            Self::Pi => Some(Box::new(NoChildren)),
        }
    }

    /// What finds the children of the session with this transcript.
    #[must_use]
    pub fn finder(self, parent: &Source, config: &Config) -> Box<dyn Finder> {
        let line_bytes = config.limits.line_bytes;
        match self {
            Self::Claude => Box::new(KinFinder::new(claude::children::Children::new(parent), line_bytes)),
            Self::Codex => Box::new(KinFinder::new(codex::children::Threads::new(parent), line_bytes)),
            Self::Pi => Box::new(NoChildren),
            Self::Opencode => Box::new(opencode::children::Children::new(parent, config)),
            Self::Gemini => Box::new(KinFinder::new(gemini::children::Children::new(parent, config), line_bytes)),
        }
    }
}
