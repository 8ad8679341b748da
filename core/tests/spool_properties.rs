//! What must hold of the reader of spools for any bytes whatever.

mod hostile;

use hostile::{dressed, text};
use panewire_core::agent::spooled::SpoolReader;
use proptest::prelude::*;
use serde_json::{Value, json};

fn entry() -> impl Strategy<Value = Value> {
    (text(), text(), any::<bool>()).prop_flat_map(|(one, other, flag)| {
        let call =
            json!({"id": one, "name": other, "command": other, "diff": format!("@@ -1 +1 @@\n-{one}\n+{other}")});
        let result = json!({"for": one, "ok": flag, "output": other, "diff": other});
        prop::sample::select(vec![
            json!({"id": one, "role": "user", "kind": "message", "text": other}),
            json!({"id": one, "parent": other, "ts": other, "role": "assistant", "kind": "thinking", "text": other}),
            json!({"id": one, "role": "system", "kind": "attachment", "text": other, "unparsed": flag, "cut": flag}),
            json!({"id": one, "role": "assistant", "kind": "tool_call", "call": call}),
            json!({"id": one, "role": "user", "kind": "tool_result", "cut": flag, "result": result}),
            json!({"id": one, "role": "user", "kind": "tool_call"}),
            json!({"id": 5, "role": other, "kind": "message", "text": other}),
            json!({"kind": one, "text": other}),
            json!([one]),
            json!(null),
        ])
    })
}

fn record() -> impl Strategy<Value = Value> {
    (entry(), text(), any::<bool>()).prop_flat_map(|(entry, one, ended)| {
        prop::sample::select(vec![
            json!({"of": [7, one], "entry": entry}),
            json!({"of": [8, one], "entry": entry}),
            json!({"of": [7, one], "child": {"id": "c:begun", "agent": one, "call": "c", "ended": ended}}),
            json!({"of": [7, one], "child": {"id": "c:called", "call": "c", "type": one, "for": one, "prompt": 7,
                   "ended": ended}}),
            json!({"settled": [7, one]}),
            json!({"spool": 2, "kind": "opencode", "session": one, "begun": 5}),
            json!({"entry": entry, "settled": one}),
            json!({one: entry}),
            json!({}),
        ])
    })
}

/// Ways in which a line begins, or ends too early; and what marks one that a crash has torn.
const INSERTS: &[&[u8]] = &[
    br#"{"of":[7,"m"],"entry":{"id":"e","role":"user","kind":"message","text":"whole"}}"#,
    br#"{"of":[7,"m"],"entry":"#,
    b"\x18",
    b"\x18\n",
];

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    hostile::files(dressed(record(), r#""of":[7,"last"]"#), INSERTS)
}

proptest! {
    // Each case looks at every byte.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn entries_of_every_prefix_are_a_prefix(bytes in hostile()) {
        hostile::every_prefix_is_a_prefix(&SpoolReader, bytes)?;
    }

    #[test]
    fn the_moments_of_looking_do_not_matter(
        bytes in hostile(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        everywhere in any::<bool>(),
    ) {
        hostile::moments_do_not_matter(&SpoolReader, bytes, &cuts, everywhere)?;
    }
}

proptest! {
    #[test]
    fn counting_and_reading_agree(bytes in hostile()) {
        hostile::counting_and_reading_agree(&SpoolReader, &bytes)?;
    }

    #[test]
    fn a_whole_prefix_is_whole(bytes in hostile()) {
        hostile::whole_prefixes_are_whole(&SpoolReader, &bytes)?;
    }
}
