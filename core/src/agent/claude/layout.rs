//! Where Claude Code keeps a session.
//!
//! ```text
//! id known    <root>/<encoded cwd>/<id>.jsonl, in both encodings, then <root>/*/<id>.jsonl;
//!             pending: the path where it will be
//! id unknown  the newest file in <root>/<encoded cwd>, in both encodings, that names this very directory
//! ```

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::recorded;
use crate::agent::Recorded;
use crate::agent::gather::Places;
use crate::agent::layout::{Attempt, Layout, Pending, Search, is_name, is_session_id};
use crate::agent::locate::Wanted;
use crate::config::Roots;
use crate::ids::SessionId;
use crate::limits;

/// The directory that holds the directories of all projects. Nothing outside it is ever opened.
#[must_use]
pub fn projects_root(roots: &Roots) -> String {
    format!("{}/projects", roots.claude)
}

/// A project's directory name as the mobile contract describes it: `/` and `.` become `-`.
#[must_use]
pub fn directory_by_contract(cwd: &str) -> String {
    cwd.chars().map(|c| if matches!(c, '/' | '.') { '-' } else { c }).collect()
}

/// A project's directory name as Claude Code makes it: every UTF-16 unit that is not an ASCII letter or digit becomes `-`.
/// What is longer than a name can be is cut; Claude Code then adds a hash that we do not know, so that only the session id
/// finds the file.
#[must_use]
pub fn directory_by_agent(cwd: &str) -> String {
    let mut name = String::with_capacity(cwd.len());
    for c in cwd.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c);
        } else {
            (0..c.len_utf16()).for_each(|_| name.push('-'));
        }
    }
    name.truncate(limits::MAX_NAME_BYTES);
    name
}

/// The session that a file's name stands for. Children that old versions wrote beside their parents are none.
#[must_use]
pub fn session_of_file(name: &str) -> Option<SessionId> {
    let stem = name.strip_suffix(".jsonl")?;
    (is_session_id(stem) && !stem.starts_with("agent-")).then(|| SessionId::from(stem))
}

/// The places of Claude Code.
#[derive(Debug)]
pub(crate) struct ClaudeLayout;

impl Layout for ClaudeLayout {
    fn session_of_file(&self) -> fn(&str) -> Option<SessionId> {
        session_of_file
    }

    fn recorded(&self) -> fn(&[u8]) -> Recorded {
        recorded
    }

    /// What nobody else wrote is read as ours: its records have no head of their own.
    fn wrote(&self, _head: &[u8]) -> bool {
        true
    }

    fn search(&self, roots: &Roots, cwd: Option<&str>, wanted: &Wanted) -> Search {
        let root = projects_root(roots);
        let attempt = |places| Attempt { under: root.clone(), places };
        let directories = cwd.map(|cwd| directories(&root, cwd)).unwrap_or_default();
        match wanted {
            Wanted::Session(session) => {
                let name = format!("{session}.jsonl");
                let direct = directories.iter().map(|directory| format!("{directory}/{name}")).collect();
                let everywhere = Places::InEachOf { directory: root.clone(), name: name.clone() };
                let pending = cwd.map(|cwd| Pending {
                    path: format!("{root}/{}/{name}", directory_by_agent(cwd)),
                    under: root.clone(),
                    session: session.clone(),
                });
                Search {
                    attempts: [attempt(Places::Paths(direct)), attempt(everywhere)].into(),
                    pending,
                    session: None,
                }
            }
            Wanted::Newest => {
                Search { attempts: [attempt(Places::Below { directories, levels: 0 })].into(), ..Search::default() }
            }
            // A path is no id of Claude Code.
            Wanted::File(_) => Search::default(),
        }
    }

    fn all(&self, roots: &Roots) -> Vec<Attempt> {
        let root = projects_root(roots);
        [Attempt { under: root.clone(), places: Places::Below { directories: [root].into(), levels: 1 } }].into()
    }
}

/// The directories that a cwd may have, by the contract and by the agent; often they are one.
fn directories(root: &str, cwd: &str) -> Vec<String> {
    let mut names = alloc::vec![directory_by_contract(cwd), directory_by_agent(cwd)];
    names.dedup();
    // What no name on a disk can be is not asked for.
    names.retain(|name| is_name(name));
    names.into_iter().map(|name| format!("{root}/{name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{directory_by_agent, directory_by_contract, session_of_file};
    use crate::ids::SessionId;

    #[test]
    fn directories_are_encoded_in_two_ways() {
        for (cwd, contract, agent) in [
            ("/home/u/foo", "-home-u-foo", "-home-u-foo"),
            ("/Users/x/.herdr/worktrees/foo", "-Users-x--herdr-worktrees-foo", "-Users-x--herdr-worktrees-foo"),
            ("/home/me/my_app.v2", "-home-me-my_app-v2", "-home-me-my-app-v2"),
            ("/home/me/café v1.0", "-home-me-café v1-0", "-home-me-caf--v1-0"),
            (r"E:\a\cli\.claude\worktrees\x", r"E:\a\cli\-claude\worktrees\x", "E--a-cli--claude-worktrees-x"),
            ("/w/中🦀", "-w-中🦀", "-w----"),
            ("", "", ""),
        ] {
            assert_eq!(directory_by_contract(cwd), contract);
            assert_eq!(directory_by_agent(cwd), agent);
        }
    }

    #[test]
    fn a_files_name_is_its_session() {
        assert_eq!(session_of_file("7d2c.jsonl"), Some(SessionId::from("7d2c")));
        for none in ["7d2c.json", "agent-a2898e3.jsonl", ".jsonl", "a b.jsonl", "memory"] {
            assert_eq!(session_of_file(none), None, "{none}");
        }
    }
}
