//! What a line holds that stands in no table.

use alloc::borrow::Cow;
use alloc::format;

use super::kinds::{self, RecordKind, RoleKind, TOOLS};
use super::record::Record;
use super::walk::{self, Unknown, What};
use crate::agent::drift::{Drift, Oddity, Place, name};
use crate::agent::{Line, skim};
use crate::source::json::Value;

/// Notes every type of record, role, block and tool that is not known, and what is damaged. pi's records do not say which
/// version wrote them.
pub(super) fn note(line: &Line<'_>, file: &str, drift: &mut Drift) {
    let at = Place { file, offset: line.offset };
    if line.over_cap.is_some() {
        return drift.note(Oddity::Damage, "line over the cap", "", at);
    }
    skim::records(line, &mut |place, found: Result<&Record<'_>, _>| match found {
        Ok(record) => self::record(place, record, at, drift),
        Err(_) => drift.note(Oddity::Damage, "no record", "", at),
    });
}

fn record(place: usize, record: &Record<'_>, at: Place<'_>, drift: &mut Drift) {
    match kinds::record(record.kind) {
        RecordKind::Unknown => drift.note(Oddity::Record, &name(record.kind), "", at),
        RecordKind::Message => {
            let role = record.message.as_ref().map(|message| message.role);
            if let Some(role) = role.filter(|role| kinds::role(*role) == RoleKind::Unknown) {
                drift.note(Oddity::Record, &format!("message {}", name(role)), "", at);
            }
        }
        _ => {}
    }
    walk::parts(place, record, &mut |part| match part.what {
        What::Call(block) => {
            let tool = name(block.get("name"));
            if !TOOLS.contains(&tool.as_str()) {
                drift.note(Oddity::Tool, &tool, "", at);
            }
        }
        What::Unknown(unknown) => {
            let damage: Cow<'_, str> = match unknown {
                // These are in the report already, by their names.
                Unknown::Record(_) | Unknown::Role(_) => return,
                Unknown::Block(_, kind) if kinds::block(Value::default(), kind) == kinds::BlockKind::Unknown => {
                    return drift.note(Oddity::Block, &name(kind), "", at);
                }
                Unknown::Block(_, kind) => format!("{} block without its text", name(kind)).into(),
                Unknown::NoMessage => "record without a message".into(),
                Unknown::NoContent(_) => "content that is neither text nor a list".into(),
            };
            drift.note(Oddity::Damage, &damage, "", at);
        }
        _ => {}
    });
}
