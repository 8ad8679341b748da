//! A session's file as a list of messages, whichever of the two forms it has.
//!
//! ```text
//! session-….json    one document, rewritten whole at every change: {"sessionId":…,"messages":[…]}
//! session-….jsonl   a log: a line of metadata, then messages, {"$set":{…}} and {"$rewindTo":"<id>"}
//! ```
//!
//! A message comes again at every change: its last form counts, its first place stays. Going back drops messages from the
//! conversation and not from the list: what was shown stays shown, and a note says what happened.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::agent::shown::named;
use crate::source::json::{Scanner, Value};
use crate::source::records;
use crate::source::spool::Place;
use crate::time::UnixMillis;

/// Everything in a file that is or was a message, in order.
#[derive(Debug, Default)]
pub(super) struct Log<'a> {
    pub(super) items: Vec<Item<'a>>,
    /// Where each message is in the list, by its id, and those that the conversation consists of now.
    known: BTreeMap<String, usize>,
    current: BTreeMap<String, usize>,
    /// The place of the last one.
    last: i64,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) place: Place,
    pub(super) what: What<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What<'a> {
    Message(Value<'a>),
    Other(Other<'a>),
}

/// What is in the list and is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Other<'a> {
    /// The conversation went back: how many messages were dropped.
    Rewound(usize),
    /// Bytes that are no record.
    Damaged(&'a [u8]),
    /// An object that is no session.
    NoSession(Value<'a>),
}

impl Other<'_> {
    /// Whether it is there by mistake.
    pub(super) const fn is_damage(self) -> bool {
        matches!(self, Self::Damaged(_) | Self::NoSession(_))
    }
}

/// Why a file has no list now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Torn {
    /// It ends in the middle: perhaps it is being written.
    Unfinished,
}

impl<'a> Log<'a> {
    /// Reads a whole file.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Torn> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii();
        let mut log = Self::default();
        if bytes.is_empty() {
            return Ok(log);
        }
        let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
        let is_document = !records::is_whole(first) || Value(first).get("messages").is_some_and(Value::is_list);
        if is_document && let Some(document) = whole(bytes) {
            log.document(document);
            return Ok(log);
        }
        if is_document && first.len() < 2 {
            // A document of several lines that is not complete.
            return Err(Torn::Unfinished);
        }
        log.lines(bytes);
        Ok(log)
    }

    fn document(&mut self, document: Value<'a>) {
        match document.get("messages").filter(|messages| messages.is_list()) {
            Some(messages) => messages.elements().for_each(|message| self.message(message)),
            None => self.push("document".into(), None, What::Other(Other::NoSession(document))),
        }
    }

    fn lines(&mut self, bytes: &'a [u8]) {
        let mut at = 0_usize;
        let mut lines = bytes.split(|&byte| byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            let is_last = lines.peek().is_none();
            let trimmed = line.trim_ascii();
            match whole(trimmed).filter(|record| record.is_object()) {
                Some(record) => self.record(record),
                // The last line may still be on its way.
                None if trimmed.is_empty() || is_last => {}
                None => self.push(format!("@{at}"), None, What::Other(Other::Damaged(trimmed))),
            }
            at = at.saturating_add(line.len()).saturating_add(1);
        }
    }

    fn record(&mut self, record: Value<'a>) {
        if let Some(set) = record.get("$set") {
            if let Some(messages) = set.get("messages").filter(|messages| messages.is_list()) {
                self.replace(messages);
            }
        } else if let Some(to) = record.get("$rewindTo") {
            let kept = named(Some(to)).and_then(|id| self.current.get(&id).copied()).unwrap_or(0);
            self.keep(|at| at < kept);
        } else if record.get("id").is_some() {
            self.message(record);
        }
    }

    /// The list is another one: what is not in it any more was dropped.
    fn replace(&mut self, messages: Value<'a>) {
        let ids: Vec<String> = messages.elements().filter_map(|message| named(message.get("id"))).collect();
        let places: Vec<usize> = ids.iter().filter_map(|id| self.current.get(id).copied()).collect();
        self.keep(|at| places.contains(&at));
        messages.elements().for_each(|message| self.message(message));
    }

    fn keep(&mut self, stays: impl Fn(usize) -> bool) {
        let before = self.current.len();
        self.current.retain(|_, at| stays(*at));
        let dropped = before.saturating_sub(self.current.len());
        if dropped > 0 {
            let id = format!("rewind-{}", self.items.len());
            self.push(id, None, What::Other(Other::Rewound(dropped)));
        }
    }

    fn message(&mut self, message: Value<'a>) {
        let id = named(message.get("id")).unwrap_or_else(|| format!("@{}", self.items.len()));
        let known = self.known.get(&id).copied();
        let at = match known.and_then(|at| Some((at, self.items.get_mut(at)?))) {
            Some((at, item)) => {
                item.what = What::Message(message);
                at
            }
            None => {
                let made = named(message.get("timestamp")).and_then(|text| UnixMillis::parse(&text));
                self.push(id.clone(), made, What::Message(message));
                let at = self.items.len().saturating_sub(1);
                self.known.insert(id.clone(), at);
                at
            }
        };
        self.current.insert(id, at);
    }

    /// Places are in order of the list, whatever the clocks said, and what is new lies behind all that was there.
    fn push(&mut self, id: String, made: Option<UnixMillis>, what: What<'a>) {
        let next = self.last.saturating_add(1);
        self.last =
            if self.items.is_empty() { made.map_or(0, |made| made.0) } else { next.max(made.map_or(0, |at| at.0)) };
        self.items.push(Item { place: Place { time: self.last, id }, what });
    }
}

/// The value that is all of these bytes.
fn whole(bytes: &[u8]) -> Option<Value<'_>> {
    let mut scanner = Scanner::new(bytes, 0);
    let value = scanner.skip().ok()?;
    let is_all = scanner.between(scanner.at(), bytes.len()).trim_ascii().is_empty();
    is_all.then_some(Value(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(i64, String, String)> {
        let log = Log::read(text.as_bytes()).unwrap();
        let said = |what: &What<'_>| match what {
            What::Message(message) => named(message.get("content")).unwrap_or_default(),
            What::Other(Other::Rewound(dropped)) => format!("back {dropped}"),
            What::Other(Other::Damaged(_)) => "damaged".into(),
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
            assert_eq!(Log::read(&text.as_bytes()[..cut]).err(), Some(Torn::Unfinished), "{cut}");
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
