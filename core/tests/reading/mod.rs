//! Reading lines in tests.
#![allow(dead_code, reason = "each test file uses some of it")]
#![expect(clippy::panic, reason = "tests")]

use panewire_core::agent::claude::{ClaudeReader, Selection};
use panewire_core::agent::{Caps, Line, Reader as _};
use panewire_core::entry::{Body, Entry, Role, Text, ToolCall, ToolResult};

/// The entries of some lines of a session's own file.
pub(crate) fn read(lines: &str) -> Vec<Entry> {
    read_as(Selection::Main, lines.as_bytes(), &Caps::WIRE)
}

/// The only entry of some lines.
pub(crate) fn read_one(lines: &str) -> Entry {
    let mut entries = read(lines);
    assert_eq!(entries.len(), 1, "{entries:#?}");
    entries.remove(0)
}

/// The entries of some lines.
pub(crate) fn read_as(selection: Selection, bytes: &[u8], caps: &Caps) -> Vec<Entry> {
    let reader = ClaudeReader { selection };
    let mut entries = Vec::new();
    let mut offset = 0;
    for bytes in bytes.split(|&byte| byte == b'\n') {
        let line = Line { offset, bytes, over_cap: None };
        let before = entries.len();
        reader.read(&line, caps, &mut |entry| entries.push(entry));
        assert_eq!(reader.count(&line), (entries.len() - before) as u64);
        offset += bytes.len() as u64 + 1;
    }
    entries
}

/// Who said what, as a short table.
pub(crate) fn said(entries: &[Entry]) -> Vec<(Role, &str)> {
    entries.iter().map(|entry| (entry.role, text(entry))).collect()
}

/// The text of an entry; of a call its name, of an answer its output.
pub(crate) fn text(entry: &Entry) -> &str {
    match &entry.body {
        Body::Message(text) | Body::Thinking(text) | Body::Attachment(text) => &text.text,
        Body::ToolCall(call) => &call.name,
        Body::ToolResult(result) => result.output_summary.as_deref().unwrap_or_default(),
    }
}

/// The call of an entry.
pub(crate) fn call(entry: &Entry) -> &ToolCall {
    let Body::ToolCall(call) = &entry.body else { panic!("no call: {entry:?}") };
    call
}

/// The answer of an entry.
pub(crate) fn answer(entry: &Entry) -> &ToolResult {
    let Body::ToolResult(result) = &entry.body else { panic!("no answer: {entry:?}") };
    result
}

/// A text that is not cut.
pub(crate) fn whole(text: &str) -> Text {
    Text { text: text.into(), truncated: false }
}
