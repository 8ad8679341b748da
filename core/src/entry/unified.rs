//! Diffs that agents wrote themselves, read as hunks, so that they are counted, cut and written as ours are.

use alloc::vec::Vec;

use super::diff::{DiffLine, Hunk, Side};

/// The hunks of a unified diff. File headers are left out; what a hunk's header says too much or too little of is
/// made up for by its lines.
#[must_use]
pub fn hunks(patch: &str) -> Vec<Hunk<'_>> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    // Lines that the hunk still has by its header: a file header looks like a line of a diff.
    let (mut old_left, mut new_left) = (0_u64, 0_u64);
    // Whether the patch itself ends its lines so, and not the file.
    let mut returns = false;
    for line in lines(patch) {
        if let Some((old, new)) = header(line) {
            returns = line.ends_with('\r');
            // An empty side is named by the line before it.
            let start = |(start, count): (u64, u64)| if count == 0 { start.saturating_add(1) } else { start };
            hunks.push(Hunk { old_start: start(old), new_start: start(new), lines: Vec::new() });
            (old_left, new_left) = (old.1, new.1);
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        let line = line.strip_suffix('\r').filter(|_| returns).unwrap_or(line);
        let mut chars = line.chars();
        let side = match chars.next() {
            Some('\\') => {
                if let Some(last) = hunk.lines.last_mut() {
                    last.unterminated = true;
                }
                continue;
            }
            _ if old_left == 0 && new_left == 0 => continue,
            Some('-') => Side::Old,
            Some('+') => Side::New,
            // An empty line is often written without its blank.
            Some(' ') | None => Side::Both,
            Some(_) => continue,
        };
        old_left = old_left.saturating_sub(u64::from(side != Side::New));
        new_left = new_left.saturating_sub(u64::from(side != Side::Old));
        hunk.lines.push(DiffLine { side, text: chars.as_str().into(), unterminated: false });
    }
    in_order(hunks)
}

/// `@@ -4,2 +4,3 @@` as where each side begins and how many lines it has.
fn header(line: &str) -> Option<((u64, u64), (u64, u64))> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let side = |text: &str| {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    Some((side(old)?, side(new)?))
}

/// The hunks of a diff whose every line has its number: `+12 new`, `-12 old`, ` 11 as before` (numbered by the old text),
/// and a line `...` where lines are left out.
///
/// What stands before the first change was numbered from 1 for some time, however many lines were left out before it. So it
/// is the number of a change that says where the lines right before it are.
#[must_use]
pub fn numbered(diff: &str) -> Vec<Hunk<'_>> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    // How many lines more the new text has so far, and the line of the old text that comes next.
    let (mut more, mut fewer) = (0_u64, 0_u64);
    let mut next_old = 0_u64;
    let mut gap = true;
    for line in lines(diff) {
        let Some((side, number, text)) = numbered_line(line) else {
            gap = true;
            continue;
        };
        let mut old = match side {
            Side::New => number.saturating_add(fewer).saturating_sub(more),
            Side::Old | Side::Both => number,
        };
        let in_new = |old: u64| old.saturating_add(more).saturating_sub(fewer);
        if gap {
            hunks.push(Hunk { old_start: old, new_start: in_new(old), lines: Vec::new() });
            gap = false;
        } else if old != next_old
            && let Some(hunk) = hunks.last_mut()
        {
            let before = u64::try_from(hunk.lines.len()).unwrap_or(u64::MAX);
            match side {
                Side::New | Side::Old if old > before && !hunk.has_changes() => {
                    hunk.old_start = old.saturating_sub(before);
                    hunk.new_start = in_new(hunk.old_start);
                }
                Side::New => old = next_old,
                Side::Old | Side::Both => {
                    hunks.push(Hunk { old_start: old, new_start: in_new(old), lines: Vec::new() });
                }
            }
        }
        next_old = if side == Side::New { old } else { old.saturating_add(1) };
        more = more.saturating_add(u64::from(side == Side::New));
        fewer = fewer.saturating_add(u64::from(side == Side::Old));
        if let Some(hunk) = hunks.last_mut() {
            hunk.lines.push(DiffLine { side, text: text.into(), unterminated: false });
        }
    }
    let mut hunks = in_order(hunks);
    hunks.retain(Hunk::has_changes);
    hunks
}

/// The lines of a diff. A carriage return before a newline is the file's own.
fn lines(diff: &str) -> impl Iterator<Item = &str> {
    diff.strip_suffix('\n').unwrap_or(diff).split('\n')
}

/// Without the hunks that nothing could apply: those of no line, those that begin before the last one ends, and those right
/// behind a line that ends the text. What begins right where the last one ends goes on with it.
fn in_order(hunks: Vec<Hunk<'_>>) -> Vec<Hunk<'_>> {
    let (mut old_end, mut new_end) = (1_u64, 1_u64);
    let mut fitting: Vec<Hunk<'_>> = Vec::new();
    for hunk in hunks {
        let count =
            |other: Side| hunk.lines.iter().fold(0_u64, |sum, line| sum.saturating_add(u64::from(line.side != other)));
        if hunk.lines.is_empty() || hunk.old_start < old_end || hunk.new_start < new_end {
            continue;
        }
        let ends = (hunk.old_start.saturating_add(count(Side::New)), hunk.new_start.saturating_add(count(Side::Old)));
        match fitting.last_mut() {
            Some(last) if (hunk.old_start, hunk.new_start) == (old_end, new_end) => {
                if last.lines.iter().any(|line| line.unterminated) {
                    continue;
                }
                last.lines.extend(hunk.lines);
            }
            _ => fitting.push(hunk),
        }
        (old_end, new_end) = ends;
    }
    fitting
}

fn numbered_line(line: &str) -> Option<(Side, u64, &str)> {
    let mut chars = line.chars();
    let side = match chars.next()? {
        '-' => Side::Old,
        '+' => Side::New,
        ' ' => Side::Both,
        _ => return None,
    };
    let rest = chars.as_str().trim_start_matches(' ');
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, text) = rest.split_at_checked(digits)?;
    // An empty line may have lost the blank behind its number.
    Some((side, number.parse().ok()?, text.strip_prefix(' ').unwrap_or(text)))
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::{String, ToString as _};

    use super::*;
    use crate::entry::caps::Caps;
    use crate::entry::diff::{self, render};
    use proptest::prelude::*;

    fn rendered(hunks: &[Hunk<'_>]) -> Option<String> {
        render(hunks, &Caps::NONE).map(|diff| diff.text)
    }

    #[test]
    fn a_unified_diff_is_read_without_its_headers() {
        let patch = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ fn x\n a\n-b\n+c\n\n@@ -9 +8,0 @@\n-z\n\\ No newline at end of file\n--- a/y\n";
        let expected = "@@ -1,3 +1,3 @@\n a\n-b\n+c\n \n@@ -9,1 +8,0 @@\n-z\n\\ No newline at end of file";
        assert_eq!(rendered(&hunks(patch)).as_deref(), Some(expected));
        assert_eq!(rendered(&hunks("@@ -0,0 +1,1 @@\n+a\n")).as_deref(), Some("@@ -0,0 +1,1 @@\n+a"));
        for none in ["", "no diff", "--- a\n+++ b\n", "@@ -x +y @@\n+a", "@@ -1,1 +1,1 @@\n"] {
            assert_eq!(rendered(&hunks(none)), None, "{none}");
        }
    }

    #[test]
    fn a_numbered_diff_is_a_hunk_for_each_run_of_lines() {
        let diff = "   ...\n  8 a\n- 9 b\n+ 9 c\n+10 d\n 10 \n   ...\n 40 y\n+42 z\n";
        let expected = "@@ -8,3 +8,4 @@\n a\n-b\n+c\n+d\n \n@@ -40,1 +41,2 @@\n y\n+z";
        assert_eq!(rendered(&numbered(diff)).as_deref(), Some(expected));
        assert_eq!(rendered(&numbered("+1 a\n+2 b")).as_deref(), Some("@@ -0,0 +1,2 @@\n+a\n+b"));
        assert_eq!(rendered(&numbered(" 1 a\n 5 b\n-6 c")).as_deref(), Some("@@ -5,2 +5,1 @@\n b\n-c"));
        assert_eq!(rendered(&numbered("prose\n...\n")), None);
        assert_eq!(rendered(&numbered(" 1 a\n 2 b")), None);
    }

    #[test]
    fn what_stands_before_the_first_change_is_right_before_it_whatever_its_numbers() {
        let early = "   ...\n  1 a\n  2 b\n-30 c\n+30 d\n 31 e\n+32 f\n";
        assert_eq!(rendered(&numbered(early)).as_deref(), Some("@@ -28,4 +28,5 @@\n a\n b\n-c\n+d\n e\n+f"));
        assert_eq!(rendered(&numbered("  ...\n 1 a\n+9 b")).as_deref(), Some("@@ -8,1 +8,2 @@\n a\n+b"));
        // Fewer lines than stand before it: it is no such number.
        assert_eq!(rendered(&numbered(" 5 a\n 6 b\n-2 c")), None);
    }

    #[test]
    fn a_carriage_return_is_the_files_own() {
        let patch = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n-a\r\n+b\r\n c\r\n";
        assert_eq!(rendered(&hunks(patch)).as_deref(), Some("@@ -1,2 +1,2 @@\n-a\r\n+b\r\n c\r"));
        // Unless the whole patch was written so.
        let patch = "--- a\r\n+++ b\r\n@@ -1,2 +1,2 @@\r\n-a\r\n+b\r\n\r\n";
        assert_eq!(rendered(&hunks(patch)).as_deref(), Some("@@ -1,2 +1,2 @@\n-a\n+b\n "));
        assert_eq!(rendered(&numbered("-1 a\r\n+1 b\r")).as_deref(), Some("@@ -1,1 +1,1 @@\n-a\r\n+b\r"));
    }

    #[test]
    fn what_begins_where_the_last_hunk_ends_goes_on_with_it() {
        assert_eq!(rendered(&numbered(" 1\n\n+2+")).as_deref(), Some("@@ -1,1 +1,2 @@\n \n++"));
        let adjacent = "@@ -1 +1 @@\n a\n@@ -1,0 +2 @@\n+b\n";
        assert_eq!(rendered(&hunks(adjacent)).as_deref(), Some("@@ -1,1 +1,2 @@\n a\n+b"));
        let ended = "@@ -1 +1 @@\n a\n\\ No newline at end of file\n@@ -1,0 +2 @@\n+b\n";
        let expected = "@@ -1,1 +1,1 @@\n a\n\\ No newline at end of file";
        assert_eq!(rendered(&hunks(ended)).as_deref(), Some(expected));
    }

    /// As an agent writes a numbered diff, with lines around each change. `early`: what is before the first one is
    /// numbered from 1.
    fn as_numbered(before: &str, after: &str, early: bool) -> String {
        let mut out = String::new();
        for (index, hunk) in diff::hunks(before, after).into_iter().enumerate() {
            out.push_str("    ...\n");
            let (mut old, mut new) = (hunk.old_start, hunk.new_start);
            let mut skipped = if early && index == 0 { old - 1 } else { 0 };
            for line in &hunk.lines {
                if line.side != Side::Both {
                    skipped = 0;
                }
                let (mark, number) = match line.side {
                    Side::Both => (' ', old - skipped),
                    Side::Old => ('-', old),
                    Side::New => ('+', new),
                };
                out.push_str(&format!("{mark}{number:>3} {}\n", line.text));
                old += u64::from(line.side != Side::New);
                new += u64::from(line.side != Side::Old);
            }
        }
        out
    }

    fn texts() -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop::sample::select(Vec::from(["a\n", "b\n", "\n", " 7 c\n", "-\n", "@@ -1 +1 @@\n", "d\r\n"])),
            0..40,
        )
        .prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn our_own_diffs_are_read_back(before in texts(), after in texts()) {
            let ours = diff::hunks(&before, &after);
            let text = rendered(&ours).unwrap_or_default();
            prop_assert_eq!(rendered(&hunks(&text)).unwrap_or_default(), &text[..]);
            for early in [false, true] {
                let theirs = as_numbered(&before, &after, early);
                prop_assert_eq!(rendered(&numbered(&theirs)).unwrap_or_default(), &text[..]);
            }
        }

        #[test]
        fn anything_makes_well_formed_diffs(text in "[-+ @\\\\0-9a,\n.]{0,80}") {
            for hunks in [hunks(&text), numbered(&text)] {
                let Some(text) = rendered(&hunks) else { continue };
                let patch = format!("--- a\n+++ b\n{text}\n");
                prop_assert_eq!(diffy::Patch::from_str(&patch).map(|_| ()).map_err(|error| error.to_string()), Ok(()));
            }
        }
    }
}
