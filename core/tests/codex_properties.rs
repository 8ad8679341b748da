//! What must hold of Codex's reader for any bytes whatever, though it remembers.

mod hostile;

use hostile::{dressed, text};
use panewire_core::agent::codex::{CodexReader, recorded};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Few texts, so that doubles come up.
fn said() -> BoxedStrategy<String> {
    let said = prop_oneof![
        4 => prop::sample::select(vec!["one".to_owned(), "two".into(), " one\n".into()]),
        1 => Just("<environment_context>x</environment_context>".into()),
        1 => Just("<user_shell_command><command>ls</command><result></result></user_shell_command>".into()),
        1 => Just("<turn_aborted>\nx".into()),
        1 => Just("<subagent_notification></subagent_notification>".into()),
        1 => Just("# Context from my IDE setup:\n## My request for Codex:\n one".into()),
        1 => prop::sample::select(vec![
            "one\n<proposed_plan>\ntwo\n</proposed_plan>\n".to_owned(),
            "<proposed_plan> \n".into(),
            "<oai-mem-citation>x</oai-mem-citation>".into(),
            "one<oai-mem-citation>".into(),
        ]),
        2 => text(),
    ];
    // On the heap, as all that others are made of: the stack of a test is small.
    said.boxed()
}

fn part() -> impl Strategy<Value = Value> {
    said().prop_flat_map(|said| {
        prop::sample::select(vec![
            json!({"type": "input_text", "text": said}),
            json!({"type": "output_text", "text": said}),
            json!({"type": "summary_text", "text": said}),
            json!({"type": "input_image", "image_url": said}),
            json!({"type": "local_image", "path": said}),
            json!({"type": "encrypted_content", "encrypted_content": said}),
            json!({"type": "input_text", "text": 7}),
            json!(said),
            json!(null),
        ])
    })
}

fn content() -> BoxedStrategy<Value> {
    let content = prop_oneof![
        6 => prop::collection::vec(part(), 0..3).prop_map(Value::Array),
        1 => said().prop_map(Value::String),
        1 => prop::sample::select(vec![json!(null), json!({"text": "x"}), json!(5)]),
    ];
    content.boxed()
}

fn item() -> impl Strategy<Value = Value> {
    let role = prop::sample::select(vec!["user", "assistant", "developer", "owl"]);
    let call = prop::sample::select(vec!["c1", "c2"]);
    (content(), said(), role, call, any::<bool>()).prop_flat_map(|(content, said, role, call, flag)| {
        let patch = format!("*** Begin Patch\n*** Update File: a\n@@\n-{said}\n+x\n*** Add File: b\n+{said}\n*** End Patch");
        prop::sample::select(vec![
            json!({"type": "message", "role": role, "id": "m1", "content": content}),
            json!({"type": "message", "role": role}),
            json!({"type": "reasoning", "summary": content, "encrypted_content": "e"}),
            json!({"type": "reasoning", "summary": [], "content": content}),
            json!({"type": "function_call", "name": "shell", "call_id": call,
                   "arguments": json!({"command": ["bash", "-lc", said]}).to_string()}),
            json!({"type": "function_call", "name": said, "call_id": call, "arguments": said}),
            json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": call, "input": patch}),
            json!({"type": "function_call_output", "call_id": call, "output": said}),
            json!({"type": "function_call_output", "call_id": call,
                   "output": json!({"output": said, "metadata": {"exit_code": i32::from(flag)}}).to_string()}),
            json!({"type": "function_call_output", "call_id": call, "output": format!("Exit code: 1\nOutput:\n{said}")}),
            json!({"type": "custom_tool_call_output", "call_id": call, "output": content}),
            json!({"type": "web_search_call", "id": call, "action": {"query": said}}),
            json!({"type": "agent_message", "author": said, "content": content}),
            json!({"type": "ghost_snapshot"}),
            json!({"type": said, "content": content}),
        ])
    })
}

fn event() -> impl Strategy<Value = Value> {
    let call = prop::sample::select(vec!["c1", "c2"]);
    let turn = prop::sample::select(vec![TURN_BEFORE, TURN_AFTER, "t"]);
    (content(), said(), call, turn, any::<bool>()).prop_flat_map(|(content, said, call, turn, flag)| {
        prop::sample::select(vec![
            json!({"type": "user_message", "message": said}),
            json!({"type": "agent_message", "message": said}),
            json!({"type": "agent_reasoning", "text": said}),
            json!({"type": "item_completed", "item": {"type": "AgentMessage", "id": "m1", "content": content}}),
            json!({"type": "item_completed", "item": {"type": "UserMessage", "id": "m2", "content": content}}),
            json!({"type": "item_completed", "item": {"type": "Plan", "text": said}}),
            json!({"type": "item_completed", "item": {"type": "Reasoning", "summary_text": [said]}}),
            json!({"type": "item_completed"}),
            json!({"type": "exec_command_end", "call_id": call, "stdout": said, "stderr": said, "exit_code": 1}),
            json!({"type": "patch_apply_end", "call_id": call, "success": flag,
                   "changes": {"a": {"type": "update", "unified_diff": format!("@@ -1,1 +1,1 @@\n-{said}\n+x\n")},
                               "b": {"type": "add", "content": said}}}),
            json!({"type": "mcp_tool_call_end", "call_id": call, "result": {"Ok": {"content": content, "isError": flag}}}),
            json!({"type": "turn_aborted", "reason": said}),
            json!({"type": "context_compacted"}),
            json!({"type": "task_started", "turn_id": turn}),
            json!({"type": "error", "message": said}),
            json!({"type": "exited_review_mode", "review_output": {"overall_explanation": said}}),
            json!({"type": "token_count"}),
            json!({"type": said, "message": said}),
        ])
    })
}

/// Events that are told in another way, too, or that say whose words they are.
fn told_beside() -> impl Strategy<Value = Value> {
    (content(), said()).prop_flat_map(|(content, said)| {
        prop::sample::select(vec![
            json!({"type": "user_message", "message": said, "kind": "user_instructions"}),
            json!({"type": "task_complete", "error": {"message": said}}),
            json!({"type": "task_complete", "error": content}),
        ])
    })
}

const TURN_BEFORE: &str = "019fc8bd-0000-7000-8000-000000000001";
const FORK: &str = "019fc8be-0000-7000-8000-000000000001";
const TURN_AFTER: &str = "019fc8bf-0000-7000-8000-000000000001";

fn record() -> impl Strategy<Value = Value> {
    let stamp = prop::sample::select(vec!["2026-08-03T10:48:56.000Z", "2026-08-03T11:48:56.000Z", "x"]);
    let wrapped =
        |kind: &'static str, payload: Value, stamp: &str| json!({"timestamp": stamp, "type": kind, "payload": payload});
    prop_oneof![
        4 => (item().boxed(), stamp.clone()).prop_map(move |(item, stamp)| wrapped("response_item", item, stamp)),
        4 => (event().boxed(), stamp.clone()).prop_map(move |(event, stamp)| wrapped("event_msg", event, stamp)),
        1 => (told_beside().boxed(), stamp.clone()).prop_map(move |(event, stamp)| wrapped("event_msg", event, stamp)),
        1 => stamp.clone().prop_map(move |stamp| wrapped("session_meta", json!({"id": TURN_BEFORE, "cwd": "/w"}), stamp)),
        1 => item().boxed(),
        1 => (said(), any::<bool>(), stamp).prop_flat_map(move |(said, forked, stamp)| {
            let parent = if forked { json!("p") } else { Value::Null };
            prop::sample::select(vec![
                wrapped("session_meta", json!({"id": FORK, "cwd": "/w", "forked_from_id": parent}), stamp),
                wrapped("turn_context", json!({"turn_id": TURN_AFTER, "cwd": "/w"}), stamp),
                wrapped("turn_context", json!({"cwd": "/w"}), stamp),
                wrapped("compacted", json!({"message": said}), stamp),
                wrapped("world_state", json!({"state": {"text": said}}), stamp),
                wrapped("omen", json!({"text": said}), stamp),
                json!({"type": "response_item", "payload": said}),
                json!({"type": said, "text": said}),
                json!({"id": "s", "timestamp": stamp, "instructions": said}),
                json!({"record_type": "state"}),
                json!({}),
            ])
        }),
    ]
}

/// The ways in which a record of this agent begins, or ends too early.
const INSERTS: &[&[u8]] = &[
    br#"{"timestamp":"t","type":"event_msg","payload":{"type":"agent_message","message":"one"}}"#,
    br#"{"timestamp":""#,
];

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let last = r#""payload":{"type":"message","role":"user","content":[{"text":"last"}]}"#;
    hostile::files(dressed(record(), last), INSERTS)
}

proptest! {
    // Each case looks at every byte.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn entries_of_every_prefix_are_a_prefix(bytes in hostile()) {
        hostile::every_prefix_is_a_prefix(&CodexReader, bytes)?;
    }

    #[test]
    fn the_moments_of_looking_do_not_matter(
        bytes in hostile(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        everywhere in any::<bool>(),
    ) {
        hostile::moments_do_not_matter(&CodexReader, bytes, &cuts, everywhere)?;
    }
}

proptest! {
    #[test]
    fn counting_and_reading_agree(bytes in hostile()) {
        hostile::counting_and_reading_agree(&CodexReader, &bytes)?;
    }

    #[test]
    fn a_whole_prefix_is_whole(bytes in hostile()) {
        hostile::whole_prefixes_are_whole(&CodexReader, &bytes)?;
    }

    #[test]
    fn any_beginning_is_looked_at(bytes in hostile(), cut in any::<prop::sample::Index>()) {
        let whole = recorded(&bytes);
        let cut = recorded(&bytes[..cut.index(bytes.len() + 1)]);
        prop_assert!(cut.cwd.is_none() || cut.cwd == whole.cwd);
    }
}
