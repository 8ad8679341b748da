//! How a stream opens, goes on and is paged.

use serde_json::json;

use crate::wrong::fault::{Fault, How, fault};
use crate::wrong::spoil::{add, is, live, newest_page_of_100, older, remove, reversed, set, without};

pub(super) const FAULTS: &[Fault] = &[
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
];
