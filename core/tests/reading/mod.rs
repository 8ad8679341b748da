//! Reading lines in tests.
#![allow(dead_code, reason = "each test file uses some of it")]
#![expect(clippy::panic, clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::ops::ControlFlow;

use panewire_core::agent::claude::{ClaudeReader, Selection};
use panewire_core::agent::{Caps, Line, Reader, State};
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
    read_with(&ClaudeReader { selection }, bytes, caps)
}

/// The entries of some lines, by any reader.
pub(crate) fn read_with(reader: &dyn Reader, bytes: &[u8], caps: &Caps) -> Vec<Entry> {
    let (mut entries, mut state, mut offset) = (Vec::new(), State::default(), 0);
    for bytes in bytes.split(|&byte| byte == b'\n') {
        let line = Line { offset, bytes, over_cap: None };
        let before = entries.len();
        reader.read_after(&state, &line, caps, 0, &mut |entry| {
            entries.push(entry);
            ControlFlow::Continue(())
        });
        assert_eq!(reader.counted_after(&mut state, &line).entries, (entries.len() - before) as u64);
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

/// A conversation as a person sees it.
pub(crate) fn page(entries: &[Entry]) -> String {
    let mut page = String::new();
    for entry in entries {
        show(&mut page, entry);
    }
    page
}

/// An entry as a few lines.
fn show(page: &mut String, entry: &Entry) {
    let role = match entry.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
    };
    let mark = if entry.parsed { "" } else { " (not parsed)" };
    let mut put = |kind: &str, rows: &[(&str, Option<&str>)]| {
        writeln!(page, "{} {role} {kind}{mark}", entry.id).unwrap();
        for (label, text) in rows {
            for (index, line) in text.iter().flat_map(|text| text.lines()).enumerate() {
                writeln!(page, "    {:9} {line}", if index == 0 { label } else { "" }).unwrap();
            }
        }
    };
    match &entry.body {
        Body::Message(text) => put("message", &[("text", Some(&text.text))]),
        Body::Thinking(text) => put("thinking", &[("text", Some(&text.text))]),
        Body::Attachment(text) => put("attachment", &[("text", Some(&text.text))]),
        Body::ToolCall(call) => put(
            &format!("call {} {}", call.id, call.name),
            &[
                ("title", call.title.as_deref()),
                ("subtitle", call.subtitle.as_deref()),
                ("command", call.command.as_deref()),
                ("file", call.file.as_deref()),
                ("summary", call.input_summary.as_deref()),
                ("diff", call.diff.as_deref()),
            ],
        ),
        Body::ToolResult(result) => put(
            &format!("answer {} {}", result.for_id, if result.ok { "ok" } else { "failed" }),
            &[("output", result.output_summary.as_deref()), ("diff", result.diff.as_deref())],
        ),
    }
}
