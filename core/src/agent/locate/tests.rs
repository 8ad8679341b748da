use alloc::format;
use alloc::string::String;
use core::time::Duration;

use super::{Locate, LocateError, Located, Wanted, is_session_id};
use crate::agent::AgentKind;
use crate::agent::claude::layout::{directory_by_agent, directory_by_contract};
use crate::config::Roots;
use crate::ids::SessionId;
use crate::io::{Failure, FailureKind, FileTime, Op, Outcome};
use crate::limits;
use crate::machine::{Machine, Tag};
use crate::pane::simulated::{BOOKKEEPING, World, at, conversation};
use crate::source::spool;
use crate::time::Now;

const ROOT: &str = "/home/u/.claude/projects";
const ID: &str = "7d2c19f0-5a1e-4c3b-9f54-2f1b0c6d8e21";

fn locate(world: &mut World, cwd: Option<&str>, session: Option<&str>) -> Result<Located, LocateError> {
    let wanted = session.map_or(Wanted::Newest, |session| Wanted::Session(session.into()));
    let mut machine = Locate::new(AgentKind::Claude, &Roots::below("/home/u"), cwd, &wanted);
    world.drive(at(0), &mut machine);
    machine.take_result().expect("a result when nothing is asked any more")
}

fn located(path: &str, session: &str, cwd: Option<&str>, modified: i64) -> Located {
    Located {
        path: path.into(),
        under: ROOT.into(),
        session: session.into(),
        exists: true,
        recorded_cwd: cwd.map(String::from),
        modified: FileTime(modified * 1_000_000),
    }
}

#[test]
fn only_plain_ids_are_ids() {
    assert!(is_session_id(ID));
    assert!(is_session_id("ses_08a6b8f1affeRIWNQqRReCupSY"));
    assert!(is_session_id(&"a".repeat(128)));
    for bad in ["", "../x", "a/b", "a.b", "*", "[a]", "a b", "é", "a\0", &"a".repeat(129)] {
        assert!(!is_session_id(bad), "{bad}");
    }
}

#[test]
fn a_direct_hit_needs_no_search() {
    let mut world = World::new();
    let path = format!("{ROOT}/-home-u-foo/{ID}.jsonl");
    world.put(&path, &conversation("/home/u/foo", "hi"), 7);
    let found = locate(&mut world, Some("/home/u/foo/"), Some(ID));
    assert_eq!(found, Ok(located(&path, ID, Some("/home/u/foo"), 7)));
    assert!(!world.log.iter().any(|op| matches!(op, Op::List { .. })), "{:?}", world.log);
    let opened: Op = Op::Open { path, under: Some(ROOT.into()) };
    assert!(world.log.contains(&opened));
}

#[test]
fn the_directory_as_claude_code_encodes_it_is_a_direct_hit_too() {
    let mut world = World::new();
    let path = format!("{ROOT}/-home-me-caf--v1-0/{ID}.jsonl");
    world.put(&path, &conversation("/home/me/café v1.0", "hi"), 7);
    let found = locate(&mut world, Some("/home/me/café v1.0"), Some(ID));
    assert_eq!(found, Ok(located(&path, ID, Some("/home/me/café v1.0"), 7)));
}

#[test]
fn a_known_id_is_found_in_any_project() {
    let mut world = World::new();
    let path = format!("{ROOT}/-somewhere-else/{ID}.jsonl");
    world.put(&path, &conversation("/somewhere/else", "hi"), 7);
    world.put(&format!("{ROOT}/-home-u-foo/other.jsonl"), &conversation("/home/u/foo", "hi"), 9);
    let expected = Ok(located(&path, ID, Some("/somewhere/else"), 7));
    assert_eq!(locate(&mut world, Some("/home/u/foo"), Some(ID)), expected);
    assert_eq!(locate(&mut world, None, Some(ID)), expected);
}

#[test]
fn of_two_files_the_one_with_a_conversation_is_it() {
    let mut world = World::new();
    world.put(&format!("{ROOT}/-home-u-foo/{ID}.jsonl"), BOOKKEEPING, 9);
    let path = format!("{ROOT}/-home-u-foo-worktree/{ID}.jsonl");
    world.put(&path, &conversation("/home/u/foo/worktree", "hi"), 7);
    let found = locate(&mut world, Some("/home/u/foo"), Some(ID));
    assert_eq!(found, Ok(located(&path, ID, Some("/home/u/foo/worktree"), 7)));
}

#[test]
fn bookkeeping_alone_is_better_than_nothing() {
    let mut world = World::new();
    let path = format!("{ROOT}/-home-u-foo/{ID}.jsonl");
    world.put(&path, BOOKKEEPING, 3);
    world.put(&format!("{ROOT}/-other/{ID}.jsonl"), BOOKKEEPING, 9);
    assert_eq!(locate(&mut world, Some("/home/u/foo"), Some(ID)), Ok(located(&path, ID, None, 3)));
}

#[test]
fn a_known_id_without_a_file_is_pending_and_never_a_neighbour() {
    let mut world = World::new();
    world.put(&format!("{ROOT}/-home-u-my-app/other.jsonl"), &conversation("/home/u/my_app", "hi"), 9);
    let pending = Located {
        path: format!("{ROOT}/-home-u-my-app/{ID}.jsonl"),
        under: ROOT.into(),
        session: ID.into(),
        exists: false,
        recorded_cwd: None,
        modified: FileTime(0),
    };
    assert_eq!(locate(&mut world, Some("/home/u/my_app"), Some(ID)), Ok(pending.clone()));
    assert_eq!(locate(&mut World::new(), Some("/home/u/my_app"), Some(ID)), Ok(pending));
    assert_eq!(locate(&mut world, None, Some(ID)), Err(LocateError::NoFile));
}

#[test]
fn an_id_that_is_no_id_touches_no_path() {
    let mut world = World::new();
    world.put("/home/u/secret.jsonl", &conversation("/home/u", "hi"), 9);
    for bad in ["../../secret", "*", "a/b", "/home/u/secret.jsonl"] {
        assert_eq!(locate(&mut world, Some("/home/u"), Some(bad)), Err(LocateError::NoFile), "{bad}");
    }
    assert_eq!(world.log, []);
}

#[test]
fn a_link_out_of_the_root_is_not_followed() {
    let mut world = World::new();
    world.put("/etc/shadow.jsonl", &conversation("/home/u", "hi"), 9);
    world.link(&format!("{ROOT}/-home-u/{ID}.jsonl"), "/etc/shadow.jsonl");
    assert_eq!(locate(&mut world, Some("/home/u"), Some(ID)), Err(LocateError::NoFile));
    assert_eq!(locate(&mut world, Some("/home/u"), None), Err(LocateError::NoFile));
    assert!(!world.log.iter().any(|op| matches!(op, Op::Read { .. })));
}

#[test]
fn a_file_that_may_not_be_read_says_so() {
    let mut world = World::new();
    let path = format!("{ROOT}/-home-u/{ID}.jsonl");
    world.put(&path, &conversation("/home/u", "hi"), 9);
    world.deny(&path);
    let unreadable = |what: &str| Err(LocateError::Unreadable(format!("{what}: no luck")));
    assert_eq!(locate(&mut world, Some("/home/u"), Some(ID)), unreadable(&format!("cannot read {path}")));
    world.deny(&format!("{ROOT}/-home-u"));
    assert_eq!(locate(&mut world, Some("/home/u"), None), unreadable(&format!("cannot look at {ROOT}/-home-u")));
}

#[test]
fn what_lies_in_its_place_and_is_no_file_is_not_waited_for() {
    let mut world = World::new();
    let path = format!("{ROOT}/-home-u/{ID}.jsonl");
    world.put(&format!("{path}/x"), "", 9);
    let unreadable = Err(LocateError::Unreadable(format!("cannot look at {path}: not a regular file")));
    assert_eq!(locate(&mut world, Some("/home/u"), Some(ID)), unreadable);
    // The session itself lies somewhere else.
    let elsewhere = format!("{ROOT}/-home-v/{ID}.jsonl");
    world.put(&elsewhere, &conversation("/home/u", "hi"), 9);
    assert_eq!(locate(&mut world, Some("/home/u"), Some(ID)).unwrap().path, elsewhere);
}

#[test]
fn without_an_id_the_newest_of_the_very_directory_is_it() {
    let mut world = World::new();
    // Two directories that are encoded alike share one project.
    world.put(&format!("{ROOT}/-home-u-a-b/newest.jsonl"), &conversation("/home/u/a.b", "hi"), 9);
    world.put(&format!("{ROOT}/-home-u-a-b/agent-a2898e3.jsonl"), &conversation("/home/u/a/b", "hi"), 9);
    world.put(&format!("{ROOT}/-home-u-a-b/mine.jsonl"), &conversation("/home/u/a/b", "hi"), 8);
    world.put(&format!("{ROOT}/-home-u-a-b/older.jsonl"), &conversation("/home/u/a/b", "hi"), 7);
    world.put(&format!("{ROOT}/-home-u-a-b/empty.jsonl"), "", 10);
    let path = format!("{ROOT}/-home-u-a-b/mine.jsonl");
    assert_eq!(locate(&mut world, Some("/home/u/a/b"), None), Ok(located(&path, "mine", Some("/home/u/a/b"), 8)));
    assert_eq!(locate(&mut world, Some("/home/u/a_b"), None), Err(LocateError::NoFile));
    assert_eq!(locate(&mut world, None, None), Err(LocateError::NoFile));
}

#[test]
fn files_of_one_age_are_ordered_by_name() {
    let mut world = World::new();
    for name in ["b", "a", "c"] {
        world.put(&format!("{ROOT}/-w/{name}.jsonl"), &conversation("/w", "hi"), 9);
    }
    assert_eq!(locate(&mut world, Some("/w"), None).map(|located| located.session), Ok(SessionId::from("a")));
}

#[test]
fn no_more_files_are_opened_than_the_bound_allows() {
    let mut world = World::new();
    for age in 0..200 {
        world.put(&format!("{ROOT}/-w/s{age}.jsonl"), &conversation("/elsewhere", "hi"), 1000 - age);
    }
    world.put(&format!("{ROOT}/-w/mine.jsonl"), &conversation("/w", "hi"), 1);
    assert_eq!(locate(&mut world, Some("/w"), None), Err(LocateError::NoFile));
    let opened = world.log.iter().filter(|op| matches!(op, Op::Open { .. })).count();
    assert_eq!(opened, limits::MAX_PROBED_FILES);
}

#[test]
fn a_beginning_that_comes_in_pieces_is_read_whole() {
    let mut world = World::new();
    world.read_cap = 10;
    let path = format!("{ROOT}/-home-u-foo/{ID}.jsonl");
    world.put(&path, &conversation("/home/u/foo", "hi"), 7);
    let found = locate(&mut world, Some("/home/u/foo"), Some(ID));
    assert_eq!(found, Ok(located(&path, ID, Some("/home/u/foo"), 7)));
}

#[test]
fn many_projects_are_asked_for_a_few_at_a_time() {
    let mut world = World::new();
    for project in 0..100 {
        world.put(&format!("{ROOT}/-p{project}/x.jsonl"), BOOKKEEPING, 1);
    }
    let path = format!("{ROOT}/-p77/{ID}.jsonl");
    world.put(&path, &conversation("/p77", "hi"), 7);
    assert_eq!(locate(&mut world, None, Some(ID)), Ok(located(&path, ID, Some("/p77"), 7)));
}

#[test]
fn a_directory_with_a_name_too_long_for_a_disk_is_found_by_its_id_alone() {
    let mut world = World::new();
    let cwd = format!("/{}", "é".repeat(200));
    assert_eq!(directory_by_agent(&cwd).len(), 201);
    let longer = format!("/{}", "a.".repeat(200));
    assert_eq!(directory_by_agent(&longer).len(), limits::MAX_NAME_BYTES);
    let path = format!("{ROOT}/{}-h4sh/{ID}.jsonl", directory_by_agent(&longer).split_at(200).0);
    world.put(&path, &conversation(&longer, "hi"), 7);
    assert_eq!(locate(&mut world, Some(&longer), Some(ID)), Ok(located(&path, ID, Some(&longer), 7)));
    assert_eq!(locate(&mut world, Some(&longer), None), Err(LocateError::NoFile));
    let asked = world
        .log
        .iter()
        .filter_map(|op| if let Op::Stat { path } | Op::List { path, .. } = op { Some(path) } else { None });
    assert!(asked.flat_map(|path| path.split('/')).all(|name| name.len() <= limits::MAX_NAME_BYTES));
}

#[test]
fn a_directory_that_no_disk_can_name_is_not_asked_for() {
    let mut world = World::new();
    let by_contract = format!("{ROOT}/{}", directory_by_contract("/w\0x"));
    assert_eq!(locate(&mut world, Some("/w\0x"), None), Err(LocateError::NoFile));
    let asked = |op: &Op| matches!(op, Op::List { path, .. } if *path == by_contract);
    assert!(!world.log.is_empty() && !world.log.iter().any(asked));
}

#[test]
fn a_directory_and_a_link_that_leads_to_it_are_one() {
    let mut world = World::new();
    let storage = "/home/u/.local/share/opencode/storage";
    let session = |id: &str, cwd: &str| format!("{{\"id\":\"{id}\",\"directory\":\"{cwd}\",\"title\":\"t\"}}");
    world.put(&format!("{storage}/session/p/ses_one.json"), &session("ses_one", "/workspace/u/p"), 5);
    world.put(&format!("{storage}/session/p/ses_two.json"), &session("ses_two", "/workspace/u/q"), 9);
    world.put(&format!("{storage}/session/p/ses_gone.json"), &session("ses_gone", "/workspace/gone"), 11);
    world.put("/workspace/u/p/a.rs", "", 1);
    world.put("/workspace/u/q/a.rs", "", 1);
    world.link("/home/u/ws/p", "/workspace/u/p");
    world.link("/home/u/ws/gone", "/workspace/gone");
    let mut located = |cwd: &str, wanted: &Wanted| {
        let mut machine = Locate::new(AgentKind::Opencode, &Roots::below("/home/u"), Some(cwd), wanted);
        world.drive(at(0), &mut machine);
        machine.take_result().expect("a result when nothing is asked any more").map(|found| found.session)
    };
    let one = SessionId::from("ses_one");
    for cwd in ["/workspace/u/p", "/home/u/ws/p", "/home/u/ws/p/"] {
        assert_eq!(located(cwd, &Wanted::Newest), Ok(one.clone()), "{cwd}");
        assert_eq!(located(cwd, &Wanted::Session(one.clone())), Ok(one.clone()), "{cwd}");
        assert_eq!(located(cwd, &Wanted::Session("ses_two".into())), Err(LocateError::NoFile), "{cwd}");
    }
    // What is not there is told by its name alone.
    assert_eq!(located("/home/u/ws/gone", &Wanted::Newest), Err(LocateError::NoFile));
    assert_eq!(located("/workspace/gone", &Wanted::Newest), Ok("ses_gone".into()));
}

/// opencode with a service and a database that are there, and do not answer.
struct Silent<'a> {
    locate: &'a mut Locate,
    patience: Duration,
}

impl Machine for Silent<'_> {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        loop {
            let (tag, op) = self.locate.poll_op()?;
            let (Op::Fetch { within, .. } | Op::Query { within, .. }) = op else { return Some((tag, op)) };
            self.patience += within;
            let silence = Failure { kind: FailureKind::TimedOut, text: "no answer" };
            self.locate.handle_outcome(at(0), tag, Outcome::Failed(silence));
        }
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        self.locate.handle_outcome(now, tag, outcome);
    }
}

/// A session of opencode whose stores do not answer, and whose spool has this first line.
fn spooled(header: &str, cwd: Option<&str>) -> Result<Located, LocateError> {
    let mut world = World::new();
    let roots = Roots::below("/home/u");
    let service = r#"{"url":"http://127.0.0.1:4096","pid":7,"password":"p"}"#;
    world.put(&format!("{}/service.json", roots.opencode_state), service, 1);
    world.put("/proc/7", "", 1);
    world.put(&format!("{}/opencode.db", roots.opencode), "", 1);
    let path = spool::path_of("/state", "opencode", &SessionId::from("ses_1"));
    world.put(&path, header, 7);
    let wanted = Wanted::Session(SessionId::from("ses_1"));
    let mut locate = Locate::new(AgentKind::Opencode, &roots, cwd, &wanted).or_spooled(AgentKind::Opencode, "/state");
    let mut silent = Silent { locate: &mut locate, patience: Duration::ZERO };
    world.drive(at(0), &mut silent);
    assert_eq!(silent.patience, limits::STORE_LOCATE * 2, "nobody waits longer for a pane");
    locate.take_result().expect("a result when nothing is asked any more")
}

#[test]
fn a_session_whose_stores_do_not_answer_is_its_spool_in_its_own_directory_alone() {
    const OF_W: &str = "{\"spool\":2,\"kind\":\"opencode\",\"session\":\"ses_1\",\"directory\":\"/w\",\"begun\":1}\n";
    const UNKNOWN: &str = "{\"spool\":2,\"kind\":\"opencode\",\"session\":\"ses_1\",\"begun\":1}\n";
    const ANOTHER: &str =
        "{\"spool\":2,\"kind\":\"opencode\",\"session\":\"ses_2\",\"directory\":\"/w\",\"begun\":1}\n";
    let found = |recorded: Option<&str>| Located {
        path: spool::path_of("/state", "opencode", &SessionId::from("ses_1")),
        under: "/state/spool".into(),
        session: "ses_1".into(),
        exists: true,
        recorded_cwd: recorded.map(String::from),
        modified: FileTime(7_000_000),
    };
    assert!(found(None).is_spooled());
    assert_eq!(spooled(OF_W, Some("/w/")), Ok(found(Some("/w"))));
    assert_eq!(spooled(OF_W, None), Ok(found(Some("/w"))));
    assert_eq!(spooled(UNKNOWN, None), Ok(found(None)));
    let database = "cannot ask /home/u/.local/share/opencode/opencode.db: no answer";
    for (header, cwd) in [(OF_W, "/else"), (UNKNOWN, "/w"), (ANOTHER, "/w"), ("", "/w")] {
        let refused = Err(LocateError::Unreadable(database.into()));
        assert_eq!(spooled(header, Some(cwd)), refused, "{header} {cwd}");
    }
}
