//! Where Codex keeps a session: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, and `archived_sessions/` for those that
//! were put away.
//!
//! ```text
//! id known    the file of that id below sessions/, then in archived_sessions/; pending
//! id unknown  the newest file below sessions/ that names this very directory
//! ```

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::kinds::{self, ItemKind, RecordKind};
use super::recorded;
use crate::agent::Recorded;
use crate::agent::gather::Places;
use crate::agent::layout::{Attempt, Layout, Pending, Search, first_object, is_session_id};
use crate::agent::locate::Wanted;
use crate::config::Roots;
use crate::ids::SessionId;

/// Levels of directories between the root and the files: years, months, days.
const LEVELS: usize = 3;

/// The directory that holds the sessions by their days.
#[must_use]
pub fn sessions_root(roots: &Roots) -> String {
    format!("{}/sessions", roots.codex)
}

/// The directory that holds the sessions that were put away.
#[must_use]
pub fn archive_root(roots: &Roots) -> String {
    format!("{}/archived_sessions", roots.codex)
}

/// The session that a file's name stands for: what stands behind the time in it.
#[must_use]
pub fn session_of_file(name: &str) -> Option<SessionId> {
    let stem = name.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
    // `2026-07-09T10-00-01-` has twenty characters.
    let id =
        stem.get(20..).filter(|_| stem.as_bytes().get(10) == Some(&b'T') && stem.as_bytes().get(19) == Some(&b'-'))?;
    is_session_id(id).then(|| SessionId::from(id))
}

/// The places of Codex.
#[derive(Debug)]
pub(crate) struct CodexLayout;

impl Layout for CodexLayout {
    fn session_of_file(&self) -> fn(&str) -> Option<SessionId> {
        session_of_file
    }

    fn recorded(&self) -> fn(&[u8]) -> Recorded {
        recorded
    }

    fn wrote(&self, head: &[u8]) -> bool {
        let Some(first) = first_object(head) else { return false };
        let wrapped = first.get("payload").is_some() && kinds::record(first.get("type")) != RecordKind::Unknown;
        // The first line may be longer than what was read of it, and then has no whole payload.
        let meta = first.get("type").is_some_and(|kind| kind.is("session_meta"));
        let of_2025 = first.get("type").is_none() && first.get("id").is_some() && first.get("instructions").is_some();
        let bare = first.get("payload").is_none()
            && first.get("uuid").is_none()
            && matches!(kinds::item(first.get("type")), ItemKind::Message | ItemKind::Reasoning | ItemKind::Call)
            && first.get("role").or_else(|| first.get("summary")).or_else(|| first.get("call_id")).is_some();
        wrapped || meta || of_2025 || bare
    }

    fn search(&self, roots: &Roots, cwd: Option<&str>, wanted: &Wanted) -> Search {
        let [current, archived] = places(roots);
        match wanted {
            Wanted::Session(session) => {
                let root = sessions_root(roots);
                // Its day and the time in its name are not known yet.
                let path = format!("{root}/{session}.jsonl");
                let pending = cwd.map(|_| Pending { path, under: root, session: session.clone() });
                Search { attempts: [current, archived].into(), pending, session: None }
            }
            Wanted::Newest => Search { attempts: [current].into(), ..Search::default() },
            // A path is a name: the session in it is looked for inside.
            Wanted::File(path) => {
                let name = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name);
                match session_of_file(name) {
                    Some(session) => {
                        let search = self.search(roots, cwd, &Wanted::Session(session.clone()));
                        Search { session: Some(session), pending: None, ..search }
                    }
                    None => Search::default(),
                }
            }
        }
    }

    fn all(&self, roots: &Roots) -> Vec<Attempt> {
        places(roots).into()
    }
}

fn places(roots: &Roots) -> [Attempt; 2] {
    let below = |root: String, levels| Attempt {
        under: root.clone(),
        places: Places::Below { directories: [root].into(), levels },
    };
    [below(sessions_root(roots), LEVELS), below(archive_root(roots), 0)]
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::{CodexLayout, session_of_file};
    use crate::agent::AgentKind;
    use crate::agent::layout::Layout as _;
    use crate::agent::locate::{Locate, LocateError, Located, Wanted};
    use crate::config::Roots;
    use crate::ids::SessionId;
    use crate::pane::simulated::{World, at};

    const ROOT: &str = "/home/u/.codex/sessions";
    const ID: &str = "019fc8be-0000-7000-8000-000000000001";

    fn locate(world: &mut World, cwd: &str, wanted: &Wanted) -> Result<Located, LocateError> {
        let mut machine = Locate::new(AgentKind::Codex, &Roots::below("/home/u"), Some(cwd), wanted);
        world.drive(at(0), &mut machine);
        machine.take_result().expect("a result when nothing is asked any more")
    }

    fn rollout(cwd: &str) -> String {
        format!("{{\"type\":\"session_meta\",\"payload\":{{\"id\":\"s\",\"cwd\":\"{cwd}\"}}}}\n")
            + "{\"type\":\"event_msg\",\"payload\":{\"type\":\"user_message\",\"message\":\"hi\"}}\n"
    }

    #[test]
    fn the_session_stands_behind_the_time() {
        let name = format!("rollout-2026-08-03T10-48-56-{ID}.jsonl");
        assert_eq!(session_of_file(&name), Some(SessionId::from(ID)));
        for none in [
            "rollout-2026-08-03T10-48-56-.jsonl",
            "rollout-x.jsonl",
            "2026.jsonl",
            "rollout-2026-08-03T10-48-5é-x.jsonl",
        ] {
            assert_eq!(session_of_file(none), None, "{none}");
        }
    }

    #[test]
    fn a_session_is_found_on_any_day_and_in_the_archive() {
        let mut world = World::new();
        let day = format!("{ROOT}/2025/11/02/rollout-2025-11-02T10-48-56-{ID}.jsonl");
        world.put(&day, &rollout("/w"), 7);
        world.put(&format!("{ROOT}/2026/08/03/rollout-2026-08-03T10-48-56-other.jsonl"), &rollout("/w"), 9);
        let archived = "/home/u/.codex/archived_sessions/rollout-2025-01-01T00-00-00-gone.jsonl";
        world.put(archived, &rollout("/w"), 3);
        let found = |world: &mut World, wanted: &Wanted| {
            locate(world, "/w", wanted).map(|located| (located.path, located.exists))
        };
        assert_eq!(found(&mut world, &Wanted::Session(ID.into())), Ok((day.clone(), true)));
        assert_eq!(found(&mut world, &Wanted::Session("gone".into())), Ok((archived.into(), true)));
        assert!(!found(&mut world, &Wanted::Session("later".into())).unwrap().1);
        // A path is taken as the name of a session, wherever it points to.
        assert_eq!(
            found(&mut world, &Wanted::File(format!("/tmp/rollout-2025-11-02T10-48-56-{ID}.jsonl"))),
            Ok((day, true))
        );
        assert_eq!(found(&mut world, &Wanted::File("/tmp/x.jsonl".into())), Err(LocateError::NoFile));
        let newest = locate(&mut world, "/w", &Wanted::Newest).map(|located| located.session);
        assert_eq!(newest, Ok(SessionId::from("other")));
        assert_eq!(locate(&mut world, "/elsewhere", &Wanted::Newest), Err(LocateError::NoFile));
    }

    #[test]
    fn a_rollout_is_told_by_its_first_line() {
        for (head, is_ours) in [
            (r#"{"timestamp":"t","type":"session_meta","payload":{"id":"s","instructions":"cut he"#, true),
            (r#"{"timestamp":"t","type":"event_msg","payload":{"type":"error"}}"#, true),
            (r#"{"id":"s","timestamp":"t","instructions":null}"#, true),
            (r#"{"type":"message","role":"user","content":[]}"#, true),
            (r#"{"type":"message","id":"a","message":{"role":"user"}}"#, false),
            (r#"{"type":"session","id":"s"}"#, false),
            (r#"{"type":"user","message":{},"uuid":"u"}"#, false),
            ("", false),
        ] {
            assert_eq!(CodexLayout.wrote(head.as_bytes()), is_ours, "{head}");
        }
        assert_eq!(AgentKind::that_wrote(br#"{"type":"session","id":"s"}"#), AgentKind::Pi);
        assert_eq!(AgentKind::that_wrote(b"no json"), AgentKind::Claude);
    }
}
