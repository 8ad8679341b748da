//! What must hold for any bytes whatever: counting and reading agree, and what a file says is never taken back when
//! it grows.

use panewire_core::agent::claude::{ClaudeReader, Selection, recorded};
use panewire_core::agent::{Caps, Line, Reader as _};
use panewire_core::entry::{Body, Entry};
use panewire_core::source::records;
use proptest::prelude::*;
use serde_json::{Value, json};

// What follows a file, in two lines: complete lines, and the last one before its newline if it is whole.

fn entries_of(selection: Selection, bytes: &[u8]) -> Vec<Entry> {
    let mut follower = Follower::new(selection);
    follower.grow(bytes);
    follower.entries
}

/// The rule by which a growing file is read.
struct Follower {
    reader: ClaudeReader,
    offset: u64,
    tail: Vec<u8>,
    entries: Vec<Entry>,
}

impl Follower {
    fn new(selection: Selection) -> Self {
        Self { reader: ClaudeReader { selection }, offset: 0, tail: Vec::new(), entries: Vec::new() }
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
        self.reader.read(&line, &Caps::WIRE, &mut |entry| self.entries.push(entry));
        assert_eq!(self.reader.count(&line), (self.entries.len() - before) as u64, "{line:?}");
        self.offset += bytes.len() as u64;
    }
}

fn selections() -> impl Strategy<Value = Selection> {
    prop_oneof![Just(Selection::Main), Just(Selection::Child)]
}

// Sessions, invented.

/// Texts that look like structure, and others that are dear to nobody.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z ]{0,20}",
        1 => Just(String::new()),
        1 => Just(" \n\t".into()),
        1 => Just(r#"}{"type":"user","message":{"content":"no"}}"#.into()),
        1 => Just(r#"{"parentUuid":null,"type":"assistant"}"#.into()),
        1 => Just(r#"\" \\ \\\" { [ ] }"#.into()),
        1 => Just("<command-name>/go</command-name><command-args>on</command-args>".into()),
        1 => Just("<local-command-stdout> </local-command-stdout>".into()),
        1 => Just("<local-command-caveat>x</local-command-caveat>".into()),
        1 => Just("Caveat: The messages below were".into()),
        1 => Just("<system-reminder></system-reminder>".into()),
        1 => Just("<task-notification><status>done</status></task-notification>".into()),
        1 => Just("\u{1b}[31mred\u{1b}[0m\r1%\r2%".into()),
        1 => Just("\u{1b}[0m".into()),
        1 => Just("中\u{0}é\u{7f}\u{feff}".into()),
        1 => "[a-z \"\\\\\n\té🍵\u{1b}]{64,120}",
    ]
}

fn block() -> impl Strategy<Value = Value> {
    (text(), text(), any::<bool>()).prop_flat_map(|(one, other, flag)| {
        prop::sample::select(vec![
            json!({"type": "text", "text": one}),
            json!({"type": "thinking", "thinking": one, "signature": other}),
            json!({"type": "redacted_thinking", "data": one}),
            json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": one, "description": other}}),
            json!({"type": "tool_use", "id": "t2", "name": "Edit",
                   "input": {"file_path": one, "old_string": one, "new_string": other}}),
            json!({"type": "tool_use", "id": "t3", "name": one, "input": [other]}),
            json!({"type": "tool_result", "tool_use_id": "t1", "content": one, "is_error": flag}),
            json!({"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": one}, other]}),
            json!({"type": "image", "source": {"type": "base64", "data": one}}),
            json!({"type": "fallback", "from": one, "to": other}),
            json!({"type": one, "text": other}),
            json!({"type": "text", "text": 7}),
            json!(one),
            json!(null),
            json!(3),
        ])
    })
}

fn content() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => text().prop_map(Value::String),
        6 => prop::collection::vec(block(), 0..4).prop_map(Value::Array),
        1 => prop::sample::select(vec![json!(null), json!({"type": "text"}), json!(5)]),
    ]
}

fn record() -> impl Strategy<Value = Value> {
    let said = (content(), text(), any::<bool>(), any::<bool>()).prop_flat_map(|(content, text, side, meta)| {
        prop::sample::select(vec![
            json!({"parentUuid": "p", "isSidechain": side, "type": "user", "uuid": "u", "cwd": "/w",
                   "message": {"role": "user", "content": content}, "isMeta": meta,
                   "toolUseResult": {"stdout": text, "stderr": text, "interrupted": meta}}),
            json!({"parentUuid": null, "isSidechain": side, "timestamp": "2026-01-01T00:00:00.000Z", "uuid": "a",
                   "message": {"model": "m", "role": "assistant", "content": content, "usage": {"output_tokens": 1}},
                   "type": "assistant"}),
            json!({"type": "user", "message": {"content": content}, "toolUseResult": {
                   "filePath": "/w/a", "oldString": text, "newString": "x\ty", "originalFile": null,
                   "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1,
                                        "lines": ["-a", text, "+x  y", "\\ No newline at end of file"]}]}}),
            json!({"type": "attachment", "isSidechain": side,
                   "attachment": {"type": "queued_command", "prompt": content, "commandMode": "prompt"}}),
            json!({"type": text, "message": {"role": "user", "content": content}}),
            json!({"type": "progress", "data": {"message": {"type": "user", "message": {"content": content}}}}),
        ])
    });
    let noted = text().prop_flat_map(|text| {
        prop::sample::select(vec![
            json!({"type": "system", "subtype": "local_command", "content": text, "uuid": "s"}),
            json!({"type": "system", "subtype": "api_error", "error": {"status": 529, "message": text}}),
            json!({"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": text}}),
            json!({"type": "system", "subtype": text, "content": text}),
            json!({"type": "attachment", "attachment": {"type": "hook_blocking_error", "blockingError": text}}),
            json!({"type": "attachment", "attachment": {"type": text}}),
            json!({"type": "summary", "summary": text, "leafUuid": "u"}),
            json!({"type": "queue-operation", "operation": "remove", "content": text}),
            json!({"type": text, "content": text}),
            json!({"type": "user"}),
            json!({"type": "assistant", "message": text}),
            json!({}),
        ])
    });
    prop_oneof![3 => said, 1 => noted]
}

/// A record as it is written: the order of its members is not serde's, and some are repeated or nested without need.
fn written() -> impl Strategy<Value = Vec<u8>> {
    (record(), 0..8_u8).prop_map(|(record, dress)| {
        let plain = record.to_string();
        let inside = plain.trim_start_matches('{').trim_end_matches('}').len();
        match dress {
            0 => plain.replace(":", " : ").into_bytes(),
            1 if inside > 0 => format!(r#"{{"type":"mode",{}"#, &plain[1..]).into_bytes(),
            2 if inside > 0 => {
                format!(r#"{},"message":{{"content":"last"}}}}"#, &plain[..plain.len() - 1]).into_bytes()
            }
            3 if inside > 0 => {
                format!(r#"{{"deep":{}1{},{}"#, "[".repeat(300), "]".repeat(300), &plain[1..]).into_bytes()
            }
            4 => plain.replace('a', "\\u0061").into_bytes(),
            5 => plain.bytes().map(|byte| if byte == b'e' { 0xE9 } else { byte }).collect(),
            _ => plain.into_bytes(),
        }
    })
}

fn session() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(written(), 0..7).prop_map(|records| {
        let mut bytes = records.join(&b"\n"[..]);
        bytes.push(b'\n');
        bytes
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

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    let glue = prop::sample::select(vec![&b""[..], b" ", b"\r", b"\0\0\0", b"\xEF\xBB\xBF", b" x ", b","]);
    let insert = prop::sample::select(vec![
        &b"\0\0"[..],
        b"\xEF\xBB\xBF",
        b"\n",
        b"\"",
        b"}",
        b"{",
        b"\\",
        b"\xFF",
        br#"{"type":"assistant","message":{"content":"whole"}}"#,
        br#"{"parentUuid":"#,
    ]);
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

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        2 => session(),
        6 => (session(), prop::collection::vec(damage(), 1..4)).prop_map(|(bytes, damages)| damaged(bytes, &damages)),
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => prop::collection::vec(prop::sample::select(b"{}[]\",:\\ \na1".to_vec()), 0..200),
    ]
}

fn is_blank(entry: &Entry) -> bool {
    match &entry.body {
        Body::Message(text) | Body::Thinking(text) | Body::Attachment(text) => text.text.trim().is_empty(),
        Body::ToolCall(call) => call.name.trim().is_empty(),
        Body::ToolResult(_) => false,
    }
}

proptest! {
    // Each case looks at every byte.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    /// Whatever was said of a prefix is the beginning of what is said of the whole: at every byte, for any bytes.
    #[test]
    fn entries_of_every_prefix_are_a_prefix(selection in selections(), mut bytes in hostile()) {
        bytes.push(b'\n');
        let all = entries_of(selection, &bytes);
        for cut in 0..bytes.len() {
            let some = entries_of(selection, &bytes[..cut]);
            prop_assert!(all.starts_with(&some), "cut at {cut} of {:?}", String::from_utf8_lossy(&bytes));
        }
    }

    /// Looking at a growing file often, seldom or once gives the same entries.
    #[test]
    fn the_moments_of_looking_do_not_matter(
        selection in selections(),
        mut bytes in hostile(),
        mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        everywhere in any::<bool>(),
    ) {
        bytes.push(b'\n');
        let all = entries_of(selection, &bytes);
        let mut places: Vec<usize> = cuts.drain(..).map(|cut| cut.index(bytes.len())).collect();
        if everywhere {
            places = (0..bytes.len()).collect();
        }
        places.push(bytes.len());
        places.sort_unstable();
        let mut follower = Follower::new(selection);
        let mut from = 0;
        for to in places {
            follower.grow(&bytes[from..to]);
            prop_assert!(all.starts_with(&follower.entries), "at {to} of {:?}", String::from_utf8_lossy(&bytes));
            from = to;
        }
        prop_assert_eq!(follower.entries, all);
    }

}

proptest! {
    /// Counting says how many entries reading makes, capped or not, and none of them is blank.
    #[test]
    fn counting_and_reading_agree(selection in selections(), bytes in hostile()) {
        let reader = ClaudeReader { selection };
        for line in bytes.split(|&byte| byte == b'\n') {
            let line = Line { offset: 0, bytes: line, over_cap: None };
            for caps in [Caps::WIRE, Caps::NONE, Caps { text_chars: 5, output_chars: 5, command_chars: 1,
                                                         diff_lines: 1, diff_chars: 5 }] {
                let mut entries = Vec::new();
                reader.read(&line, &caps, &mut |entry| entries.push(entry));
                prop_assert_eq!(reader.count(&line), entries.len() as u64, "{}", String::from_utf8_lossy(line.bytes));
                for entry in entries {
                    prop_assert!(!is_blank(&entry), "{entry:?} of {}", String::from_utf8_lossy(line.bytes));
                }
            }
        }
    }

    /// A whole prefix ends where it says, and taking it apart there changes nothing.
    #[test]
    fn a_whole_prefix_is_whole(bytes in hostile()) {
        for line in bytes.split(|&byte| byte == b'\n') {
            let end = records::whole_prefix(line);
            prop_assert!(end == 0 || records::is_whole(&line[..end]));
            let (head, rest) = line.split_at(end);
            let mut parts = Follower::new(Selection::Child);
            parts.take(head);
            parts.take(rest);
            let mut whole = Follower::new(Selection::Child);
            whole.take(line);
            prop_assert_eq!(parts.entries, whole.entries);
        }
    }

    /// The beginning of a file may be cut anywhere.
    #[test]
    fn any_beginning_is_looked_at(bytes in hostile(), cut in any::<prop::sample::Index>()) {
        let whole = recorded(&bytes);
        let cut = recorded(&bytes[..cut.index(bytes.len() + 1)]);
        prop_assert!(cut.cwd.is_none() || cut.cwd == whole.cwd);
    }
}

// Shapes that no generator makes by itself.

#[test]
fn nesting_two_hundred_thousand_levels_deep_costs_no_stack() {
    let depth = 200_000;
    let (open, close) = ("[".repeat(depth), "]".repeat(depth));
    let line = format!(
        r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"t","name":"X","input":{{"a":{open}{close}}}}}]}},"extra":{open}{close}}}"#
    );
    let entries = entries_of(Selection::Main, format!("{line}\n").as_bytes());
    let [Entry { body: Body::ToolCall(call), parsed: true, .. }] = &entries[..] else { panic!("{}", entries.len()) };
    assert_eq!(call.input_summary.as_ref().unwrap().chars().count(), 200);

    let unclosed = format!("{{\"a\":{}\n", "{\"a\":".repeat(depth));
    let entries = entries_of(Selection::Main, unclosed.as_bytes());
    assert_eq!(entries.len(), 1);
    assert!(!entries[0].parsed);
}

#[test]
fn a_line_of_many_beginnings_is_searched_a_bounded_number_of_times() {
    let line = format!("{}\n", r#"{"parentUuid":"#.repeat(50_000));
    let entries = entries_of(Selection::Main, line.as_bytes());
    let Body::Message(text) = &entries[0].body else { panic!() };
    assert_eq!(entries.len(), 1);
    assert!(text.text.starts_with("unreadable line (700000 bytes): {\"parentUuid\":"), "{}", text.text);
}

#[test]
fn a_huge_text_is_cut_and_says_so() {
    let line = json!({"type": "user", "message": {"content": "中".repeat(3_000_000)}}).to_string() + "\n";
    let entries = entries_of(Selection::Main, line.as_bytes());
    let Body::Message(text) = &entries[0].body else { panic!() };
    assert_eq!((text.text.chars().count(), text.truncated), (20_000, true));
}
