//! Every Claude Code file of the corpus, when it is at hand: `PANEWIRE_SHARED=<directory> cargo test`.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test that reads files")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use panewire_core::agent::claude::{ClaudeReader, Selection, recorded};
use panewire_core::agent::{Caps, Line, Reader as _};
use panewire_core::entry::{Body, Entry};
use panewire_core::source::json::{Chars, Piece, Scanner, Token};

/// Files whose unreadable lines are meant to be unreadable, by the end of their names, and why.
const WRONG_ON_PURPOSE: &[(&str, &str)] = &[
    ("test_data/edge_cases.jsonl", "hand-made: bare strings, numbers and lists as lines, messages without content"),
    ("proj-a/0a000000-0000-4000-8000-000000000001.jsonl", "hand-made: a line of prose among the records"),
];

#[test]
fn the_corpus_is_read_without_loss() {
    let Some(files) = corpus() else { return };
    let mut totals = Totals::default();
    for file in &files {
        let before = totals.unparsed.len();
        totals.take(file);
        if let Some((_, reason)) = WRONG_ON_PURPOSE.iter().find(|(end, _)| file.ends_with(end)) {
            println!("{} not parsed in {}: {reason}", totals.unparsed.len() - before, file.display());
            totals.unparsed.truncate(before);
        }
    }
    println!("{} files, {} bytes, {} entries", files.len(), totals.bytes, totals.entries);
    println!("{:>8} {:>8}  record", "records", "entries");
    for (kind, (records, entries)) in &totals.by_kind {
        println!("{records:>8} {entries:>8}  {kind}");
    }
    println!("{} not parsed:", totals.unparsed.len());
    for (place, text) in &totals.unparsed {
        println!("  {place}: {text}");
    }
    assert_eq!(totals.blank, Vec::<String>::new());
    let share = totals.unparsed.len() as f64 / totals.entries as f64;
    assert!(share <= 0.002, "{:.2} % of the entries are not parsed", share * 100.0);
}

#[test]
fn every_string_of_the_corpus_is_the_same_in_pieces_and_one_by_one() {
    let Some(files) = corpus() else { return };
    let mut strings = 0_u64;
    for file in &files {
        for line in std::fs::read(file).unwrap().split(|&byte| byte == b'\n') {
            let mut scanner = Scanner::new(line, 0);
            while let Ok(token) = scanner.step() {
                let (Token::Text(written) | Token::Key(written)) = token else { continue };
                let mut pieces = String::new();
                Chars::new(written).each_piece(|piece| {
                    match piece {
                        Piece::Run(run) => pieces.push_str(run),
                        Piece::Char(char) => pieces.push(char),
                    }
                    ControlFlow::Continue(())
                });
                assert!(Chars::new(written).eq(pieces.chars()), "{}: {pieces}", file.display());
                strings += 1;
            }
        }
    }
    println!("{strings} strings");
    assert!(strings > 0, "there are strings");
}

fn corpus() -> Option<Vec<PathBuf>> {
    let Some(shared) = std::env::var_os("PANEWIRE_SHARED") else {
        println!("skipped: PANEWIRE_SHARED names no directory with a corpus");
        return None;
    };
    let mut files = Vec::new();
    collect(&Path::new(&shared).join("corpus/claude"), &mut files);
    files.sort();
    assert!(!files.is_empty(), "there is a corpus");
    Some(files)
}

#[derive(Default)]
struct Totals {
    bytes: usize,
    entries: u64,
    by_kind: BTreeMap<String, (u64, u64)>,
    unparsed: Vec<(String, String)>,
    blank: Vec<String>,
}

impl Totals {
    fn take(&mut self, file: &Path) {
        let bytes = std::fs::read(file).unwrap();
        self.bytes += bytes.len();
        let child = file.file_name().unwrap().to_string_lossy().starts_with("agent-");
        let reader = ClaudeReader { selection: if child { Selection::Child } else { Selection::Main } };
        let _ = recorded(&bytes[..bytes.len().min(64 * 1024)]);
        let mut offset = 0;
        for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let place = format!("{}:{}", file.display(), number + 1);
            let lent = Line { offset, bytes: line, over_cap: None };
            let mut entries = Vec::new();
            reader.read(&lent, &Caps::WIRE, &mut |entry| entries.push(entry));
            assert_eq!(reader.count(&lent), entries.len() as u64, "{place}");
            let mut whole = 0;
            reader.read(&lent, &Caps::NONE, &mut |_| whole += 1);
            assert_eq!(whole, entries.len(), "{place}");
            for entry in &entries {
                self.entries += 1;
                if !entry.parsed {
                    self.unparsed.push((place.clone(), text(entry).chars().take(100).collect()));
                }
                if is_blank(entry) {
                    self.blank.push(format!("{place}: {entry:?}"));
                }
            }
            if !line.is_empty() {
                let row = self.by_kind.entry(kind(line)).or_default();
                row.0 += 1;
                row.1 += entries.len() as u64;
            }
            offset += line.len() as u64 + 1;
        }
    }
}

fn text(entry: &Entry) -> &str {
    match &entry.body {
        Body::Message(text) | Body::Thinking(text) | Body::Attachment(text) => &text.text,
        Body::ToolCall(call) => &call.name,
        Body::ToolResult(result) => &result.for_id,
    }
}

fn is_blank(entry: &Entry) -> bool {
    match &entry.body {
        Body::ToolResult(result) if result.output_summary.is_some() || result.diff.is_some() => false,
        _ => text(entry).trim().is_empty(),
    }
}

fn kind(line: &[u8]) -> String {
    let Ok(record) = serde_json::from_slice::<serde_json::Value>(line) else { return "(not JSON)".into() };
    let name = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_string();
    let kind = name(&record["type"]);
    match kind.as_str() {
        "system" => format!("system {}", name(&record["subtype"])),
        "attachment" => format!("attachment {}", name(&record["attachment"]["type"])),
        _ => kind,
    }
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
}
