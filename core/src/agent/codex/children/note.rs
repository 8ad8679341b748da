//! What a line tells of threads: the calls that start them, the answers to these, and what became of them.
//!
//! Versions differ in what they keep: the tools' own calls and answers always, the events about them in some, and a message
//! in the user's name whenever a thread ends that nobody waits for. Each of them is enough.

use alloc::string::String;

use memchr::memmem;

use super::head::label;
use crate::agent::codex::kinds::{self, ItemKind, RecordKind};
use crate::agent::codex::record::{Payload, Record};
use crate::agent::codex::said::inside;
use crate::agent::shown::named;
use crate::agent::{Line, skim};
use crate::roster::{Answer, Call, Told, digest};
use crate::source::json::Value;

/// What stands in every line that may tell something.
const NEEDLES: &[&[u8]] =
    &[b"spawn_agent", b"agent_id", b"collab_", b"subagent_notification", b"timed_out", b"task_name", b"CollabAgent"];

/// Notes all that the line tells.
pub(in crate::agent::codex) fn note(line: &Line<'_>, told: &mut Told) {
    if !NEEDLES.iter().any(|needle| memmem::find(line.bytes, needle).is_some()) {
        return;
    }
    skim::records(line, &mut |_, found: Result<&Record<'_>, _>| {
        let Ok(record) = found else { return };
        match kinds::record(record.kind) {
            RecordKind::Item => item(&record.payload, told),
            RecordKind::Event => event(&record.payload, told),
            _ => {}
        }
    });
}

fn item(payload: &Payload<'_>, told: &mut Told) {
    let raw = payload.raw;
    match kinds::item(payload.kind) {
        ItemKind::Call => {
            let spawns = raw.get("name").is_some_and(|name| name.is("spawn_agent"));
            if let (true, Some(call_id)) = (spawns, named(payload.call_id)) {
                let arguments = raw.get("arguments").and_then(Value::text).unwrap_or_default();
                told.called(&call_id, call(Value(arguments.trim().as_bytes())));
            }
        }
        ItemKind::Output => {
            let (Some(call_id), Some(output)) = (named(payload.call_id), raw.get("output")) else { return };
            let text = output.text();
            let output = text.as_deref().map_or(output, |text| Value(text.trim().as_bytes()));
            if told.call(&call_id).is_some() {
                let thread = named(output.get("agent_id")).or_else(|| named(output.get("task_name")));
                told.answered(&call_id, Answer::Launched, thread.as_deref());
            } else if output.get("timed_out").is_some() {
                statuses(output.get("status"), told);
            }
        }
        ItemKind::Message if payload.role.is_some_and(|role| role.is("user")) => {
            let texts = payload.content.into_iter().flat_map(Value::elements).filter_map(|part| part.get("text"));
            texts.filter_map(Value::text).for_each(|text| notified(&text, told));
        }
        _ => {}
    }
}

fn event(payload: &Payload<'_>, told: &mut Told) {
    let raw = payload.raw;
    let name = |key: &str| named(raw.get(key));
    match payload.kind.and_then(Value::literal) {
        Some(b"collab_agent_spawn_end") => {
            let (Some(call_id), Some(thread)) = (named(payload.call_id), name("new_thread_id")) else { return };
            if told.call(&call_id).is_none() {
                told.called(&call_id, call(raw));
            }
            told.answered(&call_id, Answer::Launched, Some(&thread));
            became(&thread, raw.get("status"), told);
        }
        Some(b"collab_agent_interaction_end" | b"collab_close_end" | b"collab_resume_end") => {
            if let Some(thread) = name("receiver_thread_id") {
                became(&thread, raw.get("status"), told);
            }
        }
        Some(b"collab_waiting_end") => {
            statuses(raw.get("statuses"), told);
            for status in raw.get("agent_statuses").into_iter().flat_map(Value::elements) {
                if let Some(thread) = named(status.get("thread_id")) {
                    became(&thread, status.get("status"), told);
                }
            }
        }
        Some(b"item_completed") => {
            let Some(item) = payload.item.filter(|item| item.get("type").is_some_and(is_collaboration)) else { return };
            let states = item.get("agents_states").or_else(|| item.get("agent_statuses"));
            statuses(states, told);
        }
        _ => {}
    }
}

fn is_collaboration(kind: Value<'_>) -> bool {
    kind.is("CollabAgentToolCall") || kind.is("collab_agent_tool_call")
}

/// What a thread is started with: the arguments of the call, or the event about it.
fn call(says: Value<'_>) -> Call {
    let items = || says.get("items").into_iter().flat_map(Value::elements).find_map(|item| item.get("text"));
    let task = says.get("message").or_else(|| says.get("prompt")).or_else(items);
    let role = says.get("agent_type").or_else(|| says.get("new_agent_role"));
    let text = task.and_then(Value::text).unwrap_or_default();
    Call {
        waits: Some(false),
        agent_type: role.and_then(label).unwrap_or_default(),
        description: task.and_then(label).unwrap_or_default(),
        prompt: if text.trim().is_empty() { 0 } else { digest(text.trim().as_bytes()) },
        answer: None,
    }
}

/// `<subagent_notification>{"agent_id":"…","status":{"completed":"…"}}</subagent_notification>`, with `agent_path` in newer
/// versions. The status may hold the tags itself.
fn notified(text: &str, told: &mut Told) {
    let text = text.trim();
    if !text.starts_with("<subagent_notification>") {
        return;
    }
    let Some(inner) = inside(text, "subagent_notification") else { return };
    let inner = text.find('{').and_then(|from| text.get(from..)).unwrap_or(inner);
    let notification = Value(inner.as_bytes());
    for thread in ["agent_id", "agent_path"].iter().filter_map(|key| named(notification.get(key))) {
        became(&thread, notification.get("status"), told);
    }
}

/// The states of several threads, by their ids.
fn statuses(states: Option<Value<'_>>, told: &mut Told) {
    for (thread, status) in states.into_iter().flat_map(Value::members) {
        let status = status.get("status").unwrap_or(status);
        if let Ok(thread) = core::str::from_utf8(thread) {
            became(thread, Some(status), told);
        }
    }
}

/// Notes the state of a thread: a word, or an object whose only key is one.
fn became(thread: &str, status: Option<Value<'_>>, told: &mut Told) {
    let Some(status) = status else { return };
    let word = status.text().or_else(|| {
        let (key, _) = status.members().next()?;
        core::str::from_utf8(key).ok().map(String::from)
    });
    let ended = match word.as_deref() {
        Some("completed" | "errored" | "shutdown" | "not_found" | "interrupted" | "notFound") => true,
        Some("running" | "pending_init" | "pendingInit") => false,
        _ => return,
    };
    if told.end(thread) != Some(ended) {
        told.ended(thread, ended);
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString as _;

    use super::*;

    fn told(lines: &[&str]) -> Told {
        let mut told = Told::default();
        for line in lines {
            note(&Line { offset: 0, bytes: line.as_bytes(), over_cap: None }, &mut told);
        }
        told
    }

    fn item(payload: &str) -> String {
        format!(r#"{{"timestamp":"t","type":"response_item","payload":{payload}}}"#)
    }

    fn event(payload: &str) -> String {
        format!(r#"{{"timestamp":"t","type":"event_msg","payload":{payload}}}"#)
    }

    fn called() -> String {
        item(
            r#"{"type":"function_call","name":"spawn_agent","arguments":"{\"agent_type\":\"worker\",\"message\":\" test\\nit \"}","call_id":"k1"}"#,
        )
    }

    #[test]
    fn a_call_and_its_answer_say_who_was_started_for_what() {
        let answer = item(r#"{"type":"function_call_output","call_id":"k1","output":"{\"agent_id\":\"c1\"}"}"#);
        let told = told(&[&called(), &answer]);
        let call = told.call("k1").unwrap();
        assert_eq!((call.agent_type.as_str(), call.description.as_str()), ("worker", "test it"));
        assert_eq!((told.call_of("c1"), told.end("c1"), call.is_finished()), (Some("k1"), None, false));
    }

    #[test]
    fn the_event_alone_says_the_same_and_does_not_undo_the_call() {
        let spawned = event(
            r#"{"type":"collab_agent_spawn_end","call_id":"k1","new_thread_id":"c1","new_agent_role":"scout","prompt":"look","status":"pending_init"}"#,
        );
        let alone = told(&[&spawned]);
        assert_eq!(alone.call("k1").unwrap().agent_type, "scout");
        assert_eq!((alone.call_of("c1"), alone.end("c1")), (Some("k1"), Some(false)));
        assert_eq!(told(&[&called(), &spawned]).call("k1").unwrap().description, "test it");
    }

    #[test]
    fn every_way_in_which_an_end_is_told() {
        let notification = |status: &str| {
            let text = format!(
                "<subagent_notification>\n{{\"agent_id\":\"c1\",\"status\":{status}}}\n</subagent_notification>"
            );
            let text = serde_json::to_string(&text).unwrap();
            item(&format!(r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":{text}}}]}}"#))
        };
        for (line, ended) in [
            (notification(r#"{"completed":"all </subagent_notification> done"}"#), Some(true)),
            (notification(r#"{"errored":"it broke"}"#), Some(true)),
            (notification(r#""shutdown""#), Some(true)),
            (notification(r#""running""#), Some(false)),
            (notification(r#""thinking""#), None),
            (
                item(
                    r#"{"type":"function_call_output","call_id":"k2","output":"{\"status\":{\"c1\":{\"completed\":null}},\"timed_out\":false}"}"#,
                ),
                Some(true),
            ),
            (
                item(r#"{"type":"function_call_output","call_id":"k2","output":"{\"status\":{},\"timed_out\":true}"}"#),
                None,
            ),
            (event(r#"{"type":"collab_waiting_end","statuses":{"c1":{"completed":"x"}}}"#), Some(true)),
            (
                event(
                    r#"{"type":"collab_waiting_end","agent_statuses":[{"thread_id":"c1","status":{"completed":"x"}}],"statuses":{}}"#,
                ),
                Some(true),
            ),
            (event(r#"{"type":"collab_close_end","receiver_thread_id":"c1","status":"shutdown"}"#), Some(true)),
            (
                event(r#"{"type":"collab_agent_interaction_end","receiver_thread_id":"c1","status":"running"}"#),
                Some(false),
            ),
            (
                event(
                    r#"{"type":"item_completed","item":{"type":"CollabAgentToolCall","agents_states":{"c1":{"status":"completed"}}}}"#,
                ),
                Some(true),
            ),
            // The same words where they say nothing.
            (
                item(
                    r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"<subagent_notification>{\"agent_id\":\"c1\",\"status\":\"shutdown\"}"}]}"#,
                ),
                None,
            ),
            ("collab_".to_string(), None),
        ] {
            assert_eq!(told(&[&line]).end("c1"), ended, "{line}");
        }
    }
}
