//! What a value must look like, and what of it may vary.
//!
//! A plain value stands for itself. An object asks for its members and tolerates others; a list asks for each element. An
//! object with one member whose name begins with `$` is a *matcher*:
//!
//! | matcher | fits |
//! |---|---|
//! | `{"$any": "string"}` | any value of this type: `string`, `number`, `integer`, `boolean`, `array`, `object`, or `any` |
//! | `{"$absent": true}` | only if the member is not there |
//! | `{"$capture": "name"}`, `{"$capture": "name", "$is": P}` | anything, or what fits `P`; kept under this name |
//! | `{"$same": "name"}`, `{"$differs": "name"}` | what is equal to what was kept, or is not |
//! | `{"$one_of": [P, …]}`, `{"$all": [P, …]}`, `{"$not": P}` | one of them, all of them, everything else |
//! | `{"$at_least": 3}`, `{"$at_most": 3}` | numbers |
//! | `{"$starts": "a"}`, `{"$ends": "a"}`, `{"$has": "a"}` | texts |
//! | `{"$chars": P}` | a text whose number of Unicode scalar values fits `P` |
//! | `{"$lines": P}` | a text whose number of lines fits `P` |
//! | `{"$trimmed": P}` | a text that fits `P` without the white space around it |
//! | `{"$json": P}` | a text that is JSON which fits `P` |
//! | `{"$each": P}`, `{"$some": P}`, `{"$count": P}` | lists: every element, at least one, their number |
//! | `{"$n": 0}` | in a repetition: its number, plus this |

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value};

/// What was captured so far.
pub type Bindings = BTreeMap<String, Value>;

const TYPES: [&str; 7] = ["any", "string", "number", "integer", "boolean", "array", "object"];

/// What a value must look like.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub struct Pattern(Value);

impl TryFrom<Value> for Pattern {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        check(&value)?;
        Ok(Self(value))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Pattern {
    /// As it was written.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.0
    }

    /// The `type` of the frames that it can fit, if it names one.
    #[must_use]
    pub fn frame_type(&self) -> Option<&str> {
        self.0.get("type").and_then(Value::as_str)
    }

    /// Whether the value fits. What it captures is kept only if all of it does.
    ///
    /// # Errors
    /// Where it does not: the path, what was expected, what is there.
    pub fn fits(&self, value: &Value, bindings: &mut Bindings) -> Result<(), String> {
        let mut tried = bindings.clone();
        fits(&self.0, Some(value), &mut tried).map_err(|Misfit { path, why }| {
            if path.is_empty() { why } else { format!("{}: {why}", path.trim_start_matches('.')) }
        })?;
        *bindings = tried;
        Ok(())
    }
}

struct Misfit {
    path: String,
    why: String,
}

impl Misfit {
    fn because(why: String) -> Self {
        Self { path: String::new(), why }
    }

    fn below(self, step: &str) -> Self {
        Self { path: format!("{step}{}", self.path), why: self.why }
    }
}

/// The matcher that an object is: its name and what it is given.
fn matcher(pattern: &Map<String, Value>) -> Option<(&str, &Value)> {
    let name = pattern.keys().find(|name| name.starts_with('$') && *name != "$is")?;
    pattern.get_key_value(name).map(|(name, value)| (name.as_str(), value))
}

fn fits(pattern: &Value, value: Option<&Value>, bindings: &mut Bindings) -> Result<(), Misfit> {
    if let Value::Object(members) = pattern
        && let Some((name, given)) = matcher(members)
    {
        return match (name, value) {
            ("$absent", None) => Ok(()),
            ("$absent", Some(there)) => Err(Misfit::because(format!("expected nothing, came {}", shown(there)))),
            (_, None) => Err(Misfit::because(format!("expected {pattern}, is missing"))),
            (name, Some(value)) => matched(name, given, members.get("$is"), value, bindings),
        };
    }
    let Some(value) = value else { return Err(Misfit::because(format!("expected {pattern}, is missing"))) };
    match (pattern, value) {
        (Value::Object(members), Value::Object(there)) => members.iter().try_for_each(|(name, member)| {
            fits(member, there.get(name), bindings).map_err(|misfit| misfit.below(&format!(".{name}")))
        }),
        (Value::Array(wanted), Value::Array(there)) if wanted.len() == there.len() => {
            wanted.iter().zip(there).enumerate().try_for_each(|(at, (wanted, there))| {
                fits(wanted, Some(there), bindings).map_err(|misfit| misfit.below(&format!("[{at}]")))
            })
        }
        (Value::Number(wanted), Value::Number(there)) if wanted.as_f64() == there.as_f64() => Ok(()),
        (wanted, there) if wanted == there => Ok(()),
        (wanted, there) => Err(Misfit::because(format!("expected {wanted}, came {}", shown(there)))),
    }
}

fn matched(
    name: &str,
    given: &Value,
    is: Option<&Value>,
    value: &Value,
    bindings: &mut Bindings,
) -> Result<(), Misfit> {
    let text = || value.as_str().ok_or_else(|| Misfit::because(format!("expected a string, came {}", shown(value))));
    let list = || value.as_array().ok_or_else(|| Misfit::because(format!("expected a list, came {}", shown(value))));
    let wanted = given.as_str().unwrap_or_default();
    let holds = match name {
        "$any" => is_a(wanted, value),
        "$capture" => {
            is.map_or(Ok(()), |is| fits(is, Some(value), bindings))?;
            bindings.insert(wanted.into(), value.clone());
            true
        }
        "$same" => bindings.get(wanted) == Some(value),
        "$differs" => bindings.get(wanted).is_some_and(|kept| kept != value),
        "$one_of" => patterns(given).any(|pattern| fits(pattern, Some(value), bindings).is_ok()),
        "$all" => {
            patterns(given).try_for_each(|pattern| fits(pattern, Some(value), bindings))?;
            true
        }
        "$not" => fits(given, Some(value), &mut bindings.clone()).is_err(),
        "$at_least" => value.as_f64().zip(given.as_f64()).is_some_and(|(value, bound)| value >= bound),
        "$at_most" => value.as_f64().zip(given.as_f64()).is_some_and(|(value, bound)| value <= bound),
        "$starts" => text()?.starts_with(wanted),
        "$ends" => text()?.ends_with(wanted),
        "$has" => text()?.contains(wanted),
        "$chars" => return number(given, text()?.chars().count(), bindings, ".$chars"),
        "$lines" => return number(given, text()?.lines().count(), bindings, ".$lines"),
        "$trimmed" => return fits(given, Some(&text()?.trim().into()), bindings),
        "$json" => {
            let json = serde_json::from_str(text()?);
            let json: Value =
                json.map_err(|error| Misfit::because(format!("expected JSON: {error}: {}", shown(value))))?;
            return fits(given, Some(&json), bindings);
        }
        "$each" => {
            let each = list()?.iter().enumerate();
            each.into_iter().try_for_each(|(at, item)| {
                fits(given, Some(item), bindings).map_err(|misfit| misfit.below(&format!("[{at}]")))
            })?;
            true
        }
        "$some" => list()?.iter().any(|item| fits(given, Some(item), bindings).is_ok()),
        "$count" => return number(given, list()?.len(), bindings, ".$count"),
        _ => false,
    };
    if holds {
        return Ok(());
    }
    let kept = bindings.get(wanted).filter(|_| matches!(name, "$same" | "$differs"));
    let kept = kept.map(|kept| format!(" ({})", shown(kept))).unwrap_or_default();
    Err(Misfit::because(format!("expected {{\"{name}\":{given}}}{kept}, came {}", shown(value))))
}

fn number(pattern: &Value, number: usize, bindings: &mut Bindings, step: &str) -> Result<(), Misfit> {
    fits(pattern, Some(&number.into()), bindings).map_err(|misfit| misfit.below(step))
}

fn is_a(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

fn patterns(given: &Value) -> impl Iterator<Item = &Value> {
    given.as_array().into_iter().flatten()
}

/// A value for a person; a long one is cut.
fn shown(value: &Value) -> String {
    const MOST: usize = 300;
    let text = value.to_string();
    let cut: String = text.chars().take(MOST).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { text }
}

/// Every matcher is one that there is, and is given what it can use.
fn check(pattern: &Value) -> Result<(), String> {
    match pattern {
        Value::Array(items) => items.iter().try_for_each(check),
        Value::Object(members) => {
            let Some((name, given)) = matcher(members) else { return members.values().try_for_each(check) };
            let alone = members.len() == 1 || name == "$capture" && members.len() == 2 && members.contains_key("$is");
            let fine = match name {
                "$any" => given.as_str().is_some_and(|kind| TYPES.contains(&kind)),
                "$absent" => *given == true,
                "$capture" | "$same" | "$differs" | "$starts" | "$ends" | "$has" => given.is_string(),
                "$one_of" | "$all" => given.is_array(),
                "$at_least" | "$at_most" => given.is_number(),
                "$n" => given.is_i64(),
                "$not" | "$chars" | "$lines" | "$trimmed" | "$json" | "$each" | "$some" | "$count" => true,
                _ => return Err(format!("there is no matcher {name}")),
            };
            if !alone || !fine {
                return Err(format!("{pattern} is no way to write {name}"));
            }
            members.get("$is").map_or(Ok(()), check)?;
            if given.is_object() || given.is_array() { check(given) } else { Ok(()) }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn misfit(pattern: Value, value: &Value) -> Option<String> {
        Pattern::try_from(pattern).unwrap().fits(value, &mut Bindings::new()).err()
    }

    #[test]
    fn objects_tolerate_what_they_do_not_name_and_lists_do_not() {
        let value = json!({"type": "hello", "total": 3, "new": true, "list": [1, {"a": 1, "b": 2}]});
        assert_eq!(misfit(json!({"type": "hello", "total": 3.0, "list": [1, {"b": 2}]}), &value), None);
        assert_eq!(misfit(json!({"total": 4}), &value).unwrap(), "total: expected 4, came 3");
        assert_eq!(misfit(json!({"list": [1, {"b": 3}]}), &value).unwrap(), "list[1].b: expected 3, came 2");
        assert!(misfit(json!({"list": [1]}), &value).unwrap().starts_with("list: expected [1], came [1,"));
        assert_eq!(misfit(json!({"gone": 1}), &value).unwrap(), "gone: expected 1, is missing");
    }

    #[test]
    fn matchers_fit_what_they_say() {
        for (matcher, fits, not) in [
            (json!({"$any": "string"}), json!("a"), json!(1)),
            (json!({"$any": "integer"}), json!(1), json!(1.5)),
            (json!({"$any": "number"}), json!(1.5), json!("1")),
            (json!({"$any": "boolean"}), json!(false), json!(null)),
            (json!({"$any": "array"}), json!([]), json!({})),
            (json!({"$any": "object"}), json!({}), json!([])),
            (json!({"$one_of": [1, 2]}), json!(2), json!(3)),
            (json!({"$all": [{"$at_least": 1}, {"$at_most": 2}]}), json!(2), json!(3)),
            (json!({"$not": 1}), json!(2), json!(1)),
            (json!({"$at_least": 2}), json!(2), json!(1)),
            (json!({"$at_most": 2}), json!(2), json!(3)),
            (json!({"$starts": "ab"}), json!("abc"), json!("cab")),
            (json!({"$ends": "ab"}), json!("cab"), json!("abc")),
            (json!({"$has": "b"}), json!("abc"), json!("ac")),
            (json!({"$chars": 2}), json!("éé"), json!("é")),
            (json!({"$lines": {"$at_most": 1}}), json!("a"), json!("a\nb")),
            (json!({"$trimmed": "a"}), json!("a\n"), json!("a b")),
            (json!({"$json": {"a": 1}}), json!("{\"a\":1}"), json!("{")),
            (json!({"$each": {"$any": "integer"}}), json!([1, 2]), json!([1, "2"])),
            (json!({"$some": 2}), json!([1, 2]), json!([1])),
            (json!({"$count": 2}), json!([1, 2]), json!([1])),
        ] {
            assert_eq!(misfit(matcher.clone(), &fits), None, "{matcher}");
            assert!(misfit(matcher.clone(), &not).is_some(), "{matcher}");
            assert!(misfit(json!({"member": matcher}), &json!({})).is_some(), "{matcher}");
        }
        assert_eq!(misfit(json!({"a": {"$absent": true}}), &json!({"b": 1})), None);
        assert_eq!(misfit(json!({"a": {"$absent": true}}), &json!({"a": 1})).unwrap(), "a: expected nothing, came 1");
    }

    #[test]
    fn captures_are_kept_only_from_what_fits() {
        let mut kept = Bindings::new();
        let capture =
            Pattern::try_from(json!({"id": {"$capture": "id", "$is": {"$any": "string"}}, "ok": true})).unwrap();
        assert!(capture.fits(&json!({"id": "a", "ok": false}), &mut kept).is_err());
        assert!(kept.is_empty());
        capture.fits(&json!({"id": "a", "ok": true}), &mut kept).unwrap();
        let same = Pattern::try_from(json!({"$same": "id"})).unwrap();
        let differs = Pattern::try_from(json!({"$differs": "id"})).unwrap();
        assert!(same.fits(&json!("a"), &mut kept).is_ok() && differs.fits(&json!("a"), &mut kept).is_err());
        assert!(same.fits(&json!("b"), &mut kept).is_err() && differs.fits(&json!("b"), &mut kept).is_ok());
    }

    #[test]
    fn a_matcher_that_is_none_is_seen_when_it_is_read() {
        for wrong in [
            json!({"$nay": 1}),
            json!([{"a": {"$any": "text"}}]),
            json!({"$any": "string", "b": 1}),
            json!({"$each": {"$nay": 1}}),
            json!({"$capture": "a", "$is": {"$nay": 1}}),
            json!({"$absent": false}),
        ] {
            assert!(Pattern::try_from(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
