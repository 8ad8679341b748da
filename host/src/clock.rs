//! The two clocks that the core is told of.

use std::time::{Duration, Instant as StdInstant, SystemTime, UNIX_EPOCH};

use panewire_core::time::{Instant, Now, UnixMillis};

/// Reads both clocks; the monotonic one counts from its start.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    started: StdInstant,
}

impl Clock {
    /// A clock whose zero is now.
    #[must_use]
    pub fn start() -> Self {
        Self { started: StdInstant::now() }
    }

    /// Both clocks at this moment.
    #[must_use]
    pub fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Now {
            mono: Instant::from_millis(millis(self.started.elapsed())),
            wall: UnixMillis(i64::try_from(wall.as_millis()).unwrap_or(i64::MAX)),
        }
    }

    /// When the operating system's clock shows this point; a point beyond its end is a century away.
    #[must_use]
    pub fn at(&self, instant: Instant) -> StdInstant {
        const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
        let after = Duration::from_millis(instant.as_millis()).min(CENTURY);
        self.started.checked_add(after).unwrap_or(self.started)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
