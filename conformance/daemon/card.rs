//! `GET /agent-state` over real sockets: the same card by herdr's socket and by its program.

use panewire_conformance::herdr::{Desk, Mode, Pane};
use panewire_conformance::sim::scene::{CWD, PANE};
use serde_json::{Value, json};

use super::machine::{Daemon, Machine};

const CHIPS: &str = "┃\n┃  △ Permission required\n┃    # Shell command\n┃\n┃  $ water --all\n┃\n\
    ┃   \u{1b}[48;2;250;170;70m Allow once \u{1b}[0m  Allow always   Reject  ctrl+f fullscreen  ⇆ select  enter confirm\n┃\n";

const QUESTION: &str = "──────────────────────────────\n ☐ Beds\n\nWhich bed comes first?\n\n❯ 1. North\n     In the shade\n  2. South\n\n\
    Enter to select · ↑/↓ to navigate · Esc to cancel\n";

fn desk() -> Desk {
    let pane = |pane_id, kind: &str, status: &str| Pane {
        agent: Some(kind.into()),
        agent_status: status.into(),
        ..Pane::claude(pane_id, CWD)
    };
    let panes = vec![pane(PANE, "claude", "blocked"), pane("w1:p2", "opencode", "blocked")];
    let screens = [(PANE.into(), QUESTION.into()), ("w1:p2".into(), CHIPS.into())].into();
    Desk { panes, screens, ..Desk::default() }
}

fn card(daemon: &Daemon, pane: &str) -> Value {
    let (status, body) = daemon.ask(&format!("/agent-state?pane={pane}&token={}", daemon.token), false);
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

#[test]
fn the_card_is_the_same_by_socket_and_by_program() {
    let machine = Machine::new(&desk());
    let daemon = machine.start(&[]);
    let by_socket = [PANE, "w1:p2"].map(|pane| card(&daemon, pane));
    assert_eq!(by_socket[0]["headline"], "Which bed comes first?");
    assert_eq!(
        by_socket[0]["blocked"]["options"],
        json!([
            {"index": 1, "label": "North", "selected": true, "description": "In the shade"},
            {"index": 2, "label": "South", "selected": false},
        ])
    );
    assert_eq!(by_socket[1]["headline"], "Permission required: Shell command");
    assert_eq!(by_socket[1]["blocked"]["options"][0], json!({"index": 0, "label": "Allow once", "selected": true}));
    machine.desk.change(|desk| desk.socket = Mode::Broken(String::new())).unwrap();
    assert_eq!([PANE, "w1:p2"].map(|pane| card(&daemon, pane)), by_socket);
}

#[test]
fn a_pane_without_a_card_is_refused() {
    let machine = Machine::new(&desk());
    let daemon = machine.start(&[]);
    let ask = |query: &str| daemon.ask(&format!("/agent-state?token={}{query}", daemon.token), false);
    assert_eq!(ask(""), (400, "want ?pane=<pane_id>\n".into()));
    assert_eq!(ask("&pane=w9:p9"), (404, "no such agent\n".into()));
    assert_eq!(daemon.ask("/agent-state?pane=w1:p1", false), (401, "unauthorized\n".into()));
}
