//! What can be wrong, and which vector must notice it.

use serde_json::{Value, json};

use crate::vector::document::Vector;
use crate::vector::stage::{Answered, Asked, Heard};
use crate::vector::step::Message;

/// One way to be wrong.
#[derive(Debug)]
pub struct Fault {
    /// What it is called.
    pub name: &'static str,
    /// The vector that must fail.
    pub shown_by: &'static str,
    /// A sentence that this vector must name as broken; empty for a vector that proves none.
    pub breaks: &'static str,
    pub(super) how: How,
}

/// Where it sits.
#[derive(Debug)]
pub(super) enum How {
    /// Each frame is changed.
    Frame(fn(&mut Value)),
    /// A frame becomes none, another one or several.
    Stream(fn(Value, &mut Memory) -> Vec<Value>),
    /// Frames are binary.
    Binary,
    /// The end of a socket is another one.
    End(fn(u16, String) -> Heard),
    /// A request is taken for another one; the second argument is the token.
    Asked(fn(&mut Asked, &str)),
    /// A message is taken for another one, or not heard.
    Said(fn(&Message) -> Option<Message>),
    /// A refusal is another one.
    Answer(fn(&mut Answered)),
    /// What lies on the disk is another thing.
    Before(fn(&mut Vector)),
}

/// What a fault remembers of a client.
#[derive(Debug, Default)]
pub(super) struct Memory {
    held: Vec<Value>,
    opened: bool,
    rotated: bool,
    live: u64,
    head: u64,
}

const fn fault(name: &'static str, shown_by: &'static str, breaks: &'static str, how: How) -> Fault {
    Fault { name, shown_by, breaks, how }
}

/// Every fault.
pub const FAULTS: &[Fault] = &[
    // The opening.
    fault(
        "hello-missing",
        "opening-in-order",
        "hello-comes-first-and-after-every-change",
        How::Stream(|frame, _| without(frame, "hello")),
    ),
    fault(
        "protocol-4",
        "hello-says-who-is-followed",
        "hello-protocol",
        How::Frame(|frame| set(frame, "/protocol", json!(4))),
    ),
    fault(
        "hello-names-another-pane",
        "hello-says-who-is-followed",
        "hello-pane",
        How::Frame(|frame| set(frame, "/pane", json!("w1:p0"))),
    ),
    fault(
        "empty-roster-instead-of-none",
        "hello-says-who-is-followed",
        "no-roster-when-nothing-was-delegated",
        How::Frame(|frame| {
            if is(frame, "hello") {
                frame["subagents"] = json!([]);
            }
        }),
    ),
    fault(
        "total-is-one-too-many",
        "counts-of-a-short-session",
        "hello-total",
        How::Frame(|frame| add(frame, "/total", 1)),
    ),
    fault(
        "cursor-missing-in-hello",
        "newest-page-is-150",
        "hello-oldest-loaded-seq",
        How::Frame(|frame| remove(frame, "", "oldest_loaded_seq", "hello")),
    ),
    fault(
        "has-older-always-false",
        "newest-page-is-150",
        "hello-has-older",
        How::Frame(|frame| set(frame, "/has_older", json!(false))),
    ),
    fault("newest-page-is-100", "newest-page-is-150", "newest-page-is-150", How::Stream(newest_page_of_100)),
    fault(
        "newest-page-is-reversed",
        "opening-in-order",
        "order-of-the-opening",
        How::Stream(|frame, memory| reversed(frame, memory, "backlog_complete")),
    ),
    fault(
        "backlog-is-live",
        "opening-in-order",
        "order-of-the-opening",
        How::Frame(|frame| set(frame, "/live", json!(true))),
    ),
    fault(
        "backlog-complete-missing",
        "opening-in-order",
        "backlog-complete-after-each-newest-page",
        How::Stream(|frame, _| without(frame, "backlog_complete")),
    ),
    fault(
        "backlog-complete-miscounts",
        "opening-in-order",
        "backlog-complete-frame",
        How::Frame(|frame| add(frame, "/count", 1)),
    ),
    // The tail.
    fault(
        "seq-off-by-one",
        "opening-in-order",
        "order-of-the-opening",
        How::Frame(|frame| add(frame, "/entry/seq", 1)),
    ),
    fault(
        "tail-is-not-live",
        "opening-in-order",
        "live-tells-tail-from-pages",
        How::Frame(|frame| set(frame, "/live", json!(false))),
    ),
    fault(
        "live-entry-lost",
        "several-lines-at-once",
        "tail-within-a-poll",
        How::Stream(|frame, memory| if live(&frame, memory) == 2 { Vec::new() } else { vec![frame] }),
    ),
    fault(
        "live-entry-twice",
        "several-lines-at-once",
        "seq-is-the-position-in-the-file",
        How::Stream(|frame, memory| if live(&frame, memory) == 2 { vec![frame.clone(), frame] } else { vec![frame] }),
    ),
    fault(
        "live-entries-swapped",
        "several-lines-at-once",
        "seq-is-the-position-in-the-file",
        How::Stream(|frame, memory| match live(&frame, memory) {
            2 => {
                memory.held.push(frame);
                Vec::new()
            }
            _ => core::iter::once(frame).chain(memory.held.drain(..)).collect(),
        }),
    ),
    fault(
        "newest-of-the-backlog-again-as-live",
        "opening-in-order",
        "live-seq-goes-on-from-the-backlog",
        How::Stream(|frame, memory| {
            let mut frames = vec![frame.clone()];
            if is(&frame, "backlog_complete") {
                frames.extend(memory.held.pop());
            } else if is(&frame, "entry") {
                let mut again = frame;
                set(&mut again, "/live", json!(true));
                memory.held = vec![again];
            }
            frames
        }),
    ),
    fault(
        "entries-in-batches",
        "several-lines-at-once",
        "one-entry-per-frame",
        How::Frame(|frame| {
            if is(frame, "entry") {
                let entry = frame["entry"].take();
                *frame = json!({"type": "entries", "live": frame["live"], "entries": [entry]});
            }
        }),
    ),
    fault("binary-frames", "opening-in-order", "every-frame-is-a-text-object", How::Binary),
    fault(
        "frames-without-a-type",
        "opening-in-order",
        "every-frame-has-a-type",
        How::Frame(|frame| remove(frame, "", "type", "entry")),
    ),
    // Pages.
    fault(
        "page-unsorted",
        "older-page-of-a-limit",
        "page-is-what-is-immediately-older",
        How::Stream(|frame, memory| {
            if memory.opened {
                return reversed(frame, memory, "page_complete");
            }
            memory.opened = is(&frame, "backlog_complete");
            vec![frame]
        }),
    ),
    fault(
        "page-complete-missing",
        "older-page-of-a-limit",
        "page-complete-after-each-older-page",
        How::Stream(|frame, _| without(frame, "page_complete")),
    ),
    fault(
        "page-complete-without-its-cursor",
        "older-page-is-150-by-default",
        "page-complete-echoes-the-cursor",
        How::Frame(|frame| remove(frame, "", "requested_before_seq", "page_complete")),
    ),
    fault(
        "page-has-a-wrong-next-cursor",
        "older-page-is-150-by-default",
        "page-complete-oldest-loaded-seq",
        How::Frame(|frame| {
            if is(frame, "page_complete") {
                add(frame, "/oldest_loaded_seq", 1);
            }
        }),
    ),
    fault(
        "last-page-has-older",
        "pages-down-to-the-first-entry",
        "page-complete-has-older",
        How::Frame(|frame| {
            if is(frame, "page_complete") {
                set(frame, "/has_older", json!(true));
            }
        }),
    ),
    fault(
        "empty-page-is-not-answered",
        "empty-page",
        "empty-page",
        How::Stream(|frame, _| {
            if frame["oldest_loaded_seq"] == 0 && is(&frame, "page_complete") { Vec::new() } else { vec![frame] }
        }),
    ),
    fault(
        "cursor-is-part-of-the-page",
        "page-from-the-middle",
        "load-older-before-seq",
        How::Said(|message| older(message, |ask| add(ask, "/before_seq", 1))),
    ),
    fault(
        "limit-is-not-heeded",
        "older-page-of-a-limit",
        "load-older-limit",
        How::Said(|message| older(message, |ask| remove(ask, "", "limit", "load_older"))),
    ),
    fault(
        "limit-is-clamped-to-150",
        "older-page-is-500-at-most",
        "older-page-is-150-to-500",
        How::Said(|message| older(message, |ask| set(ask, "/limit", json!(150)))),
    ),
    fault(
        "tail-stops-while-pages-are-read",
        "live-entries-between-those-of-a-page",
        "tail-runs-while-pages-are-read",
        How::Stream(|frame, _| if frame["live"] == true { Vec::new() } else { vec![frame] }),
    ),
    fault(
        "seq-of-its-own-in-every-page",
        "seq-is-the-same-wherever-an-entry-comes",
        "seq-is-stable-within-a-session",
        How::Stream(|mut frame, memory| {
            if memory.opened && frame["live"] == false {
                set(&mut frame, "/entry/seq", json!(1));
            }
            memory.opened |= is(&frame, "backlog_complete");
            vec![frame]
        }),
    ),
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
    // Entries.
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
    // What clients send, and how sockets end.
    fault(
        "closes-with-1002",
        "garbage-closes-with-1000",
        "anything-else-closes-with-1000",
        How::End(|_, reason| Heard::Closed(1002, reason)),
    ),
    fault(
        "closes-without-a-reason",
        "garbage-closes-with-1000",
        "closes-with-1000",
        How::End(|code, _| Heard::Closed(code, String::new())),
    ),
    fault(
        "cut-instead-of-closed",
        "unknown-control-frame-closes-with-1000",
        "closes-with-1000",
        How::End(|_, _| Heard::Cut),
    ),
    fault(
        "binary-messages-are-ignored",
        "binary-closes-with-1000",
        "anything-else-closes-with-1000",
        How::Said(|message| Some(message.clone()).filter(|message| !matches!(message, Message::Binary(_)))),
    ),
    // Refusals, and where the file is.
    fault(
        "any-token-will-do",
        "no-token-is-401",
        "401-without-the-token",
        How::Asked(|asked, token| {
            asked.headers.remove("Authorization");
            let join = if asked.target.contains('?') { '&' } else { '?' };
            let without = asked.target.replace("token=", "was=");
            asked.target = format!("{without}{join}token={token}");
        }),
    ),
    fault(
        "bearer-is-not-looked-at",
        "token-in-a-header",
        "token-in-the-query-or-as-bearer",
        How::Asked(|asked, _| {
            asked.headers.remove("Authorization");
        }),
    ),
    fault(
        "subagent-is-not-looked-at",
        "subagent-is-no-path",
        "traversal-is-404",
        How::Asked(|asked, _| {
            asked.target = asked.target.replace("subagent=", "was=");
        }),
    ),
    fault(
        "unknown-pane-is-500",
        "unknown-pane-is-404",
        "404-without-an-agent",
        How::Answer(|answer| {
            if answer.status == 404 {
                answer.status = 500;
            }
        }),
    ),
    fault(
        "failing-herdr-is-404",
        "failing-herdr-is-502",
        "502-when-herdr-fails",
        How::Answer(|answer| {
            if answer.status == 502 {
                answer.status = 404;
            }
        }),
    ),
    fault(
        "errors-are-json",
        "no-pane-is-400",
        "refusal-before-the-upgrade-is-http",
        How::Answer(|answer| {
            answer.body = json!({"error": answer.body}).to_string();
            answer.headers.insert("content-type".into(), "application/json".into());
        }),
    ),
    fault(
        "oldest-file-instead-of-the-newest",
        "newest-file-without-a-session",
        "newest-file-of-the-directory-without-a-session",
        How::Before(|vector| {
            vector.files.iter_mut().for_each(|file| file.age_s = 1_000 - file.age_s);
        }),
    ),
];

fn is(frame: &Value, kind: &str) -> bool {
    frame["type"] == kind
}

fn set(frame: &mut Value, pointer: &str, to: Value) {
    if let Some(member) = frame.pointer_mut(pointer) {
        *member = to;
    }
}

fn add(frame: &mut Value, pointer: &str, plus: u64) {
    if let Some(member) = frame.pointer_mut(pointer)
        && let Some(number) = member.as_u64()
    {
        *member = (number + plus).into();
    }
}

/// Takes a member away from the frames of one type.
fn remove(frame: &mut Value, pointer: &str, name: &str, kind: &str) {
    if is(frame, kind)
        && let Some(object) = frame.pointer_mut(pointer).and_then(Value::as_object_mut)
    {
        object.remove(name);
    }
}

fn without(frame: Value, kind: &str) -> Vec<Value> {
    if is(&frame, kind) { Vec::new() } else { vec![frame] }
}

/// How many live entries there were with this one; 0 for anything else.
fn live(frame: &Value, memory: &mut Memory) -> u64 {
    let counts = frame["live"] == true;
    memory.live += u64::from(counts);
    if counts { memory.live } else { 0 }
}

/// Entries are held back and come in the wrong order before the frame that ends them.
fn reversed(frame: Value, memory: &mut Memory, end: &str) -> Vec<Value> {
    if is(&frame, "entry") && frame["live"] == false {
        memory.held.push(frame);
        return Vec::new();
    }
    if !is(&frame, end) {
        return vec![frame];
    }
    memory.held.drain(..).rev().chain([frame]).collect()
}

fn newest_page_of_100(mut frame: Value, _: &mut Memory) -> Vec<Value> {
    let total = frame["total"].as_u64().unwrap_or(0);
    if is(&frame, "hello") && total > 100 {
        set(&mut frame, "/backlog_count", json!(100));
        set(&mut frame, "/oldest_loaded_seq", json!(total - 99));
    }
    vec![frame]
}

/// A `load_older` that is taken for another one.
fn older(message: &Message, spoil: fn(&mut Value)) -> Option<Message> {
    let Message::Text(text) = message else { return Some(message.clone()) };
    let Ok(mut ask) = serde_json::from_str::<Value>(text) else { return Some(message.clone()) };
    spoil(&mut ask);
    Some(Message::Text(ask.to_string()))
}
