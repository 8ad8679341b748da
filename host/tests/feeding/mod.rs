//! A feed that really asks, one look at a time.
#![allow(dead_code, reason = "each test file uses some of it")]

pub(crate) mod home;
pub(crate) mod service;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use panewire_core::agent::{Caps, Line, Reader as _, spooled::SpoolReader};
use panewire_core::config::{Config, Demo, Herdr, HerdrMode, Push, Roots, Server};
use panewire_core::entry::{Body, Entry, Role};
use panewire_core::io::{Cell, Op};
use panewire_core::limits::Limits;
use panewire_core::machine::Machine as _;
use panewire_core::source::spool::{Feed, FeedEvent, Spool, Stored};
use panewire_host::{Cancel, Clock, Limit, Performer};

/// A configuration of which only these two matter.
pub(crate) fn config(roots: Roots, state_dir: &str) -> Config {
    Config {
        version: String::new(),
        server: Server::default(),
        own_names: Vec::new(),
        allow_hosts: Vec::new(),
        allow_origins: Vec::new(),
        tokens: Vec::new(),
        token_file: None,
        site: &[],
        roots,
        state_dir: state_dir.to_owned(),
        herdr: Herdr { mode: HerdrMode::Off, socket: None, program: String::new(), sessions_dir: None },
        push: Push::default(),
        demo: Demo::Auto,
        limits: Limits::default(),
    }
}

/// A feed that really asks.
pub(crate) struct Feeding {
    pub(crate) feed: Feed,
    spool: PathBuf,
    /// What the last look asked.
    pub(crate) asked: Vec<String>,
    /// What it asked a database, and with which values.
    pub(crate) queries: Vec<(&'static str, Vec<Cell>)>,
    pub(crate) troubles: Vec<String>,
}

impl Feeding {
    /// The feed of a session.
    pub(crate) fn of(stored: Stored, config: &Config) -> Self {
        let source = stored.clone().source(&config.state_dir);
        let feeder = stored.kind.feeder(&stored, config).unwrap();
        let spool = Spool::new(&config.state_dir, stored.kind.label(), &stored.session)
            .recorded_in(stored.directory.as_deref());
        Self {
            feed: Feed::new(spool, feeder),
            spool: source.path.into(),
            asked: Vec::new(),
            queries: Vec::new(),
            troubles: Vec::new(),
        }
    }

    /// One look, to its end.
    pub(crate) fn look(&mut self) -> Vec<Entry> {
        self.look_only();
        entries(&self.spool)
    }

    /// The same, without reading the spool.
    pub(crate) fn look_only(&mut self) {
        let (clock, performer) = (Clock::start(), Performer::new());
        self.asked.clear();
        self.queries.clear();
        self.feed.look(clock.now());
        let mut waiting = VecDeque::new();
        loop {
            while let Some(asked) = self.feed.poll_op() {
                waiting.push_back(asked);
            }
            let Some((tag, op)) = waiting.pop_front() else { break };
            self.asked.push(format!("{op:?}").split(' ').next().unwrap().to_owned());
            if let Op::Query { sql, parameters, .. } = &op {
                self.queries.push((sql, parameters.clone()));
            }
            let answer = performer.perform(&op, &Limit::begin(Cancel::default()));
            self.feed.handle_outcome(clock.now(), tag, answer.outcome());
        }
        while let Some(event) = self.feed.poll_event() {
            if let FeedEvent::Trouble(text) = event {
                self.troubles.push(text);
            }
        }
    }

    pub(crate) fn texts(&mut self) -> Vec<String> {
        self.look().iter().map(said).collect()
    }
}

fn entries(path: &Path) -> Vec<Entry> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let mut entries = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = Line { offset: 0, bytes: line, over_cap: None };
        SpoolReader.read(&line, &Caps::WIRE, &mut |entry| entries.push(entry));
    }
    entries
}

pub(crate) fn said(entry: &Entry) -> String {
    let who = match entry.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
    };
    let what = match &entry.body {
        Body::Message(text) => text.text.clone(),
        Body::Thinking(text) => format!("({})", text.text),
        Body::Attachment(text) => text.text.clone(),
        Body::ToolCall(call) => format!("{} {}", call.name, call.input_summary.clone().unwrap_or_default()),
        Body::ToolResult(result) => {
            let output = result.output_summary.clone().unwrap_or_default();
            format!("{} {output}{}", result.ok, result.diff.clone().map_or(String::new(), |diff| format!("\n{diff}")))
        }
    };
    format!("{who}: {what}")
}
