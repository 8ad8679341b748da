//! Every file of the corpus that one kind of agent wrote, when it is at hand: `PANEWIRE_SHARED=<directory> cargo test`.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use panewire_core::agent::{Caps, Line, Reader, State};
use panewire_core::entry::{Body, Entry};

/// Reads every file of a kind in full, and fails if an entry is blank or more than `share` of them are not parsed.
/// `wrong_on_purpose` are files whose unreadable lines are meant to be unreadable, by the end of their names, and why.
pub(crate) fn is_read_without_loss(
    kind: &str,
    share: f64,
    wrong_on_purpose: &[(&str, &str)],
    reader: impl Fn(&Path) -> Box<dyn Reader>,
    recorded: impl Fn(&[u8]),
) {
    let Some(files) = files(kind) else { return };
    let mut totals = Totals::default();
    for file in &files {
        let before = totals.unparsed.len();
        let bytes = std::fs::read(file).unwrap();
        recorded(&bytes[..bytes.len().min(64 * 1024)]);
        totals.take(file, &*reader(file));
        if let Some((_, reason)) = wrong_on_purpose.iter().find(|(end, _)| file.ends_with(end)) {
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
    let unparsed = totals.unparsed.len() as f64 / totals.entries as f64;
    assert!(unparsed <= share, "{:.2} % of the entries are not parsed", unparsed * 100.0);
}

/// The same for files that are documents: read whole, and not line by line.
pub(crate) fn documents_are_read_without_loss(
    kind: &str,
    share: f64,
    wrong_on_purpose: &[(&str, &str)],
    read: impl Fn(&[u8], &mut dyn FnMut(Entry)),
) {
    let Some(files) = files(kind) else { return };
    let (mut entries, mut unparsed, mut blank) = (0_u64, Vec::new(), Vec::new());
    for file in &files {
        let on_purpose = wrong_on_purpose.iter().find(|(end, _)| file.ends_with(end));
        let mut wrong = 0;
        read(&std::fs::read(file).unwrap(), &mut |entry| {
            entries += 1;
            if is_blank(&entry) {
                blank.push(format!("{}: {entry:?}", file.display()));
            }
            if !entry.parsed && on_purpose.is_none() {
                unparsed.push(format!("{}: {}", file.display(), text(&entry)));
            }
            wrong += u32::from(!entry.parsed);
        });
        if let Some((_, reason)) = on_purpose {
            println!("{wrong} not parsed in {}: {reason}", file.display());
        }
    }
    println!("{} files, {entries} entries; not parsed: {unparsed:#?}", files.len());
    assert_eq!(blank, Vec::<String>::new());
    assert!(unparsed.len() as f64 <= share * entries as f64, "{unparsed:#?}");
}

/// The files, if the corpus is at hand.
pub(crate) fn files(kind: &str) -> Option<Vec<PathBuf>> {
    let Some(shared) = std::env::var_os("PANEWIRE_SHARED") else {
        println!("skipped: PANEWIRE_SHARED names no directory with a corpus");
        return None;
    };
    let mut files = Vec::new();
    collect(&Path::new(&shared).join("corpus").join(kind), &mut files);
    files.sort();
    // Beside the logs of other kinds lie documents that are no sessions.
    files.retain(|file| kind == "gemini" || file.extension().is_some_and(|extension| extension == "jsonl"));
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
    fn take(&mut self, file: &Path, reader: &dyn Reader) {
        let bytes = std::fs::read(file).unwrap();
        self.bytes += bytes.len();
        let (mut offset, mut state) = (0, State::default());
        for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let place = format!("{}:{}", file.display(), number + 1);
            let lent = Line { offset, bytes: line, over_cap: None };
            let mut entries = Vec::new();
            let mut each = |entry| {
                entries.push(entry);
                ControlFlow::Continue(())
            };
            reader.read_after(&state, &lent, &Caps::WIRE, 0, &mut each);
            let mut whole = 0;
            let mut each = |_| {
                whole += 1;
                ControlFlow::Continue(())
            };
            reader.read_after(&state, &lent, &Caps::NONE, 0, &mut each);
            assert_eq!(whole, entries.len(), "{place}");
            assert_eq!(reader.counted_after(&mut state, &lent).entries, entries.len() as u64, "{place}");
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
        "message" => format!("message {}", name(&record["message"]["role"])),
        "response_item" | "event_msg" => format!("{kind} {}", name(&record["payload"]["type"])),
        _ => kind,
    }
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "jsonl" || extension == "json") {
            files.push(path);
        }
    }
}
