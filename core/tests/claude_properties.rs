//! What must hold for any bytes whatever: counting and reading agree, and what a file says is never taken back when
//! it grows.

mod hostile;

use panewire_core::agent::claude::{ClaudeReader, Selection, recorded};
use panewire_core::entry::{Body, Entry};
use proptest::prelude::*;
use serde_json::{Value, json};

fn entries_of(selection: Selection, bytes: &[u8]) -> Vec<Entry> {
    hostile::entries_of(&ClaudeReader { selection }, bytes)
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

/// The ways in which a record of this agent begins, or ends too early.
const INSERTS: &[&[u8]] = &[br#"{"type":"assistant","message":{"content":"whole"}}"#, br#"{"parentUuid":"#];

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    hostile::files(written(), INSERTS)
}

proptest! {
    // Each case looks at every byte.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    /// Whatever was said of a prefix is the beginning of what is said of the whole: at every byte, for any bytes.
    #[test]
    fn entries_of_every_prefix_are_a_prefix(selection in selections(), bytes in hostile()) {
        hostile::every_prefix_is_a_prefix(&ClaudeReader { selection }, bytes)?;
    }

    /// Looking at a growing file often, seldom or once gives the same entries.
    #[test]
    fn the_moments_of_looking_do_not_matter(
        selection in selections(),
        bytes in hostile(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        everywhere in any::<bool>(),
    ) {
        hostile::moments_do_not_matter(&ClaudeReader { selection }, bytes, &cuts, everywhere)?;
    }
}

proptest! {
    /// Counting says how many entries reading makes, capped or not, and none of them is blank.
    #[test]
    fn counting_and_reading_agree(selection in selections(), bytes in hostile()) {
        hostile::counting_and_reading_agree(&ClaudeReader { selection }, &bytes)?;
    }

    /// A whole prefix ends where it says, and taking it apart there changes nothing.
    #[test]
    fn a_whole_prefix_is_whole(bytes in hostile()) {
        hostile::whole_prefixes_are_whole(&ClaudeReader { selection: Selection::Child }, &bytes)?;
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
