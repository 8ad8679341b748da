//! What a client opts in to by `?features=a,b`. A name that is not known here is no error: the client may be newer.

use crate::http::target::Target;

/// What one client opted in to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features {
    /// A `heartbeat` frame every 15 s: the newest seq, the agent's status, the server's time.
    pub heartbeat: bool,
    /// More on each subagent: whose child it is, how long it runs, what it has written and said.
    pub roster: bool,
    /// Which entries are a side branch of a conversation that is a tree.
    pub branches: bool,
}

impl Features {
    /// Reads them from a query.
    #[must_use]
    pub fn of(target: &Target<'_>) -> Self {
        let names = target.first("features").unwrap_or_default();
        let has = |feature| names.split(',').any(|name| name.trim() == feature);
        Self { heartbeat: has("heartbeat"), roster: has("roster"), branches: has("branches") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_taken_and_others_do_no_harm() {
        let of = |query: &str| Features::of(&Target::parse(query)).heartbeat;
        for query in ["/?features=heartbeat", "/?features=usage,%20heartbeat,x", "/?features=roster,heartbeat"] {
            assert!(of(query), "{query}");
        }
        for query in ["/", "/?features=", "/?features=heartbeats", "/?features=Heartbeat;x"] {
            assert!(!of(query), "{query}");
        }
        let all = Features::of(&Target::parse("/?features=roster,heartbeat,branches"));
        assert_eq!(all, Features { heartbeat: true, roster: true, branches: true });
    }
}
