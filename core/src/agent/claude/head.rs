//! What the beginning of a transcript says about it.

use alloc::string::String;

use super::record::{Content, Record};
use super::said::{self, Speech};
use super::walk::{self, What};
use super::{Selection, kinds};
use crate::agent::{Line, Recorded};
use crate::entry::{Role, caps};
use crate::limits::SUBTITLE_CHARS;
use crate::source::json::{Scanner, Token, Value};

/// Reads the beginning of a transcript. Its last line may be cut: what was read of it before the cut counts.
#[must_use]
pub fn recorded(head: &[u8]) -> Recorded {
    let mut found = Found::default();
    for line in head.split(|&byte| byte == b'\n') {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        let mut record = Record::default();
        let mut scanner = Scanner::new(line, 0);
        if !matches!(scanner.step(), Ok(Token::Open(_))) {
            continue;
        }
        // Damage and the cut at the end cost what follows them in the record, no more.
        if record.skim(&mut scanner).is_err() {
            // The last thing that a torn record says may be torn too: a whole one in the same line is believed first.
            found.note_behind(line);
        }
        record.raw = Value(line);
        found.note(&record);
        if found.is_complete() {
            break;
        }
    }
    found.recorded.first_prompt = found.recorded.first_prompt.or(found.command);
    found.recorded
}

/// What was found so far.
#[derive(Debug, Default)]
struct Found {
    recorded: Recorded,
    /// The first command, which is shown if no prompt is there.
    command: Option<String>,
}

impl Found {
    const fn is_complete(&self) -> bool {
        self.recorded.cwd.is_some() && self.recorded.conversation && self.recorded.first_prompt.is_some()
    }

    fn note(&mut self, record: &Record<'_>) {
        let Self { recorded, command } = self;
        if recorded.cwd.is_none() {
            recorded.cwd = record.cwd.and_then(Value::filled);
        }
        recorded.conversation |= is_conversation(record);
        walk::parts(0, record, Selection::Main, &mut |part| {
            let What::Said(text, speech, Role::User) = part.what else { return };
            if record.meta || record.compact_summary {
                return;
            }
            let prompt = match speech {
                Speech::Plain if recorded.first_prompt.is_none() => &mut recorded.first_prompt,
                Speech::Command | Speech::Shell if command.is_none() => command,
                _ => return,
            };
            let text = said::readable(speech, &text.text().unwrap_or_default());
            *prompt = caps::one_line(text.chars(), SUBTITLE_CHARS);
        });
    }

    /// What stands in the same line behind a record that was torn.
    fn note_behind(&mut self, line: &[u8]) {
        walk::records(&Line { offset: 0, bytes: line, over_cap: None }, &mut |at, record| {
            if let (true, Ok(record)) = (at > 0, record) {
                self.note(record);
            }
        });
    }
}

/// Whether the record makes an entry that is read, or would if it were not cut.
fn is_conversation(record: &Record<'_>) -> bool {
    let cut = matches!(kinds::record(record.kind), kinds::RecordKind::User)
        && !record.sidechain
        && record
            .message
            .as_ref()
            .is_some_and(|message| !message.content.as_ref().is_some_and(Content::is_whole) && message.role.is_some());
    let mut found = cut;
    walk::parts(0, record, Selection::Main, &mut |part| found |= !matches!(part.what, What::Unknown(_)));
    found
}
