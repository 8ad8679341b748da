//! What a line holds that stands in no table.

use alloc::borrow::Cow;
use alloc::string::String;

use super::kinds::{self, AttachmentKind, BlockKind, RecordKind, SystemKind};
use super::record::{Block, Content, Message, Record};
use super::walk::{self, Unknown, What};
use super::{Selection, known};
use crate::agent::drift::{Drift, Oddity, Place, name};
use crate::agent::{Line, skim};
use crate::source::json::Value;

/// Notes everything that is not known. This looks at every member of every block: it is for lines that are read in full
/// depth anyway, and for those that counting could not place.
pub(super) fn note(line: &Line<'_>, selection: Selection, file: &str, drift: &mut Drift) {
    let at = Place { file, offset: line.offset };
    if line.over_cap.is_some() {
        return drift.note(Oddity::Damage, "line over the cap", "", at);
    }
    skim::records(line, &mut |place, found: Result<&Record<'_>, _>| match found {
        Ok(record) => {
            let version = record.raw.get("version").and_then(Value::text).unwrap_or_default();
            let mut notes = Notes { version: &version, at, drift };
            notes.record(record);
            // What no table explains is damage: the right names, and not what belongs to them.
            walk::parts(place, record, selection, &mut |part| {
                if let What::Unknown(unknown) = part.what {
                    notes.unreadable(unknown);
                }
            });
        }
        Err(_) => drift.note(Oddity::Damage, "no record", "", at),
    });
}

struct Notes<'n> {
    version: &'n str,
    at: Place<'n>,
    drift: &'n mut Drift,
}

impl Notes<'_> {
    fn record(&mut self, record: &Record<'_>) {
        let kind = kinds::record(record.kind);
        match kind {
            RecordKind::Unknown => self.note(Oddity::Record, &name(record.kind)),
            RecordKind::System if kinds::system(record.subtype) == SystemKind::Unknown => {
                self.note(Oddity::System, &name(record.subtype));
            }
            RecordKind::Attachment => self.attachment(record.attachment),
            RecordKind::User | RecordKind::Assistant => {
                if let Some(message) = &record.message {
                    self.message(record, message);
                }
            }
            RecordKind::System | RecordKind::Bookkeeping => {}
        }
        let owner = name(record.kind);
        self.fields(&owner, record.raw, |field| known::is_record_field(kind, field));
    }

    fn attachment(&mut self, attachment: Option<Value<'_>>) {
        let kind = attachment.and_then(|attachment| attachment.get("type"));
        if kinds::attachment(kind) == AttachmentKind::Unknown {
            self.note(Oddity::Attachment, &name(kind));
        }
    }

    fn message(&mut self, record: &Record<'_>, message: &Message<'_>) {
        if let Some(raw) = record.raw.get("message") {
            self.fields("message", raw, known::is_message_field);
        }
        if let Some(Content::List { blocks, .. }) = &message.content {
            blocks.iter().for_each(|block| self.block(block));
        }
    }

    fn block(&mut self, block: &Block<'_>) {
        let kind = kinds::block(block.raw, block.kind);
        match kind {
            BlockKind::Unknown => self.note(Oddity::Block, &name(block.kind)),
            BlockKind::Call => self.call(block.raw),
            _ => {}
        }
        self.fields(&name(block.kind), block.raw, |field| known::is_block_field(kind, field));
    }

    fn call(&mut self, call: Value<'_>) {
        let tool = name(call.get("name"));
        match (known::inputs(&tool), call.get("input")) {
            (None, _) => self.note(Oddity::Tool, &tool),
            (Some(inputs), Some(input)) => self.fields(&tool, input, |field| known::is_input(inputs, field)),
            (Some(_), None) => {}
        }
    }

    fn fields(&mut self, owner: &str, object: Value<'_>, is_known: impl Fn(&str) -> bool) {
        for (key, _) in object.members() {
            let field = String::from_utf8_lossy(key);
            if !is_known(&field) {
                self.note(Oddity::Field, &alloc::format!("{owner}.{field}"));
            }
        }
    }

    fn unreadable(&mut self, unknown: Unknown<'_>) {
        let name: Cow<'_, str> = match unknown {
            // These are in the report already, by their names.
            Unknown::Record => return,
            Unknown::Block(_, kind) if kinds::block(Value::default(), kind) == BlockKind::Unknown => return,
            Unknown::Block(_, kind) => alloc::format!("{} block without its text", name(kind)).into(),
            Unknown::System => "system record whose content is no text".into(),
            Unknown::NoMessage => "record without a message".into(),
            Unknown::NoContent(_) => "content that is neither text nor a list".into(),
        };
        self.note(Oddity::Damage, &name);
    }

    fn note(&mut self, what: Oddity, name: &str) {
        self.drift.note(what, name, self.version, self.at);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn drift(line: &str) -> Vec<(Oddity, String, String)> {
        let mut drift = Drift::default();
        note(&Line { offset: 3, bytes: line.as_bytes(), over_cap: None }, Selection::Main, "/f.jsonl", &mut drift);
        drift.rows().map(|row| (row.what, row.name.into(), row.version.into())).collect()
    }

    fn one(what: Oddity, name: &str) -> Vec<(Oddity, String, String)> {
        [(what, name.into(), "2.9.1".into())].into()
    }

    #[test]
    fn what_is_known_is_no_drift() {
        for line in [
            r#"{"type":"user","version":"2.9.1","message":{"role":"user","content":"hello"}}"#,
            r#"{"type":"assistant","version":"2.9.1","message":{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"mcp__shelf__sort","input":{"by":"size"}}]}}"#,
            r#"{"type":"progress","version":"2.9.1","anything":{"goes":1}}"#,
            r#"{"type":"system","subtype":"informational","content":"hm","level":"info"}"#,
            r#"{"type":"attachment","attachment":{"type":"date_change","newDate":"x"}}"#,
            "",
        ] {
            assert_eq!(drift(line), [], "{line}");
        }
    }

    #[test]
    fn every_kind_of_unknown_thing_is_noted_by_its_name() {
        for (line, what, name) in [
            (r#"{"type":"omen","version":"2.9.1","of":"what comes"}"#, Oddity::Record, "omen"),
            (r#"{"type":"omen","version":"2.9.1","content":"a sign"}"#, Oddity::Record, "omen"),
            (r#"{"version":"2.9.1"}"#, Oddity::Record, "(none)"),
            (r#"{"type":"system","subtype":"tide","version":"2.9.1"}"#, Oddity::System, "tide"),
            (r#"{"type":"attachment","version":"2.9.1","attachment":{"type":"leaf"}}"#, Oddity::Attachment, "leaf"),
            (
                r#"{"type":"user","version":"2.9.1","message":{"content":[{"type":"song","of":1}]}}"#,
                Oddity::Block,
                "song",
            ),
            (
                r#"{"type":"assistant","version":"2.9.1","message":{"content":[{"type":"tool_use","name":"Hammer"}]}}"#,
                Oddity::Tool,
                "Hammer",
            ),
            (
                r#"{"type":"assistant","version":"2.9.1","message":{"content":[{"type":"tool_use","name":"Bash","input":{"loud":1}}]}}"#,
                Oddity::Field,
                "Bash.loud",
            ),
            (
                r#"{"type":"user","version":"2.9.1","mood":"good","message":{"content":"x"}}"#,
                Oddity::Field,
                "user.mood",
            ),
            (r#"{"type":"user","version":"2.9.1","message":{"content":"x","key":1}}"#, Oddity::Field, "message.key"),
            (
                r#"{"type":"user","version":"2.9.1","message":{"content":[{"type":"text","text":"x","font":1}]}}"#,
                Oddity::Field,
                "text.font",
            ),
            (r#"{"type":"user","version":"2.9.1"}"#, Oddity::Damage, "record without a message"),
            (
                r#"{"type":"user","version":"2.9.1","message":{"content":7}}"#,
                Oddity::Damage,
                "content that is neither text nor a list",
            ),
            (
                r#"{"type":"user","version":"2.9.1","message":{"content":[{"type":"text"}]}}"#,
                Oddity::Damage,
                "text block without its text",
            ),
        ] {
            assert_eq!(drift(line), one(what, name), "{line}");
        }
        assert_eq!(drift("no json"), [(Oddity::Damage, "no record".into(), String::new())]);
    }

    #[test]
    fn a_child_inside_an_old_file_is_looked_at_too() {
        let line = r#"{"type":"user","version":"2.9.1","isSidechain":true,"message":{"content":[{"type":"song"}]}}"#;
        assert_eq!(drift(line), one(Oddity::Block, "song"));
    }
}
