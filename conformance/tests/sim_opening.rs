//! What a client gets when it connects: `hello`, the newest page, `backlog_complete`.

use core::time::Duration;

use panewire_conformance::shape::Shape;
use panewire_conformance::sim::disk::{Effect, OpKind};
use panewire_conformance::sim::scene::{PANE, SESSION};
use panewire_conformance::sim::{Ask, Frames as _, Scene, Speed, TOKEN, config};

#[test]
fn a_short_conversation_is_sent_whole() {
    let mut scene = Scene::with_entries(5);
    let client = scene.world.watch(PANE);
    assert!(scene.world.client(client).accepted());
    let frames = scene.world.fresh(client);
    assert_eq!(frames.kinds(), ["hello", "entry", "entry", "entry", "entry", "entry", "backlog_complete"]);
    assert_eq!(frames.seqs(), [1, 2, 3, 4, 5]);
    scene.world.finish();
}

#[test]
fn the_frames_are_the_contracts_byte_for_byte() {
    let mut scene = Scene::with_entries(4);
    let client = scene.world.watch(PANE);
    let frames = scene.world.fresh(client);
    let generation = frames.only("hello").json["generation"].as_str().unwrap().to_owned();
    let raw: Vec<String> = frames.into_iter().map(|frame| frame.raw).collect();
    let uuid = |line: u32| scene.agent.uuid().replace("000000000004", &format!("{line:012x}"));
    let (one, two, three, four) = (uuid(1), uuid(2), uuid(3), uuid(4));
    let expected = [
        format!(
            r#"{{"type":"hello","protocol":5,"pane":"w1:p1","agent_kind":"claude","session_id":"{SESSION}","backlog_count":4,"total":4,"has_more":false,"oldest_loaded_seq":1,"has_older":false,"generation":"{generation}"}}"#
        ),
        format!(
            r#"{{"type":"entry","live":false,"entry":{{"id":"{one}#0","seq":1,"ts":"2026-03-01T08:00:01.250Z","role":"user","kind":"message","text":"Step 1: look at shelf №1, please.","parsed":true}}}}"#
        ),
        format!(
            r#"{{"type":"entry","live":false,"entry":{{"id":"{two}#0","parent_id":"{one}","seq":2,"ts":"2026-03-01T08:00:02.250Z","role":"assistant","kind":"message","text":"I look at shelf 2 — “one moment” 🔎.","parsed":true}}}}"#
        ),
        format!(
            r#"{{"type":"entry","live":false,"entry":{{"id":"{three}#0","parent_id":"{two}","seq":3,"ts":"2026-03-01T08:00:03.250Z","role":"assistant","kind":"tool_call","tool":{{"id":"toolu_0001","name":"Bash","title":"Bash","subtitle":"List a shelf","command":"ls shelf/3","input_summary":"ls shelf/3"}},"parsed":true}}}}"#
        ),
        format!(
            r#"{{"type":"entry","live":false,"entry":{{"id":"{four}#0","parent_id":"{three}","seq":4,"ts":"2026-03-01T08:00:04.250Z","role":"user","kind":"tool_result","result":{{"for_id":"toolu_0001","ok":true,"output_summary":"book-4.txt\nbox"}},"parsed":true}}}}"#
        ),
        r#"{"type":"backlog_complete","count":4,"has_more":false}"#.to_owned(),
    ];
    assert_eq!(raw, expected);
    assert_eq!(Shape::of(&raw[1]).unwrap().fields(), ["type", "live", "entry"]);
}

#[test]
fn a_long_conversation_opens_with_its_newest_page() {
    let mut scene = Scene::with_entries(1_025);
    let client = scene.world.watch(PANE);
    let frames = scene.world.fresh(client);
    let hello = frames.only("hello");
    assert_eq!(
        (hello.number("backlog_count"), hello.number("total"), hello.number("oldest_loaded_seq")),
        (150, 1_025, 876)
    );
    assert_eq!(frames.seqs(), (876..=1_025).collect::<Vec<_>>());
    assert_eq!(frames.last().unwrap().raw, r#"{"type":"backlog_complete","count":150,"has_more":true}"#);
    scene.world.finish();
}

#[test]
fn a_page_that_is_exactly_full_has_nothing_older() {
    for (entries, oldest, older) in [(149, 1, false), (150, 1, false), (151, 2, true)] {
        let mut scene = Scene::with_entries(entries);
        let client = scene.world.watch(PANE);
        let frames = scene.world.fresh(client);
        let hello = &frames.only("hello").json;
        assert_eq!((&hello["oldest_loaded_seq"], &hello["has_older"]), (&oldest.into(), &older.into()), "{entries}");
        assert_eq!(hello["has_more"], hello["has_older"]);
    }
}

#[test]
fn a_file_without_entries_opens_empty() {
    let mut scene = Scene::with_entries(0);
    let bookkeeping = scene.agent.bookkeeping();
    scene.append(&bookkeeping);
    let client = scene.world.watch(PANE);
    let frames = scene.world.fresh(client);
    assert_eq!(frames.kinds(), ["hello", "backlog_complete"]);
    assert_eq!((frames[0].number("total"), frames[0].number("oldest_loaded_seq")), (0, 0));
    assert_eq!(frames[1].raw, r#"{"type":"backlog_complete","count":0,"has_more":false}"#);
    scene.talk(1);
    assert_eq!(scene.polled(client).seqs(), [1]);
}

#[test]
fn a_file_that_appears_later_streams_in_from_its_first_entry() {
    let mut scene = Scene::without_file(config());
    let client = scene.world.watch(PANE);
    let frames = scene.world.fresh(client);
    assert_eq!(frames.kinds(), ["hello", "backlog_complete"]);
    assert_eq!((frames[0].number("total"), frames[0].json["session_id"].as_str()), (0, Some(SESSION)));
    scene.world.advance(Duration::from_secs(5));
    assert!(scene.world.fresh(client).is_empty());
    scene.talk(3);
    scene.world.advance(Duration::from_secs(3));
    let frames = scene.world.fresh(client);
    assert_eq!((frames.kinds(), frames.seqs()), (vec!["live", "live", "live"], vec![1, 2, 3]));
    scene.world.finish();
}

#[test]
fn a_neighbours_file_is_never_shown_when_the_session_is_known() {
    let mut scene = Scene::without_file(config());
    scene.next_session(7);
    let client = scene.world.watch(PANE);
    assert_eq!(scene.world.fresh(client).only("hello").number("total"), 0);
}

#[test]
fn the_directory_is_found_as_the_contract_says_as_claude_code_does_and_by_the_session() {
    let cwd = "/home/u/my_app.v2";
    for directory in ["-home-u-my_app-v2", "-home-u-my-app-v2", "somewhere-else"] {
        let mut scene = Scene::without_file(config());
        scene.world.herdr.pane(PANE).unwrap().cwd = Some(cwd.into());
        scene.path = format!("/home/u/.claude/projects/{directory}/{SESSION}.jsonl");
        scene.talk(2);
        let client = scene.world.watch(PANE);
        assert_eq!(scene.world.fresh(client).only("hello").number("total"), 2, "{directory}");
    }
}

#[test]
fn entries_that_arrive_while_the_newest_page_is_sent_come_after_it() {
    let mut scene = Scene::with_entries(150);
    let slow = Speed::Slow { bytes: 4_096, every: Duration::from_millis(100) };
    let target = format!("/agent-transcript?pane={PANE}&token={TOKEN}");
    let client = scene.world.ask(&Ask::socket(&target).at(slow));
    scene.world.advance(Duration::from_millis(300));
    assert!(!scene.world.client(client).received().kinds().contains(&"backlog_complete"));
    scene.talk(2);
    scene.world.advance(Duration::from_secs(10));
    let frames = scene.world.fresh(client);
    assert_eq!(frames.kinds()[151..], ["backlog_complete", "live", "live"]);
    assert_eq!(frames.seqs(), (1..=152).collect::<Vec<_>>());
    scene.world.finish();
}

#[test]
fn short_and_slow_reads_change_nothing_that_a_client_sees() {
    let raw = |effect: Option<Effect>| {
        let mut scene = Scene::with_entries(160);
        effect.into_iter().for_each(|effect| scene.world.disk.spoil(OpKind::Read, "", effect));
        let client = scene.world.watch(PANE);
        scene.world.advance(Duration::from_secs(30));
        let raw: Vec<String> = scene.world.fresh(client).into_iter().map(|frame| frame.raw).collect();
        scene.world.finish();
        raw
    };
    let expected = raw(None);
    assert_eq!(expected.len(), 152);
    assert_eq!(raw(Some(Effect::Short(777))), expected);
    assert_eq!(raw(Some(Effect::Slow(Duration::from_millis(300)))), expected);
}
