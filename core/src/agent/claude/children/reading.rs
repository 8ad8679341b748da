//! One visit to a file of a child: opened, read as far as it is wanted, and closed again.

use alloc::string::String;
use alloc::vec::Vec;

use super::note::prompt;
use super::through::Through;
use crate::agent::claude::record::{Content, Record};
use crate::agent::skim::Skim as _;
use crate::ids::Handle;
use crate::io::{Facts, FailureKind, FileKind, Op, Outcome};
use crate::limits::{CHILD_LONG_TAIL_BYTES, CHILD_META_BYTES, CHILD_TAIL_BYTES, MAX_READ_BYTES, PROBE_BYTES};
use crate::source::json::{Scanner, Token, Value};
use crate::source::records;
use crate::time::UnixMillis;

/// What a visit is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// Its metadata.
    Meta,
    /// Its beginning.
    Head,
    /// The last time in it.
    Tail,
    /// All of it, or what is new since.
    Through(Option<alloc::boxed::Box<Through>>),
}

/// What was found.
#[derive(Debug)]
pub(super) enum Found {
    Meta(Vec<u8>),
    Head(Head),
    /// The last time, if there is one.
    Tail(Option<i64>),
    Through(alloc::boxed::Box<Through>),
    /// It is not there, or may not be opened: no child can be shown of it.
    Nothing,
    /// It could not be read this time.
    Failed(String),
}

/// What the beginning of a child says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Head {
    /// The session that it belongs to.
    pub(super) session: Option<String>,
    /// The digest of what it was told to do; 0 if that is not known.
    pub(super) prompt: u64,
}

/// A visit on its way.
#[derive(Debug)]
pub(super) struct Reading {
    purpose: Purpose,
    line_bytes: usize,
    handle: Option<Handle>,
    facts: Option<Facts>,
    /// The bytes that are wanted, `offset` the next of them.
    offset: u64,
    end: u64,
    from: u64,
    bytes: Vec<u8>,
}

/// What a visit wants next.
#[derive(Debug)]
pub(super) enum Next {
    Op(Op),
    /// It is over; the file is to be closed if it was opened.
    Done(Found, Option<Handle>),
}

impl Reading {
    pub(super) const fn new(purpose: Purpose, line_bytes: usize) -> Self {
        Self { purpose, line_bytes, handle: None, facts: None, offset: 0, end: 0, from: 0, bytes: Vec::new() }
    }

    /// Takes the answer to what it wanted last, the opening first.
    pub(super) fn take(&mut self, outcome: Outcome<'_>) -> Next {
        match outcome {
            Outcome::Opened { handle, facts } => self.opened(handle, facts),
            Outcome::Bytes { bytes, .. } => self.read(bytes),
            Outcome::Failed(failure) => {
                let nothing =
                    matches!(failure.kind, FailureKind::NotFound | FailureKind::Outside | FailureKind::Denied);
                let found =
                    if nothing && self.handle.is_none() { Found::Nothing } else { Found::Failed(failure.text.into()) };
                Next::Done(found, self.handle.take())
            }
            _ => Next::Done(Found::Failed("an answer of another kind".into()), self.handle.take()),
        }
    }

    fn opened(&mut self, handle: Handle, facts: Facts) -> Next {
        self.handle = Some(handle);
        self.facts = Some(facts);
        if facts.kind != FileKind::File {
            return Next::Done(Found::Nothing, self.handle.take());
        }
        let size = facts.size;
        (self.offset, self.end) = match &mut self.purpose {
            Purpose::Meta => (0, size.min(CHILD_META_BYTES as u64 + 1)),
            Purpose::Head => (0, size.min(PROBE_BYTES as u64)),
            Purpose::Tail => (size.saturating_sub(CHILD_TAIL_BYTES as u64), size),
            Purpose::Through(through) => {
                let known = through.take().filter(|known| known.goes_on(facts.identity, size, facts.modified));
                let known = known.unwrap_or_else(|| {
                    alloc::boxed::Box::new(Through::new(facts.identity, facts.modified, self.line_bytes))
                });
                (through.insert(known).end(), size)
            }
        };
        self.from = self.offset;
        self.go_on()
    }

    fn read(&mut self, bytes: &[u8]) -> Next {
        self.offset = self.offset.saturating_add(bytes.len() as u64);
        match &mut self.purpose {
            Purpose::Through(Some(through)) => through.take(bytes),
            _ => self.bytes.extend_from_slice(bytes),
        }
        if bytes.is_empty() {
            self.end = self.offset;
        }
        self.go_on()
    }

    fn go_on(&mut self) -> Next {
        let left = self.end.saturating_sub(self.offset);
        if let (Some(handle), Ok(left @ 1..)) = (self.handle, usize::try_from(left)) {
            return Next::Op(Op::Read { handle, offset: self.offset, len: left.min(MAX_READ_BYTES) });
        }
        let found = match &mut self.purpose {
            Purpose::Meta if self.bytes.len() > CHILD_META_BYTES => Found::Meta(Vec::new()),
            Purpose::Meta => Found::Meta(core::mem::take(&mut self.bytes)),
            Purpose::Head => Found::Head(head(&self.bytes)),
            Purpose::Tail => {
                let last = last_time(&self.bytes, self.from > 0);
                if last.is_none() && self.from > 0 && self.bytes.len() < CHILD_LONG_TAIL_BYTES {
                    return self.look_farther();
                }
                Found::Tail(last)
            }
            Purpose::Through(through) => match (through.take(), self.facts) {
                (Some(mut through), Some(facts)) => {
                    through.finish(facts.modified);
                    Found::Through(through)
                }
                _ => Found::Nothing,
            },
        };
        Next::Done(found, self.handle.take())
    }

    /// The last line is longer than the end that was read.
    fn look_farther(&mut self) -> Next {
        self.bytes.clear();
        self.from = self.end.saturating_sub(CHILD_LONG_TAIL_BYTES as u64);
        self.offset = self.from;
        self.go_on()
    }
}

/// The last time in the last bytes of a file, of which the first line may be cut. A torn last line has none.
fn last_time(bytes: &[u8], cut: bool) -> Option<i64> {
    let bytes =
        if cut { memchr::memchr(b'\n', bytes).and_then(|at| bytes.get(at..)).unwrap_or_default() } else { bytes };
    bytes.rsplit(|&byte| byte == b'\n').filter(|line| records::is_whole(line)).find_map(|line| {
        let mut record = Record::default();
        let mut scanner = Scanner::new(line, 0);
        if matches!(scanner.step(), Ok(Token::Open(_))) {
            let _ = record.skim(&mut scanner);
        }
        record.timestamp.and_then(Value::text).and_then(|text| UnixMillis::parse(&text)).map(|time| time.0)
    })
}

/// What the first lines say. The last of them may be cut: what stands before the cut counts.
fn head(bytes: &[u8]) -> Head {
    let mut head = Head::default();
    for line in bytes.split(|&byte| byte == b'\n') {
        if head.session.is_none() {
            let named = Value(line).members().find(|(key, _)| *key == b"sessionId");
            head.session = named.and_then(|(_, session)| session.filled());
        }
        let mut record = Record::default();
        let mut scanner = Scanner::new(line, 0);
        if head.prompt == 0
            && matches!(scanner.step(), Ok(Token::Open(_)))
            && record.skim(&mut scanner).is_ok()
            && record.kind.is_some_and(|kind| kind.is("user"))
            && let Some(message) = record.message
        {
            head.prompt = match message.content {
                Some(Content::Text(text)) => prompt(text),
                Some(Content::List { blocks, .. }) => blocks.iter().find_map(|block| block.text).map_or(0, prompt),
                _ => 0,
            };
            break;
        }
    }
    head
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString as _;

    use super::*;
    use crate::roster::digest;

    #[test]
    fn the_last_time_is_that_of_the_last_whole_line_that_has_one() {
        let at = |second: u32| format!("{{\"type\":\"user\",\"timestamp\":\"2026-03-01T08:00:0{second}.000Z\"}}");
        let text = format!("{}\n{}\n{{\"type\":\"mode\"}}\n{}", at(1), at(2), &at(3)[..40]);
        assert_eq!(last_time(text.as_bytes(), false), Some(1_772_352_002_000));
        assert_eq!(last_time(format!("{}\n{}", at(1), at(3)).as_bytes(), false), Some(1_772_352_003_000));
        assert_eq!(last_time(at(1).as_bytes(), true), None);
        assert_eq!(last_time(b"{\"timestamp\":\"never\"}\n", false), None);
        assert_eq!(last_time(b"", false), None);
    }

    #[test]
    fn the_beginning_names_the_session_and_the_task() {
        let line = r#"{"isSidechain":true,"sessionId":"s-1","type":"user","message":{"role":"user","content":" find it\n"},"uuid":"u"}"#;
        assert_eq!(head(line.as_bytes()), Head { session: Some("s-1".to_string()), prompt: digest(b"find it") });
        assert_eq!(head(&line.as_bytes()[..60]), Head { session: Some("s-1".to_string()), prompt: 0 });
        let list = r#"{"type":"user","message":{"content":[{"type":"text","text":"find it"}]}}"#;
        assert_eq!(head(list.as_bytes()), Head { session: None, prompt: digest(b"find it") });
        assert_eq!(head(b"no json\n"), Head::default());
    }
}
