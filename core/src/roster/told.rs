//! What a transcript has told of the agents that were started in it: their calls, the answers to these, and their ends.
//!
//! Order does not matter but for ends, of which the last one counts: an answer may stand before its call, and an end may
//! be told of an agent that nobody has heard of yet.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::{InsideLine, Insides};
use crate::limits::{MAX_TOLD, MAX_UNCLAIMED_ANSWERS};
use crate::source::branches::Branches;
use crate::source::saved::{Rest, put_number, put_text};

/// Everything that one transcript has told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told {
    /// How many things were told: another number is news.
    version: u64,
    /// By agent: whether it has ended, as it was told last.
    ends: BTreeMap<String, (u64, bool)>,
    calls: BTreeMap<String, (u64, Call)>,
    /// By agent: the call that started it.
    agents: BTreeMap<String, (u64, String)>,
    /// Digests of the newest answers to calls that were not told yet.
    unclaimed: VecDeque<(u64, Answer)>,
    /// Children whose own lines stand in this transcript.
    insides: Insides,
    branches: Branches,
}

/// A call that starts an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Call {
    /// Whether whoever calls waits for the agent to finish; `None` if the call does not say.
    pub waits: Option<bool>,
    /// The configured agent that shall run.
    pub agent_type: String,
    /// What it is started for.
    pub description: String,
    /// The [`digest`] of what it is told to do.
    pub prompt: u64,
    /// What was answered so far.
    pub answer: Option<Answer>,
}

/// What the answer to such a call says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The agent was started and goes on by itself.
    Launched,
    /// The agent has finished.
    Finished,
    /// Nothing of either.
    Plain,
}

impl Call {
    /// Whether the answer is the agent's end. Where neither call nor answer says so, it is not: guessing that it were
    /// would show every agent that goes on by itself as finished.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match (self.waits, self.answer) {
            (_, None | Some(Answer::Launched)) | (Some(false), _) | (None, Some(Answer::Plain)) => false,
            (Some(true), Some(_)) | (None, Some(Answer::Finished)) => true,
        }
    }
}

impl Told {
    /// Another number than before: something was told since.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// An agent has ended, or goes on. What is told last counts, also if it was resumed.
    pub fn ended(&mut self, agent_id: &str, ended: bool) {
        let no = self.next();
        insert(&mut self.ends, agent_id, (no, ended));
    }

    /// An agent was called for.
    pub fn called(&mut self, tool_use_id: &str, mut call: Call) {
        let no = self.next();
        let digest = digest(tool_use_id.as_bytes());
        if let Some(at) = self.unclaimed.iter().position(|(unclaimed, _)| *unclaimed == digest) {
            call.answer = self.unclaimed.remove(at).map(|(_, answer)| answer);
        }
        insert(&mut self.calls, tool_use_id, (no, call));
    }

    /// Whether the answer to this call is worth a closer look. The answer to a call that was not told is remembered for a
    /// while as [`Answer::Plain`].
    pub fn awaits(&mut self, tool_use_id: &[u8]) -> bool {
        let awaited = core::str::from_utf8(tool_use_id).is_ok_and(|id| self.calls.contains_key(id));
        if !awaited {
            self.remember(digest(tool_use_id), Answer::Plain);
        }
        awaited
    }

    /// A call was answered, by this agent if the answer names it.
    pub fn answered(&mut self, tool_use_id: &str, answer: Answer, agent_id: Option<&str>) {
        let no = self.next();
        match self.calls.get_mut(tool_use_id) {
            Some((_, call)) => call.answer = Some(answer),
            None => {
                let digest = digest(tool_use_id.as_bytes());
                self.unclaimed.retain(|(unclaimed, _)| *unclaimed != digest);
                self.remember(digest, answer);
            }
        }
        if let Some(agent_id) = agent_id {
            insert(&mut self.agents, agent_id, (no, tool_use_id.to_string()));
        }
    }

    /// A line of a child stands in this transcript.
    pub fn inside(&mut self, line: InsideLine<'_>) {
        self.next();
        self.insides.push(line);
    }

    /// The children whose own lines stand in this transcript.
    #[must_use]
    pub const fn insides(&self) -> &Insides {
        &self.insides
    }

    /// The branches of this transcript, if it is a tree.
    #[must_use]
    pub const fn branches(&self) -> &Branches {
        &self.branches
    }

    /// The same, for who tells of them.
    pub const fn branches_mut(&mut self) -> &mut Branches {
        &mut self.branches
    }

    /// What was told last about the end of an agent.
    #[must_use]
    pub fn end(&self, agent_id: &str) -> Option<bool> {
        self.ends.get(agent_id).map(|(_, ended)| *ended)
    }

    /// The call of this id.
    #[must_use]
    pub fn call(&self, tool_use_id: &str) -> Option<&Call> {
        self.calls.get(tool_use_id).map(|(_, call)| call)
    }

    /// The call that started an agent, as its answer told.
    #[must_use]
    pub fn call_of(&self, agent_id: &str) -> Option<&str> {
        self.agents.get(agent_id).map(|(_, call)| call.as_str())
    }

    /// The first call that started an agent with this prompt.
    #[must_use]
    pub fn call_with_prompt(&self, prompt: u64) -> Option<&str> {
        self.with_prompt(prompt).min_by_key(|(no, _)| *no).map(|(_, id)| id)
    }

    /// All of these, in the order in which they were told.
    #[must_use]
    pub fn calls_with_prompt(&self, prompt: u64) -> Vec<&str> {
        let mut calls: Vec<(u64, &str)> = self.with_prompt(prompt).collect();
        calls.sort_unstable();
        calls.into_iter().map(|(_, id)| id).collect()
    }

    fn with_prompt(&self, prompt: u64) -> impl Iterator<Item = (u64, &str)> {
        let same = self.calls.iter().filter(move |(_, (_, call))| call.prompt == prompt);
        same.map(|(id, (no, _))| (*no, id.as_str()))
    }

    /// The ids of all calls.
    pub fn calls(&self) -> impl Iterator<Item = &str> {
        self.calls.keys().map(String::as_str)
    }

    /// Appends its saved form, which holds no [`insides`](Self::insides).
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        put_number(bytes, self.version);
        put_number(bytes, self.ends.len() as u64);
        for (agent, (no, ended)) in &self.ends {
            put_text(bytes, agent);
            put_number(bytes, *no);
            put_number(bytes, u64::from(*ended));
        }
        put_number(bytes, self.calls.len() as u64);
        for (id, (no, call)) in &self.calls {
            put_text(bytes, id);
            put_number(bytes, *no);
            put_number(bytes, call.waits.map_or(0, |waits| 1 + u64::from(waits)));
            put_text(bytes, &call.agent_type);
            put_text(bytes, &call.description);
            put_number(bytes, call.prompt);
            put_number(bytes, call.answer.map_or(0, Answer::number));
        }
        put_number(bytes, self.agents.len() as u64);
        for (agent, (no, call)) in &self.agents {
            put_text(bytes, agent);
            put_number(bytes, *no);
            put_text(bytes, call);
        }
        put_number(bytes, self.unclaimed.len() as u64);
        for (digest, answer) in &self.unclaimed {
            put_number(bytes, *digest);
            put_number(bytes, answer.number());
        }
        self.branches.encode(bytes);
    }

    /// Reads what [`encode`](Self::encode) appended.
    pub(crate) fn decode(rest: &mut Rest<'_>) -> Option<Self> {
        let mut told = Self { version: rest.number()?, ..Self::default() };
        for _ in 0..rest.number()? {
            let (agent, no) = (rest.text()?, rest.number()?);
            told.ends.insert(agent, (no, rest.number()? != 0));
        }
        for _ in 0..rest.number()? {
            let (id, no) = (rest.text()?, rest.number()?);
            let call = Call {
                waits: rest.number()?.checked_sub(1).map(|waits| waits != 0),
                agent_type: rest.text()?,
                description: rest.text()?,
                prompt: rest.number()?,
                answer: Answer::numbered(rest.number()?),
            };
            told.calls.insert(id, (no, call));
        }
        for _ in 0..rest.number()? {
            let (agent, no) = (rest.text()?, rest.number()?);
            told.agents.insert(agent, (no, rest.text()?));
        }
        for _ in 0..rest.number()? {
            let digest = rest.number()?;
            told.unclaimed.push_back((digest, Answer::numbered(rest.number()?)?));
        }
        told.branches = Branches::decode(rest)?;
        Some(told)
    }

    fn remember(&mut self, digest: u64, answer: Answer) {
        if self.unclaimed.len() >= MAX_UNCLAIMED_ANSWERS {
            self.unclaimed.pop_front();
        }
        self.unclaimed.push_back((digest, answer));
    }

    const fn next(&mut self) -> u64 {
        self.version = self.version.saturating_add(1);
        self.version
    }
}

impl Answer {
    const fn number(self) -> u64 {
        match self {
            Self::Launched => 1,
            Self::Finished => 2,
            Self::Plain => 3,
        }
    }

    const fn numbered(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self::Launched),
            2 => Some(Self::Finished),
            3 => Some(Self::Plain),
            _ => None,
        }
    }
}

/// A number by which a text is known again: FNV-1a.
#[must_use]
pub fn digest(text: &[u8]) -> u64 {
    text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Inserts; the oldest goes when there are too many.
fn insert<V>(map: &mut BTreeMap<String, (u64, V)>, key: &str, value: (u64, V)) {
    if map.len() >= MAX_TOLD && !map.contains_key(key) {
        let oldest = map.iter().min_by_key(|(_, (no, _))| *no).map(|(key, _)| key.clone());
        oldest.and_then(|oldest| map.remove(&oldest));
    }
    map.insert(key.to_string(), value);
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    const fn call(waits: Option<bool>) -> Call {
        Call { waits, agent_type: String::new(), description: String::new(), prompt: 7, answer: None }
    }

    #[test]
    fn an_answer_ends_an_agent_only_where_call_or_answer_say_so() {
        for (waits, answer, finished) in [
            (Some(true), Answer::Plain, true),
            (Some(true), Answer::Finished, true),
            (Some(true), Answer::Launched, false),
            (Some(false), Answer::Plain, false),
            (Some(false), Answer::Finished, false),
            (None, Answer::Plain, false),
            (None, Answer::Launched, false),
            (None, Answer::Finished, true),
        ] {
            for answer_first in [false, true] {
                let mut told = Told::default();
                if answer_first {
                    assert!(!told.awaits(b"t"));
                    told.answered("t", answer, None);
                }
                told.called("t", call(waits));
                assert!(answer_first || !told.call("t").unwrap().is_finished());
                if !answer_first {
                    told.answered("t", answer, Some("a"));
                    assert_eq!(told.call_of("a"), Some("t"));
                }
                assert_eq!(told.call("t").unwrap().is_finished(), finished, "{waits:?} {answer:?} {answer_first}");
            }
        }
    }

    #[test]
    fn the_last_end_counts_and_every_one_is_news() {
        let mut told = Told::default();
        for ended in [true, false, true] {
            let before = told.version();
            told.ended("a", ended);
            assert_eq!((told.end("a"), told.version() > before), (Some(ended), true));
        }
        assert_eq!(told.end("b"), None);
    }

    #[test]
    fn an_answer_to_nobody_is_remembered_for_a_while_and_is_no_news() {
        let mut told = Told::default();
        assert!(!told.awaits(b"t"));
        assert_eq!(told.version(), 0);
        told.called("t", call(Some(true)));
        assert!(told.awaits(b"t"));
        assert!(told.call("t").unwrap().is_finished());
        assert!(!told.awaits(b"u"));
        for other in 0..MAX_UNCLAIMED_ANSWERS {
            told.awaits(format!("other {other}").as_bytes());
        }
        told.called("u", call(Some(true)));
        assert!(!told.call("u").unwrap().is_finished());
    }

    #[test]
    fn the_oldest_goes_when_there_are_too_many() {
        let mut told = Told::default();
        for no in 0..=MAX_TOLD {
            told.ended(&format!("z{}", MAX_TOLD - no), true);
        }
        assert_eq!((told.end(&format!("z{MAX_TOLD}")), told.end("z0")), (None, Some(true)));
        assert_eq!(told.ends.len(), MAX_TOLD);
    }

    #[test]
    fn the_first_call_with_a_prompt_is_found() {
        let mut told = Told::default();
        told.called("z", call(None));
        told.called("a", call(None));
        assert_eq!((told.call_with_prompt(7), told.call_with_prompt(8)), (Some("z"), None));
        assert_eq!((told.calls_with_prompt(7), told.calls_with_prompt(8)), (alloc::vec!["z", "a"], Vec::new()));
    }
}
