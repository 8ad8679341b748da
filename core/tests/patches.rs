//! The diffs of answers, applied: by a strict reader of patches, and by the `patch` program where there is one.
#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that runs a program on files"
)]

mod reading;

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use panewire_core::agent::codex::CodexReader;
use panewire_core::agent::pi::PiReader;
use panewire_core::agent::{Caps, Reader};
use reading::{answer, call, read_with};
use serde_json::{Value, json};

/// `line 1` up to `line 40`, but for some of them.
fn forty(changed: &[(usize, &str)]) -> String {
    (1..=40).fold(String::new(), |mut text, number| {
        match changed.iter().find(|(at, _)| *at == number) {
            Some((_, line)) => text.push_str(line),
            None => writeln!(text, "line {number}").unwrap(),
        }
        text
    })
}

/// The diff of the only answer in a line.
fn diff_of(reader: &dyn Reader, line: &Value) -> String {
    let entries = read_with(reader, line.to_string().as_bytes(), &Caps::WIRE);
    answer(&entries[0]).diff.clone().unwrap()
}

fn edited(details: Value) -> String {
    let message = json!({"role": "toolResult", "toolCallId": "t1", "toolName": "edit", "details": details,
                         "content": [{"type": "text", "text": "done"}], "isError": false});
    diff_of(&PiReader, &json!({"type": "message", "id": "1a2b3c4d", "message": message}))
}

fn patched(changes: Value) -> String {
    let payload = json!({"type": "patch_apply_end", "call_id": "c1", "success": true, "changes": changes});
    diff_of(&CodexReader, &json!({"timestamp": "t", "type": "event_msg", "payload": payload}))
}

/// Fails unless the diff, without file headers, leads from one text to the other.
fn assert_applies(what: &str, before: &str, diff: &str, after: &str) {
    let patch = assert_strictly_applies(what, before, diff, after);
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a"), before).unwrap();
    if run_patch(what, directory.path(), &patch) {
        assert_eq!(std::fs::read_to_string(directory.path().join("a")).unwrap(), after, "{what}: {patch}");
    }
}

/// The same without the program: to it, what ends without a line of context is the end of the file.
fn assert_strictly_applies(what: &str, before: &str, diff: &str, after: &str) -> String {
    let patch = format!("--- a\n+++ a\n{diff}\n");
    let parsed = diffy::Patch::from_str(&patch).unwrap_or_else(|error| panic!("{what}: {error} in {patch}"));
    assert_eq!(diffy::apply(before, &parsed).unwrap(), after, "{what}: {patch}");
    patch
}

/// Runs `patch` in a directory, without guessing; `false` if there is no such program.
fn run_patch(what: &str, directory: &Path, patch: &str) -> bool {
    std::fs::write(directory.join("the.patch"), patch).unwrap();
    let arguments = ["-p0", "--batch", "--fuzz=0", "--binary", "--input=the.patch"];
    match Command::new("patch").args(arguments).current_dir(directory).output() {
        Ok(done) => {
            assert!(done.status.success(), "{what}: {}{patch}", String::from_utf8_lossy(&done.stdout));
            // It says so where it had to look for the place.
            assert!(!String::from_utf8_lossy(&done.stdout).contains("offset"), "{what}: {done:?}{patch}");
            true
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("{what}: not applied by `patch`, which is not installed");
            false
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

#[test]
fn pis_numbered_diffs_apply() {
    let before = forty(&[]);
    let one = "    ...\n 17 line 17\n 18 line 18\n 19 line 19\n 20 line 20\n-21 line 21\n+21 changed\n 22 line 22\n 23 line 23\n 24 line 24\n 25 line 25\n    ...";
    let after = forty(&[(21, "changed\n")]);
    assert_applies("one change", &before, &edited(json!({"diff": one, "firstChangedLine": 21})), &after);
    let early = one.replace(" 17 ", "  1 ").replace(" 18 ", "  2 ").replace(" 19 ", "  3 ").replace(" 20 ", "  4 ");
    assert_applies("numbered from 1", &before, &edited(json!({"diff": early})), &after);
    let added = "    ...\n  1 line 27\n  2 line 28\n+29 new\n+30 newer\n 29 line 29\n 30 line 30\n    ...";
    let after = forty(&[(29, "new\nnewer\nline 29\n")]);
    assert_applies("lines added, numbered from 1", &before, &edited(json!({"diff": added})), &after);
    let two = "  1 line 1\n- 2 line 2\n  3 line 3\n    ...\n 29 line 29\n+29 new\n+30 newer\n-30 line 30\n 31 line 31\n    ...\n 39 line 39\n-40 line 40";
    let after = forty(&[(2, ""), (30, "new\nnewer\n"), (40, "")]);
    assert_applies("several changes", &before, &edited(json!({"diff": two})), &after);
    let all = "-1 a\n+1 b\n+2  c";
    assert_applies("a whole file", "a\n", &edited(json!({"diff": all})), "b\n c\n");
    assert_applies("from nothing", "", &edited(json!({"diff": "+1 a\n+2 \n+3 b"})), "a\n\nb\n");
    assert_applies("to nothing", "a\n", &edited(json!({"diff": "-1 a"})), "");
    assert_applies("with returns", "a\r\nb\r\n", &edited(json!({"diff": "-1 a\r\n+1 c\r\n 2 b\r"})), "c\r\nb\r\n");
}

#[test]
fn pis_patches_apply() {
    let patch =
        "--- a.txt\n+++ a.txt\n@@ -38,3 +38,3 @@\n line 38\n line 39\n-line 40\n+last\n\\ No newline at end of file\n";
    let diff = edited(json!({"diff": "not this one", "patch": patch}));
    assert_applies("a patch", &forty(&[]), &diff, &forty(&[(40, "last")]));
}

#[test]
fn codexs_changes_apply() {
    let diff = patched(
        json!({"a": {"type": "update", "unified_diff": "@@ -20,3 +20,3 @@\n line 20\n-line 21\n+changed\n line 22\n"}}),
    );
    assert_applies("an update", &forty(&[]), &diff, &forty(&[(21, "changed\n")]));
    let unended = "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n";
    let diff = patched(json!({"a": {"type": "update", "unified_diff": unended}}));
    assert_applies("an end without a newline", "a\nb", &diff, "a\nc\n");
    let returns = "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n";
    let diff = patched(json!({"a": {"type": "update", "unified_diff": returns}}));
    assert_applies("returns", "a\r\nb\r\n", &diff, "a\r\nc\r\n");
    assert_applies("a new file", "", &patched(json!({"a": {"type": "add", "content": "a\nb"}})), "a\nb");
    assert_applies("a file that goes", "a\n\n", &patched(json!({"a": {"type": "delete", "content": "a\n\n"}})), "");
}

#[test]
fn changes_of_several_files_apply_together() {
    let diff = patched(json!({
        "new file": {"type": "add", "content": "1\n"},
        "gone": {"type": "delete", "content": "2\n"},
        "kept": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-3\n+4\n", "move_path": null},
    }));
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("gone"), "2\n").unwrap();
    std::fs::write(directory.path().join("kept"), "3\n").unwrap();
    if run_patch("several files", directory.path(), &format!("{diff}\n")) {
        let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).ok();
        assert_eq!(
            (read("new file").as_deref(), read("gone"), read("kept").as_deref()),
            (Some("1\n"), None, Some("4\n"))
        );
    }
}

#[test]
fn the_diff_that_a_call_wants_applies_to_the_lines_that_it_names() {
    let body = "*** Begin Patch\n*** Update File: a\n@@ fn one\n 1\n-2\n+two\n@@ fn two\n-3\n 4\n*** End of File\n*** End Patch\n";
    let payload = json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": body});
    let line = json!({"timestamp": "t", "type": "response_item", "payload": payload}).to_string();
    let entries = read_with(&CodexReader, line.as_bytes(), &Caps::WIRE);
    let diff = call(&entries[0]).diff.clone().unwrap();
    assert_strictly_applies("a call of Codex", "1\n2\n3\n4\n", &diff, "1\ntwo\n4\n");
    let arguments = json!({"path": "a", "edits": [{"oldText": "1\n2\n", "newText": "1\ntwo\n"}, {"oldText": "3", "newText": "three"}]});
    let block = json!({"type": "toolCall", "id": "t1", "name": "edit", "arguments": arguments});
    let line = json!({"type": "message", "message": {"role": "assistant", "content": [block]}}).to_string();
    let entries = read_with(&PiReader, line.as_bytes(), &Caps::WIRE);
    let diff = call(&entries[0]).diff.clone().unwrap();
    assert_strictly_applies("a call of pi", "1\n2\n3\n", &diff, "1\ntwo\nthree\n");
}
