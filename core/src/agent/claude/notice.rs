//! What the harness reports beside the conversation, as a person reads it.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::entry::caps;
use crate::limits::{SUBTITLE_CHARS, SUMMARY_CHARS};
use crate::source::json::Value;

/// A failed request, and when it is tried again.
pub(super) fn api_error(record: Value<'_>) -> String {
    let error = record.get("error");
    let mut text = "API error".to_string();
    if let Some(status) = error.and_then(|error| error.get("status")).and_then(Value::number) {
        text.push_str(&format!(" {status}"));
    }
    let message = error
        .and_then(deepest_message)
        .or_else(|| record.get("content").and_then(Value::filled))
        .or_else(|| error.and_then(|error| error.get("code")).and_then(Value::filled))
        .or_else(|| error.and_then(|error| error.get("cause")).and_then(deepest_message));
    if let Some(message) = message.and_then(|message| caps::one_line(message.chars(), SUMMARY_CHARS)) {
        text.push_str(&format!(": {message}"));
    }
    let number = |key: &str| record.get(key).and_then(Value::number);
    if let (Some(attempt), Some(max)) = (number("retryAttempt"), number("maxRetries")) {
        text.push_str(&format!(" (retry {attempt} of {max})"));
    }
    text
}

/// The message of an error, which wraps others: the innermost says what happened.
fn deepest_message(error: Value<'_>) -> Option<String> {
    let inner = error.get("error");
    let innermost = inner.and_then(|inner| inner.get("error")).or(inner).unwrap_or(error);
    [innermost, error]
        .into_iter()
        .find_map(|error| error.get("message").and_then(Value::filled))
        .or_else(|| error.filled())
}

/// The place where a conversation was compacted.
pub(super) fn compaction(record: Value<'_>) -> String {
    let said = record.get("content").and_then(Value::filled).unwrap_or_else(|| "Conversation compacted".to_string());
    let metadata = record.get("compactMetadata");
    let trigger = metadata.and_then(|metadata| metadata.get("trigger")).and_then(Value::filled);
    let before = metadata.and_then(|metadata| metadata.get("preTokens")).and_then(Value::number);
    match (trigger, before) {
        (Some(trigger), Some(before)) => format!("{said} ({trigger}, {before} tokens before)"),
        (Some(trigger), None) => format!("{said} ({trigger})"),
        (None, Some(before)) => format!("{said} ({before} tokens before)"),
        (None, None) => said,
    }
}

/// A reply that goes on with another model.
pub(super) fn fallback(block: Value<'_>) -> String {
    let name = |key: &str| {
        let model = block.get(key)?;
        model.filled().or_else(|| model.get("model").and_then(Value::filled))
    };
    match (name("from"), name("to")) {
        (Some(from), Some(to)) => format!("Model changed from {from} to {to}"),
        (None, Some(to)) => format!("Model changed to {to}"),
        _ => "Model changed".to_string(),
    }
}

/// What a hook said.
pub(super) fn hook(attachment: Value<'_>) -> String {
    let text = |key: &str| attachment.get(key).and_then(said);
    let blocking = attachment.get("blockingError").and_then(|error| error.get("blockingError").or(Some(error)));
    let said = text("content")
        .or_else(|| blocking.and_then(said))
        .or_else(|| text("message"))
        .or_else(|| text("stderr"))
        .or_else(|| text("stdout"));
    let name = text("hookName").or_else(|| text("hookEvent")).unwrap_or_else(|| "unnamed".to_string());
    let kind = text("type").unwrap_or_default();
    match said {
        Some(said) => format!("{name} hook: {}", said.trim()),
        None => format!("{name} hook: {}", kind.trim_start_matches("hook_").replace('_', " ")),
    }
}

/// A text, or the texts of a list, one a line.
fn said(value: Value<'_>) -> Option<String> {
    value.filled().or_else(|| {
        let lines: Vec<String> = value.elements().filter_map(Value::filled).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    })
}

/// The state of work in the background.
pub(super) fn task(attachment: Value<'_>) -> String {
    let text = |key: &str| {
        let text = attachment.get(key).and_then(Value::filled)?;
        caps::one_line(text.chars(), SUMMARY_CHARS)
    };
    let name = text("description").or_else(|| text("taskId")).unwrap_or_else(|| "unnamed".to_string());
    let status = text("status").unwrap_or_else(|| "changed".to_string());
    let summary = attachment.get("deltaSummary").and_then(Value::filled);
    summary.map_or_else(|| format!("Task {name}: {status}"), |summary| format!("Task {name}: {status}\n{summary}"))
}

/// Messages of other agents.
pub(super) fn mailbox(attachment: Value<'_>) -> String {
    let messages: Vec<String> = attachment
        .get("messages")
        .into_iter()
        .flat_map(Value::elements)
        .filter_map(|message| {
            let text = message.get("text").or_else(|| message.get("message")).and_then(Value::filled)?;
            let from = message.get("from").and_then(Value::filled).unwrap_or_else(|| "unnamed".to_string());
            Some(format!("[{from}] {}", text.trim()))
        })
        .collect();
    if messages.is_empty() { "Messages of other agents".to_string() } else { messages.join("\n\n") }
}

/// What the human attached.
pub(super) fn file(attachment: Value<'_>) -> String {
    let text = |key: &str| {
        let text = attachment.get(key).and_then(Value::filled)?;
        caps::one_line(text.chars(), SUBTITLE_CHARS)
    };
    let kind = if attachment.get("type").is_some_and(|kind| kind.is("directory")) { "directory" } else { "file" };
    let name = ["displayPath", "filename", "path", "name", "uri"].iter().find_map(|key| text(key));
    name.map_or_else(|| format!("[{kind}]"), |name| format!("[{kind}: {name}]"))
}
