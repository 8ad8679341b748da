//! A world in memory for the tests of machines: files, directories and herdr.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::config::{Config, Demo, Herdr, HerdrMode, Push, Roots, Server};
use crate::ids::Handle;
use crate::io::{DirEntry, Facts, Failure, FailureKind, FileIdentity, FileKind, FileTime, Op, Outcome};
use crate::limits::Limits;
use crate::machine::Machine;
use crate::time::{Instant, Now, UnixMillis};

pub(crate) const SOCKET: &str = "/run/herdr.sock";

pub(crate) const SESSIONS: &str = "/home/u/.config/herdr/sessions";

/// Files and what herdr will say. Everything that was asked is in `log`.
#[derive(Debug, Default)]
pub(crate) struct World {
    files: BTreeMap<String, File>,
    links: BTreeMap<String, String>,
    denied: BTreeSet<String>,
    /// Answers of the socket, in turn. Without one the socket is not there.
    pub(crate) answers: VecDeque<Vec<u8>>,
    open: BTreeMap<u64, String>,
    handles: u64,
    /// At most so many bytes come from one read.
    pub(crate) read_cap: usize,
    pub(crate) log: Vec<Op>,
}

#[derive(Debug)]
struct File {
    bytes: Vec<u8>,
    modified: i64,
}

enum Owned {
    Opened(Handle, Facts),
    Bytes(Vec<u8>, u64),
    Facts(Facts),
    Listing(Vec<DirEntry>, bool),
    Answer(Vec<u8>),
    Done,
    Failed(FailureKind),
}

impl World {
    pub(crate) fn new() -> Self {
        Self { read_cap: usize::MAX, ..Self::default() }
    }

    /// A file that changed last at that millisecond.
    pub(crate) fn put(&mut self, path: &str, text: &str, modified: i64) {
        self.files.insert(path.into(), File { bytes: text.into(), modified });
    }

    pub(crate) fn put_bytes(&mut self, path: &str, bytes: &[u8], modified: i64) {
        self.files.insert(path.into(), File { bytes: bytes.to_vec(), modified });
    }

    pub(crate) fn content(&self, path: &str) -> Option<Vec<u8>> {
        self.files.get(path).map(|file| file.bytes.clone())
    }

    pub(crate) fn remove(&mut self, path: &str) {
        self.files.remove(path);
    }

    pub(crate) fn link(&mut self, path: &str, target: &str) {
        self.links.insert(path.into(), target.into());
    }

    pub(crate) fn deny(&mut self, path: &str) {
        self.denied.insert(path.into());
    }

    /// Performs what the machine asks until it asks nothing more. No file may be left open.
    pub(crate) fn drive(&mut self, now: Now, machine: &mut dyn Machine) {
        let mut waiting = Vec::new();
        loop {
            while let Some(asked) = machine.poll_op() {
                waiting.push(asked);
            }
            // The newest first: no machine may depend on the order of answers to questions asked at once.
            let Some((tag, op)) = waiting.pop() else { break };
            self.log.push(op.clone());
            match &self.perform(op) {
                Owned::Opened(handle, facts) => {
                    machine.handle_outcome(now, tag, Outcome::Opened { handle: *handle, facts: *facts });
                }
                Owned::Bytes(bytes, size_now) => {
                    machine.handle_outcome(now, tag, Outcome::Bytes { bytes, size_now: *size_now });
                }
                Owned::Facts(facts) => machine.handle_outcome(now, tag, Outcome::Facts(*facts)),
                Owned::Listing(names, truncated) => {
                    machine.handle_outcome(now, tag, Outcome::Listing { names, truncated: *truncated });
                }
                Owned::Answer(line) => machine.handle_outcome(now, tag, Outcome::Answer(line)),
                Owned::Done => machine.handle_outcome(now, tag, Outcome::Done),
                Owned::Failed(kind) => {
                    machine.handle_outcome(now, tag, Outcome::Failed(Failure { kind: *kind, text: "no luck" }));
                }
            }
        }
        assert!(self.open.is_empty(), "left open: {:?}", self.open);
    }

    fn perform(&mut self, op: Op) -> Owned {
        match op {
            Op::Open { path, under } => {
                let real = self.resolved(&path);
                if under.is_some_and(|under| !real.starts_with(&(under + "/"))) {
                    return Owned::Failed(FailureKind::Outside);
                }
                match self.facts(&real) {
                    Some(facts) if !self.denied.contains(&real) => {
                        self.handles += 1;
                        self.open.insert(self.handles, real);
                        Owned::Opened(Handle(self.handles), facts)
                    }
                    Some(_) => Owned::Failed(FailureKind::Denied),
                    None => Owned::Failed(FailureKind::NotFound),
                }
            }
            Op::Read { handle, offset, len } => {
                let bytes = &self.files[&self.open[&handle.0]].bytes;
                let from = usize::try_from(offset).unwrap().min(bytes.len());
                let to = (from + len.min(self.read_cap)).min(bytes.len());
                Owned::Bytes(bytes[from..to].to_vec(), bytes.len() as u64)
            }
            Op::CloseFile { handle } => {
                self.open.remove(&handle.0).unwrap();
                Owned::Done
            }
            Op::Stat { path } => {
                let real = self.resolved(&path);
                self.facts(&real).map_or(Owned::Failed(FailureKind::NotFound), Owned::Facts)
            }
            Op::List { path, max_names } => self.list(&path, max_names),
            Op::Write { path, bytes } => {
                self.files.insert(path, File { bytes: bytes.to_vec(), modified: 0 });
                Owned::Done
            }
            Op::Append { path, bytes } => {
                let file = self.files.entry(path).or_insert_with(|| File { bytes: Vec::new(), modified: 0 });
                file.bytes.extend_from_slice(&bytes);
                Owned::Done
            }
            Op::Call { .. } => self.answers.pop_front().map_or(Owned::Failed(FailureKind::NotFound), Owned::Answer),
            Op::Remove { path } => {
                self.files.remove(&path);
                Owned::Done
            }
            _ => Owned::Failed(FailureKind::NotFound),
        }
    }

    fn resolved(&self, path: &str) -> String {
        self.links.get(path).cloned().unwrap_or_else(|| path.to_string())
    }

    fn facts(&self, path: &str) -> Option<Facts> {
        if let Some((inode, (_, file))) = (1..).zip(&self.files).find(|(_, (name, _))| *name == path) {
            return Some(Facts {
                kind: FileKind::File,
                identity: FileIdentity { device: 1, inode },
                size: file.bytes.len() as u64,
                modified: FileTime(file.modified * 1_000_000),
            });
        }
        let below = path.to_string() + "/";
        self.files.keys().chain(self.links.keys()).any(|name| name.starts_with(&below)).then_some(Facts {
            kind: FileKind::Directory,
            identity: FileIdentity {
                device: 2,
                inode: path.bytes().fold(0, |sum, byte| sum * 31 % 1_000_003 + u64::from(byte)),
            },
            size: 0,
            modified: FileTime(0),
        })
    }

    fn list(&self, path: &str, max_names: usize) -> Owned {
        if self.denied.contains(path) {
            return Owned::Failed(FailureKind::Denied);
        }
        if self.facts(path).is_none() {
            return Owned::Failed(FailureKind::NotFound);
        }
        let below = path.to_string() + "/";
        let names: BTreeSet<&str> = self
            .files
            .keys()
            .chain(self.links.keys())
            .filter_map(|name| name.strip_prefix(&below))
            .map(|rest| rest.split('/').next().unwrap())
            .collect();
        let truncated = names.len() > max_names;
        let entries = names.into_iter().take(max_names).filter_map(|name| {
            let facts = self.facts(&self.resolved(&(below.clone() + name)))?;
            Some(DirEntry { name: name.to_string(), facts })
        });
        // Backwards: no machine may depend on the order of names.
        let mut entries: Vec<DirEntry> = entries.collect();
        entries.reverse();
        Owned::Listing(entries, truncated)
    }
}

/// The moment that many milliseconds after the start, on both clocks.
pub(crate) fn at(millis: u64) -> Now {
    Now { mono: Instant::from_millis(millis), wall: UnixMillis(1_788_600_000_000 + i64::try_from(millis).unwrap()) }
}

pub(crate) fn config() -> Config {
    Config {
        version: "0.1.0".into(),
        server: Server::default(),
        own_names: vec![],
        allow_hosts: vec![],
        allow_origins: vec![],
        tokens: vec![],
        token_file: None,
        site: &[],
        roots: Roots::below("/home/u"),
        state_dir: "/home/u/.local/state/panewire".into(),
        herdr: Herdr {
            mode: HerdrMode::Auto,
            socket: Some(SOCKET.into()),
            sessions_dir: Some(SESSIONS.into()),
            program: "herdr".into(),
        },
        push: Push::default(),
        demo: Demo::Auto,
        limits: Limits::default(),
    }
}

/// A transcript in which a human says one thing in a directory.
pub(crate) fn conversation(cwd: &str, prompt: &str) -> String {
    alloc::format!(
        r#"{{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"{cwd}","sessionId":"s","type":"user","message":{{"role":"user","content":"{prompt}"}},"uuid":"u1","timestamp":"2026-09-05T10:00:00.000Z"}}"#
    ) + "\n"
}

/// A transcript that holds one line of bookkeeping.
pub(crate) const BOOKKEEPING: &str = "{\"type\":\"bridge-session\",\"sessionId\":\"s\",\"bridgeSessionId\":\"b\"}\n";

/// The request lines that went to herdr's socket.
pub(crate) fn calls(log: &[Op]) -> Vec<Bytes> {
    log.iter().filter_map(|op| if let Op::Call { line, .. } = op { Some(line.clone()) } else { None }).collect()
}
