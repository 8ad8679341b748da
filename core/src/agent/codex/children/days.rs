//! The days on which a session may have started threads, as the directories that Codex keeps them in.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::io::{DirEntry, FileKind};
use crate::limits::MAX_CHILD_DIRECTORIES;
use crate::roster::Listed;

/// The directories of rollouts that are looked at.
#[derive(Debug)]
pub(super) struct Days {
    /// The directory of all days.
    sessions: String,
    /// The one for what was put away.
    archive: String,
    /// The first day, as `2026/08/03`; empty if there is no session yet.
    first: String,
    /// What each directory was when it was listed.
    known: BTreeMap<String, Option<Listed>>,
}

impl Days {
    /// The days from that of the session in this file on.
    pub(super) fn new(file: &str, under: &str) -> Self {
        let home = under.rsplit_once('/').map_or("", |(home, _)| home);
        let name = file.rsplit_once('/').map_or(file, |(_, name)| name);
        let day = name.strip_prefix("rollout-").and_then(|rest| rest.get(..10)).map(|day| day.replace('-', "/"));
        let (sessions, archive) = (format!("{home}/sessions"), format!("{home}/archived_sessions"));
        let first = day.filter(|day| is_day(day)).unwrap_or_default();
        let mut days = Self { sessions, archive, first, known: BTreeMap::new() };
        if days.has_begun() {
            days.known.insert(days.archive.clone(), None);
            days.known.insert(format!("{}/{}", days.sessions, days.first), None);
        }
        days
    }

    /// Whether there is a session that may have threads.
    pub(super) fn has_begun(&self) -> bool {
        !self.first.is_empty()
    }

    /// The directory in which new days appear.
    pub(super) fn root(&self) -> &str {
        &self.sessions
    }

    /// The directory that must contain a file of this one.
    pub(super) fn under(&self, directory: &str) -> &str {
        if directory == self.archive { &self.archive } else { &self.sessions }
    }

    /// The directories to look at: all, or those in which something may be new at any moment.
    pub(super) fn to_look_at(&self, all: bool) -> impl Iterator<Item = &str> {
        let newest = self.known.keys().rfind(|path| **path != self.archive);
        self.known.keys().map(String::as_str).filter(move |path| all || Some(*path) == newest.map(String::as_str))
    }

    /// Takes what lies in the root, a year or a month: the directories in it that are to be listed next, none of them
    /// older than the first day.
    pub(super) fn inside(&mut self, directory: &str, names: &[DirEntry]) -> Vec<String> {
        let mut next = Vec::new();
        for entry in names.iter().filter(|entry| entry.facts.kind == FileKind::Directory) {
            let path = format!("{directory}/{}", entry.name);
            let Some(date) = path.strip_prefix(&self.sessions).and_then(|rest| rest.strip_prefix('/')) else {
                continue;
            };
            let is_number = entry.name.bytes().all(|byte| byte.is_ascii_digit());
            let is_old = self.first.get(..date.len()).is_none_or(|first| date < first);
            match date.len() {
                4 | 7 if is_number && !is_old => next.push(path),
                10 if is_day(date) && !is_old => self.found(path),
                _ => {}
            }
        }
        next
    }

    /// The first day stays; of the others the newest.
    fn found(&mut self, path: String) {
        self.known.entry(path).or_insert(None);
        while self.known.len() > MAX_CHILD_DIRECTORIES {
            let first = format!("{}/{}", self.sessions, self.first);
            let Some(oldest) = self.known.keys().find(|path| **path != self.archive && **path != first).cloned() else {
                return;
            };
            self.known.remove(&oldest);
        }
    }

    /// Whether a directory that was seen to be this now is to be listed.
    pub(super) fn has_changed(&self, directory: &str, now: Listed) -> bool {
        self.known.get(directory).is_some_and(|known| *known != Some(now))
    }

    /// A directory was listed when it was this; `None`: it is to be listed again.
    pub(super) fn listed(&mut self, directory: &str, at: Option<Listed>) {
        if let Some(known) = self.known.get_mut(directory) {
            *known = at;
        }
    }
}

/// Whether this is a day as it stands in a path.
fn is_day(text: &str) -> bool {
    let mut parts = text.split('/').map(|part| (part.len(), part.bytes().all(|byte| byte.is_ascii_digit())));
    parts.next() == Some((4, true)) && parts.next() == Some((2, true)) && parts.next() == Some((2, true)) && {
        parts.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;
    use crate::io::{Facts, FileIdentity, FileTime};

    const FILE: &str = "/c/sessions/2026/08/03/rollout-2026-08-03T10-00-00-x.jsonl";

    fn directories(names: &[&str]) -> Vec<DirEntry> {
        let identity = FileIdentity { device: 1, inode: 1 };
        let facts = Facts { kind: FileKind::Directory, identity, size: 0, modified: FileTime(1) };
        names.iter().map(|name| DirEntry { name: (*name).to_string(), facts }).collect()
    }

    #[test]
    fn no_day_before_the_session_is_looked_at() {
        let mut days = Days::new(FILE, "/c/sessions");
        assert_eq!(days.inside("/c/sessions", &directories(&["2025", "2026", "2027", "x"])).len(), 2);
        assert_eq!(days.inside("/c/sessions/2026", &directories(&["07", "08", "09", "9"])).len(), 2);
        assert!(days.inside("/c/sessions/2026/08", &directories(&["02", "03", "04"])).is_empty());
        assert!(days.inside("/c/sessions/2027/01", &directories(&["02"])).is_empty());
        let all: Vec<&str> = days.to_look_at(true).collect();
        let expected =
            ["/c/archived_sessions", "/c/sessions/2026/08/03", "/c/sessions/2026/08/04", "/c/sessions/2027/01/02"];
        assert_eq!(all, expected);
        assert_eq!(days.to_look_at(false).collect::<Vec<_>>(), ["/c/sessions/2027/01/02"]);
    }

    #[test]
    fn of_too_many_days_the_first_and_the_newest_stay() {
        let mut days = Days::new(FILE, "/c/sessions");
        for month in 8..=12 {
            let names: Vec<String> = (1..=28).map(|day| format!("{day:02}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            days.inside(&format!("/c/sessions/2026/{month:02}"), &directories(&names));
        }
        let all: Vec<&str> = days.to_look_at(true).collect();
        assert_eq!(all.len(), MAX_CHILD_DIRECTORIES);
        assert_eq!((all[1], all[63]), ("/c/sessions/2026/08/03", "/c/sessions/2026/12/28"));
    }

    #[test]
    fn a_session_that_is_not_written_yet_has_no_days() {
        let days = Days::new("/c/sessions/x.jsonl", "/c/sessions");
        assert!(!days.has_begun());
        assert_eq!(days.to_look_at(true).count(), 0);
        assert!(
            Days::new("/c/archived_sessions/rollout-2026-08-03T10-00-00-x.jsonl", "/c/archived_sessions").has_begun()
        );
    }
}
