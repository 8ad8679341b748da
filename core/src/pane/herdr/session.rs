//! The servers of herdr: the one that is asked by default, and named sessions beside it.
//!
//! A session is a server of its own with its own ids. A client names a pane of one by `<session>/<pane>`; `default/<pane>`
//! is a pane of the default one.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;

use crate::config::Herdr;
use crate::ids::PaneId;
use crate::limits::MAX_HERDR_SESSION_BYTES;
use crate::pane::name::PaneName;

/// One server of herdr.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct HerdrSession(Option<String>);

/// What the default server is called where sessions are listed.
const DEFAULT: &str = "default";

impl HerdrSession {
    /// The server that is asked by default.
    pub const DEFAULT: Self = Self(None);

    /// The server with this name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self((name != DEFAULT).then(|| name.to_owned()))
    }

    /// The server that a pane is of, and what that server itself calls the pane.
    #[must_use]
    pub fn of(pane: &PaneId) -> (Self, PaneId) {
        match pane.as_str().split_once('/') {
            Some((name, own)) => (Self::named(name), PaneId::from(own)),
            None => (Self::DEFAULT, pane.clone()),
        }
    }

    /// What it is called where sessions are listed.
    #[must_use]
    pub fn label(&self) -> &str {
        self.0.as_deref().unwrap_or(DEFAULT)
    }

    /// Its name, if it is not the default one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// What clients call what this server calls so: a pane, a tab, a workspace. [`of`](Self::of) leads back to it, whatever
    /// it is.
    #[must_use]
    pub fn qualified(&self, id: &str) -> String {
        match &self.0 {
            Some(name) => format!("{name}/{id}"),
            None if Self::is_plain(id) => id.to_owned(),
            None => format!("{DEFAULT}/{id}"),
        }
    }

    /// Whether a client that says no more than this means a pane of the default server: not one of another server, and none
    /// that is not herdr's.
    fn is_plain(id: &str) -> bool {
        !id.contains('/') && PaneName::of(&PaneId::from(id)) == PaneName::Herdr
    }

    /// Where a named session keeps its things; none for what names none. A name is data from outside: what herdr itself
    /// would refuse touches no path and no command line.
    pub(crate) fn directory(&self, config: &Herdr) -> Option<String> {
        let name = self.0.as_deref().filter(|name| is_session_name(name))?;
        Some(format!("{}/{name}", config.sessions_dir.as_deref()?))
    }
}

/// What herdr takes for a name, without those that would be an option or a way up.
pub(crate) fn is_session_name(name: &str) -> bool {
    (1..=MAX_HERDR_SESSION_BYTES).contains(&name.len())
        && !matches!(name, "." | "..")
        && !name.starts_with('-')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// The socket of the server in this directory.
pub(crate) fn socket_in(directory: &str) -> String {
    format!("{directory}/herdr.sock")
}

#[cfg(test)]
mod tests {
    use super::{HerdrSession, PaneName, is_session_name};
    use crate::ids::PaneId;

    #[test]
    fn a_pane_names_its_session_before_the_first_slash() {
        let of = |pane: &str| HerdrSession::of(&PaneId::from(pane));
        assert_eq!(of("w1:p1"), (HerdrSession::DEFAULT, PaneId::from("w1:p1")));
        assert_eq!(of("default/w1:p1"), (HerdrSession::DEFAULT, PaneId::from("w1:p1")));
        assert_eq!(of("work/w1:p1"), (HerdrSession::named("work"), PaneId::from("w1:p1")));
        assert_eq!(of("work/a/b"), (HerdrSession::named("work"), PaneId::from("a/b")));
        assert_eq!(HerdrSession::named("work").qualified("w1:p1"), "work/w1:p1");
        assert_eq!(HerdrSession::DEFAULT.qualified("w1:p1"), "w1:p1");
    }

    #[test]
    fn what_a_server_calls_a_pane_leads_back_to_it() {
        for (id, called) in [
            ("w1:p1", "w1:p1"),
            ("work/w1:p1", "default/work/w1:p1"),
            ("/", "default//"),
            ("demo", "default/demo"),
            ("claude:latest", "default/claude:latest"),
            ("claude", "claude"),
        ] {
            assert_eq!(HerdrSession::DEFAULT.qualified(id), called);
            for session in [HerdrSession::DEFAULT, HerdrSession::named("work")] {
                let pane = PaneId(session.qualified(id));
                assert_eq!(HerdrSession::of(&pane), (session, PaneId::from(id)));
                assert_eq!(PaneName::of(&pane), PaneName::Herdr, "{pane}");
            }
        }
    }

    #[test]
    fn only_what_herdr_takes_is_a_name() {
        for name in ["work", "a.b_c-1", &"x".repeat(64)] {
            assert!(is_session_name(name), "{name}");
        }
        for name in ["", ".", "..", "-x", "a/b", "a b", "é", "a\0", &"x".repeat(65)] {
            assert!(!is_session_name(name), "{name}");
        }
    }
}
