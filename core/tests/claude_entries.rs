//! Every kind of entry, made from a line as Claude Code writes it.

mod reading;

use panewire_core::agent::Caps;
use panewire_core::agent::claude::Selection;
use panewire_core::entry::{Body, Entry, Role, Text, ToolCall, ToolResult};
use reading::{answer, call, read, read_as, read_one, said, text, whole};

#[test]
fn a_prompt_is_a_user_message() {
    let line = r#"{"parentUuid":null,"isSidechain":false,"cwd":"/w/tea","sessionId":"s","type":"user","message":{"role":"user","content":"Brew a pot of tea."},"uuid":"u1","timestamp":"2026-03-01T08:00:00.000Z"}"#;
    assert_eq!(
        read_one(line),
        Entry {
            id: "u1#0".into(),
            parent_id: None,
            ts: Some("2026-03-01T08:00:00.000Z".into()),
            role: Role::User,
            body: Body::Message(whole("Brew a pot of tea.")),
            parsed: true,
        }
    );
}

#[test]
fn a_reply_is_an_entry_for_each_block_that_says_something() {
    let line = r#"{"parentUuid":"u1","message":{"model":"m","id":"msg","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"Green or black?","signature":"c2ln"},{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"text","text":"\n\nWhich **tea**?\n"},{"type":"text","text":"  "}],"stop_reason":null,"usage":{"output_tokens":3}},"requestId":"r","type":"assistant","uuid":"a1","timestamp":"2026-03-01T08:00:01.000Z"}"#;
    let entry = |block: usize, body| Entry {
        id: format!("a1#{block}"),
        parent_id: Some("u1".into()),
        ts: Some("2026-03-01T08:00:01.000Z".into()),
        role: Role::Assistant,
        body,
        parsed: true,
    };
    assert_eq!(
        read(line),
        [entry(0, Body::Thinking(whole("Green or black?"))), entry(2, Body::Message(whole("Which **tea**?")))]
    );
}

#[test]
fn a_notice_of_the_harness_is_a_system_message() {
    let line = r#"{"parentUuid":"a1","isSidechain":false,"type":"system","subtype":"away_summary","content":"The kettle was filled.","isMeta":false,"timestamp":"2026-03-01T09:00:00.000Z","uuid":"s1"}"#;
    assert_eq!(
        read_one(line),
        Entry {
            id: "s1#0".into(),
            parent_id: Some("a1".into()),
            ts: Some("2026-03-01T09:00:00.000Z".into()),
            role: Role::System,
            body: Body::Message(whole("The kettle was filled.")),
            parsed: true,
        }
    );
}

#[test]
fn an_image_is_an_attachment() {
    let line = r#"{"type":"user","uuid":"u2","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"text","text":"This cup"}]}}"#;
    let entries = read(line);
    assert_eq!(entries[0].body, Body::Attachment(whole("[image]")));
    assert_eq!((entries[0].role, entries[0].id.as_str()), (Role::User, "u2#0"));
    assert_eq!(said(&entries), [(Role::User, "[image]"), (Role::User, "This cup")]);
}

#[test]
fn a_shell_call_has_its_command() {
    let line = r#"{"parentUuid":"a1","message":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"kettle fill &&\n  kettle boil","description":"Boil the water"}}]},"type":"assistant","uuid":"a2","timestamp":"2026-03-01T08:00:02.000Z"}"#;
    assert_eq!(
        read_one(line),
        Entry {
            id: "a2#0".into(),
            parent_id: Some("a1".into()),
            ts: Some("2026-03-01T08:00:02.000Z".into()),
            role: Role::Assistant,
            body: Body::ToolCall(ToolCall {
                id: "toolu_1".into(),
                name: "Bash".into(),
                title: Some("Bash".into()),
                subtitle: Some("Boil the water".into()),
                command: Some("kettle fill &&\n  kettle boil".into()),
                input_summary: Some("kettle fill && kettle boil".into()),
                ..ToolCall::default()
            }),
            parsed: true,
        }
    );
}

#[test]
fn an_edit_call_previews_its_diff() {
    let line = r#"{"message":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_2","name":"Edit","input":{"file_path":"/w/tea/pot.go","old_string":"\tsteep(3)\n\tpour()","new_string":"\tsteep(5)\n\tpour()","replace_all":false}}]},"type":"assistant","uuid":"a3"}"#;
    assert_eq!(
        read_one(line).body,
        Body::ToolCall(ToolCall {
            id: "toolu_2".into(),
            name: "Edit".into(),
            title: Some("Edit".into()),
            file: Some("pot.go".into()),
            diff: Some("@@ -1,2 +1,2 @@\n-\tsteep(3)\n+\tsteep(5)\n \tpour()".into()),
            input_summary: Some("/w/tea/pot.go".into()),
            ..ToolCall::default()
        })
    );
}

#[test]
fn an_answer_has_its_output_without_terminal_codes() {
    let line = r#"{"parentUuid":"a2","type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"short","is_error":false}]},"uuid":"u3","timestamp":"2026-03-01T08:00:09.000Z","toolUseResult":{"stdout":"10%\r50%\r\u001b[32mhot\u001b[0m\n","stderr":"scale in the kettle","interrupted":false,"isImage":false}}"#;
    assert_eq!(
        read_one(line),
        Entry {
            id: "u3#0".into(),
            parent_id: Some("a2".into()),
            ts: Some("2026-03-01T08:00:09.000Z".into()),
            role: Role::User,
            body: Body::ToolResult(ToolResult {
                for_id: "toolu_1".into(),
                ok: true,
                output_summary: Some("hot\n[stderr] scale in the kettle".into()),
                diff: None,
                truncated: false,
            }),
            parsed: true,
        }
    );
}

#[test]
fn an_applied_edit_is_its_diff_with_the_tabs_of_the_file() {
    let line = r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_2","type":"tool_result","content":"The file was updated."}]},"uuid":"u4","toolUseResult":{"filePath":"/w/tea/pot.go","oldString":"\tsteep(3)","newString":"\tsteep(5)\n\t\twait()","originalFile":null,"structuredPatch":[{"oldStart":7,"oldLines":3,"newStart":7,"newLines":4,"lines":["   fill()","-  steep(3)","+  steep(5)","+    wait()"," }"]}],"userModified":false,"replaceAll":false}}"#;
    assert_eq!(
        read_one(line).body,
        Body::ToolResult(ToolResult {
            for_id: "toolu_2".into(),
            ok: true,
            output_summary: None,
            diff: Some("@@ -7,3 +7,4 @@\n   fill()\n-\tsteep(3)\n+\tsteep(5)\n+\t\twait()\n }".into()),
            truncated: false,
        })
    );
}

#[test]
fn an_applied_edit_of_a_known_file_has_all_its_tabs() {
    let line = r#"{"type":"user","message":{"content":[{"tool_use_id":"t","type":"tool_result","content":"ok"}]},"toolUseResult":{"oldString":"b","newString":"c\td","originalFile":"\ta\n  b\n\tb\n","structuredPatch":[{"oldStart":1,"newStart":1,"lines":["   a","-  b","+  c  d","   b"]}]}}"#;
    assert_eq!(answer(&read_one(line)).diff.as_deref(), Some("@@ -1,3 +1,3 @@\n \ta\n-  b\n+  c\td\n \tb"));
}

#[test]
fn a_new_file_is_all_added() {
    let line = r#"{"type":"user","message":{"content":[{"tool_use_id":"t","type":"tool_result","content":"File created at /w/x"}]},"toolUseResult":{"type":"create","filePath":"/w/x","content":"a\nb\n","structuredPatch":[]}}"#;
    let entry = read_one(line);
    assert_eq!(answer(&entry).diff.as_deref(), Some("@@ -0,0 +1,2 @@\n+a\n+b"));
    assert_eq!(text(&entry), "File created at /w/x");
}

#[test]
fn a_rejected_call_is_not_ok() {
    let line = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"Not wanted. Stop here.","is_error":true,"tool_use_id":"toolu_3"}]},"uuid":"u5","toolUseResult":"User rejected tool use"}"#;
    let result = ToolResult {
        for_id: "toolu_3".into(),
        ok: false,
        output_summary: Some("User rejected tool use".into()),
        ..ToolResult::default()
    };
    assert_eq!(read_one(line).body, Body::ToolResult(result));
}

#[test]
fn an_interrupted_call_is_not_ok() {
    let line = r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"","tool_use_id":"t"}]},"toolUseResult":{"stdout":"half","stderr":"","interrupted":true}}"#;
    let entry = read_one(line);
    assert_eq!((answer(&entry).ok, text(&entry)), (false, "half"));
}

#[test]
fn several_answers_in_one_record_each_have_their_own() {
    let line = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"one"},{"type":"tool_result","tool_use_id":"t2","content":"<tool_use_error>two</tool_use_error>","is_error":true}]},"uuid":"u","toolUseResult":{"stdout":"of whom?"}}"#;
    assert_eq!(said(&read(line)), [(Role::User, "one"), (Role::User, "two")]);
}

#[test]
fn an_answer_of_parts_is_joined() {
    let line = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"one"},{"type":"image","source":{}},{"type":"tool_reference","tool_name":"Pour"}]}]},"toolUseResult":[{"type":"text","text":"one"}]}"#;
    assert_eq!(text(&read_one(line)), "one\n[image]\nPour");
}

#[test]
fn a_spilled_output_is_its_note() {
    let line = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"<persisted-output>\nOutput too large (9KB). Full output saved to: /w/tool-results/t.txt\n\nPreview:\nab\n</persisted-output>"}]}}"#;
    assert_eq!(
        text(&read_one(line)),
        "Output too large (9KB). Full output saved to: /w/tool-results/t.txt\n\nPreview:\nab"
    );
}

#[test]
fn tools_are_told_apart() {
    let tool = |name: &str, input: &str| {
        let line = format!(
            r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"t","name":"{name}","input":{input}}}]}}}}"#
        );
        let call = call(&read_one(&line)).clone();
        (call.title.unwrap(), call.subtitle.unwrap_or_default(), call.input_summary.unwrap_or_default())
    };
    let row =
        |title: &str, subtitle: &str, summary: &str| (title.to_string(), subtitle.to_string(), summary.to_string());
    assert_eq!(
        tool("Read", r#"{"file_path":"/w/leaf.txt","offset":10,"limit":5}"#),
        row("Read", "lines 10-14", "/w/leaf.txt")
    );
    assert_eq!(tool("Grep", r#"{"pattern":"tea+","path":"/w"}"#), row("Grep", "tea+", "tea+ in /w"));
    assert_eq!(
        tool("Task", r#"{"description":"Find cups","prompt":"Look\neverywhere","subagent_type":"Explore"}"#),
        row("Task", "Find cups", "Explore: Look everywhere")
    );
    assert_eq!(
        tool(
            "TodoWrite",
            r#"{"todos":[{"content":"Boil","status":"completed","activeForm":"Boiling"},{"content":"Steep","status":"in_progress","activeForm":"Steeping"}]}"#
        ),
        row("TodoWrite", "Steeping", "1 of 2 done: Boil; Steep")
    );
    assert_eq!(
        tool("WebFetch", r#"{"url":"https://tea.example/","prompt":"How long?"}"#),
        row("WebFetch", "How long?", "https://tea.example/")
    );
    assert_eq!(
        tool("ExitPlanMode", r##"{"plan":"# Brew\n\n1. Boil\n2. Steep"}"##),
        row("ExitPlanMode", "Brew", "# Brew 1. Boil 2. Steep")
    );
    assert_eq!(tool("Skill", r#"{"skill":"brew","args":"oolong"}"#), row("Skill", "brew", "brew oolong"));
    assert_eq!(
        tool("mcp__tea-house__order_cup", r#"{"size":"L","note":"a\tb\u001b"}"#),
        row("tea-house: order_cup", "", r#"{"size":"L","note":"a\tb\u001b"}"#)
    );
    assert_eq!(tool("EnterPlanMode", "{}"), row("EnterPlanMode", "", ""));
}

#[test]
fn several_edits_are_one_diff() {
    let line = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"MultiEdit","input":{"file_path":"C:\\w\\a.rs","edits":[{"old_string":"a","new_string":"b\nc"},{"old_string":"d\n","new_string":"e\n"}]}}]}}"#;
    let entry = read_one(line);
    assert_eq!(call(&entry).file.as_deref(), Some("a.rs"));
    assert_eq!(call(&entry).subtitle.as_deref(), Some("2 edits"));
    assert_eq!(call(&entry).diff.as_deref(), Some("@@ -1,1 +1,2 @@\n-a\n+b\n+c\n@@ -2,1 +3,1 @@\n-d\n+e"));
}

#[test]
fn caps_set_their_flags() {
    let caps = Caps { text_chars: 3, command_chars: 4, output_chars: 30, diff_lines: 2, diff_chars: 100 };
    let lines = concat!(
        r#"{"type":"user","message":{"content":"teapot"}}"#,
        "\n",
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"kettle"}},{"type":"tool_use","id":"t","name":"Write","input":{"file_path":"x","content":"a\nb\n"}}]}}"#,
        "\n",
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"0123456789012345678901234567890"}]}}"#,
    );
    let entries = read_as(Selection::Main, lines.as_bytes(), &caps);
    assert_eq!(entries[0].body, Body::Message(Text { text: "tea".into(), truncated: true }));
    assert_eq!((call(&entries[1]).command.as_deref(), call(&entries[1]).command_truncated), (Some("kett"), true));
    assert_eq!(
        (call(&entries[2]).diff.as_deref(), call(&entries[2]).diff_truncated),
        (Some("@@ -0,0 +1,1 @@\n+a"), true)
    );
    assert_eq!((text(&entries[3]), answer(&entries[3]).truncated), ("012345678\n… 22 more characters", true));
    let all = read_as(Selection::Main, lines.as_bytes(), &Caps::NONE);
    assert_eq!((text(&all[0]), call(&all[1]).command.as_deref()), ("teapot", Some("kettle")));
    assert_eq!((text(&all[3]).len(), answer(&all[3]).truncated), (31, false));
}

#[test]
fn records_of_child_agents_belong_to_their_own_stream() {
    let lines = concat!(
        r#"{"isSidechain":true,"type":"user","message":{"content":"child"}}"#,
        "\n",
        r#"{"isSidechain":false,"type":"user","message":{"content":"main"}}"#,
    );
    assert_eq!(said(&read(lines)), [(Role::User, "main")]);
    let entries = read_as(Selection::Child, lines.as_bytes(), &Caps::WIRE);
    assert_eq!(said(&entries), [(Role::User, "child"), (Role::User, "main")]);
}

#[test]
fn an_entry_without_a_uuid_is_named_by_its_place() {
    let lines = concat!(
        r#"{"type":"mode"}"#,
        "\n  ",
        r#"{"type":"user","message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}"#,
    );
    let ids: Vec<String> = read(lines).into_iter().map(|entry| entry.id).collect();
    assert_eq!(ids, ["@18#0", "@18#1"]);
}
