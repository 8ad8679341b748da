//! Devices that may call: how one is paired, what it may do, and how it is known again.
//!
//! ```text
//!   admin ── POST /admin/pairing ──▶ Pairing: a code, once, for five minutes
//!                                        │
//!   device ── POST /pair ────────────────┴──▶ Register ──▶ a bearer for the device, its digest for devices.json
//!   device ── any call with its bearer ─────▶ Register ──▶ Caller
//!   admin ── POST /admin/devices/revoke ────▶ Register ──▶ nobody any more
//! ```
//!
//! A device's bearer is seen once, in the answer to the device itself. What is kept is its digest.

mod code;
mod kept;
pub mod pairing;
pub mod register;

use alloc::string::String;

use serde::{Deserialize, Serialize};

pub use self::register::Register;
use crate::http::auth::TokenDigest;
use crate::ids::DeviceId;
use crate::limits::DEVICE_NAME_CHARS;
use crate::time::UnixMillis;

/// What a device may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "whoever decides by a scope must decide for each of them")]
pub enum Scope {
    /// Everything but administration.
    Full,
    /// Looking: nothing is sent to an agent, and no terminal is attached.
    Read,
}

impl Scope {
    /// Its word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Read => "read",
        }
    }
}

/// Who makes a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Somebody who was not asked for a token.
    Anyone,
    /// Who has the daemon's own token: everything is allowed.
    Admin,
    /// A paired device.
    Device(DeviceId, Scope),
}

/// A paired device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its name for us: 8 hexadecimal digits.
    pub id: DeviceId,
    /// Its name for people.
    pub name: String,
    /// What it may do.
    pub scope: Scope,
    /// The digest of its bearer.
    pub bearer: TokenDigest,
    /// When it was paired.
    pub paired_at: UnixMillis,
    /// When it called last, to the hour.
    pub last_seen: UnixMillis,
}

/// A name that people can read in one line: without control characters, trimmed, cut. `None` if nothing is left.
#[must_use]
pub fn readable_name(name: &str) -> Option<String> {
    let visible = name.chars().map(|char| if char.is_whitespace() { ' ' } else { char });
    let visible: String = visible.filter(|char| !char.is_control() && !is_direction(*char)).collect();
    let cut: String = visible.trim().chars().take(DEVICE_NAME_CHARS).collect();
    (!cut.is_empty()).then(|| cut.trim_end().into())
}

/// Characters that turn the direction of the text around them, and so what it seems to say.
const fn is_direction(char: char) -> bool {
    matches!(char, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::readable_name;

    #[test]
    fn a_name_is_one_short_line() {
        assert_eq!(readable_name("  Ana's\tphone \u{1b}[31m\n").as_deref(), Some("Ana's phone [31m"));
        assert_eq!(readable_name("a\u{202e}b\u{2066}c").as_deref(), Some("abc"));
        assert_eq!(readable_name(&"é".repeat(100)).map(|name| name.chars().count()), Some(64));
        assert_eq!(readable_name(" \u{7}\n"), None);
    }
}
