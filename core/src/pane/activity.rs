//! When an agent's conversation was written last: the time of its last record.
//!
//! ```text
//!  known before ── stat ── unchanged ───────────────────────────▶ the same
//!       │             └ changed ── the end of the file ─────────▶ the time of its last whole record
//!       └ gone, not known ── locate ── the end of the file ─────▶ …
//! ```

use alloc::boxed::Box;

use super::excerpt::{End, Excerpt, Excerpted};
use crate::agent::AgentKind;
use crate::agent::locate::{Locate, Located, Wanted};
use crate::config::Roots;
use crate::io::{Facts, FileKind, Op, Outcome};
use crate::limits::{CHILD_LONG_TAIL_BYTES, CHILD_TAIL_BYTES};
use crate::machine::{Machine, Tag};
use crate::source::json::Value;
use crate::source::records;
use crate::time::{Now, UnixMillis};

/// The file of a conversation, as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// Which reader it needs.
    pub kind: AgentKind,
    /// The file.
    pub located: Located,
    /// How it was.
    pub facts: Facts,
}

/// What is known of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its file.
    pub located: Located,
    /// How the file was when it was read.
    pub facts: Facts,
    /// The time of its last record, in milliseconds since 1970.
    pub last_ts: Option<i64>,
}

/// Looks for a conversation, or again at one.
#[derive(Debug)]
pub struct Activity {
    kind: AgentKind,
    roots: Roots,
    cwd: Option<alloc::string::String>,
    wanted: Wanted,
    step: Step,
    result: Option<Option<Known>>,
}

#[derive(Debug)]
enum Step {
    Stat { known: Box<Known>, asked: bool },
    Locate(Box<Locate>),
    Tail { located: Box<Located>, tail: Box<Excerpt>, long: bool },
    Done,
}

impl Activity {
    /// Looks for a conversation of this kind, or again at the one that was known before.
    #[must_use]
    pub fn new(kind: AgentKind, roots: &Roots, cwd: Option<&str>, wanted: &Wanted, known: Option<Known>) -> Self {
        let mut activity = Self {
            kind,
            roots: roots.clone(),
            cwd: cwd.map(Into::into),
            wanted: wanted.clone(),
            step: Step::Done,
            result: None,
        };
        match known {
            Some(known) => activity.step = Step::Stat { known: Box::new(known), asked: false },
            None => activity.locate(),
        }
        activity
    }

    /// The result, once; `Some(None)` if there is no such conversation yet. No file is open by then.
    pub fn take_result(&mut self) -> Option<Option<Known>> {
        self.result.take()
    }

    fn locate(&mut self) {
        let locate = Locate::new(self.kind, &self.roots, self.cwd.as_deref(), &self.wanted);
        self.step = Step::Locate(Box::new(locate));
        self.advance();
    }

    fn read_tail(&mut self, located: Box<Located>, long: bool) {
        let cap = if long { CHILD_LONG_TAIL_BYTES } else { CHILD_TAIL_BYTES };
        let tail = Excerpt::new(located.path.clone(), Some(located.under.clone()), End::Tail, cap);
        self.step = Step::Tail { located, tail: Box::new(tail), long };
    }

    fn advance(&mut self) {
        match &mut self.step {
            Step::Locate(locate) => match locate.take_result() {
                Some(Ok(located)) if located.exists => self.read_tail(Box::new(located), false),
                Some(_) => self.finish(None),
                None => {}
            },
            Step::Tail { tail, .. } => {
                let Some(found) = tail.take_result() else { return };
                if let Step::Tail { located, long, .. } = core::mem::replace(&mut self.step, Step::Done) {
                    self.take_tail(located, found, long);
                }
            }
            Step::Stat { .. } | Step::Done => {}
        }
    }

    fn take_tail(&mut self, located: Box<Located>, found: Option<Excerpted>, long: bool) {
        let Some(Excerpted { facts, bytes, cut }) = found else { return self.finish(None) };
        let last_ts = last_time(&bytes, cut);
        if last_ts.is_none() && cut && !long {
            return self.read_tail(located, true);
        }
        self.finish(Some(Known { located: *located, facts, last_ts }));
    }

    fn handle_facts(&mut self, outcome: Outcome<'_>) {
        let Step::Stat { known, .. } = core::mem::replace(&mut self.step, Step::Done) else { return };
        match outcome {
            Outcome::Facts(facts) if facts == known.facts => self.finish(Some(*known)),
            Outcome::Facts(facts) if facts.kind == FileKind::File => self.read_tail(Box::new(known.located), false),
            _ => self.locate(),
        }
    }

    fn finish(&mut self, known: Option<Known>) {
        self.step = Step::Done;
        self.result = Some(known);
    }
}

impl Machine for Activity {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        match &mut self.step {
            Step::Stat { known, asked } => {
                let is_new = !core::mem::replace(asked, true);
                is_new.then(|| (Tag(0), Op::Stat { path: known.located.path.clone() }))
            }
            Step::Locate(locate) => locate.poll_op(),
            Step::Tail { tail, .. } => tail.poll_op(),
            Step::Done => None,
        }
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        match &mut self.step {
            Step::Stat { .. } => return self.handle_facts(outcome),
            Step::Locate(locate) => locate.handle_outcome(now, tag, outcome),
            Step::Tail { tail, .. } => tail.handle_outcome(now, tag, outcome),
            Step::Done => {}
        }
        self.advance();
    }
}

/// The time of the last whole record that has one. Of a tail the first line may be cut.
fn last_time(bytes: &[u8], cut: bool) -> Option<i64> {
    let bytes =
        if cut { memchr::memchr(b'\n', bytes).and_then(|at| bytes.get(at..)).unwrap_or_default() } else { bytes };
    bytes.rsplit(|&byte| byte == b'\n').filter(|line| records::is_whole(line)).find_map(|line| {
        let (_, stamp) = Value(line).members().find(|(key, _)| *key == b"timestamp")?;
        UnixMillis::parse(&stamp.text()?).map(|time| time.0)
    })
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::{Activity, Known};
    use crate::agent::AgentKind;
    use crate::agent::locate::Wanted;
    use crate::config::Roots;
    use crate::ids::SessionId;
    use crate::io::Op;
    use crate::pane::simulated::{World, at};

    const PATH: &str = "/home/u/.claude/projects/-srv-shed/s-1.jsonl";

    fn line(second: u32) -> String {
        let text = "Where is the rake?";
        format!(
            r#"{{"type":"user","cwd":"/srv/shed","message":{{"role":"user","content":"{text}"}},"timestamp":"2026-03-01T08:00:{second:02}.000Z"}}"#
        ) + "\n"
    }

    fn look(world: &mut World, known: Option<Known>) -> Option<Known> {
        let wanted = Wanted::Session(SessionId::from("s-1"));
        let roots = Roots::below("/home/u");
        let mut machine = Activity::new(AgentKind::Claude, &roots, Some("/srv/shed"), &wanted, known);
        world.drive(at(0), &mut machine);
        machine.take_result().expect("a result when nothing is asked any more")
    }

    #[test]
    fn a_conversation_is_read_once_and_again_when_it_has_changed() {
        let mut world = World::new();
        world.put(PATH, &(line(1) + &line(2) + &line(3)[..40]), 1);
        let known = look(&mut world, None).unwrap();
        assert_eq!(known.last_ts, Some(1_772_352_002_000));
        world.log.clear();
        let same = look(&mut world, Some(known.clone())).unwrap();
        assert_eq!((same, &world.log[..]), (known.clone(), &[Op::Stat { path: PATH.into() }][..]));
        world.put(PATH, &(line(1) + &line(2) + &line(3)), 2);
        assert_eq!(look(&mut world, Some(known.clone())).unwrap().last_ts, Some(1_772_352_003_000));
        world.remove(PATH);
        assert_eq!(look(&mut world, Some(known)), None);
    }

    #[test]
    fn a_last_line_longer_than_the_tail_is_read_farther() {
        let mut world = World::new();
        let long = line(7).replace("rake", &"r".repeat(100_000));
        world.put(PATH, &(line(1) + &long), 1);
        assert_eq!(look(&mut world, None).unwrap().last_ts, Some(1_772_352_007_000));
    }

    #[test]
    fn without_a_time_there_is_none() {
        let mut world = World::new();
        world.put(PATH, "{\"type\":\"mode\"}\n", 1);
        assert_eq!(look(&mut world, None).unwrap().last_ts, None);
        assert_eq!(look(&mut World::new(), None), None);
    }
}
