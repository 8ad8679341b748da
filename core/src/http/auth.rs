//! Tokens: kept as digests, compared in constant time.

use alloc::string::String;
use core::fmt;

use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

use super::guard::values;
use super::target::Target;
use crate::io::Request;

/// The SHA-256 digest of a token. The token itself is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// The digest of this token.
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Whether `token` is the one, in a time that does not depend on how much of it is right.
    #[must_use]
    pub fn matches(&self, token: &str) -> bool {
        self.is(&Self::of(token))
    }

    /// Whether both are of one token, in a time that does not depend on how much of them is equal.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }

    /// Whether it is one of these, in a time that does not depend on which.
    #[must_use]
    pub fn is_among(&self, known: &[Self]) -> bool {
        known.iter().fold(Choice::from(0), |any, known| any | known.0.ct_eq(&self.0)).into()
    }

    /// The digest that these 64 hexadecimal digits in lower case stand for; `None` for anything else.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let digit = |byte: u8| {
            let digit = char::from(byte).to_digit(16).filter(|_| !byte.is_ascii_uppercase())?;
            u8::try_from(digit).ok()
        };
        let mut digest = [0; 32];
        let pairs = text.as_bytes().chunks(2);
        if text.len() != 64 {
            return None;
        }
        for (byte, pair) in digest.iter_mut().zip(pairs) {
            let [high, low] = pair else { return None };
            *byte = (digit(*high)? << 4) | digit(*low)?;
        }
        Some(Self(digest))
    }
}

impl fmt::Display for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Whether the request brings one of the tokens: in `Authorization: Bearer`, or else in `?token=`.
///
/// A bearer header that is there decides alone: a right query does not rescue a wrong header, and several headers are a
/// wrong one.
#[must_use]
pub fn is_authorized(request: &Request<'_>, target: &Target<'_>, tokens: &[TokenDigest]) -> bool {
    presented(request, target).is_some_and(|token| token.is_among(tokens))
}

/// Whether the request brings a token at all.
#[must_use]
pub fn brings_token(request: &Request<'_>) -> bool {
    presented(request, &Target::parse(request.target)).is_some()
}

/// The token in the bytes of a file or a variable, without the blanks around it. What a header could not carry is none.
#[must_use]
pub fn token_in(bytes: &[u8]) -> Option<&str> {
    let token = core::str::from_utf8(bytes).ok()?.trim();
    let fits = !token.is_empty() && !token.chars().any(|character| character.is_whitespace() || character.is_control());
    fits.then_some(token)
}

/// The digest of the token that the request brings, if it brings one.
pub(super) fn presented(request: &Request<'_>, target: &Target<'_>) -> Option<TokenDigest> {
    let token = bearer(request).map_or_else(|| target.filled("token"), Presented::into_text)?;
    Some(TokenDigest::of(&token))
}

/// What a bearer header presents: text, or bytes that no token consists of.
struct Presented<'a>(&'a [u8]);

impl Presented<'_> {
    fn into_text(self) -> Option<String> {
        let text = core::str::from_utf8(self.0).ok()?.trim();
        (!text.is_empty()).then(|| text.into())
    }
}

fn bearer<'a>(request: &Request<'a>) -> Option<Presented<'a>> {
    const SCHEME: &[u8] = b"Bearer";
    let mut values = values(request, "authorization");
    let value = values.next()?;
    if values.next().is_some() {
        // Which of them was meant, and which one somebody in between has looked at, nobody can know.
        return Some(Presented(b""));
    }
    // Blanks at the end of a header are cut off on the way: a scheme may stand alone.
    let (scheme, token) = value.split_at(value.iter().position(|byte| *byte == b' ').unwrap_or(value.len()));
    scheme.eq_ignore_ascii_case(SCHEME).then_some(Presented(token))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::super::tests::{TOKEN, request};
    use super::{Target, TokenDigest, is_authorized};

    const RIGHT: (&str, &[u8]) = ("Authorization", b"Bearer sesame-opens");
    const WRONG: (&str, &[u8]) = ("authorization", b"Bearer nope");

    fn passes(target: &str, headers: &[(&str, &[u8])]) -> bool {
        let tokens = vec![TokenDigest::of("another"), TokenDigest::of(TOKEN)];
        is_authorized(&request("GET", target, headers), &Target::parse(target), &tokens)
    }

    #[test]
    fn a_digest_knows_its_token() {
        assert!(TokenDigest::of(TOKEN).matches(TOKEN));
        assert!(!TokenDigest::of(TOKEN).matches("sesame-open"));
        assert!(!TokenDigest::of(TOKEN).matches(""));
    }

    #[test]
    fn header_or_query_opens() {
        assert!(passes("/info", &[RIGHT]));
        assert!(passes("/info", &[("authorization", b"bearer  another ")]));
        assert!(passes("/info?token=sesame%2Dopens", &[]));
        assert!(!passes("/info", &[]));
        assert!(!passes("/info?token=", &[]));
        assert!(!passes("/info?token=nope&token=sesame-opens", &[]));
    }

    #[test]
    fn a_wrong_header_is_not_rescued_by_a_right_query() {
        assert!(!passes("/info?token=sesame-opens", &[WRONG]));
        assert!(!passes("/info?token=sesame-opens", &[("authorization", b"Bearer \xff")]));
        assert!(!passes("/info?token=sesame-opens", &[("authorization", b"Bearer ")]));
        assert!(!passes("/info?token=sesame-opens", &[("authorization", b"bearer")]));
        assert!(passes("/info?token=nope", &[RIGHT]));
    }

    #[test]
    fn several_headers_are_none_that_is_right() {
        for headers in [[RIGHT, RIGHT], [RIGHT, WRONG], [WRONG, RIGHT], [("AUTHORIZATION", b"Basic c2VzYW1l"), RIGHT]] {
            assert!(!passes("/info?token=sesame-opens", &headers));
        }
    }

    #[test]
    fn another_scheme_is_no_token() {
        assert!(passes("/info?token=sesame-opens", &[("authorization", b"Basic c2VzYW1l")]));
        assert!(!passes("/info", &[("authorization", b"sesame-opens")]));
    }

    #[test]
    fn without_tokens_nothing_opens() {
        assert!(!is_authorized(&request("GET", "/", &[RIGHT]), &Target::parse("/"), &[]));
    }
}
