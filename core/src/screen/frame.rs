//! What is drawn around the words: rules, boxes, gutters, hints.

use alloc::string::String;
use alloc::vec::Vec;

use super::rows::Row;
use crate::limits::{CARD_LINE_CHARS, CARD_LINES};

/// A row that parts one section from the next: `────`, `▔▔▔▔`, or a text in such a row.
pub(super) fn is_rule(row: &Row) -> bool {
    let mut run = 0_usize;
    let mut longest = 0_usize;
    for char in row.text.chars() {
        run = if matches!(char, '─' | '━' | '▔' | '═') { run.saturating_add(1) } else { 0 };
        longest = longest.max(run);
    }
    longest >= 20 || longest >= 6 && is_dashes(row)
}

/// Nothing but dashes, of any number.
pub(super) fn is_dashes(row: &Row) -> bool {
    let text = row.trimmed();
    !text.is_empty() && text.chars().all(|char| matches!(char, '─' | '━' | '▔' | '═' | ' '))
}

/// Nothing but lines, boxes, blocks and blanks: nothing to read.
pub(super) fn is_drawing(text: &str) -> bool {
    text.chars().all(|char| matches!(char, '\u{2500}'..='\u{259f}' | '■' | '⬝' | '✻' | '✳' | '·' | '…' | ' '))
}

/// The words of a row, without what is drawn beside them.
pub(super) fn words(text: &str) -> &str {
    text.trim_matches(|char| matches!(char, ' ' | '│' | '┃' | '║' | '╎' | '█' | '▀' | '▄' | '▌' | '▐')).trim()
}

/// Columns that are free at the end of a row: what is wrapped begins with a word that found no room there.
pub(super) fn is_wrapped(row: &Row, next: &Row, columns: usize) -> bool {
    let first_word = next.trimmed().split(' ').next().unwrap_or_default();
    let with_it = row.width().saturating_add(1).saturating_add(super::rows::width(first_word));
    !row.is_blank() && !next.is_blank() && with_it > columns.saturating_sub(WRAP_MARGIN)
}

/// Agents leave this much free beside a text.
const WRAP_MARGIN: usize = 2;

/// Appends what a wrapped row goes on with.
pub(super) fn append_wrapped(text: &mut String, more: &str) {
    let is_wide = |char: char| super::rows::width(char.encode_utf8(&mut [0; 4])) == 2;
    let touches = text.chars().next_back().is_some_and(is_wide) && more.chars().next().is_some_and(is_wide);
    if !text.is_empty() && !more.is_empty() && !touches {
        text.push(' ');
    }
    text.push_str(more);
}

/// A row that says which keys there are, as it stands under a list of options.
pub(super) fn is_keys(row: &Row) -> bool {
    let text = row.text.to_lowercase();
    [
        "enter to ",
        "press enter",
        "esc to ",
        "↑/↓",
        "↑↓",
        "⇆ select",
        "enter select",
        "enter confirm",
        "enter submit",
        "enter toggle",
        "esc dismiss",
        "escape/ctrl+c",
        "ctrl+g to edit",
        "tab to amend",
    ]
    .iter()
    .any(|hint| text.contains(hint))
}

/// The last lines that a person would read.
pub(super) fn readable(rows: &[Row]) -> Vec<String> {
    let mut lines: Vec<String> = rows
        .iter()
        .rev()
        .filter(|row| !row.is_blank() && !is_rule(row) && !is_drawing(&row.text) && !is_chrome(row))
        .map(|row| words(&row.text))
        .map(|text| text.trim_start_matches(['⏺', '⎿', '•', '└', '┃']).trim_start())
        .filter(|text| !text.is_empty())
        .take(CARD_LINES)
        .map(|text| super::first_chars(text, CARD_LINE_CHARS))
        .collect();
    lines.reverse();
    lines
}

/// Keys, modes and meters: the frame of the program, not its content.
fn is_chrome(row: &Row) -> bool {
    let text = row.trimmed();
    let lower = text.to_lowercase();
    matches!(text, "❯" | "›" | ">" | "┃" | "╹")
        || text.starts_with(['⏵', '⏸'])
        || is_keys(row)
        || ["? for shortcuts", "esc interrupt", "ctrl+p commands", "for getting started"]
            .iter()
            .any(|hint| lower.contains(hint))
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::{append_wrapped, is_drawing, is_rule, is_wrapped, readable, words};
    use crate::screen::rows::{Row, parse};

    #[test]
    fn rules_are_told_from_words() {
        for rule in ["──────", "  ──────────", &"▔".repeat(30), &["── plan ", &"─".repeat(20)].concat()]
        {
            assert!(is_rule(&Row::new(rule)), "{rule}");
        }
        for other in ["─────", "a ────── b", "╌╌╌╌╌╌╌╌", "", "------"] {
            assert!(!is_rule(&Row::new(other)), "{other}");
        }
        assert!(is_drawing("╌╌╌╌  ╭──╮"));
        assert_eq!(words("│ a │ b │"), "a │ b");
    }

    #[test]
    fn a_row_goes_on_if_the_next_word_found_no_room() {
        let (row, next) = (Row::new("  2. Yes, and remember"), Row::new("     everything"));
        assert!(is_wrapped(&row, &next, 30));
        assert!(!is_wrapped(&row, &next, 40));
        let mut text = "進め".to_string();
        append_wrapped(&mut text, "方");
        append_wrapped(&mut text, "now");
        assert_eq!(text, "進め方 now");
    }

    #[test]
    fn readable_lines_have_no_frame() {
        let rows =
            parse("⏺ Two shelves are left.\n\n  ⎿  ok\n──────────\n❯\n──────────\n  ⏵⏵ auto mode on\n ? for shortcuts");
        assert_eq!(readable(&rows), ["Two shelves are left.", "ok"]);
    }
}
