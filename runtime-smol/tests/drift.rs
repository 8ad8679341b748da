//! `panewire drift`: the real program over real files.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::process::Command;

const KNOWN: &str = r#"{"type":"user","version":"2.1.0","message":{"role":"user","content":"hello"}}
{"type":"mode","mode":"plan"}
"#;
const UNKNOWN: &str = r#"{"type":"omen","version":"2.2.0"}
{"type":"assistant","version":"2.2.0","message":{"content":[{"type":"tool_use","id":"t","name":"Hammer","input":{}}]}}
{"type":"system","subtype":"turn_duration"}
{"type":"user","version":"2.2.0","message":{"content":[{"type":"song"}]}}"#;

/// A home with two projects, a child and things that are no transcripts.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let projects = home.path().join(".claude/projects");
    let write = |name: &str, text: &str| {
        let path = projects.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("-a/one.jsonl", KNOWN);
    write("-b/two.jsonl", UNKNOWN);
    write("-b/two/subagents/agent-a1.jsonl", &KNOWN.replace("\"version\"", "\"isSidechain\":true,\"version\""));
    write("-b/two/subagents/journal.jsonl", UNKNOWN);
    write("-b/notes.txt", UNKNOWN);
    home
}

/// Exit code, standard output and standard error.
fn drift(home: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_panewire"));
    let output = command.env_clear().env("HOME", home).arg("drift").args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn what_is_not_known_is_listed_with_its_first_place() {
    let home = home();
    let file = home.path().join(".claude/projects/-b/two.jsonl");
    let file = file.to_str().unwrap();
    let row = |what: &str, name: &str, offset: usize| {
        format!("{what:<10}        1  2.2.0       {name:<40}  {file}:{offset}\n")
    };
    let expected = format!(
        "3 files, 8 lines, 4 entries\n\nwhat          count  version     name                                      first seen\n{}{}{}",
        row("record", "omen", 0),
        row("block", "song", UNKNOWN.rfind("{\"type\":\"user\"").unwrap()),
        row("tool", "Hammer", UNKNOWN.find("{\"type\":\"assistant\"").unwrap()),
    );
    assert_eq!(drift(home.path(), &[]), (Some(0), expected, String::new()));
}

#[test]
fn json_is_the_report_of_the_daemon() {
    let home = home();
    let file = home.path().join(".claude/projects/-b/two.jsonl");
    let (code, out, _) = drift(home.path(), &["--json", file.to_str().unwrap()]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let names: Vec<&str> = report["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!((code, names), (Some(0), vec!["omen", "song", "Hammer"]));
    assert_eq!(report["rows"][0]["file"], file.to_str().unwrap());
}

#[test]
fn nothing_unknown_is_said_so() {
    let home = home();
    let path = home.path().join(".claude/projects/-a");
    let said = "1 file, 2 lines, 1 entry\nnothing unknown\n";
    assert_eq!(drift(home.path(), &[path.to_str().unwrap()]), (Some(0), said.into(), String::new()));
}

#[test]
fn the_table_says_what_every_record_became() {
    let home = home();
    let row = |name: &str, records: u32, entries: u32, became: &str| {
        format!("{name:<36}  {records:>9}  {entries:>9}  {became}\n")
    };
    let expected = [
        "record                                  records    entries  became\n".to_owned(),
        row("assistant", 1, 1, "tool_call 1"),
        row("mode", 2, 0, "bookkeeping 2"),
        row("omen", 1, 0, "unknown 1"),
        row("system turn_duration", 1, 0, "bookkeeping 1"),
        row("user", 3, 3, "not parsed 1, user message 2"),
        row("all", 8, 4, "not parsed 1, tool_call 1, user message 2, bookkeeping 3, unknown 1"),
        "\nnot parsed: 1 (25.00 %), blank: 0\n".to_owned(),
    ];
    assert_eq!(drift(home.path(), &["--table"]), (Some(0), expected.concat(), String::new()));
    let (_, json, _) = drift(home.path(), &["--table", "--json"]);
    let table: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&table["total"]["entries"], &table["rows"][2]["became"]["silent"]["unknown"]), (&4.into(), &1.into()));
}

#[test]
fn what_is_not_there_is_said_in_one_line() {
    let home = home();
    let (code, out, err) = drift(home.path(), &["/nowhere/at/all"]);
    let said = "panewire: cannot read /nowhere/at/all: No such file or directory (os error 2)\n";
    assert_eq!((code, &*out, &*err), (Some(1), "", said));
    let empty = tempfile::tempdir().unwrap();
    let roots = [
        ".claude/projects",
        ".codex/sessions",
        ".codex/archived_sessions",
        ".pi/agent/sessions",
        ".local/share/opencode/storage",
        ".gemini/tmp",
    ];
    let roots = roots.map(|root| empty.path().join(root).display().to_string());
    let said = format!(
        "panewire: there are no sessions: none of {} exists; name a DIR or a FILE, or another home by --home DIR\n",
        roots.join(", ")
    );
    assert_eq!(drift(empty.path(), &[]), (Some(1), String::new(), said));
}
