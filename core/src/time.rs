//! The two kinds of time, never mixed: a monotonic one for deadlines and a wall clock for what people read.
//!
//! The core reads no clock. A runtime hands in a [`Now`] with every input.

use core::time::Duration;

/// A point on a monotonic clock, in milliseconds since an arbitrary start that the runtime chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The point `millis` after the runtime's own zero.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the runtime's own zero.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// This point moved into the future, stopping at the end of time.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        let by = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(by))
    }

    /// How long after `earlier` this is; zero if it is not after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// Wall-clock time in milliseconds since 1970-01-01T00:00:00Z. For people and wire fields, never for deadlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixMillis(pub i64);

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// For deadlines.
    pub mono: Instant,
    /// For what is shown.
    pub wall: UnixMillis,
}
