//! What holds of any session of Gemini CLI, damaged ones included.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;

use panewire_core::agent::gemini::layout::recorded;
use panewire_core::agent::gemini::read_whole;
use panewire_core::entry::{Body, Entry};
use proptest::prelude::*;

/// A document with everything that one can hold.
const DOCUMENT: &str = r#"{
  "sessionId": "0a1b2c3d-0000-4000-8000-000000000001", "projectHash": "h", "startTime": "2026-06-08T11:00:00Z",
  "messages": [
    {"id":"u1","timestamp":"2026-06-08T11:00:01Z","type":"user","content":[{"text":"Where is "},{"text":"the rake?"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]},
    {"id":"g1","timestamp":"2026-06-08T11:00:02Z","type":"gemini","content":"I look.","model":"m","tokens":{"total":3},
     "thoughts":[{"subject":"Rakes","description":"Where are they?"},{"description":"Hm."}],
     "toolCalls":[
      {"id":"c1","name":"run_shell_command","displayName":"Shell","description":"lists","args":{"command":"ls shed"},"status":"success","result":[{"functionResponse":{"id":"c1","response":{"output":"rake\nExit Code: 0"}}}]},
      {"id":"c2","name":"replace","args":{"file_path":"/w/a.txt","old_string":"a","new_string":"b"},"status":"cancelled","result":[{"functionResponse":{"id":"c2","response":{"error":"no"}}}],"resultDisplay":{"fileDiff":"--- a\n+++ a\n@@ -1 +1 @@\n-a\n+b\n","fileName":"a.txt"}},
      {"id":"c3","name":"glob","args":{"pattern":"*"},"status":"executing"}]},
    {"id":"u2","timestamp":"2026-06-08T11:00:03Z","type":"user","content":[{"functionResponse":{"id":"c1","response":{"output":"rake"}}},{"functionResponse":{"id":"c9","response":{"output":"more"}}}]},
    {"id":"i1","timestamp":"2026-06-08T11:00:04Z","type":"info","content":"Request cancelled."},
    {"id":"e1","timestamp":"2026-06-08T11:00:05Z","type":"error","content":"The line is dead."},
    {"id":"x1","type":"hologram","content":"A new kind."}
  ]
}"#;

fn read(bytes: &[u8]) -> Vec<Entry> {
    let mut entries = Vec::new();
    read_whole(bytes, &mut |entry| entries.push(entry));
    entries
}

fn is_blank(entry: &Entry) -> bool {
    match &entry.body {
        Body::Message(text) | Body::Thinking(text) | Body::Attachment(text) => text.text.trim().is_empty(),
        Body::ToolCall(call) => call.name.trim().is_empty(),
        Body::ToolResult(_) => false,
    }
}

/// The same session as a log.
fn log() -> String {
    let document: serde_json::Value = serde_json::from_str(DOCUMENT).unwrap();
    let messages = document["messages"].as_array().unwrap().iter().map(ToString::to_string);
    let meta = serde_json::json!({"sessionId": document["sessionId"], "projectHash": "h"}).to_string();
    std::iter::once(meta).chain(messages).map(|line| line + "\n").collect()
}

#[test]
fn a_document_and_a_log_of_one_session_are_read_alike() {
    let entries = read(DOCUMENT.as_bytes());
    assert_eq!(entries.len(), 14);
    assert_eq!(read(log().as_bytes()), entries);
    let ids: BTreeSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids.len(), entries.len());
}

proptest! {
    #[test]
    fn damage_costs_no_blank_entry_and_no_panic(at in 0..DOCUMENT.len(), byte: u8, cut in 0..DOCUMENT.len(), as_log: bool) {
        let mut bytes = if as_log { log().into_bytes() } else { DOCUMENT.as_bytes().to_vec() };
        if let Some(place) = bytes.get_mut(at) {
            *place = byte;
        }
        bytes.truncate(bytes.len() - cut / 2);
        for entry in read(&bytes) {
            prop_assert!(!is_blank(&entry), "{entry:?}");
        }
        drop(recorded(&bytes));
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for entry in read(&bytes) {
            prop_assert!(!is_blank(&entry), "{entry:?}");
        }
        drop(recorded(&bytes));
    }

    /// What a log says of a message once it says again, whatever comes behind it.
    #[test]
    fn the_entries_of_a_prefix_are_there_in_the_whole(lines in 1_usize..8) {
        let text = log();
        let prefix: String = text.split_inclusive('\n').take(lines).collect();
        let whole = read(text.as_bytes());
        for (at, entry) in read(prefix.as_bytes()).iter().enumerate() {
            prop_assert_eq!(&whole[at], entry);
        }
    }
}
