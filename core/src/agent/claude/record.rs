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
    pub(super) subtype: Option<Value<'a>>,
    pub(super) uuid: Option<Value<'a>>,
    pub(super) parent: Option<Value<'a>>,
    pub(super) timestamp: Option<Value<'a>>,
    pub(super) cwd: Option<Value<'a>>,
    pub(super) content: Option<Value<'a>>,
    pub(super) attachment: Option<Value<'a>>,
    pub(super) result: Option<Value<'a>>,
    pub(super) origin: Option<Value<'a>>,
    pub(super) message: Option<Message<'a>>,
    pub(super) sidechain: bool,
    /// Injected by the harness.
    pub(super) meta: bool,
    /// The summary that stands for what was compacted.
    pub(super) compact_summary: bool,
    /// Written by the harness in the name of the assistant.
    pub(super) api_error: bool,
}

/// The `message` of a record.
#[derive(Debug, Clone, Default)]
pub(super) struct Message<'a> {
    /// What it is, if it is no object.
    pub(super) other: Option<Value<'a>>,
    pub(super) role: Option<Value<'a>>,
    pub(super) model: Option<Value<'a>>,
    pub(super) content: Option<Content<'a>>,
}

/// The `content` of a message.
#[derive(Debug, Clone)]
pub(super) enum Content<'a> {
    /// One string.
    Text(Value<'a>),
    /// A list of blocks; `whole` unless damage came before its end.
    List { blocks: Vec<Block<'a>>, whole: bool },
    /// Neither.
    Other(Value<'a>),
}

/// One element of a list of blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Block<'a> {
    pub(super) raw: Value<'a>,
    pub(super) kind: Option<Value<'a>>,
    pub(super) text: Option<Value<'a>>,
    pub(super) thinking: Option<Value<'a>>,
    /// The tool that is called.
    pub(super) name: Option<Value<'a>>,
    /// The call that is answered.
    pub(super) answers: Option<Value<'a>>,
}

impl Content<'_> {
    pub(super) const fn is_whole(&self) -> bool {
        !matches!(self, Self::List { whole: false, .. })
    }
}

impl<'a> Skim<'a> for Record<'a> {
    const STARTS: &'static [&'static [u8]] = &[
        br#"{"parentUuid""#,
        br#"{"type":"assistant""#,
        br#"{"type":"user""#,
        br#"{"type":"system""#,
        br#"{"type":"attachment""#,
        br#"{"type":"progress""#,
        br#"{"type":"summary""#,
        br#"{"type":"file-history-snapshot""#,
        br#"{"type":"queue-operation""#,
        br#"{"type":"last-prompt""#,
        br#"{"isSidechain""#,
    ];

    fn skim(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Broken> {
        scanner.members(|scanner, key| {
            let value = match key {
                b"message" => return self.message(scanner),
                b"type" => &mut self.kind,
                b"subtype" => &mut self.subtype,
                b"uuid" => &mut self.uuid,
                b"parentUuid" => &mut self.parent,
                b"timestamp" => &mut self.timestamp,
                b"cwd" => &mut self.cwd,
                b"content" => &mut self.content,
                b"attachment" => &mut self.attachment,
                b"toolUseResult" => &mut self.result,
                b"origin" => &mut self.origin,
                b"isSidechain" => return flag(scanner, &mut self.sidechain),
                b"isMeta" => return flag(scanner, &mut self.meta),
                b"isCompactSummary" => return flag(scanner, &mut self.compact_summary),
                b"isApiErrorMessage" => return flag(scanner, &mut self.api_error),
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
        let message = self.message.as_ref();
        let whole = message.is_some_and(|message| message.content.as_ref().is_some_and(Content::is_whole));
        if self.kind.is_none() {
            // The type of an assistant's record stands behind its message.
            self.kind = message.and_then(|message| message.role);
        }
        match kinds::record(self.kind) {
            RecordKind::User | RecordKind::Assistant => whole,
            RecordKind::System => self.content.is_some(),
            RecordKind::Attachment => self.attachment.is_some(),
            RecordKind::Bookkeeping => true,
            RecordKind::Unknown => false,
        }
    }
}

impl<'a> Record<'a> {
    fn message(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Broken> {
        let depth = scanner.depth();
        let opened = scanner.step()?;
        let message = self.message.insert(Message::default());
        if opened != Token::Open(Nest::Object) {
            let from = scanner.token_at();
            scanner.leave(depth)?;
            message.other = Some(Value(scanner.between(from, scanner.at())));
            return Ok(());
        }
        scanner.members(|scanner, key| {
            let value = match key {
                b"content" => return content(scanner, &mut message.content),
                b"role" => &mut message.role,
                b"model" => &mut message.model,
                _ => return scanner.skip().map(drop),
            };
            *value = Some(Value(scanner.skip()?));
            Ok(())
        })
    }
}

/// Reads the blocks of a list that is no part of a message.
pub(super) fn blocks(list: Value<'_>) -> Vec<Block<'_>> {
    let mut found = None;
    match content(&mut Scanner::new(list.raw(), 0), &mut found) {
        Ok(()) => match found {
            Some(Content::List { blocks, .. }) => blocks,
            _ => Vec::new(),
        },
        Err(_) => Vec::new(),
    }
}

fn flag(scanner: &mut Scanner<'_>, flag: &mut bool) -> Result<(), Broken> {
    *flag = Value(scanner.skip()?).is_true();
    Ok(())
}

fn content<'a>(scanner: &mut Scanner<'a>, found: &mut Option<Content<'a>>) -> Result<(), Broken> {
    let depth = scanner.depth();
    let opened = scanner.step()?;
    let from = scanner.token_at();
    if opened != Token::Open(Nest::Array) {
        scanner.leave(depth)?;
        let value = Value(scanner.between(from, scanner.at()));
        *found = Some(if value.literal().is_some() { Content::Text(value) } else { Content::Other(value) });
        return Ok(());
    }
    let mut blocks = Vec::new();
    let read = list(scanner, &mut blocks);
    *found = Some(Content::List { blocks, whole: read.is_ok() });
    read
}

fn list<'a>(scanner: &mut Scanner<'a>, blocks: &mut Vec<Block<'a>>) -> Result<(), Broken> {
    loop {
        let depth = scanner.depth();
        let token = scanner.step()?;
        let from = scanner.token_at();
        let mut block = Block::default();
        match token {
            Token::Close(_) => return Ok(()),
            Token::Open(Nest::Object) => scanner.members(|scanner, key| {
                let value = Value(scanner.skip()?);
                match key {
                    b"type" => block.kind = Some(value),
                    b"text" => block.text = Some(value),
                    b"thinking" => block.thinking = Some(value),
                    b"name" => block.name = Some(value),
                    b"tool_use_id" => block.answers = Some(value),
                    _ => {}
                }
                Ok(())
            })?,
            _ => scanner.leave(depth)?,
        }
        block.raw = Value(scanner.between(from, scanner.at()));
        blocks.push(block);
    }
}
