//! What must hold of pi's reader for any bytes whatever.

mod hostile;

use hostile::{dressed, text};
use panewire_core::agent::pi::{PiReader, recorded};
use proptest::prelude::*;
use serde_json::{Value, json};

fn block() -> impl Strategy<Value = Value> {
    (text(), text()).prop_flat_map(|(one, other)| {
        prop::sample::select(vec![
            json!({"type": "text", "text": one}),
            json!({"type": "thinking", "thinking": one, "thinkingSignature": other}),
            json!({"type": "toolCall", "id": "t1", "name": "bash", "arguments": {"command": one}}),
            json!({"type": "toolCall", "id": "t2", "name": "edit",
                   "arguments": {"path": one, "oldText": one, "newText": other}}),
            json!({"type": "toolCall", "id": "t3", "name": "edit",
                   "arguments": {"path": one, "edits": [{"oldText": one, "newText": other}, 3]}}),
            json!({"type": "toolCall", "id": "t4", "name": one, "arguments": [other]}),
            json!({"type": "image", "data": one, "mimeType": "image/png"}),
            json!({"type": one, "text": other}),
            json!({"type": "text", "text": 7}),
            json!({"type": "thinking"}),
            json!(one),
            json!(null),
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
    let message = (content(), text(), text(), any::<bool>()).prop_flat_map(|(content, one, other, flag)| {
        prop::sample::select(vec![
            json!({"role": "user", "content": content, "timestamp": 1}),
            json!({"role": "assistant", "content": content, "stopReason": "error", "errorMessage": one}),
            json!({"role": "toolResult", "toolCallId": "t1", "toolName": "bash", "content": content, "isError": flag}),
            json!({"role": "toolResult", "toolCallId": "t2", "toolName": "edit", "content": content,
                   "details": {"diff": format!(" 1 a\n-2 {one}\n+2 {other}\n   ...\n"), "patch": other}}),
            json!({"role": "bashExecution", "command": one, "output": other, "exitCode": i32::from(flag),
                   "cancelled": flag, "truncated": false}),
            json!({"role": "bashExecution", "command": one, "output": "", "exitCode": null}),
            json!({"role": "custom", "customType": "x", "content": content, "display": flag}),
            json!({"role": "compactionSummary", "summary": one, "tokensBefore": 7}),
            json!({"role": one, "content": content}),
            json!({"role": one, "summary": other}),
            json!(one),
        ])
    });
    let message =
        message.prop_map(|message| json!({"type": "message", "id": "i", "parentId": "p", "message": message}));
    let other = (content(), text(), any::<bool>()).prop_flat_map(|(content, text, flag)| {
        prop::sample::select(vec![
            json!({"type": "session", "version": 3, "id": "s", "cwd": "/w"}),
            json!({"type": "compaction", "id": "i", "summary": text, "tokensBefore": 9}),
            json!({"type": "branch_summary", "summary": text, "fromId": "i"}),
            json!({"type": "custom_message", "customType": "x", "content": content, "display": flag}),
            json!({"type": "custom", "customType": "x", "data": {"a": text}}),
            json!({"type": "model_change", "modelId": text}),
            json!({"type": text, "content": content}),
            json!({"type": text, "message": {"content": content}}),
            json!({"type": "message"}),
            json!({}),
        ])
    });
    prop_oneof![3 => message, 1 => other]
}

/// The ways in which a record of this agent begins, or ends too early.
const INSERTS: &[&[u8]] =
    &[br#"{"type":"message","message":{"role":"user","content":"whole"}}"#, br#"{"type":"message","#];

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    hostile::files(dressed(record(), r#""message":{"role":"user","content":"last"}"#), INSERTS)
}

proptest! {
    // Each case looks at every byte.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn entries_of_every_prefix_are_a_prefix(bytes in hostile()) {
        hostile::every_prefix_is_a_prefix(&PiReader, bytes)?;
    }

    #[test]
    fn the_moments_of_looking_do_not_matter(
        bytes in hostile(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        everywhere in any::<bool>(),
    ) {
        hostile::moments_do_not_matter(&PiReader, bytes, &cuts, everywhere)?;
    }
}

proptest! {
    #[test]
    fn counting_and_reading_agree(bytes in hostile()) {
        hostile::counting_and_reading_agree(&PiReader, &bytes)?;
    }

    #[test]
    fn a_whole_prefix_is_whole(bytes in hostile()) {
        hostile::whole_prefixes_are_whole(&PiReader, &bytes)?;
    }

    #[test]
    fn any_beginning_is_looked_at(bytes in hostile(), cut in any::<prop::sample::Index>()) {
        let whole = recorded(&bytes);
        let cut = recorded(&bytes[..cut.index(bytes.len() + 1)]);
        prop_assert!(cut.cwd.is_none() || cut.cwd == whole.cwd);
    }
}
