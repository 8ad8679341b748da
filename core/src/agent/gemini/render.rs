//! From a message to its entries, whole: what a reader of the spool shows of them is cut there.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::call;
use super::children::Start;
use super::log::Other;
use crate::agent::Caps;
use crate::agent::shown::{glance, legible, named, note, output};
use crate::entry::{Body, Entry, Role, Text, ToolResult, diff, unified};
use crate::source::json::Value;

const CAPS: &Caps = &Caps::NONE;

/// What a message says, one part an entry, in order.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) entries: Vec<Entry>,
    /// The calls in it that start agents.
    pub(super) starts: Vec<Start>,
    /// Whether every call in it has come to its end.
    pub(super) answered: bool,
    /// What of it is not known.
    pub(super) unknown: Option<String>,
}

/// The entries of a message. `answers` tells whether it is for this message to say what a call was answered.
pub(super) fn message(id: &str, message: Value<'_>, answers: &dyn Fn(&str) -> bool) -> Said {
    let kind = named(message.get("type")).unwrap_or_default();
    let mut made = Made { id, ts: named(message.get("timestamp")), entries: Vec::new(), starts: Vec::new(), answers };
    let mut said = Said { answered: true, ..Said::default() };
    match kind.as_str() {
        "user" => {
            let typed = message.get("displayContent").filter(|typed| !typed.is_empty());
            made.content(typed.or_else(|| content(message)), Role::User, &BTreeSet::new());
        }
        "gemini" | "model" => said.answered = made.reply(message),
        "info" | "error" | "warning" | "system" => made.content(content(message), Role::System, &BTreeSet::new()),
        other => {
            said.unknown = Some(format!("message {}", if other.is_empty() { "without a type" } else { other }));
            if let Some(content) = content(message).filter(|content| !content.is_empty()) {
                let shown = first_text(content).unwrap_or_else(|| glance(content.raw()));
                let kind = message.get("type").map_or_else(|| "none".to_string(), |kind| glance(kind.raw()));
                made.unparsed("unknown", format!("unknown message type {kind}: {shown}"));
            }
        }
    }
    (said.entries, said.starts) = (made.entries, made.starts);
    said
}

/// The calls that a message says the answers of.
pub(super) fn each_answer(message: Value<'_>, each: &mut dyn FnMut(&str)) {
    let calls = message.get("toolCalls").into_iter().flat_map(Value::elements).filter(|call| has_ended(*call));
    let parts = content(message).into_iter().flat_map(Value::elements);
    let responses = parts.filter_map(|part| part.get("functionResponse"));
    calls.chain(responses).filter_map(|answer| named(answer.get("id"))).for_each(|id| each(&id));
}

/// What is said when the conversation went back.
pub(super) const REWOUND: &str = "The conversation went back: some of what was said before is not part of it any more.";

/// The same, if it is known how many messages were dropped.
pub(super) fn rewound(dropped: usize) -> String {
    match dropped {
        1 => "The conversation went back: the last message before is not part of it any more.".to_string(),
        _ => format!("The conversation went back: the last {dropped} messages before are not part of it any more."),
    }
}

/// The entry of what is no message.
pub(super) fn other(id: &str, other: &Other) -> Entry {
    match other {
        Other::Rewound(dropped) => notice(id, rewound(*dropped), true),
        Other::Damaged(bytes, glance) => notice(id, format!("unreadable line ({bytes} bytes): {glance}"), false),
        Other::TooLong(bytes) => notice(id, format!("message too large to read ({bytes} bytes)"), false),
        Other::NoSession(glance) => notice(id, format!("a document without messages: {glance}"), false),
    }
}

/// A note of ours.
pub(super) fn notice(id: &str, text: String, parsed: bool) -> Entry {
    let body = Body::Message(note(text));
    Entry { id: id.to_string(), parent_id: None, ts: None, role: Role::System, body, parsed }
}

struct Made<'a> {
    id: &'a str,
    ts: Option<String>,
    entries: Vec<Entry>,
    starts: Vec<Start>,
    answers: &'a dyn Fn(&str) -> bool,
}

impl Made<'_> {
    fn push(&mut self, part: &str, role: Role, body: Body) {
        self.entries.push(Entry {
            id: format!("{}#{part}", self.id),
            parent_id: None,
            ts: self.ts.clone(),
            role,
            body,
            parsed: true,
        });
    }

    fn unparsed(&mut self, part: &str, text: String) {
        self.push(part, Role::System, Body::Message(note(text)));
        if let Some(entry) = self.entries.last_mut() {
            entry.parsed = false;
        }
    }

    /// Thoughts, what is said, and each call with its answer. Tells whether all calls have come to their ends.
    fn reply(&mut self, message: Value<'_>) -> bool {
        for (at, thought) in message.get("thoughts").into_iter().flat_map(Value::elements).enumerate() {
            let part = |key: &str| named(thought.get(key));
            let text = match (part("subject"), part("description")) {
                (Some(subject), Some(description)) => format!("**{}**\n\n{description}", subject.trim()),
                (Some(only), None) | (None, Some(only)) => only,
                (None, None) => continue,
            };
            self.push(&format!("thought{at}"), Role::Assistant, Body::Thinking(whole(&text)));
        }
        let calls: Vec<Value<'_>> = message.get("toolCalls").into_iter().flat_map(Value::elements).collect();
        let listed: BTreeSet<String> = calls.iter().filter_map(|call| named(call.get("id"))).collect();
        self.content(content(message), Role::Assistant, &listed);
        let mut answered = true;
        for (at, call) in calls.into_iter().enumerate() {
            let id = named(call.get("id")).unwrap_or_else(|| format!("{}-{at}", self.id));
            self.push(&format!("call-{id}"), Role::Assistant, Body::ToolCall(call::tool_call(&id, call, CAPS)));
            self.starts.extend(Start::of(&id, call, has_ended(call)));
            if has_ended(call) {
                self.push(&format!("result-{id}"), Role::User, Body::ToolResult(tool_result(&id, call)));
            } else {
                answered = false;
            }
        }
        answered
    }

    /// A text, or the parts of one. Calls that are listed beside it, and answers that were given, are not repeated.
    fn content(&mut self, content: Option<Value<'_>>, role: Role, listed: &BTreeSet<String>) {
        let Some(content) = content else { return };
        let single = content.literal().is_some().then_some(content);
        let mut texts = String::new();
        let mut parts = Vec::new();
        for (at, part) in single.into_iter().chain(content.elements()).enumerate() {
            let text = if part.literal().is_some() { Some(part) } else { part.get("text") };
            match text.and_then(Value::text) {
                Some(text) if !part.get("thought").is_some_and(Value::is_true) => texts.push_str(&text),
                _ => parts.push((at, part)),
            }
        }
        let shown = texts.trim();
        if !shown.is_empty() {
            let text = if role == Role::System { legible(shown, CAPS) } else { whole(shown) };
            self.push("text", role, Body::Message(text));
        }
        for (at, part) in parts {
            match part.get("text").and_then(Value::text) {
                Some(thought) if thought.trim().is_empty() => {}
                Some(thought) => {
                    self.push(&format!("part{at}"), Role::Assistant, Body::Thinking(whole(thought.trim())))
                }
                None => self.part(at, part, role, listed),
            }
        }
    }

    fn part(&mut self, at: usize, part: Value<'_>, role: Role, listed: &BTreeSet<String>) {
        if let Some(call) = part.get("functionCall") {
            let id = named(call.get("id")).unwrap_or_else(|| format!("{}-part{at}", self.id));
            if !listed.contains(&id) {
                self.push(&format!("call-{id}"), Role::Assistant, Body::ToolCall(call::tool_call(&id, call, CAPS)));
            }
        } else if let Some(answer) = part.get("functionResponse") {
            let id = named(answer.get("id")).unwrap_or_else(|| format!("{}-part{at}", self.id));
            let entry = format!("{}#result-{id}", self.id);
            if (self.answers)(&id) && self.entries.iter().all(|other| other.id != entry) {
                let mut result = ToolResult { for_id: id.clone(), ok: true, ..ToolResult::default() };
                respond(&mut result, answer);
                self.push(&format!("result-{id}"), Role::User, Body::ToolResult(result));
            }
        } else if let Some(data) = part.get("inlineData").or_else(|| part.get("fileData")) {
            let mime = named(data.get("mimeType")).unwrap_or_default();
            let what =
                if mime.is_empty() || mime.starts_with("image/") { "[image]".to_string() } else { format!("[{mime}]") };
            self.push(&format!("part{at}"), role, Body::Attachment(note(what)));
        } else if part.is_object() && !part.is_empty() {
            self.unparsed(&format!("part{at}"), format!("unknown part of a message: {}", glance(part.raw())));
        }
    }
}

fn content(message: Value<'_>) -> Option<Value<'_>> {
    message.get("content").filter(|content| !content.is_empty()).or_else(|| message.get("parts"))
}

fn whole(text: &str) -> Text {
    Text { text: text.to_string(), truncated: false }
}

/// Whether a call has come to its end: by its status, or by its answer where there is none.
fn has_ended(call: Value<'_>) -> bool {
    match named(call.get("status")).as_deref() {
        Some(status) => matches!(status, "success" | "error" | "cancelled"),
        None => call.get("result").is_some_and(|result| !result.is_empty()),
    }
}

fn tool_result(id: &str, call: Value<'_>) -> ToolResult {
    let status = named(call.get("status"));
    let mut result = ToolResult {
        for_id: id.to_string(),
        ok: status.is_none_or(|status| status == "success"),
        ..ToolResult::default()
    };
    for part in call.get("result").into_iter().flat_map(Value::elements) {
        respond(&mut result, part.get("functionResponse").unwrap_or(part));
    }
    let shown = call.get("resultDisplay");
    if result.output_summary.is_none() {
        let said = named(shown).or_else(|| named(call.get("error")));
        result.output_summary = said.and_then(|said| output(CAPS, |out| out.push_str(&said))).map(|text| text.text);
    }
    let changed = shown.and_then(|shown| named(shown.get("fileDiff")));
    result.diff = changed.and_then(|changed| diff::render(&unified::hunks(&changed), CAPS)).map(|diff| diff.text);
    result
}

/// What a function has answered. The shell's answer tells the exit code in a line of its own.
fn respond(result: &mut ToolResult, answer: Value<'_>) {
    let response = answer.get("response").unwrap_or(answer);
    let error = response.get("error").filter(|error| !error.is_empty());
    result.ok &= error.is_none();
    let said = error.or_else(|| response.get("output"));
    let text: Cow<'_, str> = match said {
        Some(said) => {
            named(Some(said)).unwrap_or_else(|| if said.is_empty() { String::new() } else { glance(said.raw()) }).into()
        }
        None if response.is_empty() => "".into(),
        None => glance(response.raw()).into(),
    };
    let code = text.lines().rev().find_map(|line| line.strip_prefix("Exit Code: "));
    result.ok &= code.is_none_or(|code| matches!(code.trim(), "0" | "(none)"));
    let printed = output(CAPS, |out| out.push_str(&text)).map(|text| text.text);
    result.output_summary = match (result.output_summary.take(), printed) {
        (Some(before), Some(more)) => Some(format!("{before}\n{more}")),
        (before, more) => before.or(more),
    };
}

fn first_text(content: Value<'_>) -> Option<String> {
    let text = |value: Value<'_>| value.filled().or_else(|| named(value.get("text")));
    text(content).or_else(|| content.elements().find_map(text))
}
