//! A value that was found whole: looked into on demand, lenient about everything but its structure.

use alloc::string::String;
use core::ops::ControlFlow;

use super::{Chars, Nest, Piece, Scanner, Token};

/// The bytes of one JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Value<'a>(pub &'a [u8]);

impl<'a> Value<'a> {
    /// The bytes as they are written.
    #[must_use]
    pub const fn raw(self) -> &'a [u8] {
        self.0
    }

    /// Whether it is an object.
    #[must_use]
    pub fn is_object(self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether it is a list.
    #[must_use]
    pub fn is_list(self) -> bool {
        self.0.first() == Some(&b'[')
    }

    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.0 == b"null"
    }

    /// The value of a member; of the last one if the key is repeated. Only for objects.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        self.members().filter(|(name, _)| *name == key.as_bytes()).last().map(|(_, value)| value)
    }

    /// The members in order, keys as they are written. None unless it is an object.
    #[must_use]
    pub fn members(self) -> Members<'a> {
        Members(Inside::open(self.0, Nest::Object))
    }

    /// The elements in order. None unless it is a list.
    #[must_use]
    pub fn elements(self) -> Elements<'a> {
        Elements(Inside::open(self.0, Nest::Array))
    }

    /// The characters of a string, decoded one by one.
    #[must_use]
    pub fn chars(self) -> Option<Chars<'a>> {
        self.literal().map(Chars::new)
    }

    /// A string as it is written between its quotes.
    #[must_use]
    pub const fn literal(self) -> Option<&'a [u8]> {
        match self.0 {
            [b'"', text @ .., b'"'] => Some(text),
            _ => None,
        }
    }

    /// Whether it is this string, written without escapes.
    #[must_use]
    pub fn is(self, text: &str) -> bool {
        self.literal() == Some(text.as_bytes())
    }

    /// Whether it says nothing: `null`, a blank string, an empty list or object.
    #[must_use]
    pub fn is_empty(self) -> bool {
        match self.0 {
            b"null" | b"" => true,
            [b'{' | b'[', inside @ .., b'}' | b']'] => inside.trim_ascii().is_empty(),
            _ => self.chars().is_some_and(|chars| chars.is_blank()),
        }
    }

    /// The whole of a string.
    #[must_use]
    pub fn text(self) -> Option<String> {
        let mut text = String::new();
        self.chars()?.each_piece(|piece| {
            match piece {
                Piece::Run(run) => text.push_str(run),
                Piece::Char(char) => text.push(char),
            }
            ControlFlow::Continue(())
        });
        Some(text)
    }

    /// A string that is not blank.
    #[must_use]
    pub fn filled(self) -> Option<String> {
        self.text().filter(|text| !text.trim().is_empty())
    }

    /// Whether it is `true`.
    #[must_use]
    pub fn is_true(self) -> bool {
        self.0 == b"true"
    }

    /// A whole number that fits.
    #[must_use]
    pub fn number(self) -> Option<u64> {
        core::str::from_utf8(self.0).ok()?.parse().ok()
    }
}

/// The members of an object, keys as they are written.
#[derive(Debug, Clone)]
pub struct Members<'a>(Inside<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let scanner = self.0.0.as_mut()?;
        match scanner.step() {
            Ok(Token::Key(key)) => scanner.skip().ok().map(|value| (key, Value(value))),
            _ => None,
        }
    }
}

/// The elements of a list.
#[derive(Debug, Clone)]
pub struct Elements<'a>(Inside<'a>);

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let scanner = self.0.0.as_mut()?;
        scanner.element().ok()?.map(Value)
    }
}

#[derive(Debug, Clone)]
struct Inside<'a>(Option<Scanner<'a>>);

impl<'a> Inside<'a> {
    fn open(bytes: &'a [u8], nest: Nest) -> Self {
        let mut scanner = Scanner::new(bytes, 0);
        Self(matches!(scanner.step(), Ok(Token::Open(found)) if found == nest).then_some(scanner))
    }
}
