//! What the real program says to a person who starts it wrongly: one line with what happened and what to do.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::process::Command;

const ENTRY: &str = r#"{"type":"user","uuid":"u1","message":{"role":"user","content":"hello"}}"#;

/// Exit code, standard output and standard error.
fn panewire(home: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_panewire"));
    let output = command.env_clear().env("HOME", home).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A command that fails with this line.
fn failure(said: &str) -> (Option<i32>, String, String) {
    (Some(1), String::new(), format!("panewire: {said}\n"))
}

#[test]
fn a_conversation_is_printed_and_one_that_is_none_is_named() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let file = path("a.jsonl");
    fs::write(&file, ENTRY).unwrap();
    assert_eq!(panewire(home.path(), &["show", &file]), (Some(0), "#1 user\n  hello\n\n".into(), String::new()));
    let json = r#"{"id":"u1#0","seq":1,"role":"user","kind":"message","text":"hello","parsed":true}"#;
    assert_eq!(panewire(home.path(), &["show", "--json", &file]), (Some(0), format!("{json}\n"), String::new()));
    fs::write(&file, "").unwrap();
    let nothing = format!("panewire: there are no entries in {file}\n");
    assert_eq!(panewire(home.path(), &["show", &file]), (Some(0), String::new(), nothing));
    let directory = path("");
    let said = format!("{directory} is not a file: show wants a transcript (*.jsonl) or a session");
    assert_eq!(panewire(home.path(), &["show", &directory]), failure(&said));
    let said = format!(
        "there is no file 7d2c and no such session below {}: 'panewire panes' lists what there is",
        [
            ".claude/projects",
            ".codex/sessions",
            ".codex/archived_sessions",
            ".pi/agent/sessions",
            ".local/share/opencode/storage",
            ".gemini/tmp",
        ]
        .map(path)
        .join(", ")
    );
    assert_eq!(panewire(home.path(), &["show", "7d2c"]), failure(&said));
}

#[test]
fn a_wrong_flag_ends_with_2_and_the_way_to_the_right_one() {
    let home = tempfile::tempdir().unwrap();
    let said = "panewire: invalid option '--table' (see panewire tail --help)\n";
    assert_eq!(panewire(home.path(), &["tail", "--table"]), (Some(2), String::new(), said.into()));
    let (code, help, _) = panewire(home.path(), &["help", "tail"]);
    assert_eq!((code, help.lines().nth(2)), (Some(0), Some("usage: panewire tail [--url URL] [OPTIONS] PANE")));
}
