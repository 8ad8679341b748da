//! The web view: files that are part of the program, for whoever may reach the door. They hold nothing of the user's, so
//! they need no token.

use alloc::string::ToString as _;
use alloc::vec;
use core::fmt;

use bytes::Bytes;

use super::answer::{Answer, Headers, Manner};
use super::guard::header;
use crate::io::{Head, Request};

/// One file of the web view.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// Where it is served: `/`, or `/assets/app-5f0c6a41.js`.
    pub path: &'static str,
    /// Its content type.
    pub content_type: &'static str,
    /// Names its content, with quotes: another content has another.
    pub etag: &'static str,
    /// Whether another content would have another path: then a browser need not ask again.
    pub immutable: bool,
    /// Its bytes.
    pub plain: &'static [u8],
    /// The same, compressed.
    pub gzip: Option<&'static [u8]>,
    /// The same, compressed better.
    pub brotli: Option<&'static [u8]>,
}

impl fmt::Debug for Asset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asset").field("path", &self.path).field("etag", &self.etag).finish_non_exhaustive()
    }
}

/// A file that was asked for, in the form in which it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The file.
    pub asset: Asset,
    /// How it is compressed.
    pub coding: Coding,
    /// Whether the client has it already: 304.
    pub unchanged: bool,
}

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// Not at all.
    Identity,
    /// With gzip.
    Gzip,
    /// With brotli, which browsers take over TLS and from this machine only.
    Brotli,
}

impl Page {
    /// What this request asks of the site; `None` if there is no such file.
    #[must_use]
    pub fn of(request: &Request<'_>, path: &str, site: &[Asset]) -> Option<Self> {
        let asset = *site.iter().find(|asset| asset.path == path)?;
        let accepted = header(request, "accept-encoding").unwrap_or_default();
        let coding = if asset.brotli.is_some() && accepts(accepted, "br") {
            Coding::Brotli
        } else if asset.gzip.is_some() && accepts(accepted, "gzip") {
            Coding::Gzip
        } else {
            Coding::Identity
        };
        let unchanged = header(request, "if-none-match").is_some_and(|held| holds(held, asset.etag));
        Some(Self { asset, coding, unchanged })
    }

    /// The answer.
    #[must_use]
    pub fn answer(&self, manner: &Manner) -> Answer {
        let body = match self.coding {
            Coding::Brotli => self.asset.brotli,
            Coding::Gzip => self.asset.gzip,
            Coding::Identity => None,
        };
        let body = body.unwrap_or(self.asset.plain);
        let keep = if self.asset.immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
        let mut headers: Headers = vec![("etag", self.asset.etag.into()), ("cache-control", keep.into())];
        headers.push(("vary", "accept-encoding".into()));
        headers.extend(PROTECTION.iter().map(|(name, value)| (*name, (*value).into())));
        headers.extend(manner.headers.iter().cloned());
        if self.unchanged {
            return Answer { head: Head { status: 304, headers }, body: Bytes::new() };
        }
        headers.push(("content-type", self.asset.content_type.into()));
        headers.push(("content-length", body.len().to_string()));
        match self.coding {
            Coding::Brotli => headers.push(("content-encoding", "br".into())),
            Coding::Gzip => headers.push(("content-encoding", "gzip".into())),
            Coding::Identity => {}
        }
        let body = if manner.head_only { Bytes::new() } else { Bytes::from_static(body) };
        Answer { head: Head { status: 200, headers }, body }
    }
}

/// A page may load and call what is ours and nothing else, and nobody may put it into a frame. What an agent wrote can
/// hold HTML: even if a fault of the view let it through, it could run nothing and reach nobody.
const PROTECTION: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; \
         worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types panewire",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];

/// Whether a coding is in the list of a client, and not there to be refused.
fn accepts(list: &[u8], coding: &str) -> bool {
    let list = core::str::from_utf8(list).unwrap_or_default();
    list.split(',').any(|item| {
        let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
        let quality = parameters.trim().strip_prefix("q=").map(str::trim);
        name.trim().eq_ignore_ascii_case(coding) && !quality.is_some_and(|q| q.bytes().all(|b| b == b'0' || b == b'.'))
    })
}

/// Whether a content is among those that a client holds. Which coding it got does not matter.
fn holds(list: &[u8], etag: &str) -> bool {
    let list = core::str::from_utf8(list).unwrap_or_default();
    list.split(',').map(|held| held.trim().trim_start_matches("W/")).any(|held| held == etag || held == "*")
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::super::tests::request;
    use super::{Asset, Coding, Page};
    use crate::http::{Answer, Manner};

    const SITE: &[Asset] = &[
        Asset {
            path: "/",
            content_type: "text/html; charset=utf-8",
            etag: "\"5f0c\"",
            immutable: false,
            plain: b"<!doctype html>",
            gzip: Some(b"gz"),
            brotli: Some(b"b"),
        },
        Asset {
            path: "/assets/icon-1.png",
            content_type: "image/png",
            etag: "\"9a\"",
            immutable: true,
            plain: b"png",
            gzip: None,
            brotli: None,
        },
    ];

    fn page(path: &str, headers: &[(&str, &[u8])]) -> Page {
        Page::of(&request("GET", path, headers), path, SITE).unwrap()
    }

    fn value(answer: &Answer, wanted: &str) -> Option<String> {
        answer.head.headers.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.clone())
    }

    #[test]
    fn the_best_coding_that_the_client_takes() {
        for (accepted, coding) in [
            ("", Coding::Identity),
            ("gzip, deflate", Coding::Gzip),
            ("gzip, deflate, br, zstd", Coding::Brotli),
            ("GZIP;q=0.5", Coding::Gzip),
            ("br;q=0, gzip ; q=0.0", Coding::Identity),
            ("broken, gzipped", Coding::Identity),
        ] {
            assert_eq!(page("/", &[("accept-encoding", accepted.as_bytes())]).coding, coding, "{accepted}");
        }
        assert_eq!(page("/assets/icon-1.png", &[("accept-encoding", b"br, gzip")]).coding, Coding::Identity);
    }

    #[test]
    fn a_compressed_body_says_so() {
        let answer = page("/", &[("accept-encoding", b"gzip")]).answer(&Manner::default());
        assert_eq!((answer.head.status, &answer.body[..]), (200, &b"gz"[..]));
        for (name, expected) in [
            ("content-type", Some("text/html; charset=utf-8")),
            ("content-length", Some("2")),
            ("content-encoding", Some("gzip")),
            ("cache-control", Some("no-cache")),
            ("etag", Some("\"5f0c\"")),
            ("vary", Some("accept-encoding")),
            ("x-content-type-options", Some("nosniff")),
            ("referrer-policy", Some("no-referrer")),
        ] {
            assert_eq!(value(&answer, name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn no_inline_script_and_no_foreign_host() {
        let answer = page("/", &[]).answer(&Manner::default());
        let policy = value(&answer, "content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    }

    #[test]
    fn what_the_client_holds_is_not_sent_again() {
        for (held, unchanged) in [("\"5f0c\"", true), ("\"1\", W/\"5f0c\"", true), ("*", true), ("\"5f\"", false)] {
            assert_eq!(page("/", &[("if-none-match", held.as_bytes())]).unchanged, unchanged, "{held}");
        }
        let answer = page("/", &[("if-none-match", b"\"5f0c\"")]).answer(&Manner::default());
        assert_eq!((answer.head.status, answer.body.len()), (304, 0));
        assert_eq!(value(&answer, "content-length"), None);
        assert_eq!(value(&answer, "etag").as_deref(), Some("\"5f0c\""));
    }

    #[test]
    fn a_path_that_names_its_content_is_kept_for_ever() {
        let manner = Manner { head_only: true, headers: alloc::vec![("vary", "origin".into())] };
        let answer = page("/assets/icon-1.png", &[]).answer(&manner);
        assert_eq!(value(&answer, "cache-control").as_deref(), Some("public, max-age=31536000, immutable"));
        assert_eq!(value(&answer, "content-length").as_deref(), Some("3"));
        assert_eq!(answer.body.len(), 0);
        assert!(answer.head.headers.contains(&("vary", "origin".into())));
    }

    #[test]
    fn a_path_is_a_whole_path() {
        for path in ["", "/index.html", "/assets", "/assets/", "/assets/icon-1.pn", "//", "/assets/../"] {
            assert_eq!(Page::of(&request("GET", path, &[]), path, SITE), None, "{path}");
        }
    }
}
