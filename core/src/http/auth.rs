//! Tokens: kept as digests, compared in constant time.

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

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
        self.0.ct_eq(&Self::of(token).0).into()
    }
}
