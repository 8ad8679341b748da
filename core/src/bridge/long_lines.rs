//! Whose turn it is to put a long line together: one client at a time, so that memory grows with the number of clients
//! times a little, and not times the longest line.

use alloc::collections::BTreeSet;

use crate::ids::ExId;

/// The turn, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct LongLines {
    holder: Option<ExId>,
    waiting: BTreeSet<ExId>,
}

impl LongLines {
    /// Whether this client may go on with a long line.
    pub(super) fn may_go_on(&self, ex: ExId) -> bool {
        self.holder.is_none_or(|holder| holder == ex)
    }

    /// A client is in the middle of a long line: it has the turn, or waits for it.
    pub(super) fn want(&mut self, ex: ExId) {
        if *self.holder.get_or_insert(ex) != ex {
            self.waiting.insert(ex);
        }
    }

    /// A client has no long line any more. Gives back those who can try now.
    pub(super) fn done(&mut self, ex: ExId) -> BTreeSet<ExId> {
        self.waiting.remove(&ex);
        if self.holder == Some(ex) {
            self.holder = None;
            return core::mem::take(&mut self.waiting);
        }
        BTreeSet::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_the_turn_and_the_others_try_when_it_is_done() {
        let (first, second, third) = (ExId(1), ExId(2), ExId(3));
        let mut lines = LongLines::default();
        assert!(lines.may_go_on(second));
        for ex in [first, second, third, first] {
            lines.want(ex);
        }
        assert_eq!([first, second, third].map(|ex| lines.may_go_on(ex)), [true, false, false]);
        assert!(lines.done(third).is_empty());
        assert_eq!(lines.done(first), BTreeSet::from([second]));
        assert!(lines.may_go_on(third));
    }
}
