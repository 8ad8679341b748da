//! herdr's own events: how they are asked for.
//!
//! Only global ones, which cost a server almost nothing and are of the kinds that its snapshot shows. A status is told only by a
//! subscription of its pane, for which a server reads that pane ten times a second: that costs more than to ask for the
//! snapshot every second.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::{HerdrSession, socket_in};
use crate::config::{Herdr, HerdrMode};
use crate::io::Op;
use crate::limits::{HERDR_EVENT_BYTES, HERDR_SOCKET_BUDGET};

/// What is asked for. One kind that a server does not know makes it refuse all.
const KINDS: [&str; 14] = [
    "pane.created",
    "pane.closed",
    "pane.updated",
    "pane.focused",
    "pane.moved",
    "pane.exited",
    "pane.agent_detected",
    "tab.created",
    "tab.closed",
    "tab.renamed",
    "workspace.created",
    "workspace.closed",
    "workspace.updated",
    "workspace.renamed",
];

/// Listens to the events of this server, if it can be asked over a socket.
pub(crate) fn listen(session: &HerdrSession, config: &Herdr) -> Option<Op> {
    if !matches!(config.mode, HerdrMode::Auto | HerdrMode::Socket) {
        return None;
    }
    let socket = match session.name() {
        None => config.socket.clone()?,
        Some(_) => socket_in(&session.directory(config)?),
    };
    let kinds: Vec<Value> = KINDS.iter().map(|kind| json!({"type": kind})).collect();
    let request = json!({"id": "panewire", "method": "events.subscribe", "params": {"subscriptions": kinds}});
    let line = (request.to_string() + "\n").into();
    Some(Op::Listen { socket, line, within: HERDR_SOCKET_BUDGET, line_cap: HERDR_EVENT_BYTES })
}

/// What an event means for whoever is at the terminal of a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concern {
    /// Something else may be on its screen, or in its title.
    Screen,
    /// Somebody else may be in it, or nobody, or it is gone.
    Occupant,
}

/// Reads one line of a stream.
pub(crate) fn event(line: &[u8]) -> Option<Value> {
    serde_json::from_slice(line).ok().filter(Value::is_object)
}

/// What an event means for the pane that its server calls so.
pub(crate) fn concern(event: &Value, pane: &str) -> Option<Concern> {
    let data = event.get("data")?;
    let named =
        [data.get("pane_id"), data.get("previous_pane_id"), data.get("pane").and_then(|pane| pane.get("pane_id"))];
    if !named.into_iter().flatten().any(|named| named == pane) {
        return None;
    }
    match event.get("event").and_then(Value::as_str) {
        Some("pane_created" | "pane_closed" | "pane_exited" | "pane_moved" | "pane_agent_detected") => {
            Some(Concern::Occupant)
        }
        _ => Some(Concern::Screen),
    }
}

/// Whether this first line says that events follow.
pub(crate) fn is_started(line: &[u8]) -> bool {
    let answer: Option<Value> = serde_json::from_slice(line).ok();
    answer.is_some_and(|answer| answer["result"]["type"] == "subscription_started")
}

#[cfg(test)]
mod tests {
    use super::{Concern, concern, event, is_started, listen};
    use crate::config::{Herdr, HerdrMode};
    use crate::io::Op;
    use crate::pane::herdr::HerdrSession;
    use crate::pane::simulated::{SOCKET, config};

    #[test]
    fn each_server_is_asked_at_its_own_socket() {
        let herdr = config().herdr;
        let Some(Op::Listen { socket, line, .. }) = listen(&HerdrSession::DEFAULT, &herdr) else { panic!() };
        assert_eq!(socket, SOCKET);
        let head =
            r#"{"id":"panewire","method":"events.subscribe","params":{"subscriptions":[{"type":"pane.created"},"#;
        assert!(line.starts_with(head.as_bytes()) && line.ends_with(b"]}}\n"), "{line:?}");
        let Some(Op::Listen { socket, .. }) = listen(&HerdrSession::named("work"), &herdr) else { panic!() };
        assert_eq!(socket, "/home/u/.config/herdr/sessions/work/herdr.sock");
        for mode in [HerdrMode::Cli, HerdrMode::Off] {
            assert_eq!(listen(&HerdrSession::DEFAULT, &Herdr { mode, ..herdr.clone() }), None);
        }
        assert_eq!(listen(&HerdrSession::DEFAULT, &Herdr { socket: None, ..herdr }), None);
    }

    #[test]
    fn an_event_concerns_the_panes_that_it_names() {
        let of = |line: &str, pane: &str| concern(&event(line.as_bytes()).unwrap(), pane);
        let updated = r#"{"data":{"pane":{"agent_status":"idle","pane_id":"w1:p6","revision":1,"terminal_id":"t6"},"type":"pane_updated"},"event":"pane_updated"}"#;
        assert_eq!((of(updated, "w1:p6"), of(updated, "w1:p")), (Some(Concern::Screen), None));
        let focused = r#"{"data":{"pane_id":"w1:p6","type":"pane_focused"},"event":"pane_focused"}"#;
        assert_eq!(of(focused, "w1:p6"), Some(Concern::Screen));
        let left = r#"{"data":{"agent":"pi","pane_id":"w1:p6","released":true,"type":"pane_agent_detected"},"event":"pane_agent_detected"}"#;
        assert_eq!(of(left, "w1:p6"), Some(Concern::Occupant));
        let moved = r#"{"data":{"pane":{"pane_id":"w2:p1"},"previous_pane_id":"w1:p6","type":"pane_moved"},"event":"pane_moved"}"#;
        assert_eq!([of(moved, "w1:p6"), of(moved, "w2:p1")], [Some(Concern::Occupant); 2]);
        for other in [r#"{"event":"tab_created","data":{"tab":{"pane_id":"w1:p6"}}}"#, r#"{"data":["w1:p6"]}"#, "{}"] {
            assert_eq!(of(other, "w1:p6"), None, "{other}");
        }
        assert!([&b"[]"[..], b"\xff", b""].into_iter().all(|line| event(line).is_none()));
    }

    #[test]
    fn only_herdr_s_own_word_begins_a_stream() {
        assert!(is_started(br#"{"id":"panewire","result":{"type":"subscription_started"}}"#));
        for line in
            [&br#"{"id":"","error":{"code":"invalid_request","message":"unknown variant"}}"#[..], b"", b"\xff", b"[]"]
        {
            assert!(!is_started(line));
        }
    }
}
