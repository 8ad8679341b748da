//! What a child's conversation tells of children of its own, and what it comes to.

use alloc::string::String;

use super::note::note;
use crate::agent::claude::record::Record;
use crate::agent::claude::walk::{self, What};
use crate::agent::claude::{ClaudeReader, Selection};
use crate::agent::{Line, Reader as _, skim};
use crate::entry::{Role, caps};
use crate::limits::SUBTITLE_CHARS;
use crate::roster::{Known, ReadThrough, Told};
use crate::source::json::Value;
use crate::time::UnixMillis;

/// What its lines have said.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(super) told: Told,
    pub(super) last_ts: Option<i64>,
    pub(super) read: ReadThrough,
    /// The reply whose tokens were counted last, and how many these were: its next part counts them again.
    reply: Option<(String, u64)>,
}

impl Known for Said {
    fn take(&mut self, line: &Line<'_>) {
        let Self { told, last_ts, read, reply } = self;
        let reader = ClaudeReader { selection: Selection::Child };
        read.entries = read.entries.saturating_add(reader.count(line));
        note(line, Selection::Child, told);
        skim::records(line, &mut |at, found: Result<&Record<'_>, _>| {
            let Ok(record) = found else { return };
            if let Some(time) = record.timestamp.and_then(Value::text).and_then(|text| UnixMillis::parse(&text)) {
                *last_ts = Some(time.0);
                read.began_ts = read.began_ts.or(Some(time.0));
            }
            if let Some((id, tokens)) = record.raw.get("message").and_then(usage) {
                let counted = reply.take().filter(|(before, _)| *before == id).map_or(0, |(_, counted)| counted);
                read.tokens = read.tokens.saturating_sub(counted).saturating_add(tokens);
                *reply = Some((id, tokens));
            }
            walk::parts(at, record, Selection::Child, &mut |part| {
                if let What::Said(text, _, Role::Assistant) = part.what {
                    read.last_text = text.chars().and_then(|chars| caps::one_line(chars, SUBTITLE_CHARS));
                }
            });
        });
    }
}

/// The id of a reply, and the tokens that it has cost so far: each of its parts names them all.
fn usage(message: Value<'_>) -> Option<(String, u64)> {
    let usage = message.get("usage").filter(|usage| usage.is_object())?;
    let tokens = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"]
        .iter()
        .filter_map(|key| usage.get(key).and_then(Value::number))
        .fold(0, u64::saturating_add);
    Some((message.get("id").and_then(Value::text).unwrap_or_default(), tokens))
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::io::{FileIdentity, FileTime};
    use crate::roster::Through;

    fn said(id: &str, text: &str, output: u64) -> String {
        format!(
            r#"{{"type":"assistant","isSidechain":true,"message":{{"id":"{id}","content":[{{"type":"text","text":"{text}"}}],"usage":{{"input_tokens":3,"cache_read_input_tokens":100,"output_tokens":{output}}}}},"timestamp":"2026-03-01T08:00:0{output}.000Z"}}"#
        )
    }

    #[test]
    fn a_reply_counts_once_with_what_its_last_part_says() {
        let text = [said("m1", "one", 1), said("m1", "two", 2), said("m2", "last\\n words", 5)].join("\n");
        let mut through = Through::<Said>::new(FileIdentity { device: 1, inode: 1 }, FileTime(1), 1 << 20);
        let (head, tail) = text.as_bytes().split_at(50);
        through.take(head);
        through.take(tail);
        through.finish(FileTime(2));
        assert_eq!(through.end(), text.len() as u64);
        assert_eq!(through.known.last_ts, Some(1_772_352_005_000));
        let read = ReadThrough {
            began_ts: Some(1_772_352_001_000),
            entries: 3,
            tokens: 105 + 108,
            last_text: Some("last words".into()),
        };
        assert_eq!(through.known.read, read);
    }
}
