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
    let said = "cannot read w1:p2: No such file or directory (os error 2); \
                show wants a transcript (*.jsonl) or a session, 'panewire tail' a pane";
    assert_eq!(panewire(home.path(), &["show", "w1:p2"]), failure(said));
}

#[test]
fn a_session_is_shown_by_its_id_and_by_the_pane_that_the_list_names() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join(".claude/projects/-srv-garden");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("7d2c.jsonl"), ENTRY).unwrap();
    let shown = (Some(0), "#1 user\n  hello\n\n".to_owned(), String::new());
    assert_eq!(panewire(home.path(), &["show", "7d2c"]), shown);
    assert_eq!(panewire(home.path(), &["show", "claude:7d2c"]), shown);
    let (code, _, said) = panewire(home.path(), &["show", "codex:7d2c"]);
    assert_eq!(code, Some(1));
    assert!(said.starts_with("panewire: there is no file codex:7d2c and no such session below "), "{said}");
}

#[test]
fn a_session_that_is_no_file_is_left_to_the_daemon() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join(".local/share/opencode/storage/session/garden");
    fs::create_dir_all(&project).unwrap();
    let session = r#"{"id":"ses_7d2c","directory":"/srv/garden","time":{"created":1788600000000}}"#;
    fs::write(project.join("ses_7d2c.json"), session).unwrap();
    let said = "opencode keeps no transcript that show could read: 'panewire tail opencode:ses_7d2c' follows the \
                session, with a daemon";
    assert_eq!(panewire(home.path(), &["show", "ses_7d2c"]), failure(said));
    assert_eq!(panewire(home.path(), &["show", "opencode:ses_7d2c"]), failure(said));
}

#[test]
fn a_wrong_flag_ends_with_2_and_the_way_to_the_right_one() {
    let home = tempfile::tempdir().unwrap();
    let said = "panewire: invalid option '--table' (see panewire tail --help)\n";
    assert_eq!(panewire(home.path(), &["tail", "--table"]), (Some(2), String::new(), said.into()));
    let (code, help, _) = panewire(home.path(), &["help", "tail"]);
    assert_eq!((code, help.lines().nth(2)), (Some(0), Some("usage: panewire tail [--url URL] [OPTIONS] PANE")));
}
