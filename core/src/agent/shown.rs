//! How things are shown, whatever kind of agent wrote them: what cannot be read, names, and texts up to their caps.

use alloc::format;
use alloc::string::{String, ToString as _};

use super::Caps;
use crate::entry::ansi::{self, Plain};
use crate::entry::caps::Capped;
use crate::entry::{Body, Entry, Role, Text, caps};
use crate::limits::UNREADABLE_CHARS;
use crate::source::json::Value;

/// A line whose bytes were not kept.
pub(super) fn too_long(offset: u64, bytes: u64) -> Entry {
    unreadable(offset, 0, format!("line too long to read ({bytes} bytes)"))
}

/// Bytes in which no record was found.
pub(super) fn fragment(offset: u64, at: usize, bytes: &[u8]) -> Entry {
    unreadable(offset, at, format!("unreadable line ({} bytes): {}", bytes.len(), glance(bytes)))
}

fn unreadable(offset: u64, at: usize, text: String) -> Entry {
    Entry {
        id: format!("@{}#0", place(offset, at)),
        parent_id: None,
        ts: None,
        role: Role::System,
        body: Body::Message(Text { text, truncated: false }),
        parsed: false,
    }
}

/// A place in a line that begins at `offset`, as a place in the file.
pub(super) fn place(offset: u64, at: usize) -> u64 {
    offset.saturating_add(u64::try_from(at).unwrap_or(u64::MAX))
}

/// A text that is there and not blank.
pub(super) fn named(value: Option<Value<'_>>) -> Option<String> {
    value.and_then(Value::filled)
}

/// A text up to its cap.
pub(super) fn cut(text: Value<'_>, caps: &Caps) -> Text {
    text.chars().map(|chars| caps::decoded(chars, caps.text_chars)).unwrap_or_default()
}

/// All of a text.
pub(super) fn whole(text: Value<'_>) -> String {
    text.text().unwrap_or_default()
}

/// A text of our own.
pub(super) fn note(text: String) -> Text {
    Text { text, truncated: false }
}

/// A text without what only a terminal understands; never blank.
pub(super) fn legible(text: &str, caps: &Caps) -> Text {
    let plain = ansi::plain(text);
    let nothing = || format!("(nothing to read in {} characters)", text.chars().count());
    let shown = if plain.is_empty() { nothing() } else { plain };
    caps::text(shown.chars(), caps.text_chars)
}

/// What a tool printed, without what only a terminal understands; nothing if it is blank.
pub(super) fn output(caps: &Caps, write: impl FnOnce(&mut Plain<'_>)) -> Option<Text> {
    let mut out = Capped::indented(caps.output_chars);
    let mut terminal = Plain::new(&mut out);
    write(&mut terminal);
    terminal.finish();
    (!out.is_empty()).then(|| out.into_noted_text())
}

/// A text, or the beginning of what is none.
pub(super) fn seen(value: Value<'_>) -> String {
    value.filled().unwrap_or_else(|| glance(value.raw()))
}

/// The beginning of bytes that may be anything, on one line.
pub(super) fn glance(bytes: &[u8]) -> String {
    let head = bytes.get(..UNREADABLE_CHARS * 4 + 4).unwrap_or(bytes);
    let text = String::from_utf8_lossy(head);
    caps::one_line(text.chars(), UNREADABLE_CHARS).unwrap_or_else(|| "nothing that can be shown".to_string())
}
