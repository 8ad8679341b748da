//! The roster on the wire: as a field of `hello`, and as a frame of its own when it changes.

use serde::Serialize;

use crate::roster::Row;
use crate::time::UnixMillis;

/// What a client may be shown of a roster, and what tells it from what was there before.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The rows in order.
    pub rows: &'a [Row],
    /// Changes with each change of a field of the contract; 0 while there never was a row.
    pub version: u64,
    /// Changes with each change of any field.
    pub full_version: u64,
    /// For the age of what still runs.
    pub now: UnixMillis,
}

impl<'a> View<'a> {
    /// The number that a client compares, by what it opted in to.
    #[must_use]
    pub const fn version_for(&self, full: bool) -> u64 {
        if full { self.full_version } else { self.version }
    }

    /// The rows as they are sent.
    pub(super) fn rows(self, full: bool) -> Rows<'a> {
        Rows { rows: self.rows, more: full.then_some(self.now) }
    }
}

/// Serialises as the list of rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    rows: &'a [Row],
    /// With what goes beyond the contract, at this time.
    more: Option<UnixMillis>,
}

impl Serialize for Rows<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows.iter().map(|row| RowWire::new(row, self.more)))
    }
}

#[derive(Serialize)]
struct RowWire<'a> {
    agent_id: &'a str,
    tool_use_id: &'a str,
    agent_type: &'a str,
    description: &'a str,
    spawn_depth: u64,
    done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_activity_ts: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_agent_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    running_for_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_text: Option<&'a str>,
}

impl<'a> RowWire<'a> {
    fn new(row: &'a Row, more: Option<UnixMillis>) -> Self {
        let read = row.read.as_ref().filter(|_| more.is_some());
        let began = read.and_then(|read| read.began_ts).filter(|_| !row.done);
        let running = |now: UnixMillis| began.map(|began| now.0.saturating_sub(began).max(0));
        Self {
            agent_id: &row.agent_id,
            tool_use_id: &row.tool_use_id,
            agent_type: &row.agent_type,
            description: &row.description,
            spawn_depth: row.spawn_depth,
            done: row.done,
            last_activity_ts: row.last_activity_ts,
            parent_agent_id: more.and(row.parent_agent_id.as_deref()),
            running_for_ms: more.and_then(running),
            entries: read.map(|read| read.entries),
            tokens: read.map(|read| read.tokens),
            last_text: read.and_then(|read| read.last_text.as_deref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::roster::ReadThrough;

    fn json(row: &Row, full: bool) -> String {
        let rows = core::slice::from_ref(row);
        let view = View { rows, version: 1, full_version: 2, now: UnixMillis(5_000) };
        serde_json::to_string(&view.rows(full)).unwrap()
    }

    #[test]
    fn the_fields_of_the_contract_and_their_order() {
        let mut row = Row {
            agent_id: "a1".into(),
            tool_use_id: "toolu_1".into(),
            agent_type: "Explore".into(),
            description: "find it".into(),
            spawn_depth: 1,
            done: true,
            last_activity_ts: Some(4_000),
            parent_agent_id: Some("a0".into()),
            read: Some(ReadThrough { began_ts: Some(3_000), entries: 7, tokens: 9, last_text: Some("ok".into()) }),
        };
        let brief = r#"[{"agent_id":"a1","tool_use_id":"toolu_1","agent_type":"Explore","description":"find it","spawn_depth":1,"done":true,"last_activity_ts":4000"#;
        assert_eq!(json(&row, false), [brief, "}]"].concat());
        let more = r#","parent_agent_id":"a0","entries":7,"tokens":9,"last_text":"ok"}]"#;
        assert_eq!(json(&row, true), [brief, more].concat());
        (row.done, row.last_activity_ts) = (false, None);
        let running = r#""done":false,"parent_agent_id":"a0","running_for_ms":2000,"entries":7"#;
        assert!(json(&row, true).contains(running), "{}", json(&row, true));
        assert!(json(&row, false).ends_with(r#""done":false}]"#));
    }
}
