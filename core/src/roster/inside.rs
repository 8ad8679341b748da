//! Children whose lines stand in the file of their session: found by who follows whom.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::digest;
use crate::limits::{MAX_CHILDREN, MAX_INSIDE_PARENTS, MAX_INSIDE_RUNS};

/// All of one file, in the order in which they begin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Insides {
    chains: Vec<Inside>,
}

/// One such child.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inside {
    /// Its id: its agent's if its lines have one, else that of its first line.
    pub agent_id: String,
    /// The digest of what it was told to do; 0 if that is not known.
    pub prompt: u64,
    /// The last time in it, in Unix milliseconds.
    pub last_ts: Option<i64>,
    /// Where its lines lie: from the beginning of one to behind the end of another.
    pub runs: Vec<(u64, u64)>,
    /// Digests of its newest lines, which the next one may follow.
    newest: VecDeque<u64>,
}

/// One line of such a child.
#[derive(Debug, Clone, Copy, Default)]
pub struct InsideLine<'a> {
    /// Where it begins, and where the next one does.
    pub span: (u64, u64),
    /// Its id.
    pub id: Option<&'a str>,
    /// The line that it follows.
    pub follows: Option<&'a str>,
    /// The agent that it names.
    pub agent_id: Option<&'a str>,
    /// The digest of what it says.
    pub prompt: u64,
    /// Its time.
    pub ts: Option<i64>,
}

impl Insides {
    /// Adds a line to the child that it belongs to.
    pub fn push(&mut self, line: InsideLine<'_>) {
        let follows = line.follows.map(|follows| digest(follows.as_bytes()));
        let chain = match (line.agent_id, follows) {
            (Some(agent_id), _) => self.chains.iter().position(|chain| chain.agent_id == agent_id),
            // A line that follows one which nobody knows any more goes on with what was written last.
            (None, Some(follows)) => self
                .chains
                .iter()
                .rposition(|chain| chain.newest.contains(&follows))
                .or_else(|| self.chains.len().checked_sub(1)),
            (None, None) => None,
        };
        let at = match chain {
            Some(at) => at,
            None if self.chains.len() >= MAX_CHILDREN => return,
            None => {
                let id = line.agent_id.or(line.id).map_or_else(|| format!("@{}", line.span.0), str::to_string);
                self.chains.push(Inside { agent_id: id, prompt: line.prompt, ..Inside::default() });
                self.chains.len().saturating_sub(1)
            }
        };
        let Some(chain) = self.chains.get_mut(at) else { return };
        chain.last_ts = line.ts.or(chain.last_ts);
        if let Some(id) = line.id {
            if chain.newest.len() >= MAX_INSIDE_PARENTS {
                chain.newest.pop_front();
            }
            chain.newest.push_back(digest(id.as_bytes()));
        }
        let has_room = chain.runs.len() < MAX_INSIDE_RUNS;
        match chain.runs.last_mut().filter(|(_, end)| *end == line.span.0) {
            Some((_, end)) => *end = line.span.1,
            None if has_room => chain.runs.push(line.span),
            None => {}
        }
    }

    /// Every child.
    pub fn iter(&self) -> impl Iterator<Item = &Inside> {
        self.chains.iter()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.chains.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn line<'a>(at: u64, id: &'a str, follows: Option<&'a str>) -> InsideLine<'a> {
        InsideLine { span: (at, at + 10), id: Some(id), follows, ..InsideLine::default() }
    }

    #[test]
    fn lines_of_two_children_are_told_apart_by_what_they_follow() {
        let mut insides = Insides::default();
        for line in [
            line(0, "a1", None),
            line(10, "a2", Some("a1")),
            line(20, "b1", None),
            line(30, "a3", Some("a2")),
            line(40, "b2", Some("b1")),
            line(60, "b3", Some("b2")),
            line(70, "b4", Some("somebody")),
        ] {
            insides.push(line);
        }
        let found: Vec<(&str, &[(u64, u64)])> =
            insides.iter().map(|inside| (inside.agent_id.as_str(), inside.runs.as_slice())).collect();
        assert_eq!(found, [("a1", &[(0, 20), (30, 40)][..]), ("b1", &[(20, 30), (40, 50), (60, 80)])]);
    }

    #[test]
    fn lines_that_name_their_agent_belong_to_it() {
        let mut insides = Insides::default();
        let named = |at, agent_id| InsideLine { agent_id: Some(agent_id), ..line(at, "x", Some("y")) };
        for line in [named(0, "a"), named(10, "b"), named(20, "a")] {
            insides.push(line);
        }
        let runs: Vec<Vec<(u64, u64)>> = insides.iter().map(|inside| inside.runs.clone()).collect();
        assert_eq!(runs, [vec![(0, 10), (20, 30)], vec![(10, 20)]]);
    }
}
