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

    /// The last multiple of `step` since the runtime's own zero that is not after this point.
    #[must_use]
    pub fn rounded_down_to(self, step: Duration) -> Self {
        let step = u64::try_from(step.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(self.0.checked_rem(step).unwrap_or_default()))
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

impl UnixMillis {
    /// Reads RFC 3339, such as `2026-11-29T22:00:49.25Z` or with an offset; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (date, time) = text.split_once(['T', 't', ' '])?;
        let mut date = date.split('-');
        let (year, month, day) = (digits(date.next()?, 4)?, digits(date.next()?, 2)?, digits(date.next()?, 2)?);
        let (clock, offset_minutes) = zone(time)?;
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
        let mut clock = clock.split(':');
        let (hour, minute, second) = (digits(clock.next()?, 2)?, digits(clock.next()?, 2)?, digits(clock.next()?, 2)?);
        let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
        if date.next().is_some() || clock.next().is_some() || !in_range {
            return None;
        }
        if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let millis = fraction
            .chars()
            .chain("000".chars())
            .take(3)
            .fold(0, |millis, digit| millis * 10 + i64::from(digit.to_digit(10).unwrap_or_default()));
        let minutes = (days_from_civil(year, month, day) * 24 + hour) * 60 + minute - offset_minutes;
        Some(Self((minutes * 60 + second) * 1000 + millis))
    }
}

/// The time without its zone, and the minutes by which that zone is ahead of UTC.
fn zone(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let at = time.rfind(['+', '-'])?;
    let (clock, zone) = time.split_at_checked(at)?;
    let (sign, zone) = zone.split_at_checked(1)?;
    let (hours, minutes) = zone.split_once(':')?;
    let minutes = digits(hours, 2)? * 60 + digits(minutes, 2)?;
    Some((clock, if sign == "-" { -minutes } else { minutes }))
}

fn digits(text: &str, len: usize) -> Option<i64> {
    (text.len() == len && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// Days from 1970-01-01 to a date of the Gregorian calendar. Years are counted from March, so that the leap day is the
/// last of its year.
const fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let since_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * since_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::UnixMillis;

    #[test]
    fn known_moments_are_read() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59.999Z", -1),
            ("2000-02-29T00:00:00.000Z", 951_782_400_000),
            ("2026-09-05T09:20:00.1234567Z", 1_788_600_000_123),
            ("2026-09-05T09:20:00.1Z", 1_788_600_000_100),
            ("2026-09-05T11:20:00.123+02:00", 1_788_600_000_123),
            ("2026-09-05t05:50:00.123-03:30", 1_788_600_000_123),
        ] {
            assert_eq!(UnixMillis::parse(text), Some(UnixMillis(millis)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_none() {
        for text in [
            "",
            "now",
            "1788600000123",
            "2026-09-05",
            "2026-09-05T09:20:00",
            "2026-13-05T09:20:00Z",
            "2026-09-05T24:20:00Z",
            "2026-09-05T09:20:00.Z",
            "2026-9-5T09:20:00Z",
            "2026-09-05T09:20:00+2",
            "2026-09-05-01T09:20:00Z",
        ] {
            assert_eq!(UnixMillis::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "[0-9TZ:.+é-]{0,30}") {
            let _ = UnixMillis::parse(&text);
        }
    }
}
