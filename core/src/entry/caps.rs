//! Cutting texts to their caps: by Unicode scalar values, so that none is ever split.

use alloc::format;
use alloc::string::String;
use core::ops::ControlFlow;

use super::Text;
use crate::limits;
use crate::source::json::{Chars, Piece};

/// How long the texts of an entry may be. [`Caps::WIRE`] for frames; [`Caps::NONE`] for the whole entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Unicode scalar values of a message or a thought.
    pub text_chars: usize,
    /// Unicode scalar values of a command.
    pub command_chars: usize,
    /// Unicode scalar values of an output.
    pub output_chars: usize,
    /// Lines of a diff.
    pub diff_lines: usize,
    /// Unicode scalar values of a diff.
    pub diff_chars: usize,
}

impl Caps {
    /// The caps of the mobile contract.
    pub const WIRE: Self = Self {
        text_chars: limits::TEXT_CHARS,
        command_chars: limits::COMMAND_CHARS,
        output_chars: limits::OUTPUT_CHARS,
        diff_lines: limits::DIFF_LINES,
        diff_chars: limits::DIFF_CHARS,
    };
    /// Nothing is cut.
    pub const NONE: Self = Self {
        text_chars: usize::MAX,
        command_chars: usize::MAX,
        output_chars: usize::MAX,
        diff_lines: usize::MAX,
        diff_chars: usize::MAX,
    };
}

/// A text that is trimmed and cut while it is written, so that a huge one is never held whole.
#[derive(Debug, Clone)]
pub struct Capped {
    text: String,
    /// Blanks that count only if something follows them.
    blanks: String,
    cap_chars: usize,
    /// Whether the first line keeps the blanks it begins with.
    indented: bool,
    /// Characters in `text` and `blanks`, and those that were written after both were full.
    chars: usize,
    /// `chars`, up to the last that is not blank.
    solid_chars: usize,
}

impl Capped {
    /// An empty text with room for so many characters.
    #[must_use]
    pub const fn new(cap_chars: usize) -> Self {
        Self { text: String::new(), blanks: String::new(), cap_chars, indented: false, chars: 0, solid_chars: 0 }
    }

    /// The same for text in columns: the first line that is not blank keeps its indentation.
    #[must_use]
    pub fn indented(cap_chars: usize) -> Self {
        Self { indented: true, ..Self::new(cap_chars) }
    }

    /// Whether nothing but blanks was written.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.solid_chars == 0
    }

    /// Whether more was written than there is room for.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.solid_chars > self.cap_chars
    }

    /// Writes one character.
    pub fn push(&mut self, char: char) {
        let blank = char.is_whitespace();
        if blank && self.is_empty() && (char == '\n' || !self.indented) {
            self.blanks.clear();
            self.chars = 0;
            return;
        }
        self.chars = self.chars.saturating_add(1);
        let room = self.chars <= self.cap_chars;
        if blank {
            if room {
                self.blanks.push(char);
            }
            return;
        }
        self.solid_chars = self.chars;
        if !self.blanks.is_empty() {
            self.text.push_str(&self.blanks);
            self.blanks.clear();
        }
        if room {
            self.text.push(char);
        }
    }

    /// Writes a piece of text.
    pub fn push_str(&mut self, mut text: &str) {
        while self.is_empty() {
            let mut chars = text.chars();
            let Some(first) = chars.next() else { return };
            self.push(first);
            text = chars.as_str();
        }
        let solid = text.trim_end();
        if !solid.is_empty() {
            let room = self.cap_chars.saturating_sub(self.chars);
            self.text.push_str(&self.blanks);
            self.blanks.clear();
            // As many bytes as there is room for characters always fit.
            let fits = if solid.len() <= room { solid.len() } else { char_boundary(solid, room) };
            self.text.push_str(solid.get(..fits).unwrap_or_default());
            self.chars = self.chars.saturating_add(solid.chars().count());
            self.solid_chars = self.chars;
        }
        for blank in text.get(solid.len()..).unwrap_or_default().chars() {
            self.push(blank);
        }
    }

    /// Writes the characters of a string until there is no more room.
    pub fn fill(&mut self, chars: Chars<'_>) {
        chars.each_piece(|piece| {
            match piece {
                Piece::Run(run) => self.push_str(run),
                Piece::Char(char) => self.push(char),
            }
            if self.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }

    /// The text, cut at its cap.
    #[must_use]
    pub fn into_text(mut self) -> Text {
        let truncated = self.is_full();
        self.text.truncate(self.text.trim_end().len());
        Text { text: self.text, truncated }
    }

    /// The text; if it had to be cut, its beginning and a note of how much is left out, together within the cap.
    #[must_use]
    pub fn into_noted_text(self) -> Text {
        let (all, cap) = (self.solid_chars, self.cap_chars);
        let mut cut = self.into_text();
        if !cut.truncated {
            return cut;
        }
        // The note says how much it displaced itself; its own length hardly changes with that.
        let reserve = note(all).chars().count();
        let keep = cap.saturating_sub(reserve);
        cut.text.truncate(char_boundary(&cut.text, keep));
        cut.text.truncate(cut.text.trim_end().len());
        let note = note(all.saturating_sub(cut.text.chars().count()));
        if keep > 0 {
            cut.text.push_str(&note);
        }
        cut
    }
}

impl Extend<char> for Capped {
    fn extend<I: IntoIterator<Item = char>>(&mut self, chars: I) {
        for char in chars {
            // Behind the cap only whether there is more matters, and that is known.
            if self.is_full() {
                break;
            }
            self.push(char);
        }
    }
}

/// A text, trimmed and cut.
#[must_use]
pub fn text(chars: impl IntoIterator<Item = char>, cap_chars: usize) -> Text {
    let mut capped = Capped::new(cap_chars);
    capped.extend(chars);
    capped.into_text()
}

/// The text of a JSON string, trimmed and cut.
#[must_use]
pub fn decoded(chars: Chars<'_>, cap_chars: usize) -> Text {
    let mut capped = Capped::new(cap_chars);
    capped.fill(chars);
    capped.into_text()
}

/// A text on one line: runs of blanks and control characters become one space. Cut with `…` within the cap.
/// Nothing if it is blank.
#[must_use]
pub fn one_line(chars: impl IntoIterator<Item = char>, cap_chars: usize) -> Option<String> {
    let mut capped = Capped::new(cap_chars);
    let mut gap = false;
    for char in chars {
        if char.is_whitespace() || char.is_control() {
            gap = true;
            continue;
        }
        if gap {
            capped.push(' ');
        }
        gap = false;
        capped.push(char);
        if capped.is_full() {
            break;
        }
    }
    let mut line = capped.into_text();
    if line.truncated {
        line.text.truncate(char_boundary(&line.text, cap_chars.saturating_sub(1)));
        line.text.truncate(line.text.trim_end().len());
        line.text.push('…');
    }
    (!line.text.is_empty()).then_some(line.text)
}

/// Where the character after the first `chars` begins.
fn char_boundary(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

fn note(more: usize) -> String {
    format!("\n… {more} more characters")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_trimmed_and_cut_between_characters() {
        assert_eq!(text(" \n héé! ".chars(), 10), Text { text: "héé!".into(), truncated: false });
        assert_eq!(text("héé!".chars(), 4), Text { text: "héé!".into(), truncated: false });
        assert_eq!(text("héé!".chars(), 3), Text { text: "héé".into(), truncated: true });
        assert_eq!(text("ab   ".chars(), 2), Text { text: "ab".into(), truncated: false });
        assert_eq!(text("ab   c".chars(), 3), Text { text: "ab".into(), truncated: true });
    }

    #[test]
    fn a_noted_text_says_how_much_is_left_out_within_its_cap() {
        let mut capped = Capped::new(40);
        capped.push_str(&"x".repeat(100));
        let cut = capped.into_noted_text();
        assert_eq!(cut.text, format!("{}\n… 82 more characters", "x".repeat(18)));
        assert_eq!((cut.text.chars().count(), cut.truncated), (39, true));
    }

    #[test]
    fn pieces_and_characters_are_written_alike() {
        let parts = [" \n", "a", "  b ", "", "é\n", "\n  ", "cd", " "];
        for cap in 0..14 {
            let (mut pieces, mut single) = (Capped::indented(cap), Capped::indented(cap));
            for part in parts {
                pieces.push_str(part);
                part.chars().for_each(|char| single.push(char));
                assert_eq!(pieces.clone().into_text(), single.clone().into_text(), "{cap} {part:?}");
            }
            assert_eq!(pieces.into_noted_text(), single.into_noted_text());
        }
    }

    #[test]
    fn text_in_columns_keeps_its_first_indentation() {
        let mut capped = Capped::indented(20);
        capped.push_str(" \n   1 a\n  10 b\n");
        assert_eq!(capped.into_text().text, "   1 a\n  10 b");
    }

    #[test]
    fn one_line_collapses_blanks_and_marks_the_cut() {
        assert_eq!(one_line(" a\n\tb\u{1b}c ".chars(), 9), Some("a b c".into()));
        assert_eq!(one_line("abcdef".chars(), 4), Some("abc…".into()));
        assert_eq!(one_line("ab cdef".chars(), 4), Some("ab…".into()));
        assert_eq!(one_line(" \n".chars(), 4), None);
    }
}
