//! What the end of a rollout says: when it was written last, and whether its last turn is over.

use crate::agent::codex::kinds::{self, EventKind, RecordKind};
use crate::agent::codex::record::Record;
use crate::agent::skim::Skim as _;
use crate::roster::last_lines;
use crate::source::json::{Scanner, Token, Value};
use crate::time::UnixMillis;

/// The end of a thread, so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct End {
    /// The last time in it, in Unix milliseconds.
    pub(super) last_ts: Option<i64>,
    /// Whether its last turn is over.
    pub(super) idle: bool,
}

impl End {
    /// Reads the last bytes of a file, of which the first line may be cut. A torn last line says nothing.
    pub(super) fn of(bytes: &[u8], cut: bool) -> Self {
        let mut end = Self::default();
        for line in last_lines(bytes, cut) {
            let mut record = Record::default();
            let mut scanner = Scanner::new(line, 0);
            if matches!(scanner.step(), Ok(Token::Open(_))) {
                let _ = record.skim(&mut scanner);
            }
            end.last_ts = end.last_ts.or_else(|| time(&record));
            if let Some(idle) = turn_over(&record) {
                end.idle = idle;
                break;
            }
        }
        end
    }

    /// Takes the next record.
    pub(super) fn take(&mut self, record: &Record<'_>) {
        self.last_ts = time(record).or(self.last_ts);
        self.idle = turn_over(record).unwrap_or(self.idle);
    }
}

/// When a record was written, in Unix milliseconds.
pub(super) fn time(record: &Record<'_>) -> Option<i64> {
    record.timestamp.and_then(Value::text).and_then(|text| UnixMillis::parse(&text)).map(|time| time.0)
}

/// Whether a record ends a turn, or begins one; nothing if it does neither.
fn turn_over(record: &Record<'_>) -> Option<bool> {
    if kinds::record(record.kind) != RecordKind::Event {
        return None;
    }
    match kinds::event(record.payload.kind) {
        EventKind::TurnEnded | EventKind::Aborted => Some(true),
        EventKind::TurnBegan | EventKind::User => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;

    fn event(kind: &str, second: u32) -> String {
        format!(
            "{{\"timestamp\":\"2026-03-01T08:00:0{second}.000Z\",\"type\":\"event_msg\",\"payload\":{{\"type\":\"{kind}\"}}}}"
        )
    }

    #[test]
    fn the_last_turn_and_the_last_time_count() {
        let ended = [event("task_started", 1), event("task_complete", 2), event("token_count", 3)].join("\n");
        assert_eq!(End::of(ended.as_bytes(), false), End { last_ts: Some(1_772_352_003_000), idle: true });
        assert_eq!(End::of(ended.as_bytes(), true).last_ts, Some(1_772_352_003_000));
        let again = ended + "\n" + &event("task_started", 4) + "\n" + &event("task_complete", 5)[..60];
        assert_eq!(End::of(again.as_bytes(), false), End { last_ts: Some(1_772_352_004_000), idle: false });
        assert!(End::of(event("turn_aborted", 1).as_bytes(), false).idle);
        assert_eq!(End::of(event("turn_aborted", 1).as_bytes(), true), End::default());
        assert_eq!(End::of(b"no json\n", false), End::default());
    }
}
