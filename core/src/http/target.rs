//! The target of a request: its path and its query, decoded.

use alloc::borrow::Cow;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

/// A path and a query, behind a host or not. Bad escapes are kept as they are, and bytes that are not UTF-8 become U+FFFD:
/// a target never fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target<'a> {
    origin: Option<&'a str>,
    is_path: bool,
    path: String,
    query: &'a str,
}

impl<'a> Target<'a> {
    /// Takes apart what stands in the request line: a path, or a whole URL as a proxy is sent it.
    #[must_use]
    pub fn parse(target: &'a str) -> Self {
        let (origin, rest) = without_origin(target);
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let path = if path.is_empty() && origin.is_some() { "/" } else { path };
        Self { origin, is_path: path.starts_with('/'), path: decode(path, Plus::Plain), query }
    }

    /// `scheme://host:port` of a whole URL.
    #[must_use]
    pub const fn origin(&self) -> Option<&'a str> {
        self.origin
    }

    /// Whether it is a path at all: `*`, and what `CONNECT` asks for, are none.
    #[must_use]
    pub const fn is_path(&self) -> bool {
        self.is_path
    }

    /// The path, decoded.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The first value of `key` in the query, decoded. A key without `=` has an empty value.
    #[must_use]
    pub fn first(&self, key: &str) -> Option<String> {
        self.query.split('&').find_map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name, Plus::Space) == key).then(|| decode(value, Plus::Space))
        })
    }

    /// [`first`](Self::first), where an empty value counts as none.
    #[must_use]
    pub fn filled(&self, key: &str) -> Option<String> {
        self.first(key).filter(|value| !value.is_empty())
    }
}

/// The scheme and the host of a URL, and what is behind them.
fn without_origin(target: &str) -> (Option<&str>, &str) {
    let scheme = target.split_once("://").map_or("", |(scheme, _)| scheme);
    if scheme.is_empty() || !scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return (None, target);
    }
    let behind = scheme.len().saturating_add("://".len());
    let host = target.get(behind..).and_then(|rest| rest.find(['/', '?'])).map(|at| at.saturating_add(behind));
    match target.split_at_checked(host.unwrap_or(target.len())) {
        Some((origin, rest)) => (Some(origin), rest),
        None => (None, target),
    }
}

/// What a `+` means: a space in a query, itself in a path.
#[derive(Clone, Copy, PartialEq)]
enum Plus {
    Plain,
    Space,
}

fn decode(text: &str, plus: Plus) -> String {
    let text = if plus == Plus::Space { Cow::Owned(text.replace('+', " ")) } else { Cow::Borrowed(text) };
    if !text.contains('%') {
        return text.into_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if let [b'%', high, low, after @ ..] = rest
            && let Some(byte) = hex_pair(*high, *low)
        {
            bytes.push(byte);
            rest = after;
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).to_string()
}

fn hex_pair(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|value| u8::try_from(value).ok());
    Some((digit(high)? << 4) | digit(low)?)
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use proptest::prelude::*;

    use super::Target;

    #[test]
    fn escapes_are_decoded_in_path_and_query() {
        let target = Target::parse("/agent%2Dtranscript?pane=w1%3Ap1&pane=w2:p2&t%6Fken=a+b%2Bc&flag");
        assert_eq!(target.path(), "/agent-transcript");
        assert_eq!(target.first("pane").as_deref(), Some("w1:p1"));
        assert_eq!(target.first("token").as_deref(), Some("a b+c"));
        assert_eq!(target.first("flag").as_deref(), Some(""));
        assert_eq!(target.filled("flag"), None);
        assert_eq!(target.first("absent"), None);
    }

    #[test]
    fn a_whole_url_has_an_origin_before_its_path() {
        for (target, origin, path, pane) in [
            ("http://den:8787/panes?pane=a", Some("http://den:8787"), "/panes", Some("a")),
            ("HTTPS://[::1]?pane=a", Some("HTTPS://[::1]"), "/", Some("a")),
            ("http://den", Some("http://den"), "/", None),
            ("/panes?pane=http://den/b", None, "/panes", Some("http://den/b")),
            ("/http://den/b", None, "/http://den/b", None),
        ] {
            let parsed = Target::parse(target);
            assert!(parsed.is_path(), "{target}");
            assert_eq!((parsed.origin(), parsed.path()), (origin, path), "{target}");
            assert_eq!(parsed.first("pane").as_deref(), pane, "{target}");
        }
        for target in ["*", "den:8787", "", "%2Fpanes", "panes", "://den/panes", "?pane=a"] {
            assert!(!Target::parse(target).is_path(), "{target}");
        }
    }

    #[test]
    fn a_plus_in_a_path_is_a_plus() {
        assert_eq!(Target::parse("/a+b%20c").path(), "/a+b c");
    }

    #[test]
    fn bad_escapes_stay_as_they_are() {
        let target = Target::parse("/%zz%4?pane=100%&x=%e4%b8%ad&y=%ff&z=%+1");
        assert_eq!(target.path(), "/%zz%4");
        assert_eq!(target.first("pane").as_deref(), Some("100%"));
        assert_eq!(target.first("x").as_deref(), Some("中"));
        assert_eq!(target.first("y").as_deref(), Some("\u{fffd}"));
        assert_eq!(target.first("z").as_deref(), Some("% 1"));
    }

    #[test]
    fn the_first_value_wins_even_if_it_is_empty() {
        assert_eq!(Target::parse("/?pane=&pane=w1:p1").filled("pane"), None);
    }

    proptest! {
        #[test]
        fn what_a_client_escapes_comes_back(text in ".*") {
            let escaped: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let target = format!("/{escaped}?{escaped}={escaped}");
            let target = Target::parse(&target);
            prop_assert_eq!(target.path().strip_prefix('/'), Some(text.as_str()));
            prop_assert_eq!(target.first(&text), Some(text));
        }

        #[test]
        fn no_target_is_too_odd(target in "[/?&=%+0-9a-fé]*") {
            let parsed = Target::parse(&target);
            prop_assert!(parsed.path().chars().count() <= target.chars().count());
        }
    }

    #[test]
    fn a_second_question_mark_belongs_to_the_query() {
        assert_eq!(Target::parse("/p?a=b?c").first("a").as_deref(), Some("b?c"));
    }
}
