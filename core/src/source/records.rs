//! From one physical line to its records: usually one, and whatever a torn write left behind.
//!
//! A line is read from left to right. A whole object at its beginning is a record, and what follows is read as a line of
//! its own. So a line that was read up to the end of a whole object may be read on from there later, with the same
//! result. What begins with no whole object is a fragment up to the place where the next record is found, or to the end.

use memchr::memchr_iter;

use super::json::{self, Broken, Nest, Scanner, Token};
use crate::limits::{RESYNC_BYTES, RESYNC_CANDIDATES};

/// One part of a physical line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a, R> {
    /// A whole object, and what was found in it.
    Record(&'a [u8], R),
    /// An object that is closed at the end of the line and wrong somewhere: what was found before that place.
    Damaged(&'a [u8], R),
    /// Bytes in which no record was found.
    Fragment(&'a [u8]),
}

/// Splits a line into its parts. `skim` reads from one open object what is wanted; `starts` are the ways in which a record
/// of this agent begins; each part comes with its place in the line.
pub fn split<'a, R: Default>(
    line: &'a [u8],
    starts: &[&[u8]],
    mut skim: impl FnMut(&mut Scanner<'a>, &mut R) -> Result<(), Broken>,
    mut each: impl FnMut(usize, Piece<'a, R>),
) {
    let mut at = skip_blanks(line, 0);
    while at < line.len() {
        let mut record = R::default();
        let mut scanner = Scanner::new(line, at);
        let skimmed = match scanner.step() {
            Ok(Token::Open(Nest::Object)) => skim(&mut scanner, &mut record).and_then(|()| scanner.leave(0)),
            _ => Err(Broken::Cut),
        };
        let broken = match skimmed {
            Ok(()) => {
                each(at, Piece::Record(line.get(at..scanner.at()).unwrap_or_default(), record));
                at = skip_blanks(line, scanner.at());
                continue;
            }
            Err(broken) => broken,
        };
        let next = next_record(line, at, starts);
        let part = trim_end(line.get(at..next.unwrap_or(line.len())).unwrap_or_default());
        let damaged = next.is_none() && matches!(broken, Broken::Wrong(_)) && part.last() == Some(&b'}');
        each(at, if damaged { Piece::Damaged(part, record) } else { Piece::Fragment(part) });
        at = next.unwrap_or(line.len());
    }
}

/// Whether the unterminated last line of a file is nothing but whole objects, so that its records may be taken before
/// its newline comes.
#[must_use]
pub fn is_whole(bytes: &[u8]) -> bool {
    // Asked at every look at a growing file: most answers must not cost a scan.
    let bytes = trim_end(bytes);
    bytes.last() == Some(&b'}') && whole_prefix(bytes) == bytes.len()
}

/// How much of an unterminated last line is whole objects, from its beginning to the end of the last of them.
#[must_use]
pub fn whole_prefix(bytes: &[u8]) -> usize {
    let mut whole = 0;
    while let Ok(end) = json::object_end(bytes, skip_blanks(bytes, whole)) {
        whole = end;
    }
    whole
}

/// The first place behind `at` where a record begins that is whole and not a part of something else. The first place that
/// comes into question is looked at whatever it costs, others while there are bytes left to spend.
fn next_record(line: &[u8], at: usize, starts: &[&[u8]]) -> Option<usize> {
    let from = at.checked_add(1)?;
    let rest = line.get(from..)?;
    let candidates = memchr_iter(b'{', rest)
        .map(|place| from + place)
        .filter(|&place| line.get(place..).is_some_and(|tail| starts.iter().any(|start| tail.starts_with(start))))
        .take(RESYNC_CANDIDATES);
    let mut spent = 0_usize;
    for place in candidates {
        let end = match json::object_end(line, place) {
            Ok(end) if stands_alone(line, end) => return Some(place),
            Ok(end) | Err(Broken::Wrong(end)) => end,
            Err(Broken::Cut) => line.len(),
        };
        spent = spent.saturating_add(end.saturating_sub(place));
        if spent > RESYNC_BYTES {
            break;
        }
    }
    None
}

/// Whether an object that ends there can be a record: a nested one is followed by what goes on around it.
fn stands_alone(line: &[u8], end: usize) -> bool {
    !matches!(line.get(skip_blanks(line, end)), Some(b',' | b']' | b'}' | b':'))
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The place behind the blanks at `at`. NUL counts as one: a file system leaves runs of them after a crash.
fn skip_blanks(line: &[u8], mut at: usize) -> usize {
    while let Some(rest) = line.get(at..) {
        match rest.first() {
            Some(&byte) if is_blank(byte) => at += 1,
            Some(_) if rest.starts_with(BOM) => at += BOM.len(),
            _ => break,
        }
    }
    at
}

fn trim_end(mut bytes: &[u8]) -> &[u8] {
    loop {
        match bytes {
            [rest @ .., last] if is_blank(*last) => bytes = rest,
            _ => match bytes.strip_suffix(BOM) {
                Some(rest) => bytes = rest,
                None => return bytes,
            },
        }
    }
}

const fn is_blank(byte: u8) -> bool {
    byte == 0 || byte.is_ascii_whitespace()
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;

    use super::*;

    fn parts(line: &str) -> Vec<(usize, bool)> {
        let mut parts = Vec::new();
        let skim = |_: &mut Scanner<'_>, (): &mut ()| Ok(());
        split(line.as_bytes(), &[b"{\"type\":"], skim, |at, piece| {
            parts.push((at, matches!(piece, Piece::Record(..))))
        });
        parts
    }

    #[test]
    fn the_search_for_the_next_record_ends_when_it_has_cost_enough() {
        let torn = |filling: usize| {
            let before = format!(r#"{{"type":"user","a":{{"type":"user","b":"{}","c":"#, "x".repeat(filling));
            (before.len(), format!(r#"{before}{{"type":"user","d":1}}"#))
        };
        let (at, cheap) = torn(10);
        assert_eq!(parts(&cheap), [(0, false), (at, true)]);
        let (_, dear) = torn(RESYNC_BYTES);
        assert_eq!(parts(&dear), [(0, false)]);
        // The first place is looked at whatever it costs.
        let (before, filling) = (r#"{"type":"user","a"{"#, "x".repeat(RESYNC_BYTES));
        let whole = format!(r#"{before}"type":"user","b":"{filling}"}}"#);
        assert_eq!(parts(&whole), [(0, false), (before.len() - 1, true)]);
    }
}
