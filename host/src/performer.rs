//! Performs every [`Op`] with the operating system's blocking calls, none of them longer than it may take.

use std::sync::Arc;

use bytes::Bytes;
use panewire_core::io::{FailureKind, Op};
use panewire_core::limits::MAX_RANDOM_BYTES;

use crate::answer::Answer;
use crate::fetch::{Question, Trust};
use crate::files::Files;
#[cfg(all(feature = "inotify", target_os = "linux"))]
use crate::inotify::Directories;
use crate::limit::Limit;
#[cfg(feature = "opencode-sqlite")]
use crate::sqlite;
use crate::terminal::Terminal;
use crate::{fetch, process, unix};

/// Performs operations. Clones share the open files, so that any thread can perform any operation.
#[derive(Debug, Clone, Default)]
pub struct Performer {
    files: Arc<Files>,
    trust: Trust,
    #[cfg(all(feature = "inotify", target_os = "linux"))]
    directories: Option<Arc<Directories>>,
}

impl Performer {
    /// A performer without open files.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts these from now on where something is fetched by `https`. Only clones that are made afterwards do, too.
    pub fn trust(&mut self, trust: Trust) {
        self.trust = trust;
    }

    /// Watches directories from now on; what happens in them is for the caller to read. Only clones that are made
    /// afterwards watch, too.
    #[cfg(all(feature = "inotify", target_os = "linux"))]
    pub fn watch_with(&mut self, directories: Arc<Directories>) {
        self.directories = Some(directories);
    }

    /// Performs an operation that can be done at once, without waiting for a disk or for anybody.
    /// `None`: it has to be [performed](Self::perform) on a thread that may block.
    #[must_use]
    pub fn try_now(&self, op: &Op) -> Option<Answer> {
        match op {
            Op::Read { handle, offset, len } => self.files.try_read_now(*handle, *offset, *len),
            // Which files are watched was just said by opening them: their inodes are in memory.
            Op::Stat { path } => Some(self.files.stat(path)),
            Op::CloseFile { handle } => Some(self.files.close(*handle)),
            Op::Random { bytes } => Some(random(*bytes)),
            #[cfg(all(feature = "inotify", target_os = "linux"))]
            Op::Unwatch { watch } => self.directories.as_ref().map(|directories| directories.unwatch(*watch)),
            _ => None,
        }
    }

    /// Performs an operation; blocks until it is done.
    #[must_use]
    pub fn perform(&self, op: &Op, limit: &Limit) -> Answer {
        match op {
            Op::Open { path, under } => self.files.open(path, under.as_deref()),
            Op::Read { handle, offset, len } => self.files.read(*handle, *offset, *len),
            Op::Stat { path } => self.files.stat(path),
            Op::CloseFile { handle } => self.files.close(*handle),
            Op::List { path, max_names } => self.files.list(path, *max_names),
            #[cfg(all(feature = "inotify", target_os = "linux"))]
            Op::Watch { directory } if let Some(directories) = &self.directories => directories.watch(directory),
            Op::Write { path, bytes } => self.files.write(path, bytes),
            Op::Load { path, cap } => self.files.load(path, *cap),
            Op::Remove { path } => self.files.remove(path),
            Op::Append { path, bytes } => self.files.append(path, bytes),
            Op::Random { bytes } => random(*bytes),
            Op::Run { argv, within, output_cap } => process::run(argv, *output_cap, *within, limit),
            Op::Pty { argv, environment, size } => match Terminal::open(argv, environment, *size) {
                Ok(terminal) => Answer::Terminal(terminal),
                Err(error) => error.into(),
            },
            Op::Call { socket, line, within, answer_cap } => unix::call(socket, line, *answer_cap, *within, limit),
            #[cfg(feature = "opencode-sqlite")]
            Op::Query { database, under, sql, parameters, within, answer_cap } => {
                sqlite::query((database, under), sql, parameters, *within, *answer_cap, limit)
            }
            Op::Fetch { method, url, headers, body, within, answer_cap } => {
                let (within, answer_cap) = (*within, *answer_cap);
                fetch::fetch(Question { method, url, headers, body, within, answer_cap }, &self.trust, limit)
            }
            _ => Answer::Failed(FailureKind::Unsupported, "this program cannot do that".to_owned()),
        }
    }

    /// Performs what answers again and again: each answer but the last is handed to `hear`, which comes back when there is room
    /// for the next.
    #[must_use]
    pub fn listen(&self, op: &Op, limit: &Limit, hear: impl FnMut(Vec<u8>)) -> Answer {
        match op {
            Op::Listen { socket, line, within, line_cap } => {
                unix::listen((socket, line), *line_cap, *within, limit, hear)
            }
            Op::Events { url, headers, within, silence, event_cap } => {
                let (body, within, answer_cap) = (Bytes::new(), *within, *event_cap);
                let question = Question { method: "GET", url, headers, body: &body, within, answer_cap };
                fetch::events(question, *silence, &self.trust, limit, hear)
            }
            op => self.perform(op, limit),
        }
    }

    /// Gives an answer back that nobody waits for any more, with what was opened for it.
    pub fn discard(&self, answer: &Answer) {
        match answer {
            Answer::Opened { handle, .. } => drop(self.files.close(*handle)),
            Answer::Watching(watch) => drop(self.try_now(&Op::Unwatch { watch: *watch })),
            _ => {}
        }
    }

    /// Takes an answer back after the core has seen it, and keeps its buffer for the next read.
    pub fn recycle(&self, answer: Answer) {
        if let Answer::Bytes { piece, .. } = answer {
            self.files.recycle(piece);
        }
    }
}

/// Bytes from the system's own source of secrets. It never waits once the system has started.
fn random(bytes: usize) -> Answer {
    let mut random = vec![0; bytes.min(MAX_RANDOM_BYTES)];
    match getrandom::fill(&mut random) {
        Ok(()) => Answer::Random(random),
        Err(error) => Answer::Failed(FailureKind::Other, format!("the system has no random numbers: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_as_long_as_asked_and_never_the_same() {
        let performer = Performer::new();
        let ask = |bytes| match performer.try_now(&Op::Random { bytes }) {
            Some(Answer::Random(random)) => random,
            other => panic!("{other:?}"),
        };
        assert_eq!((ask(0).len(), ask(36).len(), ask(1000).len()), (0, 36, MAX_RANDOM_BYTES));
        assert_ne!(ask(32), ask(32));
    }
}
