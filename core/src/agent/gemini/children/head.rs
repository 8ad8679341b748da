//! What the beginning of a child's file says: that it is one, when it began, and what it was told to do.

use alloc::string::String;
use alloc::vec::Vec;

use super::start::prompt;
use crate::agent::shown::named;
use crate::entry::caps;
use crate::limits::CHILD_LABEL_CHARS;
use crate::source::json::Value;
use crate::time::UnixMillis;

/// What the beginning says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Head {
    /// When it began, in Unix milliseconds.
    pub(super) began: Option<i64>,
    /// What the call may have said that started it, as [`prompt`]s, the likeliest first. A task stands behind what is said
    /// to every agent, and in some agents' own words, which put it between tags. Empty if nothing was said yet.
    pub(super) prompts: Vec<u64>,
    /// What it was told to do, as a label.
    pub(super) description: String,
}

impl Head {
    /// Reads the beginning of a file. It may be cut: what stands before the cut counts. Nothing if no session begins here.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
        let meta = Value(bytes);
        named(meta.get("sessionId"))?;
        let mut head = Self { began: meta.get("startTime").and_then(time), ..Self::default() };
        let listed = meta.get("messages").unwrap_or_else(|| cut_list(bytes)).elements();
        let logged = bytes.split(|&byte| byte == b'\n').skip(1).map(|line| Value(line.trim_ascii()));
        let is_task = |message: &Value<'_>| message.get("type").is_some_and(|kind| kind.is("user"));
        let Some(content) = listed.chain(logged).find(is_task).and_then(|message| message.get("content")) else {
            return Some(head);
        };
        let parts = content.elements().filter_map(|part| named(part.get("text")));
        let texts: Vec<String> = named(Some(content)).into_iter().chain(parts).collect();
        let Some(last) = texts.last() else { return Some(head) };
        let task = between_tags(last).unwrap_or(last);
        head.description = caps::one_line(task.chars(), CHILD_LABEL_CHARS).unwrap_or_default();
        head.prompts = [prompt(last), prompt(task), prompt(&texts.concat())].into();
        head.prompts.dedup();
        Some(head)
    }
}

/// The list of messages in a document that is cut in it.
fn cut_list(bytes: &[u8]) -> Value<'_> {
    let from = memchr::memmem::find(bytes, b"\"messages\"").and_then(|at| bytes.get(at..));
    Value(from.and_then(|rest| rest.get(memchr::memchr(b'[', rest)?..)).unwrap_or_default())
}

/// What stands between the last two tags, if a text ends with one.
fn between_tags(text: &str) -> Option<&str> {
    let (before, name) = text.trim_end().strip_suffix('>')?.rsplit_once("</")?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let open = alloc::format!("<{name}>");
    let (_, inside) = before.split_once(open.as_str()).filter(|_| is_name)?;
    Some(inside.trim()).filter(|inside| !inside.is_empty())
}

/// A time, in Unix milliseconds.
pub(super) fn time(value: Value<'_>) -> Option<i64> {
    value.text().and_then(|text| UnixMillis::parse(&text)).map(|time| time.0)
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    const META: &str =
        r#"{"sessionId":"x7f3ab","projectHash":"h","startTime":"1970-01-01T00:00:05Z","kind":"subagent"}"#;

    fn head(content: &str) -> Head {
        let log = format!("{META}\n{{\"id\":\"a\",\"type\":\"user\",\"content\":{content}}}\n{{\"id\":\"b\"");
        let found = Head::of(log.as_bytes()).unwrap();
        let document = format!(
            "{{\n \"sessionId\":\"x7f3ab\",\"startTime\":\"1970-01-01T00:00:05Z\",\n \"messages\": [\n{{\"id\":\"a\",\"type\":\"user\",\"content\":{content}}},\n{{\"id\""
        );
        assert_eq!(Head::of(document.as_bytes()), Some(found.clone()));
        found
    }

    #[test]
    fn a_task_is_found_in_whatever_stands_around_it() {
        let task = |texts: &[&str], description: &str| Head {
            began: Some(5_000),
            prompts: texts.iter().map(|text| prompt(text)).collect(),
            description: description.into(),
        };
        assert_eq!(head(r#""Find the rake.""#), task(&["Find the rake."], "Find the rake."));
        assert_eq!(
            head(r#"[{"text":"Be kind."},{"text":"Find the rake."}]"#),
            task(&["Find the rake.", "Be kind.Find the rake."], "Find the rake.")
        );
        let told = "Do this:\n<objective>\nFind it.\n</objective>";
        assert_eq!(head(&format!("[{{\"text\":{:?}}}]", told)), task(&[told, "Find it.", told], "Find it."));
        assert_eq!(head(r#"[{"inlineData":{}}]"#), task(&[], ""));
    }

    #[test]
    fn what_is_no_session_says_nothing() {
        assert_eq!(Head::of(META.as_bytes()), Some(Head { began: Some(5_000), ..Head::default() }));
        for bytes in ["", "{\"session", "[]", "{\"other\":1}\n", "no"] {
            assert_eq!(Head::of(bytes.as_bytes()), None, "{bytes}");
        }
        for text in ["a</b>", "<a>b", "<>x</>", "<a></a>", "x>"] {
            assert_eq!(between_tags(text), None, "{text}");
        }
    }
}
