//! What the beginning of a rollout says about it.

use super::kinds::{self, RecordKind};
use super::memory::Memory;
use super::record::Record;
use super::said;
use super::walk::{self, What};
use crate::agent::Recorded;
use crate::agent::shown::whole;
use crate::agent::skim::Skim as _;
use crate::entry::caps;
use crate::limits::SUBTITLE_CHARS;
use crate::source::json::{Scanner, Token, Value};

/// Reads the beginning of a rollout. Its last line may be cut: what was read of it before the cut counts.
#[must_use]
pub fn recorded(head: &[u8]) -> Recorded {
    let mut recorded = Recorded::default();
    let mut memory = Memory::default();
    for line in head.split(|&byte| byte == b'\n') {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        let mut record = Record::default();
        let mut scanner = Scanner::new(line, 0);
        if !matches!(scanner.step(), Ok(Token::Open(_))) {
            continue;
        }
        // Damage and the cut at the end cost what follows them, no more. Instructions may be longer than what was read.
        let _ = record.skim(&mut scanner);
        record.keep(Value(line));
        if recorded.cwd.is_none() && matches!(kinds::record(record.kind), RecordKind::Meta | RecordKind::Turn) {
            recorded.cwd = record.payload.cwd.and_then(Value::filled);
        }
        walk::parts(0, &record, &mut memory, &mut |part| match part.what {
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
        if recorded.cwd.is_some() && recorded.conversation && recorded.first_prompt.is_some() {
            break;
        }
    }
    recorded
}
