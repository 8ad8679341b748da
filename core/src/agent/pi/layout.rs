//! Where pi keeps a session: `<root>/--<encoded cwd>--/<time>_<id>.jsonl`, made with the first message.
//!
//! ```text
//! path known  that file if it lies inside the root, pending: the same; else a file of that name inside the root
//! id known    a file of that id in the directory of the cwd, then in every directory; pending
//! id unknown  the newest file in the directory of the cwd that names this very directory
//! ```

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::recorded;
use crate::agent::Recorded;
use crate::agent::gather::Places;
use crate::agent::layout::{Attempt, Layout, Pending, Search, first_object, is_name, is_session_id};
use crate::agent::locate::Wanted;
use crate::config::Roots;
use crate::ids::SessionId;

/// The directory that holds the directories of all projects. Nothing outside it is ever opened.
#[must_use]
pub fn sessions_root(roots: &Roots) -> String {
    format!("{}/sessions", roots.pi)
}

/// A project's directory name: without its leading separator, every `/`, `\` and `:` becomes `-`, two of them around it.
#[must_use]
pub fn directory_of(cwd: &str) -> String {
    let short = cwd.strip_prefix(['/', '\\']).unwrap_or(cwd);
    let encoded: String = short.chars().map(|c| if matches!(c, '/' | '\\' | ':') { '-' } else { c }).collect();
    format!("--{encoded}--")
}

/// The session that a file's name stands for: what stands behind the time in it.
#[must_use]
pub fn session_of_file(name: &str) -> Option<SessionId> {
    let stem = name.strip_suffix(".jsonl")?;
    let id = stem.rsplit_once('_').map_or(stem, |(_time, id)| id);
    is_session_id(id).then(|| SessionId::from(id))
}

/// The places of pi.
#[derive(Debug)]
pub(crate) struct PiLayout;

impl Layout for PiLayout {
    fn session_of_file(&self) -> fn(&str) -> Option<SessionId> {
        session_of_file
    }

    fn recorded(&self) -> fn(&[u8]) -> Recorded {
        recorded
    }

    fn wrote(&self, head: &[u8]) -> bool {
        first_object(head).and_then(|record| record.get("type")).is_some_and(|kind| kind.is("session"))
    }

    fn search(&self, roots: &Roots, cwd: Option<&str>, wanted: &Wanted) -> Search {
        let root = sessions_root(roots);
        let attempt = |places| Attempt { under: root.clone(), places };
        let pending =
            |path: String, session: &SessionId| Pending { path, under: root.clone(), session: session.clone() };
        let directory = cwd.map(directory_of).filter(|name| is_name(name)).map(|name| format!("{root}/{name}"));
        match wanted {
            Wanted::File(path) => {
                let name = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name);
                let Some(session) = session_of_file(name) else { return Search::default() };
                let inside = path.strip_prefix(root.as_str()).is_some_and(|rest| rest.starts_with('/'))
                    && !path.split('/').any(|part| matches!(part, "." | ".."));
                if !inside {
                    // Another spelling of a path inside, or none of ours: only what lies inside is looked at.
                    let places = Places::InEachOf { directory: root.clone(), name: name.into() };
                    return Search { attempts: [attempt(places)].into(), ..Search::default() };
                }
                let attempts = [attempt(Places::Paths([path.clone()].into()))].into();
                Search { attempts, pending: Some(pending(path.clone(), &session)), session: None }
            }
            Wanted::Session(session) => {
                let of_cwd = Places::Below { directories: directory.clone().into_iter().collect(), levels: 0 };
                let everywhere = Places::Below { directories: [root.clone()].into(), levels: 1 };
                // The time in its name is not known yet.
                let pending = directory.map(|directory| pending(format!("{directory}/{session}.jsonl"), session));
                Search { attempts: [attempt(of_cwd), attempt(everywhere)].into(), pending, session: None }
            }
            Wanted::Newest => {
                let places = Places::Below { directories: directory.into_iter().collect(), levels: 0 };
                Search { attempts: [attempt(places)].into(), ..Search::default() }
            }
        }
    }

    fn all(&self, roots: &Roots) -> Vec<Attempt> {
        let root = sessions_root(roots);
        [Attempt { under: root.clone(), places: Places::Below { directories: [root].into(), levels: 1 } }].into()
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::{directory_of, session_of_file};
    use crate::agent::AgentKind;
    use crate::agent::locate::{Locate, LocateError, Located, Wanted};
    use crate::config::Roots;
    use crate::ids::SessionId;
    use crate::io::Op;
    use crate::pane::simulated::{World, at};

    const ROOT: &str = "/home/u/.pi/agent/sessions";
    const ID: &str = "0199c0de-0000-7000-8000-000000000001";

    fn locate(world: &mut World, cwd: Option<&str>, wanted: &Wanted) -> Result<Located, LocateError> {
        let mut machine = Locate::new(AgentKind::Pi, &Roots::below("/home/u"), cwd, wanted);
        world.drive(at(0), &mut machine);
        machine.take_result().expect("a result when nothing is asked any more")
    }

    fn session(cwd: &str) -> String {
        format!("{{\"type\":\"session\",\"cwd\":\"{cwd}\"}}\n")
            + "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n"
    }

    #[test]
    fn directories_and_names_are_pis() {
        for (cwd, name) in [
            ("/Users/x/projects/gothalo", "--Users-x-projects-gothalo--"),
            ("/home/u/my.app v2", "--home-u-my.app v2--"),
            (r"C:\work\a", "--C--work-a--"),
            ("/", "----"),
        ] {
            assert_eq!(directory_of(cwd), name);
        }
        assert_eq!(session_of_file(&format!("2026-07-09T10-00-00-000Z_{ID}.jsonl")), Some(SessionId::from(ID)));
        assert_eq!(session_of_file("plain.jsonl"), Some(SessionId::from("plain")));
        for none in ["x_.jsonl", "x_a b.jsonl", "notes.txt"] {
            assert_eq!(session_of_file(none), None, "{none}");
        }
    }

    #[test]
    fn a_path_is_looked_for_inside_the_root_alone() {
        let mut world = World::new();
        let path = format!("{ROOT}/--w--/t_{ID}.jsonl");
        world.put(&path, &session("/w"), 7);
        world.put("/home/u/secret.jsonl", &session("/w"), 9);
        world.link(&format!("{ROOT}/--w--/linked.jsonl"), "/home/u/secret.jsonl");
        let found = |world: &mut World, path: &str| {
            locate(world, Some("/w"), &Wanted::File(path.into())).map(|located| (located.path, located.exists))
        };
        assert_eq!(found(&mut world, &path), Ok((path.clone(), true)));
        // The same file by a path through a link to the home directory.
        assert_eq!(found(&mut world, &format!("/var/home/u/x/t_{ID}.jsonl")), Ok((path, true)));
        let absent = format!("{ROOT}/--w--/t_later.jsonl");
        assert_eq!(found(&mut world, &absent), Ok((absent.clone(), false)));
        for outside in
            ["/home/u/secret.jsonl", &format!("{ROOT}/../secret.jsonl"), &format!("{ROOT}/--w--/linked.jsonl")]
        {
            assert_eq!(found(&mut world, outside), Err(LocateError::NoFile), "{outside}");
        }
        let inside = |path: &str| path.starts_with(ROOT) && !path.contains("..");
        assert!(world.log.iter().all(|op| match op {
            Op::Open { path, .. } | Op::Stat { path } | Op::List { path, .. } => inside(path),
            _ => true,
        }));
    }

    #[test]
    fn an_id_is_looked_for_in_its_directory_first() {
        let mut world = World::new();
        let here = format!("{ROOT}/--w--/1_{ID}.jsonl");
        world.put(&format!("{ROOT}/--other--/2_{ID}.jsonl"), &session("/other"), 9);
        world.put(&here, &session("/w"), 7);
        world.put(&format!("{ROOT}/--w--/3_another.jsonl"), &session("/w"), 10);
        let wanted = Wanted::Session(SessionId::from(ID));
        assert_eq!(locate(&mut world, Some("/w"), &wanted).map(|located| located.path), Ok(here));
        let elsewhere = locate(&mut world, Some("/nowhere"), &wanted).unwrap();
        assert_eq!(elsewhere.path, format!("{ROOT}/--other--/2_{ID}.jsonl"));
        let pending = locate(&mut world, Some("/w"), &Wanted::Session("none".into())).unwrap();
        assert_eq!((pending.exists, pending.session.as_str()), (false, "none"));
        let bad = Wanted::Session("../x".into());
        assert_eq!(locate(&mut world, Some("/w"), &bad), Err(LocateError::NoFile));
    }

    #[test]
    fn the_newest_session_names_the_very_directory() {
        let mut world = World::new();
        world.put(&format!("{ROOT}/--a-b--/1_old.jsonl"), &session("/a/b"), 7);
        world.put(&format!("{ROOT}/--a-b--/2_other.jsonl"), &session("/a-b"), 9);
        let found = locate(&mut world, Some("/a/b"), &Wanted::Newest).map(|located| located.session);
        assert_eq!(found, Ok(SessionId::from("old")));
    }
}
