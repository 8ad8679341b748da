//! The rows of a screen: characters, the colour behind them, and what the terminal broke in two.

use alloc::string::String;
use alloc::vec::Vec;

use vte::{Params, Parser, Perform};

use super::frame;
use crate::limits::{SCREEN_COLUMNS, SCREEN_ROWS};

/// One row, without the blanks at its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Row {
    pub(super) text: String,
    /// Where the colour behind the text changes, by byte, and to which.
    paint: Vec<(usize, Paint)>,
}

/// A background colour; the terminal's own is 0.
pub(super) type Paint = u32;

impl Row {
    #[cfg(test)]
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.trim_end().into(), paint: Vec::new() }
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// The text without the blanks around it.
    pub(super) fn trimmed(&self) -> &str {
        self.text.trim()
    }

    /// Columns before its first character.
    pub(super) fn indent(&self) -> usize {
        let first = self.text.len().saturating_sub(self.text.trim_start().len());
        width(self.text.get(..first).unwrap_or_default())
    }

    pub(super) fn width(&self) -> usize {
        width(&self.text)
    }

    /// The colour behind the character at this byte.
    pub(super) fn paint_at(&self, byte: usize) -> Paint {
        self.paint.iter().rev().find(|(from, _)| *from <= byte).map_or(0, |(_, paint)| *paint)
    }

    /// The row without what stands before this byte; colours stay where they are on the screen.
    pub(super) fn after_byte(&self, byte: usize) -> Self {
        let text = self.text.get(byte..).unwrap_or_default().into();
        let mut paint = alloc::vec![(0, self.paint_at(byte))];
        paint.extend(self.paint.iter().filter_map(|(at, paint)| Some((at.checked_sub(byte)?, *paint))));
        Self { text, paint }
    }

    /// The row up to this byte.
    pub(super) fn up_to_byte(&self, byte: usize) -> Self {
        let text = self.text.get(..byte).unwrap_or(&self.text).trim_end().into();
        Self { text, paint: self.paint.clone() }
    }
}

/// The last rows of a screen. Rows that the terminal broke, because the agent drew for a wider one, are whole again.
pub(super) fn parse(text: &str) -> Vec<Row> {
    let mut canvas = Canvas::default();
    if text.contains('\u{1b}') {
        Parser::<64>::new_with_size().advance(&mut canvas, text.as_bytes());
    } else {
        text.chars().for_each(|char| if char == '\n' { canvas.end_row() } else { canvas.print(char) });
    }
    canvas.end_row();
    let mut rows = canvas.rows;
    while rows.last().is_some_and(Row::is_blank) {
        rows.pop();
    }
    let surplus = rows.len().saturating_sub(SCREEN_ROWS);
    rows.drain(..surplus);
    unbroken(rows)
}

/// The widest row.
pub(super) fn columns(rows: &[Row]) -> usize {
    rows.iter().map(Row::width).max().unwrap_or(0)
}

/// The columns that a text takes.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// East Asian wide characters and emoji take two columns, marks that combine take none.
fn char_width(char: char) -> usize {
    match u32::from(char) {
        0x0300..=0x036f | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x2064 | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe4f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// An agent that knows its width draws each rule in one row. A rule that goes on in the next row says that the terminal
/// broke rows, and then every full one goes on in the next.
fn unbroken(rows: Vec<Row>) -> Vec<Row> {
    let columns = columns(&rows);
    let goes_on = |pair: &[Row]| match pair {
        [row, next] => row.width() == columns && frame::is_rule(row) && next.indent() == 0 && frame::is_dashes(next),
        _ => false,
    };
    if columns < MIN_BROKEN_COLUMNS || !rows.windows(2).any(goes_on) {
        return rows;
    }
    let mut whole: Vec<Row> = Vec::with_capacity(rows.len());
    let mut is_open = false;
    for row in rows {
        // A wide character that found no room leaves one column free.
        let is_full = row.width().saturating_add(1) >= columns && !row.is_blank();
        match whole.last_mut().filter(|_| is_open && !row.is_blank()) {
            Some(last) => last.text.push_str(&row.text),
            None => whole.push(row),
        }
        is_open = is_full;
    }
    whole
}

/// Less is no screen.
const MIN_BROKEN_COLUMNS: usize = 16;

#[derive(Default)]
struct Canvas {
    rows: Vec<Row>,
    row: Row,
    chars: usize,
    paint: Paint,
}

impl Canvas {
    fn end_row(&mut self) {
        let mut row = core::mem::take(&mut self.row);
        row.text.truncate(row.text.trim_end().len());
        self.rows.push(row);
        self.chars = 0;
        if self.paint != 0 {
            self.row.paint.push((0, self.paint));
        }
    }

    fn set_paint(&mut self, paint: Paint) {
        if self.paint != paint {
            self.paint = paint;
            self.row.paint.push((self.row.text.len(), paint));
        }
    }

    fn style(&mut self, params: &Params) {
        let mut codes = params.iter().flat_map(|param| param.iter().copied());
        while let Some(code) = codes.next() {
            match code {
                0 | 49 => self.set_paint(0),
                // Reversed: any colour of its own will do.
                7 => self.set_paint(REVERSED),
                40..=47 | 100..=107 => self.set_paint(u32::from(code)),
                38 => drop(colour(&mut codes)),
                48 => self.set_paint(colour(&mut codes)),
                _ => {}
            }
        }
    }
}

impl Perform for Canvas {
    fn print(&mut self, char: char) {
        let blank = char.is_whitespace();
        if self.chars >= SCREEN_COLUMNS || (char.is_control() && !blank) || is_bidi_control(char) || char == '\r' {
            return;
        }
        // A tab or another blank is one column.
        self.row.text.push(if blank { ' ' } else { char });
        self.chars = self.chars.saturating_add(1);
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' => self.end_row(),
            b'\t' => self.print(' '),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, _intermediates: &[u8], _ignored: bool, action: char) {
        if action == 'm' {
            self.style(params);
        }
    }
}

const REVERSED: Paint = 1 << 30;

/// What turns the direction of a text has no place in a label: it would read differently from what it is.
pub(crate) const fn is_bidi_control(char: char) -> bool {
    matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `2;r;g;b` or `5;n`.
fn colour(codes: &mut impl Iterator<Item = u16>) -> Paint {
    match codes.next() {
        Some(2) => {
            let mut part = || u32::from(codes.next().unwrap_or(0) & 0xff);
            let (red, green, blue) = (part(), part(), part());
            1 << 24 | red << 16 | green << 8 | blue
        }
        Some(5) => 1 << 25 | u32::from(codes.next().unwrap_or(0)),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::{Row, parse};

    fn texts(text: &str) -> Vec<String> {
        parse(text).into_iter().map(|row| row.text).collect()
    }

    #[test]
    fn colours_are_known_and_their_sequences_are_gone() {
        let rows = parse("\u{1b}[48;2;1;2;3m a \u{1b}[0m b\r\n\u{1b}[44mc\u{1b}[48;5;7md");
        assert_eq!(rows.iter().map(|row| row.text.as_str()).collect::<Vec<_>>(), [" a  b", "cd"]);
        assert_eq!([0, 1, 3, 4].map(|byte| rows[0].paint_at(byte)), [0x0101_0203, 0x0101_0203, 0, 0]);
        assert_eq!([0, 1].map(|byte| rows[1].paint_at(byte)), [44, 0x0200_0007]);
    }

    #[test]
    fn a_cut_row_keeps_its_colours() {
        let row = &parse("ab\u{1b}[41mcd\u{1b}[0mef")[0];
        let rest = row.after_byte(1);
        assert_eq!((rest.text.as_str(), [0, 1, 2, 3].map(|byte| rest.paint_at(byte))), ("bcdef", [0, 41, 41, 0]));
        assert_eq!(row.up_to_byte(3).text, "abc");
    }

    #[test]
    fn blanks_at_the_ends_are_cut_and_wide_characters_are_two_columns() {
        assert_eq!(texts("a  \n\n  b \n\n\n"), ["a", "", "  b"]);
        assert_eq!((Row::new("  進め").width(), Row::new("  進め").indent()), (6, 2));
    }

    #[test]
    fn rows_that_the_terminal_broke_are_whole_again() {
        let rule = "─".repeat(20);
        let broken = alloc::format!("{rule}\n──────\n❯ 1. Take the longer\n way round\n  2. No");
        assert_eq!(texts(&broken), [&*"─".repeat(26), "❯ 1. Take the longer way round", "  2. No"]);
        let laid_out = alloc::format!("{rule}\n❯ 1. Take the longer\n     way round");
        assert_eq!(texts(&laid_out).len(), 3);
    }
}
