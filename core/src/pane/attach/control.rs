//! The text frames of an attached client, both ways.

use alloc::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;

use crate::io::TerminalSize;
use crate::limits::MAX_TERMINAL_SIDE;

/// The size that a `resize` frame asks for; none of anything else, which is ignored.
pub(super) fn resize(text: &str) -> Option<TerminalSize> {
    #[derive(Deserialize)]
    struct Wire<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
        cols: u16,
        rows: u16,
    }
    // The fields of a structure may stand in a list too; a frame is an object.
    if !text.trim_ascii_start().starts_with('{') {
        return None;
    }
    let Wire { r#type, cols, rows } = serde_json::from_str(text).ok()?;
    let is_side = |side| (1..=MAX_TERMINAL_SIDE).contains(&side);
    (r#type == "resize" && is_side(cols) && is_side(rows)).then_some(TerminalSize { columns: cols, rows })
}

/// Another one is in the pane from here on: what comes next is drawn on an empty screen.
pub(super) const fn mode(is_agent: bool) -> Bytes {
    Bytes::from_static(match is_agent {
        true => br#"{"type":"mode","agent":true}"#,
        false => br#"{"type":"mode","agent":false}"#,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resize_names_both_sides() {
        let size = |columns, rows| Some(TerminalSize { columns, rows });
        assert_eq!(resize(r#"{"type":"resize","cols":1,"rows":1000}"#), size(1, 1_000));
        assert_eq!(resize("\n {\"rows\":24, \"cols\":80, \"type\":\"re\\u0073ize\", \"x\":[{}]}"), size(80, 24));
    }

    #[test]
    fn anything_else_is_no_resize() {
        for text in [
            "",
            "{}",
            "resize",
            "null",
            r#"["resize",80,24]"#,
            r#"{"type":"resize"}"#,
            r#"{"type":"resize","cols":80}"#,
            r#"{"type":"resize","cols":0,"rows":24}"#,
            r#"{"type":"resize","cols":80,"rows":1001}"#,
            r#"{"type":"resize","cols":-1,"rows":24}"#,
            r#"{"type":"resize","cols":65617,"rows":24}"#,
            r#"{"type":"resize","cols":1e2,"rows":24}"#,
            r#"{"type":"resize","cols":"80","rows":24}"#,
            r#"{"type":"resize","cols":80.5,"rows":24}"#,
            r#"{"type":"resize","cols":80,"rows":null}"#,
            r#"{"type":"resize","cols":80,"cols":90,"rows":24}"#,
            r#"{"type":"Resize","cols":80,"rows":24}"#,
            r#"{"type":"resize","cols":80,"rows":24} {}"#,
            r#"{"type":7,"cols":80,"rows":24}"#,
        ] {
            assert_eq!(resize(text), None, "{text}");
        }
    }
}
