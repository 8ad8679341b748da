//! What herdr 0.8 answers, in the shapes that were captured from the real one (`data/herdr`).
//!
//! The same answers serve the [simulated herdr](crate::sim::herdr) and the [fake one](crate::fake_herdr).

pub mod answer;
pub mod pane;
mod snapshot;
pub mod typing;

pub use answer::{Failing, Spoken};
pub use pane::{Pane, Session};
pub use typing::{Reaction, Typed};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Everything that a herdr server knows, and how it behaves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Desk {
    /// How its socket behaves.
    pub socket: Mode,
    /// How its command line behaves.
    pub cli: Mode,
    /// Milliseconds that it takes for each answer.
    pub takes_ms: u64,
    /// Its panes, those without an agent included.
    pub panes: Vec<Pane>,
    /// What their terminals show, with colours, by `pane_id`. A pane that is not here shows nothing.
    pub screens: BTreeMap<String, String>,
    /// What has gone out of sight above, of those that are not full of one program, by `pane_id`.
    pub scrollback: BTreeMap<String, String>,
    /// What was typed into them so far, each write by itself.
    pub typed: Vec<Typed>,
    /// What their programs do when they read something.
    pub reactions: Vec<Reaction>,
    /// Named sessions: servers of their own, each with a socket of its own.
    pub sessions: BTreeMap<String, Self>,
}

/// How one of the two ways to herdr behaves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It answers.
    #[default]
    Normal,
    /// It takes the question and never answers, as a stopped server does.
    Wedged,
    /// It does what it is asked, and its answer never comes.
    Silent,
    /// There is no server.
    NoServer,
    /// It answers every question with this error.
    Failing(Failing),
    /// Socket: closed without an answer. Command line: a line in the style of a Rust error on stderr, exit 1.
    Broken(String),
}
