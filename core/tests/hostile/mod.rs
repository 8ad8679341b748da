//! What must hold of every reader for any bytes whatever: counting and reading agree, and what a file says is never taken
//! back when it grows.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::ops::ControlFlow;

use panewire_core::agent::{Caps, Line, Reader, State};
use panewire_core::entry::{Body, Entry};
use panewire_core::source::records;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

/// The entries of a file.
pub(crate) fn entries_of(reader: &dyn Reader, bytes: &[u8]) -> Vec<Entry> {
    let mut file = Growing::new(reader);
    file.grow(bytes);
    file.entries
}

/// The rule by which a growing file is read: complete lines, and the last one before its newline if it is whole.
struct Growing<'r> {
    reader: &'r dyn Reader,
    state: State,
    offset: u64,
    tail: Vec<u8>,
    entries: Vec<Entry>,
}

impl<'r> Growing<'r> {
    fn new(reader: &'r dyn Reader) -> Self {
        Self { reader, state: State::default(), offset: 0, tail: Vec::new(), entries: Vec::new() }
    }

    fn grow(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
        while let Some(end) = self.tail.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.tail.drain(..=end).collect();
            self.take(&line[..end]);
            self.offset += 1;
        }
        if records::is_whole(&self.tail) {
            let tail = std::mem::take(&mut self.tail);
            self.take(&tail);
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let line = Line { offset: self.offset, bytes, over_cap: None };
        let before = self.entries.len();
        self.reader.read_after(&self.state, &line, &Caps::WIRE, 0, &mut |entry| {
            self.entries.push(entry);
            ControlFlow::Continue(())
        });
        let count = self.reader.counted_after(&mut self.state, &line).entries;
        assert_eq!(count, (self.entries.len() - before) as u64, "{line:?}");
        self.offset += bytes.len() as u64;
    }
}

/// Whatever was said of a prefix is the beginning of what is said of the whole: at every byte.
pub(crate) fn every_prefix_is_a_prefix(reader: &dyn Reader, mut bytes: Vec<u8>) -> TestCaseResult {
    bytes.push(b'\n');
    let all = entries_of(reader, &bytes);
    for cut in 0..bytes.len() {
        let some = entries_of(reader, &bytes[..cut]);
        prop_assert!(all.starts_with(&some), "cut at {cut} of {:?}", String::from_utf8_lossy(&bytes));
    }
    Ok(())
}

/// Looking at a growing file often, seldom or once gives the same entries.
pub(crate) fn moments_do_not_matter(
    reader: &dyn Reader,
    mut bytes: Vec<u8>,
    cuts: &[prop::sample::Index],
    everywhere: bool,
) -> TestCaseResult {
    bytes.push(b'\n');
    let all = entries_of(reader, &bytes);
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
    if everywhere {
        places = (0..bytes.len()).collect();
    }
    places.push(bytes.len());
    places.sort_unstable();
    let mut file = Growing::new(reader);
    let mut from = 0;
    for to in places {
        file.grow(&bytes[from..to]);
        prop_assert!(all.starts_with(&file.entries), "at {to} of {:?}", String::from_utf8_lossy(&bytes));
        from = to;
    }
    prop_assert_eq!(file.entries, all);
    Ok(())
}

/// Counting says how many entries reading makes, capped or not, and none of them is blank. Skipping skips.
pub(crate) fn counting_and_reading_agree(reader: &dyn Reader, bytes: &[u8]) -> TestCaseResult {
    let mut state = State::default();
    for line in bytes.split(|&byte| byte == b'\n') {
        let line = Line { offset: 0, bytes: line, over_cap: None };
        let before = state.clone();
        let count = reader.counted_after(&mut state, &line).entries;
        let shown = String::from_utf8_lossy(line.bytes);
        let tight = Caps { text_chars: 5, output_chars: 5, command_chars: 1, diff_lines: 1, diff_chars: 5 };
        for caps in [Caps::WIRE, Caps::NONE, tight] {
            let mut entries = Vec::new();
            reader.read_after(&before, &line, &caps, 0, &mut |entry| {
                entries.push(entry);
                ControlFlow::Continue(())
            });
            prop_assert_eq!(count, entries.len() as u64, "{}", shown);
            let mut second = Vec::new();
            reader.read_after(&before, &line, &caps, 1, &mut |entry| {
                second.push(entry);
                ControlFlow::Break(())
            });
            prop_assert_eq!(entries.get(1), second.first());
            prop_assert!(second.len() <= 1);
            for entry in entries {
                prop_assert!(!is_blank(&entry), "{entry:?} of {shown}");
            }
        }
    }
    Ok(())
}

/// A whole prefix ends where it says, and taking it apart there changes nothing.
pub(crate) fn whole_prefixes_are_whole(reader: &dyn Reader, bytes: &[u8]) -> TestCaseResult {
    for line in bytes.split(|&byte| byte == b'\n') {
        let end = records::whole_prefix(line);
        prop_assert!(end == 0 || records::is_whole(&line[..end]));
        let (head, rest) = line.split_at(end);
        let mut parts = Growing::new(reader);
        parts.take(head);
        parts.take(rest);
        let mut whole = Growing::new(reader);
        whole.take(line);
        prop_assert_eq!(parts.entries, whole.entries);
    }
    Ok(())
}

/// Whether nothing of the entry could be shown.
pub(crate) fn is_blank(entry: &Entry) -> bool {
    match &entry.body {
        Body::Message(text) | Body::Thinking(text) | Body::Attachment(text) => text.text.trim().is_empty(),
        Body::ToolCall(call) => call.name.trim().is_empty(),
        Body::ToolResult(_) => false,
    }
}

/// Texts that look like structure, and others that are dear to nobody.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z ]{0,20}",
        1 => Just(String::new()),
        1 => Just(" \n\t".into()),
        1 => Just(r#"}{"type":"message","message":{"content":"no"}}"#.into()),
        1 => Just(r#"\" \\ \\\" { [ ] }"#.into()),
        1 => Just("\u{1b}[31mred\u{1b}[0m\r1%\r2%".into()),
        1 => Just("\u{1b}[0m".into()),
        1 => Just("中\u{0}é\u{7f}\u{feff}".into()),
        1 => "[a-z \"\\\\\n\té🍵\u{1b}]{64,120}",
    ]
}

/// Files of records as they are written, most of them damaged, and some that never were any. `inserts` are bytes that look
/// like records.
pub(crate) fn files(
    written: impl Strategy<Value = Vec<u8>> + 'static,
    inserts: &'static [&'static [u8]],
) -> impl Strategy<Value = Vec<u8>> {
    let session = prop::collection::vec(written, 0..7).prop_map(|records| {
        let mut bytes = records.join(&b"\n"[..]);
        bytes.push(b'\n');
        bytes
    });
    let session = session.boxed();
    let damages = prop::collection::vec(damage(inserts), 1..4);
    prop_oneof![
        2 => session.clone(),
        6 => (session, damages).prop_map(|(bytes, damages)| damaged(bytes, &damages)),
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => prop::collection::vec(prop::sample::select(b"{}[]\",:\\ \na1".to_vec()), 0..200),
    ]
}

/// A record as it is written: the order of its members is not serde's, and some are repeated or nested without need.
/// `last` stands behind all others in some.
pub(crate) fn dressed(
    record: impl Strategy<Value = serde_json::Value>,
    last: &'static str,
) -> impl Strategy<Value = Vec<u8>> {
    (record, 0..8_u8).prop_map(move |(record, dress)| {
        let plain = record.to_string();
        let inside = plain.trim_start_matches('{').trim_end_matches('}').len();
        match dress {
            0 => plain.replace(":", " : ").into_bytes(),
            1 if inside > 0 => format!("{},{last}}}", &plain[..plain.len() - 1]).into_bytes(),
            2 if inside > 0 => {
                format!(r#"{{"deep":{}1{},{}"#, "[".repeat(300), "]".repeat(300), &plain[1..]).into_bytes()
            }
            3 => plain.replace('a', "\\u0061").into_bytes(),
            4 => plain.bytes().map(|byte| if byte == b'e' { 0xE9 } else { byte }).collect(),
            _ => plain.into_bytes(),
        }
    })
}

/// One kind of damage.
#[derive(Debug, Clone)]
enum Damage {
    /// The bytes of a range are gone: a torn write, or a lost newline.
    Lose(prop::sample::Index, usize),
    /// A newline is gone, or has become something else.
    Glue(prop::sample::Index, &'static [u8]),
    /// A byte is another one.
    Change(prop::sample::Index, u8),
    /// Bytes stand where they should not.
    Insert(prop::sample::Index, &'static [u8]),
}

fn damage(inserts: &'static [&'static [u8]]) -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    let glue = prop::sample::select(vec![&b""[..], b" ", b"\r", b"\0\0\0", b"\xEF\xBB\xBF", b" x ", b","]);
    let structure: &[&[u8]] = &[b"\0\0", b"\xEF\xBB\xBF", b"\n", b"\"", b"}", b"{", b"\\", b"\xFF"];
    let insert = prop::sample::select([structure, inserts].concat());
    prop_oneof![
        (at(), 1..60_usize).prop_map(|(at, len)| Damage::Lose(at, len)),
        (at(), glue).prop_map(|(at, with)| Damage::Glue(at, with)),
        (at(), prop::sample::select(b"\"{}[],:\\ x1\x01\n".to_vec())).prop_map(|(at, byte)| Damage::Change(at, byte)),
        (at(), insert).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
    ]
}

fn damaged(mut bytes: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        if bytes.is_empty() {
            break;
        }
        match damage {
            Damage::Lose(at, len) => {
                let from = at.index(bytes.len());
                bytes.drain(from..(from + len).min(bytes.len()));
            }
            Damage::Glue(at, with) => {
                let ends: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] == b'\n').collect();
                if !ends.is_empty() {
                    let end = ends[at.index(ends.len())];
                    bytes.splice(end..=end, with.iter().copied());
                }
            }
            Damage::Change(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Damage::Insert(at, with) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, with.iter().copied());
            }
        }
    }
    bytes
}
