//! The pane `demo`: a conversation that we write ourselves, line by line, to a real file, while somebody watches.
//!
//! Two files take turns. When one has grown to its bound a new session begins in the other, so that a client sees a
//! rotation now and then and the disk never sees more than two small files.

mod script;

use alloc::format;
use alloc::string::String;

use script::{Scene, uuid};

use crate::agent::locate::Located;
use crate::config::Config;
use crate::ids::SessionId;
use crate::io::{FileTime, Op, Outcome};
use crate::limits;
use crate::machine::{Asks, Machine, Tag};
use crate::time::{Instant, Now};

/// Writes the demo conversation.
///
/// The first part is written at once; the rest follows while the pane is watched. Call
/// [`handle_tick`](Self::handle_tick) at the [`deadline`](Self::deadline).
#[derive(Debug)]
pub struct Demo {
    directory: String,
    watched: bool,
    /// How many sessions were begun: the next one lies in the other file and has another id.
    sessions: u64,
    located: Located,
    scene: Scene,
    size: u64,
    /// Bytes of the last whole round of the script.
    round_bytes: u64,
    round_began_at: u64,
    due: Option<Instant>,
    writing: Option<Writing>,
    asks: Asks,
}

/// A write that is not answered yet.
#[derive(Debug)]
enum Writing {
    /// A new session, which is shown once it is there.
    Session { tag: Tag, located: Located, bytes: u64 },
    /// One more line.
    Line { tag: Tag, bytes: u64 },
}

impl Demo {
    /// Begins the first session.
    #[must_use]
    pub fn new(now: Now, config: &Config) -> Self {
        let directory = format!("{}/demo", config.state_dir);
        let mut demo = Self {
            located: located(&directory, 1, now),
            scene: Scene::new(SessionId::from("")),
            directory,
            watched: false,
            sessions: 0,
            size: 0,
            round_bytes: 0,
            round_began_at: 0,
            due: None,
            writing: None,
            asks: Asks::default(),
        };
        demo.begin_session(now);
        demo
    }

    /// The session that is shown, for [`Resolve`](super::Resolve) and [`Recheck`](super::Recheck).
    #[must_use]
    pub fn located(&self) -> &Located {
        &self.located
    }

    /// Says whether somebody watches. Nobody watching, nothing is written.
    pub fn set_watched(&mut self, now: Now, watched: bool) {
        if watched != self.watched {
            self.watched = watched;
            self.schedule(now, limits::DEMO_STEP);
        }
    }

    /// When it wants to go on, if it does.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// Writes what is due.
    pub fn handle_tick(&mut self, now: Now) {
        if self.due.is_none_or(|due| due > now.mono) {
            return;
        }
        self.due = None;
        let is_full = self.size.saturating_add(self.round_bytes) >= limits::DEMO_FILE_BYTES;
        if !self.located.exists || (self.scene.is_at_start() && is_full) {
            self.begin_session(now);
        } else {
            self.write_line(now);
        }
    }

    fn begin_session(&mut self, now: Now) {
        self.sessions = self.sessions.saturating_add(1);
        let located = located(&self.directory, self.sessions, now);
        self.scene = Scene::new(located.session.clone());
        let text = self.scene.opening(now.wall);
        let bytes = text.len() as u64;
        if self.sessions == 1 {
            self.located = located.clone();
        }
        let tag = self.asks.ask(Op::Write { path: located.path.clone(), bytes: text.into() });
        self.writing = Some(Writing::Session { tag, located, bytes });
    }

    fn write_line(&mut self, now: Now) {
        let line = self.scene.next_line(now.wall);
        let bytes = line.len() as u64;
        let tag = self.asks.ask(Op::Append { path: self.located.path.clone(), bytes: line.into() });
        self.writing = Some(Writing::Line { tag, bytes });
    }

    fn schedule(&mut self, now: Now, after: core::time::Duration) {
        let is_free = self.watched && self.writing.is_none();
        self.due = is_free.then(|| now.mono.plus(after));
    }
}

impl Machine for Demo {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        let is_done = matches!(outcome, Outcome::Done);
        match self.writing.take() {
            Some(Writing::Session { tag: asked, located, bytes }) if asked == tag => {
                if is_done {
                    self.located = Located { exists: true, ..located };
                    self.size = bytes;
                    self.round_began_at = 0;
                } else {
                    // The old session is whole; the new one is tried again.
                    self.scene = Scene::new(self.located.session.clone());
                    self.size = limits::DEMO_FILE_BYTES;
                }
            }
            Some(Writing::Line { tag: asked, bytes }) if asked == tag => {
                if is_done {
                    self.size = self.size.saturating_add(bytes);
                } else {
                    // Part of the line may be there. What follows goes into another file.
                    self.scene = Scene::new(self.located.session.clone());
                    self.size = limits::DEMO_FILE_BYTES;
                }
            }
            other => {
                self.writing = other;
                return;
            }
        }
        let is_over = self.scene.is_at_start();
        if is_over && is_done {
            self.round_bytes = self.size.saturating_sub(self.round_began_at).max(self.round_bytes);
            self.round_began_at = self.size;
        }
        self.schedule(now, if is_over { limits::DEMO_PAUSE } else { limits::DEMO_STEP });
    }
}

fn located(directory: &str, sessions: u64, now: Now) -> Located {
    let slot = if sessions % 2 == 1 { 1 } else { 2 };
    Located {
        path: format!("{directory}/demo-{slot}.jsonl"),
        under: directory.into(),
        session: SessionId(uuid(&format!("{directory} {} {sessions}", now.wall.0))),
        exists: false,
        recorded_cwd: Some(script::CWD.into()),
        modified: FileTime::default(),
    }
}

#[cfg(test)]
mod tests;
