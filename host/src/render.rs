//! A conversation for people: what `show` reads from a file and `tail` from a socket, in the same words and colours.

use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal as _, Write};

use crate::listing::one_line;
use panewire_core::entry::{Body, Entry, Role, ToolCall, ToolResult};
use panewire_core::ids::Seq;
use serde::Deserialize;

/// An entry as it is shown: borrowed from one of ours, or read from a frame.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct View<'a> {
    seq: u64,
    #[serde(borrow, default)]
    ts: Option<Cow<'a, str>>,
    role: Cow<'a, str>,
    kind: Cow<'a, str>,
    #[serde(default)]
    text: Cow<'a, str>,
    #[serde(default)]
    text_truncated: bool,
    #[serde(default)]
    tool: Option<ToolView<'a>>,
    #[serde(default)]
    result: Option<ResultView<'a>>,
    parsed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ToolView<'a> {
    name: Cow<'a, str>,
    #[serde(default)]
    title: Option<Cow<'a, str>>,
    #[serde(default)]
    subtitle: Option<Cow<'a, str>>,
    #[serde(default)]
    command: Option<Cow<'a, str>>,
    #[serde(default)]
    command_truncated: bool,
    #[serde(default)]
    diff: Option<Cow<'a, str>>,
    #[serde(default)]
    diff_truncated: bool,
    #[serde(default)]
    input_summary: Option<Cow<'a, str>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ResultView<'a> {
    ok: bool,
    #[serde(default)]
    output_summary: Option<Cow<'a, str>>,
    #[serde(default)]
    diff: Option<Cow<'a, str>>,
    #[serde(default)]
    truncated: bool,
}

impl<'a> View<'a> {
    /// The view of an entry of ours.
    pub fn of(seq: Seq, entry: &'a Entry) -> Self {
        let (kind, text, tool, result) = match &entry.body {
            Body::Message(text) => ("message", Some(text), None, None),
            Body::Thinking(text) => ("thinking", Some(text), None, None),
            Body::Attachment(text) => ("attachment", Some(text), None, None),
            Body::ToolCall(call) => ("tool_call", None, Some(call.into()), None),
            Body::ToolResult(result) => ("tool_result", None, None, Some(result.into())),
        };
        let role = match entry.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
        };
        Self {
            seq: seq.get(),
            ts: borrowed(entry.ts.as_deref()),
            role: role.into(),
            kind: kind.into(),
            text: text.map_or("", |text| &text.text).into(),
            text_truncated: text.is_some_and(|text| text.truncated),
            tool,
            result,
            parsed: entry.parsed,
        }
    }
}

impl<'a> From<&'a ToolCall> for ToolView<'a> {
    fn from(call: &'a ToolCall) -> Self {
        Self {
            name: call.name.as_str().into(),
            title: borrowed(call.title.as_deref()),
            subtitle: borrowed(call.subtitle.as_deref()),
            command: borrowed(call.command.as_deref()),
            command_truncated: call.command_truncated,
            diff: borrowed(call.diff.as_deref()),
            diff_truncated: call.diff_truncated,
            input_summary: borrowed(call.input_summary.as_deref()),
        }
    }
}

impl<'a> From<&'a ToolResult> for ResultView<'a> {
    fn from(result: &'a ToolResult) -> Self {
        Self {
            ok: result.ok,
            output_summary: borrowed(result.output_summary.as_deref()),
            diff: borrowed(result.diff.as_deref()),
            truncated: result.truncated,
        }
    }
}

fn borrowed(text: Option<&str>) -> Option<Cow<'_, str>> {
    text.map(Cow::Borrowed)
}

/// Writes entries, in colour or not.
#[derive(Debug, Clone, Copy)]
pub struct Renderer {
    colour: bool,
}

impl Renderer {
    /// In colour on a terminal that has some, unless its owner wants none.
    pub fn for_stdout() -> Self {
        let wanted = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let able = env::var_os("TERM").is_some_and(|term| term != "dumb");
        Self { colour: wanted && able && io::stdout().is_terminal() }
    }

    /// Writes an entry and an empty line.
    pub fn entry(self, out: &mut impl Write, view: &View<'_>) -> io::Result<()> {
        let (style, label) = match (&*view.role, &*view.kind) {
            (_, "tool_call") => (Style::Call, "call"),
            (_, "tool_result") => (Style::Call, "result"),
            (_, "thinking") => (Style::Dim, "thinking"),
            ("user", _) => (Style::User, "user"),
            ("assistant", _) => (Style::Assistant, "assistant"),
            (role, _) => (Style::Dim, role),
        };
        let mut title = format!("#{} {label}", view.seq);
        if let Some(tool) = &view.tool {
            push_all(&mut title, [" ", tool.title.as_ref().unwrap_or(&tool.name)]);
            if let Some(subtitle) = &tool.subtitle {
                push_all(&mut title, [": ", subtitle]);
            }
        }
        if let Some(result) = &view.result {
            title.push_str(if result.ok { " ok" } else { " failed" });
        }
        if !view.parsed {
            title.push_str(" (not understood)");
        }
        let style = if view.result.as_ref().is_some_and(|result| !result.ok) { Style::Bad } else { style };
        self.styled(out, style, &one_line(&title))?;
        if let Some(ts) = &view.ts {
            out.write_all(b"  ")?;
            self.styled(out, Style::Dim, &one_line(&clock(ts)))?;
        }
        out.write_all(b"\n")?;
        let body = if view.kind == "thinking" { Style::Dim } else { Style::Plain };
        self.block(out, body, &view.text, view.text_truncated)?;
        if let Some(tool) = &view.tool {
            match &tool.command {
                Some(command) => self.block(out, Style::Plain, &format!("$ {command}"), tool.command_truncated)?,
                None => self.block(out, Style::Plain, tool.input_summary.as_deref().unwrap_or_default(), false)?,
            }
            self.diff(out, tool.diff.as_deref().unwrap_or_default(), tool.diff_truncated)?;
        }
        if let Some(result) = &view.result {
            let cut_later = result.diff.is_some();
            let output = result.output_summary.as_deref().unwrap_or_default();
            self.block(out, Style::Plain, output, result.truncated && !cut_later)?;
            self.diff(out, result.diff.as_deref().unwrap_or_default(), result.truncated && cut_later)?;
        }
        out.write_all(b"\n")
    }

    /// Writes a line about the conversation and not of it.
    pub fn note(self, out: &mut impl Write, text: &str) -> io::Result<()> {
        self.styled(out, Style::Dim, &format!("-- {}", one_line(text)))?;
        out.write_all(b"\n\n")
    }

    fn block(self, out: &mut impl Write, style: Style, text: &str, cut: bool) -> io::Result<()> {
        for line in text.trim_end().lines() {
            self.indented(out, style, line)?;
        }
        if cut { self.indented(out, Style::Dim, "[cut here]") } else { Ok(()) }
    }

    fn diff(self, out: &mut impl Write, diff: &str, cut: bool) -> io::Result<()> {
        for line in diff.lines() {
            let style = match line.as_bytes().first() {
                Some(b'+') => Style::Good,
                Some(b'-') => Style::Bad,
                Some(b'@') => Style::Call,
                _ => Style::Plain,
            };
            self.indented(out, style, line)?;
        }
        if cut { self.indented(out, Style::Dim, "[cut here]") } else { Ok(()) }
    }

    fn indented(self, out: &mut impl Write, style: Style, line: &str) -> io::Result<()> {
        if line.is_empty() {
            return out.write_all(b"\n");
        }
        out.write_all(b"  ")?;
        self.styled(out, style, &harmless(line))?;
        out.write_all(b"\n")
    }

    fn styled(self, out: &mut impl Write, style: Style, text: &str) -> io::Result<()> {
        match style.code().filter(|_| self.colour) {
            Some(code) => write!(out, "\u{1b}[{code}m{text}\u{1b}[0m"),
            None => out.write_all(text.as_bytes()),
        }
    }
}

#[derive(Clone, Copy)]
enum Style {
    Plain,
    Dim,
    User,
    Assistant,
    Call,
    Good,
    Bad,
}

impl Style {
    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Dim => Some("2"),
            Self::User => Some("1;36"),
            Self::Assistant => Some("1;35"),
            Self::Call => Some("33"),
            Self::Good => Some("32"),
            Self::Bad => Some("31"),
        }
    }
}

fn push_all<'a>(to: &mut String, parts: impl IntoIterator<Item = &'a str>) {
    to.extend(parts);
}

/// `2026-03-01T10:00:00.000Z` without what nobody reads.
fn clock(ts: &str) -> String {
    match (ts.get(..10), ts.get(10..11), ts.get(11..19)) {
        (Some(date), Some("T"), Some(time)) => format!("{date} {time}"),
        _ => ts.to_owned(),
    }
}

/// A terminal obeys control characters, and a conversation quotes what others wrote.
fn harmless(line: &str) -> String {
    line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use panewire_core::entry::Text;

    use super::*;

    fn shown(colour: bool, view: &View<'_>) -> String {
        let mut out = Vec::new();
        Renderer { colour }.entry(&mut out, view).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn entry(role: Role, body: Body) -> Entry {
        Entry {
            id: "u#0".into(),
            parent_id: None,
            ts: Some("2026-03-01T10:00:07.123Z".into()),
            role,
            body,
            parsed: true,
        }
    }

    fn plain(seq: u64, entry: &Entry) -> String {
        shown(false, &View::of(Seq::after(seq - 1), entry))
    }

    #[test]
    fn every_kind_of_entry_has_its_look() {
        let text = Text { text: "one\n\ntwo\n".into(), truncated: true };
        assert_eq!(
            plain(7, &entry(Role::User, Body::Message(text))),
            "#7 user  2026-03-01 10:00:07\n  one\n\n  two\n  [cut here]\n\n"
        );
        assert_eq!(
            plain(8, &entry(Role::Assistant, Body::Thinking(Text { text: "hm".into(), truncated: false }))),
            "#8 thinking  2026-03-01 10:00:07\n  hm\n\n"
        );
        let call = ToolCall {
            id: "t".into(),
            name: "Bash".into(),
            subtitle: Some("Count lines".into()),
            command: Some("wc -l\ntrue".into()),
            input_summary: Some("wc -l true".into()),
            ..ToolCall::default()
        };
        assert_eq!(
            plain(9, &entry(Role::Assistant, Body::ToolCall(call))),
            "#9 call Bash: Count lines  2026-03-01 10:00:07\n  $ wc -l\n  true\n\n"
        );
        let edit = ToolCall {
            name: "Edit".into(),
            input_summary: Some("/a/b.rs".into()),
            diff: Some("@@ -1 +1 @@\n-a\n+b".into()),
            diff_truncated: true,
            ..ToolCall::default()
        };
        assert_eq!(
            plain(10, &entry(Role::Assistant, Body::ToolCall(edit))),
            "#10 call Edit  2026-03-01 10:00:07\n  /a/b.rs\n  @@ -1 +1 @@\n  -a\n  +b\n  [cut here]\n\n"
        );
        let foreign = ToolCall { name: "mcp__a__b".into(), title: Some("a: b".into()), ..ToolCall::default() };
        let foreign = entry(Role::Assistant, Body::ToolCall(foreign));
        assert_eq!(plain(12, &foreign), "#12 call a: b  2026-03-01 10:00:07\n\n");
        let result = ToolResult { ok: false, output_summary: Some("no such file".into()), ..ToolResult::default() };
        let mut failed = entry(Role::User, Body::ToolResult(result));
        failed.ts = None;
        failed.parsed = false;
        assert_eq!(plain(11, &failed), "#11 result failed (not understood)\n  no such file\n\n");
    }

    #[test]
    fn a_frame_looks_like_the_entry_it_was_made_of() {
        let call = ToolCall {
            id: "t".into(),
            name: "Bash".into(),
            title: Some("Run".into()),
            subtitle: Some("s".into()),
            command: Some("c".into()),
            command_truncated: true,
            ..ToolCall::default()
        };
        let result = ToolResult {
            for_id: "t".into(),
            ok: true,
            output_summary: Some("\"q\"".into()),
            diff: None,
            truncated: true,
        };
        for body in [
            Body::Message(Text { text: "a\u{e4}\n".into(), truncated: true }),
            Body::ToolCall(call),
            Body::ToolResult(result),
        ] {
            let entry = entry(Role::Assistant, body);
            let frame = panewire_core::mobile::frames::bare_entry(Seq::FIRST, &entry);
            let view: View<'_> = serde_json::from_slice(&frame).unwrap();
            assert_eq!(view, View::of(Seq::FIRST, &entry));
        }
    }

    #[test]
    fn colour_is_only_around_text_and_no_text_can_bring_its_own() {
        let entry = entry(Role::User, Body::Message(Text { text: "\u{1b}[31mred\u{7}\tx".into(), truncated: false }));
        assert_eq!(plain(1, &entry), "#1 user  2026-03-01 10:00:07\n  \u{fffd}[31mred\u{fffd}\tx\n\n");
        assert_eq!(
            shown(true, &View::of(Seq::FIRST, &entry)),
            "\u{1b}[1;36m#1 user\u{1b}[0m  \u{1b}[2m2026-03-01 10:00:07\u{1b}[0m\n  \u{fffd}[31mred\u{fffd}\tx\n\n"
        );
    }

    #[test]
    fn a_strange_time_stamp_is_shown_as_it_is() {
        assert_eq!(clock("2026-03-01T10:00:07Z"), "2026-03-01 10:00:07");
        assert_eq!(clock("yesterday"), "yesterday");
        assert_eq!(clock("2026-03-0\u{e4}T10:00:07Z"), "2026-03-0\u{e4}T10:00:07Z");
    }
}
