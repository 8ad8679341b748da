//! From the bytes of a terminal's keyboard to what herdr types: texts, and keys by their names.
//!
//! herdr types no control sequences as text: they are keys, or nothing.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use vte::{Params, Parser, Perform};

use crate::limits::{STROKE_CHARS, STROKE_KEYS};

/// Something that is typed in one write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stroke {
    Text(String),
    /// In herdr's names.
    Keys(Vec<String>),
}

/// What waits to be typed into one pane, in order.
#[derive(Default)]
pub(super) struct Typing {
    waiting: VecDeque<Item>,
    /// The beginning of a character or of a sequence, whose rest is in the next message.
    unfinished: Vec<u8>,
    parser: Parser,
    found: Found,
}

#[derive(Clone, Copy)]
enum Item {
    Byte(u8),
    /// The key itself, not the beginning of a sequence.
    Escape,
    Alt(u8),
    /// A message ended: nothing that it began goes on.
    End,
}

/// Pieces of strokes that were found, in order.
#[derive(Debug, Default)]
struct Found {
    pieces: VecDeque<Piece>,
    /// The next letter belongs to `ESC O`.
    is_application_key: bool,
}

#[derive(Debug)]
enum Piece {
    Char(char),
    Key(String),
    /// One that herdr may not know: then all that is pressed with it is refused.
    RareKey(String),
}

const ESCAPE: u8 = 0x1b;
const DELETE: u8 = 0x7f;

/// Bytes of a sequence whose rest is waited for.
const MAX_UNFINISHED_BYTES: usize = 16;

impl Typing {
    /// Takes the bytes of one message. What a terminal sends for a key comes in one, a long paste in several.
    pub(super) fn push(&mut self, message: &[u8]) {
        if let [ESCAPE, letter] = message
            && letter.is_ascii_graphic()
        {
            self.waiting.extend([Item::Alt(*letter), Item::End]);
            return;
        }
        let mut bytes = core::mem::take(&mut self.unfinished);
        bytes.extend_from_slice(message);
        self.unfinished = bytes.split_off(bytes.len().saturating_sub(unfinished(&bytes)));
        let (bytes, escape) = match bytes.split_last() {
            Some((&ESCAPE, rest)) => (rest, true),
            _ => (&*bytes, false),
        };
        self.waiting.extend(bytes.iter().map(|byte| Item::Byte(*byte)));
        self.waiting.extend(escape.then_some(Item::Escape));
        self.waiting.push_back(Item::End);
    }

    /// Bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The next stroke.
    pub(super) fn next(&mut self) -> Option<Stroke> {
        while self.found.pieces.len() < STROKE_CHARS
            && let Some(item) = self.waiting.pop_front()
        {
            self.take(item);
        }
        let mut stroke = match self.found.pieces.pop_front()? {
            Piece::RareKey(key) => return Some(Stroke::Keys(vec![key])),
            Piece::Key(key) => Stroke::Keys(vec![key]),
            Piece::Char(char) => Stroke::Text(char.to_string()),
        };
        loop {
            match (&mut stroke, self.found.pieces.pop_front()) {
                (Stroke::Text(text), Some(Piece::Char(char))) => text.push(char),
                (Stroke::Keys(keys), Some(Piece::Key(key))) if keys.len() < STROKE_KEYS => keys.push(key),
                (_, Some(other)) => {
                    self.found.pieces.push_front(other);
                    break;
                }
                (_, None) => break,
            }
        }
        Some(stroke)
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::Byte(DELETE) => self.found.key("Backspace"),
            Item::Byte(byte) => self.parser.advance(&mut self.found, &[byte]),
            Item::Escape => self.found.key("Escape"),
            Item::Alt(letter) => self.found.rare(format!("alt+{}", char::from(letter))),
            Item::End => {
                self.parser = Parser::new();
                self.found.is_application_key = false;
            }
        }
    }
}

impl core::fmt::Debug for Typing {
    /// Without what was typed.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Typing").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

impl Found {
    fn key(&mut self, name: &str) {
        self.pieces.push_back(Piece::Key(name.to_string()));
    }

    fn rare(&mut self, name: String) {
        self.pieces.push_back(Piece::RareKey(name));
    }

    /// A key that may be pressed together with others.
    fn modified(&mut self, name: &str, modifiers: u16) {
        let held = modifiers.saturating_sub(1);
        let prefix: String = [(4, "ctrl+"), (2, "alt+"), (1, "shift+")]
            .iter()
            .filter(|(bit, _)| held & bit != 0)
            .map(|(_, name)| *name)
            .collect();
        match name {
            "Up" | "Down" | "Left" | "Right" if prefix.is_empty() => self.key(name),
            _ => self.rare(prefix + name),
        }
    }
}

impl Perform for Found {
    fn print(&mut self, c: char) {
        if core::mem::take(&mut self.is_application_key)
            && let Some(name) = letter_key(c)
        {
            return self.modified(name, 1);
        }
        if !c.is_control() {
            self.pieces.push_back(Piece::Char(c));
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\r' => self.key("Enter"),
            b'\t' => self.key("Tab"),
            b'\n' => self.pieces.push_back(Piece::Char('\n')),
            0x03 => self.key("ctrl+c"),
            0x00 => self.rare("ctrl+space".into()),
            0x01..=0x1a => self.rare(format!("ctrl+{}", char::from(byte | 0x60))),
            0x1c..=0x1f => self.rare(format!("ctrl+{}", char::from(byte | 0x40))),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignore: bool, action: char) {
        let mut numbers = params.iter().map(|number| number.first().copied().unwrap_or(0));
        let (first, second) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(1));
        // Reports of the mouse and of the terminal are no keys.
        if ignore || !intermediates.is_empty() {
            return;
        }
        match action {
            'Z' => self.key("shift+tab"),
            '~' => {
                if let Some(name) = numbered_key(first) {
                    self.modified(name, second);
                }
            }
            _ => {
                if let Some(name) = letter_key(action) {
                    self.modified(name, second);
                }
            }
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _: bool, byte: u8) {
        match byte {
            // The end of a string.
            b'\\' => {}
            b'O' if intermediates.is_empty() => self.is_application_key = true,
            _ if intermediates.is_empty() && byte.is_ascii_graphic() => {
                self.rare(format!("alt+{}", char::from(byte)));
            }
            _ => {}
        }
    }
}

/// How many bytes at the end begin a character or a sequence that is not finished there. `ESC` alone is a key.
fn unfinished(bytes: &[u8]) -> usize {
    let cut_character = core::str::from_utf8(bytes).err().filter(|error| error.error_len().is_none());
    if let Some(error) = cut_character {
        return bytes.len().saturating_sub(error.valid_up_to()).min(3);
    }
    let from = bytes.len().saturating_sub(MAX_UNFINISHED_BYTES);
    let tail = bytes.get(from..).unwrap_or_default();
    let Some(at) = tail.iter().rposition(|byte| *byte == ESCAPE) else { return 0 };
    match tail.get(at.saturating_add(1)..) {
        Some([b'[', rest @ ..]) if rest.iter().all(|byte| (0x20..=0x3f).contains(byte)) => {
            tail.len().saturating_sub(at)
        }
        _ => 0,
    }
}

/// What a letter behind `ESC [` or `ESC O` is.
const fn letter_key(letter: char) -> Option<&'static str> {
    Some(match letter {
        'A' => "Up",
        'B' => "Down",
        'C' => "Right",
        'D' => "Left",
        'H' => "Home",
        'F' => "End",
        'P' => "F1",
        'Q' => "F2",
        'R' => "F3",
        'S' => "F4",
        _ => return None,
    })
}

/// What a number before `~` is. Those of a bracketed paste are nothing: its content is text.
const fn numbered_key(number: u16) -> Option<&'static str> {
    Some(match number {
        1 | 7 => "Home",
        2 => "Insert",
        3 => "Delete",
        4 | 8 => "End",
        5 => "PageUp",
        6 => "PageDown",
        11 => "F1",
        12 => "F2",
        13 => "F3",
        14 => "F4",
        15 => "F5",
        17 => "F6",
        18 => "F7",
        19 => "F8",
        20 => "F9",
        21 => "F10",
        23 => "F11",
        24 => "F12",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strokes(messages: &[&[u8]]) -> Vec<Stroke> {
        let mut typing = Typing::default();
        messages.iter().for_each(|message| typing.push(message));
        core::iter::from_fn(|| typing.next()).collect()
    }

    fn text(text: &str) -> Stroke {
        Stroke::Text(text.into())
    }

    fn keys(names: &[&str]) -> Stroke {
        Stroke::Keys(names.iter().map(|name| (*name).into()).collect())
    }

    #[test]
    fn texts_and_keys_keep_their_order() {
        let typed = strokes(&[b"ls -la", b"\r", b"\x1b[A\x1b[A", b"\x03", "日本 é\u{1f44d}\n".as_bytes(), b"\x7f\t"]);
        let expected = [
            text("ls -la"),
            keys(&["Enter", "Up", "Up", "ctrl+c"]),
            text("日本 é\u{1f44d}\n"),
            keys(&["Backspace", "Tab"]),
        ];
        assert_eq!(typed, expected);
    }

    #[test]
    fn a_key_has_one_name_however_a_terminal_sends_it() {
        for (bytes, name) in [
            (&b"\x1b"[..], "Escape"),
            (b"\x1b[B", "Down"),
            (b"\x1bOC", "Right"),
            (b"\x1b[D", "Left"),
            (b"\x1b[Z", "shift+tab"),
            (b"\x1b[1;5C", "ctrl+Right"),
            (b"\x1b[1;2A", "shift+Up"),
            (b"\x1b[1;8A", "ctrl+alt+shift+Up"),
            (b"\x1b[H", "Home"),
            (b"\x1bOF", "End"),
            (b"\x1b[3~", "Delete"),
            (b"\x1b[3;5~", "ctrl+Delete"),
            (b"\x1bOP", "F1"),
            (b"\x1b[24~", "F12"),
            (b"\x01", "ctrl+a"),
            (b"\x1a", "ctrl+z"),
            (b"\x1c", "ctrl+\\"),
            (b"\0", "ctrl+space"),
            (b"\x1bb", "alt+b"),
            (b"\x1b]", "alt+]"),
            (b"\x1bP", "alt+P"),
        ] {
            assert_eq!(strokes(&[bytes]), [keys(&[name])], "{bytes:?}");
        }
    }

    #[test]
    fn a_key_that_herdr_may_not_know_takes_no_other_with_it() {
        assert_eq!(
            strokes(&[b"\r\x01\r\x1b[H\x1b[B"]),
            [keys(&["Enter"]), keys(&["ctrl+a"]), keys(&["Enter"]), keys(&["Home"]), keys(&["Down"])]
        );
    }

    #[test]
    fn what_is_no_key_is_not_typed() {
        for bytes in [
            &b"\x1b[<0;10;5M"[..],
            b"\x1b[I",
            b"\x1b[O",
            b"\x1b[?1;2c",
            b"\x1b]0;title\x07",
            b"\x1bPq\x1b\\",
            b"\xc2\x9b",
        ] {
            assert_eq!(strokes(&[bytes, b"x"]), [text("x")], "{bytes:?}");
        }
        assert_eq!(strokes(&[b"\x1b[200~a paste\r\x1b[201~"]), [text("a paste"), keys(&["Enter"])]);
    }

    #[test]
    fn what_a_message_begins_and_does_not_end_goes_on_if_it_can() {
        let bytes = "é日\u{1f44d}\x1b[1;5C\x1b[24~".as_bytes();
        let whole = strokes(&[bytes]);
        for cut in 1..bytes.len() {
            // Behind ESC alone nobody can know.
            if bytes[cut - 1] != ESCAPE {
                assert_eq!(strokes(&[&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut}");
            }
        }
        // A string that never ends swallows what was sent with it, and no more.
        assert_eq!(strokes(&[b"\x1b]0;never", b"ls", b"\x1bPnever", b"\r"]), [text("ls"), keys(&["Enter"])]);
    }

    #[test]
    fn what_is_no_text_is_shown_as_such() {
        assert_eq!(strokes(&[b"a\xffb"]), [text("a\u{fffd}b")]);
        let mut typing = Typing::default();
        for _ in 0..100 {
            typing.push(b"\x1b[");
        }
        assert!(typing.unfinished.len() <= MAX_UNFINISHED_BYTES);
    }

    #[test]
    fn a_stroke_has_a_bound() {
        let typed = strokes(&[&[b'x'; STROKE_CHARS * 2], &[b'\r'; STROKE_KEYS + 1]]);
        let lengths: Vec<usize> = typed
            .iter()
            .map(|stroke| match stroke {
                Stroke::Text(text) => text.len(),
                Stroke::Keys(keys) => keys.len(),
            })
            .collect();
        assert_eq!(lengths, [STROKE_CHARS, STROKE_CHARS, STROKE_KEYS, 1]);
    }
}
