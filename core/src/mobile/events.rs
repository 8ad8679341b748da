//! The frames of `WS /events`: first what there is, then what changes.
//!
//! ```text
//!  {"type":"snapshot","source":"gothalo","seq":7,"ts":…,"snapshot":{…}}      what GET /snapshot answers
//!  {"type":"pane_created","source":"herdr","seq":8,"ts":…,"payload":{…}}     a change, in herdr's words
//!  {"type":"mode_cycled","source":"gothalo","seq":9,"ts":…,"payload":{…}}    something that was done here
//!  {"type":"heartbeat","ts":…}                                               every 20 s
//! ```

use alloc::string::String;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::ids::PaneId;
use crate::time::UnixMillis;

/// What the contract calls the bridge itself, whoever it is.
pub const BRIDGE: &str = "gothalo";

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    source: &'static str,
    kind: &'static str,
    payload: Map<String, Value>,
}

impl Event {
    /// An approval was pressed, or was not.
    #[must_use]
    pub fn approve_applied(pane: &PaneId, seq: u64, applied: bool, reason: Option<&str>) -> Self {
        let event = Self::of_bridge("approve_applied").with("pane", pane.as_str()).with("seq", seq);
        event.with("applied", applied).with_some("reason", reason)
    }

    /// An agent was asked for its next permission mode. `mode` is the one that it shows now, if it shows one.
    #[must_use]
    pub fn mode_cycled(pane: &PaneId, mode: Option<&str>) -> Self {
        Self::of_bridge("mode_cycled").with("pane", pane.as_str()).with_some("permission_mode", mode)
    }

    /// A device was paired.
    #[must_use]
    pub fn device_paired(id: &str, name: &str) -> Self {
        Self::of_bridge("device_paired").with("id", id).with("name", name)
    }

    /// Something that the bridge did or noticed itself.
    pub(crate) fn of_bridge(kind: &'static str) -> Self {
        Self { source: BRIDGE, kind, payload: Map::new() }
    }

    /// A change of what herdr shows, in herdr's word for it.
    pub(crate) fn of_herdr(kind: &'static str) -> Self {
        Self { source: "herdr", kind, payload: Map::new() }
    }

    /// Its kind, as it stands on the wire.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        self.kind
    }

    /// The same with one more member in its payload.
    pub(crate) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.payload.insert(key.into(), value.into());
        self
    }

    /// The same with these members of a row, as far as it has them.
    pub(crate) fn with_those_of(mut self, row: &Map<String, Value>, keys: &[&str]) -> Self {
        for key in keys {
            if let Some(value) = row.get(*key) {
                self.payload.insert((*key).into(), value.clone());
            }
        }
        self
    }

    fn with_some(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Its frame.
    #[must_use]
    pub fn frame(&self, seq: u64, now: UnixMillis) -> Bytes {
        let Self { source, kind, payload } = self;
        frame(&Envelope {
            kind,
            source: Some(source),
            seq: Some(seq),
            ts: now.0,
            payload: Some(payload),
            snapshot: None,
        })
    }
}

/// The first frame: the body of `GET /snapshot`, and the number of the last event that is in it.
#[must_use]
pub fn snapshot(body: &Value, seq: u64, now: UnixMillis) -> Bytes {
    let (source, seq, snapshot) = (Some(BRIDGE), Some(seq), Some(body));
    frame(&Envelope { kind: "snapshot", source, seq, ts: now.0, payload: None, snapshot })
}

/// A sign of life.
#[must_use]
pub fn heartbeat(now: UnixMillis) -> Bytes {
    frame(&Envelope { kind: "heartbeat", source: None, seq: None, ts: now.0, payload: None, snapshot: None })
}

#[derive(Serialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    ts: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<&'a Value>,
}

fn frame(envelope: &Envelope<'_>) -> Bytes {
    serde_json::to_vec(envelope).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use serde_json::json;

    use super::{Event, heartbeat, snapshot};
    use crate::ids::PaneId;
    use crate::time::UnixMillis;

    fn text(frame: &[u8]) -> String {
        String::from_utf8(frame.to_vec()).unwrap()
    }

    #[test]
    fn the_frames_and_the_order_of_their_members() {
        let (now, pane) = (UnixMillis(1_788_600_000_000), PaneId::from("w1:p2"));
        assert_eq!(
            text(&snapshot(&json!({"id": "x"}), 6, now)),
            r#"{"type":"snapshot","source":"gothalo","seq":6,"ts":1788600000000,"snapshot":{"id":"x"}}"#
        );
        assert_eq!(text(&heartbeat(now)), r#"{"type":"heartbeat","ts":1788600000000}"#);
        for (event, expected) in [
            (
                Event::approve_applied(&pane, 41, false, Some("agent is idle, not blocked")),
                r#"{"type":"approve_applied","source":"gothalo","seq":7,"ts":1788600000000,"payload":{"applied":false,"pane":"w1:p2","reason":"agent is idle, not blocked","seq":41}}"#,
            ),
            (
                Event::mode_cycled(&pane, None),
                r#"{"type":"mode_cycled","source":"gothalo","seq":7,"ts":1788600000000,"payload":{"pane":"w1:p2"}}"#,
            ),
            (
                Event::device_paired("0f00ba11", "slate"),
                r#"{"type":"device_paired","source":"gothalo","seq":7,"ts":1788600000000,"payload":{"id":"0f00ba11","name":"slate"}}"#,
            ),
        ] {
            assert_eq!(text(&event.frame(7, now)), expected);
        }
    }
}
