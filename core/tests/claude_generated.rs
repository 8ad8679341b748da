//! Sessions of the shared generator, which says how many entries they hold by the original bridge's rules. Ours differ from
//! them in four places, each counted here.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test on real files")]

use std::path::Path;
use std::process::Command;

use panewire_core::agent::claude::{ClaudeReader, Selection};
use panewire_core::agent::{Line, Reader as _};
use serde_json::Value;

/// What is left of the generator's figure by our rules.
fn by_our_rules(entries: i64, lines: &str) -> i64 {
    let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.fold(entries, |entries, record| match record["type"].as_str() {
        // The original shows a blank row for each: decision 7 knows them as bookkeeping.
        Some("progress") => entries - 1,
        // The original shows what was taken back from the queue as typed: decision 7, no form of it is an entry.
        Some("queue-operation") if record["operation"] == "remove" && record["content"].is_string() => entries - 1,
        // The original drops what was typed while the agent worked: decision 8, it is a user's message.
        Some("attachment") if record["attachment"]["type"] == "queued_command" => entries + 1,
        // The original shows the harness's caveats as typed: decision 8, they make no entry.
        Some("user") if says(&record, "<local-command-caveat>") => entries - 1,
        _ => entries,
    })
}

fn says(record: &Value, beginning: &str) -> bool {
    record["message"]["content"].as_str().is_some_and(|text| text.starts_with(beginning))
}

#[test]
fn the_generators_figure_is_ours_but_for_four_decisions() {
    let Some(shared) = std::env::var_os("PANEWIRE_SHARED") else {
        eprintln!("PANEWIRE_SHARED is not set: the generator's sessions are not counted");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    for seed in ["1", "2", "3"] {
        let file = directory.path().join(seed);
        let generator = Path::new(&shared).join("gen/gen_session.py");
        let told =
            Command::new("python3").arg(generator).args(["--size", "1MB", "--seed", seed, "--out"]).arg(&file).output();
        let Ok(told) = told else {
            eprintln!("python3 is not here: the generator's sessions are not counted");
            return;
        };
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        let lines = std::fs::read_to_string(file).unwrap();
        let reader = ClaudeReader { selection: Selection::Main };
        let counted: u64 =
            lines.lines().map(|line| reader.count(&Line { offset: 0, bytes: line.as_bytes(), over_cap: None })).sum();
        let expected = by_our_rules(told["entries"].as_i64().unwrap(), &lines);
        assert_eq!(i64::try_from(counted).unwrap(), expected, "seed {seed}, the generator says {}", told["entries"]);
    }
}
