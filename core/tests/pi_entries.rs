//! What each kind of record of a pi session becomes.

mod reading;

use panewire_core::agent::Caps;
use panewire_core::agent::pi::{PiReader, recorded};
use panewire_core::entry::{Body, Entry, Role, ToolCall, ToolResult};
use reading::{answer, call, read_with, said, whole};
use serde_json::{Value, json};

fn read(records: &[Value]) -> Vec<Entry> {
    let lines: Vec<String> = records.iter().map(Value::to_string).collect();
    read_with(&PiReader, lines.join("\n").as_bytes(), &Caps::WIRE)
}

fn message(message: Value) -> Value {
    json!({"type": "message", "id": "1a2b3c4d", "parentId": "0f0f0f0f", "timestamp": "2026-07-09T10:00:01.000Z",
           "message": message})
}

fn one(message: Value) -> Entry {
    let mut entries = read(&[self::message(message)]);
    assert_eq!(entries.len(), 1, "{entries:#?}");
    entries.remove(0)
}

fn assistant(blocks: Value) -> Value {
    json!({"role": "assistant", "content": blocks, "stopReason": "toolUse", "usage": {"input": 3}})
}

fn tool(name: &str, arguments: Value) -> ToolCall {
    let block = json!({"type": "toolCall", "id": "t1", "name": name, "arguments": arguments});
    call(&one(assistant(json!([block])))).clone()
}

fn result(details: Value) -> ToolResult {
    let content = json!([{"type": "text", "text": "done"}]);
    answer(&one(json!({"role": "toolResult", "toolCallId": "t1", "toolName": "edit", "content": content,
                       "details": details, "isError": false})))
    .clone()
}

#[test]
fn what_the_human_typed_is_shown_whether_it_is_a_string_or_a_list() {
    let entry = one(json!({"role": "user", "content": "paint it"}));
    let expected = Entry {
        id: "1a2b3c4d#0".into(),
        parent_id: Some("0f0f0f0f".into()),
        ts: Some("2026-07-09T10:00:01.000Z".into()),
        role: Role::User,
        body: Body::Message(whole("paint it")),
        parsed: true,
    };
    assert_eq!(entry, expected);
    let list =
        json!([{"type": "text", "text": "like this"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}]);
    let entries = read(&[message(json!({"role": "user", "content": list}))]);
    assert_eq!(said(&entries), [(Role::User, "like this"), (Role::User, "[image]")]);
    assert_eq!(entries[1].id, "1a2b3c4d#1");
    assert!(read(&[message(json!({"role": "user", "content": " "}))]).is_empty());
}

#[test]
fn version_1_has_no_ids() {
    let entries = read(&[
        json!({"type": "session", "id": "s", "cwd": "/w", "provider": "p", "modelId": "m"}),
        json!({"type": "message", "timestamp": "t", "message": {"role": "user", "content": "old"}}),
    ]);
    assert_eq!((entries[0].id.as_str(), entries[0].parent_id.as_deref()), ("@68#0", None));
}

#[test]
fn an_assistant_thinks_speaks_calls_and_fails() {
    let blocks = json!([
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "x"},
        {"type": "thinking", "thinking": "", "thinkingSignature": "only a signature"},
        {"type": "text", "text": "I look."},
        {"type": "toolCall", "id": "t1", "name": "ls", "arguments": {"path": "/w"}},
    ]);
    let mut said_by = assistant(blocks);
    said_by["errorMessage"] = "529 overloaded".into();
    let entries = read(&[message(said_by)]);
    assert_eq!(
        said(&entries),
        [
            (Role::Assistant, "hm"),
            (Role::Assistant, "I look."),
            (Role::Assistant, "ls"),
            (Role::System, "529 overloaded"),
        ]
    );
    assert_eq!(entries[0].body, Body::Thinking(whole("hm")));
    assert_eq!(entries.last().unwrap().id, "1a2b3c4d#4");
    // An aborted reply that says nothing is nothing.
    assert!(read(&[message(json!({"role": "assistant", "content": [], "stopReason": "aborted"}))]).is_empty());
}

#[test]
fn calls_say_what_they_are_about_to_do() {
    let bash = tool("bash", json!({"command": "ls\n-l", "timeout": 5}));
    assert_eq!((bash.command.as_deref(), bash.input_summary.as_deref()), (Some("ls\n-l"), Some("ls -l")));
    let read = tool("read", json!({"path": "/w/a.rs", "offset": 10, "limit": 5}));
    assert_eq!((read.file.as_deref(), read.subtitle.as_deref()), (Some("a.rs"), Some("5 lines from line 10")));
    let write = tool("write", json!({"path": "/w/b.txt", "content": "x\n"}));
    assert_eq!((write.file.as_deref(), write.diff.as_deref()), (Some("b.txt"), Some("@@ -0,0 +1,1 @@\n+x")));
    let edit = tool("edit", json!({"path": "c", "oldText": "a\n", "newText": "b\n"}));
    assert_eq!(edit.diff.as_deref(), Some("@@ -1,1 +1,1 @@\n-a\n+b"));
    let edits = json!([{"oldText": "a", "newText": "b"}, {"oldText": "c\n", "newText": "c\nd\n"}]);
    let edit = tool("edit", json!({"path": "c", "edits": edits}));
    assert_eq!(edit.diff.as_deref(), Some("@@ -1,1 +1,1 @@\n-a\n+b\n@@ -2,1 +2,2 @@\n c\n+d"));
    let grep = tool("grep", json!({"pattern": "fn", "path": "src"}));
    assert_eq!((grep.subtitle.as_deref(), grep.input_summary.as_deref()), (Some("fn"), Some("fn in src")));
    let other = tool("ask_owl", json!({"about": "night"}));
    assert_eq!(
        (other.title.as_deref(), other.input_summary.as_deref()),
        (Some("ask_owl"), Some(r#"{"about":"night"}"#))
    );
}

#[test]
fn an_edits_own_numbered_diff_becomes_one_that_applies() {
    let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
    let diff =
        "     ...\n   2 2\n-  3 3\n+  3 three\n   4 4\n     ...\n  10 10\n+ 11 ten and a half\n  11 11\n     ...\n";
    let applied = result(json!({"diff": diff}));
    let expected = "@@ -2,3 +2,3 @@\n 2\n-3\n+three\n 4\n@@ -10,2 +10,3 @@\n 10\n+ten and a half\n 11";
    assert_eq!(applied.diff.as_deref(), Some(expected));
    assert_eq!((applied.ok, applied.truncated, applied.output_summary.as_deref()), (true, false, Some("done")));
    let patch = format!("--- a\n+++ b\n{expected}\n");
    let after = diffy::apply(before, &diffy::Patch::from_str(&patch).unwrap()).unwrap();
    assert_eq!(after, "1\n2\nthree\n4\n5\n6\n7\n8\n9\n10\nten and a half\n11\n12\n");
    // Newer versions write a patch beside it.
    let patch = "--- /w/a\n+++ /w/a\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n\\ No newline at end of file\n";
    let applied = result(json!({"diff": diff, "patch": patch, "firstChangedLine": 2}));
    let expected = "@@ -1,2 +1,2 @@\n x\n-y\n+z\n\\ No newline at end of file";
    assert_eq!(applied.diff.as_deref(), Some(expected));
    assert_eq!(result(json!({"diff": "none"})).diff, None);
}

#[test]
fn an_answer_that_failed_says_so() {
    let content = json!([{"type": "text", "text": "\u{1b}[31mno\u{1b}[0m such file"}, {"type": "image", "data": "A"}]);
    let entry = one(json!({"role": "toolResult", "toolCallId": "t9", "toolName": "read", "content": content,
                           "isError": true}));
    assert_eq!(entry.role, Role::User);
    let expected = ToolResult {
        for_id: "t9".into(),
        ok: false,
        output_summary: Some("no such file\n[image]".into()),
        ..ToolResult::default()
    };
    assert_eq!(answer(&entry), &expected);
}

#[test]
fn a_shell_line_is_the_humans_and_its_output_is_not() {
    let run = |exit: Value, output: &str, private: bool| {
        read(&[message(json!({"role": "bashExecution", "command": "make", "output": output, "exitCode": exit,
                              "cancelled": exit.is_null(), "truncated": false, "excludeFromContext": private}))])
    };
    let entries = run(json!(0), "\u{1b}[1mok\u{1b}[0m\n", false);
    assert_eq!(said(&entries), [(Role::User, "!make"), (Role::System, "ok")]);
    assert_eq!(said(&run(json!(2), "no\n", true)), [(Role::User, "!!make"), (Role::System, "no\n(exit code 2)")]);
    assert_eq!(said(&run(json!(null), "", false)), [(Role::User, "!make"), (Role::System, "(cancelled)")]);
    assert_eq!(said(&run(json!(0), " ", false)), [(Role::User, "!make")]);
    let cut = |path: Value| {
        let entries =
            read(&[message(json!({"role": "bashExecution", "command": "make", "output": "end", "exitCode": 1,
                                            "truncated": true, "fullOutputPath": path}))]);
        said(&entries)[1].1.to_owned()
    };
    assert_eq!(cut(json!("/tmp/pi-bash.log")), "end\n(exit code 1)\n(cut by pi; all of it is in /tmp/pi-bash.log)");
    assert_eq!(cut(json!(null)), "end\n(exit code 1)\n(cut by pi)");
}

#[test]
fn summaries_are_the_systems() {
    let entries = read(&[
        json!({"type": "compaction", "id": "c", "summary": "We painted.", "tokensBefore": 812, "firstKeptEntryId": "x"}),
        json!({"type": "branch_summary", "id": "b", "summary": "It dried.", "fromId": "x"}),
        message(json!({"role": "compactionSummary", "summary": "We painted.", "tokensBefore": 5})),
        message(json!({"role": "branchSummary", "summary": "It dried."})),
        json!({"type": "compaction", "id": "d"}),
    ]);
    let texts = [
        "Conversation compacted (812 tokens before)\n\nWe painted.",
        "Back from another branch\n\nIt dried.",
        "Conversation compacted (5 tokens before)\n\nWe painted.",
        "Back from another branch\n\nIt dried.",
        "Conversation compacted",
    ];
    assert_eq!(said(&entries), texts.map(|text| (Role::System, text)));
}

#[test]
fn what_an_extension_injects_is_the_systems_if_it_is_to_be_seen() {
    for record in [
        json!({"type": "custom_message", "customType": "x", "content": "look", "display": true}),
        message(json!({"role": "hookMessage", "customType": "x", "content": [{"type": "text", "text": "look"}]})),
        message(json!({"role": "custom", "customType": "x", "content": "look", "display": true})),
    ] {
        assert_eq!(said(&read(&[record])), [(Role::System, "look")]);
    }
    assert!(
        read(&[json!({"type": "custom_message", "customType": "x", "content": "no", "display": false})]).is_empty()
    );
}

#[test]
fn bookkeeping_makes_no_entry() {
    for kind in ["session", "model_change", "thinking_level_change", "label", "session_info", "custom"] {
        assert!(
            read(&[json!({"type": kind, "name": "x", "label": "y", "data": {"content": "z"}})]).is_empty(),
            "{kind}"
        );
    }
}

#[test]
fn lines_of_all_branches_are_shown_in_the_order_of_the_file() {
    let said_at = |id: &str, parent: Value, text: &str| json!({"type": "message", "id": id, "parentId": parent, "message": {"role": "user", "content": text}});
    let entries = read(&[
        said_at("1", json!(null), "start"),
        said_at("2", json!("1"), "go on"),
        said_at("3", json!("2"), "left"),
        said_at("4", json!("2"), "right"),
    ]);
    let parents: Vec<_> = entries.iter().map(|entry| (entry.id.as_str(), entry.parent_id.as_deref())).collect();
    assert_eq!(parents, [("1#0", None), ("2#0", Some("1")), ("3#0", Some("2")), ("4#0", Some("2"))]);
}

#[test]
fn what_is_unknown_and_says_something_is_shown_as_it_is() {
    let shown = |record: Value| {
        let entries = read(&[record]);
        assert!(entries.iter().all(|entry| !entry.parsed), "{entries:?}");
        said(&entries).iter().map(|(role, text)| format!("{role:?}: {text}")).collect::<Vec<_>>()
    };
    assert_eq!(shown(json!({"type": "omen", "content": "rain"})), [r#"System: unknown record type "omen": rain"#]);
    assert_eq!(shown(json!({"type": "omen", "of": "rain"})), Vec::<String>::new());
    assert_eq!(shown(json!({"type": "message"})), ["System: message record without a message"]);
    assert_eq!(
        shown(message(json!({"role": "owl", "content": [{"type": "text", "text": "hoo"}]}))),
        [r#"System: message of unknown role "owl": hoo"#]
    );
    assert_eq!(
        shown(message(json!({"role": "user", "content": 7}))),
        [r#"User: message of role "user" whose content is neither text nor a list: 7"#]
    );
    assert_eq!(
        shown(message(assistant(json!([{"type": "song", "text": "la"}])))),
        [r#"Assistant: unknown block type "song": la"#]
    );
}

#[test]
fn the_beginning_of_a_file_says_where_and_about_what() {
    let head = concat!(
        r#"{"type":"session","version":3,"id":"s","cwd":"/home/u/x"}"#,
        "\n",
        r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"paint\nit"}]}}"#
    );
    let found = recorded(head.as_bytes());
    assert_eq!(
        (found.cwd.as_deref(), found.conversation, found.first_prompt.as_deref()),
        (Some("/home/u/x"), true, Some("paint it"))
    );
    let found = recorded(head.lines().next().unwrap().as_bytes());
    assert_eq!((found.cwd.as_deref(), found.conversation), (Some("/home/u/x"), false));
}

#[test]
fn a_torn_beginning_hides_nothing_of_the_record_behind_it() {
    let behind = r#"{"type":"session","version":3,"id":"s","cwd":"/home/u/x"}"#;
    let found = recorded(format!(r#"{{"type":"session","cwd":"/home/u/{behind}"#).as_bytes());
    assert_eq!(found.cwd.as_deref(), Some("/home/u/x"));
}
