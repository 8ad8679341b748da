//! What an entry says.

use serde_json::{Value, json};

use crate::wrong::fault::{Fault, How, fault};
use crate::wrong::spoil::{is, remove, set};

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "id-without-its-block",
        "seq-counts-entries-and-not-lines",
        "entry-id-is-uuid-and-block",
        How::Frame(|frame| {
            let id = frame["entry"]["id"].as_str().and_then(|id| id.split_once('#')).map(|(uuid, _)| json!(uuid));
            id.into_iter().for_each(|id| set(frame, "/entry/id", id));
        }),
    ),
    fault(
        "parent-missing",
        "assistant-message",
        "entry-parent-id",
        How::Frame(|frame| remove(frame, "/entry", "parent_id", "entry")),
    ),
    fault(
        "empty-fields-are-null",
        "user-message",
        "empty-fields-are-omitted",
        How::Frame(|frame| {
            if is(frame, "entry") {
                frame["entry"]["tool"] = Value::Null;
            }
        }),
    ),
    fault(
        "system-speaks-as-the-user",
        "system-message",
        "example-system-message",
        How::Frame(|frame| {
            if frame["entry"]["role"] == "system" {
                set(frame, "/entry/role", json!("user"));
            }
        }),
    ),
    fault(
        "results-are-of-the-assistant",
        "bash-result",
        "example-bash-result",
        How::Frame(|frame| {
            if frame["entry"]["kind"] == "tool_result" {
                set(frame, "/entry/role", json!("assistant"));
            }
        }),
    ),
    fault(
        "result-does-not-name-its-call",
        "bash-result",
        "result-for-id",
        How::Frame(|frame| remove(frame, "/entry/result", "for_id", "entry")),
    ),
    fault(
        "every-result-is-ok",
        "rejected-permission",
        "result-ok",
        How::Frame(|frame| set(frame, "/entry/result/ok", json!(true))),
    ),
    fault(
        "file-with-its-directories",
        "edit-call",
        "tool-file-is-a-basename",
        How::Frame(|frame| {
            let path = frame
                .pointer("/entry/tool/file")
                .and_then(Value::as_str)
                .map(|file| json!(format!("/srv/tools/{file}")));
            path.into_iter().for_each(|path| set(frame, "/entry/tool/file", path));
        }),
    ),
    fault(
        "no-preview-of-an-edit",
        "edit-call",
        "tool-diff-is-a-preview",
        How::Frame(|frame| remove(frame, "/entry/tool", "diff", "entry")),
    ),
    fault(
        "no-applied-diff",
        "edit-result",
        "result-diff-is-the-applied-one",
        How::Frame(|frame| remove(frame, "/entry/result", "diff", "entry")),
    ),
    fault(
        "no-summary-of-an-unknown-tool",
        "unknown-tool-has-a-summary",
        "tool-input-summary",
        How::Frame(|frame| remove(frame, "/entry/tool", "input_summary", "entry")),
    ),
    fault(
        "cut-output-does-not-say-so",
        "long-output-is-cut-at-4000-characters",
        "result-truncated",
        How::Frame(|frame| remove(frame, "/entry/result", "truncated", "entry")),
    ),
    fault(
        "cut-preview-does-not-say-so",
        "long-diff-is-cut-at-400-lines",
        "tool-diff-truncated",
        How::Frame(|frame| remove(frame, "/entry/tool", "diff_truncated", "entry")),
    ),
    fault(
        "output-is-not-cut",
        "long-output-is-cut-at-4000-characters",
        "tool-output-is-4000-characters",
        How::Frame(|frame| {
            if frame.pointer("/entry/result/truncated").is_some() {
                set(frame, "/entry/result/output_summary", json!("é".repeat(4_001)));
            }
        }),
    ),
    fault(
        "damage-looks-parsed",
        "line-that-cannot-be-placed",
        "entry-parsed",
        How::Frame(|frame| set(frame, "/entry/parsed", json!(true))),
    ),
    fault(
        "damage-is-dropped",
        "line-that-cannot-be-placed",
        "entry-parsed",
        How::Stream(|frame, _| if frame["entry"]["parsed"] == false { Vec::new() } else { vec![frame] }),
    ),
];
