//! What goes wrong on the virtual disk, and when.

use core::time::Duration;

use panewire_core::io::FailureKind;

use super::OpKind;

/// One thing that goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The operation fails so.
    Fail(FailureKind),
    /// A read returns at most so many bytes, at least one.
    Short(usize),
    /// The operation is performed at once, and its outcome arrives this much later: it is old by then.
    Slow(Duration),
}

/// The faults in force.
#[derive(Debug, Default)]
pub(super) struct Faults {
    rules: Vec<Rule>,
    met: u64,
}

#[derive(Debug)]
struct Rule {
    kind: OpKind,
    path: String,
    effect: Effect,
    left: Option<u32>,
}

impl Faults {
    /// From now on, for operations of this kind on this path (empty: on any), `times` times or until [`clear`](Self::clear).
    pub(super) fn add(&mut self, kind: OpKind, path: &str, effect: Effect, times: Option<u32>) {
        self.rules.push(Rule { kind, path: path.into(), effect, left: times });
    }

    pub(super) fn clear(&mut self) {
        self.rules.clear();
    }

    /// How many operations met one.
    pub(super) const fn met(&self) -> u64 {
        self.met
    }

    /// What happens to this operation: each rule that fits is used up once.
    pub(super) fn meet(&mut self, kind: OpKind, path: &str) -> Met {
        let mut met = Met { failure: None, at_most: usize::MAX, after: Duration::ZERO };
        for rule in &mut self.rules {
            if rule.kind != kind || !(rule.path.is_empty() || rule.path == path) || rule.left == Some(0) {
                continue;
            }
            rule.left = rule.left.map(|left| left.saturating_sub(1));
            match &rule.effect {
                Effect::Fail(failure) => met.failure = Some(*failure),
                Effect::Short(bytes) => met.at_most = met.at_most.min((*bytes).max(1)),
                Effect::Slow(by) => met.after = met.after.max(*by),
            }
        }
        self.rules.retain(|rule| rule.left != Some(0));
        self.met += u64::from(met.failure.is_some() || met.at_most < usize::MAX || met.after > Duration::ZERO);
        met
    }
}

/// What one operation meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Met {
    pub(super) failure: Option<FailureKind>,
    pub(super) at_most: usize,
    pub(super) after: Duration,
}
