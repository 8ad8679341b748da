//! Our readers beside those of `agent-sessions`, over the transcripts of the corpus: message texts and the ids of calls and
//! answers agree, or the difference is one of those in `docs/oracle.md`. Run with `PANEWIRE_SHARED=<directory> cargo test`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use agent_sessions::{Agent, Event, ReadOptions, Role, read_from};
use panewire_core::agent::claude::{ClaudeReader, Selection};
use panewire_core::agent::codex::CodexReader;
use panewire_core::agent::pi::PiReader;
use panewire_core::agent::{Caps, Line, Reader, State};
use panewire_core::entry::Body;

/// What one library finds in a file: texts without their blanks, and ids.
#[derive(Debug, Default)]
struct Found {
    texts: BTreeSet<String>,
    calls: BTreeSet<String>,
    answers: BTreeSet<String>,
    /// Ids that are copies of those in another file.
    copied: usize,
}

/// Why a text of theirs is none of ours.
const REASONS: &[(&str, fn(&str) -> bool)] = &[
    ("caveats and output of local commands, which nobody typed", |text| {
        text.starts_with("<local-command") || text.starts_with("Caveat:Themessagesbelow") || text.starts_with("<bash-")
    }),
    ("slash commands, shown as /name args", |text| text.starts_with("<command-")),
    ("notices in tags, shown by what is in them", |text| {
        text.starts_with("<task-notification>") || text.starts_with("<system-reminder>")
    }),
    ("what Codex writes in the name of the user", |text| {
        [
            "<environment_context>",
            "<user_instructions>",
            "#AGENTS.md",
            "<INSTRUCTIONS>",
            "<turn_aborted>",
            "<image",
            "</image>",
            "<permissions",
        ]
        .iter()
        .any(|start| text.starts_with(start))
    }),
    ("what an editor puts before a prompt: the prompt below it is shown", |text| {
        text.starts_with("#ContextfrommyIDEsetup:") || text.starts_with("<ide_")
    }),
];

fn without_blanks(text: &str) -> String {
    text.chars().filter(|char| !char.is_whitespace() && !char.is_control()).collect()
}

fn theirs(agent: Agent, path: &Path) -> Found {
    let mut found = Found::default();
    let Ok(reader) = read_from(agent, BufReader::new(File::open(path).unwrap()), &ReadOptions::default()) else {
        return found;
    };
    for event in reader.flatten() {
        // What a child does, copied into its parent's file while it does it: it stands in the child's own.
        let is_copied = event.record_type.as_deref() == Some("progress");
        match event.value {
            Event::ToolCall(_) | Event::ToolResult(_) if is_copied => found.copied += 1,
            Event::Message(message) if matches!(message.role, Role::User | Role::Assistant) => {
                let whole = [0..message.text.len()];
                let segments = if message.text_segments.is_empty() { &whole[..] } else { &message.text_segments };
                let texts = segments.iter().filter_map(|range| message.text.get(range.clone())).map(without_blanks);
                found.texts.extend(texts.filter(|text| !text.is_empty()));
            }
            Event::ToolCall(call) => found.calls.extend(call.id),
            Event::ToolResult(result) => found.answers.extend(result.call_id),
            _ => {}
        }
    }
    found
}

/// Adds what one of our readers finds.
fn find(reader: &dyn Reader, bytes: &[u8], found: &mut Found) {
    let (mut state, mut offset) = (State::none(), 0);
    for bytes in bytes.split(|&byte| byte == b'\n') {
        let line = Line { offset, bytes, over_cap: None };
        reader.read_after(&state, &line, &Caps::NONE, 0, &mut |entry| {
            match entry.body {
                // What the harness says is of the user or the assistant there, and of the system here.
                Body::Message(text) => drop(found.texts.insert(without_blanks(&text.text))),
                Body::ToolCall(call) => drop(found.calls.insert(call.id)),
                Body::ToolResult(result) => drop(found.answers.insert(result.for_id)),
                Body::Thinking(_) | Body::Attachment(_) => {}
            }
            ControlFlow::Continue(())
        });
        reader.counted_after(&mut state, &line);
        offset += bytes.len() as u64 + 1;
    }
}

/// Compares every file of a kind and tells how many texts of theirs have which reason, and what has none.
fn compare(kind: &str, agent: Agent, readers: &[&dyn Reader]) {
    let Some(shared) = std::env::var_os("PANEWIRE_SHARED") else {
        println!("skipped: PANEWIRE_SHARED names no directory with a corpus");
        return;
    };
    let mut files = Vec::new();
    collect(&Path::new(&shared).join("corpus").join(kind), &mut files);
    files.sort();
    let (mut texts, mut ids, mut copied, mut reasons, mut without) = (0, 0, 0, vec![0; REASONS.len()], Vec::new());
    for path in &files {
        let bytes = fs::read(path).unwrap();
        let theirs = theirs(agent, path);
        let mut ours = Found::default();
        readers.iter().for_each(|reader| find(*reader, &bytes, &mut ours));
        copied += theirs.copied;
        let said: String = ours.texts.iter().cloned().collect::<Vec<_>>().join("\n");
        for text in &theirs.texts {
            texts += 1;
            // Texts that are typed together are one of ours, and some of theirs have a head that ours leave out.
            if ours.texts.contains(text) || said.contains(text.as_str()) {
                continue;
            }
            match REASONS.iter().position(|(_, is)| is(text)) {
                Some(reason) => reasons[reason] += 1,
                None => without.push(format!("{}: {}", path.display(), text.chars().take(120).collect::<String>())),
            }
        }
        for (theirs, ours, what) in [(&theirs.calls, &ours.calls, "call"), (&theirs.answers, &ours.answers, "answer")] {
            ids += theirs.len();
            without.extend(theirs.difference(ours).map(|id| format!("{}: {what} {id}", path.display())));
        }
    }
    println!("{kind}: {} files, {texts} texts, {ids} ids", files.len());
    for ((reason, _), count) in REASONS.iter().zip(&reasons) {
        println!("{count:>6}  {reason}");
    }
    println!("{copied:>6}  calls and answers of children, copied into `progress` records");
    assert_eq!(without, Vec::<String>::new(), "differences that docs/oracle.md gives no reason for");
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
}

/// Theirs takes the lines of children in a session's own file for its own: here they are streams of their own.
#[test]
fn claude_code() {
    let readers = [Selection::Main, Selection::Child].map(|selection| ClaudeReader { selection });
    compare("claude", Agent::ClaudeCode, &[&readers[0], &readers[1]]);
}

#[test]
fn codex() {
    compare("codex", Agent::Codex, &[&CodexReader]);
}

#[test]
fn pi() {
    compare("pi", Agent::Pi, &[&PiReader]);
}
