//! Every pi file of the corpus, when it is at hand: `PANEWIRE_SHARED=<directory> cargo test`.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test that reads files")]

mod corpus;

use panewire_core::agent::pi::{PiReader, recorded};
use panewire_core::agent::{Caps, Line, Reader as _};
use panewire_core::entry::Body;

#[test]
fn the_corpus_is_read_without_loss() {
    corpus::is_read_without_loss("pi", 0.005, &[], |_| Box::new(PiReader), |head| drop(recorded(head)));
}

/// What an answer's diff changes: where it stands in the old text or in the new one, and what it says.
type Changes = Vec<(char, u64, String)>;

/// The changes of a unified diff, and how many lines it has.
fn changes(diff: &str) -> (Changes, usize) {
    let (mut changes, mut lines) = (Vec::new(), 0);
    let (mut old, mut new) = (0, 0);
    for line in diff.split('\n') {
        if let Some(header) = line.strip_prefix("@@ -").and_then(|rest| rest.strip_suffix(" @@")) {
            let starts: Vec<u64> = header
                .split(" +")
                .map(|side| side.split_once(',').unwrap())
                .map(|(start, count)| start.parse::<u64>().unwrap() + u64::from(count == "0"))
                .collect();
            (old, new) = (starts[0], starts[1]);
            continue;
        }
        let Some(mark) = line.chars().next().filter(|mark| *mark != '\\') else { continue };
        match mark {
            '-' => changes.push((mark, old, line[1..].to_owned())),
            '+' => changes.push((mark, new, line[1..].to_owned())),
            _ => {}
        }
        lines += 1;
        old += u64::from(mark != '+');
        new += u64::from(mark != '-');
    }
    (changes, lines)
}

/// The same of pi's own form.
fn numbered_changes(diff: &str) -> (Changes, usize) {
    let (mut changes, mut lines) = (Vec::new(), 0);
    for line in diff.split('\n').filter(|line| line.trim() != "...") {
        let (mark, rest) = (line.chars().next().unwrap(), line[1..].trim_start_matches(' '));
        let (number, text) = rest.split_once(' ').unwrap_or((rest, ""));
        lines += 1;
        if mark != ' ' {
            changes.push((mark, number.parse().unwrap(), text.to_owned()));
        }
    }
    (changes, lines)
}

#[test]
fn every_edit_changes_the_lines_that_pi_says() {
    let Some(files) = corpus::files("pi") else { return };
    let (mut numbered, mut patched) = (0, 0);
    let shown = |record: &serde_json::Value| {
        let mut diff = None;
        let line = record.to_string();
        let line = Line { offset: 0, bytes: line.as_bytes(), over_cap: None };
        PiReader.read(&line, &Caps::NONE, &mut |entry| {
            if let Body::ToolResult(result) = entry.body {
                diff = result.diff;
            }
        });
        diff.unwrap()
    };
    for line in files
        .iter()
        .flat_map(|file| std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
    {
        let Ok(mut record) = serde_json::from_str::<serde_json::Value>(&line) else { continue };
        let Some(own) = record["message"]["details"]["diff"].as_str().map(str::to_owned) else { continue };
        let patch = record["message"]["details"].as_object_mut().unwrap().remove("patch");
        let diff = shown(&record);
        assert_eq!(changes(&diff), numbered_changes(&own), "{own}\n{diff}");
        numbered += 1;
        if let Some(patch) = patch {
            record["message"]["details"]["patch"] = patch;
            assert_eq!(changes(&shown(&record)).0, numbered_changes(&own).0, "{own}");
            patched += 1;
        }
    }
    println!("{numbered} numbered diffs, {patched} of them beside a patch");
    assert!(numbered > 0);
}
