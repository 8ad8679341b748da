//! What a thread's conversation tells of threads of its own, and what it comes to.

use super::end::{End, time};
use super::note::note;
use crate::agent::codex::memory::Memory;
use crate::agent::codex::record::Record;
use crate::agent::codex::walk::{self, Item, Part, What};
use crate::agent::{Line, State, skim};
use crate::entry::caps;
use crate::limits::SUBTITLE_CHARS;
use crate::roster::{Known, ReadThrough, Told};
use crate::source::json::Value;

/// What its lines have said.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(super) told: Told,
    pub(super) end: End,
    pub(super) read: ReadThrough,
    state: State,
}

impl Known for Said {
    fn take(&mut self, line: &Line<'_>) {
        note(line, &mut self.told);
        let Self { end, read, state, .. } = self;
        let mut memory = Memory::of(state);
        walk::walk(line, &mut memory, &mut |item| {
            read.entries = read.entries.saturating_add(1);
            if let Item::Part(Part { what: What::Said(text), .. }) = item {
                read.last_text = text.chars().and_then(|chars| caps::one_line(chars, SUBTITLE_CHARS));
            }
        });
        *state = memory.into_state();
        skim::records(line, &mut |_, found: Result<&Record<'_>, _>| {
            let Ok(record) = found else { return };
            end.take(record);
            read.began_ts = read.began_ts.or_else(|| time(record));
            read.tokens = tokens(record).unwrap_or(read.tokens);
        });
    }
}

/// How many tokens a thread has cost so far: Codex adds them up itself.
fn tokens(record: &Record<'_>) -> Option<u64> {
    let usage =
        record.payload.raw.get("info").filter(|_| record.payload.kind.is_some_and(|kind| kind.is("token_count")));
    usage?.get("total_token_usage")?.get("total_tokens").and_then(Value::number)
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::io::{FileIdentity, FileTime};
    use crate::roster::Through;

    #[test]
    fn a_thread_comes_to_its_entries_and_its_last_total_of_tokens() {
        let lines: String = [
            r#"{"timestamp":"2026-03-01T08:00:01Z","type":"session_meta","payload":{"id":"c"}}"#,
            r#"{"timestamp":"2026-03-01T08:00:02Z","type":"event_msg","payload":{"type":"agent_message","message":"half"}}"#,
            r#"{"timestamp":"2026-03-01T08:00:02Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"half"}]}}"#,
            r#"{"timestamp":"2026-03-01T08:00:03Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":70}}}}"#,
            r#"{"timestamp":"2026-03-01T08:00:04Z","type":"event_msg","payload":{"type":"token_count","info":null}}"#,
            r#"{"timestamp":"2026-03-01T08:00:05Z","type":"event_msg","payload":{"type":"agent_message","message":"all\n done"}}"#,
            r#"{"timestamp":"2026-03-01T08:00:06Z","type":"event_msg","payload":{"type":"task_complete"}}"#,
        ]
        .join("\n");
        let mut through = Through::<Said>::new(FileIdentity { device: 1, inode: 1 }, FileTime(1), 1 << 20);
        let (head, tail) = lines.as_bytes().split_at(120);
        through.take(head);
        through.take(tail);
        through.finish(FileTime(2));
        let read = ReadThrough {
            began_ts: Some(1_772_352_001_000),
            entries: 2,
            tokens: 70,
            last_text: Some("all done".into()),
        };
        assert_eq!(through.known.read, read);
        assert_eq!(through.known.end, End { last_ts: Some(1_772_352_006_000), idle: true });
    }
}
