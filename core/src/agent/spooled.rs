//! Reads the lines of a spool: the settled entries of an agent whose own store rewrites itself.
//!
//! Its lines are ours ([`source::spool`](crate::source::spool)), and one line is one entry or none; what is damaged on a
//! disk is met all the same.

use core::ops::ControlFlow;

use super::drift::Drift;
use super::shown::{cut, fragment, named, output, place, too_long};
use super::skim::{self, Skim};
use super::{Caps, Counted, Line, Reader};
use crate::entry::diff::{self, Diff};
use crate::entry::{Body, Entry, Role, ToolCall, ToolResult, caps, unified};
use crate::roster::{Answer, Call, Told};
use crate::source::json::{Broken, Scanner, Value};
use crate::source::spool::record;

/// The version of the rules by which lines become entries.
pub const RULES_VERSION: u32 = 1;

/// Reads the lines of a spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpoolReader;

impl Reader for SpoolReader {
    fn rules_version(&self) -> u32 {
        RULES_VERSION
    }

    fn counted(&self, line: &Line<'_>) -> Counted {
        let mut entries = 0_u64;
        walk(line, &mut |_| entries = entries.saturating_add(1));
        Counted { entries, odd: false }
    }

    fn tell(&self, line: &Line<'_>, told: &mut Told) {
        skim::records(line, &mut |_, found: Result<&Record<'_>, &[u8]>| {
            let Some(child) = found.ok().and_then(|record| record.child) else { return };
            let Some(call) = named(child.get("call")) else { return };
            let said = |key: &str| named(child.get(key)).unwrap_or_default();
            if let Some(prompt) = child.get("prompt").and_then(Value::number)
                && told.call(&call).is_none()
            {
                let (agent_type, description) = (said("type"), said("for"));
                told.called(&call, Call { waits: Some(true), agent_type, description, prompt, answer: None });
            }
            let ended = child.get("ended").is_some_and(Value::is_true);
            let answer = if ended { Answer::Finished } else { Answer::Launched };
            let agent = named(child.get("agent"));
            told.answered(&call, answer, agent.as_deref());
            if let Some(agent) = agent {
                told.ended(&agent, ended);
            }
        });
    }

    fn read_from(&self, line: &Line<'_>, caps: &Caps, skip: u64, each: &mut dyn FnMut(Entry) -> ControlFlow<()>) {
        let (mut before, mut flow) = (0_u64, ControlFlow::Continue(()));
        walk(line, &mut |item| {
            if before >= skip && flow.is_continue() {
                flow = each(entry(line.offset, &item, caps));
            }
            before = before.saturating_add(1);
        });
    }

    /// What an agent's store holds and is not known is told by what reads the store: it is not in the spool.
    fn drift(&self, _line: &Line<'_>, _file: &str, _drift: &mut Drift) {}
}

#[derive(Debug, Default)]
struct Record<'a> {
    entry: Option<Value<'a>>,
    child: Option<Value<'a>>,
    bookkeeping: bool,
    raw: Value<'a>,
}

impl<'a> Skim<'a> for Record<'a> {
    const STARTS: &'static [&'static [u8]] = record::STARTS;

    fn skim(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Broken> {
        scanner.members(|scanner, key| {
            let value = Value(scanner.skip()?);
            match key {
                b"entry" => self.entry = Some(value),
                b"child" => (self.child, self.bookkeeping) = (Some(value), true),
                b"settled" | b"spool" => self.bookkeeping = true,
                _ => {}
            }
            Ok(())
        })
    }

    fn keep(&mut self, raw: Value<'a>) {
        self.raw = raw;
    }

    fn survives(&mut self) -> bool {
        false
    }
}

/// One entry to be: of a record, its bytes and what is said to be its entry.
type Item<'r, 'a> = skim::Item<'r, 'a, Record<'a>, Option<Value<'a>>>;

fn walk<'a>(line: &Line<'a>, each: &mut impl FnMut(Item<'_, 'a>)) {
    let torn = |bytes: &[u8]| bytes.last() == Some(&record::TORN);
    let mut whole = |item: Item<'_, 'a>| match item {
        Item::Fragment(_, bytes) if torn(bytes) => {}
        item => each(item),
    };
    skim::walk(line, &mut whole, |at, record, each| {
        if record.entry.is_some() || !record.bookkeeping {
            each(Item::Part(skim::Part { at, record, block: 0, what: record.entry }));
        }
        false
    });
}

fn entry(offset: u64, item: &Item<'_, '_>, caps: &Caps) -> Entry {
    match item {
        Item::TooLong(bytes) => too_long(offset, *bytes),
        Item::Fragment(at, bytes) => fragment(offset, *at, bytes),
        Item::Part(part) => part
            .what
            .filter(|entry| entry.is_object())
            .and_then(|entry| spooled(offset, part.at, entry, caps))
            .unwrap_or_else(|| fragment(offset, part.at, part.record.raw.raw())),
    }
}

fn spooled(offset: u64, at: usize, entry: Value<'_>, caps: &Caps) -> Option<Entry> {
    let get = |key: &str| entry.get(key);
    let cut_before = get("cut").is_some_and(Value::is_true);
    let kind = get("kind")?;
    let body = if kind.is("tool_call") {
        Body::ToolCall(call(get("call")?, cut_before, caps))
    } else if kind.is("tool_result") {
        Body::ToolResult(result(get("result")?, cut_before, caps))
    } else {
        let mut text = cut(get("text")?, caps);
        text.truncated |= cut_before;
        if text.text.is_empty() {
            return None;
        }
        match kind.literal()? {
            b"message" => Body::Message(text),
            b"thinking" => Body::Thinking(text),
            b"attachment" => Body::Attachment(text),
            _ => return None,
        }
    };
    let role = match get("role")?.literal()? {
        b"user" => Role::User,
        b"assistant" => Role::Assistant,
        b"system" => Role::System,
        _ => return None,
    };
    Some(Entry {
        id: named(get("id")).unwrap_or_else(|| alloc::format!("@{}#0", place(offset, at))),
        parent_id: named(get("parent")),
        ts: named(get("ts")),
        role,
        body,
        parsed: !get("unparsed").is_some_and(Value::is_true),
    })
}

fn call(call: Value<'_>, cut_before: bool, caps: &Caps) -> ToolCall {
    let get = |key: &str| named(call.get(key));
    let command = call.get("command").and_then(Value::chars).map(|command| caps::decoded(command, caps.command_chars));
    let diff = changed(call, caps);
    ToolCall {
        id: get("id").unwrap_or_default(),
        name: get("name").unwrap_or_else(|| "unnamed".into()),
        title: get("title"),
        subtitle: get("subtitle"),
        command_truncated: command.as_ref().is_some_and(|command| command.truncated || cut_before),
        command: command.map(|command| command.text).filter(|command| !command.is_empty()),
        file: get("file"),
        diff_truncated: diff.as_ref().map_or(cut_before, |diff| diff.truncated),
        diff: diff.map(|diff| diff.text),
        input_summary: get("input"),
    }
}

fn result(result: Value<'_>, cut_before: bool, caps: &Caps) -> ToolResult {
    let printed = result.get("output").and_then(Value::chars).and_then(|text| output(caps, |out| out.decode(text)));
    let diff = changed(result, caps);
    let was_cut = |cut: Option<bool>| cut.unwrap_or(false);
    ToolResult {
        for_id: named(result.get("for")).unwrap_or_default(),
        ok: result.get("ok").is_some_and(Value::is_true),
        truncated: cut_before
            || was_cut(printed.as_ref().map(|text| text.truncated))
            || was_cut(diff.as_ref().map(|diff| diff.truncated)),
        output_summary: printed.map(|text| text.text),
        diff: diff.map(|diff| diff.text),
    }
}

fn changed(value: Value<'_>, caps: &Caps) -> Option<Diff> {
    let diff = value.get("diff").and_then(Value::filled)?;
    diff::render(&unified::hunks(&diff), caps)
}
