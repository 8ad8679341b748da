use alloc::format;
use alloc::vec::Vec;

use super::{Newest, SessionFile, Sessions};
use crate::agent::AgentKind;
use crate::config::Roots;
use crate::io::Op;
use crate::pane::simulated::{BOOKKEEPING, World, at, conversation};

const ROOT: &str = "/home/u/.claude/projects";

fn sessions(world: &mut World, max: usize) -> Newest {
    let mut machine = Sessions::new(&Roots::below("/home/u"), &[AgentKind::Claude], max);
    world.drive(at(0), &mut machine);
    machine.take_result().expect("a result when nothing is asked any more")
}

fn names(found: &[SessionFile]) -> Vec<&str> {
    found.iter().map(|file| file.session.as_str()).collect()
}

#[test]
fn the_newest_of_all_projects_come_first() {
    let mut world = World::new();
    for project in 0..50 {
        world.put(&format!("{ROOT}/-p{project}/s{project}.jsonl"), &conversation("/p", "hi"), 100 + project);
    }
    world.put(&format!("{ROOT}/-p3/s49/subagents/agent-1.jsonl"), BOOKKEEPING, 999);
    world.put(&format!("{ROOT}/-p3/notes.txt"), "x", 999);
    world.put(&format!("{ROOT}/-p0/late.jsonl"), BOOKKEEPING, 148);
    let found = sessions(&mut world, 3).files;
    assert_eq!(names(&found), ["s49", "late", "s48"]);
    assert_eq!(found[0].path, format!("{ROOT}/-p49/s49.jsonl"));
    assert_eq!(found[0].under, ROOT);
    assert_eq!(found[0].recorded.cwd.as_deref(), Some("/p"));
    assert_eq!(found[0].recorded.first_prompt.as_deref(), Some("hi"));
    assert!(!found[1].recorded.conversation);
    let opened = world.log.iter().filter(|op| matches!(op, Op::Open { .. })).count();
    assert_eq!(opened, 3);
}

#[test]
fn a_fresh_machine_has_none() {
    assert_eq!(sessions(&mut World::new(), 3), Newest::default());
}

#[test]
fn one_bad_project_does_not_hide_the_others() {
    let mut world = World::new();
    world.put(&format!("{ROOT}/-a/s.jsonl"), &conversation("/a", "hi"), 1);
    world.put(&format!("{ROOT}/-b/t.jsonl"), &conversation("/b", "hi"), 2);
    world.deny(&format!("{ROOT}/-b"));
    let found = sessions(&mut world, 3);
    assert_eq!((names(&found.files), found.unreadable.len()), (["s"].into(), 0));
    world.deny(ROOT);
    let found = sessions(&mut world, 3);
    assert_eq!((found.files.len(), found.unreadable), (0, [format!("cannot look at {ROOT}: no luck")].into()));
}
