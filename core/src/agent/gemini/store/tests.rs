use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::ops::ControlFlow;

use super::*;
use crate::agent::spooled::SpoolReader;
use crate::agent::{AgentKind, Line, Reader as _};
use crate::entry::caps::Caps;
use crate::entry::{Body, Entry};
use crate::ids::SessionId;
use crate::limits::OVERLAP_BYTES;
use crate::pane::simulated::{World, at};
use crate::source::lines::LineSplitter;
use crate::source::spool::{Feed, path_of};
use crate::time::UnixMillis;

pub(super) const FILE: &str = "/g/tmp/p/chats/session-2026-06-08T11-00-0a1b2c3d.json";

fn stored() -> Stored {
    Stored {
        kind: AgentKind::Gemini,
        session: SessionId::from("s"),
        path: FILE.into(),
        under: "/g/tmp".into(),
        exists: true,
        directory: None,
    }
}

/// A session and the spool that it is fed into.
pub(super) struct Fed {
    pub(super) world: World,
    pub(super) feed: Feed,
}

impl Fed {
    pub(super) fn new() -> Self {
        Self { world: World::new(), feed: feed() }
    }

    /// The file is this from now on, and is looked at: at once, and when it has been quiet for long enough.
    pub(super) fn put(&mut self, text: &str, written_ms: u64) -> Vec<String> {
        self.world.put(FILE, text, at(written_ms).wall.0);
        self.look(written_ms)
    }

    pub(super) fn look(&mut self, now_ms: u64) -> Vec<String> {
        for _ in 0..3 {
            self.feed.look(at(now_ms));
            self.world.drive(at(now_ms), &mut self.feed);
        }
        self.shown()
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        let bytes = self.world.content(&path_of("/state", "gemini", &SessionId::from("s"))).unwrap_or_default();
        let mut entries = Vec::new();
        let mut lines = LineSplitter::new(0, 8 << 20);
        let _ = lines.push(&bytes, |line: Line<'_>| {
            SpoolReader.read(&line, &Caps::NONE, &mut |entry| entries.push(entry));
            ControlFlow::<()>::Continue(())
        });
        entries
    }

    fn shown(&self) -> Vec<String> {
        self.entries().iter().map(shown).collect()
    }
}

pub(super) fn feed() -> Feed {
    let spool = Spool::new("/state", "gemini", &SessionId::from("s"));
    Feed::new(spool, Box::new(Store::new(&stored())))
}

fn shown(entry: &Entry) -> String {
    match &entry.body {
        Body::Message(text) | Body::Thinking(text) | Body::Attachment(text) => {
            text.text.lines().next().unwrap_or_default().into()
        }
        Body::ToolCall(call) => format!("call {}", call.id),
        Body::ToolResult(result) => format!("result {} {}", result.for_id, result.ok),
    }
}

fn document(messages: &[&str]) -> String {
    format!("{{\n \"sessionId\": \"s\",\n \"messages\": [{}]\n}}", messages.join(",\n"))
}

fn message(id: &str, second: u32, rest: &str) -> String {
    format!(r#"{{"id":"{id}","timestamp":"2026-06-08T11:00:{second:02}Z",{rest}}}"#)
}

const CALL: &str = r#""id":"c1","name":"run_shell_command","args":{"command":"ls"}"#;
const TOKENS: &str = r#","tokens":{"total":3}"#;

fn asked() -> String {
    message("u1", 1, r#""type":"user","content":"list it""#)
}

fn reply(rest: &str) -> String {
    message("g1", 2, &format!(r#""type":"gemini","content":"I look.",{rest}"model":"m""#))
}

fn with_call(state: &str) -> String {
    reply(&format!(r#""toolCalls":[{{{CALL},{state}}}],"#))
}

#[test]
fn a_file_that_is_empty_for_a_moment_takes_nothing_back() {
    let mut fed = Fed::new();
    assert_eq!(fed.put(&document(&[&asked()]), 1_000), ["list it"]);
    assert_eq!(fed.put("", 2_000), ["list it"]);
    assert_eq!(fed.look(20_000), ["list it"]);
    let more = message("u2", 9, r#""type":"user","content":"and then""#);
    assert_eq!(fed.put(&document(&[&asked(), &more]), 21_000), ["list it", "and then"]);
}

#[test]
fn a_document_that_is_resumed_as_a_log_goes_on_there() {
    let mut fed = Fed::new();
    assert_eq!(fed.put(&document(&[&asked()]), 1_000), ["list it"]);
    let more = message("u2", 9, r#""type":"user","content":"and then""#);
    let log = [r#"{"sessionId":"s","projectHash":"h"}"#, &asked(), &more, ""].join("\n");
    fed.world.put(&format!("{FILE}l"), &log, at(5_000).wall.0);
    assert_eq!(fed.look(5_000), ["list it", "and then"]);
    // And back, should that be written last.
    let last = message("u3", 12, r#""type":"user","content":"back""#);
    assert_eq!(fed.put(&document(&[&asked(), &more, &last]), 9_000), ["list it", "and then", "back"]);
}

#[test]
fn a_text_a_call_and_its_answer_come_once_each_however_often_the_file_is_written() {
    let mut fed = Fed::new();
    assert_eq!(fed.put(&document(&[&asked()]), 10_000), ["list it"]);
    assert_eq!(fed.put(&document(&[&asked(), &reply("")]), 11_000), ["list it"]);
    let waiting = with_call(r#""status":"awaiting_approval""#);
    assert_eq!(fed.put(&document(&[&asked(), &waiting]), 12_000), ["list it"]);
    // Somebody is asked: what is there by now is shown.
    assert_eq!(fed.look(14_999), ["list it"]);
    assert_eq!(fed.look(15_000), ["list it", "I look.", "call c1"]);
    let answer = r#""status":"success","result":[{"functionResponse":{"id":"c1","response":{"output":"a"}}}]"#;
    let all = ["list it", "I look.", "call c1", "result c1 true"];
    assert_eq!(fed.put(&document(&[&asked(), &with_call(answer)]), 20_000), all);
    let next = message("g2", 4, &format!(r#""type":"gemini","content":"Done."{TOKENS}"#));
    let done = ["list it", "I look.", "call c1", "result c1 true", "Done."];
    assert_eq!(fed.put(&document(&[&asked(), &with_call(answer), &next]), 21_000), done);
    assert_eq!(fed.look(60_000), done);
    // A daemon that is started again knows what it has shown.
    fed.feed = feed();
    assert_eq!(fed.look(61_000), done);
}

#[test]
fn each_of_the_three_signs_settles_a_reply() {
    let tokens = message("g1", 2, &format!(r#""type":"gemini","content":"one"{TOKENS}"#));
    assert_eq!(Fed::new().put(&document(&[&asked(), &tokens]), 10_000), ["list it", "one"]);
    let plain = message("g1", 2, r#""type":"gemini","content":"one""#);
    let later = message("i1", 3, r#""type":"info","content":"two""#);
    assert_eq!(Fed::new().put(&document(&[&asked(), &plain, &later]), 10_000), ["list it", "one", "two"]);
    let mut quiet = Fed::new();
    assert_eq!(quiet.put(&document(&[&asked(), &plain]), 10_000), ["list it"]);
    assert_eq!(quiet.look(13_000), ["list it", "one"]);
    // A call that runs holds its reply, tokens or not.
    let running = message(
        "g1",
        2,
        &format!(r#""type":"gemini","content":"one","toolCalls":[{{{CALL},"status":"executing"}}]{TOKENS}"#),
    );
    assert_eq!(Fed::new().put(&document(&[&asked(), &running]), 10_000), ["list it"]);
}

#[test]
fn a_file_of_another_clock_is_quiet_by_our_own() {
    let plain = document(&[&asked(), &message("g1", 2, r#""type":"gemini","content":"one""#)]);
    let mut fed = Fed::new();
    // An hour ahead.
    fed.world.put(FILE, &plain, at(3_610_000).wall.0);
    assert_eq!(fed.look(10_000), ["list it"]);
    assert_eq!(fed.look(12_999), ["list it"]);
    assert_eq!(fed.look(13_000), ["list it", "one"]);
    // Our own is set back by an hour when the file was read.
    let mut fed = Fed::new();
    assert_eq!(fed.put(&plain, 10_000), ["list it"]);
    let set_back = |millis| Now { wall: UnixMillis(at(millis).wall.0 - 3_600_000), ..at(millis) };
    for (millis, expected) in [(12_999, &["list it"][..]), (13_000, &["list it", "one"])] {
        fed.feed.look(set_back(millis));
        fed.world.drive(set_back(millis), &mut fed.feed);
        assert_eq!(fed.shown(), expected);
    }
}

#[test]
fn going_back_adds_a_note_and_removes_nothing() {
    let (a, b) = (message("a", 1, r#""type":"user","content":"a""#), message("b", 2, r#""type":"user","content":"b""#));
    let c = message("c", 3, r#""type":"user","content":"c""#);
    let note = "The conversation went back: the last message before is not part of it any more.";
    let mut log = Fed::new();
    log.put(&[a.as_str(), &b, ""].join("\n"), 10_000);
    assert_eq!(log.put(&[a.as_str(), &b, r#"{"$rewindTo":"b"}"#, &c, ""].join("\n"), 20_000), ["a", "b", note, "c"]);
    log.feed = feed();
    assert_eq!(log.look(30_000), ["a", "b", note, "c"]);

    let mut written_anew = Fed::new();
    written_anew.put(&document(&[&a, &b]), 10_000);
    assert_eq!(written_anew.put(&document(&[&a]), 20_000), ["a", "b", note]);
    assert_eq!(written_anew.put(&document(&[&a, &c]), 21_000), ["a", "b", note, "c"]);
    assert_eq!(written_anew.look(22_000), ["a", "b", note, "c"]);
    // The same, seen by a daemon that was started again in between.
    let mut away = Fed::new();
    away.put(&document(&[&a, &b]), 10_000);
    away.feed = feed();
    assert_eq!(away.put(&document(&[&a, &c]), 20_000), ["a", "b", render::REWOUND, "c"]);
    away.feed = feed();
    assert_eq!(away.look(30_000), ["a", "b", render::REWOUND, "c"]);
}

#[test]
fn a_document_that_is_written_at_this_moment_is_waited_for() {
    let whole = document(&[&asked()]);
    let mut fed = Fed::new();
    assert_eq!(fed.put(&whole[..30], 10_000), Vec::<String>::new());
    assert_eq!(fed.put(&whole, 10_100), ["list it"]);
    let mut torn = Fed::new();
    torn.put(&whole[..30], 10_000);
    let shown = torn.look(13_000);
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert!(shown[0].starts_with("unreadable document (30 bytes)"), "{shown:?}");
    assert_eq!(torn.put(&whole, 14_000).last().map(String::as_str), Some("list it"));
}

#[test]
fn a_session_that_goes_on_as_a_log_repeats_nothing() {
    let mut fed = Fed::new();
    let said = message("g1", 2, &format!(r#""type":"gemini","content":"one"{TOKENS}"#));
    fed.put(&document(&[&asked(), &said]), 10_000);
    let more = message("u2", 9, r#""type":"user","content":"two""#);
    let log = [r#"{"sessionId":"s","projectHash":"h"}"#, &asked(), &said, &more, ""].join("\n");
    assert_eq!(fed.put(&log, 20_000), ["list it", "one", "two"]);
}

#[test]
fn what_is_fed_in_pieces_is_what_is_read_whole() {
    let answer = r#""status":"error","result":[{"functionResponse":{"id":"c1","response":{"error":"no"}}}]"#;
    let lines = [
        r#"{"sessionId":"s","projectHash":"h"}"#.to_string(),
        asked(),
        with_call(r#""status":"scheduled""#),
        with_call(answer),
        "{torn".into(),
        r#"{"$set":{"summary":"x"}}"#.into(),
        message("g2", 5, r#""type":"gemini","content":"two","thoughts":[{"subject":"s","description":"d"}]"#),
        r#"{"$rewindTo":"g2"}"#.into(),
        message("x", 6, r#""type":"hologram","content":"three""#),
        message("u9", 7, r#""type":"user","content":"four""#),
    ];
    let text = lines.join("\n") + "\n";
    let mut whole = Vec::new();
    crate::agent::gemini::read_whole(text.as_bytes(), &mut |entry| whole.push(entry));
    let by_id = |entries: &[Entry]| {
        let mut entries: Vec<String> = entries.iter().map(|entry| format!("{} {}", entry.id, shown(entry))).collect();
        entries.sort();
        entries
    };
    for step in [1, 7, 50, text.len()] {
        let mut fed = Fed::new();
        let mut now = 10_000;
        let mut before = Vec::new();
        // One byte alone may be the beginning of either form.
        for end in (step.max(2)..text.len()).step_by(step).chain([text.len()]) {
            fed.put(&text[..end], now);
            now += 5_000;
            let shown = fed.look(now);
            assert_eq!(shown[..before.len()], before, "{end}");
            before = shown;
        }
        assert_eq!(by_id(&fed.entries()), by_id(&whole), "{step}");
    }
}

#[test]
fn of_a_log_only_what_is_new_is_read_and_an_answer_may_come_late() {
    let mut fed = Fed::new();
    let meta = r#"{"sessionId":"s","projectHash":"h"}"#.to_string();
    let told = (0..400).map(|n| message(&format!("i{n}"), 3, r#""type":"info","content":"still at it""#));
    let lines: Vec<String> =
        [meta, asked(), with_call(r#""status":"executing""#)].into_iter().chain(told).map(|line| line + "\n").collect();
    let before = lines.concat();
    assert_eq!(fed.put(&before, 10_000).len(), 403);
    fed.world.log.clear();
    let answer = r#""status":"success","result":[{"functionResponse":{"id":"c1","response":{"output":"a"}}}]"#;
    let shown = fed.put(&format!("{before}{}\n", with_call(answer)), 11_000);
    assert_eq!((shown.len(), shown.last().map(String::as_str)), (404, Some("result c1 true")));
    let wanted = fed.world.log.iter().map(|op| if let Op::Read { len, .. } = op { *len } else { 0 });
    assert_eq!(wanted.sum::<usize>(), OVERLAP_BYTES + with_call(answer).len() + 1);
}

#[test]
fn a_document_on_one_line_that_is_half_written_takes_nothing_back() {
    let compact = |messages: &[&str]| format!("{{\"sessionId\":\"s\",\"messages\":[{}]}}", messages.join(","));
    let mut fed = Fed::new();
    assert_eq!(fed.put(&compact(&[&asked()]), 10_000), ["list it"]);
    let next = message("u2", 9, r#""type":"user","content":"and then""#);
    let whole = compact(&[&asked(), &next]);
    for (cut, at_ms) in [(3, 11_000), (30, 11_100), (90, 11_200), (whole.len() - 1, 11_300)] {
        assert_eq!(fed.put(&whole[..cut], at_ms), ["list it"], "{cut}");
    }
    assert_eq!(fed.put(&whole, 12_000), ["list it", "and then"]);
    assert_eq!(fed.look(30_000), ["list it", "and then"]);
}

#[test]
fn a_document_that_is_replaced_by_a_shorter_one_shows_what_is_new_in_it() {
    let user = |id: &str, second: u32| message(id, second, &format!(r#""type":"user","content":"{id}""#));
    let (a, b, c, d) = (user("a", 1), user("b", 7), user("c", 9), user("d", 3));
    let gone = |dropped: usize| render::rewound(dropped);
    let mut fed = Fed::new();
    assert_eq!(fed.put(&document(&[&a, &b, &c]), 10_000), ["a", "b", "c"]);
    // What is new in it is older than what was there.
    let shown = fed.put(&document(&[&a, &d]), 11_000);
    assert_eq!(shown, ["a", "b", "c", gone(2).as_str(), "d"]);
    assert_eq!(fed.put(&document(&[&d]), 12_000), ["a", "b", "c", gone(2).as_str(), "d", gone(1).as_str()]);
    let all = fed.look(60_000);
    fed.feed = feed();
    assert_eq!(fed.look(61_000), all);
    // No message has a time, and two of them change their places.
    let untimed = |id: &str| format!(r#"{{"id":"{id}","type":"user","content":"{id}"}}"#);
    let (x, y, z) = (untimed("x"), untimed("y"), untimed("z"));
    let mut fed = Fed::new();
    assert_eq!(fed.put(&document(&[&z, &x]), 10_000), ["z", "x"]);
    assert_eq!(fed.put(&document(&[&x, &y]), 11_000), ["z", "x", gone(1).as_str(), "y"]);
    fed.feed = feed();
    assert_eq!(fed.look(21_000), ["z", "x", gone(1).as_str(), "y"]);
}

#[test]
fn a_log_that_is_written_anew_repeats_nothing_and_takes_nothing_back_before_it_is_quiet() {
    let user = |id: &str, second: u32| message(id, second, &format!(r#""type":"user","content":"{id}""#)) + "\n";
    let meta = "{\"sessionId\":\"s\",\"projectHash\":\"h\"}\n";
    let log = |users: &[String]| format!("{meta}{}", users.concat());
    let (a, b, c) = (user("a", 1), user("b", 2), user("c", 3));
    let mut fed = Fed::new();
    assert_eq!(fed.put(&log(&[a.clone(), b.clone()]), 10_000), ["a", "b"]);
    // It is cut and written again.
    assert_eq!(fed.put(&log(core::slice::from_ref(&a)), 11_000), ["a", "b"]);
    assert_eq!(fed.put(&log(&[a.clone(), b.clone()]), 12_000), ["a", "b"]);
    assert_eq!(fed.look(30_000), ["a", "b"]);
    // The same, longer than before, and other bytes from the beginning on.
    let longer = format!("{}{}", meta.replace('h', "another hash"), [a.clone(), b, c].concat());
    assert_eq!(fed.put(&longer, 31_000), ["a", "b", "c"]);
    // It stays short.
    assert_eq!(fed.put(&log(&[a]), 40_000), ["a", "b", "c"]);
    assert_eq!(fed.look(43_000), ["a", "b", "c", render::rewound(2).as_str()]);
    assert_eq!(fed.look(60_000).len(), 4);
}

#[test]
fn two_records_on_one_line_are_two() {
    let user = |id: &str| message(id, 1, &format!(r#""type":"user","content":"{id}""#));
    let text = format!("{{\"sessionId\":\"s\"}}{}{}\n{}\n", user("a"), user("b"), user("c"));
    assert_eq!(Fed::new().put(&text, 10_000), ["a", "b", "c"]);
}

#[test]
fn more_than_is_held_at_once_is_shown_in_order_and_once() {
    let long = "x".repeat(1 << 20);
    let messages: Vec<String> =
        (0..20).map(|n| message(&format!("m{n}"), n, &format!(r#""type":"gemini","content":"{n} {long}""#))).collect();
    let lines: Vec<&str> = messages.iter().map(String::as_str).collect();
    let numbers = |fed: &Fed| -> Vec<String> {
        fed.shown().iter().map(|text| text.split(' ').next().unwrap_or_default().to_string()).collect()
    };
    let expected: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    for text in [document(&lines), lines.join("\n") + "\n"] {
        let mut fed = Fed::new();
        fed.put(&text, 1_000);
        fed.look(60_000);
        assert_eq!(numbers(&fed), expected);
    }
}

#[test]
fn calls_that_are_written_long_after_the_text_of_their_reply_are_shown() {
    let mut fed = Fed::new();
    let said = reply(r#""tokens":{"total":3},"#);
    assert_eq!(fed.put(&document(&[&asked(), &said]), 10_000), ["list it", "I look."]);
    assert_eq!(fed.look(70_000), ["list it", "I look."]);
    let answer = r#""status":"success","result":[{"functionResponse":{"id":"c1","response":{"output":"a"}}}]"#;
    let all = ["list it", "I look.", "call c1", "result c1 true"];
    assert_eq!(fed.put(&document(&[&asked(), &with_call(answer)]), 80_000), all);
    fed.feed = feed();
    assert_eq!(fed.look(81_000), all);
    // The reply is taken back while nobody looks.
    fed.feed = feed();
    assert_eq!(fed.put(&document(&[&asked()]), 90_000).last().map(String::as_str), Some(render::REWOUND));
}
