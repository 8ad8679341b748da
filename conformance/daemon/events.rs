//! `GET /snapshot` and `WS /events` over real sockets.

use panewire_conformance::herdr::{Desk, Mode, Pane};
use panewire_conformance::sim::scene::{CWD, PANE, SESSION};
use panewire_conformance::sim::{Frames as _, Transcript};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::machine;
use super::machine::{BOUND, Daemon, Machine};

fn snapshot(daemon: &Daemon) -> Value {
    let (status, body) = daemon.ask(&format!("/snapshot?token={}", daemon.token), false);
    assert_eq!(status, 200, "{body}");
    serde_json::from_str::<Value>(&body).unwrap()["result"]["snapshot"].take()
}

/// A repository in the directory of the pane, which lies on this machine.
fn machine_with_branch() -> (Machine, String) {
    let (machine, _) = machine(3);
    let head = machine.real("/home/u/shed/.git/HEAD");
    std::fs::write(&head, "ref: refs/heads/rake\n").unwrap();
    let shed = machine.path("home/shed").to_str().unwrap().to_owned();
    let foreground = shed.clone();
    machine.desk.change(|desk| desk.panes[0].foreground_cwd = Some(foreground)).unwrap();
    (machine, shed)
}

#[test]
fn a_snapshot_is_the_same_by_socket_and_by_program() {
    let (mut machine, shed) = machine_with_branch();
    let work = Desk { panes: vec![Pane::claude(PANE, CWD)], ..Desk::default() };
    machine.desk.change(|desk| _ = desk.sessions.insert("work".into(), work)).unwrap();
    machine.start_session("work");
    let daemon = machine.start(&[]);
    let by_socket = snapshot(&daemon);
    let agent = &by_socket["agents"][0];
    assert_eq!(
        (&agent["pane_id"], &agent["branch"], &agent["foreground_cwd"]),
        (&json!(PANE), &json!("rake"), &json!(shed))
    );
    assert_eq!((&agent["recency_rank"], &agent["last_activity_ts"]), (&json!(0), &json!(1_772_352_003_250_i64)));
    assert_eq!(by_socket["agents"][1]["pane_id"], "work/w1:p1");
    assert_eq!(by_socket["sessions"], json!(["default", "work"]));
    machine.desk.change(|desk| desk.socket = Mode::Broken(String::new())).unwrap();
    assert_eq!(snapshot(&daemon), by_socket);
}

#[test]
fn events_follow_the_snapshot_until_the_daemon_stops() {
    let (machine, _) = machine_with_branch();
    let daemon = machine.start(&[]);
    let mut client = daemon.events();
    let first = client.next();
    assert_eq!((first.kind(), first.json["snapshot"]["result"]["snapshot"].clone()), ("snapshot", snapshot(&daemon)));
    let blocked =
        |desk: &mut Desk| (desk.panes[0].agent_status, desk.panes[0].state_change_seq) = ("blocked".into(), 9);
    machine.desk.change(blocked).unwrap();
    let change = client.next();
    assert_eq!((change.kind(), change.number("seq")), ("pane_agent_status_changed", first.number("seq") + 1));
    assert_eq!(change.json["payload"]["agent_status"], "blocked");
    // herdr's server goes away, comes back, and every terminal is another one.
    machine.desk.change(|desk| (desk.socket, desk.cli) = (Mode::NoServer, Mode::NoServer)).unwrap();
    let lost = client.next();
    assert_eq!((lost.kind(), &lost.json["payload"]["session"]), ("herdr_disconnected", &json!("default")));
    let restarted = |desk: &mut Desk| {
        (desk.socket, desk.cli) = (Mode::Normal, Mode::Normal);
        desk.panes[0].terminal_id.push('a');
    };
    machine.desk.change(restarted).unwrap();
    assert_eq!(client.take(3).kinds(), ["herdr_connected", "pane_updated", "agent_updated"]);
    daemon.signal(Signal::TERM);
    assert_eq!(client.closed(), (1000, "server stopped".to_owned()));
    assert_eq!(daemon.wait(), Some(0));
}

#[test]
fn herdr_is_listened_to_while_somebody_follows() {
    let (machine, _) = machine_with_branch();
    // A shell alone: nothing has to be asked every second.
    machine.desk.change(|desk| desk.panes[0].agent = None).unwrap();
    let daemon = machine.start(&[]);
    assert!(machine.herdr().has_listeners(0, BOUND));
    let mut client = daemon.events();
    assert_eq!(client.next().kind(), "snapshot");
    assert!(machine.herdr().has_listeners(1, BOUND));
    for title in ["sowing", "raking", "mowing"] {
        machine.desk.change(|desk| desk.panes[0].terminal_title_stripped = Some(title.into())).unwrap();
        machine.herdr().tell(r#"{"data":{"type":"pane_updated"},"event":"pane_updated"}"#);
        let change = client.next();
        assert_eq!(
            (change.kind(), &change.json["payload"]["pane"]["terminal_title_stripped"]),
            ("pane_updated", &json!(title))
        );
    }
    machine.herdr().hang_up();
    assert!(machine.herdr().has_listeners(0, BOUND));
    assert!(machine.herdr().has_listeners(1, BOUND), "it is tried again");
    drop(client);
    assert!(machine.herdr().has_listeners(0, BOUND));
}

/// The agent starts a child that goes on by itself.
fn launch(machine: &Machine, agent: &mut Transcript, id: &str) {
    let launched = json!({"isAsync": true, "status": "async_launched", "agentId": id});
    let call = format!("toolu_{id}");
    machine.append(&agent.path(), agent.spawn(&call, Some(false), "do it") + &agent.answer(&call, &launched));
    let mut child = agent.child(id);
    machine.append(&child.path(), child.talk(2));
}

/// The children of the only agent, once they are counted. On a machine that is very busy an answer may not wait for that.
fn children(daemon: &Daemon) -> Value {
    let mut answers = (0..100).map(|_| snapshot(daemon)["agents"][0]["subagents"].take());
    answers.find(|children| !children.is_null()).unwrap()
}

fn end(machine: &Machine, agent: &mut Transcript, id: &str) {
    machine.append(&agent.path(), agent.notification(&[id], Some("completed")));
}

#[test]
fn children_of_panes_that_nobody_follows_are_counted_and_told() {
    let (machine, mut agent) = machine(3);
    launch(&machine, &mut agent, "a1");
    let daemon = machine.start(&[]);
    assert_eq!(children(&daemon), json!({"total": 1, "running": 1}));
    let mut client = daemon.events();
    let first = client.next();
    assert_eq!(
        first.json["snapshot"]["result"]["snapshot"]["agents"][0]["subagents"],
        json!({"total": 1, "running": 1})
    );
    launch(&machine, &mut agent, "a2");
    let mut told = |expected: Value| {
        let change = client.until("agent_updated").pop().unwrap();
        assert_eq!(change.json["payload"]["agent"]["subagents"], expected);
    };
    told(json!({"total": 2, "running": 2}));
    end(&machine, &mut agent, "a1");
    told(json!({"total": 2, "running": 1}));
    end(&machine, &mut agent, "a2");
    told(json!({"total": 2, "running": 0}));
    assert_eq!(children(&daemon), json!({"total": 2, "running": 0}));
}

#[test]
fn without_herdr_children_are_counted_and_told_too() {
    let (machine, mut agent) = machine(2);
    launch(&machine, &mut agent, "a1");
    let daemon = machine.start(&["--herdr", "none"]);
    assert_eq!(children(&daemon), json!({"total": 1, "running": 1}));
    let mut client = daemon.events();
    assert_eq!(client.next().kind(), "snapshot");
    end(&machine, &mut agent, "a1");
    let change = client.until("agent_updated").pop().unwrap();
    assert_eq!(change.json["payload"]["agent"]["subagents"], json!({"total": 1, "running": 0}));
}

#[test]
fn without_herdr_the_sessions_on_disk_are_shown_and_followed() {
    let (machine, _) = machine(2);
    let daemon = machine.start(&["--herdr", "none"]);
    let found = snapshot(&daemon);
    assert_eq!(found["agents"][0]["pane_id"], format!("claude:{SESSION}"));
    assert_eq!(daemon.events().next().json["snapshot"]["result"]["snapshot"], found);
}
