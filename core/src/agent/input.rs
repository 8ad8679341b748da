//! The input of a call, and what every kind of agent's calls are made of.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::Caps;
use crate::entry::diff::{self, Diff, Hunk};
use crate::entry::{ToolCall, caps};
use crate::limits::{SUBTITLE_CHARS, SUMMARY_CHARS};
use crate::source::json::Value;

/// The input of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'a>(pub(super) Value<'a>);

impl<'a> Input<'a> {
    /// A member as it is, if it is a string.
    pub(super) fn whole(self, key: &str) -> Option<String> {
        self.0.get(key).and_then(Value::text)
    }

    /// A member on one line, as long as a summary may be. Numbers and words are shown as they are written.
    pub(super) fn line(self, key: &str) -> Option<String> {
        self.short(key, SUMMARY_CHARS)
    }

    /// A member on one line, as long as a subtitle may be.
    pub(super) fn label(self, key: &str) -> Option<String> {
        self.short(key, SUBTITLE_CHARS)
    }

    fn short(self, key: &str, cap_chars: usize) -> Option<String> {
        let value = self.0.get(key)?;
        match value.chars() {
            Some(chars) => caps::one_line(chars, cap_chars),
            None if value.is_null() => None,
            None => one_line_json(value, cap_chars),
        }
    }

    /// Which lines of a file are wanted, by the members `offset` and `limit`.
    pub(super) fn lines(self) -> Option<String> {
        match (self.label("offset"), self.label("limit")) {
            (Some(offset), Some(limit)) => Some(format!("{limit} lines from line {offset}")),
            (Some(offset), None) => Some(format!("from line {offset}")),
            (None, Some(limit)) => Some(format!("first {limit} lines")),
            (None, None) => None,
        }
    }

    /// The elements of a member.
    pub(super) fn list(self, key: &str) -> impl Iterator<Item = Value<'a>> + use<'a> {
        self.0.get(key).into_iter().flat_map(Value::elements)
    }

    /// The members that are there, on one line.
    pub(super) fn joined(self, keys: &[&str], separator: &str) -> Option<String> {
        let parts: Vec<String> = keys.iter().filter_map(|key| self.line(key)).collect();
        caps::one_line(parts.join(separator).chars(), SUMMARY_CHARS)
    }

    /// The whole input on one line.
    pub(super) fn json(self) -> Option<String> {
        one_line_json(self.0, SUMMARY_CHARS).filter(|json| json != "{}" && json != "null")
    }
}

/// The shell command that a call runs.
pub(super) fn shell(call: &mut ToolCall, input: Input<'_>, key: &str, caps: &Caps) {
    if let Some(command) = input.0.get(key).and_then(Value::chars) {
        let command = caps::decoded(command, caps.command_chars);
        call.command_truncated = command.truncated;
        call.command = Some(command.text).filter(|command| !command.is_empty());
    }
}

/// The file that a call works on.
pub(super) fn file(call: &mut ToolCall, input: Input<'_>, key: &str) {
    call.file = input.whole(key).and_then(|path| base_name(&path));
}

/// The call in a block with `id`, `name` and an input. `describe` says what is about to be done, and sums the input up if it
/// knows the tool.
pub(super) fn called(
    block: Value<'_>,
    input: &str,
    caps: &Caps,
    describe: impl FnOnce(&mut ToolCall, &str, Input<'_>, &Caps) -> Option<String>,
) -> ToolCall {
    let name = text(block, "name").unwrap_or_else(|| "unnamed".to_string());
    let input = Input(block.get(input).unwrap_or_default());
    let mut call =
        ToolCall { id: text(block, "id").unwrap_or_default(), title: Some(title(&name)), ..ToolCall::default() };
    call.input_summary = describe(&mut call, &name, input, caps).or_else(|| input.json());
    call.name = name;
    call
}

/// The last part of a path, with either kind of separator.
pub(super) fn base_name(path: &str) -> Option<String> {
    let name = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
    caps::one_line(name.chars(), SUBTITLE_CHARS)
}

/// What a call is about to change.
pub(super) fn set_diff(call: &mut ToolCall, diff: Option<Diff>) {
    if let Some(diff) = diff {
        call.diff_truncated = diff.truncated;
        call.diff = Some(diff.text);
    }
}

/// What edits of one file, each an old and a new text, are about to change. Where in the file is not known yet: each is
/// placed behind the last one.
pub(super) fn edits(edits: impl IntoIterator<Item = (String, String)>, caps: &Caps) -> Option<Diff> {
    let texts: Vec<(String, String)> = edits.into_iter().map(|(old, new)| diff::as_lines(old, new)).collect();
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    let (mut old_lines, mut new_lines) = (0_u64, 0_u64);
    for (old, new) in &texts {
        for mut hunk in diff::hunks(old, new) {
            hunk.old_start = hunk.old_start.saturating_add(old_lines);
            hunk.new_start = hunk.new_start.saturating_add(new_lines);
            hunks.push(hunk);
        }
        old_lines = old_lines.saturating_add(line_count(old));
        new_lines = new_lines.saturating_add(line_count(new));
    }
    diff::render(&hunks, caps)
}

/// The name as a label: `mcp__server__tool` says which server's tool it is.
pub(super) fn title(name: &str) -> String {
    let parts = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    let readable = parts.map_or_else(|| name.to_string(), |(server, tool)| format!("{server}: {tool}"));
    caps::one_line(readable.chars(), SUBTITLE_CHARS).unwrap_or_else(|| name.to_string())
}

/// A member that is a text and not blank.
pub(super) fn text(value: Value<'_>, key: &str) -> Option<String> {
    value.get(key).and_then(Value::filled)
}

fn line_count(text: &str) -> u64 {
    u64::try_from(text.split_inclusive('\n').count()).unwrap_or(u64::MAX)
}

fn one_line_json(value: Value<'_>, cap_chars: usize) -> Option<String> {
    // Only the beginning is shown, and an input may be huge.
    let head = value.raw().get(..cap_chars.saturating_mul(16)).unwrap_or_else(|| value.raw());
    caps::one_line(String::from_utf8_lossy(head).chars(), cap_chars)
}
