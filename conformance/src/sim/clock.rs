//! Virtual time: it stands still until the world moves it.

use core::time::Duration;

use panewire_core::io::FileTime;
use panewire_core::time::{Instant, Now, UnixMillis};

/// Both clocks of the world. They move together, but the wall clock can be set.
#[derive(Debug, Clone)]
pub struct Clock {
    mono: Instant,
    wall: UnixMillis,
}

impl Clock {
    /// 2026-03-01T09:00:00Z.
    pub const START: UnixMillis = UnixMillis(1_772_355_600_000);

    /// A clock at its start. The monotonic one begins at an odd number, so that nobody takes it for the other.
    #[must_use]
    pub const fn new() -> Self {
        Self { mono: Instant::from_millis(7_001), wall: Self::START }
    }

    /// What the core is told.
    #[must_use]
    pub const fn now(&self) -> Now {
        Now { mono: self.mono, wall: self.wall }
    }

    /// The monotonic clock.
    #[must_use]
    pub const fn mono(&self) -> Instant {
        self.mono
    }

    /// What the disk stamps on a file that changes now.
    #[must_use]
    pub const fn file_time(&self) -> FileTime {
        FileTime(self.wall.0.saturating_mul(1_000_000))
    }

    /// Moves both clocks to a later point; an earlier one changes nothing.
    pub fn move_to(&mut self, later: Instant) {
        let by = later.since(self.mono);
        self.mono = self.mono.plus(by);
        self.wall = UnixMillis(self.wall.0.saturating_add(millis(by)));
    }

    /// Sets the wall clock, as a person or NTP does. The monotonic one does not move.
    pub const fn set_wall(&mut self, wall: UnixMillis) {
        self.wall = wall;
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_move_together_and_never_back() {
        let mut clock = Clock::new();
        let start = clock.now();
        clock.move_to(start.mono.plus(Duration::from_millis(1_500)));
        clock.move_to(start.mono);
        assert_eq!(clock.now().mono.since(start.mono), Duration::from_millis(1_500));
        assert_eq!(clock.now().wall, UnixMillis(start.wall.0 + 1_500));
    }

    #[test]
    fn setting_the_wall_clock_leaves_deadlines_alone() {
        let mut clock = Clock::new();
        let before = clock.mono();
        clock.set_wall(UnixMillis(5));
        assert_eq!(clock.mono(), before);
        assert_eq!(clock.file_time(), FileTime(5_000_000));
    }
}
