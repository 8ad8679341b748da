//! Markdown as plain text: what marks the words is gone, the words and their lines stay.

use alloc::string::String;

/// The text without emphasis, headings, backticks and fences. Lists, links and what stands in fences are left as they are.
pub(super) fn plain(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => push_line(&mut text, line),
            (None, None) => push_line(&mut text, &unmarked(without_heading(line))),
        }
    }
    text.trim().into()
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

fn without_heading(line: &str) -> &str {
    let rest = line.trim_start().trim_start_matches('#');
    let hashes = line.trim_start().len().saturating_sub(rest.len());
    if (1..=6).contains(&hashes) && rest.starts_with(' ') { rest.trim_start() } else { line }
}

/// A line without its emphasis. What stands in backticks is not looked into.
fn unmarked(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut in_code = false;
    let mut rest = line;
    while let Some(char) = rest.chars().next() {
        let run = if matches!(char, '*' | '_' | '`' | '~') {
            rest.len().saturating_sub(rest.trim_start_matches(char).len())
        } else {
            char.len_utf8()
        };
        let (this, after) = rest.split_at(run);
        let before = text.chars().next_back();
        match char {
            '`' => in_code = !in_code,
            '*' | '_' | '~' if !in_code && is_emphasis(char, run, before, after) => {}
            _ => text.push_str(this),
        }
        rest = after;
    }
    text
}

/// Whether a run of signs marks words: it touches one on one side, and `_` none on the other.
fn is_emphasis(char: char, run: usize, before: Option<char>, after: &str) -> bool {
    let is_word = |char: Option<char>| char.is_some_and(|char| !char.is_whitespace());
    let is_inner = |char: Option<char>| char.is_some_and(char::is_alphanumeric);
    let next = after.chars().next();
    let touches_one = is_word(before) != is_word(next) || is_inner(before) != is_inner(next);
    match char {
        '~' => run == 2 && touches_one,
        '_' => run <= 3 && touches_one && !(is_inner(before) && is_inner(next)),
        _ => run <= 3 && touches_one,
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn marks_are_gone_and_words_stay() {
        for (markdown, expected) in [
            ("## The **kettle** is `on`", "The kettle is on"),
            ("*soon* and _later_, ***never***", "soon and later, never"),
            ("2 * 3 is tea_for_two and `a * b`", "2 * 3 is tea_for_two and a * b"),
            ("- a **list**\n- goes on\n\n#no heading", "- a list\n- goes on\n\n#no heading"),
            ("* starred", "* starred"),
            ("```sh\nls *.rs # all\n```\nand ~~not~~ more", "ls *.rs # all\nand not more"),
            ("**Wichtig:** warten", "Wichtig: warten"),
            ("__init__.py", "init.py"),
            ("", ""),
            ("`", ""),
        ] {
            assert_eq!(plain(markdown), expected, "{markdown}");
        }
    }
}
