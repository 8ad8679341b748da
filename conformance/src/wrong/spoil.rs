//! Small changes of frames and messages, from which faults are made.

use serde_json::{Value, json};

use super::fault::Memory;
use crate::vector::step::Message;

pub(super) fn is(frame: &Value, kind: &str) -> bool {
    frame["type"] == kind
}

pub(super) fn set(frame: &mut Value, pointer: &str, to: Value) {
    if let Some(member) = frame.pointer_mut(pointer) {
        *member = to;
    }
}

pub(super) fn add(frame: &mut Value, pointer: &str, plus: u64) {
    if let Some(member) = frame.pointer_mut(pointer)
        && let Some(number) = member.as_u64()
    {
        *member = (number + plus).into();
    }
}

/// Takes a member away from the frames of one type.
pub(super) fn remove(frame: &mut Value, pointer: &str, name: &str, kind: &str) {
    if is(frame, kind)
        && let Some(object) = frame.pointer_mut(pointer).and_then(Value::as_object_mut)
    {
        object.remove(name);
    }
}

/// Changes every row of a roster.
pub(super) fn rows(frame: &mut Value, spoil: fn(&mut Value)) {
    frame.get_mut("subagents").and_then(Value::as_array_mut).into_iter().flatten().for_each(spoil);
}

pub(super) fn without(frame: Value, kind: &str) -> Vec<Value> {
    if is(&frame, kind) { Vec::new() } else { vec![frame] }
}

/// How many live entries there were with this one; 0 for anything else.
pub(super) fn live(frame: &Value, memory: &mut Memory) -> u64 {
    let counts = frame["live"] == true;
    memory.live += u64::from(counts);
    if counts { memory.live } else { 0 }
}

/// Entries are held back and come in the wrong order before the frame that ends them.
pub(super) fn reversed(frame: Value, memory: &mut Memory, end: &str) -> Vec<Value> {
    if is(&frame, "entry") && frame["live"] == false {
        memory.held.push(frame);
        return Vec::new();
    }
    if !is(&frame, end) {
        return vec![frame];
    }
    memory.held.drain(..).rev().chain([frame]).collect()
}

pub(super) fn newest_page_of_100(mut frame: Value, _: &mut Memory) -> Vec<Value> {
    let total = frame["total"].as_u64().unwrap_or(0);
    if is(&frame, "hello") && total > 100 {
        set(&mut frame, "/backlog_count", json!(100));
        set(&mut frame, "/oldest_loaded_seq", json!(total - 99));
    }
    vec![frame]
}

/// A `load_older` that is taken for another one.
pub(super) fn older(message: &Message, spoil: fn(&mut Value)) -> Option<Message> {
    let Message::Text(text) = message else { return Some(message.clone()) };
    let Ok(mut ask) = serde_json::from_str::<Value>(text) else { return Some(message.clone()) };
    spoil(&mut ask);
    Some(Message::Text(ask.to_string()))
}
