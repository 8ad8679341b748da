use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::ControlFlow;

use super::*;
use crate::agent::spooled::SpoolReader;
use crate::agent::{Line, Reader as _};
use crate::entry::caps::Caps;
use crate::entry::{ToolCall, ToolResult};
use crate::io::Failure;
use crate::pane::simulated::{World, at};

const PATH_KIND: &str = "opencode";

fn session() -> SessionId {
    SessionId::from("ses_1")
}

fn path() -> String {
    path_of("/state", PATH_KIND, &session())
}

fn place(time: i64, id: &str) -> Place {
    Place { time, id: id.to_string() }
}

fn said(id: &str, text: &str) -> Entry {
    Entry {
        id: id.to_string(),
        parent_id: Some("msg".to_string()),
        ts: Some("2026-07-09T10:00:00.000Z".to_string()),
        role: Role::Assistant,
        body: Body::Message(Text { text: text.to_string(), truncated: false }),
        parsed: true,
    }
}

/// A spool that has read what is there.
fn opened(world: &mut World) -> Spool {
    let mut spool = Spool::new("/state", PATH_KIND, &session());
    spool.begin();
    world.drive(at(0), &mut spool);
    assert!(spool.is_open());
    spool
}

fn write(world: &mut World, spool: &mut Spool) {
    while !spool.is_written() {
        spool.go_on(at(7));
        world.drive(at(7), spool);
    }
}

/// The entries of a file as a reader sees them.
fn read(bytes: &[u8]) -> Vec<Entry> {
    let mut lines = LineSplitter::new(0, SPOOL_LINE_BYTES);
    let mut entries = Vec::new();
    let mut take = |line: &Line<'_>| {
        let before = entries.len() as u64;
        SpoolReader.read(line, &Caps::NONE, &mut |entry| entries.push(entry));
        assert_eq!(entries.len() as u64 - before, SpoolReader.count(line));
    };
    let _ = lines.push(bytes, |line| {
        take(&line);
        ControlFlow::<()>::Continue(())
    });
    if records::is_whole(lines.tail()) {
        take(&lines.tail_line());
    }
    entries
}

fn content(world: &World) -> Vec<u8> {
    world.content(&path()).unwrap_or_default()
}

/// Three messages of two entries each, the first of them settled, pushed as a feeder does that knows nothing.
fn feed(spool: &mut Spool) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (time, message) in [(1, "msg_z"), (2, "msg_b"), (3, "msg_a")] {
        let message = place(time, message);
        for block in ["1", "2"] {
            let entry = said(&(message.id.clone() + block), "text with \"quotes\", a newline\nand 中");
            if !spool.holds(&message, &entry.id) {
                spool.push(&message, &entry);
            }
            entries.push(entry);
        }
        if time == 1 {
            spool.settle(&message);
        }
    }
    entries
}

#[test]
fn every_kind_of_entry_comes_back_as_it_went_in() {
    let mut world = World::new();
    let mut spool = opened(&mut world);
    let text = |text: &str| Text { text: text.to_string(), truncated: false };
    let call = ToolCall {
        id: "call_1".into(),
        name: "edit".into(),
        title: Some("edit".into()),
        subtitle: Some("a subtitle".into()),
        command: Some("ls\n-l".into()),
        file: Some("a.rs".into()),
        diff: Some("@@ -1,1 +1,1 @@\n-a\n+b".into()),
        input_summary: Some("a.rs".into()),
        ..ToolCall::default()
    };
    let result = ToolResult {
        for_id: "call_1".into(),
        ok: true,
        output_summary: Some("  done\nwell".into()),
        diff: Some("@@ -1,1 +1,1 @@\n-a\n+b".into()),
        truncated: false,
    };
    let bodies = [
        (Role::User, Body::Message(text("hello"))),
        (Role::Assistant, Body::Thinking(text("hm"))),
        (Role::Assistant, Body::ToolCall(call)),
        (Role::User, Body::ToolResult(result)),
        (Role::User, Body::ToolResult(ToolResult { for_id: "x".into(), ..ToolResult::default() })),
        (Role::System, Body::Attachment(text("[image]"))),
    ];
    let mut entries: Vec<Entry> =
        (0..).zip(bodies).map(|(n, (role, body))| Entry { role, body, ..said(&alloc::format!("e{n}"), "") }).collect();
    entries[0].parsed = false;
    entries[1].parent_id = None;
    entries[2].ts = None;
    for entry in &entries {
        spool.push(&place(1, "m"), entry);
    }
    write(&mut world, &mut spool);
    assert_eq!(read(&content(&world)), entries);
}

#[test]
fn what_is_in_it_is_known_after_a_restart() {
    let mut world = World::new();
    let mut spool = opened(&mut world);
    assert_eq!((spool.settled(), spool.holds(&place(1, "msg_z"), "msg_z1")), (None, false));
    let entries = feed(&mut spool);
    write(&mut world, &mut spool);
    let before = content(&world);
    assert_eq!(read(&before), entries);

    let mut again = opened(&mut world);
    assert_eq!(again.settled(), Some(&place(1, "msg_z")));
    // By time, then by id: the id of the settled message is the largest.
    let holds = |message: &Place, id| again.holds(message, id);
    assert!(holds(&place(2, "msg_b"), "msg_b1") && !holds(&place(2, "msg_b"), "msg_b3"));
    assert!(holds(&place(1, "msg_z"), "anything"));
    // What lies before it and has not settled itself came late.
    assert!(again.is_settled(&place(1, "msg_y")) && !holds(&place(1, "msg_y"), "anything"));
    assert_eq!(again.entries_of(&place(3, "msg_a")).collect::<Vec<_>>(), ["msg_a1", "msg_a2"]);
    feed(&mut again);
    assert!(again.is_written(), "nothing new is written");
    assert_eq!(content(&world), before);
}

#[test]
fn wherever_a_crash_cuts_it_every_entry_is_in_it_once() {
    let mut world = World::new();
    let mut spool = opened(&mut world);
    let entries = feed(&mut spool);
    write(&mut world, &mut spool);
    let whole = content(&world);
    for cut in 0..=whole.len() {
        let mut world = World::new();
        world.put_bytes(&path(), &whole[..cut], 1);
        let before = read(&whole[..cut]);
        let mut spool = opened(&mut world);
        feed(&mut spool);
        write(&mut world, &mut spool);
        let after = read(&content(&world));
        assert_eq!(after, entries, "cut at {cut}");
        assert_eq!(after[..before.len()], before[..], "cut at {cut}: nothing is taken back");
    }
}

#[test]
fn what_is_no_spool_of_this_session_is_replaced() {
    let of_another = record::header(PATH_KIND, &SessionId::from("ses_2"), None, at(0).wall);
    for content_before in [&b"hello\n"[..], b"{\"spool\":1,\"session\":\"ses_1\"}\n", &of_another, b"\n"] {
        let mut world = World::new();
        world.put_bytes(&path(), content_before, 1);
        let mut spool = opened(&mut world);
        let entries = feed(&mut spool);
        write(&mut world, &mut spool);
        let after = content(&world);
        assert_eq!(read(&after), entries);
        assert!(after.starts_with(b"{\"spool\":2,\"kind\":\"opencode\",\"session\":\"ses_1\",\"begun\":"));
    }
}

#[test]
fn a_failed_append_is_read_again_and_gone_on_with() {
    let mut world = World::new();
    let mut spool = opened(&mut world);
    let life = spool.life();
    let entries = feed(&mut spool);
    spool.go_on(at(0));
    let (tag, Op::Append { bytes, .. }) = spool.poll_op().unwrap() else { panic!("no append") };
    // The disk was full in the middle of it.
    world.put_bytes(&path(), &bytes[..bytes.len() / 2], 1);
    let full = Failure { kind: FailureKind::Other, text: "no space left on device" };
    spool.handle_outcome(at(0), tag, Outcome::Failed(full));
    assert!(!spool.is_open() && !spool.has_room());
    let trouble = alloc::format!("cannot write {}: no space left on device", path());
    assert_eq!(spool.take_trouble(), Some(trouble));
    spool.begin();
    world.drive(at(0), &mut spool);
    assert_ne!(spool.life(), life);
    feed(&mut spool);
    write(&mut world, &mut spool);
    assert_eq!(read(&content(&world)), entries);
}

#[test]
fn one_that_is_too_large_begins_anew_with_its_newest_half() {
    let mut world = World::new();
    let mut spool = opened(&mut world);
    spool.max_bytes = 20_000;
    let text = "x".repeat(1_000);
    let turn = |spool: &mut Spool, world: &mut World| {
        for n in 0..40_i64 {
            let message = place(n, "m");
            if spool.is_settled(&message) {
                continue;
            }
            spool.push(&message, &said(&alloc::format!("e{n}"), &text));
            spool.settle(&message);
            let life = spool.life();
            write(world, spool);
            if spool.life() != life {
                return false;
            }
        }
        true
    };
    let mut lives = 1;
    while !turn(&mut spool, &mut world) {
        lives += 1;
    }
    assert_eq!(lives, 4);
    let entries = read(&content(&world));
    assert_eq!(entries[0].id, "left-out");
    let ids: Vec<&str> = entries[1..].iter().map(|entry| entry.id.as_str()).collect();
    let first: i64 = ids[0][1..].parse().unwrap();
    let expected: Vec<String> = (first..40).map(|n| alloc::format!("e{n}")).collect();
    assert_eq!(ids, expected);
    assert!((8..=18).contains(&ids.len()), "{}", ids.len());
    // And it is known after a restart where it began.
    assert!(opened(&mut world).holds(&place(first - 1, "m"), "any"));
}

#[test]
fn a_text_that_fits_in_no_line_is_cut_and_says_so() {
    let mut world = World::new();
    let mut spool = opened(&mut world);
    spool.push(&place(1, "m"), &said("e", &"\u{1}".repeat(SPOOL_LINE_BYTES / 4)));
    write(&mut world, &mut spool);
    let bytes = content(&world);
    assert!(bytes.split(|byte| *byte == b'\n').all(|line| line.len() <= SPOOL_LINE_BYTES));
    let Body::Message(text) = &read(&bytes)[0].body else { panic!("no message") };
    assert!(text.truncated);
}

#[test]
fn sessions_of_one_name_and_two_kinds_have_two_spools() {
    let names: BTreeSet<String> =
        ["opencode", "gemini"].into_iter().map(|kind| path_of("/state", kind, &session())).collect();
    assert_eq!(names.len(), 2);
    let lengths: Vec<usize> = names.iter().map(String::len).collect();
    assert_eq!(lengths, vec!["/state/spool/".len() + 32 + SPOOLS.suffix.len(); 2]);
}

/// Hands over one entry and then waits for an answer that does not come.
#[derive(Debug, Default)]
struct Waiting {
    life: Option<u32>,
}

impl Machine for Waiting {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        None
    }

    fn handle_outcome(&mut self, _now: Now, _tag: Tag, _outcome: Outcome<'_>) {}
}

impl Feeder for Waiting {
    fn look(&mut self, _now: Now, spool: &Spool) {
        self.life = Some(spool.life());
    }

    fn go_on(&mut self, _now: Now, spool: &mut Spool) {
        if self.life == Some(spool.life()) {
            spool.push(&place(1, "m"), &said("e", "text"));
        } else {
            self.life = None;
        }
    }

    fn is_looking(&self) -> bool {
        self.life.is_some()
    }

    fn take_trouble(&mut self) -> Option<String> {
        None
    }

    fn take_drift(&mut self) -> crate::agent::drift::Drift {
        crate::agent::drift::Drift::default()
    }
}

/// Looks, and is never told anything.
#[derive(Debug, Default)]
struct Silent {
    looks: bool,
}

impl Machine for Silent {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        None
    }

    fn handle_outcome(&mut self, _now: Now, _tag: Tag, _outcome: Outcome<'_>) {}
}

impl Feeder for Silent {
    fn look(&mut self, _now: Now, _spool: &Spool) {
        self.looks = true;
    }

    fn go_on(&mut self, _now: Now, _spool: &mut Spool) {}

    fn is_looking(&self) -> bool {
        self.looks
    }

    fn take_trouble(&mut self) -> Option<String> {
        None
    }

    fn take_drift(&mut self) -> crate::agent::drift::Drift {
        crate::agent::drift::Drift::default()
    }
}

#[test]
fn a_disk_that_was_full_in_the_middle_of_a_look_is_tried_again() {
    let mut world = World::new();
    let spool = Spool::new("/state", PATH_KIND, &session());
    let mut feed = Feed::new(spool, alloc::boxed::Box::<Waiting>::default());
    feed.look(at(0));
    let mut perform = |feed: &mut Feed, is_full: bool| {
        while let Some((tag, op)) = feed.poll_op() {
            let full = Failure { kind: FailureKind::Other, text: "no space left on device" };
            let absent = Failure { kind: FailureKind::NotFound, text: "not there" };
            match op {
                Op::Append { .. } if is_full => feed.handle_outcome(at(0), tag, Outcome::Failed(full)),
                Op::Append { path, bytes } => {
                    world.put_bytes(&path, &bytes, 1);
                    feed.handle_outcome(at(0), tag, Outcome::Done);
                }
                _ => feed.handle_outcome(at(0), tag, Outcome::Failed(absent)),
            }
        }
        read(&content(&world)).len()
    };
    assert_eq!(perform(&mut feed, true), 0);
    // It is read again, which ends the look that went on; the next one follows at once and hands over what was lost.
    for expected in [1, 1] {
        feed.look(at(300));
        assert_eq!(perform(&mut feed, false), expected);
    }
}

/// What a feed with a store that never answers has told when it is looked at after so many milliseconds.
fn told_by_the_silent(world: &mut World, looks: &[u64]) -> Vec<FeedEvent> {
    let mut feed = Feed::new(Spool::new("/state", PATH_KIND, &session()), alloc::boxed::Box::<Waiting>::default());
    let mut told = Vec::new();
    for &millis in looks {
        feed.look(at(millis));
        world.drive(at(millis), &mut feed);
        told.extend(core::iter::from_fn(|| feed.poll_event()));
    }
    told
}

#[test]
fn what_is_in_a_spool_is_shown_though_its_store_does_not_answer() {
    let mut world = World::new();
    // With nothing to show the store is waited for.
    let mut empty = World::new();
    empty.put_bytes("/elsewhere", b"", 1);
    let mut opened = Feed::new(Spool::new("/state", PATH_KIND, &session()), alloc::boxed::Box::<Silent>::default());
    for millis in [0, 1_000, 9_000] {
        opened.look(at(millis));
        empty.drive(at(millis), &mut opened);
        assert_eq!(opened.poll_event(), None, "{millis}");
    }
    // What comes meanwhile is waited for as long as it comes.
    let first = told_by_the_silent(&mut world, &[0, 250, 1_499]);
    assert_eq!(first, [FeedEvent::Appended { entries: true }]);
    assert_eq!(told_by_the_silent(&mut world, &[0, 1_499]), []);
    assert_eq!(told_by_the_silent(&mut world, &[0, 1_499, 1_500, 1_750]), [FeedEvent::Ready]);
}

/// Tells so many messages in one look, without asking anybody.
#[derive(Debug)]
struct Talker {
    messages: i64,
    /// The next one, and the life of the spool that it is told.
    next: Option<(i64, u32)>,
}

impl Machine for Talker {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        None
    }

    fn handle_outcome(&mut self, _now: Now, _tag: Tag, _outcome: Outcome<'_>) {}
}

impl Feeder for Talker {
    fn look(&mut self, _now: Now, spool: &Spool) {
        let first = (0..self.messages).find(|n| !spool.is_settled(&place(*n, "m")));
        self.next = first.map(|n| (n, spool.life()));
    }

    fn go_on(&mut self, _now: Now, spool: &mut Spool) {
        self.next = self.next.filter(|(_, life)| *life == spool.life());
        let Some((next, life)) = self.next else { return };
        // As much as one answer of a store.
        for n in next..(next + 4).min(self.messages) {
            let message = place(n, "m");
            if !spool.is_settled(&message) {
                spool.push(&message, &said(&alloc::format!("e{n}"), &"x".repeat(1_000)));
                spool.settle(&message);
            }
        }
        self.next = Some((next + 4, life)).filter(|(next, _)| *next < self.messages);
    }

    fn is_looking(&self) -> bool {
        self.next.is_some()
    }

    fn take_trouble(&mut self) -> Option<String> {
        None
    }

    fn take_drift(&mut self) -> crate::agent::drift::Drift {
        crate::agent::drift::Drift::default()
    }
}

#[test]
fn a_session_that_is_larger_than_a_spool_is_shown_when_its_newest_half_is_in_it() {
    let mut world = World::new();
    let mut spool = Spool::new("/state", PATH_KIND, &session());
    spool.max_bytes = 20_000;
    let mut feed = Feed::new(spool, alloc::boxed::Box::new(Talker { messages: 40, next: None }));
    for millis in [0, 250, 500] {
        feed.look(at(millis));
        world.drive(at(millis), &mut feed);
    }
    let events: Vec<FeedEvent> = core::iter::from_fn(|| feed.poll_event()).collect();
    let ready = events.iter().position(|event| *event == FeedEvent::Ready);
    assert_eq!(ready, Some(events.len() - 1), "{events:?}");
    let entries = read(&content(&world));
    assert_eq!((entries[0].id.as_str(), entries.last().unwrap().id.as_str()), ("left-out", "e39"));
}
