//! What the beginning and the end of a child's file say.

use alloc::string::String;

use super::note::prompt;
use crate::agent::claude::record::{Content, Record};
use crate::agent::skim::Skim as _;
use crate::roster::last_lines;
use crate::source::json::{Scanner, Token, Value};
use crate::time::UnixMillis;

/// What the beginning says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Head {
    /// The session that it belongs to.
    pub(super) session: Option<String>,
    /// The digest of what it was told to do; 0 if that is not known.
    pub(super) prompt: u64,
}

/// The last time in the last bytes of a file, of which the first line may be cut. A torn last line has none.
pub(super) fn last_time(bytes: &[u8], cut: bool) -> Option<i64> {
    last_lines(bytes, cut).find_map(|line| {
        let mut record = Record::default();
        let mut scanner = Scanner::new(line, 0);
        if matches!(scanner.step(), Ok(Token::Open(_))) {
            let _ = record.skim(&mut scanner);
        }
        record.timestamp.and_then(Value::text).and_then(|text| UnixMillis::parse(&text)).map(|time| time.0)
    })
}

/// What the first lines say. The last of them may be cut: what stands before the cut counts.
pub(super) fn head(bytes: &[u8]) -> Head {
    let mut head = Head::default();
    for line in bytes.split(|&byte| byte == b'\n') {
        if head.session.is_none() {
            let named = Value(line).members().find(|(key, _)| *key == b"sessionId");
            head.session = named.and_then(|(_, session)| session.filled());
        }
        let mut record = Record::default();
        let mut scanner = Scanner::new(line, 0);
        if head.prompt == 0
            && matches!(scanner.step(), Ok(Token::Open(_)))
            && record.skim(&mut scanner).is_ok()
            && record.kind.is_some_and(|kind| kind.is("user"))
            && let Some(message) = record.message
        {
            head.prompt = match message.content {
                Some(Content::Text(text)) => prompt(text),
                Some(Content::List { blocks, .. }) => blocks.iter().find_map(|block| block.text).map_or(0, prompt),
                _ => 0,
            };
            break;
        }
    }
    head
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString as _;

    use super::*;
    use crate::roster::digest;

    #[test]
    fn the_last_time_is_that_of_the_last_whole_line_that_has_one() {
        let at = |second: u32| format!("{{\"type\":\"user\",\"timestamp\":\"2026-03-01T08:00:0{second}.000Z\"}}");
        let text = format!("{}\n{}\n{{\"type\":\"mode\"}}\n{}", at(1), at(2), &at(3)[..40]);
        assert_eq!(last_time(text.as_bytes(), false), Some(1_772_352_002_000));
        assert_eq!(last_time(format!("{}\n{}", at(1), at(3)).as_bytes(), false), Some(1_772_352_003_000));
        assert_eq!(last_time(at(1).as_bytes(), true), None);
        assert_eq!(last_time(b"{\"timestamp\":\"never\"}\n", false), None);
        assert_eq!(last_time(b"", false), None);
    }

    #[test]
    fn the_beginning_names_the_session_and_the_task() {
        let line = r#"{"isSidechain":true,"sessionId":"s-1","type":"user","message":{"role":"user","content":" find it\n"},"uuid":"u"}"#;
        assert_eq!(head(line.as_bytes()), Head { session: Some("s-1".to_string()), prompt: digest(b"find it") });
        assert_eq!(head(&line.as_bytes()[..60]), Head { session: Some("s-1".to_string()), prompt: 0 });
        let list = r#"{"type":"user","message":{"content":[{"type":"text","text":"find it"}]}}"#;
        assert_eq!(head(list.as_bytes()), Head { session: None, prompt: digest(b"find it") });
        assert_eq!(head(b"no json\n"), Head::default());
    }
}
