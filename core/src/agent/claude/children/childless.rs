//! Whether a session surely has no children, told by its directory alone.
//!
//! Since 2.1 children lie in `<session>/subagents` and nowhere else. A session that was begun so late and has no such
//! directory has none, and its transcript, however large, need not be read for that.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use crate::io::{FailureKind, FileIdentity, Op, Outcome};
use crate::limits::PROBE_BYTES;
use crate::machine::{Asks, Machine, Tag};
use crate::pane::excerpt::{End, Excerpt, Excerpted};
use crate::roster::Glance;
use crate::source::follow::Source;
use crate::source::json::Value;
use crate::time::Now;

/// The first version whose children lie in a directory of their own.
const FIRST: (u64, u64) = (2, 1);

/// Looks whether a session surely has no children.
#[derive(Debug)]
pub(crate) struct Childless {
    transcript: String,
    under: String,
    directory: String,
    /// Which file it was looked into, and whether it was begun by a version that keeps children apart.
    began: Option<(FileIdentity, bool)>,
    looked_at: Option<FileIdentity>,
    beginning: Option<Box<Excerpt>>,
    asks: Asks,
    result: Option<bool>,
}

impl Childless {
    /// For the session with this transcript.
    pub(crate) fn new(parent: &Source) -> Self {
        let stem = parent.path.strip_suffix(".jsonl").unwrap_or(&parent.path);
        Self {
            transcript: parent.path.clone(),
            under: parent.under.clone(),
            directory: format!("{stem}/subagents"),
            began: None,
            looked_at: None,
            beginning: None,
            asks: Asks::default(),
            result: None,
        }
    }

    fn directory_answered(&mut self, outcome: Outcome<'_>) {
        let is_missing = matches!(outcome, Outcome::Failed(failure) if failure.kind == FailureKind::NotFound);
        if !is_missing {
            self.result = Some(false);
        } else if let Some((_, late)) = self.began.filter(|(file, _)| Some(*file) == self.looked_at) {
            self.result = Some(late);
        } else {
            let (path, under) = (self.transcript.clone(), Some(self.under.clone()));
            self.beginning = Some(Box::new(Excerpt::new(path, under, End::Beginning, PROBE_BYTES)));
        }
    }

    fn begun(&mut self, found: Option<Excerpted>) {
        let Some(Excerpted { facts, bytes, .. }) = found else { return self.result = Some(false) };
        let version = first_version(&bytes);
        if version.is_some() || bytes.len() >= PROBE_BYTES {
            self.began = Some((facts.identity, version >= Some(FIRST)));
        }
        self.result = Some(version >= Some(FIRST));
    }
}

impl Glance for Childless {
    fn look(&mut self, transcript: FileIdentity) {
        (self.looked_at, self.result, self.beginning) = (Some(transcript), None, None);
        self.asks.ask(Op::Stat { path: self.directory.clone() });
    }

    fn take_result(&mut self) -> Option<bool> {
        self.result.take()
    }
}

impl Machine for Childless {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.beginning.as_mut().map_or_else(|| self.asks.take(), |beginning| beginning.poll_op())
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        let Some(beginning) = &mut self.beginning else { return self.directory_answered(outcome) };
        beginning.handle_outcome(now, tag, outcome);
        if let Some(found) = beginning.take_result() {
            self.beginning = None;
            self.begun(found);
        }
    }
}

/// The version that the first record names which names one. The last line may be cut.
fn first_version(bytes: &[u8]) -> Option<(u64, u64)> {
    bytes.split(|&byte| byte == b'\n').find_map(|line| {
        let (_, version) = Value(line).members().find(|(key, _)| *key == b"version")?;
        let version = version.text()?;
        let mut numbers = version.split('.').map(|number| number.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    })
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;
    use crate::pane::simulated::{World, at};

    const PATH: &str = "/h/p/s-1.jsonl";

    fn line(version: &str) -> String {
        format!("{{\"type\":\"mode\"}}\n{{\"isSidechain\":false,\"version\":\"{version}\",\"type\":\"user\"}}\n")
    }

    fn machine() -> Childless {
        Childless::new(&Source { path: PATH.into(), under: "/h".into(), part: None, stored: None })
    }

    fn look(world: &mut World, machine: &mut Childless, inode: u64) -> bool {
        world.log.clear();
        machine.look(FileIdentity { device: 1, inode });
        world.drive(at(0), machine);
        machine.take_result().unwrap()
    }

    #[test]
    fn only_a_late_session_without_a_directory_surely_has_none() {
        for (beginning, childless) in [
            (line("2.1.0"), true),
            (line("2.1"), true),
            (line("2.10.7-beta"), true),
            (line("3.0.1"), true),
            (line("2.0.76"), false),
            (line("1.0.108"), false),
            (line("next"), false),
            (line("1.0.9") + &line("2.1.9"), false),
            ("{\"type\":\"mode\"}\n".into(), false),
            (line("2.1.0")[..60].into(), true),
            (String::new(), false),
        ] {
            let mut world = World::new();
            world.put(PATH, &beginning, 1);
            assert_eq!(look(&mut world, &mut machine(), 1), childless, "{beginning}");
            world.put("/h/p/s-1/subagents/agent-a1.jsonl", "", 1);
            assert!(!look(&mut world, &mut machine(), 1), "{beginning}");
            assert_eq!(world.log, [Op::Stat { path: "/h/p/s-1/subagents".into() }]);
        }
        assert!(!look(&mut World::new(), &mut machine(), 1), "a transcript that is not there says nothing");
    }

    #[test]
    fn a_beginning_is_read_once_for_each_file() {
        let mut world = World::new();
        world.put(PATH, &line("2.1.0"), 1);
        let mut machine = machine();
        assert!(look(&mut world, &mut machine, 1));
        assert_eq!(world.log.len(), 5, "{:?}", world.log);
        assert!(look(&mut world, &mut machine, 1));
        assert_eq!(world.log, [Op::Stat { path: "/h/p/s-1/subagents".into() }]);
        assert!(look(&mut world, &mut machine, 2));
        assert_eq!(world.log.len(), 5, "another file of this name");
    }
}
