//! The frames from client to server: there is one, `load_older`.

use serde::Deserialize;

use crate::limits::{MAX_PAGE_ENTRIES, PAGE_ENTRIES};

/// A client asks for the entries before the oldest it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadOlder {
    /// As it was asked, to be echoed.
    pub requested_before_seq: i64,
    /// The first seq that is not wanted any more; at most 1 asks for nothing.
    pub before_seq: u64,
    /// How many entries, defaulted and clamped.
    pub limit: u64,
}

impl LoadOlder {
    /// Reads a control frame.
    ///
    /// # Errors
    /// [`Unrecognized`] if it is anything but a well-formed `load_older`.
    pub fn parse(text: &str) -> Result<Self, Unrecognized> {
        #[derive(Deserialize)]
        struct Wire<'a> {
            #[serde(borrow)]
            r#type: alloc::borrow::Cow<'a, str>,
            before_seq: Option<i64>,
            limit: Option<i64>,
        }
        // The fields of a structure may stand in a list too; a frame is an object.
        if !text.trim_ascii_start().starts_with('{') {
            return Err(Unrecognized);
        }
        let wire: Wire<'_> = serde_json::from_str(text).map_err(|_| Unrecognized)?;
        if wire.r#type != "load_older" {
            return Err(Unrecognized);
        }
        let requested_before_seq = wire.before_seq.unwrap_or(0);
        let limit = match u64::try_from(wire.limit.unwrap_or(0)) {
            Ok(0) | Err(_) => PAGE_ENTRIES,
            Ok(limit) => limit.min(MAX_PAGE_ENTRIES),
        };
        Ok(Self { requested_before_seq, before_seq: u64::try_from(requested_before_seq).unwrap_or(0), limit })
    }

    /// The first and last seq of the page in a stream of `total` entries; `None` if it is empty.
    #[must_use]
    pub fn range(&self, total: u64) -> Option<(u64, u64)> {
        let last = self.before_seq.min(total.saturating_add(1)).checked_sub(1)?;
        let first = last.saturating_sub(self.limit).saturating_add(1);
        (last > 0).then_some((first, last))
    }
}

/// A frame that the server does not act on. Its socket is closed with 1000 `unrecognized control frame`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unrecognized;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_defaulted_and_clamped() {
        for (limit, expected) in
            [("", 150), (",\"limit\":0", 150), (",\"limit\":-3", 150), (",\"limit\":7", 7), (",\"limit\":501", 500)]
        {
            let text = alloc::format!("{{\"type\":\"load_older\",\"before_seq\":876{limit},\"unknown\":[1]}}");
            let parsed = LoadOlder::parse(&text);
            assert_eq!(parsed, Ok(LoadOlder { requested_before_seq: 876, before_seq: 876, limit: expected }), "{text}");
        }
    }

    #[test]
    fn a_page_ends_before_the_cursor_and_never_behind_the_newest() {
        for (before, total, range) in [
            (876, 1025, Some((726, 875))),
            (151, 1025, Some((1, 150))),
            (100, 1025, Some((1, 99))),
            (2, 1025, Some((1, 1))),
            (1, 1025, None),
            (0, 1025, None),
            (-5, 1025, None),
            (9_999, 1025, Some((876, 1025))),
            (9_999, 0, None),
        ] {
            let older = LoadOlder::parse(&alloc::format!("{{\"type\":\"load_older\",\"before_seq\":{before}}}"));
            assert_eq!(older.map(|older| older.range(total)), Ok(range), "before {before} of {total}");
        }
        assert_eq!(LoadOlder::parse("{\"type\":\"load_older\"}").map(|older| older.range(10)), Ok(None));
    }

    #[test]
    fn anything_else_is_unrecognized() {
        for text in [
            "",
            "garbage",
            "[]",
            "null",
            "{}",
            "{\"type\":\"resize\"}",
            "{\"type\":\"load_older\",\"before_seq\":\"8\"}",
            "{\"type\":\"load_older\",\"before_seq\":8.5}",
            "{\"type\":\"load_older\",\"before_seq\":8} x",
            "{\"type\":7}",
            "[\"load_older\",8,1]",
            " [\"load_older\"]",
        ] {
            assert_eq!(LoadOlder::parse(text), Err(Unrecognized), "{text}");
        }
    }
}
