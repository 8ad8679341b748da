//! Where opencode keeps its sessions: in the JSON tree, a file `storage/session/<project>/<session>.json` for each.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::agent::Recorded;
use crate::agent::gather::Places;
use crate::agent::layout::{Attempt, Layout, Pending, Search, first_object, is_session_id};
use crate::agent::locate::Wanted;
use crate::agent::shown::named;
use crate::config::Roots;
use crate::ids::SessionId;
use crate::source::json::Value;

/// The directory of the JSON tree. Nothing outside it is ever opened.
#[must_use]
pub fn tree_root(roots: &Roots) -> String {
    format!("{}/storage", roots.opencode)
}

/// What the file of a session says.
fn recorded(head: &[u8]) -> Recorded {
    let Some(session) = document(head) else { return Recorded::default() };
    let is_child = session.get("parentID").is_some_and(|parent| !parent.is_empty());
    Recorded {
        cwd: named(session.get("directory")),
        child: is_child,
        conversation: session.get("id").is_some(),
        first_prompt: named(session.get("title")),
        ..Recorded::default()
    }
}

/// A document of several lines, or its beginning.
fn document(head: &[u8]) -> Option<Value<'_>> {
    Some(Value(head.trim_ascii())).filter(|value| value.is_object())
}

/// The places of opencode's JSON tree.
#[derive(Debug)]
pub(crate) struct OpencodeLayout;

impl Layout for OpencodeLayout {
    fn session_of_file(&self) -> fn(&str) -> Option<SessionId> {
        |name| name.strip_suffix(".json").filter(|id| is_session_id(id)).map(SessionId::from)
    }

    fn recorded(&self) -> fn(&[u8]) -> Recorded {
        recorded
    }

    /// A spool of ours, of this kind.
    fn wrote(&self, head: &[u8]) -> bool {
        first_object(head).is_some_and(|record| {
            record.get("spool").is_some() && record.get("kind").is_some_and(|kind| kind.is("opencode"))
        })
    }

    fn is_of_its_directory(&self) -> bool {
        true
    }

    fn search(&self, roots: &Roots, cwd: Option<&str>, wanted: &Wanted) -> Search {
        let under = tree_root(roots);
        let directory = format!("{under}/session");
        // A session that a pane reports may be written in a moment; one that somebody asks for by its name is there or not.
        let pending = match (wanted, cwd) {
            (Wanted::Session(session), Some(_)) => {
                let path = format!("{directory}/{session}.json");
                Some(Pending { path, under: under.clone(), session: session.clone() })
            }
            _ => None,
        };
        let places = match wanted {
            Wanted::Session(session) => Places::InEachOf { directory, name: format!("{session}.json") },
            Wanted::Newest => Places::Below { directories: [directory].into(), levels: 1 },
            Wanted::File(_) => return Search::default(),
        };
        Search { attempts: [Attempt { under, places }].into(), pending, session: None }
    }

    fn all(&self, roots: &Roots) -> Vec<Attempt> {
        let under = tree_root(roots);
        let places = Places::Below { directories: [format!("{under}/session")].into(), levels: 1 };
        [Attempt { under, places }].into()
    }
}
