//! The characters of a JSON string, decoded one by one and never refused.

use alloc::string::String;
use core::ops::ControlFlow;

/// A part of a decoded string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Several characters.
    Run(&'a str),
    /// A single one.
    Char(char),
}

/// Bytes of a [`Piece::Run`] at most.
const RUN_BYTES: usize = 4 * 1024;

/// Bytes up to which [`Chars::each_piece`] joins small pieces: code has an escape in every line, and a piece costs whoever
/// takes it more than its copy.
const JOINED_BYTES: usize = 1024;

/// Decodes what stands between the quotes of a JSON string.
///
/// What no JSON string may hold does not end it: a lone surrogate, a broken escape and bytes that are not UTF-8 become
/// U+FFFD, a raw control character other than newline, carriage return and tab is dropped.
#[derive(Debug, Clone)]
pub struct Chars<'a> {
    rest: &'a [u8],
}

impl<'a> Chars<'a> {
    /// The characters of a string that is written so between its quotes.
    #[must_use]
    pub const fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// Whether nothing but blanks is left.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.clone().all(char::is_whitespace)
    }

    /// Goes over blanks.
    pub fn skip_blanks(&mut self) {
        let mut look = self.clone();
        while look.next().is_some_and(char::is_whitespace) {
            *self = look.clone();
        }
    }

    /// Goes over `prefix` if that comes next, and tells whether it did.
    pub fn take_prefix(&mut self, prefix: &str) -> bool {
        let mut look = self.clone();
        if prefix.chars().all(|expected| look.next() == Some(expected)) {
            *self = look;
            return true;
        }
        false
    }

    /// The next run of characters that are written as they are, or one that is not. Much faster than one by one.
    pub fn next_piece(&mut self) -> Option<Piece<'a>> {
        // In bounded steps: a text full of what is no UTF-8 must not be looked at from each of its bytes to its end.
        let near = self.rest.get(..RUN_BYTES).unwrap_or(self.rest);
        let head = near.get(..plain_length(near))?;
        let run = match core::str::from_utf8(head) {
            Ok(run) => run,
            Err(error) => head.get(..error.valid_up_to()).and_then(|head| core::str::from_utf8(head).ok())?,
        };
        if run.is_empty() {
            return self.next().map(Piece::Char);
        }
        self.rest = self.rest.get(run.len()..).unwrap_or_default();
        Some(Piece::Run(run))
    }

    /// Lends the pieces of what is left, until one was enough. The fastest way to a text; how it is cut into pieces may
    /// differ, what they say together does not.
    pub fn each_piece(mut self, mut take: impl FnMut(Piece<'_>) -> ControlFlow<()>) {
        #[cfg(feature = "simd")]
        if super::simd::decode(self.rest, |text| take(Piece::Run(text))).is_some() {
            return;
        }
        let mut joined = String::new();
        while let Some(piece) = self.next_piece() {
            match piece {
                Piece::Run(run) if joined.is_empty() && run.len() >= JOINED_BYTES => {
                    if take(piece).is_break() {
                        return;
                    }
                }
                Piece::Run(run) => joined.push_str(run),
                Piece::Char(char) => joined.push(char),
            }
            if joined.len() >= JOINED_BYTES {
                if take(Piece::Run(&joined)).is_break() {
                    return;
                }
                joined.clear();
            }
        }
        if !joined.is_empty() {
            let _ = take(Piece::Run(&joined));
        }
    }

    fn escape(&mut self) -> char {
        let Some((&kind, rest)) = self.rest.split_first() else { return char::REPLACEMENT_CHARACTER };
        self.rest = rest;
        match kind {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'"' | b'\\' | b'/' => char::from(kind),
            b'u' => self.unicode(),
            _ => char::REPLACEMENT_CHARACTER,
        }
    }

    fn unicode(&mut self) -> char {
        let Some(first) = self.hex() else { return char::REPLACEMENT_CHARACTER };
        if let Some(plain) = char::from_u32(first) {
            return plain;
        }
        let mut look = self.clone();
        if (0xD800..0xDC00).contains(&first)
            && let Some(after) = look.rest.strip_prefix(b"\\u")
        {
            look.rest = after;
            if let Some(second) = look.hex().filter(|second| (0xDC00..0xE000).contains(second)) {
                *self = look;
                let joined = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return char::from_u32(joined).unwrap_or(char::REPLACEMENT_CHARACTER);
            }
        }
        char::REPLACEMENT_CHARACTER
    }

    fn hex(&mut self) -> Option<u32> {
        let (digits, rest) = self.rest.split_at_checked(4)?;
        let mut number = 0;
        for &digit in digits {
            number = number * 16 + char::from(digit).to_digit(16)?;
        }
        self.rest = rest;
        Some(number)
    }

    /// The next character of more than one byte.
    fn wide(&mut self) -> char {
        let head = self.rest.get(..4).unwrap_or(self.rest);
        let (found, len) = match core::str::from_utf8(head) {
            Ok(text) => first(text),
            Err(error) => match head.get(..error.valid_up_to()).and_then(|valid| core::str::from_utf8(valid).ok()) {
                Some(valid) if !valid.is_empty() => first(valid),
                _ => (char::REPLACEMENT_CHARACTER, error.error_len().unwrap_or(head.len())),
            },
        };
        self.rest = self.rest.get(len..).unwrap_or_default();
        found
    }
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        loop {
            let (&byte, rest) = self.rest.split_first()?;
            match byte {
                b'\\' => {
                    self.rest = rest;
                    return Some(self.escape());
                }
                b'\n' | b'\r' | b'\t' => {}
                0..0x20 | 0x7f => {
                    self.rest = rest;
                    continue;
                }
                0x80.. => return Some(self.wide()),
                _ => {}
            }
            self.rest = rest;
            return Some(char::from(byte));
        }
    }
}

/// How many of the bytes stand for themselves, if they are UTF-8.
fn plain_length(bytes: &[u8]) -> usize {
    let special = |byte: u8| u8::from(byte < 0x20) | u8::from(byte == b'\\') | u8::from(byte == 0x7f);
    let mut plain = 0;
    // A block without a branch in it is looked at in one go.
    while let Some(block) = bytes.get(plain..).and_then(|rest| rest.first_chunk::<16>()) {
        if block.iter().fold(0, |found, &byte| found | special(byte)) != 0 {
            break;
        }
        plain += block.len();
    }
    let rest = bytes.get(plain..).unwrap_or_default();
    plain + rest.iter().position(|&byte| special(byte) != 0).unwrap_or(rest.len())
}

fn first(text: &str) -> (char, usize) {
    text.chars().next().map_or((char::REPLACEMENT_CHARACTER, 1), |found| (found, found.len_utf8()))
}
