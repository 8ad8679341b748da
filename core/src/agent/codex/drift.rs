//! What a line holds that stands in no table.

use alloc::format;

use super::kinds::{self, CompletedKind, EventKind, ItemKind, RecordKind};
use super::memory::Memory;
use super::record::Record;
use super::walk::{self, Unknown, What};
use crate::agent::drift::{Drift, Oddity, Place, name};
use crate::agent::{Line, skim};

/// Notes every type of record, item and event that is not known, and what is damaged. Codex says which version wrote a
/// session in its first record alone, so that no version is told here; tools are anybody's.
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
    let payload = &record.payload;
    let odd = match kinds::record(record.kind) {
        RecordKind::Unknown if record.wrapped => Some(name(record.kind)),
        RecordKind::Item if kinds::item(payload.kind) == ItemKind::Unknown => {
            Some(format!("item {}", name(payload.kind)))
        }
        RecordKind::Event if kinds::event(payload.kind) == EventKind::Unknown => {
            Some(format!("event {}", name(payload.kind)))
        }
        RecordKind::Event if kinds::event(payload.kind) == EventKind::Completed => {
            let kind = payload.item.and_then(|item| item.get("type"));
            (kinds::completed(kind) == CompletedKind::Unknown).then(|| format!("completed {}", name(kind)))
        }
        _ => None,
    };
    let is_known = odd.is_none();
    if let Some(odd) = odd {
        drift.note(Oddity::Record, &odd, "", at);
    }
    walk::parts(place, record, &mut Memory::default(), &mut |part| match part.what {
        What::Unknown(Unknown::Type(_)) if is_known => {
            drift.note(Oddity::Record, &format!("bare {}", name(record.kind)), "", at);
        }
        What::Unknown(Unknown::Shape(_)) => drift.note(Oddity::Damage, "record without what belongs to it", "", at),
        What::Unknown(Unknown::Block(block)) => drift.note(Oddity::Block, &name(block.get("type")), "", at),
        _ => {}
    });
}
