//! Which messages have settled: everything up to one of them, but for what came late.

use alloc::collections::BTreeSet;

use super::Place;
use crate::limits::STORE_LATE;

/// The messages that have settled. A message may be stored late, with an older time than others that have settled already
/// (a clock was set back): so the newest of those that have are known one by one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settled {
    up_to: Option<Place>,
    /// What lies here or before has settled, whether or not it is known.
    floor: Option<Place>,
    newest: BTreeSet<Place>,
}

impl Settled {
    /// The last of them.
    #[must_use]
    pub const fn up_to(&self) -> Option<&Place> {
        self.up_to.as_ref()
    }

    /// Nothing that lies here or before is looked for any more.
    #[must_use]
    pub const fn floor(&self) -> Option<&Place> {
        self.floor.as_ref()
    }

    /// Whether a message lies before the last of them.
    #[must_use]
    pub fn reaches(&self, message: &Place) -> bool {
        self.up_to.as_ref().is_some_and(|up_to| message <= up_to)
    }

    /// Whether a message has settled itself.
    #[must_use]
    pub fn holds(&self, message: &Place) -> bool {
        self.floor.as_ref().is_some_and(|floor| message <= floor) || self.newest.contains(message)
    }

    /// The same of a message whose time may be told differently than when it settled.
    #[must_use]
    pub fn knows(&self, message: &Place) -> bool {
        self.holds(message) || self.newest.iter().any(|settled| settled.id == message.id)
    }

    pub(super) fn note(&mut self, message: Place) {
        if !self.reaches(&message) {
            self.up_to = Some(message.clone());
        }
        self.newest.insert(message);
        if self.newest.len() > STORE_LATE {
            self.floor = self.newest.pop_first().max(self.floor.take());
        }
    }

    /// Everything up to this one counts as settled.
    pub(super) fn begin_behind(&mut self, message: Place) {
        *self = Self { up_to: Some(message.clone()), floor: Some(message), newest: BTreeSet::new() };
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    fn place(time: i64) -> Place {
        Place { time, id: format!("m{time}") }
    }

    #[test]
    fn what_comes_late_has_not_settled_until_it_says_so() {
        let mut settled = Settled::default();
        settled.note(place(10));
        settled.note(place(20));
        assert!(settled.reaches(&place(15)) && !settled.holds(&place(15)) && !settled.holds(&place(25)));
        settled.note(place(15));
        assert!(settled.holds(&place(15)));
        let moved = Place { time: 16, ..place(15) };
        assert!(settled.knows(&moved) && !settled.holds(&moved) && !settled.knows(&place(16)));
        assert_eq!((settled.up_to(), settled.floor()), (Some(&place(20)), None));
    }

    #[test]
    fn so_many_are_known_one_by_one() {
        let mut settled = Settled::default();
        let many = i64::try_from(STORE_LATE).unwrap();
        for time in 0..=many {
            settled.note(place(time));
        }
        assert_eq!((settled.up_to(), settled.floor()), (Some(&place(many)), Some(&place(0))));
        assert!(settled.holds(&place(-5)) && settled.holds(&place(0)) && settled.holds(&place(1)));
        assert!(!settled.holds(&Place { time: 1, id: "other".into() }));
        settled.begin_behind(place(500));
        assert!(settled.holds(&place(499)) && !settled.holds(&place(501)));
    }
}
