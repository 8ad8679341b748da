//! One-time codes: short enough to type, and hard to read wrongly.

use alloc::string::String;

/// Characters of a code.
pub(super) const CODE_CHARS: usize = 8;

/// Random bytes that a code is made of.
pub(super) const CODE_BYTES: usize = 5;

/// Without I, L, O and U: whoever types a letter for the digit that it looks like means the digit.
const SYMBOLS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The code that these bytes make; `None` if they are not [`CODE_BYTES`].
pub(super) fn of(random: &[u8]) -> Option<String> {
    let bits =
        <[u8; CODE_BYTES]>::try_from(random).ok()?.iter().fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
    let symbol = |place: usize| {
        let five = usize::try_from((bits >> (5 * place)) & 31).ok()?;
        SYMBOLS.get(five).copied().map(char::from)
    };
    (0..CODE_CHARS).rev().map(symbol).collect()
}

/// The code that somebody typed: in any case, with blanks and hyphens where they helped. `None` for what is none.
pub(super) fn typed(text: &str) -> Option<String> {
    let mut code = String::with_capacity(CODE_CHARS);
    for char in text.chars().filter(|char| !matches!(char, ' ' | '-')) {
        let symbol = match char.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        };
        let is_known = u8::try_from(symbol).is_ok_and(|symbol| SYMBOLS.contains(&symbol));
        if !is_known || code.len() >= CODE_CHARS {
            return None;
        }
        code.push(symbol);
    }
    (code.len() == CODE_CHARS).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::{of, typed};

    #[test]
    fn five_bytes_are_eight_symbols() {
        assert_eq!(of(&[0; 5]).as_deref(), Some("00000000"));
        assert_eq!(of(&[255; 5]).as_deref(), Some("ZZZZZZZZ"));
        assert_eq!(of(&[0b0000_1000, 0b0100_0011, 0, 0, 1]).as_deref(), Some("111G0001"));
        assert_eq!(of(&[0; 4]), None);
    }

    #[test]
    fn every_code_is_its_own() {
        let codes: alloc::collections::BTreeSet<_> = (0..=255).map(|byte| of(&[byte, 1, 2, 3, !byte])).collect();
        assert_eq!(codes.len(), 256);
    }

    #[test]
    fn a_code_may_be_typed_as_people_type() {
        assert_eq!(typed("k7qm-3xtp").as_deref(), Some("K7QM3XTP"));
        assert_eq!(typed(" oOiI lLzz ").as_deref(), Some("001111ZZ"));
        for wrong in ["", "K7QM3XT", "K7QM3XTPP", "K7QM3XTU", "K7QM3XT\u{e9}", "K7QM3XT/", "k7qm_3xtp"] {
            assert_eq!(typed(wrong), None, "{wrong}");
        }
    }
}
