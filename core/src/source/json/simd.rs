//! A whole string decoded at once by simd-json: the same text as [`Chars`](super::Chars) makes of it, or nothing.
//!
//! What a strict JSON string may hold is decoded alike by everybody, with one exception: DEL, which is dropped here and
//! kept there. So a text with a raw DEL is not handed over, and whatever simd-json refuses (lone surrogates, broken
//! escapes, raw controls, bytes that are not UTF-8, a quote that ends the string early) falls to the lenient decoder.
//! It never sees more than one string, so nesting cannot reach it.

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use memchr::memchr;
use simd_json::{Buffers, INPUT_PADDING, Node, Tape, fill_tape_padded};

/// Bytes for which it may pay: shorter ones are done before it has begun, and of longer ones only the beginning is
/// shown most of the time.
const WORTHWHILE_BYTES: RangeInclusive<usize> = 64..=64 * 1024;

/// Lends the text of a string that is written so between its quotes, if it is worthwhile and simd-json accepts it.
pub(super) fn decode<R>(written: &[u8], lend: impl FnOnce(&str) -> R) -> Option<R> {
    // Without an escape there is nothing to decode: it is lent as it lies there, and not copied.
    if !WORTHWHILE_BYTES.contains(&written.len()) || memchr(b'\\', written).is_none() {
        return None;
    }
    strict(written, lend)
}

/// Its memory is of this one string: to take it anew, in the right size, costs too little to be worth keeping.
fn strict<R>(written: &[u8], lend: impl FnOnce(&str) -> R) -> Option<R> {
    if memchr(0x7f, written).is_some() {
        return None;
    }
    let len = written.len().saturating_add(2);
    let mut document = Vec::with_capacity(len.saturating_add(INPUT_PADDING));
    document.push(b'"');
    document.extend_from_slice(written);
    document.push(b'"');
    document.extend_from_slice(&[b' '; INPUT_PADDING]);
    let mut tape = Tape::null();
    fill_tape_padded(&mut document, len, &mut Buffers::new(len), &mut tape).ok()?;
    match tape.0.as_slice() {
        [Node::String(text)] => Some(lend(text)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;
    use crate::entry::Text;
    use crate::entry::ansi::Plain;
    use crate::entry::caps::{self, Capped};
    use crate::source::json::{Chars, Scanner, Token, Value};

    fn strict(written: &[u8]) -> Option<String> {
        super::strict(written, |text| String::from(text))
    }

    fn lenient(written: &[u8]) -> String {
        Chars::new(written).collect()
    }

    /// Both decoders, and everything that is written by them.
    fn assert_alike(written: &[u8]) {
        let expected = lenient(written);
        if let Some(text) = strict(written) {
            assert_eq!(text, expected, "{written:?}");
        }
        let quoted = [b"\"", written, b"\""].concat();
        assert_eq!(Value(&quoted).text(), Some(expected.clone()));
        for cap in [0, 3, 70, usize::MAX] {
            assert_eq!(caps::decoded(Chars::new(written), cap), caps::text(expected.chars(), cap), "{cap} {written:?}");
            assert_eq!(
                output(cap, |out| out.decode(Chars::new(written))),
                output(cap, |out| expected.chars().for_each(|char| out.push(char))),
                "{cap} {written:?}"
            );
        }
    }

    fn output(cap: usize, write: impl FnOnce(&mut Plain<'_>)) -> Text {
        let mut out = Capped::indented(cap);
        let mut plain = Plain::new(&mut out);
        write(&mut plain);
        plain.finish();
        out.into_noted_text()
    }

    /// Parts of strings: what any may hold, and what none may.
    fn part() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            8 => "[a-z é中🍵]{1,40}".prop_map(String::into_bytes),
            4 => prop::sample::select(vec![
                r"\n", r"\t", r"\r", r"\b", r"\f", r"\\", r#"\""#, r"\/", r"\u0000", r"\u007f", r"\u00E9", r"\u0085",
                r"\ud83c\udf75", r"\uFEFF", r"\u001b[31m", r"\\\\",
            ]).prop_map(|escape| escape.as_bytes().to_vec()),
            1 => prop::sample::select(vec![
                r"\ud83c", r"\udf75", r"\ud83c\u0041", r"\ud83c\n", r"\ud83c\ud83c\udf75", r"\x", r"\u12", r"\u00g0",
                "\"", "\",\"", "\u{7f}", "\u{0}", "\n", "\r", "\t", "\u{1b}", r"\",
            ]).prop_map(|wrong| wrong.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..4),
        ]
    }

    /// A string as it may be written, right or wrong, and cut anywhere.
    fn written() -> impl Strategy<Value = Vec<u8>> {
        (prop::collection::vec(part(), 0..24), any::<prop::sample::Index>(), prop::bool::weighted(0.2)).prop_map(
            |(parts, at, cut)| {
                let mut whole = parts.concat();
                if cut {
                    whole.truncate(at.index(whole.len() + 1));
                }
                whole
            },
        )
    }

    proptest! {
        #[test]
        fn whatever_is_written_is_decoded_alike(written in written()) {
            assert_alike(&written);
        }

        #[test]
        fn any_text_that_serde_writes_is_accepted(text in any::<String>()) {
            let quoted = serde_json::to_string(&text).unwrap();
            let written = &quoted.as_bytes()[1..quoted.len() - 1];
            let accepted = strict(written);
            prop_assert_eq!(accepted.is_some(), !text.contains('\u{7f}'));
            prop_assert_eq!(accepted.unwrap_or_else(|| lenient(written)), text.replace('\u{7f}', ""));
        }

        #[test]
        fn every_string_of_a_line_is_decoded_alike(
            texts in prop::collection::vec(written(), 1..5),
            depth in 0_usize..40,
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        ) {
            let mut line = b"[".repeat(depth);
            for text in &texts {
                line.extend_from_slice(&[b"{\"type\":\"user\",\"content\":\"", text.as_slice(), b"\"}"].concat());
                line.extend_from_slice(b",");
            }
            line.extend(b"0".iter().chain(&b"]".repeat(depth)));
            for (at, byte) in damage {
                let at = at.index(line.len());
                line[at] = byte;
            }
            let mut at = 0;
            while at < line.len() {
                let mut scanner = Scanner::new(&line, at);
                while let Ok(token) = scanner.step() {
                    if let Token::Text(text) | Token::Key(text) = token {
                        assert_alike(text);
                    }
                }
                at = scanner.at().max(at) + 1;
            }
        }
    }

    #[test]
    fn what_no_string_may_hold_is_refused_and_decoded_leniently() {
        for (written, text) in [
            (br"\ud83c!".as_slice(), "\u{fffd}!"),
            (br"\udf75\ud83c", "\u{fffd}\u{fffd}"),
            (b"a\x7fb", "ab"),
            (b"a\x00b\nc", "ab\nc"),
            (b"a\xffb", "a\u{fffd}b"),
            (br"\x", "\u{fffd}"),
            (br"a\", "a\u{fffd}"),
            (b"a\",\"b", "a\",\"b"),
            (b"a\" \"b", "a\" \"b"),
            (b"a\",[[[[\"b", "a\",[[[[\"b"),
        ] {
            assert_eq!(strict(written), None, "{written:?}");
            assert_eq!(lenient(written), text);
            assert_alike(&[b"\\n".repeat(40).as_slice(), written].concat());
        }
        assert_eq!(strict(br"\u0000\u007f\ud83c\udf75"), Some("\0\u{7f}🍵".into()));
        assert_eq!(strict(b""), Some(String::new()));
    }

    #[test]
    fn only_what_may_pay_is_handed_over() {
        let handed = |written: &[u8]| decode(written, str::len);
        assert_eq!(handed(&b"\\n".repeat(31)), None);
        assert_eq!(handed(&b"\\n".repeat(32)), Some(32));
        assert_eq!(handed(&b"n".repeat(64)), None);
        assert_eq!(handed(&b"\\n".repeat(32 * 1024)), Some(32 * 1024));
        assert_eq!(handed(&b"\\n".repeat(32 * 1024 + 1)), None);
    }
}
