use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde_json::Value;

use super::{OPENING_STEPS, SCRIPT, Scene, uuid};
use crate::agent::claude::{ClaudeReader, Selection, recorded};
use crate::agent::{Caps, Line, Reader as _};
use crate::entry::{Body, Entry, Role};
use crate::ids::SessionId;
use crate::time::UnixMillis;

const NOW: UnixMillis = UnixMillis(1_788_600_000_000);

fn round(scene: &mut Scene) -> Vec<String> {
    let mut lines = alloc::vec![scene.next_line(NOW)];
    while !scene.is_at_start() {
        lines.push(scene.next_line(NOW));
    }
    lines
}

fn entries(lines: &[String]) -> Vec<Entry> {
    let reader = ClaudeReader { selection: Selection::Main };
    let mut entries = Vec::new();
    for line in lines {
        let line = Line { offset: 0, bytes: line.trim_end().as_bytes(), over_cap: None };
        let before = entries.len();
        reader.read(&line, &Caps::WIRE, &mut |entry| entries.push(entry));
        assert_eq!((entries.len() - before) as u64, reader.count(&line));
    }
    entries
}

fn kind(entry: &Entry) -> (Role, &'static str) {
    let kind = match &entry.body {
        Body::Message(_) => "message",
        Body::Thinking(_) => "thinking",
        Body::ToolCall(_) => "call",
        Body::ToolResult(result) if result.ok => "result",
        Body::ToolResult(_) => "failure",
        Body::Attachment(_) => "attachment",
    };
    (entry.role, kind)
}

#[test]
fn the_reader_knows_every_line() {
    use Role::{Assistant, System, User};
    let entries = entries(&round(&mut Scene::new(SessionId::from("s"))));
    assert!(entries.iter().all(|entry| entry.parsed), "{entries:?}");
    let kinds: Vec<_> = entries.iter().map(kind).collect();
    let expected = [
        (User, "message"),
        (Assistant, "thinking"),
        (Assistant, "message"),
        (Assistant, "call"),
        (User, "result"),
        (Assistant, "call"),
        (User, "result"),
        (Assistant, "message"),
        (Assistant, "call"),
        (User, "result"),
        (Assistant, "call"),
        (User, "result"),
        (Assistant, "thinking"),
        (Assistant, "call"),
        (User, "failure"),
        (System, "message"),
        (User, "message"),
        (User, "attachment"),
        (Assistant, "message"),
        (Assistant, "call"),
        (User, "message"),
        (User, "failure"),
        (Assistant, "message"),
        (User, "message"),
        (System, "message"),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn every_call_is_answered_once() {
    let entries = entries(&round(&mut Scene::new(SessionId::from("s"))));
    let calls: Vec<_> = entries
        .iter()
        .filter_map(|entry| if let Body::ToolCall(call) = &entry.body { Some(call.id.clone()) } else { None })
        .collect();
    let answers: Vec<_> = entries
        .iter()
        .filter_map(|entry| if let Body::ToolResult(result) = &entry.body { Some(result.for_id.clone()) } else { None })
        .collect();
    assert_eq!(calls, answers);
    assert_eq!(calls.len(), 6);
}

#[test]
fn the_edit_shows_a_diff() {
    let entries = entries(&round(&mut Scene::new(SessionId::from("s"))));
    let Body::ToolResult(edit) = &entries[9].body else { panic!() };
    let diff = edit.diff.as_deref().unwrap();
    assert!(diff.contains("@@ -86,4 +86,5 @@"), "{diff}");
    assert!(diff.contains("+        self.given = self.end();"), "{diff}");
}

#[test]
fn no_record_repeats_a_uuid_and_each_follows_the_one_before() {
    let mut scene = Scene::new(SessionId::from("s"));
    let mut lines = round(&mut scene);
    lines.extend(round(&mut scene));
    assert_eq!(lines.len(), 2 * SCRIPT.len());
    let mut seen = BTreeSet::new();
    let mut parent = Value::Null;
    for line in &lines {
        assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
        let record: Value = serde_json::from_str(line).unwrap();
        assert_eq!(record["parentUuid"], parent);
        assert_eq!((&record["sessionId"], &record["timestamp"]), (&"s".into(), &"2026-09-05T09:20:00.000Z".into()));
        assert!(seen.insert(record["uuid"].to_string()), "{line}");
        parent = record["uuid"].clone();
    }
}

#[test]
fn the_opening_has_just_happened() {
    let opening = Scene::new(SessionId::from("s")).opening(NOW);
    let stamps: Vec<String> = opening
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["timestamp"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(stamps.len(), OPENING_STEPS);
    assert_eq!((stamps[0].as_str(), stamps[11].as_str()), ("2026-09-05T09:19:43.500Z", "2026-09-05T09:20:00.000Z"));
    let recorded = recorded(opening.as_bytes());
    assert_eq!(recorded.cwd.as_deref(), Some("/home/demo/panewire"));
    assert!(recorded.conversation);
}

#[test]
fn ids_have_the_form_of_random_uuids() {
    assert_eq!(uuid("").as_str(), "e3b0c442-98fc-4c14-9afb-f4c8996fb924");
    assert_ne!(uuid("a"), uuid("b"));
}
