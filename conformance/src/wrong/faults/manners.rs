//! What clients may ask, what they may send, and how it ends.

use serde_json::json;

use crate::vector::stage::Heard;
use crate::vector::step::Message;
use crate::wrong::fault::{Fault, How, fault};

pub(super) const FAULTS: &[Fault] = &[
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
