//! JSON with the order of its fields, which `serde_json` forgets unless the whole build pays for it.

use core::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// A JSON value: types, field names and field order; the values of leaves are dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// Any number.
    Number,
    /// Any string.
    Text,
    /// A list, with the shape of every element.
    List(Vec<Self>),
    /// An object, with its fields in the order in which they stand.
    Object(Vec<(String, Self)>),
}

impl Shape {
    /// The shape of one JSON text.
    ///
    /// # Errors
    /// If the text is not one JSON value.
    pub fn of(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// The names of its fields, in order; none if it is no object.
    #[must_use]
    pub fn fields(&self) -> Vec<&str> {
        match self {
            Self::Object(fields) => fields.iter().map(|(name, _)| name.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// The shape of one field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.iter().find(|(field, _)| field == name).map(|(_, shape)| shape),
            _ => None,
        }
    }
}

/// Writes it as a person would: `{type:text,entry:{id:text,seq:number}}`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Number => f.write_str("number"),
            Self::Text => f.write_str("text"),
            Self::List(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at == 0 { "" } else { "," })?;
                }
                f.write_str("]")
            }
            Self::Object(fields) => {
                f.write_str("{")?;
                for (at, (name, shape)) in fields.iter().enumerate() {
                    write!(f, "{}{name}:{shape}", if at == 0 { "" } else { "," })?;
                }
                f.write_str("}")
            }
        }
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Bool)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
        Ok(Shape::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::Number)
    }

    fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
        Ok(Shape::Text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Shape::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Shape, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = object.next_entry()? {
            fields.push(field);
        }
        Ok(Shape::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_order_of_fields_and_drops_values() {
        let shape = Shape::of(r#"{"z":1,"a":[true,null,"x"],"m":{"k":-1.5}}"#).unwrap();
        assert_eq!(shape.to_string(), "{z:number,a:[bool,null,text],m:{k:number}}");
        assert_eq!(shape.fields(), ["z", "a", "m"]);
        assert_ne!(shape, Shape::of(r#"{"a":[true,null,"x"],"z":1,"m":{"k":2}}"#).unwrap());
    }

    #[test]
    fn two_values_are_no_shape() {
        assert!(Shape::of("{} {}").is_err());
    }
}
