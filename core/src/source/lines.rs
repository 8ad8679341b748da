//! The line splitter: bytes in any chunks in, whole physical lines out, lent and not copied where they can be.

use alloc::vec::Vec;
use core::ops::ControlFlow;

use memchr::memchr;

use crate::agent::Line;
use crate::limits::{IDLE_CARRY_BYTES, KEPT_CARRY_BYTES};

/// Splits a growing file into physical lines.
///
/// Only a line that spans two chunks is copied, up to the cap. A line over the cap is not kept: it is lent without its
/// bytes when its end is seen ([`Line::over_cap`]).
///
/// ```
/// use core::ops::ControlFlow;
/// use panewire_core::source::lines::LineSplitter;
///
/// let mut lines = LineSplitter::new(0, 1024);
/// let mut seen = Vec::new();
/// for chunk in ["{\"a\":", "1}\r\n{\"b\"", ":2}"] {
///     let _ = lines.push(chunk.as_bytes(), |line| {
///         seen.push((line.offset, String::from_utf8_lossy(line.bytes).into_owned()));
///         ControlFlow::<()>::Continue(())
///     });
/// }
/// assert_eq!(seen, [(0, "{\"a\":1}".to_owned())]);
/// assert_eq!(lines.tail(), b"{\"b\":2}");
/// ```
#[derive(Debug)]
pub struct LineSplitter {
    cap_bytes: usize,
    /// Where the unfinished line begins.
    start: u64,
    /// The unfinished line, unless it is over the cap.
    carry: Vec<u8>,
    /// The length of the unfinished line so far, if it is over the cap.
    over: Option<u64>,
}

impl LineSplitter {
    /// A splitter for bytes that begin at `offset`, which must be the beginning of a line.
    #[must_use]
    pub const fn new(offset: u64, cap_bytes: usize) -> Self {
        Self { cap_bytes, start: offset, carry: Vec::new(), over: None }
    }

    /// Takes the next bytes of the file and lends each line that ends in them.
    ///
    /// When `each` breaks, the rest of the chunk is forgotten: the splitter then stands behind the line that was lent.
    pub fn push<B>(&mut self, chunk: &[u8], mut each: impl FnMut(Line<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        let mut rest = chunk;
        while let Some(at) = memchr(b'\n', rest) {
            let (line, after) = rest.split_at(at);
            rest = after.get(1..).unwrap_or_default();
            self.end_line(line, &mut each)?;
        }
        self.keep(rest);
        ControlFlow::Continue(())
    }

    /// The offset of the byte that comes next.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.over.unwrap_or(self.carry.len() as u64))
    }

    /// Where the unfinished line begins: everything before it was lent.
    #[must_use]
    pub const fn line_start(&self) -> u64 {
        self.start
    }

    /// The unfinished last line so far; empty if it is over the cap.
    #[must_use]
    pub fn tail(&self) -> &[u8] {
        &self.carry
    }

    /// The unfinished last line as a line. After [`accept_tail`](Self::accept_tail) it is not lent again.
    #[must_use]
    pub fn tail_line(&self) -> Line<'_> {
        Line { offset: self.start, bytes: &self.carry, over_cap: None }
    }

    /// Counts the unfinished last line as lent: what still comes of it is a line of its own.
    pub fn accept_tail(&mut self) {
        self.start = self.end();
        self.carry.clear();
        self.over = None;
    }

    fn end_line<B>(&mut self, last: &[u8], each: &mut impl FnMut(Line<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        let offset = self.start;
        let length = self.over.unwrap_or(self.carry.len() as u64).saturating_add(last.len() as u64);
        self.start = offset.saturating_add(length).saturating_add(1);
        let flow = if self.over.is_some() || length > self.cap_bytes as u64 {
            each(Line { offset, bytes: &[], over_cap: Some(length) })
        } else if self.carry.is_empty() {
            each(Line { offset, bytes: without_return(last), over_cap: None })
        } else {
            self.carry.extend_from_slice(last);
            each(Line { offset, bytes: without_return(&self.carry), over_cap: None })
        };
        self.over = None;
        self.release();
        flow
    }

    fn keep(&mut self, rest: &[u8]) {
        if let Some(length) = &mut self.over {
            *length = length.saturating_add(rest.len() as u64);
        } else if self.carry.len().saturating_add(rest.len()) > self.cap_bytes {
            self.over = Some((self.carry.len() as u64).saturating_add(rest.len() as u64));
            self.release();
        } else {
            self.carry.extend_from_slice(rest);
        }
    }

    /// Gives back memory that a long line needed, unless one is on its way: nothing more comes for a while.
    pub fn rest(&mut self) {
        if self.carry.len() <= IDLE_CARRY_BYTES {
            self.carry.shrink_to(IDLE_CARRY_BYTES);
        }
    }

    /// Empties the carry, and gives memory back after a line that is much longer than others.
    fn release(&mut self) {
        self.carry.clear();
        self.carry.shrink_to(KEPT_CARRY_BYTES);
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    fn split(chunks: &[&[u8]], cap: usize) -> (Vec<(u64, String, Option<u64>)>, LineSplitter) {
        let mut lines = LineSplitter::new(0, cap);
        let mut seen = Vec::new();
        for chunk in chunks {
            let _ = lines.push(chunk, |line| {
                seen.push((line.offset, String::from_utf8_lossy(line.bytes).into_owned(), line.over_cap));
                ControlFlow::<()>::Continue(())
            });
        }
        (seen, lines)
    }

    #[test]
    fn a_character_split_between_two_chunks_stays_whole() {
        let bytes = "\"中\"\n".as_bytes();
        let (seen, _) = split(&[&bytes[..2], &bytes[2..]], 100);
        assert_eq!(seen, [(0, String::from("\"中\""), None)]);
    }

    #[test]
    fn an_unfinished_line_waits_and_an_accepted_one_is_not_lent_again() {
        let (seen, mut lines) = split(&[b"a\n{}"], 100);
        assert_eq!(seen, [(0, String::from("a"), None)]);
        assert_eq!((lines.tail(), lines.line_start(), lines.end()), (&b"{}"[..], 2, 4));
        lines.accept_tail();
        assert_eq!((lines.tail(), lines.line_start(), lines.end()), (&b""[..], 4, 4));
        let mut rest = vec![];
        let _ = lines.push(b" {1}\n", |line| {
            rest.push((line.offset, line.bytes.to_vec()));
            ControlFlow::<()>::Continue(())
        });
        assert_eq!(rest, [(4, b" {1}".to_vec())]);
    }

    #[test]
    fn a_line_over_the_cap_costs_no_memory_and_keeps_its_place() {
        let (seen, lines) = split(&[b"ab", b"cdef", b"ghi\nxy\n", b"12345"], 4);
        assert_eq!(seen, [(0, String::new(), Some(9)), (10, String::from("xy"), None)]);
        assert_eq!((lines.tail(), lines.end(), lines.carry.capacity() < 64), (&b""[..], 18, true));
    }

    #[test]
    fn breaking_leaves_the_splitter_behind_the_line() {
        let mut lines = LineSplitter::new(10, 100);
        let flow = lines.push(b"one\ntwo\n", |line| ControlFlow::Break(line.offset));
        assert_eq!((flow, lines.line_start(), lines.end()), (ControlFlow::Break(10), 14, 14));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_lines(text in "[ab\r\n]{0,60}", cuts in prop::collection::vec(0usize..60, 0..6), cap in 1usize..20) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut chunks = vec![];
            let mut from = 0;
            for cut in cuts {
                chunks.push(&bytes[from..cut]);
                from = cut;
            }
            chunks.push(&bytes[from..]);
            let (whole, one) = split(&[bytes], cap);
            let (pieces, many) = split(&chunks, cap);
            prop_assert_eq!(whole, pieces);
            prop_assert_eq!((one.end(), one.line_start()), (many.end(), many.line_start()));
        }
    }
}
