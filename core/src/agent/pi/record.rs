//! What one record says about itself, found in one pass and not built.

use alloc::vec::Vec;

use super::kinds::{self, RecordKind};
use crate::agent::skim::Skim;
use crate::source::json::{Broken, Nest, Scanner, Token, Value};

/// The members of a record that decide what it becomes. The last of repeated ones counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Record<'a> {
    pub(super) raw: Value<'a>,
    pub(super) kind: Option<Value<'a>>,
    pub(super) id: Option<Value<'a>>,
    pub(super) parent: Option<Value<'a>>,
    pub(super) timestamp: Option<Value<'a>>,
    pub(super) cwd: Option<Value<'a>>,
    pub(super) content: Option<Value<'a>>,
    pub(super) summary: Option<Value<'a>>,
    pub(super) display: Option<Value<'a>>,
    pub(super) message: Option<Message<'a>>,
}

/// The `message` of a record.
#[derive(Debug, Clone, Default)]
pub(super) struct Message<'a> {
    /// The whole of it, whatever it is.
    pub(super) raw: Value<'a>,
    pub(super) role: Option<Value<'a>>,
    pub(super) content: Option<Value<'a>>,
    pub(super) command: Option<Value<'a>>,
    pub(super) output: Option<Value<'a>>,
    pub(super) exit_code: Option<Value<'a>>,
    pub(super) cancelled: Option<Value<'a>>,
    pub(super) summary: Option<Value<'a>>,
    pub(super) display: Option<Value<'a>>,
    pub(super) error: Option<Value<'a>>,
}

/// One element of a list of blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Block<'a> {
    pub(super) raw: Value<'a>,
    pub(super) kind: Option<Value<'a>>,
    pub(super) text: Option<Value<'a>>,
    pub(super) thinking: Option<Value<'a>>,
}

impl<'a> Skim<'a> for Record<'a> {
    const STARTS: &'static [&'static [u8]] = &[
        br#"{"type":"message""#,
        br#"{"type":"session""#,
        br#"{"type":"compaction""#,
        br#"{"type":"branch_summary""#,
        br#"{"type":"custom"#,
        br#"{"type":"model_change""#,
        br#"{"type":"thinking_level_change""#,
        br#"{"type":"label""#,
    ];

    fn skim(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Broken> {
        scanner.members(|scanner, key| {
            let value = match key {
                b"message" => return self.message(scanner),
                b"type" => &mut self.kind,
                b"id" => &mut self.id,
                b"parentId" => &mut self.parent,
                b"timestamp" => &mut self.timestamp,
                b"cwd" => &mut self.cwd,
                b"content" => &mut self.content,
                b"summary" => &mut self.summary,
                b"display" => &mut self.display,
                _ => return scanner.skip().map(drop),
            };
            *value = Some(Value(scanner.skip()?));
            Ok(())
        })
    }

    fn keep(&mut self, raw: Value<'a>) {
        self.raw = raw;
    }

    fn survives(&mut self) -> bool {
        match kinds::record(self.kind) {
            RecordKind::Message => self.message.as_ref().is_some_and(|message| message.content.is_some()),
            RecordKind::Compaction | RecordKind::BranchSummary => self.summary.is_some(),
            RecordKind::Custom => self.content.is_some(),
            RecordKind::Bookkeeping => true,
            RecordKind::Unknown => false,
        }
    }
}

impl<'a> Record<'a> {
    fn message(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Broken> {
        let depth = scanner.depth();
        let opened = scanner.step()?;
        let from = scanner.token_at();
        let message = self.message.insert(Message::default());
        if opened == Token::Open(Nest::Object) {
            scanner.members(|scanner, key| {
                let value = match key {
                    b"role" => &mut message.role,
                    b"content" => &mut message.content,
                    b"command" => &mut message.command,
                    b"output" => &mut message.output,
                    b"exitCode" => &mut message.exit_code,
                    b"cancelled" => &mut message.cancelled,
                    b"summary" => &mut message.summary,
                    b"display" => &mut message.display,
                    b"errorMessage" => &mut message.error,
                    _ => return scanner.skip().map(drop),
                };
                *value = Some(Value(scanner.skip()?));
                Ok(())
            })?;
        } else {
            scanner.leave(depth)?;
        }
        message.raw = Value(scanner.between(from, scanner.at()));
        Ok(())
    }
}

/// The blocks of a list.
pub(super) fn blocks(list: Value<'_>) -> Vec<Block<'_>> {
    list.elements().map(block).collect()
}

fn block(raw: Value<'_>) -> Block<'_> {
    let mut block = Block { raw, ..Block::default() };
    for (key, value) in raw.members() {
        match key {
            b"type" => block.kind = Some(value),
            b"text" => block.text = Some(value),
            b"thinking" => block.thinking = Some(value),
            _ => {}
        }
    }
    block
}
