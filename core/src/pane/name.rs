//! What a client may call a pane.

use alloc::string::String;

use crate::ids::{PaneId, SessionId};

/// The four kinds of pane, told apart by name alone. Only the last kind is ever asked of herdr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneName {
    /// `demo`: the conversation that we write ourselves.
    Demo,
    /// `claude:<session>`: one session of Claude Code, for ever.
    Session(SessionId),
    /// `claude:dir:<cwd>`: the newest session of a directory.
    Directory(String),
    /// `claude:latest`: the newest session of all.
    Latest,
    /// A pane of herdr.
    Herdr,
}

impl PaneName {
    /// Which kind of pane this is.
    #[must_use]
    pub fn of(pane: &PaneId) -> Self {
        let text = pane.as_str();
        if text == "demo" {
            return Self::Demo;
        }
        match text.strip_prefix("claude:") {
            None => Self::Herdr,
            Some("latest") => Self::Latest,
            Some(rest) => rest
                .strip_prefix("dir:")
                .map_or_else(|| Self::Session(SessionId::from(rest)), |cwd| Self::Directory(cwd.into())),
        }
    }

    /// The name of the pane that shows one session.
    #[must_use]
    pub fn of_session(session: &SessionId) -> PaneId {
        let mut name = String::from("claude:");
        name.push_str(session.as_str());
        PaneId(name)
    }
}

#[cfg(test)]
mod tests {
    use super::PaneName;
    use crate::ids::{PaneId, SessionId};

    #[test]
    fn names_are_told_apart() {
        let of = |text: &str| PaneName::of(&PaneId::from(text));
        assert_eq!(of("demo"), PaneName::Demo);
        assert_eq!(of("claude:latest"), PaneName::Latest);
        assert_eq!(of("claude:dir:/home/u/a:b"), PaneName::Directory("/home/u/a:b".into()));
        assert_eq!(of("claude:7d2c19f0"), PaneName::Session(SessionId::from("7d2c19f0")));
        assert_eq!(of("claude:"), PaneName::Session(SessionId::from("")));
        assert_eq!(of("claude:../x"), PaneName::Session(SessionId::from("../x")));
        for herdr in ["w1:p1", "fixer", "demo:1", "claude", "Claude:latest", "-x"] {
            assert_eq!(of(herdr), PaneName::Herdr, "{herdr}");
        }
        assert_eq!(PaneName::of_session(&SessionId::from("7d2c19f0")), PaneId::from("claude:7d2c19f0"));
    }
}
