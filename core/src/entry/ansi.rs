//! Terminal output as plain text: escape sequences are gone, and what a program drew over is gone with them.

use alloc::string::String;
use core::ops::ControlFlow;

use memchr::memrchr;
use vte::{Params, Parser, Perform};

use super::caps::Capped;
use crate::source::json::{Chars, Piece};

/// Turns terminal output into plain text, line by line.
///
/// A carriage return begins the line anew, so that a progress bar leaves its last state. No sequence goes on over the
/// end of a line: one that is never ended costs its line only.
#[derive(Debug)]
pub struct Plain<'o> {
    out: &'o mut Capped,
    line: String,
    /// Whether the line holds anything that only a terminal understands.
    controls: bool,
}

impl<'o> Plain<'o> {
    /// Writes plain text to `out`.
    pub const fn new(out: &'o mut Capped) -> Self {
        Self { out, line: String::new(), controls: false }
    }

    /// Takes one character of output.
    pub fn push(&mut self, char: char) {
        if char == '\n' {
            self.end_line();
            self.out.push('\n');
        } else {
            self.controls |= char.is_control() && char != '\t';
            self.line.push(char);
        }
    }

    /// Takes output.
    pub fn push_str(&mut self, text: &str) {
        if !self.controls && !has_controls(text) {
            return self.push_plain(text);
        }
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.push('\n');
            }
            self.controls |= has_controls(line);
            self.line.push_str(line);
        }
    }

    /// Takes output without controls: all its lines but the last are what they will be.
    fn push_plain(&mut self, text: &str) {
        let (lines, last) = match memrchr(b'\n', text.as_bytes()) {
            Some(end) => text.split_at(end + 1),
            None => ("", text),
        };
        if !lines.is_empty() {
            self.out.push_str(&self.line);
            self.line.clear();
            self.out.push_str(lines);
        }
        self.line.push_str(last);
    }

    /// Takes the output that a JSON string holds.
    pub fn decode(&mut self, chars: Chars<'_>) {
        chars.each_piece(|piece| {
            match piece {
                Piece::Run(run) => self.push_str(run),
                Piece::Char(char) => self.push(char),
            }
            ControlFlow::Continue(())
        });
    }

    /// Ends the line if anything stands in it.
    pub fn fresh_line(&mut self) {
        if !self.line.is_empty() {
            self.push('\n');
        }
    }

    /// Ends the last line.
    pub fn finish(mut self) {
        self.end_line();
    }

    fn end_line(&mut self) {
        if self.controls {
            let mut drawn = Drawn::default();
            Parser::<64>::new_with_size().advance(&mut drawn, self.line.as_bytes());
            self.out.push_str(&drawn.line);
        } else {
            self.out.push_str(&self.line);
        }
        self.line.clear();
        self.controls = false;
    }
}

/// Whether anything in the text may be for a terminal alone.
fn has_controls(text: &str) -> bool {
    // 0xC2 begins the controls beyond ASCII, among others: a needless look costs only time.
    text.bytes().fold(false, |found, byte| {
        found | (byte < b' ' && byte != b'\t' && byte != b'\n') | matches!(byte, 0x7f | 0xc2)
    })
}

/// Terminal output as plain text, whole.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut out = Capped::new(usize::MAX);
    let mut plain = Plain::new(&mut out);
    plain.push_str(text);
    plain.finish();
    out.into_text().text
}

/// One line of a terminal.
#[derive(Debug, Default)]
struct Drawn {
    line: String,
    /// A carriage return came: what is printed next replaces the line.
    returned: bool,
}

impl Perform for Drawn {
    fn print(&mut self, char: char) {
        if core::mem::take(&mut self.returned) {
            self.line.clear();
        }
        self.line.push(char);
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\r' => self.returned = true,
            b'\t' => self.print('\t'),
            // Spinners go back over what they drew.
            8 => drop(self.line.pop()),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, _: &[u8], _: bool, action: char) {
        let first = params.iter().next().and_then(|param| param.first().copied()).unwrap_or_default();
        let erases = match (action, first) {
            ('K', 1 | 2) => true,
            ('K', _) => self.returned,
            // To the first column, as a carriage return.
            ('G', 0 | 1) => {
                self.returned = true;
                false
            }
            _ => false,
        };
        if erases {
            self.line.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn colours_titles_and_links_are_gone() {
        assert_eq!(plain("\u{1b}[1;31mred\u{1b}[0m plain"), "red plain");
        assert_eq!(plain("\u{1b}]0;title\u{7}text"), "text");
        assert_eq!(plain("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\"), "link");
    }

    #[test]
    fn a_progress_bar_leaves_its_last_state() {
        assert_eq!(plain("get 1%\rget 50%\rget 100%\ndone\r\nend"), "get 100%\ndone\nend");
        assert_eq!(plain("long line\r\u{1b}[Kok"), "ok");
        assert_eq!(plain("|\u{8}/\u{8}-\u{8}ok"), "ok");
    }

    #[test]
    fn a_sequence_without_an_end_costs_its_line_only() {
        assert_eq!(plain("a\n\u{1b}]0;never ended\nb"), "a\n\nb");
    }

    #[test]
    fn tabs_and_wide_characters_stay() {
        assert_eq!(plain("1\ta\u{1b}[0m\t中é"), "1\ta\t中é");
    }
}
