//! What the beginning of a transcript says about it.

use alloc::string::String;

use super::record::{Content, Record};
use super::said::{self, Speech};
use super::walk::{self, What};
use super::{Selection, kinds};
use crate::agent::{Recorded, skim};
use crate::entry::{Role, caps};
use crate::limits::SUBTITLE_CHARS;
use crate::source::json::Value;

/// Reads the beginning of a transcript. Its last line may be cut: what was read of it before the cut counts.
#[must_use]
pub fn recorded(head: &[u8]) -> Recorded {
    let mut found = Found::default();
    skim::beginning(head, |record: &Record<'_>| {
        found.note(record);
        found.recorded.go_on()
    });
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
