//! Which agents begin to need a person: what entered `blocked` or `done` since it was seen before.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::ids::PaneId;
use crate::pane::herdr::{HerdrSession, PaneAgent};

/// The statuses that every agent was seen with last.
#[derive(Debug, Default)]
pub struct Watcher {
    seen: BTreeMap<PaneId, Seen>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    /// Which life of the pane it was.
    terminal_id: Option<String>,
    entered: Option<Entered>,
    /// When it came to that, on herdr's counter.
    since: u64,
}

/// What an agent has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// It waits for an answer.
    Blocked,
    /// It has finished, and nobody has looked yet.
    Done,
}

/// An agent that somebody should be told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alert {
    /// The agent, by what clients call its pane.
    pub agent: PaneAgent,
    /// What it has come to.
    pub entered: Entered,
}

impl Entered {
    fn of(status: &str) -> Option<Self> {
        match status.trim() {
            "blocked" => Some(Self::Blocked),
            "done" => Some(Self::Done),
            _ => None,
        }
    }

    /// herdr's word for it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Done => "done",
        }
    }
}

impl Watcher {
    /// Takes what agents do now. One that is seen for the first time, or in another life of its pane, may have come to it
    /// long ago: that is not told. `is_down` are servers that did not answer: what was seen there still counts.
    pub fn observe<'a>(
        &mut self,
        agents: impl Iterator<Item = &'a PaneAgent>,
        is_down: impl Fn(&HerdrSession) -> bool,
    ) -> Vec<Alert> {
        let mut alerts = Vec::new();
        let mut seen = BTreeMap::new();
        for agent in agents {
            let (terminal_id, since) = (agent.terminal_id.clone(), agent.state_change_seq);
            let now = Seen { terminal_id, entered: Entered::of(&agent.status), since };
            let before = self.seen.remove(&agent.pane).filter(|before| before.terminal_id == now.terminal_id);
            // With another count it has left and entered again between two looks.
            if let (Some(before), Some(entered)) = (before, now.entered)
                && (before.entered != Some(entered) || before.since != since)
            {
                alerts.push(Alert { agent: agent.clone(), entered });
            }
            seen.insert(agent.pane.clone(), now);
        }
        let unknown = core::mem::take(&mut self.seen).into_iter();
        seen.extend(unknown.filter(|(pane, _)| is_down(&HerdrSession::of(pane).0)));
        self.seen = seen;
        alerts
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use serde_json::json;

    use super::{Entered, Watcher};
    use crate::pane::herdr::{HerdrSession, PaneAgent};

    fn agent(pane: &str, terminal: &str, status: &str) -> PaneAgent {
        let value = json!({"pane_id": pane, "terminal_id": terminal, "agent": "claude", "agent_status": status});
        PaneAgent::from_snapshot(&value, &HerdrSession::DEFAULT).unwrap()
    }

    fn observe(watcher: &mut Watcher, agents: &[PaneAgent]) -> Vec<(alloc::string::String, Entered)> {
        let alerts = watcher.observe(agents.iter(), |_| false);
        alerts.into_iter().map(|alert| (alert.agent.pane.0, alert.entered)).collect()
    }

    #[test]
    fn entering_is_told_once_and_what_was_so_at_first_is_not() {
        let mut watcher = Watcher::default();
        let at = |status| [agent("w1:p1", "t", status), agent("w1:p2", "t", "blocked")];
        let one = |entered| [("w1:p1".into(), entered)];
        assert_eq!(observe(&mut watcher, &at("working")), []);
        assert_eq!(observe(&mut watcher, &at("blocked")), one(Entered::Blocked));
        assert_eq!(observe(&mut watcher, &at("blocked")), []);
        assert_eq!(observe(&mut watcher, &at("working")), []);
        assert_eq!(observe(&mut watcher, &at("done")), one(Entered::Done));
        assert_eq!(observe(&mut watcher, &at("idle")), []);
        assert_eq!(observe(&mut watcher, &at("blocked")), one(Entered::Blocked));
        assert_eq!(observe(&mut watcher, &at("done")), one(Entered::Done), "from one to the other");
    }

    #[test]
    fn who_left_and_entered_again_between_two_looks_is_told() {
        let mut watcher = Watcher::default();
        let at = |status, seq| {
            let value = json!({
                "pane_id": "w1:p1", "terminal_id": "t", "agent": "pi", "agent_status": status, "state_change_seq": seq,
            });
            [PaneAgent::from_snapshot(&value, &HerdrSession::DEFAULT).unwrap()]
        };
        let one = |entered| [("w1:p1".into(), entered)];
        assert_eq!(observe(&mut watcher, &at("blocked", 20)), []);
        assert_eq!(observe(&mut watcher, &at("blocked", 20)), []);
        assert_eq!(observe(&mut watcher, &at("blocked", 22)), one(Entered::Blocked));
        assert_eq!(observe(&mut watcher, &at("done", 24)), one(Entered::Done));
        // Looked at: herdr does not count that.
        assert_eq!(observe(&mut watcher, &at("idle", 24)), []);
        assert_eq!(observe(&mut watcher, &at("idle", 26)), []);
    }

    #[test]
    fn another_life_of_a_pane_begins_anew() {
        let mut watcher = Watcher::default();
        observe(&mut watcher, &[agent("w1:p1", "t", "idle")]);
        assert_eq!(observe(&mut watcher, &[agent("w1:p1", "u", "blocked")]), []);
        assert_eq!(observe(&mut watcher, &[]), []);
        assert_eq!(observe(&mut watcher, &[agent("w1:p1", "u", "blocked")]), [], "it was away");
        assert_eq!(observe(&mut watcher, &[agent("w1:p1", "u", "done")]), [("w1:p1".into(), Entered::Done)]);
    }

    #[test]
    fn a_server_that_does_not_answer_is_not_forgotten() {
        let mut watcher = Watcher::default();
        observe(&mut watcher, &[agent("w1:p1", "t", "working")]);
        assert_eq!(watcher.observe([].into_iter(), |session| *session == HerdrSession::DEFAULT), []);
        assert_eq!(observe(&mut watcher, &[agent("w1:p1", "t", "blocked")]), [("w1:p1".into(), Entered::Blocked)]);
    }
}
