//! What one record says about itself, found in one pass and not built.

use super::kinds::{self, RecordKind};
use crate::agent::skim::Skim;
use crate::source::json::{Broken, Nest, Scanner, Token, Value};

/// The members of a record that decide what it becomes. The last of repeated ones counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Record<'a> {
    pub(super) kind: Option<Value<'a>>,
    pub(super) timestamp: Option<Value<'a>>,
    /// What it carries; in a file of 2025-08, which has no envelopes, the record itself.
    pub(super) payload: Payload<'a>,
    /// Whether it has an envelope.
    pub(super) wrapped: bool,
}

/// What a record carries.
#[derive(Debug, Clone, Default)]
pub(super) struct Payload<'a> {
    pub(super) raw: Value<'a>,
    pub(super) kind: Option<Value<'a>>,
    pub(super) id: Option<Value<'a>>,
    pub(super) role: Option<Value<'a>>,
    pub(super) content: Option<Value<'a>>,
    pub(super) message: Option<Value<'a>>,
    pub(super) text: Option<Value<'a>>,
    pub(super) summary: Option<Value<'a>>,
    pub(super) call_id: Option<Value<'a>>,
    pub(super) turn_id: Option<Value<'a>>,
    pub(super) item: Option<Value<'a>>,
    pub(super) source: Option<Value<'a>>,
    pub(super) cwd: Option<Value<'a>>,
    pub(super) forked_from: Option<Value<'a>>,
    pub(super) timestamp: Option<Value<'a>>,
    pub(super) record_type: Option<Value<'a>>,
}

impl<'a> Payload<'a> {
    fn set(&mut self, key: &[u8], value: Value<'a>) {
        let member = match key {
            b"type" => &mut self.kind,
            b"id" => &mut self.id,
            b"role" => &mut self.role,
            b"content" => &mut self.content,
            b"message" => &mut self.message,
            b"text" => &mut self.text,
            b"summary" => &mut self.summary,
            b"call_id" | b"callId" => &mut self.call_id,
            b"turn_id" => &mut self.turn_id,
            b"item" => &mut self.item,
            b"source" => &mut self.source,
            b"cwd" if self.cwd.is_none() => &mut self.cwd,
            b"forked_from_id" => &mut self.forked_from,
            b"timestamp" => &mut self.timestamp,
            b"record_type" => &mut self.record_type,
            _ => return,
        };
        *member = Some(value);
    }

    /// Whether it carries something said.
    pub(super) fn says(&self) -> Option<Value<'a>> {
        [self.message, self.text, self.content].into_iter().flatten().find(|said| !said.is_empty())
    }
}

impl<'a> Skim<'a> for Record<'a> {
    const STARTS: &'static [&'static [u8]] = &[
        br#"{"timestamp":""#,
        br#"{"type":"response_item""#,
        br#"{"type":"event_msg""#,
        br#"{"type":"message""#,
        br#"{"type":"reasoning""#,
        br#"{"type":"function_call"#,
    ];

    fn skim(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Broken> {
        scanner.members(|scanner, key| {
            if key == b"payload" {
                return self.payload(scanner);
            }
            let value = Value(scanner.skip()?);
            match key {
                b"type" => self.kind = Some(value),
                b"timestamp" => self.timestamp = Some(value),
                _ => {}
            }
            if !self.wrapped {
                self.payload.set(key, value);
            }
            Ok(())
        })
    }

    fn keep(&mut self, raw: Value<'a>) {
        if !self.wrapped {
            self.payload.raw = raw;
        }
    }

    fn survives(&mut self) -> bool {
        // Damage inside a payload leaves it without its bytes.
        let whole = self.wrapped && !self.payload.raw.raw().is_empty();
        whole && kinds::record(self.kind) != RecordKind::Unknown
    }
}

impl<'a> Record<'a> {
    fn payload(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Broken> {
        let depth = scanner.depth();
        let opened = scanner.step()?;
        let from = scanner.token_at();
        // The directory that was named first stands: it is all that a beginning of the record can tell.
        self.payload = Payload { cwd: self.payload.cwd, ..Payload::default() };
        self.wrapped = true;
        if opened == Token::Open(Nest::Object) {
            let payload = &mut self.payload;
            scanner.members(|scanner, key| {
                payload.set(key, Value(scanner.skip()?));
                Ok(())
            })?;
        } else {
            scanner.leave(depth)?;
        }
        self.payload.raw = Value(scanner.between(from, scanner.at()));
        Ok(())
    }
}
