//! JSON Schema, as much of it as `vectors/schema.json` uses: an unknown keyword is an error.

use serde_json::{Map, Value};

/// Keywords that look into a value.
const DEEP: [&str; 7] = ["$ref", "properties", "additionalProperties", "items", "allOf", "oneOf", "not"];

/// A schema and everything it can refer to.
pub(crate) struct Schema {
    root: Value,
}

impl Schema {
    pub(crate) fn new(text: &str) -> Self {
        Self { root: serde_json::from_str(text).unwrap() }
    }

    /// What is wrong with a value, and where.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        self.fits(&self.root, value, "")
    }

    fn fits(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let schema = schema.as_object().unwrap_or_else(|| panic!("no schema: {schema}"));
        // What looks at the value alone comes first: most alternatives are no match for the shape of it.
        let (deep, flat): (Vec<_>, Vec<_>) = schema.iter().partition(|(keyword, _)| DEEP.contains(&keyword.as_str()));
        flat.into_iter().chain(deep).try_for_each(|(keyword, given)| self.keeps(schema, keyword, given, value, at))
    }

    fn keeps(
        &self,
        schema: &Map<String, Value>,
        keyword: &str,
        given: &Value,
        value: &Value,
        at: &str,
    ) -> Result<(), String> {
        let wrong = || Err(format!("{at}: {keyword} {given}: {value}"));
        let holds = match keyword {
            "$schema" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let pointer = given.as_str().unwrap().strip_prefix('#').unwrap();
                return self.fits(self.root.pointer(pointer).unwrap(), value, at);
            }
            "type" => match given {
                Value::Array(types) => types.iter().any(|kind| is_a(kind, value)),
                kind => is_a(kind, value),
            },
            "const" => given == value,
            "enum" => given.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= given.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= given.as_f64().unwrap()),
            "minLength" => value.as_str().is_none_or(|text| text.chars().count() >= count(given)),
            "minItems" => value.as_array().is_none_or(|items| items.len() >= count(given)),
            "minProperties" => value.as_object().is_none_or(|members| members.len() >= count(given)),
            "maxProperties" => value.as_object().is_none_or(|members| members.len() <= count(given)),
            "pattern" => value.as_str().is_none_or(|text| matches(given.as_str().unwrap(), text)),
            "required" => {
                let names = given.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                value.as_object().is_none_or(|members| names.into_iter().all(|name| members.contains_key(name)))
            }
            "propertyNames" => {
                return members(value).try_for_each(|(name, _)| self.fits(given, &Value::from(name.as_str()), at));
            }
            "properties" => {
                return members(value).try_for_each(|(name, member)| {
                    given.get(name).map_or(Ok(()), |schema| self.fits(schema, member, &format!("{at}.{name}")))
                });
            }
            "additionalProperties" => {
                let known = schema.get("properties");
                let mut others = members(value).filter(|(name, _)| known.and_then(|known| known.get(name)).is_none());
                if *given == false {
                    return others.next().map_or(Ok(()), |(name, _)| Err(format!("{at}: {name} is unknown")));
                }
                return others.try_for_each(|(name, member)| self.fits(given, member, &format!("{at}.{name}")));
            }
            "items" => {
                let items = value.as_array().into_iter().flatten().enumerate();
                return items.into_iter().try_for_each(|(n, item)| self.fits(given, item, &format!("{at}[{n}]")));
            }
            "allOf" => return given.as_array().unwrap().iter().try_for_each(|schema| self.fits(schema, value, at)),
            "oneOf" => {
                given.as_array().unwrap().iter().filter(|schema| self.fits(schema, value, at).is_ok()).count() == 1
            }
            "not" => self.fits(given, value, at).is_err(),
            _ => panic!("{keyword} is not understood"),
        };
        if holds { Ok(()) } else { wrong() }
    }
}

fn is_a(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type: {other}"),
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn count(given: &Value) -> usize {
    usize::try_from(given.as_u64().unwrap()).unwrap()
}

/// The few patterns that the schema has.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern {
        "^(~/|/|[$][{])" => ["~/", "/", "${"].iter().any(|start| text.starts_with(start)),
        "^/" => text.starts_with('/'),
        "^[^$]" => !text.starts_with('$') && !text.is_empty(),
        r"^[0-9a-fA-F\s]*$" => text.chars().all(|c| c.is_ascii_hexdigit() || c.is_whitespace()),
        other => panic!("no pattern: {other}"),
    }
}
