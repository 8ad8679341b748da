//! What reading a transcript costs: `cargo bench -p panewire-conformance --bench reading [-- FILE]`.
//!
//! Both depths of the reader run against a scan for newlines and against `serde_json::Value`, over the same bytes in the
//! same interleaved rounds. A machine is noisy and never the same twice: read the ratios of the medians, not the megabytes.
//! Without a FILE it reads a session of our own invention in which every kind of line has a realistic share.
#![expect(clippy::expect_used, reason = "a benchmark that cannot begin is of no use")]

use std::alloc::System;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use memchr::memchr_iter;
use panewire_conformance::sim::Transcript;
use panewire_core::agent::claude::{ClaudeReader, Selection};
use panewire_core::agent::{Caps, Line, Reader as _};
use panewire_core::limits::{Limits, MAX_READ_BYTES};
use panewire_core::roster::Told;
use panewire_core::source::lines::LineSplitter;
use panewire_core::source::records;
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const ROUNDS: usize = 15;
const GENERATED_BYTES: usize = 10_000_000;
const READER: ClaudeReader = ClaudeReader { selection: Selection::Main };

fn main() {
    let path = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let bytes = path.map_or_else(generated, |path| std::fs::read(path).expect("the file can be read"));
    let entries = count(&bytes);
    println!("{} bytes, {} lines, {entries} entries, {ROUNDS} rounds\n", bytes.len(), newlines(&bytes));
    println!("{:<24}{:>10}{:>12}{:>16}{:>14}", "", "MB/s", "x newlines", "allocs/entry", "bytes/entry");
    let mut rows: Vec<Row> = CONTENDERS.iter().map(|_| Row::default()).collect();
    for _ in 0..ROUNDS {
        for (row, (_, run)) in rows.iter_mut().zip(CONTENDERS) {
            row.measure(*run, &bytes);
        }
    }
    let floor = rows.first_mut().map_or(0.0, Row::median);
    for (row, (name, _)) in rows.iter_mut().zip(CONTENDERS) {
        let seconds = row.median();
        let per_entry = |count: usize| count as f64 / entries.max(1) as f64;
        println!(
            "{name:<24}{:>10.0}{:>12.2}{:>16.2}{:>14.0}",
            bytes.len() as f64 / 1e6 / seconds,
            seconds / floor,
            per_entry(row.allocations),
            per_entry(row.allocated),
        );
    }
}

/// Goes over all bytes and tells what it saw, so that nothing is left out.
type Run = fn(&[u8]) -> u64;

/// What is measured, by name. The first is what the others are compared with.
const CONTENDERS: &[(&str, Run)] = &[
    ("newlines", newlines),
    ("lines", lines),
    ("count", count),
    ("count, and children", count_telling),
    ("full depth", full),
    ("full depth, uncapped", uncapped),
    ("serde_json::Value", values),
];

#[derive(Default)]
struct Row {
    times: Vec<Duration>,
    allocations: usize,
    allocated: usize,
}

impl Row {
    fn measure(&mut self, run: Run, bytes: &[u8]) {
        let region = Region::new(ALLOCATOR);
        let begun = Instant::now();
        black_box(run(black_box(bytes)));
        self.times.push(begun.elapsed());
        let change = region.change();
        self.allocations = change.allocations + change.reallocations;
        self.allocated = change.bytes_allocated;
    }

    fn median(&mut self) -> f64 {
        self.times.sort_unstable();
        self.times.get(self.times.len() / 2).map_or(0.0, Duration::as_secs_f64)
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

fn lines(bytes: &[u8]) -> u64 {
    let mut sum = 0;
    each_line(bytes, |line| sum += line.bytes.len() as u64);
    sum
}

fn count(bytes: &[u8]) -> u64 {
    let mut entries = 0;
    each_line(bytes, |line| entries += READER.count(line));
    entries
}

/// As a follower counts: on the way it notes what is told of children.
fn count_telling(bytes: &[u8]) -> u64 {
    let (mut entries, mut told) = (0, Told::default());
    each_line(bytes, |line| entries += READER.counted_telling(line, &mut told).entries);
    entries + black_box(&told).version()
}

fn full(bytes: &[u8]) -> u64 {
    read(bytes, &Caps::WIRE)
}

fn uncapped(bytes: &[u8]) -> u64 {
    read(bytes, &Caps::NONE)
}

fn read(bytes: &[u8], caps: &Caps) -> u64 {
    let mut entries = 0;
    each_line(bytes, |line| {
        READER.read(line, caps, &mut |entry| {
            black_box(entry);
            entries += 1;
        });
    });
    entries
}

fn values(bytes: &[u8]) -> u64 {
    let mut parsed = 0;
    each_line(bytes, |line| parsed += u64::from(serde_json::from_slice::<Value>(line.bytes).is_ok()));
    parsed
}

/// Lends the lines as a follower sees them: in pieces as large as one read.
fn each_line(bytes: &[u8], mut each: impl FnMut(&Line<'_>)) {
    let mut splitter = LineSplitter::new(0, Limits::default().line_bytes);
    for piece in bytes.chunks(MAX_READ_BYTES) {
        let _ = splitter.push(piece, |line| {
            each(&line);
            ControlFlow::<()>::Continue(())
        });
    }
    if records::is_whole(splitter.tail()) {
        each(&splitter.tail_line());
    }
}

/// A session with long and short lines: talk, thoughts, edits, outputs of many lines, pictures and bookkeeping.
fn generated() -> Vec<u8> {
    let mut agent = Transcript::new("5e550009-0a0b-4c0d-8e0f-000000000009", "/srv/bench");
    let mut text = String::new();
    let code: String = (0..40).map(|n| format!("    let shelf_{n} = library.find(\"row {n}\")?;\n")).collect();
    let output: String = (0..60).map(|n| format!("\u{1b}[32mok\u{1b}[0m  shelf/{n:03}.txt\t{}\n", n * 37)).collect();
    while text.len() < GENERATED_BYTES {
        text += &agent.talk(8);
        text += &agent.thinking(&"The shelf is longer than the wall; “perhaps” it turns. ".repeat(20));
        text += &agent.tool_use("Edit", &json!({"file_path": "/srv/bench/a.rs", "old_string": code, "new_string": code.replace("row 7", "row seven")}));
        text += &agent.tool_result(
            "The file has been updated.",
            false,
            &json!({"filePath": "/srv/bench/a.rs", "originalFile": code.repeat(4), "structuredPatch": []}),
        );
        text += &agent.tool_use("Bash", &json!({"command": "ls -l shelf", "description": "List the shelf"}));
        text += &agent.tool_result(&output, false, &json!({"stdout": output, "stderr": "", "interrupted": false}));
        text += &agent.picture();
        text += &agent.bookkeeping();
    }
    text.into_bytes()
}
