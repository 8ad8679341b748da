//! Files as they are met: resumed, glued, torn, cut, with lines of types that nobody foresaw.

mod reading;

use panewire_core::agent::claude::{ClaudeReader, Selection, recorded};
use panewire_core::agent::{Caps, Line, Reader as _, Recorded};
use panewire_core::entry::Role::{Assistant, System, User};
use panewire_core::source::records::is_whole;
use reading::{call, read, read_as, said, text};

fn user(text: &str) -> String {
    format!(r#"{{"parentUuid":null,"type":"user","message":{{"role":"user","content":"{text}"}},"uuid":"u"}}"#)
}

fn assistant(text: &str) -> String {
    format!(
        r#"{{"parentUuid":"u","message":{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}},"type":"assistant","uuid":"a"}}"#
    )
}

#[test]
fn b01_lines_of_another_session_id_belong_to_the_file_they_stand_in() {
    let lines: Vec<String> = [("A", "one"), ("A", "two"), ("B", "three"), ("B", "four")]
        .map(|(id, text)| format!(r#"{{"sessionId":"{id}","type":"user","message":{{"content":"{text}"}}}}"#))
        .into();
    assert_eq!(said(&read(&lines.join("\n"))), [(User, "one"), (User, "two"), (User, "three"), (User, "four")]);
}

#[test]
fn b03_titles_and_last_prompts_make_no_entries() {
    let title = r#"{"type":"ai-title","aiTitle":"Tea","sessionId":"s"}"#;
    let last = r#"{"type":"last-prompt","lastPrompt":"brew","leafUuid":"u","sessionId":"s"}"#;
    let lines = [user("brew").as_str(), last, title, last, title, assistant("done").as_str()].join("\n");
    assert_eq!(said(&read(&lines)), [(User, "brew"), (Assistant, "done")]);
}

#[test]
fn b05_a_cut_last_line_waits_and_costs_nothing_before_it() {
    let mut lines: Vec<String> = (0..200).map(|number| user(&format!("line {number}"))).collect();
    assert_eq!(read(&lines.join("\n")).len(), 200);
    let cut = r#"{"type":"assistant","mess"#;
    assert!(!is_whole(cut.as_bytes()));
    lines.push(cut.into());
    lines.push(user("after"));
    let entries = read(&lines.join("\n"));
    assert_eq!(entries.len(), 202);
    assert_eq!(
        said(&entries[200..]),
        [(System, r#"unreadable line (25 bytes): {"type":"assistant","mess"#), (User, "after")]
    );
}

#[test]
fn b07_a_record_that_begins_inside_another_is_found_and_the_loss_is_marked() {
    let torn = &user("half of it")[..60];
    let lines = [user("before"), format!("{torn}{}", assistant("whole")), user("after")].join("\n");
    let entries = read(&lines);
    assert_eq!(
        said(&entries),
        [
            (User, "before"),
            (System, r#"unreadable line (60 bytes): {"parentUuid":null,"type":"user","message":{"role":"user","c"#),
            (Assistant, "whole"),
            (User, "after"),
        ]
    );
    assert_eq!(entries.iter().map(|entry| entry.parsed).collect::<Vec<_>>(), [true, false, true, true]);
}

#[test]
fn b07_records_that_are_glued_are_records() {
    let summary = r#"{"type":"summary","summary":"Tea","leafUuid":"u"}"#;
    for blanks in ["", " ", "\r", "\0\0", "\u{feff}"] {
        let line = [user("one").as_str(), summary, assistant("two").as_str()].join(blanks);
        assert_eq!(said(&read(&line)), [(User, "one"), (Assistant, "two")], "{blanks:?}");
        assert!(is_whole(line.as_bytes()));
    }
}

#[test]
fn b07_a_record_before_a_fragment_is_a_record() {
    let line = format!("{}{}", user("one"), r#"{"parentUuid":"u","mess"#);
    let entries = read(&line);
    assert_eq!(said(&entries), [(User, "one"), (System, r#"unreadable line (23 bytes): {"parentUuid":"u","mess"#)]);
    assert_eq!(entries[1].id, format!("@{}#0", user("one").len()));
}

#[test]
fn b09_both_children_of_one_line_are_shown_in_file_order() {
    let lines = [
        r#"{"uuid":"u1","parentUuid":null,"type":"user","message":{"content":"u1"}}"#,
        r#"{"uuid":"a1","parentUuid":"u1","type":"assistant","message":{"content":"a1"}}"#,
        r#"{"uuid":"a2","parentUuid":"u1","type":"assistant","message":{"content":"a2"}}"#,
        r#"{"uuid":"u2","parentUuid":"a2","type":"user","message":{"content":"u2"}}"#,
    ];
    let entries = read(&lines.join("\n"));
    assert_eq!(entries.iter().map(text).collect::<Vec<_>>(), ["u1", "a1", "a2", "u2"]);
}

#[test]
fn b31_a_clear_inside_a_file_changes_nothing_before_or_after_it() {
    let clear = user("<command-name>/clear</command-name>");
    let lines = [user("u1"), assistant("a1"), clear, user("u2"), assistant("a2")].join("\n");
    assert_eq!(
        said(&read(&lines)),
        [(User, "u1"), (Assistant, "a1"), (User, "/clear"), (User, "u2"), (Assistant, "a2")]
    );
}

#[test]
fn b37_a_bad_line_in_the_middle_is_marked() {
    let lines = [user("one").as_str(), "{bad", assistant("two").as_str()].join("\n");
    assert_eq!(said(&read(&lines)), [(User, "one"), (System, "unreadable line (4 bytes): {bad"), (Assistant, "two")]);
}

#[test]
fn b39_a_line_that_is_too_long_is_one_entry_that_says_how_long_it_was() {
    let reader = ClaudeReader { selection: Selection::Main };
    let line = Line { offset: 7, bytes: &[], over_cap: Some(16_000_000) };
    let mut entries = Vec::new();
    reader.read(&line, &Caps::WIRE, &mut |entry| entries.push(entry));
    assert_eq!(reader.count(&line), 1);
    assert_eq!(said(&entries), [(System, "line too long to read (16000000 bytes)")]);
    assert_eq!((entries[0].id.as_str(), entries[0].parsed), ("@7#0", false));
}

#[test]
fn b53_a_message_typed_while_a_tool_runs_stands_between_call_and_answer() {
    let lines = [
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Pour","input":{}}]}}"#,
        r#"{"type":"queue-operation","operation":"enqueue","content":"stop that"}"#,
        r#"{"type":"attachment","uuid":"q","attachment":{"type":"queued_command","prompt":"stop that","commandMode":"prompt","origin":{"kind":"human"}}}"#,
        r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":[{"type":"text","text":"now"},{"type":"image"}],"commandMode":"prompt"}}"#,
        r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"<task-notification><summary>Boiled</summary></task-notification>","commandMode":"task-notification"}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"poured"}]}}"#,
    ];
    assert_eq!(
        said(&read(&lines.join("\n"))),
        [
            (Assistant, "Pour"),
            (User, "stop that"),
            (User, "now"),
            (User, "[image]"),
            (System, "Boiled"),
            (User, "poured"),
        ]
    );
}

#[test]
fn b55_a_new_kind_of_bookkeeping_makes_no_entry() {
    let unknown = r#"{"type":"never-seen","value":"","sessionId":"s"}"#;
    let lines = [user("one").as_str(), unknown, assistant("two").as_str()].join("\n");
    assert_eq!(said(&read(&lines)), [(User, "one"), (Assistant, "two")]);
}

#[test]
fn b59_a_question_is_shown_with_its_options_before_it_is_answered() {
    let line = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"AskUserQuestion","input":{"questions":[{"question":"Which tea?","header":"Tea","multiSelect":false,"options":[{"label":"Green","description":"light"},{"label":"Black","description":"dark"}]}]}}]}}"#;
    assert!(is_whole(line.as_bytes()));
    let entries = read(line);
    assert_eq!(call(&entries[0]).subtitle.as_deref(), Some("Which tea?"));
    assert_eq!(call(&entries[0]).input_summary.as_deref(), Some("Which tea? [Green | Black]"));
}

#[test]
fn damage_behind_the_message_costs_that_field_only() {
    let line = r#"{"type":"user","uuid":"u","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"said"}]},"toolUseResult":{"stdout":"x";"y":1},"timestamp":"never"}"#;
    let entries = read(line);
    assert_eq!(said(&entries), [(User, "said")]);
    assert_eq!((entries[0].id.as_str(), entries[0].parsed, entries[0].ts.as_deref()), ("u#0", true, None));
    // The type of an assistant's record stands behind its message.
    let line = r#"{"message":{"role":"assistant","content":[{"type":"text","text":"said"}],"usage":{"a":;}},"type":"assistant"}"#;
    assert_eq!(said(&read(line)), [(Assistant, "said")]);
}

#[test]
fn text_that_is_no_text_does_not_sink_a_line() {
    let line = b"{\"type\":\"user\",\"message\":{\"content\":\"a\\ud800b \xFF\xFE \x01c\\q\\u00zz\xE4\xB8\xAD\"}}";
    let entries = read_as(Selection::Main, line, &Caps::WIRE);
    assert_eq!(text(&entries[0]), "a\u{fffd}b \u{fffd}\u{fffd} c\u{fffd}\u{fffd}00zz中");
}

#[test]
fn the_last_of_repeated_members_counts() {
    let line = r#"{"type":"mode","message":{"content":"first"},"message":{"content":"last"},"type":"user"}"#;
    assert_eq!(said(&read(line)), [(User, "last")]);
}

#[test]
fn only_whole_objects_are_taken_before_their_newline() {
    for (tail, whole) in [
        (r#"{"a":1}"#, true),
        (" \u{feff}{\"a\":1} {\"b\":[]}\r", true),
        (r#"{"a":"}"#, false),
        (r#"{"a":{}"#, false),
        (r#"x{"a":1}"#, false),
        (r#"{"a":1}x}"#, false),
        (r#"{"a":1,}"#, false),
        (r#"[{"a":1}]"#, false),
        ("", false),
        (" ", false),
    ] {
        assert_eq!(is_whole(tail.as_bytes()), whole, "{tail}");
    }
}

#[test]
fn the_beginning_of_a_file_says_where_and_what_it_is() {
    let lines = [
        r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{}}"#.to_string(),
        r#"{"type":"user","cwd":"","isMeta":true,"message":{"content":"injected"}}"#.into(),
        r#"{"type":"user","cwd":"/w/tea","message":{"content":"<command-name>/clear</command-name>"}}"#.into(),
        r#"{"type":"user","cwd":"/w","message":{"content":"Brew\n a pot"}}"#.into(),
    ]
    .join("\n");
    assert_eq!(
        recorded(lines.as_bytes()),
        Recorded {
            cwd: Some("/w/tea".into()),
            conversation: true,
            first_prompt: Some("Brew a pot".into()),
            ..Recorded::default()
        }
    );
    let bookkeeping = r#"{"type":"bridge-session","sessionId":"s"}"#;
    assert_eq!(recorded(bookkeeping.as_bytes()), Recorded::default());
    // A first line that is longer than what is looked at.
    let cut = format!(
        r#"{{"cwd":"/w","type":"user","message":{{"role":"user","content":[{{"type":"text","text":"See"}},{{"type":"image","source":{{"data":"{}"#,
        "A".repeat(500)
    );
    assert_eq!(
        recorded(cut.as_bytes()),
        Recorded {
            cwd: Some("/w".into()),
            conversation: true,
            first_prompt: Some("See".into()),
            ..Recorded::default()
        }
    );
}

#[test]
fn what_stands_behind_a_torn_record_in_its_line_is_at_the_beginning_too() {
    let torn = r#"{"parentUuid":null,"isSidechain":false,"cwd":"/home/u/"#;
    let behind = r#"{"type":"user","cwd":"/home/u/a","message":{"role":"user","content":"Glued."}}"#;
    let expected = Recorded {
        cwd: Some("/home/u/a".to_owned()),
        conversation: true,
        first_prompt: Some("Glued.".to_owned()),
        ..Recorded::default()
    };
    assert_eq!(recorded(format!("{torn}{behind}").as_bytes()), expected);
    assert_eq!(recorded(format!("{torn}{behind}\n").as_bytes()), expected);
    assert_eq!(recorded(format!("{torn}\n{behind}").as_bytes()), expected);
}
