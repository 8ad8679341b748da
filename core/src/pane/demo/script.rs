//! What happens in the demo conversation, in the lines that Claude Code would write.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::entry::timestamp::rfc3339;
use crate::ids::SessionId;
use crate::limits;
use crate::time::UnixMillis;

/// Where the conversation takes place.
pub(super) const CWD: &str = "/home/demo/panewire";

/// So many steps are there before anybody watches: the newcomer finds a page to read.
const OPENING_STEPS: usize = 12;

/// One session that goes through the script, round after round.
#[derive(Debug)]
pub(super) struct Scene {
    session: SessionId,
    /// The next step of the script.
    next: usize,
    /// Records written so far, which makes every uuid another.
    records: u64,
    /// The uuid of the last record.
    parent: Option<String>,
    /// The id of the last call.
    call: String,
}

impl Scene {
    pub(super) fn new(session: SessionId) -> Self {
        Self { session, next: 0, records: 0, parent: None, call: String::new() }
    }

    /// Whether the script is about to begin, for the first time or again.
    pub(super) fn is_at_start(&self) -> bool {
        self.next == 0
    }

    /// The first part of a session, as if it had just happened.
    pub(super) fn opening(&mut self, now: UnixMillis) -> String {
        let step = i64::try_from(limits::DEMO_STEP.as_millis()).unwrap_or(0);
        (0..OPENING_STEPS)
            .rev()
            .map(|ago| i64::try_from(ago).unwrap_or(0).saturating_mul(step))
            .map(|ago| self.next_line(UnixMillis(now.0.saturating_sub(ago))))
            .collect()
    }

    /// The next line, with its newline.
    pub(super) fn next_line(&mut self, now: UnixMillis) -> String {
        let step = SCRIPT.get(self.next).unwrap_or(&Step::Recap);
        self.records = self.records.saturating_add(1);
        self.next = self.next.saturating_add(1) % SCRIPT.len();
        let uuid = uuid(&format!("{} {}", self.session, self.records));
        if let Step::Call(..) = step {
            self.call = format!("toolu_{}", uuid.replace('-', ""));
        }
        let mut record = step.record(&self.call, &uuid);
        if let Some(fields) = record.as_object_mut() {
            let common = json!({
                "parentUuid": self.parent, "isSidechain": false, "userType": "external", "cwd": CWD,
                "sessionId": self.session.as_str(), "version": "demo", "gitBranch": "main",
                "uuid": uuid, "timestamp": rfc3339(now),
            });
            if let Value::Object(common) = common {
                fields.extend(common);
            }
        }
        self.parent = Some(uuid);
        let mut line = record.to_string();
        line.push('\n');
        line
    }
}

/// An id in the form of a random UUID, made from `seed` alone.
pub(super) fn uuid(seed: &str) -> String {
    let mut bytes = [0_u8; 16];
    bytes.iter_mut().zip(Sha256::digest(seed.as_bytes())).for_each(|(byte, hashed)| *byte = hashed);
    let [_, _, _, _, _, _, version, _, variant, ..] = &mut bytes;
    *version = 0x40 | (*version & 0x0f);
    *variant = 0x80 | (*variant & 0x3f);
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// One line of the script.
enum Step {
    /// The human says something.
    Prompt(&'static str),
    /// The human shows a picture and says something.
    Picture(&'static str),
    /// The human says something while the assistant works.
    Queued(&'static str),
    /// The human gives a command with arguments.
    Command(&'static str, &'static str),
    /// The assistant thinks.
    Think(&'static str),
    /// The assistant says something.
    Say(&'static str),
    /// The assistant calls a tool.
    Call(Tool),
    /// The tool of the last call answers.
    Answer(Tool),
    /// The human does not allow the last call.
    Reject,
    /// The human stops the assistant.
    Interrupt,
    /// The harness sums up.
    Recap,
}

/// The tools of the script, each with the one thing it does.
#[derive(Clone, Copy)]
enum Tool {
    Search,
    Read,
    Edit,
    Test,
    Push,
    Fail,
}

const SCRIPT: &[Step] = &[
    Step::Prompt(
        "When the train leaves the tunnel my phone shows the newest message twice. Can you find out why? \
         Only the newest, never an older one.",
    ),
    Step::Think(
        "Twice, and only the newest. So the last line of the file is counted once while it has no newline, and once \
         more when the newline arrives. A reconnect makes it visible because the page is read again in between. The line \
         splitter decides when a line is whole: look there first.",
    ),
    Step::Say(
        "That sounds like the **last line of the file**. Two rules meet there:\n\n\
         1. a line without its newline is an entry *as soon as it parses*,\n\
         2. it must not be an entry *again* when the newline comes.\n\n\
         I will look at who keeps the second one.",
    ),
    Step::Call(Tool::Search),
    Step::Answer(Tool::Search),
    Step::Call(Tool::Read),
    Step::Answer(Tool::Read),
    Step::Say(
        "Here it is. `accept` gives the line away and forgets that it did:\n\n```rust\nself.tail.clear();\n```\n\n\
         The newline that comes later then ends a line that was already counted.",
    ),
    Step::Call(Tool::Edit),
    Step::Answer(Tool::Edit),
    Step::Call(Tool::Test),
    Step::Answer(Tool::Test),
    Step::Think("All green. The change is small and has a test. The next step would be to push it."),
    Step::Call(Tool::Push),
    Step::Reject,
    Step::Interrupt,
    Step::Picture("Not yet, please. Look at this first: is the age of the message wrong, too?"),
    Step::Say(
        "The picture shows *“3 minutes ago”* beside a message of this minute. That is the phone counting from when it \
         **connected**, not from the time stamp in the file. Let me see whether a test says so.",
    ),
    Step::Call(Tool::Fail),
    Step::Queued("Leave the clock for tomorrow. A short summary is enough."),
    Step::Answer(Tool::Fail),
    Step::Say(
        "Agreed, the clock waits. For today:\n\n\
         | what | where | state |\n|---|---|---|\n\
         | the newest message twice | `core/src/source/lines.rs` | fixed, tested |\n\
         | its age is wrong | the phone | open, a test is missing |\n\n\
         > A line is an entry once. It does not matter how often it is read.\n\n\
         Nothing was pushed.",
    ),
    Step::Command("rename", "the tunnel"),
    Step::Recap,
];

const SOURCE: &str = "/home/demo/panewire/core/src/source/lines.rs";
const OLD: &str = "    fn accept(&mut self) {\n        self.tail.clear();\n    }";
const NEW: &str = "    fn accept(&mut self) {\n        self.given = self.end();\n        self.tail.clear();\n    }";
const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
const FAILED: &str = "Exit code 101\nerror: no test target named `clock`";

/// A white dot: 1 by 1 pixel.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

impl Step {
    /// The record without the fields that all records have.
    fn record(&self, call: &str, uuid: &str) -> Value {
        match self {
            Self::Prompt(text) => user(json!(text)),
            Self::Picture(text) => {
                let source = json!({"type": "base64", "media_type": "image/png", "data": PICTURE});
                user(json!([{"type": "text", "text": text}, {"type": "image", "source": source}]))
            }
            Self::Queued(text) => {
                let queued = json!({
                    "type": "queued_command", "prompt": text, "commandMode": "prompt", "origin": {"kind": "human"},
                });
                json!({"type": "attachment", "attachment": queued})
            }
            Self::Command(name, arguments) => user(json!(format!(
                "<command-name>/{name}</command-name>\n<command-message>{name}</command-message>\n\
                 <command-args>{arguments}</command-args>"
            ))),
            Self::Think(text) => assistant(uuid, json!({"type": "thinking", "thinking": text, "signature": "demo"})),
            Self::Say(text) => assistant(uuid, json!({"type": "text", "text": text})),
            Self::Call(tool) => {
                let (name, input) = tool.call();
                assistant(uuid, json!({"type": "tool_use", "id": call, "name": name, "input": input}))
            }
            Self::Answer(tool) => {
                let (content, result, is_error) = tool.answer();
                answer(call, &content, result, is_error)
            }
            Self::Reject => {
                let mut record = answer(call, REJECTED, json!("User rejected tool use"), true);
                if let Some(fields) = record.as_object_mut() {
                    fields.insert("toolDenialKind".to_string(), json!("user-rejected"));
                }
                record
            }
            Self::Interrupt => user(json!([{"type": "text", "text": "[Request interrupted by user for tool use]"}])),
            Self::Recap => json!({
                "type": "system", "subtype": "away_summary", "isMeta": false,
                "content": "While you were away: a message that was shown twice is shown once. Nothing was pushed.",
            }),
        }
    }
}

impl Tool {
    /// The name of the tool and its input.
    fn call(self) -> (&'static str, Value) {
        match self {
            Self::Search => (
                "Bash",
                json!({"command": "rg --color=always -n 'tail' core/src/source/lines.rs", "description": "Find who handles the tail"}),
            ),
            Self::Read => ("Read", json!({"file_path": SOURCE, "offset": 86, "limit": 5})),
            Self::Edit => {
                ("Edit", json!({"file_path": SOURCE, "old_string": OLD, "new_string": NEW, "replace_all": false}))
            }
            Self::Test => (
                "Bash",
                json!({"command": "cargo test -p panewire-core lines", "description": "Run the tests of the line splitter"}),
            ),
            Self::Push => ("Bash", json!({"command": "git push origin main", "description": "Push the fix"})),
            Self::Fail => (
                "Bash",
                json!({"command": "cargo test -p panewire-core --test clock", "description": "Look for a test of the age"}),
            ),
        }
    }

    /// What the tool answers: the text for the assistant, the structured result, and whether it is an error.
    fn answer(self) -> (String, Value, bool) {
        match self {
            Self::Search => printed(
                "\u{1b}[32m58\u{1b}[0m:    \u{1b}[1;31mtail\u{1b}[0m: Vec<u8>,\n\
                 \u{1b}[32m88\u{1b}[0m:        self.\u{1b}[1;31mtail\u{1b}[0m.clear();",
            ),
            Self::Read => {
                let content = format!("    /// The unfinished line was an entry.\n{OLD}\n");
                let numbered: String =
                    (86..).zip(content.lines()).map(|(number, line)| format!("{number:>6}→{line}\n")).collect();
                let file = json!({
                    "filePath": SOURCE, "content": content, "numLines": 4, "startLine": 86, "totalLines": 140,
                });
                (numbered, json!({"type": "text", "file": file}), false)
            }
            Self::Edit => {
                let patch = json!([{
                    "oldStart": 86, "oldLines": 4, "newStart": 86, "newLines": 5,
                    "lines": [
                        "     /// The unfinished line was an entry.",
                        "     fn accept(&mut self) {",
                        "+        self.given = self.end();",
                        "         self.tail.clear();",
                        "     }",
                    ],
                }]);
                let result = json!({
                    "filePath": SOURCE, "oldString": OLD, "newString": NEW, "originalFile": null,
                    "structuredPatch": patch, "userModified": false, "replaceAll": false,
                });
                (format!("The file {SOURCE} has been updated."), result, false)
            }
            Self::Test => printed(
                "running 3 tests\n\
                 test source::lines::a_line_is_an_entry_once ... \u{1b}[32mok\u{1b}[0m\n\
                 test source::lines::a_torn_line_waits ... \u{1b}[32mok\u{1b}[0m\n\
                 test source::lines::any_chunking_gives_the_same_lines ... \u{1b}[32mok\u{1b}[0m\n\n\
                 test result: \u{1b}[1;32mok\u{1b}[0m. 3 passed; 0 failed",
            ),
            Self::Push => printed("Everything up-to-date"),
            Self::Fail => (FAILED.to_string(), json!(format!("Error: {FAILED}")), true),
        }
    }
}

fn printed(stdout: &str) -> (String, Value, bool) {
    let result = json!({"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false});
    (stdout.to_string(), result, false)
}

fn user(content: Value) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": content}})
}

fn answer(call: &str, content: &str, result: Value, is_error: bool) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": call, "content": content});
    if let Some(fields) = block.as_object_mut().filter(|_| is_error) {
        fields.insert("is_error".to_string(), json!(true));
    }
    let message = json!({"role": "user", "content": vec![block]});
    json!({"type": "user", "message": message, "toolUseResult": result})
}

fn assistant(uuid: &str, block: Value) -> Value {
    json!({
        "type": "assistant",
        "requestId": format!("req_{uuid}"),
        "message": {
            "id": format!("msg_{uuid}"), "type": "message", "role": "assistant", "model": "demo",
            "content": vec![block], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        },
    })
}

#[cfg(test)]
mod tests;
