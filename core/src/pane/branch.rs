//! The branch that a directory is on, as git writes it down: no git is run.
//!
//! ```text
//!  <dir>/.git/HEAD ── ref: refs/heads/<branch> ─────────────────────────────▶ branch
//!      │ none: <dir>/.git is a file ── gitdir: <elsewhere> ── its HEAD ─────▶ branch   (worktrees, submodules)
//!      │ none: the directory above
//! ```

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::excerpt::{End, Excerpt};
use crate::io::{Op, Outcome};
use crate::limits::{GIT_FILE_BYTES, MAX_BRANCH_CHARS, MAX_GIT_LEVELS, MAX_PATH_BYTES};
use crate::machine::{Machine, Tag};
use crate::time::Now;

/// Looks for the branch of a directory.
#[derive(Debug)]
pub struct Branch {
    directory: String,
    levels: usize,
    step: Step,
    result: Option<String>,
}

#[derive(Debug)]
enum Step {
    Head(Box<Excerpt>),
    Link(Box<Excerpt>),
    LinkedHead(Box<Excerpt>),
    Done,
}

impl Branch {
    /// Begins to look in a directory, and then above it.
    #[must_use]
    pub fn new(directory: &str) -> Self {
        let directory = directory.trim_end_matches('/').to_owned();
        let mut branch = Self { directory, levels: MAX_GIT_LEVELS, step: Step::Done, result: None };
        branch.look_here();
        branch
    }

    /// The branch, once; empty if there is none: no repository, or no branch is checked out.
    pub fn take_result(&mut self) -> Option<String> {
        self.result.take()
    }

    fn look_here(&mut self) {
        if !is_path(&format!("{}/", self.directory)) {
            return self.finish("");
        }
        self.step = Step::Head(read(format!("{}/.git/HEAD", self.directory)));
    }

    fn look_above(&mut self) {
        self.levels = self.levels.saturating_sub(1);
        match self.directory.rsplit_once('/') {
            Some((above, _)) if self.levels > 0 => {
                self.directory = above.to_owned();
                self.look_here();
            }
            _ => self.finish(""),
        }
    }

    fn advance(&mut self) {
        let read_result = match &mut self.step {
            Step::Head(excerpt) | Step::Link(excerpt) | Step::LinkedHead(excerpt) => excerpt.take_result(),
            Step::Done => None,
        };
        let Some(found) = read_result else { return };
        match (core::mem::replace(&mut self.step, Step::Done), found) {
            (Step::Head(_) | Step::LinkedHead(_), Some(head)) => self.finish(&branch_in(&head.bytes)),
            (Step::Head(_), None) => self.step = Step::Link(read(format!("{}/.git", self.directory))),
            (Step::Link(_), Some(link)) => match linked(&self.directory, &link.bytes) {
                Some(place) => self.step = Step::LinkedHead(read(format!("{place}/HEAD"))),
                None => self.finish(""),
            },
            (Step::Link(_), None) => self.look_above(),
            (Step::LinkedHead(_) | Step::Done, _) => self.finish(""),
        }
    }

    fn finish(&mut self, branch: &str) {
        self.step = Step::Done;
        self.result = Some(branch.to_owned());
    }
}

impl Machine for Branch {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        match &mut self.step {
            Step::Head(excerpt) | Step::Link(excerpt) | Step::LinkedHead(excerpt) => excerpt.poll_op(),
            Step::Done => None,
        }
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        if let Step::Head(excerpt) | Step::Link(excerpt) | Step::LinkedHead(excerpt) = &mut self.step {
            excerpt.handle_outcome(now, tag, outcome);
        }
        self.advance();
    }
}

fn read(path: String) -> Box<Excerpt> {
    Box::new(Excerpt::new(path, None, End::Beginning, GIT_FILE_BYTES))
}

/// The branch that a `HEAD` names. One that is detached names none, and one of a repository that keeps its refs in tables
/// names a branch that cannot be.
fn branch_in(head: &[u8]) -> String {
    let line = core::str::from_utf8(head).unwrap_or_default().lines().next().unwrap_or_default();
    let branch = line.strip_prefix("ref:").and_then(|name| name.trim().strip_prefix("refs/heads/"));
    let branch = branch.filter(|name| *name != ".invalid" && !name.chars().any(char::is_control));
    branch.unwrap_or_default().chars().take(MAX_BRANCH_CHARS).collect()
}

/// Where the repository of a worktree or a submodule lies, if `.git` is a file that says so.
fn linked(directory: &str, link: &[u8]) -> Option<String> {
    let place = core::str::from_utf8(link).ok()?.lines().next()?.strip_prefix("gitdir:")?.trim();
    let path = if place.starts_with('/') { place.to_owned() } else { format!("{directory}/{place}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    let path = parts.iter().fold(String::new(), |path, part| path + "/" + part);
    is_path(&path).then_some(path)
}

/// Whether this can be the path of a directory: absolute, without ways up, and of a length that a system takes.
fn is_path(path: &str) -> bool {
    path.starts_with('/')
        && path.len() <= MAX_PATH_BYTES
        && !path.contains('\0')
        && !path.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::Branch;
    use crate::pane::simulated::{World, at};

    fn branch(world: &mut World, directory: &str) -> String {
        let mut machine = Branch::new(directory);
        world.drive(at(0), &mut machine);
        machine.take_result().expect("a result when nothing is asked any more")
    }

    #[test]
    fn the_repository_around_a_directory_says_it() {
        let mut world = World::new();
        world.put("/home/u/shed/.git/HEAD", "ref: refs/heads/feat/rake\n", 1);
        world.put("/home/u/shed/src/deep/main.rs", "", 1);
        for directory in ["/home/u/shed", "/home/u/shed/", "/home/u/shed/src/deep"] {
            assert_eq!(branch(&mut world, directory), "feat/rake", "{directory}");
        }
        for directory in ["/home/u", "/", "", "shed", "/home/u/shed/../shed"] {
            assert_eq!(branch(&mut world, directory), "", "{directory}");
        }
    }

    #[test]
    fn worktrees_and_submodules_say_where_their_head_is() {
        let mut world = World::new();
        world.put("/w/tree/.git", "gitdir: /r/.git/worktrees/tree\n", 1);
        world.put("/r/.git/worktrees/tree/HEAD", "ref: refs/heads/tree\n", 1);
        world.put("/r/.git/HEAD", "ref: refs/heads/main\n", 1);
        world.put("/r/sub/.git", "gitdir: ../.git/modules/sub", 1);
        world.put("/r/.git/modules/sub/HEAD", "ref: refs/heads/pinned\n", 1);
        world.put("/r/gone/.git", "gitdir: ../nowhere\n", 1);
        world.put("/r/odd/.git", "not a link\n", 1);
        world.put("/r/up/.git", "gitdir: ../../../../..\n", 1);
        assert_eq!(branch(&mut world, "/w/tree"), "tree");
        assert_eq!(branch(&mut world, "/r/sub"), "pinned");
        assert_eq!(branch(&mut world, "/r"), "main");
        // A link that leads nowhere is no reason to take the branch of what is around it.
        for directory in ["/r/gone", "/r/odd", "/r/up"] {
            assert_eq!(branch(&mut world, directory), "", "{directory}");
        }
    }

    #[test]
    fn what_names_no_branch_is_none() {
        let mut world = World::new();
        for head in
            ["4b825dc642cb6eb9a060e54bf8d69288fbee4904\n", "ref: refs/heads/.invalid\n", "", "ref: refs/tags/v1\n"]
        {
            world.put("/d/.git/HEAD", head, 1);
            assert_eq!(branch(&mut world, "/d"), "", "{head}");
        }
    }

    #[test]
    fn a_deep_directory_costs_a_bounded_search() {
        let mut world = World::new();
        world.put("/.git/HEAD", "ref: refs/heads/root\n", 1);
        assert_eq!(branch(&mut world, &"/d".repeat(100)), "");
        assert_eq!(world.log.len(), 64);
        assert_eq!(branch(&mut world, &"/d".repeat(30)), "root");
    }
}
