//! Changes of files: as a call wants them (`*** Begin Patch`), and as they were made.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::agent::Caps;
use crate::entry::diff::{self, Diff, DiffLine, Hunk, Side};
use crate::entry::unified;
use crate::source::json::Value;

/// What begins a patch, wherever it stands.
const BEGIN: &str = "*** Begin Patch";

/// The patch in a program that applies one: the text of a string in it.
pub(super) fn in_program(text: &str) -> Option<String> {
    let at = text.find(BEGIN)?;
    // In the quotes of a shell lines are lines.
    text.get(at..)?.strip_prefix(BEGIN)?.strip_prefix("\\n")?;
    let quoted = text.get(..at)?.strip_suffix('"').and_then(|before| text.get(before.len()..))?;
    let mut escaped = false;
    let end = quoted.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    Value(quoted.as_bytes().get(..end.saturating_add(2))?).text()
}

/// The change of one file.
#[derive(Debug, Clone, Default)]
pub(super) struct Change<'t> {
    /// Where it was, and where it is if it was moved.
    pub(super) path: String,
    pub(super) moved_to: Option<String>,
    pub(super) is: Kind,
    hunks: Vec<Hunk<'t>>,
}

/// What becomes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Kind {
    Added,
    Deleted,
    #[default]
    Updated,
}

/// The changes that a patch inside this text wants, if there is one.
pub(super) fn wanted(text: &str) -> Vec<Change<'_>> {
    let Some(at) = text.find(BEGIN) else { return Vec::new() };
    let mut changes: Vec<Change<'_>> = Vec::new();
    // Where in the file a hunk lies is not known yet: each is placed behind the last one.
    let (mut old, mut new) = (1_u64, 1_u64);
    let mut ended = false;
    for line in text.get(at..).unwrap_or_default().lines().skip(1) {
        if line.starts_with("*** End Patch") {
            break;
        }
        let begun = [
            ("*** Add File: ", Kind::Added),
            ("*** Delete File: ", Kind::Deleted),
            ("*** Update File: ", Kind::Updated),
        ]
        .into_iter()
        .find_map(|(mark, kind)| line.strip_prefix(mark).map(|path| (path.trim(), kind)));
        if let Some((path, is)) = begun {
            changes.push(Change { path: path.to_string(), is, ..Change::default() });
            (old, new, ended) = (1, 1, false);
            continue;
        }
        let Some(change) = changes.last_mut() else { continue };
        if let Some(path) = line.strip_prefix("*** Move to: ") {
            change.moved_to = Some(path.trim().to_string());
            continue;
        }
        let mut chars = line.chars();
        let side = match chars.next() {
            Some('+') => Side::New,
            // A file that is made has nothing else in it, and of one that is removed nothing is said.
            _ if change.is != Kind::Updated => continue,
            Some('-') => Side::Old,
            // Behind the end of the file a line that is empty is between hunks.
            None if ended => continue,
            Some(' ') | None => Side::Both,
            Some('@') => {
                ended = false;
                change.hunks.push(Hunk { old_start: old, new_start: new, lines: Vec::new() });
                continue;
            }
            Some(_) => {
                ended |= line.trim_end() == "*** End of File";
                continue;
            }
        };
        if change.hunks.is_empty() {
            change.hunks.push(Hunk { old_start: old, new_start: new, lines: Vec::new() });
        }
        old = old.saturating_add(u64::from(side != Side::New));
        new = new.saturating_add(u64::from(side != Side::Old));
        if let Some(hunk) = change.hunks.last_mut() {
            hunk.lines.push(DiffLine { side, text: chars.as_str().into(), unterminated: false });
        }
    }
    changes
}

/// The changes that were made: `{path: {type, unified_diff | content, move_path}}`, or `{path: {type: {the same}}}` in older
/// versions, as text that outlives the record.
pub(super) struct Made(Vec<(String, Option<String>, Kind, String)>);

impl Made {
    /// Reads the changes of an event.
    pub(super) fn read(changes: Value<'_>) -> Self {
        let text = |change: Value<'_>, key: &str| change.get(key).and_then(Value::text);
        let all = changes.members().map(|(path, change)| {
            let (kind, change) = match change.get("type").and_then(Value::text) {
                Some(kind) => (kind, change),
                None => {
                    let inner =
                        ["add", "delete", "update"].into_iter().find_map(|kind| Some((kind, change.get(kind)?)));
                    inner.map_or_else(|| (String::new(), change), |(kind, change)| (kind.to_string(), change))
                }
            };
            let kind = match kind.as_str() {
                "add" => Kind::Added,
                "delete" => Kind::Deleted,
                _ => Kind::Updated,
            };
            let path = Value(&[b"\"", path, b"\""].concat()).text().unwrap_or_default();
            let body = text(change, "unified_diff").or_else(|| text(change, "content")).unwrap_or_default();
            (path, text(change, "move_path"), kind, body)
        });
        Self(all.collect())
    }

    /// The same with their hunks.
    pub(super) fn changes(&self) -> Vec<Change<'_>> {
        self.0
            .iter()
            .map(|(path, moved_to, is, body)| Change {
                path: path.clone(),
                moved_to: moved_to.clone(),
                is: *is,
                hunks: match is {
                    Kind::Added => diff::hunks("", body),
                    Kind::Deleted => diff::hunks(body, ""),
                    Kind::Updated => unified::hunks(body),
                },
            })
            .collect()
    }
}

/// One diff of all changes: without file headers if it is of a single file that stays where it is.
pub(super) fn diff(changes: &[Change<'_>], caps: &Caps) -> Option<Diff> {
    if let [change] = changes
        && change.moved_to.is_none()
    {
        return diff::render(&change.hunks, caps);
    }
    let mut all = Diff::default();
    let mut left = *caps;
    for change in changes {
        let before = if change.is == Kind::Added { "/dev/null" } else { &change.path };
        let after = match (&change.moved_to, change.is) {
            (_, Kind::Deleted) => "/dev/null",
            (Some(moved_to), _) => moved_to,
            (None, _) => &change.path,
        };
        let header = format!("--- {}\n+++ {}\n", file_name(before), file_name(after));
        let taken = header.chars().count();
        // With less than a hunk's header and a line there is no room for a file.
        let lines = left.diff_lines.checked_sub(2).filter(|lines| *lines >= 2);
        let (Some(lines), Some(chars)) = (lines, left.diff_chars.checked_sub(taken)) else {
            all.truncated = true;
            break;
        };
        let room = Caps { diff_lines: lines, diff_chars: chars, ..left };
        let Some(diff) = diff::render(&change.hunks, &room) else { continue };
        if !all.text.is_empty() {
            all.text.push('\n');
        }
        all.text.push_str(&header);
        all.text.push_str(&diff.text);
        all.truncated |= diff.truncated;
        left.diff_lines = lines.saturating_sub(diff.text.lines().count());
        left.diff_chars = chars.saturating_sub(diff.text.chars().count().saturating_add(1));
        if diff.truncated {
            break;
        }
    }
    (!all.text.is_empty()).then_some(all)
}

/// A path in the header of a diff, which ends at the first blank unless a tab ends it.
fn file_name(path: &str) -> String {
    let mut name: String = path.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect();
    if name.contains(' ') {
        name.push('\t');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_a_diff_for_each_file() {
        let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.rs\n@@ fn a\n x\n-y\n+z\n@@\n-1\n+2\n\
                     *** Add File: b.md\n+new\n*** Delete File: c\n*** Update File: d\n*** Move to: e\n@@\n-d\n+e\n*** End Patch\nEOF";
        let changes = wanted(patch);
        let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, ["src/a.rs", "b.md", "c", "d"]);
        let expected = "--- src/a.rs\n+++ src/a.rs\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n@@ -3,1 +3,1 @@\n-1\n+2\n\
                        --- /dev/null\n+++ b.md\n@@ -0,0 +1,1 @@\n+new\n--- d\n+++ e\n@@ -1,1 +1,1 @@\n-d\n+e";
        assert_eq!(diff(&changes, &Caps::WIRE), Some(Diff { text: expected.into(), truncated: false }));
        assert_eq!(diff(&changes[1..2], &Caps::WIRE).unwrap().text, "@@ -0,0 +1,1 @@\n+new");
        assert_eq!(diff(&wanted("no patch"), &Caps::WIRE), None);
    }

    #[test]
    fn what_stands_between_hunks_and_files_is_no_line_of_them() {
        let patch = "*** Begin Patch\r\n*** Add File: a\r\n+1\r\n\r\n+2\r\n\r\n*** Update File: b\r\n@@\r\n 1\r\n\r\n-2\r\n\
                     *** End of File\r\n\r\n@@ tail\r\n+3\r\n*** End of File\r\n\r\n*** Delete File: c\r\n\r\n*** End Patch\r\n";
        let expected = "--- /dev/null\n+++ a\n@@ -0,0 +1,2 @@\n+1\n+2\n--- b\n+++ b\n@@ -1,3 +1,2 @@\n 1\n \n-2\n@@ -3,0 +3,1 @@\n+3";
        assert_eq!(diff(&wanted(patch), &Caps::WIRE), Some(Diff { text: expected.into(), truncated: false }));
    }

    #[test]
    fn a_path_cannot_break_a_header() {
        let changes = br#"{"a\n+++ b":{"type":"add","content":"1\n"},"c d":{"add":{"content":"2\n"}},
                           "e":{"update":{"unified_diff":"@@ -1 +1 @@\n-1\n+2\n","move_path":"f"}},
                           "g":{"delete":{"content":"3"}},"h":{"delete":{}}}"#;
        let expected = "--- /dev/null\n+++ a\u{fffd}+++ b\t\n@@ -0,0 +1,1 @@\n+1\n--- /dev/null\n+++ c d\t\n@@ -0,0 +1,1 @@\n+2\n\
                        --- e\n+++ f\n@@ -1,1 +1,1 @@\n-1\n+2\n--- g\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-3\n\\ No newline at end of file";
        assert_eq!(diff(&Made::read(Value(changes)).changes(), &Caps::WIRE).unwrap().text, expected);
    }

    #[test]
    fn a_patch_in_a_program_is_found() {
        let program =
            r#"text(await tools.apply_patch("*** Begin Patch\n*** Update File: a\n@@\n-\"x\\\n+y\n*** End Patch\n"))"#;
        let body = in_program(program).unwrap();
        assert_eq!(body, "*** Begin Patch\n*** Update File: a\n@@\n-\"x\\\n+y\n*** End Patch\n");
        for none in ["*** Begin Patch\\n", "\"*** Begin Patch\n\"", "\"*** Begin Patch\\n", "`*** Begin Patch`", ""] {
            assert_eq!(in_program(none), None, "{none}");
        }
    }

    #[test]
    fn many_files_share_the_caps() {
        let patch = "*** Begin Patch\n*** Add File: a\n+1\n*** Add File: b\n+1\n*** End Patch";
        let caps = Caps { diff_lines: 6, ..Caps::WIRE };
        let cut = diff(&wanted(patch), &caps).unwrap();
        assert_eq!((cut.text.as_str(), cut.truncated), ("--- /dev/null\n+++ a\n@@ -0,0 +1,1 @@\n+1", true));
    }

    #[test]
    fn changes_that_were_made_are_read() {
        let changes =
            br#"{"/w/\u00e9.txt":{"type":"update","unified_diff":"@@ -1,1 +1,1 @@\n-a\n+b\n","move_path":null},
                           "/w/n":{"type":"add","content":"x\n"},"/w/o":{"type":"delete","content":"y\n"}}"#;
        let made = Made::read(Value(changes));
        let expected = "--- /w/é.txt\n+++ /w/é.txt\n@@ -1,1 +1,1 @@\n-a\n+b\n--- /dev/null\n+++ /w/n\n@@ -0,0 +1,1 @@\n+x\n\
                        --- /w/o\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-y";
        assert_eq!(diff(&made.changes(), &Caps::WIRE).unwrap().text, expected);
    }
}
