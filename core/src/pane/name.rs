//! What a client may call a pane.

use alloc::format;
use alloc::string::String;

use crate::agent::AgentKind;
use crate::ids::{PaneId, SessionId};

/// The five kinds of pane, told apart by name alone. Only the last kind is ever asked of herdr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PaneName {
    /// `demo`: the conversation that we write ourselves.
    Demo,
    /// `claude:<session>`: one session of this kind of agent, for ever.
    Session(AgentKind, SessionId),
    /// `claude:dir:<cwd>`: the newest session of a directory.
    Directory(AgentKind, String),
    /// `claude:latest`: the newest session of all.
    Latest(AgentKind),
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
        let named = text.split_once(':').and_then(|(label, rest)| {
            let kind = AgentKind::ALL.iter().find(|kind| kind.label() == label)?;
            Some((*kind, rest))
        });
        match named {
            None => Self::Herdr,
            Some((kind, "latest")) => Self::Latest(kind),
            Some((kind, rest)) => match rest.strip_prefix("dir:") {
                Some(cwd) => Self::Directory(kind, cwd.into()),
                None => Self::Session(kind, SessionId::from(rest)),
            },
        }
    }

    /// The name of the pane that shows one session.
    #[must_use]
    pub fn of_session(kind: AgentKind, session: &SessionId) -> PaneId {
        PaneId(format!("{}:{session}", kind.label()))
    }
}

#[cfg(test)]
mod tests {
    use super::PaneName;
    use crate::agent::AgentKind::Claude;
    use crate::ids::{PaneId, SessionId};

    #[test]
    fn names_are_told_apart() {
        let of = |text: &str| PaneName::of(&PaneId::from(text));
        assert_eq!(of("demo"), PaneName::Demo);
        assert_eq!(of("claude:latest"), PaneName::Latest(Claude));
        assert_eq!(of("claude:dir:/home/u/a:b"), PaneName::Directory(Claude, "/home/u/a:b".into()));
        assert_eq!(of("claude:7d2c19f0"), PaneName::Session(Claude, SessionId::from("7d2c19f0")));
        assert_eq!(of("claude:"), PaneName::Session(Claude, SessionId::from("")));
        assert_eq!(of("claude:../x"), PaneName::Session(Claude, SessionId::from("../x")));
        for herdr in ["w1:p1", "fixer", "demo:1", "claude", "Claude:latest", "-x"] {
            assert_eq!(of(herdr), PaneName::Herdr, "{herdr}");
        }
        assert_eq!(PaneName::of_session(Claude, &SessionId::from("7d2c19f0")), PaneId::from("claude:7d2c19f0"));
    }
}
