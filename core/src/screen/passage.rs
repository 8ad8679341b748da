//! The lines above a list of options: which of them is the question, and what the others say.

use alloc::string::String;
use alloc::vec::Vec;

use super::frame;
use super::rows::Row;

/// Lines with wrapped rows joined. A blank row or a drawn one ends a line.
pub(super) fn lines(rows: &[Row], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut above: Option<&Row> = None;
    for row in rows {
        let text = frame::words(&row.text);
        if text.is_empty() || frame::is_rule(row) || frame::is_drawing(&row.text) {
            above = None;
            continue;
        }
        let goes_on = |above: &Row| frame::is_wrapped(above, row, columns) && above.indent() == row.indent();
        let wrapped = !is_item(text) && above.is_some_and(goes_on);
        match lines.last_mut().filter(|_| wrapped) {
            Some(last) => frame::append_wrapped(last, text),
            None => lines.push(text.into()),
        }
        above = Some(row);
    }
    lines
}

/// What begins like this begins a line.
fn is_item(text: &str) -> bool {
    ["- ", "* ", "• ", "$ "].iter().any(|sign| text.starts_with(sign))
        || text.starts_with(|char: char| char.is_ascii_digit())
}

/// A question, and the lines around it in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Asked {
    pub(super) question: String,
    pub(super) before: Vec<String>,
    pub(super) after: Vec<String>,
}

impl Asked {
    /// The line at `at` asks; what it says behind its question mark comes after.
    pub(super) fn at(lines: Vec<String>, at: usize) -> Self {
        let mut before = lines;
        let mut after = before.split_off(at.min(before.len()));
        if after.is_empty() {
            return Self { question: String::new(), before, after };
        }
        let mut question = after.remove(0);
        if let Some(end) = question_end(&question) {
            let rest = question.split_off(end);
            if !rest.trim().is_empty() {
                after.insert(0, rest.trim().into());
            }
        }
        Self { question, before, after }
    }

    /// Everything but the question.
    pub(super) fn detail(&self) -> String {
        let lines: Vec<&str> = self.before.iter().chain(&self.after).map(String::as_str).collect();
        lines.join("\n")
    }
}

/// Whether the line begins like a question of a program.
pub(super) fn leads_in(line: &str) -> bool {
    let lower = line.to_lowercase();
    ["do you want", "would you like", "do you trust", "allow ", "approve "].iter().any(|lead| lower.starts_with(lead))
}

/// Whether a question ends in the line, and not just anywhere in a word.
pub(super) fn asks(line: &str) -> bool {
    question_end(line).is_some()
}

/// The byte behind the first question mark that ends a sentence.
fn question_end(line: &str) -> Option<usize> {
    line.match_indices(['?', '？']).find_map(|(at, mark)| {
        let end = at.saturating_add(mark.len());
        let next = line.get(end..)?.chars().next();
        (next.is_none_or(char::is_whitespace) || mark == "？").then_some(end)
    })
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::{Asked, asks, lines};
    use crate::screen::rows::parse;

    #[test]
    fn wrapped_rows_are_one_line() {
        let rows = parse(" The kettle is on and the cups are\n warm by now.\n ╌╌╌╌╌\n Shall it pour?");
        assert_eq!(lines(&rows, 36), ["The kettle is on and the cups are warm by now.", "Shall it pour?"]);
    }

    #[test]
    fn what_follows_the_question_is_not_the_question() {
        let asked = Asked::at(vec!["Tea".into(), "Is it hot? (Mind the cup.)".into(), "Careful".into()], 1);
        assert_eq!((asked.question.as_str(), asked.detail().as_str()), ("Is it hot?", "Tea\n(Mind the cup.)\nCareful"));
        assert_eq!(Asked::at(vec![], 3), Asked::default());
    }

    #[test]
    fn a_question_mark_in_a_word_asks_nothing() {
        assert!(asks("本当ですか？はい") && asks("Now?") && asks("Now? Or never"));
        assert!(!asks("fetch http://tea.example/?leaf=1") && !asks("No."));
    }
}
