//! What each kind of record of a Codex rollout becomes.

mod reading;

use panewire_core::agent::Caps;
use panewire_core::agent::codex::{CodexReader, recorded};
use panewire_core::entry::{Body, Entry, Role, ToolCall, ToolResult};
use reading::{answer, call, read_with, said, whole};
use serde_json::{Value, json};

const FORK: &str = "019fc8be-0000-7000-8000-000000000001";

fn read(records: &[Value]) -> Vec<Entry> {
    let lines: Vec<String> = records.iter().map(Value::to_string).collect();
    read_with(&CodexReader, lines.join("\n").as_bytes(), &Caps::WIRE)
}

fn record(kind: &str, payload: Value) -> Value {
    json!({"timestamp": "2026-08-03T10:48:56.000Z", "type": kind, "payload": payload})
}

fn item(payload: Value) -> Value {
    record("response_item", payload)
}

fn event(payload: Value) -> Value {
    record("event_msg", payload)
}

fn completed(item: Value) -> Value {
    event(json!({"type": "item_completed", "thread_id": "t", "item": item}))
}

fn message(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    item(json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
}

fn tool(name: &str, arguments: Value) -> ToolCall {
    let payload = json!({"type": "function_call", "name": name, "call_id": "c1", "arguments": arguments.to_string()});
    call(&read(&[item(payload)])[0]).clone()
}

fn output(output: Value) -> ToolResult {
    answer(&read(&[item(json!({"type": "function_call_output", "call_id": "c1", "output": output}))])[0]).clone()
}

#[test]
fn an_assistants_text_is_shown_once_whichever_way_comes_first() {
    let ways = [
        message("assistant", "done"),
        event(json!({"type": "agent_message", "message": "done"})),
        completed(json!({"type": "AgentMessage", "id": "m1", "content": [{"type": "Text", "text": "done"}]})),
    ];
    for (a, b, c) in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)] {
        let entries = read(&[ways[a].clone(), ways[b].clone(), ways[c].clone()]);
        assert_eq!(said(&entries), [(Role::Assistant, "done")], "{a} {b} {c}");
    }
    // Said twice is shown twice.
    let entries = read(&[ways[0].clone(), ways[1].clone(), ways[0].clone(), ways[1].clone()]);
    assert_eq!(said(&entries).len(), 2);
    assert_eq!(said(&read(&[ways[0].clone(), ways[0].clone()])).len(), 2);
}

#[test]
fn what_the_human_typed_is_shown_once_and_what_was_injected_is_not() {
    let injected = json!([
        {"type": "input_text", "text": "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>be kind</INSTRUCTIONS>"},
        {"type": "input_text", "text": "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"},
    ]);
    let entries = read(&[
        item(json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "obey"}]})),
        item(json!({"type": "message", "role": "user", "content": injected})),
        message("user", "<user_instructions>x</user_instructions>"),
        message("user", "Bake a cake."),
        event(json!({"type": "user_message", "message": "Bake a cake.", "kind": "plain", "images": []})),
        event(json!({"type": "user_message", "message": "<environment_context>x", "kind": "environment_context"})),
        completed(json!({"type": "UserMessage", "id": "u2", "content": [{"type": "text", "text": "With plums."}]})),
    ]);
    assert_eq!(said(&entries), [(Role::User, "Bake a cake."), (Role::User, "With plums.")]);
    assert_eq!(entries[1].id, "u2#0");
    assert_eq!(entries[0].ts.as_deref(), Some("2026-08-03T10:48:56.000Z"));
}

#[test]
fn what_its_event_says_the_human_typed_is_typed_whatever_it_looks_like() {
    for text in ["<skill> is no tag of mine", "# AGENTS.md instructions are wrong", "<turn_aborted> is shown twice"] {
        let typed = event(json!({"type": "user_message", "message": text, "images": []}));
        assert_eq!(said(&read(&[message("user", text), typed.clone()])).last(), Some(&(Role::User, text)), "{text}");
        let item = json!({"type": "UserMessage", "id": "u1", "content": [{"type": "text", "text": text}]});
        assert_eq!(said(&read(&[completed(item), typed])), [(Role::User, text)]);
    }
    let said_so =
        event(json!({"type": "user_message", "message": "<user_instructions>x", "kind": "user_instructions"}));
    assert!(read(&[said_so]).is_empty());
    assert!(read(&[event(json!({"type": "user_message", "message": " ", "kind": "plain"}))]).is_empty());
}

#[test]
fn an_image_is_shown_once_and_also_where_there_is_no_text() {
    let items = |text: &str, images: usize| {
        let mut content = vec![json!({"type": "input_text", "text": text})];
        content.extend(vec![json!({"type": "input_image", "image_url": "data:"}); images]);
        item(json!({"type": "message", "role": "user", "content": content}))
    };
    let ended = |text: &str, images: usize| {
        let mut content = vec![json!({"type": "text", "text": text})];
        content.extend(vec![json!({"type": "local_image", "path": "/tmp/a.png"}); images]);
        completed(json!({"type": "UserMessage", "id": "u1", "content": content}))
    };
    let count =
        |records: &[Value]| read(records).iter().filter(|entry| matches!(entry.body, Body::Attachment(_))).count();
    for (text, images) in [("look", 2), ("", 1), ("", 3)] {
        assert_eq!(count(&[items(text, images), ended(text, images)]), images);
        assert_eq!(count(&[ended(text, images), items(text, images)]), images);
        // In a history of pages there is no item.
        assert_eq!(count(&[ended(text, images)]), images);
        assert_eq!(count(&[items(text, images), items(text, images)]), 2 * images);
    }
}

#[test]
fn a_plan_is_shown_once_whether_it_comes_in_a_text_or_alone() {
    let whole = "I looked.\n<proposed_plan>\n# Cake\n- bake\n</proposed_plan>\nAsk me.";
    let ways = [
        message("assistant", whole),
        event(json!({"type": "agent_message", "message": "I looked.\nAsk me."})),
        completed(json!({"type": "Plan", "id": "p1", "text": "# Cake\n- bake\n"})),
    ];
    let shown = |order: [usize; 3]| {
        let entries = read(&order.map(|at| ways[at].clone()));
        said(&entries).iter().map(|(_, text)| (*text).to_owned()).collect::<Vec<_>>()
    };
    for order in [[0, 1, 2], [0, 2, 1]] {
        assert_eq!(shown(order), ["I looked.\n# Cake\n- bake\nAsk me."], "{order:?}");
    }
    let (rest, plan) = ("I looked.\nAsk me.", "# Cake\n- bake");
    assert_eq!(shown([1, 2, 0]), [rest, plan]);
    assert_eq!(shown([2, 1, 0]), [plan, rest]);
    // A word about it is none.
    let about = "Put it into <proposed_plan> and </proposed_plan>.";
    assert_eq!(said(&read(&[message("assistant", about)])), [(Role::Assistant, about)]);
}

#[test]
fn what_the_assistant_has_read_is_not_said() {
    let whole = "Plums.<oai-mem-citation>MEMORY.md:1-2</oai-mem-citation>";
    let event = event(json!({"type": "agent_message", "message": "Plums.", "memory_citation": {"entries": []}}));
    for entries in [read(&[message("assistant", whole), event.clone()]), read(&[event, message("assistant", whole)])] {
        assert_eq!(said(&entries), [(Role::Assistant, "Plums.")]);
    }
    assert!(read(&[message("assistant", "<oai-mem-citation>all of it")]).is_empty());
}

#[test]
fn a_turn_that_failed_says_why_once() {
    let ended = |error: Value| event(json!({"type": "task_complete", "turn_id": "t", "error": error}));
    let failed = event(json!({"type": "error", "message": "429 too many"}));
    assert_eq!(said(&read(&[ended(json!({"message": "429 too many"}))])), [(Role::System, "Error: 429 too many")]);
    assert_eq!(said(&read(&[ended(json!("no gas"))])), [(Role::System, "Error: no gas")]);
    for entries in [
        read(&[failed.clone(), ended(json!({"message": "429 too many"}))]),
        read(&[ended(json!({"message": "429 too many"})), failed]),
    ] {
        assert_eq!(said(&entries), [(Role::System, "Error: 429 too many")]);
    }
    assert!(read(&[ended(json!(null))]).is_empty());
}

#[test]
fn what_an_editor_puts_before_it_is_left_out() {
    let text = "# Context from my IDE setup:\n\n## Active file: a.rs\n\n## My request for Codex:\nBake it.\n";
    assert_eq!(said(&read(&[message("user", text)])), [(Role::User, "Bake it.")]);
    let pictures = json!([
        {"type": "input_text", "text": "<image name=[Image #1]>"}, {"type": "input_image", "image_url": "data:"},
        {"type": "input_text", "text": "</image>"}, {"type": "input_text", "text": "like "},
        {"type": "input_text", "text": "this"},
    ]);
    let entries = read(&[
        item(json!({"type": "message", "role": "user", "content": pictures})),
        event(json!({"type": "user_message", "message": "like this", "images": ["data:"]})),
    ]);
    assert_eq!(said(&entries), [(Role::User, "like this"), (Role::User, "[image]")]);
}

#[test]
fn thoughts_are_the_parts_of_a_summary() {
    let entries = read(&[
        event(json!({"type": "agent_reasoning", "text": "**Flour**"})),
        event(json!({"type": "agent_reasoning", "text": "**Sugar**"})),
        item(json!({"type": "reasoning", "id": "rs", "encrypted_content": "x", "content": null, "summary": [
            {"type": "summary_text", "text": "**Flour**"}, {"type": "summary_text", "text": "**Sugar**"},
            {"type": "summary_text", "text": "**Eggs**"}]})),
        item(json!({"type": "reasoning", "summary": "only a text"})),
    ]);
    let texts: Vec<&str> = said(&entries).iter().map(|(_, text)| *text).collect();
    assert_eq!(texts, ["**Flour**", "**Sugar**", "**Eggs**", "only a text"]);
    assert_eq!(entries[2].body, Body::Thinking(whole("**Eggs**")));
    assert_eq!(entries[2].id, "rs#0");
}

#[test]
fn commands_are_shown_without_the_shell_around_them() {
    let shell = tool("shell", json!({"command": ["bash", "-lc", "ls\n-l"], "workdir": "/w"}));
    assert_eq!((shell.command.as_deref(), shell.input_summary.as_deref()), (Some("ls\n-l"), Some("ls -l")));
    assert_eq!((shell.id.as_str(), shell.name.as_str()), ("c1", "shell"));
    let words = tool("shell", json!({"command": ["git", "status"]}));
    assert_eq!(words.command.as_deref(), Some("git status"));
    assert_eq!(tool("exec_command", json!({"cmd": "make"})).command.as_deref(), Some("make"));
    let local = json!({"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["pwd"]}});
    let local = call(&read(&[item(local)])[0]).clone();
    assert_eq!((local.name.as_str(), local.command.as_deref()), ("local_shell", Some("pwd")));
}

#[test]
fn a_patch_is_shown_as_the_diff_that_it_wants() {
    let body = "*** Begin Patch\n*** Update File: /w/src/cake.rs\n@@ fn bake\n oven\n-180\n+200\n*** End Patch";
    let expected = Some("@@ -1,2 +1,2 @@\n oven\n-180\n+200");
    let custom = json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": body});
    let custom = call(&read(&[item(custom)])[0]).clone();
    assert_eq!((custom.diff.as_deref(), custom.file.as_deref()), (expected, Some("cake.rs")));
    assert_eq!((custom.command, custom.input_summary.as_deref()), (None, Some("/w/src/cake.rs")));
    assert_eq!(tool("shell", json!({"command": ["apply_patch", body]})).diff.as_deref(), expected);
    let heredoc = format!("apply_patch <<'EOF'\n{body}\nEOF");
    assert_eq!(tool("shell", json!({"command": ["bash", "-lc", heredoc]})).diff.as_deref(), expected);
}

#[test]
fn a_patch_says_what_becomes_of_its_only_file() {
    let patch = |lines: &str| {
        let body = format!("*** Begin Patch\n{lines}\n*** End Patch");
        let custom = json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": body});
        call(&read(&[item(custom)])[0]).clone()
    };
    let deleted = patch("*** Delete File: old/cake.rs");
    assert_eq!(
        (deleted.file.as_deref(), deleted.subtitle.as_deref(), deleted.diff),
        (Some("cake.rs"), Some("delete"), None)
    );
    let moved = patch("*** Update File: cake.rs\n*** Move to: pie.rs\n@@\n-180\n+200");
    assert_eq!(moved.subtitle.as_deref(), Some("move to pie.rs"));
    assert_eq!(moved.diff.as_deref(), Some("--- cake.rs\n+++ pie.rs\n@@ -1,1 +1,1 @@\n-180\n+200"));
    let two = patch("*** Add File: a\n+1\n*** Delete File: b");
    assert_eq!((two.subtitle.as_deref(), two.input_summary.as_deref()), (Some("2 files"), Some("a, b")));
    assert_eq!(two.diff.as_deref(), Some("--- /dev/null\n+++ a\n@@ -0,0 +1,1 @@\n+1"));
}

#[test]
fn a_patch_that_was_applied_answers_once_with_its_diff() {
    let changes =
        json!({"/w/cake.rs": {"type": "update", "unified_diff": "@@ -7,1 +7,1 @@\n-180\n+200\n", "move_path": null}});
    let entries = read(&[
        event(json!({"type": "patch_apply_end", "call_id": "c1", "success": true, "stdout": "Done.", "stderr": "",
                     "changes": changes})),
        item(json!({"type": "custom_tool_call_output", "call_id": "c1", "output": "Done."})),
    ]);
    let expected = ToolResult {
        for_id: "c1".into(),
        ok: true,
        output_summary: Some("Done.".into()),
        diff: Some("@@ -7,1 +7,1 @@\n-180\n+200".into()),
        truncated: false,
    };
    assert_eq!((entries.len(), answer(&entries[0])), (1, &expected));
    let failed = event(json!({"type": "patch_apply_end", "call_id": "c2", "success": false, "stderr": "no such line"}));
    let failed = answer(&read(&[failed])[0]).clone();
    assert_eq!((failed.ok, failed.output_summary.as_deref()), (false, Some("[stderr] no such line")));
}

#[test]
fn exit_codes_are_found_in_every_form() {
    for (form, ok, text) in [
        (json!("plain"), true, "plain"),
        (json!(r#"{"output":"no","metadata":{"exit_code":2,"duration_seconds":0.1}}"#), false, "no"),
        (json!(r#"{"output":"yes","metadata":{"exit_code":0}}"#), true, "yes"),
        (json!(r#"{"chunk_id":"x","exit_code":2,"output":"no"}"#), false, "no"),
        (json!("Exit code: 124\nWall time: 10 seconds\nOutput:\nlate"), false, "late"),
        (json!("Chunk ID: 1\nWall time: 1 seconds\nProcess exited with code 0\nOutput:\nfine"), true, "fine"),
        (json!("Exit code: is what it says"), true, "Exit code: is what it says"),
        (json!({"content": "no", "success": false}), false, "no"),
        (json!({"type": "input_text", "text": "one"}), true, "one"),
        (json!([{"type": "input_text", "text": "one"}, {"type": "input_image"}]), true, "one\n[image]"),
        (json!("aborted by user after 2.1s"), false, "aborted by user after 2.1s"),
        (json!("Wall time: 2.1 seconds\naborted by user"), false, "Wall time: 2.1 seconds\naborted by user"),
        (json!("Wall time: 2.1 seconds\nOutput:\naborted by user"), true, "aborted by user"),
        (json!("exec command rejected by user"), false, "exec command rejected by user"),
        (
            json!("apply_patch verification failed: no such line"),
            false,
            "apply_patch verification failed: no such line",
        ),
        (json!([{"type": "input_text", "text": r#"{"exit_code":0,"output":"fine\n"}"#}]), true, "fine"),
        (json!("Script failed\nWall time 0.2 seconds\nOutput:\nno such tool"), false, "no such tool"),
        (
            json!([{"type": "input_text", "text": "Script completed\nWall time 0.2 seconds\nOutput:\n"},
                   {"type": "input_text", "text": r#"{"chunk_id":"1","exit_code":0,"output":"one\n"}"#},
                   {"type": "input_text", "text": r#"{"chunk_id":"2","exit_code":2,"output":"two\n"}"#}]),
            false,
            "one\ntwo",
        ),
    ] {
        let result = output(form.clone());
        assert_eq!((result.ok, result.output_summary.as_deref()), (ok, Some(text)), "{form}");
    }
    let ended = event(json!({"type": "exec_command_end", "call_id": "c1", "aggregated_output": "x", "exit_code": 1}));
    assert!(!answer(&read(&[ended])[0]).ok);
}

#[test]
fn other_tools_answer_by_events() {
    let entries = read(&[
        item(
            json!({"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "plums"}}),
        ),
        event(json!({"type": "web_search_end", "call_id": "ws", "query": "plums",
                     "results": [{"type": "result", "title": "Plum", "url": "https://plum.example"}]})),
        event(
            json!({"type": "mcp_tool_call_end", "call_id": "c2", "result": {"Ok": {"content": [{"type": "text", "text": "12"}]}}}),
        ),
        item(json!({"type": "function_call_output", "call_id": "c2", "output": "12"})),
        event(json!({"type": "mcp_tool_call_end", "call_id": "c3", "result": {"Err": "no server"}})),
    ]);
    assert_eq!((call(&entries[0]).name.as_str(), call(&entries[0]).subtitle.as_deref()), ("web_search", Some("plums")));
    let results: Vec<_> =
        entries[1..].iter().map(answer).map(|r| (r.for_id.as_str(), r.ok, r.output_summary.as_deref())).collect();
    let expected =
        [("ws", true, Some("Plum https://plum.example")), ("c2", true, Some("12")), ("c3", false, Some("no server"))];
    assert_eq!(results, expected);
}

#[test]
fn a_plan_says_how_far_it_is() {
    let plan = json!([{"step": "mix", "status": "completed"}, {"step": "bake", "status": "in_progress"}]);
    let call = tool("update_plan", json!({"plan": plan}));
    assert_eq!(
        (call.subtitle.as_deref(), call.input_summary.as_deref()),
        (Some("bake"), Some("1 of 2 done: mix; bake"))
    );
}

#[test]
fn what_happened_beside_the_conversation_is_the_systems() {
    let entries = read(&[
        event(json!({"type": "turn_aborted", "reason": "interrupted"})),
        message("user", "<turn_aborted>\nThe user interrupted."),
        record("compacted", json!({"message": "We baked.", "replacement_history": []})),
        event(json!({"type": "context_compacted"})),
        event(json!({"type": "error", "message": "429"})),
        event(json!({"type": "entered_review_mode", "user_facing_hint": "the cake"})),
        event(json!({"type": "thread_rolled_back", "num_turns": 2})),
        item(
            json!({"type": "agent_message", "author": "/root/oven", "content": [{"type": "input_text", "text": "hot"}]}),
        ),
        message("user", "<subagent_notification>\nbaked\n</subagent_notification>"),
    ]);
    let texts = [
        "Turn aborted: interrupted",
        "Conversation compacted\n\nWe baked.",
        "Error: 429",
        "Review begins: the cake",
        "Went back: 2 turns",
        "[/root/oven] hot",
        "baked",
    ];
    assert_eq!(said(&entries), texts.map(|text| (Role::System, text)));
    let ran = "<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 0\nplum\n</result>\n</user_shell_command>";
    assert_eq!(said(&read(&[message("user", ran)])), [(Role::User, "!ls\n\nExit code: 0\nplum")]);
}

#[test]
fn bookkeeping_makes_no_entry() {
    for kind in ["token_count", "task_started", "task_complete", "turn.completed", "guardian_assessment"] {
        assert!(read(&[event(json!({"type": kind, "last_agent_message": "x", "message": "y"}))]).is_empty(), "{kind}");
    }
    for kind in ["session_meta", "turn_context", "world_state", "inter_agent_communication"] {
        assert!(read(&[record(kind, json!({"id": "s", "text": "x"}))]).is_empty(), "{kind}");
    }
}

#[test]
fn the_bare_files_of_2025_08_are_read() {
    let entries = read(&[
        json!({"id": "s", "timestamp": "2025-08-01T10:00:00.000Z", "instructions": null, "git": {}}),
        json!({"record_type": "state"}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Bake."}]}),
        json!({"type": "function_call", "name": "shell", "call_id": "c", "arguments": "{\"command\":[\"ls\"]}"}),
        json!({"type": "function_call_output", "call_id": "c", "output": "{\"output\":\"x\",\"metadata\":{\"exit_code\":0}}"}),
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}),
    ]);
    assert_eq!(
        said(&entries),
        [(Role::User, "Bake."), (Role::Assistant, "shell"), (Role::User, "x"), (Role::Assistant, "Done.")]
    );
}

fn meta(id: &str, parent: Option<&str>) -> Value {
    record(
        "session_meta",
        json!({"id": id, "forked_from_id": parent, "cwd": "/w", "timestamp": "2026-08-03T10:48:56.000Z"}),
    )
}

fn turn(id: &str) -> Value {
    event(json!({"type": "task_started", "turn_id": id}))
}

#[test]
fn a_fork_does_not_repeat_its_parent() {
    let entries = read(&[
        meta(FORK, Some("parent-1")),
        meta("parent-1", None),
        turn("019fc8bd-0000-7000-8000-000000000001"),
        message("user", "what the parent was asked"),
        message("assistant", "what the parent said"),
        record("turn_context", json!({"turn_id": "019fc8bd-0000-7000-8000-000000000002"})),
        message("user", "once more"),
        turn("019fc8be-0001-7000-8000-000000000001"),
        message("user", "what the fork was asked"),
    ]);
    let note = "Forked from session parent-1. What was said there is not repeated here.";
    assert_eq!(said(&entries), [(Role::System, note), (Role::User, "what the fork was asked")]);
}

#[test]
fn without_turn_ids_the_time_tells_where_a_replay_ends() {
    let mut own = message("user", "mine");
    own["timestamp"] = "2026-08-03T10:50:00.000Z".into();
    let entries = read(&[meta("no-uuid", Some("p")), message("user", "not mine"), own]);
    assert_eq!(said(&entries)[1..], [(Role::User, "mine")]);
    assert_eq!(entries.len(), 2);
    // A child agent that begins with nothing of its parent names it, too.
    let child = record("session_meta", json!({"id": FORK, "parent_thread_id": "p", "session_id": "p", "cwd": "/w"}));
    assert_eq!(said(&read(&[child, message("user", "do it")])), [(Role::User, "do it")]);
}

#[test]
fn a_copy_of_the_parents_first_record_begins_a_replay_whether_or_not_the_fork_says_so() {
    const CHILD: &str = "019fc8be-1000-7000-8000-000000000001";
    let child = record("session_meta", json!({"id": CHILD, "parent_thread_id": FORK, "session_id": FORK, "cwd": "/w"}));
    let entries = read(&[
        child.clone(),
        meta(FORK, None),
        turn("019fc8be-0000-7000-8000-000000000009"),
        message("user", "what the parent was asked"),
        turn("019fc8be-1001-7000-8000-000000000001"),
        message("user", "do it"),
    ]);
    let note = format!("Forked from session {FORK}. What was said there is not repeated here.");
    assert_eq!(said(&entries), [(Role::System, note.as_str()), (Role::User, "do it")]);
    // Its own record again is no copy, nor is any that comes later.
    let later = [child.clone(), child, message("user", "one"), meta(FORK, None), message("user", "two")];
    assert_eq!(said(&read(&later)), [(Role::User, "one"), (Role::User, "two")]);
}

#[test]
fn a_fork_of_a_fork_repeats_neither() {
    const GRANDPARENT: &str = "019fc800-0000-7000-8000-000000000001";
    const PARENT: &str = "019fc880-0000-7000-8000-000000000001";
    let entries = read(&[
        meta(FORK, Some(PARENT)),
        // All that its parent holds: that one is a fork, too.
        meta(PARENT, Some(GRANDPARENT)),
        meta(GRANDPARENT, None),
        turn("019fc801-0000-7000-8000-000000000001"),
        message("user", "asked at first"),
        turn("019fc881-0000-7000-8000-000000000001"),
        message("user", "asked then"),
        message("assistant", "said then"),
        turn("019fc8be-0001-7000-8000-000000000001"),
        message("user", "asked then"),
        event(json!({"type": "user_message", "message": "asked then"})),
    ]);
    let note = format!("Forked from session {PARENT}. What was said there is not repeated here.");
    assert_eq!(said(&entries), [(Role::System, note.as_str()), (Role::User, "asked then")]);
}

#[test]
fn a_long_replay_without_turn_ids_ends_with_a_pause() {
    let at = |second: u32, milli: u32, text: &str| {
        let mut said = message("user", text);
        said["timestamp"] = format!("2026-08-03T10:{:02}:{:02}.{milli:03}Z", 49 + second / 60, second % 60).into();
        said
    };
    let mut records = vec![meta("no-uuid", Some("p"))];
    records[0]["timestamp"] = "2026-08-03T10:49:00.000Z".into();
    // A slow disk: it is written for ten seconds.
    records.extend((0..20).map(|n| at(n / 2, (n % 2) * 500, "not mine")));
    records.push(at(12, 0, "mine"));
    records.push(at(12, 1, "mine, too"));
    assert_eq!(said(&read(&records))[1..], [(Role::User, "mine"), (Role::User, "mine, too")]);
}

#[test]
fn what_is_unknown_and_says_something_is_shown_as_it_is() {
    let shown = |record: Value| {
        let entries = read(&[record]);
        assert!(entries.iter().all(|entry| !entry.parsed), "{entries:?}");
        said(&entries).iter().map(|(_, text)| (*text).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(shown(event(json!({"type": "omen", "message": "rain"}))), [r#"unknown event type "omen": rain"#]);
    assert_eq!(shown(event(json!({"type": "omen", "of": "rain"}))), Vec::<String>::new());
    assert_eq!(shown(record("omen", json!({"text": "rain"}))), [r#"unknown record type "omen": rain"#]);
    assert_eq!(shown(item(json!({"type": "song", "content": [{"text": "la"}]}))), [r#"unknown item type "song": la"#]);
    assert_eq!(
        shown(item(json!({"type": "message", "role": "assistant", "content": [{"type": "smell"}]}))),
        [r#"unknown part of item type "message": {"type":"smell"}"#]
    );
}

#[test]
fn the_beginning_of_a_file_says_where_and_about_what() {
    let lines = [meta(FORK, None), message("user", "<environment_context>"), message("user", "Bake\nit.")];
    let head: Vec<String> = lines.iter().map(Value::to_string).collect();
    let found = recorded(head.join("\n").as_bytes());
    assert_eq!(
        (found.cwd.as_deref(), found.conversation, found.first_prompt.as_deref()),
        (Some("/w"), true, Some("Bake it."))
    );
    let found = recorded(head[0].as_bytes());
    assert_eq!((found.cwd.as_deref(), found.conversation), (Some("/w"), false));
    // Instructions may be longer than what is read of the beginning.
    let long = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"s","cwd":"/w","instructions":"very lon"#;
    assert_eq!(recorded(long.as_bytes()).cwd.as_deref(), Some("/w"));
}
