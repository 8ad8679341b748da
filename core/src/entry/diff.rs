//! Unified diffs that apply: from before and after, or from hunks that an agent recorded.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use similar::{Algorithm, ChangeTag, capture_diff_slices, group_diff_ops};

use super::caps::Caps;
use crate::limits::DIFF_SEARCH_LINES;

/// What stands after a line that ends without a newline.
const NO_NEWLINE: &str = "\\ No newline at end of file";

/// Lines of unchanged text around a change.
const CONTEXT: usize = 3;

/// A unified diff, without file headers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    /// Its hunks, without a newline at the end.
    pub text: String,
    /// Whether some of it was cut.
    pub truncated: bool,
}

/// One hunk. How many lines it spans is told by its lines, never stored, so that its header is always true.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk<'t> {
    /// The first line of the old text, from 1.
    pub old_start: u64,
    /// The first line of the new text, from 1.
    pub new_start: u64,
    /// Its lines.
    pub lines: Vec<DiffLine<'t>>,
}

impl Hunk<'_> {
    /// Whether there is anything in it but what stays as it is.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        self.lines.iter().any(|line| line.side != Side::Both)
    }
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffLine<'t> {
    /// In which of the two texts it stands.
    pub side: Side,
    /// Its text, without a newline.
    pub text: Cow<'t, str>,
    /// Whether the text ends here without a newline.
    pub unterminated: bool,
}

/// In which text a line of a diff stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// In both.
    Both,
    /// In the old one.
    Old,
    /// In the new one.
    New,
}

impl Side {
    const fn mark(self) -> char {
        match self {
            Self::Both => ' ',
            Self::Old => '-',
            Self::New => '+',
        }
    }
}

/// The diff between two texts. Nothing if they are equal.
#[must_use]
pub fn between(before: &str, after: &str, caps: &Caps) -> Option<Diff> {
    render(&hunks(before, after), caps)
}

/// The diff between two pieces of a file: as whole lines, since where a piece ends is not where the file ends.
#[must_use]
pub fn between_pieces(before: &str, after: &str, caps: &Caps) -> Option<Diff> {
    let (before, after) = as_lines(before.into(), after.into());
    between(&before, &after, caps)
}

/// Two pieces of a file as whole lines.
#[must_use]
pub fn as_lines(mut before: String, mut after: String) -> (String, String) {
    let open = |piece: &str| !piece.is_empty() && !piece.ends_with('\n');
    if open(&before) || open(&after) {
        for piece in [&mut before, &mut after] {
            if !piece.is_empty() {
                piece.push('\n');
            }
        }
    }
    (before, after)
}

/// Writes hunks down, up to the caps. What is cut off leaves hunks that are true in themselves.
#[must_use]
pub fn render(hunks: &[Hunk<'_>], caps: &Caps) -> Option<Diff> {
    let mut diff = Diff::default();
    let mut room = Room { lines: caps.diff_lines, chars: caps.diff_chars };
    for hunk in hunks.iter().filter(|hunk| !hunk.lines.is_empty()) {
        let kept = room.take(hunk);
        diff.truncated = kept < hunk.lines.len();
        let cut;
        let lines = match (kept, hunk.lines.first()) {
            (0, Some(first)) if diff.text.is_empty() => {
                // A single line that is longer than the cap: its beginning is better than nothing.
                cut = shortened(first, room.chars.saturating_sub(HEADER_CHARS));
                core::slice::from_ref(&cut)
            }
            _ => hunk.lines.get(..kept).unwrap_or_default(),
        };
        write(&mut diff.text, hunk, lines);
        if diff.truncated {
            break;
        }
    }
    (!diff.text.is_empty()).then_some(diff)
}

/// Characters that a header takes at most, when it is not counted exactly.
const HEADER_CHARS: usize = 64;

struct Room {
    lines: usize,
    chars: usize,
}

impl Room {
    /// How many lines of the hunk there is room for.
    fn take(&mut self, hunk: &Hunk<'_>) -> usize {
        let header = header(hunk, &hunk.lines).chars().count() + 1;
        let (Some(lines), Some(chars)) = (self.lines.checked_sub(1), self.chars.checked_sub(header)) else { return 0 };
        let (mut lines, mut chars) = (lines, chars);
        for (kept, line) in hunk.lines.iter().enumerate() {
            let marker = if line.unterminated { NO_NEWLINE.len() + 1 } else { 0 };
            let (Some(lines_left), Some(chars_left)) = (
                lines.checked_sub(1 + usize::from(line.unterminated)),
                chars.checked_sub(line.text.chars().count() + 2 + marker),
            ) else {
                return kept;
            };
            (lines, chars) = (lines_left, chars_left);
        }
        *self = Self { lines, chars };
        hunk.lines.len()
    }
}

fn shortened<'t>(line: &DiffLine<'_>, chars: usize) -> DiffLine<'t> {
    let mut text: String = line.text.chars().take(chars.saturating_sub(1)).collect();
    text.push('…');
    DiffLine { side: line.side, text: text.into(), unterminated: false }
}

fn write(out: &mut String, hunk: &Hunk<'_>, lines: &[DiffLine<'_>]) {
    if lines.is_empty() {
        return;
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(&header(hunk, lines));
    for line in lines {
        out.push('\n');
        out.push(line.side.mark());
        out.push_str(&line.text);
        if line.unterminated {
            out.push('\n');
            out.push_str(NO_NEWLINE);
        }
    }
}

fn header(hunk: &Hunk<'_>, lines: &[DiffLine<'_>]) -> String {
    let old = lines.iter().filter(|line| line.side != Side::New).count();
    let new = lines.iter().filter(|line| line.side != Side::Old).count();
    // An empty side is named by the line before it.
    let at = |start: u64, count: usize| if count == 0 { start.saturating_sub(1) } else { start };
    format!("@@ -{},{old} +{},{new} @@", at(hunk.old_start, old), at(hunk.new_start, new))
}

/// The hunks that lead from one text to the other.
#[must_use]
pub fn hunks<'t>(before: &'t str, after: &'t str) -> Vec<Hunk<'t>> {
    let lines = before.lines().count().saturating_add(after.lines().count());
    if before.is_empty() || after.is_empty() || lines > DIFF_SEARCH_LINES {
        return replaced(before, after);
    }
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let groups = group_diff_ops(capture_diff_slices(Algorithm::Myers, &old, &new), CONTEXT);
    groups
        .iter()
        .filter_map(|ops| {
            let first = ops.first()?;
            let lines = ops.iter().flat_map(|op| op.iter_changes(&old, &new)).map(|change| {
                let side = match change.tag() {
                    ChangeTag::Equal => Side::Both,
                    ChangeTag::Delete => Side::Old,
                    ChangeTag::Insert => Side::New,
                };
                piece(side, change.value())
            });
            Some(Hunk {
                old_start: number(first.old_range().start),
                new_start: number(first.new_range().start),
                lines: lines.collect(),
            })
        })
        .collect()
}

/// All of the old text out, all of the new one in, but for the lines that both begin and end with.
fn replaced<'t>(before: &'t str, after: &'t str) -> Vec<Hunk<'t>> {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    if head == old.len() && head == new.len() {
        return Vec::new();
    }
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let begin = head.saturating_sub(CONTEXT);
    let middle = |lines: &[&'t str]| lines.get(..lines.len().saturating_sub(tail)).unwrap_or_default().to_vec();
    let around = old.get(begin..head).unwrap_or_default().iter().map(|line| piece(Side::Both, line));
    let lines = around
        .chain(middle(old_rest).into_iter().map(|line| piece(Side::Old, line)))
        .chain(middle(new_rest).into_iter().map(|line| piece(Side::New, line)))
        .chain(
            old_rest
                .get(old_rest.len().saturating_sub(tail)..)
                .unwrap_or_default()
                .iter()
                .take(CONTEXT)
                .map(|line| piece(Side::Both, line)),
        )
        .collect();
    Vec::from([Hunk { old_start: number(begin), new_start: number(begin), lines }])
}

fn piece(side: Side, line: &str) -> DiffLine<'_> {
    let text = line.strip_suffix('\n');
    DiffLine { side, text: text.unwrap_or(line).into(), unterminated: text.is_none() }
}

/// The number of a line, from 1.
fn number(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn applied(before: &str, diff: &Diff) -> String {
        let patch = format!("--- a\n+++ b\n{}\n", diff.text);
        diffy::apply(before, &diffy::Patch::from_str(&patch).unwrap()).unwrap()
    }

    #[test]
    fn a_change_stands_between_its_context() {
        let diff = between("a\nb\nc\n", "a\nx\nc\n", &Caps::WIRE).unwrap();
        assert_eq!(diff, Diff { text: "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c".into(), truncated: false });
    }

    #[test]
    fn a_new_file_is_all_added() {
        let diff = between("", "a\nb", &Caps::WIRE).unwrap();
        assert_eq!(diff.text, "@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file");
        assert_eq!(between("", "", &Caps::WIRE), None);
    }

    #[test]
    fn pieces_are_whole_lines() {
        assert_eq!(between_pieces("a", "b", &Caps::WIRE).unwrap().text, "@@ -1,1 +1,1 @@\n-a\n+b");
        assert_eq!(between_pieces("a", "a\n", &Caps::WIRE).unwrap().text, "@@ -1,1 +1,2 @@\n a\n+");
        assert_eq!(between_pieces("a", "", &Caps::WIRE).unwrap().text, "@@ -1,1 +0,0 @@\n-a");
    }

    #[test]
    fn a_cut_hunk_counts_what_is_left_of_it() {
        let caps = Caps { diff_lines: 3, ..Caps::WIRE };
        let diff = between("", "a\nb\nc\n", &caps).unwrap();
        assert_eq!(diff, Diff { text: "@@ -0,0 +1,2 @@\n+a\n+b".into(), truncated: true });
    }

    #[test]
    fn a_line_longer_than_the_cap_keeps_its_beginning() {
        let caps = Caps { diff_chars: 100, ..Caps::WIRE };
        let diff = between("", &"x".repeat(500), &caps).unwrap();
        assert_eq!(diff, Diff { text: format!("@@ -0,0 +1,1 @@\n+{}…", "x".repeat(35)), truncated: true });
    }

    #[test]
    fn texts_that_are_too_long_to_compare_are_replaced() {
        let (before, after) = ("a\n".repeat(3_000), "b\n".repeat(3_000));
        let caps = Caps { diff_lines: 4, ..Caps::WIRE };
        let diff = between(&before, &after, &caps).unwrap();
        assert_eq!(diff, Diff { text: "@@ -1,3 +0,0 @@\n-a\n-a\n-a".into(), truncated: true });
    }

    fn texts() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(Vec::from(["a\n", "b\n", "\n", "\tc\n", "é", "d\r\n"])), 0..40)
            .prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn every_diff_applies(before in texts(), after in texts()) {
            match between(&before, &after, &Caps::NONE) {
                Some(diff) => prop_assert_eq!(applied(&before, &diff), after),
                None => prop_assert_eq!(before, after),
            }
        }

        #[test]
        fn replacing_everything_applies(before in texts(), after in texts()) {
            match render(&replaced(&before, &after), &Caps::NONE) {
                Some(diff) => prop_assert_eq!(applied(&before, &diff), after),
                None => prop_assert_eq!(before, after),
            }
        }

        #[test]
        fn a_cut_diff_is_within_its_caps_and_well_formed(
            before in texts(), after in texts(), diff_lines in 2..30_usize, diff_chars in 80..200_usize,
        ) {
            let caps = Caps { diff_lines, diff_chars, ..Caps::WIRE };
            if let Some(diff) = between(&before, &after, &caps) {
                prop_assert!(diff.text.lines().count() <= diff_lines);
                prop_assert!(diff.text.chars().count() <= diff_chars);
                let patch = format!("--- a\n+++ b\n{}\n", diff.text);
                prop_assert!(diffy::Patch::from_str(&patch).is_ok());
            }
        }
    }
}
