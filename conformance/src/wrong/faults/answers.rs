//! What a card says, and what answers an agent.

use serde_json::{Value, json};

use crate::vector::stage::{Answered, Asked};
use crate::wrong::fault::{Fault, How, fault};
use crate::wrong::spoil::set;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "another-option-is-selected",
        "card-of-a-permission",
        "card-option-selected",
        How::Answer(|answer| card(answer, |card| set(card, "/blocked/options/0/selected", json!(false)))),
    ),
    fault(
        "options-count-from-0",
        "card-of-a-permission",
        "card-option-index",
        How::Answer(|answer| {
            card(answer, |card| {
                let options = card.pointer_mut("/blocked/options").and_then(Value::as_array_mut);
                options.into_iter().flatten().zip(0..).for_each(|(option, n)| option["index"] = json!(n));
            });
        }),
    ),
    fault(
        "unread-screen-is-parsed",
        "card-of-an-unknown-kind",
        "card-unparsed-kind",
        How::Answer(|answer| card(answer, |card| set(card, "/parsed", json!(true)))),
    ),
    fault(
        "question-of-an-agent-that-is-not-blocked",
        "card-of-an-idle-agent",
        "card-headline",
        How::Answer(|answer| card(answer, |card| card["blocked"] = json!({"question": "", "options": []}))),
    ),
    fault(
        "stale-approval-is-pressed",
        "approve-presses-enter-while-blocked",
        "approve-takes-the-default-while-blocked-at-that-seq",
        How::Asked(|asked, _| body(asked, |body| set(body, "/seq", json!(41)))),
    ),
    fault(
        "another-digit-is-typed",
        "send-picks-another-option",
        "send-picks-an-option-by-its-index",
        How::Asked(|asked, _| body(asked, |body| set(body, "/text", json!("1\n")))),
    ),
    fault(
        "question-is-not-looked-at",
        "answer-to-another-question-is-refused",
        "",
        How::Asked(|asked, _| body(asked, |body| body["question"] = Value::Null)),
    ),
];

/// Changes a card.
fn card(answer: &mut Answered, spoil: impl FnOnce(&mut Value)) {
    if let Ok(mut card) = serde_json::from_str::<Value>(&answer.body)
        && card.get("agent_status").is_some()
    {
        spoil(&mut card);
        answer.body = card.to_string();
    }
}

/// Changes the body of a request.
fn body(asked: &mut Asked, spoil: impl FnOnce(&mut Value)) {
    if let Some(mut body) = asked.body.as_deref().and_then(|body| serde_json::from_str(body).ok()) {
        spoil(&mut body);
        asked.body = Some(body.to_string());
    }
}
