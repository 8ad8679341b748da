//! Moments as Codex writes them: in time stamps, and in ids that begin with their time.

use crate::source::json::Value;

/// The milliseconds since 1970 of `2026-07-09T10:00:01.250Z`.
pub(super) fn of_timestamp(text: &str) -> Option<u64> {
    let (date, time) = text.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (clock, rest) = time.split_at_checked(8)?;
    let mut clock = clock.splitn(3, ':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let in_range = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !in_range || hour > 23 || minute > 59 || second > 60 || !rest.ends_with('Z') {
        return None;
    }
    let fraction = rest.trim_start_matches('.').trim_end_matches('Z');
    let millis = fraction
        .bytes()
        .chain(*b"000")
        .take(3)
        .try_fold(0_u64, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u64::from(digit - b'0')))?;
    // Years begin in March, so that the day that may be missing is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let since_1970 = days.checked_sub(719_468)?;
    Some(((since_1970 * 24 + hour) * 60 + minute) * 60_000 + second * 1_000 + millis)
}

/// The milliseconds since 1970 at which a UUID of version 7 was made.
pub(super) fn of_id(id: &str) -> Option<u64> {
    let bytes = id.as_bytes();
    let is_v7 = bytes.len() == 36 && bytes.get(14) == Some(&b'7') && bytes.get(8) == Some(&b'-');
    let (high, low) = (id.get(..8)?, id.get(9..13)?);
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    is_v7.then_some(())?;
    Some((hex(high)? << 16) | hex(low)?)
}

/// The moment of a time stamp.
pub(super) fn stamped(value: Option<Value<'_>>) -> Option<u64> {
    of_timestamp(&value?.text()?)
}

/// The moment of an id.
pub(super) fn minted(value: Option<Value<'_>>) -> Option<u64> {
    of_id(&value?.text()?)
}

#[cfg(test)]
mod tests {
    use super::{of_id, of_timestamp};

    #[test]
    fn moments_are_read_in_both_ways() {
        for (text, millis) in [
            ("1970-01-01T00:00:00.000Z", Some(0)),
            ("2000-02-29T12:00:00Z", Some(951_825_600_000)),
            ("2026-07-09T10:00:01.25Z", Some(1_783_591_201_250)),
            ("2026-03-01T00:00:00.123456Z", Some(1_772_323_200_123)),
            ("2026-13-01T00:00:00Z", None),
            ("2026-07-09 10:00:01Z", None),
            ("2026-07-09T10:00:01+02:00", None),
            ("2026-07-09T10:00:0é", None),
            ("", None),
        ] {
            assert_eq!(of_timestamp(text), millis, "{text}");
        }
        assert_eq!(of_id("019fc8be-0000-7000-8000-000000000001"), Some(0x019f_c8be_0000));
        assert_eq!(of_id("019fc8be-0000-4000-8000-000000000001"), None);
        assert_eq!(of_id("turn-1"), None);
    }
}
