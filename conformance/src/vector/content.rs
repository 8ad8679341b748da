//! What is in a file: lines that are written as JSON, a text, bytes, or a file that lies beside the vector.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// In which order agents write the members of a line; the others follow by name.
const FIRST: [&str; 7] = ["parentUuid", "isSidechain", "cwd", "sessionId", "type", "message", "uuid"];
/// A line, or pattern, that stands for many.
const REPEAT: &str = "$repeat";
/// Repetitions at most, so that a slip fills no memory.
const MAX_REPEAT: u64 = 1_000_000;

/// The content of a file, or a part of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct Content {
    source: Source,
    no_newline: bool,
    from: usize,
    to: Option<usize>,
}

#[derive(Debug, Clone, PartialEq)]
enum Source {
    Lines(Vec<Value>),
    Text(String),
    Hex(Vec<u8>),
    Beside(String),
}

/// How it is written where more is said than a list of lines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    lines: Option<Vec<Value>>,
    text: Option<String>,
    hex: Option<String>,
    beside: Option<String>,
    #[serde(default)]
    no_newline: bool,
    #[serde(default)]
    from: usize,
    to: Option<usize>,
}

impl TryFrom<Value> for Content {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        if let Value::Array(lines) = value {
            return Ok(Self { source: Source::Lines(lines), no_newline: false, from: 0, to: None });
        }
        let Written { lines, text, hex, beside, no_newline, from, to } =
            serde_json::from_value(value).map_err(|error| error.to_string())?;
        let source = match (lines, text, hex, beside) {
            (Some(lines), None, None, None) => Source::Lines(lines),
            (None, Some(text), None, None) => Source::Text(text),
            (None, None, Some(hex), None) => Source::Hex(unhex(&hex)?),
            (None, None, None, Some(name)) => Source::Beside(name),
            _ => return Err("a content is one of `lines`, `text`, `hex` and `beside`".into()),
        };
        Ok(Self { source, no_newline, from, to })
    }
}

impl Content {
    /// Its bytes. `base` has the members that every line has which is an object; `beside` the files of the vector.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn bytes(&self, base: &Map<String, Value>, beside: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, String> {
        let mut bytes = match &self.source {
            Source::Lines(lines) => {
                let mut text = String::new();
                lines.iter().try_for_each(|line| write_lines(&mut text, line, base))?;
                text.into_bytes()
            }
            Source::Text(text) => text.clone().into_bytes(),
            Source::Hex(bytes) => bytes.clone(),
            Source::Beside(name) => {
                beside.get(name).cloned().ok_or_else(|| format!("{name} does not lie beside it"))?
            }
        };
        if self.no_newline && bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        let to = self.to.unwrap_or(bytes.len());
        let part = bytes.get(self.from..to);
        part.map(<[u8]>::to_vec).ok_or_else(|| format!("{}..{to} is no part of {} bytes", self.from, bytes.len()))
    }
}

/// One line as it is written: a text as it stands, an object with the members of `base`, a repetition.
fn write_lines(text: &mut String, line: &Value, base: &Map<String, Value>) -> Result<(), String> {
    match line {
        Value::String(raw) => text.push_str(raw),
        Value::Object(members) if members.contains_key(REPEAT) => {
            let Repetition { count, first, of } = repetition(line, "line")?;
            return (first..first + count).try_for_each(|n| write_lines(text, &numbered(of, n), base));
        }
        Value::Object(members) => {
            let mut line = base.clone();
            line.extend(members.clone());
            write_object(text, &line);
        }
        other => return Err(format!("a line is a text or an object, not {other}")),
    }
    text.push('\n');
    Ok(())
}

fn write_object(text: &mut String, line: &Map<String, Value>) {
    let first = FIRST.iter().filter_map(|name| line.get_key_value(*name));
    let rest = line.iter().filter(|(name, _)| !FIRST.contains(&name.as_str()));
    for (at, (name, value)) in first.chain(rest).enumerate() {
        text.push(if at == 0 { '{' } else { ',' });
        text.push_str(&Value::from(name.as_str()).to_string());
        text.push(':');
        text.push_str(&value.to_string());
    }
    text.push_str(if line.is_empty() { "{}" } else { "}" });
}

/// `{"$repeat": COUNT, "$from": FIRST, OF: …}`
pub(super) struct Repetition<'a> {
    pub(super) count: u64,
    pub(super) first: u64,
    pub(super) of: &'a Value,
}

/// Whether this stands for many.
pub(super) fn repeats(value: &Value) -> bool {
    value.get(REPEAT).is_some()
}

pub(super) fn repetition<'a>(value: &'a Value, of: &str) -> Result<Repetition<'a>, String> {
    let number = |name: &str| value.get(name).map(|n| n.as_u64().ok_or_else(|| format!("{name} is a number, not {n}")));
    let count = number(REPEAT).unwrap_or(Ok(0))?;
    let first = number("$from").unwrap_or(Ok(1))?;
    let known =
        value.as_object().is_some_and(|members| members.keys().all(|key| [REPEAT, "$from", of].contains(&&**key)));
    match value.get(of).filter(|_| known) {
        Some(of) if count.max(first) <= MAX_REPEAT => Ok(Repetition { count, first, of }),
        Some(_) => Err(format!("more than {MAX_REPEAT} repetitions")),
        None => Err(format!("a repetition has `{REPEAT}`, `{of}` and perhaps `$from`: {value}")),
    }
}

/// The same with this number in the place of every `${n}`.
pub(super) fn numbered(value: &Value, n: u64) -> Value {
    match value {
        Value::String(text) => text.replace("${n}", &n.to_string()).into(),
        Value::Array(items) => items.iter().map(|item| numbered(item, n)).collect(),
        Value::Object(members) if members.len() == 1 && members.contains_key("$n") => members
            .get("$n")
            .and_then(Value::as_i64)
            .map_or(Value::Null, |plus| Value::from(n.saturating_add_signed(plus))),
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), numbered(value, n))).collect(),
        other => other.clone(),
    }
}

/// Two digits for each byte; white space is for the reader.
pub(super) fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u32> = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).ok_or_else(|| format!("{c:?} is no hexadecimal digit")))
        .collect::<Result<_, _>>()?;
    let byte = |pair: &[u32]| match pair {
        [high, low] => u8::try_from(high * 16 + low).map_err(|error| error.to_string()),
        _ => Err("a byte has two hexadecimal digits".into()),
    };
    digits.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bytes(content: Value) -> Result<String, String> {
        let base = json!({"sessionId": "s", "type": "user"});
        let beside = BTreeMap::from([("a.jsonl".to_owned(), b"beside\n".to_vec())]);
        let content: Content = serde_json::from_value(content).map_err(|error| error.to_string())?;
        let bytes = content.bytes(base.as_object().unwrap(), &beside)?;
        String::from_utf8(bytes).map_err(|error| error.to_string())
    }

    #[test]
    fn lines_have_the_members_of_the_vector_in_the_order_of_agents() {
        let lines = json!([{"uuid": "u", "message": {}, "type": "assistant", "extra": 1}, "{bad", {}]);
        let expected = "{\"sessionId\":\"s\",\"type\":\"assistant\",\"message\":{},\"uuid\":\"u\",\"extra\":1}\n{bad\n\
                        {\"sessionId\":\"s\",\"type\":\"user\"}\n";
        assert_eq!(bytes(lines).unwrap(), expected);
    }

    #[test]
    fn a_line_can_stand_for_many() {
        let lines = json!([{"$repeat": 2, "$from": 9, "line": {"uuid": "u-${n}", "at": {"$n": 1}}}]);
        let expected = "{\"sessionId\":\"s\",\"type\":\"user\",\"uuid\":\"u-9\",\"at\":10}\n\
                        {\"sessionId\":\"s\",\"type\":\"user\",\"uuid\":\"u-10\",\"at\":11}\n";
        assert_eq!(bytes(lines).unwrap(), expected);
        assert!(bytes(json!([{"$repeat": 2, "lines": {}}])).unwrap_err().contains("a repetition has"));
    }

    #[test]
    fn other_sources_and_parts() {
        assert_eq!(bytes(json!({"text": "ab"})).unwrap(), "ab");
        assert_eq!(bytes(json!({"hex": "41 0a 4 2"})).unwrap(), "A\nB");
        assert_eq!(bytes(json!({"beside": "a.jsonl", "no_newline": true})).unwrap(), "beside");
        assert_eq!(bytes(json!({"text": "abcdef", "from": 2, "to": 4})).unwrap(), "cd");
        assert!(bytes(json!({"text": "ab", "to": 3})).unwrap_err().contains("0..3 is no part of 2 bytes"));
        assert!(bytes(json!({"text": "ab", "hex": ""})).unwrap_err().contains("one of"));
        assert!(bytes(json!({"hex": "4"})).unwrap_err().contains("two hexadecimal digits"));
        assert!(bytes(json!([7])).unwrap_err().contains("not 7"));
    }
}
