//! JSON as it lies in a line: a scanner that finds where things begin and end, without building anything.
//!
//! The scanner is iterative, so the depth of nesting costs one bit a level and no stack. It is strict about structure
//! (brackets, commas, colons, quotes) and lenient about what stands between: a string ends at its next quote that is
//! not escaped, whatever bytes it holds; a number or word is any run of letters, digits, `+`, `-` and `.`.
//! So a wrong byte in a string or a number costs that value, and a torn record is seen where it is torn.

mod quote;
#[cfg(feature = "simd")]
mod simd;
#[cfg(test)]
mod tests;
mod text;
mod value;

pub use text::{Chars, Piece};
pub use value::{Elements, Members, Value};

use alloc::vec::Vec;

/// One step of a [`Scanner`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// `{` or `[`.
    Open(Nest),
    /// `}` or `]`.
    Close(Nest),
    /// The key of a member, as it is written between its quotes; the colon is behind it already.
    Key(&'a [u8]),
    /// A string, as it is written between its quotes.
    Text(&'a [u8]),
    /// A number or a word such as `true`.
    Bare(&'a [u8]),
}

/// The two kinds of nesting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nest {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
}

/// Why a [`Scanner`] cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// The bytes end inside a value.
    Cut,
    /// The byte at this place cannot stand there.
    Wrong(usize),
}

/// Walks over exactly one JSON value.
#[derive(Debug, Clone)]
pub struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the last token begins.
    token: usize,
    expect: Expect,
    nests: Nests,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// A value: at the beginning, behind a key, or behind a comma in an array.
    Value,
    /// What stands behind an opening bracket: a first member or element, or its end.
    First,
    /// A key: behind a comma in an object.
    Key,
    /// What stands behind a value: a comma or the end of what it lies in.
    After,
}

impl<'a> Scanner<'a> {
    /// A scanner of the value at `at` in `bytes`; blanks before it do not matter.
    #[must_use]
    pub const fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, token: at, expect: Expect::Value, nests: Nests::new() }
    }

    /// The place of the last token.
    #[must_use]
    pub const fn token_at(&self) -> usize {
        self.token
    }

    /// The place behind the last token.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at
    }

    /// How many objects and arrays are open.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.nests.depth
    }

    /// The bytes between two places, as [`at`](Self::at) told them.
    #[must_use]
    pub fn between(&self, from: usize, to: usize) -> &'a [u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// The next token. Behind the end of the value every byte is [`Broken::Wrong`], the end of the bytes [`Broken::Cut`].
    ///
    /// # Errors
    /// If the bytes end, or something stands where it cannot.
    #[inline]
    pub fn step(&mut self) -> Result<Token<'a>, Broken> {
        loop {
            self.skip_blanks();
            self.token = self.at;
            let byte = self.peek().ok_or(Broken::Cut)?;
            match (self.expect, byte) {
                (Expect::After, b',') if self.nests.depth > 0 => {
                    self.at += 1;
                    self.expect = if self.nests.in_object() { Expect::Key } else { Expect::Value };
                }
                (Expect::After | Expect::First, b'}') if self.nests.depth > 0 && self.nests.in_object() => {
                    return Ok(self.close(Nest::Object));
                }
                (Expect::After | Expect::First, b']') if self.nests.depth > 0 && !self.nests.in_object() => {
                    return Ok(self.close(Nest::Array));
                }
                (Expect::Key, b'"') => return self.key(),
                (Expect::First, b'"') if self.nests.in_object() => return self.key(),
                (Expect::Value, _) => return self.value(byte),
                (Expect::First, _) if !self.nests.in_object() => return self.value(byte),
                _ => return Err(Broken::Wrong(self.at)),
            }
        }
    }

    /// Goes over the next value and tells its bytes.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn skip(&mut self) -> Result<&'a [u8], Broken> {
        let depth = self.nests.depth;
        self.step()?;
        let from = self.token;
        self.leave(depth)?;
        Ok(self.between(from, self.at))
    }

    /// Goes over the members of the object that is open, to its end. `each` goes over exactly one value.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn members(&mut self, mut each: impl FnMut(&mut Self, &'a [u8]) -> Result<(), Broken>) -> Result<(), Broken> {
        while let Token::Key(key) = self.step()? {
            each(self, key)?;
        }
        Ok(())
    }

    /// The next element of the list that is open, or nothing at its end.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn element(&mut self) -> Result<Option<&'a [u8]>, Broken> {
        match self.step()? {
            Token::Close(_) => Ok(None),
            _ => {
                let (from, depth) = (self.token, self.nests.depth);
                let outside = if self.expect == Expect::First { depth.saturating_sub(1) } else { depth };
                self.leave(outside)?;
                Ok(Some(self.between(from, self.at)))
            }
        }
    }

    /// Goes on until no more than `depth` objects and arrays are open.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn leave(&mut self, depth: usize) -> Result<(), Broken> {
        while self.nests.depth > depth {
            self.step()?;
        }
        Ok(())
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn close(&mut self, nest: Nest) -> Token<'a> {
        self.at += 1;
        self.nests.pop();
        self.expect = Expect::After;
        Token::Close(nest)
    }

    fn key(&mut self) -> Result<Token<'a>, Broken> {
        let key = self.string()?;
        self.skip_blanks();
        match self.peek() {
            Some(b':') => {
                self.at += 1;
                self.expect = Expect::Value;
                Ok(Token::Key(key))
            }
            Some(_) => Err(Broken::Wrong(self.at)),
            None => Err(Broken::Cut),
        }
    }

    fn value(&mut self, byte: u8) -> Result<Token<'a>, Broken> {
        match byte {
            b'"' => {
                let text = self.string()?;
                self.expect = Expect::After;
                Ok(Token::Text(text))
            }
            b'{' | b'[' => {
                let object = byte == b'{';
                self.at += 1;
                self.nests.push(object);
                self.expect = Expect::First;
                Ok(Token::Open(if object { Nest::Object } else { Nest::Array }))
            }
            _ if is_bare(byte) => {
                let from = self.at;
                while self.peek().is_some_and(is_bare) {
                    self.at += 1;
                }
                self.expect = Expect::After;
                Ok(Token::Bare(self.between(from, self.at)))
            }
            _ => Err(Broken::Wrong(self.at)),
        }
    }

    /// The string whose opening quote is next: what stands between its quotes.
    fn string(&mut self) -> Result<&'a [u8], Broken> {
        let from = self.at + 1;
        let rest = self.bytes.get(from..).ok_or(Broken::Cut)?;
        let length = quote::end(rest).ok_or(Broken::Cut)?;
        self.at = from + length + 1;
        Ok(rest.get(..length).unwrap_or_default())
    }
}

/// Where the JSON object that begins at `at` ends: the place behind its last byte.
///
/// # Errors
/// If there is no whole object.
pub fn object_end(bytes: &[u8], at: usize) -> Result<usize, Broken> {
    let mut scanner = Scanner::new(bytes, at);
    match scanner.step()? {
        Token::Open(Nest::Object) => {
            scanner.leave(0)?;
            Ok(scanner.at())
        }
        _ => Err(Broken::Wrong(at)),
    }
}

const fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// Which of the open nests are objects: a stack of bits.
#[derive(Debug, Clone)]
struct Nests {
    depth: usize,
    /// The innermost up to 64, the innermost in the lowest bit.
    inner: u64,
    /// The others, 64 a word.
    outer: Vec<u64>,
}

impl Nests {
    const fn new() -> Self {
        Self { depth: 0, inner: 0, outer: Vec::new() }
    }

    const fn in_object(&self) -> bool {
        self.inner & 1 == 1
    }

    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.inner);
            self.inner = 0;
        }
        self.inner = (self.inner << 1) | u64::from(object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.inner >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.inner = self.outer.pop().unwrap_or_default();
        }
    }
}
