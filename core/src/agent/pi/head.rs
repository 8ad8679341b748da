//! What the beginning of a session says about it.

use super::kinds::{self, RecordKind};
use super::record::Record;
use super::walk::{self, What};
use crate::agent::{Recorded, skim};
use crate::entry::{Role, caps};
use crate::limits::SUBTITLE_CHARS;
use crate::source::json::Value;

/// Reads the beginning of a session. Its last line may be cut: what was read of it before the cut counts.
#[must_use]
pub fn recorded(head: &[u8]) -> Recorded {
    let mut recorded = Recorded::default();
    skim::beginning(head, |record: &Record<'_>| {
        if recorded.cwd.is_none() {
            recorded.cwd = record.cwd.and_then(Value::filled);
        }
        let role = record.message.as_ref().and_then(|message| message.role);
        recorded.conversation |= kinds::record(record.kind) == RecordKind::Message && role.is_some();
        walk::parts(0, record, &mut |part| {
            if let What::Said(text, Role::User) = part.what
                && recorded.first_prompt.is_none()
            {
                recorded.first_prompt = text.chars().and_then(|chars| caps::one_line(chars, SUBTITLE_CHARS));
            }
        });
        recorded.go_on()
    });
    recorded
}
