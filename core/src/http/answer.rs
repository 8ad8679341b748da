//! Answers in the one form that all of them have: who may keep them, what they are, how long they are.

use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;
use serde::Serialize;

use crate::io::Head;

/// Header names in lower case, and their values.
pub type Headers = Vec<(&'static str, String)>;

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its head.
    pub head: Head,
    /// Its body; empty if the request does not want one.
    pub body: Bytes,
}

/// What every answer to one request must respect, good or bad.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manner {
    /// The request was a `HEAD`: the head of the answer is the same, the body stays here.
    pub head_only: bool,
    /// Headers of the origin rules.
    pub headers: Headers,
}

/// Why a request gets no further, in the words of its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The text, without its final newline. Never holds a token.
    pub body: String,
    /// Headers that belong to this refusal alone, such as `allow`.
    pub headers: Headers,
    /// What every answer to this request must respect.
    pub manner: Manner,
}

impl Answer {
    /// Plain text. The body ends with a newline.
    #[must_use]
    pub fn text(status: u16, text: &str, manner: &Manner) -> Self {
        let mut body = String::with_capacity(text.len().saturating_add(1));
        body.push_str(text);
        body.push('\n');
        Self::with(status, "text/plain; charset=utf-8", body.into_bytes(), manner)
    }

    /// 200 with JSON. The body ends with a newline. A value that cannot be written is a 500.
    #[must_use]
    pub fn json(value: &impl Serialize, manner: &Manner) -> Self {
        let Ok(mut body) = serde_json::to_vec(value) else {
            return Self::text(500, "answer cannot be written", manner);
        };
        body.push(b'\n');
        Self::with(200, JSON, body, manner)
    }

    /// The head of a 200 with JSON of so many bytes, for a body that is sent in pieces.
    #[must_use]
    pub fn json_head(body_bytes: usize, manner: &Manner) -> Head {
        head(200, JSON, body_bytes, manner)
    }

    /// A status that has no body: 204.
    #[must_use]
    pub fn empty(status: u16, manner: &Manner) -> Self {
        let mut headers = vec![("cache-control", "no-store".into())];
        headers.extend(manner.headers.iter().cloned());
        Self { head: Head { status, headers }, body: Bytes::new() }
    }

    /// 426: the transcript is there, and comes over a WebSocket only.
    #[must_use]
    pub fn upgrade_required(manner: &Manner) -> Self {
        let mut answer = Self::text(426, "connect with a WebSocket", manner);
        answer.head.headers.push(("upgrade", "websocket".into()));
        answer.head.headers.push(("connection", "upgrade".into()));
        answer.head.headers.push(("sec-websocket-version", "13".into()));
        answer
    }

    fn with(status: u16, content_type: &str, body: Vec<u8>, manner: &Manner) -> Self {
        let head = head(status, content_type, body.len(), manner);
        let body = if manner.head_only { Bytes::new() } else { body.into() };
        Self { head, body }
    }
}

impl Refusal {
    /// A refusal without headers of its own.
    #[must_use]
    pub fn new(status: u16, body: &str, manner: &Manner) -> Self {
        Self { status, body: body.into(), headers: Headers::new(), manner: manner.clone() }
    }

    /// The same, with one more header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        let mut answer = Self::text(refusal.status, &refusal.body, &refusal.manner);
        answer.head.headers.extend(refusal.headers);
        answer
    }
}

const JSON: &str = "application/json";

fn head(status: u16, content_type: &str, body_bytes: usize, manner: &Manner) -> Head {
    let mut headers = vec![
        ("content-type", content_type.into()),
        ("content-length", body_bytes.to_string()),
        ("x-content-type-options", "nosniff".into()),
        ("cache-control", "no-store".into()),
    ];
    headers.extend(manner.headers.iter().cloned());
    Head { status, headers }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec;

    use super::{Answer, Manner, Refusal};

    fn common(content_type: &str, length: &str) -> vec::Vec<(&'static str, String)> {
        vec![
            ("content-type", content_type.into()),
            ("content-length", length.into()),
            ("x-content-type-options", "nosniff".into()),
            ("cache-control", "no-store".into()),
        ]
    }

    #[test]
    fn text_ends_with_a_newline_that_is_counted() {
        let answer = Answer::text(401, "unauthorized", &Manner::default());
        assert_eq!(answer.head.status, 401);
        assert_eq!(answer.head.headers, common("text/plain; charset=utf-8", "13"));
        assert_eq!(&answer.body[..], b"unauthorized\n");
    }

    #[test]
    fn a_head_request_gets_the_length_and_no_body() {
        let manner = Manner { head_only: true, headers: vec![("vary", "origin".into())] };
        let answer = Answer::json(&["a"], &manner);
        let mut headers = common("application/json", "6");
        headers.push(("vary", "origin".into()));
        assert_eq!((answer.head.status, answer.head.headers, answer.body.len()), (200, headers, 0));
    }

    #[test]
    fn nothing_to_say_has_no_length() {
        let answer = Answer::empty(204, &Manner::default());
        assert_eq!(answer.head.headers, vec![("cache-control", String::from("no-store"))]);
    }

    #[test]
    fn a_refusal_brings_its_own_headers() {
        let refusal = Refusal::new(405, "use GET", &Manner::default()).with_header("allow", "GET, HEAD");
        let answer = Answer::from(refusal);
        assert_eq!(answer.head.headers.last(), Some(&("allow", "GET, HEAD".into())));
        assert_eq!(&answer.body[..], b"use GET\n");
    }

    #[test]
    fn an_upgrade_is_asked_for_by_name() {
        let answer = Answer::upgrade_required(&Manner::default());
        assert_eq!(answer.head.status, 426);
        assert!(answer.head.headers.contains(&("upgrade", "websocket".into())));
    }
}
