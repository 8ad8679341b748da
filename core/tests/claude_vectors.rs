//! Ten short conversations, one for each era and feature: what a person sees of them.

#![expect(clippy::unwrap_used, reason = "tests")]

mod reading;

use std::fmt::Write as _;

use panewire_core::agent::Caps;
use panewire_core::agent::claude::{RULES_VERSION, Selection};
use panewire_core::entry::{Body, Entry, Role};
use reading::read_as;

macro_rules! vectors {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_bytes!(concat!("vectors/claude/", $name, ".jsonl")))),*]
    };
}

const VECTORS: &[(&str, &[u8])] = vectors![
    "era-1-0-with-a-child-inside",
    "era-2-0-tools-and-progress",
    "era-2-1-modern-bookkeeping",
    "commands-and-shell-lines",
    "compaction",
    "background-work",
    "refusals-and-failures",
    "questions-plans-and-lists",
    "damaged",
    "things-of-tomorrow",
];

/// Entries of each vector as a session's own file and as a child's, under [`RULES_VERSION`] 1.
const COUNTS: &[(&str, usize, usize)] = &[
    ("era-1-0-with-a-child-inside", 8, 10),
    ("era-2-0-tools-and-progress", 12, 12),
    ("era-2-1-modern-bookkeeping", 9, 9),
    ("commands-and-shell-lines", 12, 12),
    ("compaction", 8, 8),
    ("background-work", 11, 11),
    ("refusals-and-failures", 14, 14),
    ("questions-plans-and-lists", 16, 16),
    ("damaged", 11, 11),
    ("things-of-tomorrow", 8, 8),
];

#[test]
fn conversations_read_as_they_were() {
    for (name, bytes) in VECTORS {
        let mut page = String::new();
        for entry in read_as(Selection::Main, bytes, &Caps::WIRE) {
            show(&mut page, &entry);
        }
        insta::assert_snapshot!(*name, page);
    }
}

/// Clients resume by seq, so a count that moves must be seen: raise `RULES_VERSION` and write the new table down.
#[test]
fn counts_move_only_with_the_version_of_the_rules() {
    let counts: Vec<(&str, usize, usize)> = VECTORS
        .iter()
        .map(|(name, bytes)| {
            let count = |selection| read_as(selection, bytes, &Caps::WIRE).len();
            (*name, count(Selection::Main), count(Selection::Child))
        })
        .collect();
    assert_eq!((RULES_VERSION, counts.as_slice()), (1, COUNTS));
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
