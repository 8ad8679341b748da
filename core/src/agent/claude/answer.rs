//! The answer of a tool, as a person reads it.

use alloc::string::String;
use alloc::vec::Vec;

use super::patch;
use crate::agent::Caps;
use crate::agent::shown::output;
use crate::entry::ansi::Plain;
use crate::entry::diff::{self, Diff};
use crate::entry::{Text, ToolResult};
use crate::source::json::Value;

/// The answer in a block. `rich` is what the record says beside it, if it is about this answer.
pub(super) fn tool_result(block: Value<'_>, rich: Option<Value<'_>>, caps: &Caps) -> ToolResult {
    let failed = block.get("is_error").is_some_and(Value::is_true);
    let rich = Rich::read(rich);
    let diff = if failed { None } else { rich.diff(caps) };
    let mut result = ToolResult {
        for_id: block.get("tool_use_id").and_then(Value::filled).unwrap_or_default(),
        ok: !failed && !rich.interrupted(),
        ..ToolResult::default()
    };
    // An applied edit speaks for itself; a new file is worth its sentence.
    if diff.is_none() || rich.creates() {
        let output = rich.output(caps).or_else(|| content(block, caps));
        if let Some(output) = output {
            result.truncated |= output.truncated;
            result.output_summary = Some(output.text);
        }
    }
    if let Some(diff) = diff {
        result.truncated |= diff.truncated;
        result.diff = Some(diff.text);
    }
    result
}

/// `toolUseResult`: what the tool said in its own form.
enum Rich<'a> {
    /// Members that depend on the tool, looked at once.
    Object(Vec<(&'a [u8], Value<'a>)>),
    /// A sentence: nearly always what went wrong.
    Text(Value<'a>),
    /// Absent, a list (the same as the block's content), or anything else.
    None,
}

impl<'a> Rich<'a> {
    fn read(value: Option<Value<'a>>) -> Self {
        match value {
            Some(value) if value.is_object() => Self::Object(value.members().collect()),
            Some(value) if !value.is_empty() && value.literal().is_some() => Self::Text(value),
            _ => Self::None,
        }
    }

    fn get(&self, key: &str) -> Option<Value<'a>> {
        let Self::Object(members) = self else { return None };
        members.iter().rev().find(|(name, _)| *name == key.as_bytes()).map(|(_, value)| *value)
    }

    fn interrupted(&self) -> bool {
        self.get("interrupted").is_some_and(Value::is_true)
    }

    fn creates(&self) -> bool {
        self.get("type").is_some_and(|kind| kind.is("create"))
    }

    fn diff(&self, caps: &Caps) -> Option<Diff> {
        let patch = self.get("structuredPatch")?;
        let hunks = patch::hunks(self, patch);
        if !hunks.is_empty() {
            return diff::render(&hunks, caps);
        }
        let text = |key: &str| self.get(key).and_then(Value::text);
        let after = text("content")?;
        let before = if self.creates() { String::new() } else { text("originalFile")? };
        diff::between(&before, &after, caps)
    }

    fn output(&self, caps: &Caps) -> Option<Text> {
        match self {
            Self::Text(text) => output(caps, |out| told(*text, out)),
            Self::Object(_) => {
                let stdout = self.get("stdout").filter(|out| !out.is_empty());
                let stderr = self.get("stderr").filter(|err| !err.is_empty());
                output(caps, |out| {
                    if let Some(chars) = stdout.and_then(Value::chars) {
                        out.decode(chars);
                    }
                    if let Some(chars) = stderr.and_then(Value::chars) {
                        out.fresh_line();
                        out.push_str("[stderr] ");
                        out.decode(chars);
                    }
                })
            }
            Self::None => None,
        }
    }
}

impl<'a> patch::Source<'a> for &Rich<'a> {
    fn text(&self, key: &str) -> Option<Value<'a>> {
        self.get(key)
    }
}

/// What the block itself says: all that the assistant was told.
fn content(block: Value<'_>, caps: &Caps) -> Option<Text> {
    let content = block.get("content")?;
    if content.literal().is_some() {
        return output(caps, |out| told(content, out));
    }
    if content.is_object() {
        return output(caps, |out| element(content, out));
    }
    output(caps, |out| {
        for (index, part) in content.elements().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            element(part, out);
        }
    })
}

fn element(part: Value<'_>, out: &mut Plain<'_>) {
    let name = |key: &str| part.get(key).and_then(Value::filled);
    let kind = name("type").unwrap_or_default();
    if let Some(text) = part.get("text").and_then(Value::chars).or_else(|| part.chars()) {
        out.decode(text);
    } else if let Some(title) = name("title").or_else(|| name("tool_name")).or_else(|| name("error_code")) {
        out.push_str(&title);
        if let Some(url) = name("url") {
            out.push(' ');
            out.push_str(&url);
        }
    } else if !kind.is_empty() {
        out.push_str(&["[", &kind, "]"].concat());
    }
}

/// Marks that the harness puts around what it says.
const WRAPPERS: &[(&str, &str)] =
    &[("<tool_use_error>", "</tool_use_error>"), ("<persisted-output>", "</persisted-output>")];

/// Writes a text without the mark around it.
fn told(text: Value<'_>, out: &mut Plain<'_>) {
    let Some(mut chars) = text.chars() else { return };
    chars.skip_blanks();
    let wrapper = WRAPPERS.iter().find(|(opening, _)| chars.take_prefix(opening));
    match wrapper {
        Some((_, end)) => {
            let text: String = chars.collect();
            let text = text.trim_end();
            out.push_str(text.strip_suffix(end).unwrap_or(text));
        }
        None => out.decode(chars),
    }
}
