//! What one client has, compared with the chronicle of the session it has it of.

use std::collections::BTreeMap;

use panewire_core::ids::ExId;

use super::chronicle::Chronicle;
use crate::sim::client::{Client, Received};

/// A client and everything it keeps. One that comes back brings its view with it.
#[derive(Debug, Clone)]
pub(super) struct View {
    pub(super) ex: ExId,
    pub(super) session: String,
    pub(super) generation: String,
    /// Every entry of this session, by its seq.
    pub(super) entries: BTreeMap<u64, String>,
    /// The newest entry of the unbroken end of the stream.
    pub(super) head: u64,
    /// The states of the file that all of this could come from.
    states: Vec<usize>,
    /// Frames that were looked at.
    seen: usize,
    /// The cursor it came with, and whether that was a good one.
    resuming: Option<bool>,
    opened: bool,
}

/// The files of all sessions, by the session's id.
pub(super) type Chronicles = BTreeMap<String, Chronicle>;

impl View {
    /// A client that has nothing.
    pub(super) const fn new(ex: ExId) -> Self {
        Self {
            ex,
            session: String::new(),
            generation: String::new(),
            entries: BTreeMap::new(),
            head: 0,
            states: Vec::new(),
            seen: 0,
            resuming: None,
            opened: false,
        }
    }

    /// The same client, come back as `ex` with a cursor that is a `good` one or not.
    pub(super) fn returned(&self, ex: ExId, good: bool) -> Self {
        Self { ex, seen: 0, resuming: Some(good), opened: false, ..self.clone() }
    }

    /// The id of the newest entry it has.
    pub(super) fn head_id(&self) -> Option<String> {
        let entry: serde_json::Value = serde_json::from_str(self.entries.get(&self.head)?).ok()?;
        entry["id"].as_str().map(str::to_owned)
    }

    /// How many frames it took.
    pub(super) fn seen(&self) -> u64 {
        u64::try_from(self.seen).unwrap_or(u64::MAX)
    }

    /// Looks at the frames that it took since the last time.
    pub(super) fn look(&mut self, client: &Client, files: &mut Chronicles) -> Result<(), String> {
        let fresh = client.received().get(self.seen..).unwrap_or_default();
        self.seen += fresh.len();
        for frame in fresh {
            let told = match frame.kind() {
                "hello" => self.hello(frame, files),
                "entry" => self.entry(frame, files),
                "backlog_complete" => {
                    self.opened = true;
                    Ok(())
                }
                _ => Ok(()),
            };
            told.map_err(|wrong| format!("{:?}: {wrong}", self.ex))?;
        }
        Ok(())
    }

    /// Everything has settled: it must have the end of what the file holds now.
    pub(super) fn settled(&self, session: &str, files: &mut Chronicles) -> Result<(), String> {
        let wrong = |what: String| Err(format!("{:?} at the end: {what}", self.ex));
        if base(&self.session) != session || !self.opened {
            return wrong(format!("it has {:?} (opened: {}) and not {session}", self.session, self.opened));
        }
        let Some(file) = files.get_mut(session) else { return wrong("of no file".into()) };
        let entries = file.entries(file.now());
        if self.head != count(entries) {
            return wrong(format!("it has entries up to {} of {}", self.head, entries.len()));
        }
        match self.entries.iter().find(|(seq, entry)| entry_at(entries, **seq) != Some(entry)) {
            Some((seq, entry)) => wrong(format!("entry {seq} is {:?}, it has {entry}", entry_at(entries, *seq))),
            None => Ok(()),
        }
    }

    fn hello(&mut self, frame: &Received, files: &mut Chronicles) -> Result<(), String> {
        let text = |field: &str| frame.json[field].as_str().unwrap_or_default().to_owned();
        let (session, generation) = (text("session_id"), text("generation"));
        let Some(file) = files.get_mut(base(&session)) else { return Err(format!("a session {session:?}")) };
        let resumed = frame.json["resumed"].as_bool();
        let asked = self.resuming.take();
        if resumed.is_some() != asked.is_some() {
            return Err(format!("asked to resume: {asked:?}, hello says {resumed:?}"));
        }
        if resumed == Some(true) {
            if asked == Some(false) || session != self.session || generation != self.generation {
                return Err(format!("{session} {generation} goes on where {} was", self.session));
            }
            if frame.number("oldest_loaded_seq") != self.head + 1 {
                return Err(format!("resumed behind {}: {}", self.head, frame.raw));
            }
        } else {
            self.entries.clear();
            self.head = frame.number("total") - frame.number("backlog_count");
            self.states = (0..=file.now()).collect();
        }
        (self.session, self.generation, self.opened) = (session, generation, false);
        Ok(())
    }

    fn entry(&mut self, frame: &Received, files: &mut Chronicles) -> Result<(), String> {
        let Some(file) = files.get_mut(base(&self.session)) else { return Err("an entry of no file".into()) };
        let entry = frame.raw.split_once("\"entry\":").and_then(|(_, entry)| entry.strip_suffix('}'));
        let (seq, entry) = (frame.seq(), entry.unwrap_or_default());
        if self.entries.get(&seq).is_some_and(|before| before != entry) {
            return Err(format!("entry {seq} was another one before: {entry}"));
        }
        // A client that holds entries of several states at once holds a mixture.
        let newest = file.now();
        if self.states.last().is_some_and(|last| *last < newest) {
            let from = self.states.last().map_or(0, |last| last + 1);
            let held: Vec<(u64, String)> = self.entries.iter().map(|(seq, entry)| (*seq, entry.clone())).collect();
            let fitting = (from..=newest).filter(|state| {
                let entries = file.entries(*state);
                held.iter().all(|(seq, entry)| entry_at(entries, *seq) == Some(entry))
            });
            self.states.extend(fitting.collect::<Vec<_>>());
        }
        let before = self.states.clone();
        self.states.retain(|state| entry_at(file.entries(*state), seq).is_some_and(|it| it == entry));
        if self.states.is_empty() {
            let had: Vec<_> = before.iter().map(|state| entry_at(file.entries(*state), seq).cloned()).collect();
            return Err(format!("entry {seq} is in no state of the file\n  it is {entry}\n  and could be {had:?}"));
        }
        if seq == self.head + 1 {
            self.head = seq;
        }
        self.entries.insert(seq, entry.into());
        Ok(())
    }
}

/// A session id without the number of rewrites.
pub(super) fn base(session: &str) -> &str {
    session.split('~').next().unwrap_or_default()
}

fn count(entries: &[String]) -> u64 {
    u64::try_from(entries.len()).unwrap_or(u64::MAX)
}

fn entry_at(entries: &[String], seq: u64) -> Option<&String> {
    entries.get(usize::try_from(seq.checked_sub(1)?).ok()?)
}
