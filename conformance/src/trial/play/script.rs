//! What the agent does with the files of its sessions, and the chronicle that is kept of each.

use core::time::Duration;

use super::Stage;
use crate::sim::Transcript;
use crate::sim::config::CLAUDE_ROOT;
use crate::sim::scene::{CWD, PANE};
use crate::sim::transcript::project_directory;
use crate::trial::act::{Content, Way};
use crate::trial::chronicle::Chronicle;

/// The session's file: who writes it, where it lies.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) agent: Transcript,
    path: String,
    away: bool,
    /// It belongs to a run in another directory, which the pane does not follow.
    pub(super) elsewhere: bool,
    /// The rest of a torn line.
    rest: Vec<u8>,
}

impl Stage {
    pub(super) fn opening(&mut self) -> String {
        let (entries, padding) = (self.plan.entries, self.plan.padding);
        let agent = &mut self.script().agent;
        if padding == 0 {
            agent.talk(entries)
        } else {
            (0..entries).map(|_| agent.user(&"pad ".repeat(padding / 4))).collect()
        }
    }

    pub(super) fn begin(&mut self, agent: Transcript) {
        self.files.insert(agent.session().into(), Chronicle::new(self.plan.line_bytes));
        let (path, elsewhere) = (agent.path(), agent.path() != Transcript::new(agent.session(), CWD).path());
        self.scripts.push(Script { agent, path, away: false, elsewhere, rest: Vec::new() });
    }

    /// The agent writes, unless its file is away: then it does not know where to.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let script = self.script();
        if script.away {
            return;
        }
        let mut written = core::mem::take(&mut script.rest);
        written.extend_from_slice(bytes);
        let path = script.path.clone();
        self.note_lines(&written);
        self.world.disk.append(&path, &written);
        self.file().append(&written);
    }

    pub(super) fn writes(&mut self, what: impl FnOnce(&mut Transcript) -> String) {
        let text = what(&mut self.script().agent);
        self.write(text.as_bytes());
    }

    pub(super) fn torn(&mut self, thousandths: usize) {
        let line = self.script().agent.assistant("torn — “here” 🔎 or there").into_bytes();
        let (head, rest) = line.split_at(line.len() * thousandths / 1_000);
        self.write(head);
        let script = self.script();
        if !script.away {
            script.rest = rest.to_vec();
        }
    }

    pub(super) fn cut(&mut self, thousandths: usize) {
        let content = self.file().content();
        let cut = content.get(..content.len() * thousandths / 1_000).unwrap_or_default().to_vec();
        self.replace(Way::InPlace, cut);
    }

    pub(super) fn other_content(&mut self, content: Content) -> Vec<u8> {
        let now = self.file().content().to_vec();
        match content {
            Content::Other(entries) => self.other(entries).into_bytes(),
            Content::SameSize => {
                let entries = u32::try_from(now.len() / 200).unwrap_or(u32::MAX).saturating_add(2);
                let mut other = self.other(entries).into_bytes();
                other.resize(now.len(), b' ');
                other
            }
            Content::Compacted(at, more) => {
                let mut lines: Vec<&[u8]> = now.split_inclusive(|byte| *byte == b'\n').collect();
                if let Some(at) = at.checked_rem(lines.len()) {
                    lines.remove(at);
                }
                let mut compacted = lines.concat();
                compacted.extend_from_slice(self.script().agent.talk(more).as_bytes());
                compacted
            }
        }
    }

    fn other(&mut self, entries: u32) -> String {
        self.others += 1;
        Transcript::new(&format!("other-{}", self.others), CWD).talk(entries)
    }

    pub(super) fn replace(&mut self, way: Way, content: Vec<u8>) {
        let script = self.script();
        if script.away {
            return;
        }
        script.rest.clear();
        let path = script.path.clone();
        self.note_lines(&content);
        match way {
            Way::InPlace => self.world.disk.write(&path, &content),
            Way::RenamedOver => self.world.disk.replace(&path, &content),
            Way::Deleted(millis) => {
                self.world.disk.delete(&path);
                self.world.advance(Duration::from_millis(millis));
                self.world.disk.append(&path, &content);
            }
        }
        self.file().set(content);
    }

    pub(super) fn goes_away(&mut self) {
        let script = self.script();
        if !core::mem::replace(&mut script.away, true) {
            let path = script.path.clone();
            self.world.disk.rename(&path, &format!("{path}.away"));
        }
    }

    pub(super) fn comes_back(&mut self) {
        let script = self.script();
        if core::mem::take(&mut script.away) {
            let path = script.path.clone();
            self.world.disk.rename(&format!("{path}.away"), &path);
        }
    }

    pub(super) fn moves(&mut self, to: u64) {
        let script = self.script();
        let name = format!("{}.jsonl", script.agent.session());
        let directory = if to == 0 { CWD.to_owned() } else { format!("{CWD}-{to}") };
        let moved = format!("{}/{name}", project_directory(&directory));
        if !script.away && script.path != moved {
            let path = core::mem::replace(&mut script.path, moved.clone());
            self.world.disk.rename(&path, &moved);
        }
    }

    pub(super) fn links(&mut self, other: Option<u32>) {
        if self.script().away {
            return;
        }
        let path = self.script().path.clone();
        self.others += 1;
        let target = format!("{CLAUDE_ROOT}/projects/-store/kept-{}", self.others);
        match other {
            None => self.world.disk.rename(&path, &target),
            Some(entries) => {
                let content = self.other(entries).into_bytes();
                self.world.disk.append(&target, &content);
                self.world.disk.delete(&path);
                self.script().rest.clear();
                self.file().set(content);
            }
        }
        self.world.disk.link(&path, &target);
    }

    pub(super) fn next_session(&mut self, entries: u32) {
        let session = format!("session-{}", self.scripts.len());
        self.begin(Transcript::new(&session, CWD));
        let before = core::mem::replace(&mut self.current, self.scripts.len() - 1);
        self.writes(|agent| agent.talk(entries));
        let next = core::mem::replace(&mut self.current, before);
        self.show(next);
    }

    /// A run in another directory is reported for the pane: whoever is there stays where he is.
    pub(super) fn nested(&mut self, entries: u32) {
        let session = format!("session-{}", self.scripts.len());
        self.begin(Transcript::new(&session, "/srv/elsewhere"));
        let before = core::mem::replace(&mut self.current, self.scripts.len() - 1);
        self.writes(|agent| agent.talk(entries));
        self.current = before;
        self.world.herdr.rotate(PANE, &session);
    }

    pub(super) fn show(&mut self, session: usize) {
        self.write(b"");
        self.comes_back();
        self.current = session;
        self.comes_back();
        let session = self.script().agent.session().to_owned();
        self.world.herdr.rotate(PANE, &session);
    }

    #[expect(clippy::expect_used, reason = "the first session begins with the stage, and current names one")]
    pub(super) fn script(&mut self) -> &mut Script {
        self.scripts.get_mut(self.current).expect("a current session")
    }

    #[expect(clippy::expect_used, reason = "every session has its file from its beginning")]
    pub(super) fn file(&mut self) -> &mut Chronicle {
        let session = self.script().agent.session().to_owned();
        self.files.get_mut(&session).expect("the file of the session")
    }

    fn note_lines(&mut self, written: &[u8]) {
        let longest = written.split(|byte| *byte == b'\n').map(<[u8]>::len).max().unwrap_or(0);
        // A line that is torn and continued is counted in its parts; it is never longer than all of them.
        self.longest_line = self.longest_line.max(2 * longest.min(self.plan.line_bytes));
    }
}

/// The beginning of a line, whole characters of it.
pub(super) fn part(line: &str, thousandths: usize) -> &str {
    let mut end = line.len() * thousandths / 1_000;
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.get(..end).unwrap_or_default()
}
