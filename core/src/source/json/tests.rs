//! The scanner against serde_json: what that accepts is accepted here, and read the same.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
        any::<String>().prop_map(serde_json::Value::from),
        prop::sample::select(vec!["\\", "\"", "{", "]\\\\", "\u{1}\n"]).prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(6, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            prop::collection::btree_map("[a-c\"\\\\]{0,3}", inner, 0..6)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The value as serde_json would build it.
fn built(value: Value<'_>) -> serde_json::Value {
    if value.is_object() {
        let key = |raw| Chars::new(raw).collect::<String>();
        value.members().map(|(name, value)| (key(name), built(value))).collect()
    } else if value.is_list() {
        value.elements().map(built).collect()
    } else if let Some(text) = value.text() {
        text.into()
    } else {
        serde_json::from_slice(value.raw()).unwrap()
    }
}

proptest! {
    #[test]
    fn valid_json_is_read_as_it_is(value in json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let mut scanner = Scanner::new(text.as_bytes(), 0);
        prop_assert_eq!(scanner.skip().unwrap(), text.as_bytes());
        // DEL is a character like any other to serde_json; here it is dropped with the other controls.
        if !text.contains('\u{7f}') {
            let bytes = text.as_bytes();
            let again: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(built(Value(bytes)), again);
        }
    }

    #[test]
    fn what_serde_accepts_ends_where_serde_says(bytes in prop::collection::vec(
        prop::sample::select(b"{}[]\",:\\ a1tn\n-e.".to_vec()), 0..24,
    )) {
        let mut object = b"{\"a\":".to_vec();
        object.extend(bytes);
        let mut stream = serde_json::Deserializer::from_slice(&object).into_iter::<serde_json::Value>();
        if let Some(Ok(_)) = stream.next() {
            prop_assert_eq!(object_end(&object, 0), Ok(stream.byte_offset()));
        }
    }

    #[test]
    fn any_bytes_are_walked_over(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let value = Value(&bytes);
        let members: Vec<_> = value.members().collect();
        let elements: Vec<_> = value.elements().collect();
        prop_assert!(members.is_empty() || elements.is_empty());
        let _ = Chars::new(&bytes).count();
    }
}

/// JSON, and what is left of it when a few bytes of it were lost, doubled or turned into others.
fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
    let damage = (any::<prop::sample::Index>(), prop::sample::select(&b"{}[]:,\"\\ 1a\x00"[..]), 0..4_u8);
    (json(), prop::collection::vec(damage, 0..4)).prop_map(|(value, damages)| {
        let mut bytes = value.to_string().into_bytes();
        for (place, byte, kind) in damages {
            let at = place.index(bytes.len().max(1)).min(bytes.len());
            match kind {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                _ if at < bytes.len() => bytes[at] = byte,
                _ => {}
            }
        }
        bytes
    })
}

proptest! {
    #[test]
    fn what_is_skipped_ends_where_its_tokens_end(bytes in nearly_json()) {
        let mut skipping = Scanner::new(&bytes, 0);
        let skipped = skipping.skip().map(|_| skipping.at());
        let mut stepping = Scanner::new(&bytes, 0);
        let stepped = loop {
            match stepping.step() {
                Ok(_) if stepping.depth() == 0 => break Ok(stepping.at()),
                Ok(_) => {}
                Err(broken) => break Err(broken),
            }
        };
        prop_assert_eq!(skipped, stepped);
    }

    #[test]
    fn members_are_the_tokens_of_their_object(bytes in nearly_json()) {
        let mut keys = Vec::new();
        let mut scanner = Scanner::new(&bytes, 0);
        let opened = scanner.step();
        let walked = scanner.members(|scanner, key| {
            keys.push(key);
            scanner.skip().map(drop)
        });
        let mut stepping = Scanner::new(&bytes, 0);
        let mut stepped = Vec::new();
        let mut broken = None;
        while broken.is_none() {
            match stepping.step() {
                Ok(Token::Key(key)) if stepping.depth() == 1 => stepped.push(key),
                Ok(_) if stepping.depth() == 0 => break,
                Ok(_) => {}
                Err(found) => broken = Some(found),
            }
        }
        if opened == Ok(Token::Open(Nest::Object)) {
            prop_assert_eq!(walked.err(), broken);
            prop_assert_eq!(keys, stepped);
        }
    }
}

#[test]
fn an_end_and_a_wrong_byte_are_told_apart() {
    assert_eq!(object_end(b"{\"a\":1}", 0), Ok(7));
    assert_eq!(object_end(b"{\"a\":1", 0), Err(Broken::Cut));
    assert_eq!(object_end(b"{\"a\" 1}", 0), Err(Broken::Wrong(5)));
    assert_eq!(object_end(b"{\"a\":1,}", 0), Err(Broken::Wrong(7)));
    assert_eq!(object_end(b"{\"a\":[1}]", 0), Err(Broken::Wrong(7)));
    assert_eq!(object_end(b"{\"a\":\"\\\"}", 0), Err(Broken::Cut));
    assert_eq!(object_end(b"[]", 0), Err(Broken::Wrong(0)));
}

#[test]
fn nests_remember_what_they_are_at_any_depth() {
    for depth in [1, 63, 64, 65, 128, 129, 1000] {
        let open: String = (0..depth).map(|level| if level % 3 == 0 { "[" } else { "{\"k\":" }).collect();
        let close: String = (0..depth).rev().map(|level| if level % 3 == 0 { "]" } else { "}" }).collect();
        let text = format!("{open}1{close}");
        assert_eq!(Scanner::new(text.as_bytes(), 0).skip(), Ok(text.as_bytes()), "{depth}");
        let swapped = text.replace("1]", "1}").replace("1}}", "1]}");
        assert!(swapped == text || Scanner::new(swapped.as_bytes(), 0).skip().is_err(), "{depth}");
    }
}

#[test]
fn members_and_elements_are_found() {
    let value = Value(br#" {"a":1,"b":[true,{"a":2}],"a":"x","\u0061":3}"#.trim_ascii());
    assert_eq!(value.get("a"), Some(Value(b"\"x\"")));
    assert_eq!(value.get("c"), None);
    let list: Vec<_> = value.get("b").unwrap().elements().collect();
    assert_eq!(list, [Value(b"true"), Value(b"{\"a\":2}")]);
    assert_eq!(Value(b"17").number(), Some(17));
    assert!(Value(b"{ }").is_empty() && Value(b"\" \\n\"").is_empty() && !Value(b"0").is_empty());
}

#[test]
fn surrogates_are_joined_or_replaced() {
    let text = |raw: &[u8]| Chars::new(raw).collect::<String>();
    assert_eq!(text(br"\ud83c\udf75"), "🍵");
    assert_eq!(text(br"\ud83c!"), "\u{fffd}!");
    assert_eq!(text(br"\udf75\ud83c"), "\u{fffd}\u{fffd}");
    assert_eq!(text(br"\ud83c\u0041"), "\u{fffd}A");
    assert_eq!(text("é中🍵".as_bytes()), "é中🍵".to_string());
}
