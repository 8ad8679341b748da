//! `structuredPatch`: the hunks that an edit left, with the tabs put back that Claude Code writes as two spaces.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::entry::diff::{DiffLine, Hunk, Side};
use crate::source::json::Value;

/// Where the exact texts of an edit may stand.
pub(super) trait Source<'a> {
    /// The member of that name.
    fn text(&self, key: &str) -> Option<Value<'a>>;
}

/// The hunks of a patch. What is no hunk is left out.
pub(super) fn hunks<'a>(source: impl Source<'a>, patch: Value<'a>) -> Vec<Hunk<'static>> {
    let mut hunks: Vec<Hunk<'static>> = patch.elements().filter_map(hunk).collect();
    let indented = hunks.iter().flat_map(|hunk| &hunk.lines).any(|line| line.text.contains("  "));
    if indented {
        let tabs = Tabs::read(&source);
        if !tabs.is_empty() {
            for hunk in &mut hunks {
                tabs.restore(hunk);
            }
        }
    }
    hunks
}

fn hunk(value: Value<'_>) -> Option<Hunk<'static>> {
    let start = |key: &str| value.get(key).and_then(Value::number);
    let mut hunk = Hunk { old_start: start("oldStart")?, new_start: start("newStart")?, lines: Vec::new() };
    for line in value.get("lines")?.elements() {
        let text = line.text()?;
        let mut chars = text.chars();
        let side = match chars.next() {
            Some('-') => Side::Old,
            Some('+') => Side::New,
            Some('\\') => {
                if let Some(last) = hunk.lines.last_mut() {
                    last.unterminated = true;
                }
                continue;
            }
            _ => Side::Both,
        };
        // A newline inside would make two lines of it.
        let text: String = chars.as_str().replace('\n', " ");
        hunk.lines.push(DiffLine { side, text: text.into(), unterminated: false });
    }
    Some(hunk)
}

/// The lines of the exact texts that have tabs: by their number where the whole file is known, else by their look.
struct Tabs {
    before: Vec<String>,
    after: Vec<String>,
    by_look: BTreeMap<String, String>,
}

impl Tabs {
    fn read<'a>(source: &impl Source<'a>) -> Self {
        let text = |key: &str| {
            let value = source.text(key)?;
            // Most files have no tab: their text need not be decoded to know that.
            let raw = value.raw();
            let tabbed = memchr::memmem::find(raw, b"\\t").is_some() || memchr::memchr(b'\t', raw).is_some();
            tabbed.then(|| value.text()).flatten()
        };
        let original = text("originalFile").or_else(|| text("originalFileContents"));
        let (old, new) = (text("oldString"), text("newString"));
        let after = text("content");
        let mut by_look = BTreeMap::new();
        for line in [&new, &old, &after, &original].into_iter().flatten().flat_map(|text| text.lines()) {
            if line.contains('\t') {
                by_look.entry(look(line)).or_insert_with(|| line.into());
            }
        }
        let edits = source.text("edits");
        for edit in edits.into_iter().flat_map(Value::elements) {
            for text in ["new_string", "old_string"].iter().filter_map(|key| edit.get(key).and_then(Value::text)) {
                for line in text.lines().filter(|line| line.contains('\t')) {
                    by_look.entry(look(line)).or_insert_with(|| line.into());
                }
            }
        }
        let edited = match (&original, source.text("oldString"), source.text("newString")) {
            (Some(original), Some(old), Some(new)) => {
                let (old, new) = (old.text().unwrap_or_default(), new.text().unwrap_or_default());
                let all = source.text("replaceAll").is_some_and(Value::is_true);
                let count = if all { usize::MAX } else { 1 };
                (!old.is_empty()).then(|| original.replacen(&old, &new, count))
            }
            _ => None,
        };
        let lines =
            |text: Option<String>| text.map(|text| text.lines().map(String::from).collect()).unwrap_or_default();
        Self { before: lines(original), after: lines(after.or(edited)), by_look }
    }

    fn is_empty(&self) -> bool {
        self.by_look.is_empty()
    }

    fn restore(&self, hunk: &mut Hunk<'static>) {
        let (mut old, mut new) = (hunk.old_start, hunk.new_start);
        for line in &mut hunk.lines {
            let known = match line.side {
                Side::New => numbered(&self.after, new),
                Side::Old | Side::Both => numbered(&self.before, old),
            };
            let exact = match known {
                Some(known) if look(known) == *line.text => Some(known),
                _ => self.by_look.get(line.text.as_ref()).map(String::as_str),
            };
            if let Some(exact) = exact {
                line.text = String::from(exact).into();
            }
            old = old.saturating_add(u64::from(line.side != Side::New));
            new = new.saturating_add(u64::from(line.side != Side::Old));
        }
    }
}

fn numbered(lines: &[String], number: u64) -> Option<&str> {
    let index = usize::try_from(number.checked_sub(1)?).ok()?;
    lines.get(index).map(String::as_str)
}

/// How a line is written in a patch.
fn look(line: &str) -> String {
    line.replace('\t', "  ")
}
