//! Where a string ends: at its first quote that is not escaped.
//!
//! Most bytes of a transcript lie in strings, so most of the time of counting is spent here. Three kinds are told apart:
//! keys and ids are so short that a call of `memchr` costs more than the search; long texts without quotes are left to
//! `memchr`; texts full of escaped quotes (code, JSON in JSON) are looked at in blocks that such quotes do not stop.

use memchr::{memchr, memchr_iter};

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// How long the string is that begins with these bytes, its opening quote left out. Nothing if it does not end.
#[inline]
pub(super) fn end(bytes: &[u8]) -> Option<usize> {
    let first = first(bytes)?;
    let before = first.checked_sub(1).and_then(|before| bytes.get(before));
    if before == Some(&b'\\') { end_from(bytes, first) } else { Some(first) }
}

/// The first quote, escaped or not.
#[inline]
fn first(bytes: &[u8]) -> Option<usize> {
    const WORDS: usize = 3;
    let mut rest = bytes;
    for word in 0..WORDS {
        let Some((chunk, after)) = rest.split_first_chunk::<8>() else { break };
        // The lowest bit that is set in `hits` belongs to the first byte that is a quote.
        let differs = u64::from_le_bytes(*chunk) ^ (LOW * (b'"' as u64));
        let hits = differs.wrapping_sub(LOW) & !differs & HIGH;
        if hits != 0 {
            return Some(word * 8 + (hits.trailing_zeros() / 8) as usize);
        }
        rest = after;
    }
    memchr(b'"', rest).map(|at| bytes.len() - rest.len() + at)
}

/// Where a string ends whose first quote, at `first`, is behind a backslash.
#[inline(never)]
fn end_from(bytes: &[u8], first: usize) -> Option<usize> {
    if is_escaped(bytes, first) { end_behind(bytes, first + 1) } else { Some(first) }
}

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// Bytes before a quote that tell most escaped ones.
const BEFORE: usize = 4;

/// The first quote from `at` on that is not escaped.
fn end_behind(bytes: &[u8], mut at: usize) -> Option<usize> {
    let ends = |place: &usize| bytes.get(*place) == Some(&b'"') && !is_escaped(bytes, *place);
    if at < BEFORE {
        if let Some(end) = (at..BEFORE).find(ends) {
            return Some(end);
        }
        at = BEFORE;
    }
    while let Some(block) = bytes.get(at - BEFORE..).and_then(|rest| rest.first_chunk::<{ BEFORE + BLOCK }>()) {
        if may_end(block)
            && let Some(end) = end_in(bytes, at)
        {
            return Some(end);
        }
        at += BLOCK;
    }
    (at..bytes.len()).find(ends)
}

/// Whether a quote in the block, whose first bytes are those that lie before it, may be one that is not escaped. Asked in
/// two steps, because most quotes stand behind exactly one backslash, as in text, and most others behind exactly three, as
/// in text that quotes a text.
#[inline]
fn may_end(block: &[u8; BEFORE + BLOCK]) -> bool {
    let part = |from: usize| block.get(from..from + BLOCK).unwrap_or_default();
    let slash = |byte: u8| u8::from(byte == b'\\');
    let last = part(2).iter().zip(part(3)).zip(part(BEFORE));
    let behind_others = last.fold(0, |found, ((&second, &first), &here)| {
        found | (u8::from(here == b'"') & ((slash(first) ^ 1) | slash(second)))
    });
    if behind_others == 0 {
        return false;
    }
    let all = part(0).iter().zip(part(1)).zip(part(2).iter().zip(part(3))).zip(part(BEFORE));
    let behind_others = all.fold(0, |found, (((&fourth, &third), (&second, &first)), &here)| {
        let escaped = slash(first) & ((slash(second) ^ 1) | (slash(third) & (slash(fourth) ^ 1)));
        found | (u8::from(here == b'"') & (escaped ^ 1))
    });
    behind_others != 0
}

/// The first quote in the block at `at` that is not escaped.
fn end_in(bytes: &[u8], at: usize) -> Option<usize> {
    let block = bytes.get(at..)?.first_chunk::<BLOCK>()?;
    memchr_iter(b'"', block).map(|place| at + place).find(|&place| !is_escaped(bytes, place))
}

/// Whether an odd number of backslashes stands before `at`.
#[inline]
fn is_escaped(bytes: &[u8], at: usize) -> bool {
    let before = bytes.get(..at).unwrap_or_default();
    before.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// The definition, byte by byte.
    fn slow(bytes: &[u8]) -> Option<usize> {
        let mut escaped = false;
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => return Some(at),
                _ => {}
            }
        }
        None
    }

    fn parts() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            8 => Just(&b"\\\""[..]),
            4 => Just(&b"\\\\\\\""[..]),
            2 => Just(&b"\\\\"[..]),
            1 => Just(&b"\\"[..]),
            4 => Just(&b"x"[..]),
            2 => Just(&b"some longer text without a quote in it, and on it goes"[..]),
            1 => Just(&b"\""[..]),
        ];
        prop::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn an_end_is_found_where_it_is(bytes in parts()) {
            prop_assert_eq!(end(&bytes), slow(&bytes));
        }
    }
}
