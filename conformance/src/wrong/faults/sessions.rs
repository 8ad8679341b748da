//! How a pane goes on to another session, and what is told of its subagents.

use serde_json::{Value, json};

use crate::wrong::fault::{Fault, How, fault};
use crate::wrong::spoil::{add, is, remove, rows, without};

pub(super) const FAULTS: &[Fault] =
    &[
        // Another session.
        fault(
            "rotation-is-not-told",
            "rotation-sends-a-fresh-opening",
            "rotation-begins-with-session-changed",
            How::Stream(|frame, _| without(frame, "session_changed")),
        ),
        fault(
            "rotation-without-a-fresh-hello",
            "rotation-sends-a-fresh-opening",
            "rotation-hello-has-the-new-session",
            How::Stream(|frame, memory| {
                memory.rotated |= is(&frame, "session_changed");
                if memory.rotated { without(frame, "hello") } else { vec![frame] }
            }),
        ),
        fault(
            "rotation-without-its-page",
            "rotation-sends-a-fresh-opening",
            "rotation-sends-the-new-newest-page",
            How::Stream(|frame, memory| {
                memory.rotated |= is(&frame, "session_changed");
                if memory.rotated && frame["live"] == false { Vec::new() } else { vec![frame] }
            }),
        ),
        fault(
            "rotation-without-backlog-complete",
            "rotation-sends-a-fresh-opening",
            "rotation-page-ends-with-backlog-complete",
            How::Stream(|frame, memory| {
                memory.rotated |= is(&frame, "session_changed");
                if memory.rotated { without(frame, "backlog_complete") } else { vec![frame] }
            }),
        ),
        fault(
            "session-changed-names-only-the-new",
            "rotation-sends-a-fresh-opening",
            "session-changed-frame",
            How::Frame(|frame| remove(frame, "", "from", "session_changed")),
        ),
        fault(
            "seq-goes-on-after-a-rotation",
            "rotation-sends-a-fresh-opening",
            "seq-restarts-in-a-new-session",
            How::Stream(|mut frame, memory| {
                memory.rotated |= is(&frame, "session_changed");
                if memory.rotated {
                    add(&mut frame, "/entry/seq", memory.head);
                } else {
                    memory.head = frame["entry"]["seq"].as_u64().unwrap_or(memory.head);
                }
                vec![frame]
            }),
        ),
        fault(
            "tail-of-the-old-session-goes-on",
            "old-session-is-silent-after-a-rotation",
            "rotation-goes-on-with-the-new-tail",
            How::Stream(|frame, memory| {
                memory.rotated |= is(&frame, "session_changed");
                let late = json!({"type": "entry", "live": true, "entry": {"id": "u-4#0", "seq": 4}});
                if memory.rotated && frame["live"] == true { vec![late, frame] } else { vec![frame] }
            }),
        ),
        fault(
            "stale-page-after-a-rotation",
            "pages-end-with-their-session",
            "",
            How::Stream(|frame, memory| {
                let mut frames = vec![frame.clone()];
                if is(&frame, "session_changed") {
                    memory.rotated = true;
                } else if memory.rotated && is(&frame, "hello") {
                    frames.append(&mut memory.held);
                } else if !memory.rotated && is(&frame, "entry") {
                    memory.held = vec![frame];
                }
                frames
            }),
        ),
        fault(
            "rewrite-is-not-told",
            "rewrite-is-told-by-session-changed",
            "",
            How::Stream(|frame, _| without(frame, "session_changed")),
        ),
        // Subagents.
        fault(
            "roster-missing-in-hello",
            "roster-in-hello",
            "roster-is-the-whole-sessions",
            How::Frame(|frame| remove(frame, "", "subagents", "hello")),
        ),
        fault(
            "roster-in-order-of-names",
            "roster-in-hello",
            "roster-order",
            How::Frame(|frame| {
                let rows = frame.pointer_mut("/subagents").and_then(Value::as_array_mut);
                rows.into_iter().for_each(|rows| rows.sort_by_key(|row| row["agent_id"].to_string()));
            }),
        ),
        fault(
            "roster-is-never-sent-again",
            "roster-frame-when-a-child-appears",
            "subagents-frame",
            How::Stream(|frame, _| without(frame, "subagents")),
        ),
        fault(
            "empty-roster-is-not-told",
            "empty-roster-is-an-update",
            "empty-roster-is-an-update",
            How::Stream(|frame, _| {
                if is(&frame, "subagents") && frame["subagents"] == json!([]) { Vec::new() } else { vec![frame] }
            }),
        ),
        fault(
            "children-never-end",
            "synchronous-child-ends-with-its-result",
            "synchronous-end-is-the-result",
            How::Frame(|frame| rows(frame, |row| row["done"] = json!(false))),
        ),
        fault(
            "children-end-with-their-call",
            "asynchronous-child-ends-with-a-notification",
            "asynchronous-end-is-a-notification",
            How::Frame(|frame| {
                rows(frame, |row| row["done"] = json!(true));
            }),
        ),
        fault(
            "unknown-time-is-just-now",
            "child-without-a-time",
            "roster-last-activity",
            How::Frame(|frame| {
                rows(frame, |row| {
                    if row.get("last_activity_ts").is_none() {
                        row["last_activity_ts"] = json!(1_772_355_600_000_u64);
                    }
                })
            }),
        ),
        fault(
            "roster-stays-after-a-rotation",
            "roster-is-read-again-after-a-rotation",
            "roster-is-read-again-after-a-rotation",
            How::Stream(|mut frame, memory| {
                if is(&frame, "hello") {
                    match memory.held.first() {
                        Some(first) => frame["subagents"] = first["subagents"].clone(),
                        None => memory.held.push(frame.clone()),
                    }
                }
                vec![frame]
            }),
        ),
        fault(
            "stream-of-a-child-rotates",
            "child-stream-does-not-rotate",
            "subagent-stream-does-not-rotate",
            How::Stream(|frame, _| {
                let changed = json!({"type": "session_changed", "pane": "w1:p1", "from": "a", "to": "b"});
                if frame["live"] == true { vec![changed, frame] } else { vec![frame] }
            }),
        ),
        fault(
            "stream-of-a-child-does-not-say-so",
            "child-is-streamed-by-its-id",
            "roster-in-hello-and-subagent-parameter",
            How::Frame(|frame| {
                remove(frame, "", "subagent", "hello");
            }),
        ),
    ];
