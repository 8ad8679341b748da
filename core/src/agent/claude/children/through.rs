//! A child's conversation, read as a whole and kept up with: what it tells of children of its own, and what it comes to.

use alloc::string::String;
use core::ops::ControlFlow;

use super::note::note;
use crate::agent::claude::record::Record;
use crate::agent::claude::walk::{self, What};
use crate::agent::claude::{ClaudeReader, Selection};
use crate::agent::{Line, Reader as _, skim};
use crate::entry::{Role, caps};
use crate::io::{FileIdentity, FileTime};
use crate::limits::SUBTITLE_CHARS;
use crate::roster::{ReadThrough, Told};
use crate::source::json::Value;
use crate::source::lines::LineSplitter;
use crate::source::records;
use crate::time::UnixMillis;

/// What is known of everything up to [`end`](Self::end).
#[derive(Debug)]
pub(super) struct Through {
    identity: FileIdentity,
    modified: FileTime,
    lines: LineSplitter,
    pub(super) told: Told,
    pub(super) last_ts: Option<i64>,
    read: ReadThrough,
    /// The reply whose tokens were counted last, and how many these were: its next part counts them again.
    reply: Option<(String, u64)>,
}

impl Through {
    pub(super) fn new(identity: FileIdentity, modified: FileTime, line_bytes: usize) -> Self {
        Self {
            identity,
            modified,
            lines: LineSplitter::new(0, line_bytes),
            told: Told::default(),
            last_ts: None,
            read: ReadThrough::default(),
            reply: None,
        }
    }

    /// Whether this file, so long and so old, is one of which only the end is new.
    pub(super) fn goes_on(&self, identity: FileIdentity, size: u64, modified: FileTime) -> bool {
        let touched = modified != self.modified && size == self.end();
        identity == self.identity && size >= self.end() && !touched
    }

    /// Where to read on.
    pub(super) fn end(&self) -> u64 {
        self.lines.end()
    }

    pub(super) fn read(&self) -> &ReadThrough {
        &self.read
    }

    /// Takes what comes next.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let Self { lines, told, last_ts, read, reply, .. } = self;
        let _ = lines.push(bytes, |line| {
            take_line(&line, told, last_ts, read, reply);
            ControlFlow::<()>::Continue(())
        });
    }

    /// This is the end for now: a last line without its newline counts as soon as it is whole.
    pub(super) fn finish(&mut self, modified: FileTime) {
        self.modified = modified;
        if records::is_whole(self.lines.tail()) {
            let Self { lines, told, last_ts, read, reply, .. } = self;
            take_line(&lines.tail_line(), told, last_ts, read, reply);
            lines.accept_tail();
        }
    }
}

fn take_line(
    line: &Line<'_>,
    told: &mut Told,
    last_ts: &mut Option<i64>,
    read: &mut ReadThrough,
    reply: &mut Option<(String, u64)>,
) {
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

    fn through(pieces: &[&str]) -> Through {
        let mut through = Through::new(FileIdentity { device: 1, inode: 1 }, FileTime(1), 1 << 20);
        for piece in pieces {
            through.take(piece.as_bytes());
        }
        through.finish(FileTime(2));
        through
    }

    fn said(id: &str, text: &str, output: u64) -> String {
        format!(
            r#"{{"type":"assistant","isSidechain":true,"message":{{"id":"{id}","content":[{{"type":"text","text":"{text}"}}],"usage":{{"input_tokens":3,"cache_read_input_tokens":100,"output_tokens":{output}}}}},"timestamp":"2026-03-01T08:00:0{output}.000Z"}}"#
        )
    }

    #[test]
    fn a_reply_counts_once_with_what_its_last_part_says() {
        let text = [said("m1", "one", 1), said("m1", "two", 2), said("m2", "last\\n words", 5)].join("\n");
        let (head, tail) = text.split_at(50);
        let through = through(&[head, tail]);
        assert_eq!(through.end(), text.len() as u64);
        assert_eq!(through.last_ts, Some(1_772_352_005_000));
        let read = ReadThrough {
            began_ts: Some(1_772_352_001_000),
            entries: 3,
            tokens: 105 + 108,
            last_text: Some("last words".into()),
        };
        assert_eq!(*through.read(), read);
    }

    #[test]
    fn a_file_goes_on_only_as_itself() {
        let through = through(&["{\"type\":\"mode\"}\n"]);
        let end = through.end();
        let (same, other) = (FileIdentity { device: 1, inode: 1 }, FileIdentity { device: 1, inode: 2 });
        for (identity, size, modified, goes_on) in [
            (same, end, 2, true),
            (same, end + 9, 3, true),
            (same, end, 3, false),
            (same, end - 1, 3, false),
            (other, end + 9, 3, false),
        ] {
            assert_eq!(through.goes_on(identity, size, FileTime(modified)), goes_on, "{size} {modified}");
        }
    }
}
