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

/// Whether this first line says that events follow.
pub(crate) fn is_started(line: &[u8]) -> bool {
    let answer: Option<Value> = serde_json::from_slice(line).ok();
    answer.is_some_and(|answer| answer["result"]["type"] == "subscription_started")
}

#[cfg(test)]
mod tests {
    use super::{is_started, listen};
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
    fn only_herdr_s_own_word_begins_a_stream() {
        assert!(is_started(br#"{"id":"panewire","result":{"type":"subscription_started"}}"#));
        for line in
            [&br#"{"id":"","error":{"code":"invalid_request","message":"unknown variant"}}"#[..], b"", b"\xff", b"[]"]
        {
            assert!(!is_started(line));
        }
    }
}
