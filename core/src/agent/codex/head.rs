//! What the beginning of a rollout says about it.

use super::children;
use super::kinds::{self, RecordKind};
use super::memory::Memory;
use super::record::Record;
use super::said;
use super::walk::{self, What};
use crate::agent::shown::whole;
use crate::agent::{Recorded, skim};
use crate::entry::caps;
use crate::limits::SUBTITLE_CHARS;
use crate::source::json::Value;

/// Reads the beginning of a rollout. Its last line may be cut: what was read of it before the cut counts.
#[must_use]
pub fn recorded(head: &[u8]) -> Recorded {
    let mut recorded = Recorded { child: children::is_child(head), ..Recorded::default() };
    let mut memory = Memory::default();
    skim::beginning(head, |record: &Record<'_>| {
        if recorded.cwd.is_none() && matches!(kinds::record(record.kind), RecordKind::Meta | RecordKind::Turn) {
            recorded.cwd = record.payload.cwd.and_then(Value::filled);
        }
        walk::parts(0, record, &mut memory, &mut |part| match part.what {
            What::Typed(texts) => {
                recorded.conversation = true;
                if recorded.first_prompt.is_none() {
                    let all: alloc::string::String = texts.iter().map(|text| whole(*text)).collect();
                    recorded.first_prompt = caps::one_line(said::typed(&all).chars(), SUBTITLE_CHARS);
                }
            }
            What::Unknown(_) | What::Forked(_) => {}
            _ => recorded.conversation = true,
        });
        // A turn is a conversation, even where what was said in it lies behind what was read.
        recorded.conversation |= kinds::record(record.kind) == RecordKind::Turn;
        recorded.go_on()
    });
    recorded
}

#[cfg(test)]
mod tests {
    use super::recorded;

    #[test]
    fn a_record_that_names_its_payload_twice_has_the_directory_that_its_beginning_tells() {
        let line: &[u8] = br#"{"payload":{"cwd":"/w"},"type":"session_meta","payload":{"cwd":"/v","cwd":"/u"}}"#;
        for head in [line, &line[..48]] {
            assert_eq!(recorded(head).cwd.as_deref(), Some("/w"));
        }
    }
}
