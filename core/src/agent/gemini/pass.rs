//! A pass through a session's file: its bytes in, its list of messages out.
//!
//! ```text
//! session-….json    one document, rewritten whole at every change: {"sessionId":…,"messages":[…]}
//! session-….jsonl   a log: a line of metadata, then messages, {"$set":{…}} and {"$rewindTo":"<id>"}
//! ```
//!
//! A log goes on where it was: of what was read only the last bytes are looked at again. A document is read anew.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::ops::ControlFlow;

use super::elements::{Element, Elements};
use super::log::{IsSettled, Log, Other, whole};
use crate::agent::Line;
use crate::agent::shown::glance;
use crate::limits::{OVERLAP_BYTES, PROBE_BYTES, STORE_MESSAGE_BYTES, UNREADABLE_CHARS};
use crate::source::json::Value;
use crate::source::lines::LineSplitter;
use crate::source::records::{self, Piece};

/// Ways in which a record of a log begins.
const STARTS: &[&[u8]] = &[b"{\"id\":", b"{\"sessionId\":", b"{\"$set\":", b"{\"$rewindTo\":"];

/// What was read of a file so far.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) log: Log,
    form: Form,
    /// How much of it, and how that began and ended.
    offset: u64,
    head: Vec<u8>,
    last: Vec<u8>,
}

#[derive(Debug)]
enum Form {
    /// It is not known yet: all of its bytes.
    Unknown(Vec<u8>),
    Lines(LineSplitter),
    Document(Elements),
}

/// Why a file has no list now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Torn {
    /// A document ends in the middle: perhaps it is being written.
    Unfinished,
    /// There is too little of it to know its form.
    Undecided,
}

impl Pass {
    /// Nothing was read yet.
    pub(super) fn new() -> Self {
        let form = Form::Unknown(Vec::new());
        Self { log: Log::default(), form, offset: 0, head: Vec::new(), last: Vec::new() }
    }

    /// All of a file.
    pub(super) fn of(bytes: &[u8]) -> Result<Log, Torn> {
        let mut pass = Self::new();
        let nothing = |_: &_| false;
        pass.push(bytes, &nothing);
        pass.finish(&nothing).map(|()| pass.log)
    }

    /// The offset of the byte that comes next.
    pub(super) const fn end(&self) -> u64 {
        self.offset
    }

    /// Whether it is a log, which goes on.
    pub(super) const fn is_log(&self) -> bool {
        matches!(self.form, Form::Lines(_))
    }

    /// The last bytes that were read: what must stand before what comes next.
    pub(super) fn last(&self) -> &[u8] {
        &self.last
    }

    /// Whether nothing but blanks was read.
    pub(super) const fn is_blank(&self) -> bool {
        self.head.is_empty()
    }

    /// How the file begins, to be shown.
    pub(super) fn glance(&self) -> String {
        glance(&self.head)
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8], settled: IsSettled<'_>) {
        self.offset = self.offset.saturating_add(bytes.len() as u64);
        let room = (UNREADABLE_CHARS * 4).saturating_sub(self.head.len());
        let said = if self.head.is_empty() { bytes.trim_ascii_start() } else { bytes };
        self.head.extend(said.iter().take(room));
        let kept = self.last.len().saturating_add(bytes.len()).saturating_sub(OVERLAP_BYTES).min(self.last.len());
        self.last.drain(..kept);
        self.last.extend_from_slice(bytes.get(bytes.len().saturating_sub(OVERLAP_BYTES)..).unwrap_or_default());
        if let Form::Unknown(before) = &mut self.form {
            before.extend_from_slice(bytes);
            if before.len() >= PROBE_BYTES {
                let _ = self.decide(settled);
            }
        } else {
            self.split(bytes, settled);
        }
    }

    /// This is the end for now.
    pub(super) fn finish(&mut self, settled: IsSettled<'_>) -> Result<(), Torn> {
        if self.is_blank() {
            return Ok(());
        }
        self.decide(settled)?;
        let Self { log, form, head, .. } = self;
        match form {
            Form::Unknown(_) => return Err(Torn::Undecided),
            // A last line without its newline counts as soon as it is whole.
            Form::Lines(lines) if records::is_whole(lines.tail()) => {
                line(&lines.tail_line(), log, settled);
                lines.accept_tail();
            }
            Form::Lines(_) => {}
            Form::Document(elements) if !elements.is_whole() => return Err(Torn::Unfinished),
            Form::Document(elements) if !elements.has_list() => {
                log.other("document".to_string(), Other::NoSession(glance(head)), settled);
            }
            Form::Document(_) => {}
        }
        Ok(())
    }

    /// Says which form it has, as far as the first line tells.
    fn decide(&mut self, settled: IsSettled<'_>) -> Result<(), Torn> {
        let Form::Unknown(bytes) = &mut self.form else { return Ok(()) };
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
        let end = memchr::memchr(b'\n', text);
        let first = text.get(..end.unwrap_or(text.len())).unwrap_or_default().trim_ascii_end();
        let is_cut = first.len() < 2 || (end.is_some() && matches!(first.last(), Some(b'{' | b'[' | b',')));
        let has_list = || memchr::memmem::find(first, b"\"messages\"").is_some();
        let is_document = match whole(first) {
            Some(value) if value.is_object() => value.get("messages").is_some_and(Value::is_list),
            Some(_) => true,
            None => is_cut || has_list(),
        };
        if !is_document && end.is_none() && whole(first).is_none() && bytes.len() < PROBE_BYTES {
            return Err(Torn::Undecided);
        }
        let bytes = core::mem::take(bytes);
        self.form = if is_document {
            Form::Document(Elements::new(STORE_MESSAGE_BYTES))
        } else {
            Form::Lines(LineSplitter::new(0, STORE_MESSAGE_BYTES))
        };
        self.split(&bytes, settled);
        Ok(())
    }

    fn split(&mut self, bytes: &[u8], settled: IsSettled<'_>) {
        let Self { log, form, .. } = self;
        match form {
            Form::Unknown(_) => {}
            Form::Lines(lines) => {
                let _ = lines.push(bytes, |found| {
                    line(&found, log, settled);
                    ControlFlow::<()>::Continue(())
                });
            }
            Form::Document(elements) => elements.push(bytes, |found| element(found, log, settled)),
        }
    }
}

/// A line of a log: usually one record, and whatever a torn write left behind.
fn line(line: &Line<'_>, log: &mut Log, settled: IsSettled<'_>) {
    if let Some(bytes) = line.over_cap {
        return log.other(format!("@{}", line.offset), Other::TooLong(bytes), settled);
    }
    let bytes = line.bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line.bytes);
    let read = |_: &mut _, (): &mut ()| Ok(());
    records::split(bytes, STARTS, read, |at, piece| match piece {
        Piece::Record(record, ()) => log.record(Value(record), settled),
        Piece::Damaged(bytes, ()) | Piece::Fragment(bytes) => {
            log.damaged(line.offset.saturating_add(at as u64), bytes, settled);
        }
    });
}

/// An element of a document's list.
fn element(element: Element<'_>, log: &mut Log, settled: IsSettled<'_>) {
    let number = log.len();
    match element {
        Element::TooLong(bytes) => log.other(format!("@{number}"), Other::TooLong(bytes), settled),
        Element::Whole(bytes) => match whole(bytes) {
            Some(message) => log.message(message, settled),
            None => log.damaged(number as u64, bytes, settled),
        },
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::super::log::What;
    use super::*;
    use crate::agent::shown::named;

    fn read(text: &str) -> Vec<(i64, String, String)> {
        let mut pieces = Pass::new();
        for piece in text.as_bytes().chunks(7) {
            pieces.push(piece, &|_| false);
        }
        assert_eq!(pieces.finish(&|_| false), Ok(()), "{text}");
        let (pieces, whole) = (said(&pieces.log), said(&Pass::of(text.as_bytes()).unwrap()));
        assert_eq!(pieces, whole);
        whole
    }

    fn said(log: &Log) -> Vec<(i64, String, String)> {
        let said = |what: &What| match what {
            What::Message(message) => named(Value(message).get("content")).unwrap_or_default(),
            What::Other(Other::Rewound(dropped)) => format!("back {dropped}"),
            What::Other(Other::Damaged(..)) => "damaged".into(),
            What::Other(Other::TooLong(_)) => "too long".into(),
            What::Other(Other::NoSession(_)) => "no session".into(),
        };
        log.items.iter().map(|item| (item.place.time, item.place.id.clone(), said(&item.what))).collect()
    }

    fn item(time: i64, id: &str, said: &str) -> (i64, String, String) {
        (time, id.into(), said.into())
    }

    #[test]
    fn a_document_is_its_list_and_places_are_in_its_order() {
        let text = r#"{
            "sessionId": "s", "messages": [
                {"id":"a","timestamp":"1970-01-01T00:00:05Z","type":"user","content":"one"},
                {"id":"b","timestamp":"1970-01-01T00:00:05Z","type":"gemini","content":"two"},
                {"id":"c","timestamp":"1970-01-01T00:00:01Z","type":"user","content":"three"},
                {"id":"d","type":"user","content":"four"}]}"#;
        let expected =
            [item(5_000, "a", "one"), item(5_001, "b", "two"), item(5_002, "c", "three"), item(5_003, "d", "four")];
        assert_eq!(read(text), expected);
        assert_eq!(read(&text.replace('\n', " ")), expected);
        for cut in [2, 40, text.len() - 1] {
            assert_eq!(Pass::of(&text.as_bytes()[..cut]).err(), Some(Torn::Unfinished), "{cut}");
        }
        assert_eq!(read(""), []);
        assert_eq!(read("{\n}"), [item(0, "document", "no session")]);
    }

    #[test]
    fn in_a_log_the_last_form_counts_and_the_first_place() {
        let text = concat!(
            r#"{"sessionId":"s","projectHash":"h","startTime":"t"}"#,
            "\n",
            r#"{"id":"a","type":"user","content":"one"}"#,
            "\n",
            r#"{"id":"b","type":"gemini","content":""}"#,
            "\n",
            "{torn\n\n",
            r#"{"id":"c","type":"user","content":"three"}"#,
            "\n",
            r#"{"id":"b","type":"gemini","content":"two"}"#,
            "\n",
            r#"{"$set":{"summary":"x"}}"#,
            "\n",
            r#"{"id":"d","type":"us"#,
        );
        assert_eq!(
            read(text),
            [item(0, "a", "one"), item(1, "b", "two"), item(2, "@133", "damaged"), item(3, "c", "three")]
        );
    }

    #[test]
    fn going_back_removes_nothing_from_the_list() {
        let message = |id: &str| format!(r#"{{"id":"{id}","type":"user","content":"{id}"}}"#);
        let (a, b, c, d) = (message("a"), message("b"), message("c"), message("d"));
        let text = [a.as_str(), &b, &c, r#"{"$rewindTo":"b"}"#, &d].join("\n");
        let shown = |text: &str| -> Vec<String> { read(text).into_iter().map(|(_, _, said)| said).collect() };
        assert_eq!(shown(&text), ["a", "b", "c", "back 2", "d"]);
        assert_eq!(shown(&[a.as_str(), &b, r#"{"$rewindTo":"nobody"}"#, &c].join("\n")), ["a", "b", "back 2", "c"]);
        let set = format!(r#"{{"$set":{{"messages":[{a},{d}]}}}}"#);
        assert_eq!(shown(&[a.as_str(), &b, &set].join("\n")), ["a", "b", "back 1", "d"]);
        assert_eq!(shown(&[r#"{"$rewindTo":"a"}"#, a.as_str()].join("\n")), ["a"]);
    }
}
