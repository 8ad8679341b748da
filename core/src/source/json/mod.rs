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
            self.go_over_blanks();
            let byte = self.peek()?;
            match self.expect {
                Expect::Value => return self.value(byte),
                Expect::After if byte == b',' && self.nests.depth > 0 => {
                    self.at += 1;
                    self.expect = self.nests.behind_comma();
                }
                Expect::After | Expect::First if self.nests.is_closed_by(byte) => {
                    self.at += 1;
                    self.expect = Expect::After;
                    return Ok(Token::Close(self.nests.pop()));
                }
                Expect::First if !self.nests.in_object() => return self.value(byte),
                Expect::Key | Expect::First if byte == b'"' => return self.key().map(Token::Key),
                _ => return Err(Broken::Wrong(self.at)),
            }
        }
    }

    /// Goes over the next value and tells its bytes.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    #[inline]
    pub fn skip(&mut self) -> Result<&'a [u8], Broken> {
        let depth = self.nests.depth;
        if self.expect == Expect::Value {
            self.go_over_blanks();
            self.value(self.peek()?)?;
        } else {
            self.step()?;
        }
        let from = self.token;
        self.leave(depth)?;
        Ok(self.between(from, self.at))
    }

    /// Goes over the members of the object that is open, to its end. `each` goes over exactly one value.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn members(&mut self, mut each: impl FnMut(&mut Self, &'a [u8]) -> Result<(), Broken>) -> Result<(), Broken> {
        while let Some(key) = self.next_key()? {
            each(self, key)?;
        }
        Ok(())
    }

    /// The next key of the object that is open, or nothing at its end: [`step`](Self::step) where nothing else can be.
    #[inline]
    fn next_key(&mut self) -> Result<Option<&'a [u8]>, Broken> {
        self.go_over_blanks();
        let mut byte = self.peek()?;
        if self.expect == Expect::After && byte == b',' {
            self.at += 1;
            self.expect = Expect::Key;
            self.go_over_blanks();
            byte = self.peek()?;
        } else if matches!(self.expect, Expect::After | Expect::First) && byte == b'}' {
            self.at += 1;
            self.expect = Expect::After;
            self.nests.pop();
            return Ok(None);
        } else if self.expect == Expect::After {
            return Err(Broken::Wrong(self.at));
        }
        if byte == b'"' { self.key().map(Some) } else { Err(Broken::Wrong(self.at)) }
    }

    #[inline]
    fn go_over_blanks(&mut self) {
        self.at = blanks_end(self.bytes, self.at);
        self.token = self.at;
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
    #[inline]
    pub fn leave(&mut self, depth: usize) -> Result<(), Broken> {
        if self.nests.depth > depth { self.leave_for(depth) } else { Ok(()) }
    }

    /// The loop behind [`leave`](Self::leave): the same grammar as [`step`](Self::step), without its tokens. What is
    /// skipped is most of a transcript, so here every instruction counts.
    fn leave_for(&mut self, depth: usize) -> Result<(), Broken> {
        let bytes = self.bytes;
        let (mut at, mut expect) = (self.at, self.expect);
        loop {
            at = blanks_end(bytes, at);
            let mut byte = *bytes.get(at).ok_or(Broken::Cut)?;
            if expect == Expect::After && byte == b',' {
                at = blanks_end(bytes, at + 1);
                expect = self.nests.behind_comma();
                byte = *bytes.get(at).ok_or(Broken::Cut)?;
            } else if matches!(expect, Expect::After | Expect::First) && self.nests.is_closed_by(byte) {
                at += 1;
                expect = Expect::After;
                self.nests.pop();
                if self.nests.depth <= depth {
                    break;
                }
                continue;
            } else if expect == Expect::After {
                return Err(Broken::Wrong(at));
            }
            if expect == Expect::Key || (expect == Expect::First && self.nests.in_object()) {
                if byte != b'"' {
                    return Err(Broken::Wrong(at));
                }
                at = colon_end(bytes, string_end(bytes, at + 1)?)?;
                at = blanks_end(bytes, at);
                byte = *bytes.get(at).ok_or(Broken::Cut)?;
            }
            expect = Expect::After;
            match byte {
                b'"' => at = string_end(bytes, at + 1)?,
                b'{' | b'[' => {
                    at += 1;
                    self.nests.push(byte == b'{');
                    expect = Expect::First;
                }
                _ => at = bare_end(bytes, at)?,
            }
        }
        (self.at, self.expect) = (at, expect);
        Ok(())
    }

    fn peek(&self) -> Result<u8, Broken> {
        self.bytes.get(self.at).copied().ok_or(Broken::Cut)
    }

    /// The key whose opening quote is next, and over the colon behind it.
    #[inline]
    fn key(&mut self) -> Result<&'a [u8], Broken> {
        let from = self.at + 1;
        let behind = string_end(self.bytes, from)?;
        self.at = colon_end(self.bytes, behind)?;
        self.expect = Expect::Value;
        Ok(self.between(from, behind - 1))
    }

    #[inline]
    fn value(&mut self, byte: u8) -> Result<Token<'a>, Broken> {
        let from = self.at;
        self.expect = Expect::After;
        match byte {
            b'"' => {
                self.at = string_end(self.bytes, from + 1)?;
                Ok(Token::Text(self.between(from + 1, self.at - 1)))
            }
            b'{' | b'[' => {
                self.at += 1;
                self.nests.push(byte == b'{');
                self.expect = Expect::First;
                Ok(Token::Open(if byte == b'{' { Nest::Object } else { Nest::Array }))
            }
            _ => {
                self.at = bare_end(self.bytes, from)?;
                Ok(Token::Bare(self.between(from, self.at)))
            }
        }
    }
}

/// The place behind the blanks at `at`.
#[inline]
fn blanks_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\r' | b'\n') = bytes.get(at) {
        at += 1;
    }
    at
}

/// The place behind the string whose first byte, behind its opening quote, is at `from`.
#[inline]
fn string_end(bytes: &[u8], from: usize) -> Result<usize, Broken> {
    let length = bytes.get(from..).and_then(quote::end).ok_or(Broken::Cut)?;
    Ok(from + length + 1)
}

/// The place behind the colon that comes next.
#[inline]
fn colon_end(bytes: &[u8], at: usize) -> Result<usize, Broken> {
    let at = blanks_end(bytes, at);
    match bytes.get(at) {
        Some(b':') => Ok(at + 1),
        Some(_) => Err(Broken::Wrong(at)),
        None => Err(Broken::Cut),
    }
}

/// The place behind the number or word at `from`.
#[inline]
fn bare_end(bytes: &[u8], from: usize) -> Result<usize, Broken> {
    let mut at = from;
    while bytes.get(at).is_some_and(|&byte| is_bare(byte)) {
        at += 1;
    }
    if at > from { Ok(at) } else { Err(Broken::Wrong(at)) }
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

    #[inline]
    fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(self.inner);
            self.inner = 0;
        }
        self.inner = (self.inner << 1) | u64::from(object);
        self.depth += 1;
    }

    /// What stands behind a comma.
    #[inline]
    const fn behind_comma(&self) -> Expect {
        if self.in_object() { Expect::Key } else { Expect::Value }
    }

    /// Whether this byte ends what is open.
    #[inline]
    const fn is_closed_by(&self, byte: u8) -> bool {
        self.depth > 0 && byte == if self.in_object() { b'}' } else { b']' }
    }

    #[inline]
    fn pop(&mut self) -> Nest {
        let closed = if self.in_object() { Nest::Object } else { Nest::Array };
        self.inner >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.inner = self.outer.pop().unwrap_or_default();
        }
        closed
    }
}
