//! Time stamps as agents write them.

use alloc::format;
use alloc::string::String;

use crate::time::UnixMillis;

/// RFC 3339 in UTC with milliseconds: `2026-11-29T22:00:49.000Z`.
pub(crate) fn rfc3339(time: UnixMillis) -> String {
    const DAY: i64 = 86_400_000;
    let (year, month, day) = civil_from_days(time.0.div_euclid(DAY));
    let millis = time.0.rem_euclid(DAY);
    let (seconds, millis) = (millis / 1000, millis % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The date that lies so many days after 1970-01-01 in the Gregorian calendar. Years are counted from March, so that the
/// leap day is the last of its year, in eras of 400 years, which are all alike.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    const ERA: i64 = 146_097;
    let since_march_0000 = days.saturating_add(719_468);
    let (era, day_of_era) = (since_march_0000.div_euclid(ERA), since_march_0000.rem_euclid(ERA));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months_since_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months_since_march + 2) / 5 + 1;
    let month = if months_since_march < 10 { months_since_march + 3 } else { months_since_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::{civil_from_days, rfc3339};
    use crate::time::UnixMillis;

    #[test]
    fn known_moments() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (1_788_600_000_123, "2026-09-05T09:20:00.123Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(UnixMillis(millis)), text);
        }
    }

    #[test]
    fn every_day_of_four_centuries_follows_the_one_before() {
        let (mut year, mut month, mut day) = (1900, 1, 1);
        for days in -25_567..120_530 {
            assert_eq!(civil_from_days(days), (year, month, day));
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 if is_leap => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (2300, 1, 1));
    }

    #[test]
    fn the_ends_of_time_are_times() {
        assert!(rfc3339(UnixMillis(i64::MAX)).ends_with('Z'));
        assert!(rfc3339(UnixMillis(i64::MIN)).ends_with('Z'));
    }
}
