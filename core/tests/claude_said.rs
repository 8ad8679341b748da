//! Who said it: what the human did not type is not shown as typed, and what nobody said is not shown.

mod reading;

use panewire_core::entry::Role::{self, Assistant, System, User};
use reading::{read, read_one, said};
use serde_json::json;

/// What a user record with this text becomes.
fn user(text: &str) -> Option<(Role, String)> {
    let line = json!({"type": "user", "uuid": "u", "message": {"role": "user", "content": text}}).to_string();
    let entries = read(&line);
    said(&entries).first().map(|(role, text)| (*role, text.to_string()))
}

#[track_caller]
fn becomes(text: &str, role: Role, shown: &str) {
    assert_eq!(user(text), Some((role, shown.to_string())));
}

#[test]
fn slash_commands_are_what_was_typed() {
    becomes(
        "<command-name>/tea</command-name>\n  <command-message>tea</command-message>\n  <command-args>green</command-args>",
        User,
        "/tea green",
    );
    becomes("<command-message>tea is brewing…</command-message>\n<command-name>/tea</command-name>", User, "/tea");
    becomes("<command-message>tea is running…</command-message>", User, "/tea");
    becomes("<command-name>tea</command-name>", User, "/tea");
}

#[test]
fn shell_lines_are_what_was_typed() {
    becomes("<bash-input>ls cups</bash-input>", User, "!ls cups");
    becomes("<bash-stdout>one\n</bash-stdout><bash-stderr>two</bash-stderr>", System, "one\n[stderr] two");
    becomes("<local-command-stdout>\u{1b}[1mbold\u{1b}[22m</local-command-stdout>", System, "bold");
}

#[test]
fn what_says_nothing_makes_no_entry() {
    for text in [
        "",
        " \n",
        "<local-command-stdout></local-command-stdout>",
        "<bash-stdout></bash-stdout><bash-stderr>\n</bash-stderr>",
        "<local-command-caveat>Caveat: …</local-command-caveat>",
        "Caveat: The messages below were made by commands.",
    ] {
        assert_eq!(user(text), None, "{text}");
    }
}

#[test]
fn the_harness_is_the_system() {
    becomes("[Request interrupted by user]", System, "[Request interrupted by user]");
    becomes("<system-reminder>\nmind the kettle\n</system-reminder>", System, "mind the kettle");
    becomes(
        "This session is being continued from a previous conversation that…",
        System,
        "This session is being continued from a previous conversation that…",
    );
    becomes("<ide_opened_file>pot.rs</ide_opened_file>", System, "pot.rs");
    becomes("<ide_selection>pot.rs</ide_selection>\nWhat is this?", User, "What is this?");
    becomes("<teammate-message teammate_id=\"ann\" color=\"red\">\nDone.\n</teammate-message>", System, "[ann] Done.");
    becomes(
        "<task-notification>\n<task-id>t1</task-id>\n<status>completed</status>\n<summary>Kettle boiled</summary>\n<result>It said <status>hot</status>.</result>\n</task-notification>",
        System,
        "Kettle boiled\n\nIt said <status>hot</status>.",
    );
    becomes(
        "<task-notification><task-id>t1</task-id><status>failed</status></task-notification>",
        System,
        "Task t1 failed",
    );
}

#[test]
fn a_mark_inside_a_text_is_only_text() {
    becomes("What does <system-reminder> mean?", User, "What does <system-reminder> mean?");
    becomes("<b>tea</b>", User, "<b>tea</b>");
}

#[test]
fn flags_behind_the_message_change_who_speaks() {
    let line = |flag: &str| format!(r#"{{"type":"user","message":{{"content":"Pour."}},{flag}}}"#);
    for (flag, role) in [
        (r#""isMeta":true"#, System),
        (r#""isMeta":false"#, User),
        (r#""isCompactSummary":true"#, System),
        (r#""origin":{"kind":"human"}"#, User),
        (r#""origin":{"kind":"peer"}"#, System),
    ] {
        assert_eq!(said(&[read_one(&line(flag))]), [(role, "Pour.")], "{flag}");
    }
}

#[test]
fn what_the_harness_says_for_the_assistant_is_the_systems() {
    let lines = concat!(
        r#"{"type":"assistant","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"Usage limit reached"}]}}"#,
        "\n",
        r#"{"type":"assistant","message":{"model":"m","content":"A bare string"}}"#,
    );
    assert_eq!(said(&read(lines)), [(System, "Usage limit reached"), (Assistant, "A bare string")]);
}

#[test]
fn notices_read_well() {
    let lines = [
        r#"{"type":"system","subtype":"api_error","error":{"status":529,"error":{"error":{"message":"Overloaded"}}},"retryAttempt":2,"maxRetries":10}"#,
        r#"{"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":150000}}"#,
        r#"{"type":"system","subtype":"local_command","content":"<command-name>/cups</command-name>"}"#,
        r#"{"type":"system","subtype":"turn_duration","durationMs":5}"#,
        r#"{"type":"system","content":" "}"#,
        r#"{"type":"attachment","attachment":{"type":"hook_blocking_error","hookName":"Stop","blockingError":{"blockingError":"Tests fail"}}}"#,
        r#"{"type":"attachment","attachment":{"type":"file","filename":"/w/leaf.txt","displayPath":"leaf.txt"}}"#,
        r#"{"type":"attachment","attachment":{"type":"task_status","description":"Boil","status":"running"}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"fallback","from":{"model":"big"},"to":{"model":"small"}}]}}"#,
    ];
    assert_eq!(
        said(&read(&lines.join("\n"))),
        [
            (System, "API error 529: Overloaded (retry 2 of 10)"),
            (System, "Conversation compacted (auto, 150000 tokens before)"),
            (User, "/cups"),
            (System, "Stop hook: Tests fail"),
            (User, "[file: leaf.txt]"),
            (System, "Task Boil: running"),
            (System, "Model changed from big to small"),
        ]
    );
}

#[test]
fn what_only_a_terminal_shows_is_no_blank_row() {
    for subtype in ["informational", "compact_boundary"] {
        let line = format!(r#"{{"type":"system","subtype":"{subtype}","content":"\u001b[0m"}}"#);
        assert_eq!(said(&read(&line)), [(System, "(nothing to read in 4 characters)")]);
    }
}

#[test]
fn unknown_things_say_what_was_seen() {
    let lines = [
        r#"{"type":"novelty","message":{"role":"assistant","content":"hello"}}"#,
        r#"{"type":"novelty","content":["x"]}"#,
        r#"{"type":"novelty","data":1}"#,
        r#"{"type":"system","subtype":"novelty","content":"ping"}"#,
        r#"{"type":"user","message":{"content":5}}"#,
        r#"{"type":"assistant"}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"hologram","size":3},null]}}"#,
        "prose",
    ];
    let entries = read(&lines.join("\n"));
    assert!(entries.iter().all(|entry| !entry.parsed));
    assert_eq!(
        said(&entries),
        [
            (Assistant, r#"unknown record type "novelty": hello"#),
            (System, r#"unknown record type "novelty": ["x"]"#),
            (System, r#"unknown system record "novelty": ping"#),
            (User, r#""user" record whose content is neither text nor a list: 5"#),
            (Assistant, r#""assistant" record without a message"#),
            (Assistant, r#"unknown block type "hologram": {"type":"hologram","size":3}"#),
            (Assistant, "block without a type: null"),
            (System, "unreadable line (5 bytes): prose"),
        ]
    );
}
