//! Where a string ends: at its first quote that is not escaped.
//!
//! Most bytes of a transcript lie in strings, so most of the time of counting is spent here. Three kinds are told apart:
//! keys and ids are so short that a call of `memchr` costs more than the search; long texts without quotes are left to
//! `memchr`; texts full of escaped quotes (code, JSON in JSON) are looked at in blocks that such quotes do not stop.

use memchr::memchr;

/// How long the string is that begins with these bytes, its opening quote left out. Nothing if it does not end.
#[inline]
pub(super) fn end(bytes: &[u8]) -> Option<usize> {
    let first = first(bytes)?;
    if is_escaped(bytes, first) { end_behind(bytes, first + 1) } else { Some(first) }
}

/// The first quote, escaped or not.
#[inline]
fn first(bytes: &[u8]) -> Option<usize> {
    const WORDS: usize = 3;
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
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

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// The first quote from `at` on that is not escaped. `at` is behind an escaped quote, so two bytes lie before it.
fn end_behind(bytes: &[u8], mut at: usize) -> Option<usize> {
    while let Some(block) = bytes.get(at.checked_sub(2)?..).and_then(|rest| rest.first_chunk::<{ BLOCK + 2 }>()) {
        if may_end(block) {
            let end = (at..at + BLOCK).find(|&place| bytes.get(place) == Some(&b'"') && !is_escaped(bytes, place));
            if end.is_some() {
                return end;
            }
        }
        at += BLOCK;
    }
    (at..bytes.len()).find(|&place| bytes.get(place) == Some(&b'"') && !is_escaped(bytes, place))
}

/// Whether a quote in the block, whose first two bytes are what lies before it, may be one that is not escaped: any but
/// those behind exactly one backslash.
#[inline]
fn may_end(block: &[u8; BLOCK + 2]) -> bool {
    let (Some(before), Some(last), Some(here)) =
        (block.first_chunk::<BLOCK>(), block.get(1..=BLOCK), block.last_chunk::<BLOCK>())
    else {
        return true;
    };
    let mut found = 0_u8;
    for ((&before, &last), &here) in before.iter().zip(last).zip(here) {
        found |= u8::from(here == b'"') & (u8::from(last != b'\\') | u8::from(before == b'\\'));
    }
    found != 0
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
