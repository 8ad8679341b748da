//! Resuming: a client that was here before names the last entry it has, and gets only what came since.
//!
//! A cursor is worth something only if it was given out by the same counting of the same conversation. The session and
//! the [generation](crate::source::follow::Follower::generation) must be the same, and entry `since_seq` must still have
//! the id `since_id`.

use alloc::string::String;

use crate::http::target::Target;
use crate::ids::Seq;
use crate::limits::{MAX_RESUME_ENTRIES, RESUME_ENTRIES};

/// What a client says it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// `session_id` of its last `hello`.
    pub session: String,
    /// `generation` of its last `hello`.
    pub generation: String,
    /// The newest entry it has.
    pub since_seq: u64,
    /// The id of that entry.
    pub since_id: String,
    /// How many missing entries it wants at most, instead of a fresh start.
    pub max: u64,
}

impl Resume {
    /// Reads it from a query. `None`: the client did not ask. A cursor that makes no sense is one that does not fit.
    #[must_use]
    pub fn of(target: &Target<'_>) -> Option<Self> {
        let since_seq = target.first("since_seq")?;
        let text = |key| target.first(key).unwrap_or_default();
        let max = target.first("max").and_then(|max| max.parse().ok()).unwrap_or(RESUME_ENTRIES);
        Some(Self {
            session: text("session"),
            generation: text("generation"),
            since_seq: since_seq.parse().unwrap_or(0),
            since_id: text("since_id"),
            max: max.min(MAX_RESUME_ENTRIES),
        })
    }

    /// The entry whose id must be looked at, if the rest fits this stream.
    #[must_use]
    pub fn fits(&self, session: &str, generation: &str, total: u64) -> Option<Seq> {
        let missing = total.checked_sub(self.since_seq)?;
        let fits = self.session == session && self.generation == generation && missing <= self.max;
        (fits && self.since_seq > 0).then(|| Seq::after(self.since_seq.saturating_sub(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUERY: &str = "/agent-transcript?pane=p&session=s&generation=g-0&since_seq=7&since_id=u%237";

    fn resume(query: &str) -> Resume {
        Resume::of(&Target::parse(query)).unwrap()
    }

    #[test]
    fn it_is_read_from_the_query_and_bounded() {
        let expected =
            Resume { session: "s".into(), generation: "g-0".into(), since_seq: 7, since_id: "u#7".into(), max: 2_000 };
        assert_eq!(resume(QUERY), expected);
        assert_eq!(resume(&[QUERY, "&max=5"].concat()).max, 5);
        assert_eq!(resume(&[QUERY, "&max=99999999"].concat()).max, MAX_RESUME_ENTRIES);
        assert_eq!(Resume::of(&Target::parse("/agent-transcript?pane=p&session=s")), None);
    }

    #[test]
    fn a_cursor_of_anything_else_does_not_fit() {
        let seven = Some(Seq::after(6));
        assert_eq!(resume(QUERY).fits("s", "g-0", 7), seven);
        assert_eq!(resume(QUERY).fits("s", "g-0", 2_007), seven);
        for (session, generation, total) in [("s", "g-0", 6), ("s", "g-0", 2_008), ("s~1", "g-0", 9), ("s", "g-1", 9)] {
            assert_eq!(resume(QUERY).fits(session, generation, total), None, "{session} {generation} {total}");
        }
        for bad in ["0", "", "-1", "x", "99999999999999999999999"] {
            let query = QUERY.replace("since_seq=7", &["since_seq=", bad].concat());
            assert_eq!(resume(&query).fits("s", "g-0", 9), None, "{bad}");
        }
    }
}
