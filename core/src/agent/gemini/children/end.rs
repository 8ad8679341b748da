//! What the end of a child's log says: when it was written last, and whether the child has finished.

use super::head::time;
use crate::roster::last_lines;
use crate::source::json::Value;

/// The tool by which an agent says that it has finished.
const FINISH: &str = "complete_task";

/// The end of a child, so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct End {
    /// The last time in it, in Unix milliseconds.
    pub(super) last_ts: Option<i64>,
    /// Whether it has finished, as it says itself.
    pub(super) finished: bool,
}

impl End {
    /// Reads the last bytes of a file, of which the first line may be cut. A torn last line says nothing.
    pub(super) fn of(bytes: &[u8], cut: bool) -> Self {
        let mut end = Self::default();
        for line in last_lines(bytes, cut) {
            let record = Value(line.trim_ascii());
            let set = record.get("$set");
            let said = set.unwrap_or(record).get("lastUpdated").or_else(|| record.get("timestamp"));
            end.last_ts = end.last_ts.max(said.and_then(time));
            // It is summed up when it has reached its goal.
            let is_summed_up = set.and_then(|set| set.get("summary")).is_some_and(|summary| !summary.is_empty());
            let mut calls = record.get("toolCalls").into_iter().flat_map(Value::elements);
            end.finished |= is_summed_up || calls.any(is_finish);
            if record.get("id").is_some() {
                // What was said before the last message is over.
                break;
            }
        }
        end
    }
}

fn is_finish(call: Value<'_>) -> bool {
    let is = |key: &str, text: &str| call.get(key).is_some_and(|value| value.is(text));
    is("name", FINISH) && is("status", "success")
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    const SAID: &str = r#"{"id":"g1","timestamp":"1970-01-01T00:00:05Z","type":"gemini","content":"Hm."}"#;
    const SET: &str = r#"{"$set":{"lastUpdated":"1970-01-01T00:00:06Z"}}"#;

    #[test]
    fn a_child_has_finished_when_it_says_so_last() {
        let finish = SAID.replace("\"Hm.\"", r#""","toolCalls":[{"name":"complete_task","status":"success"}]"#);
        let failed = finish.replace("success", "error");
        let summed = r#"{"$set":{"summary":"It is in the shed."}}"#;
        for (lines, last_ts, finished) in [
            (&[SAID, SET][..], Some(6_000), false),
            (&[SAID], Some(5_000), false),
            (&[SAID, SET, summed], Some(6_000), true),
            (&[SAID, summed, SAID], Some(5_000), false),
            (&[SAID, &finish, SET], Some(6_000), true),
            (&[SAID, &failed, SET], Some(6_000), false),
            (&[SAID, SET, r#"{"$set":{"summary":"t"#], Some(6_000), false),
            (&[], None, false),
        ] {
            let text: String = lines.join("\n");
            assert_eq!(End::of(text.as_bytes(), false), End { last_ts, finished }, "{text}");
        }
        assert_eq!(End::of(SAID.as_bytes(), true), End::default());
    }
}
