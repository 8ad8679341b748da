//! What became of a snapshot since the one before, in the events that herdr has for it.
//!
//! herdr's own events come late, one by one, and without those that were lost: the difference between two snapshots is what
//! holds. Each server is compared with itself; one that does not answer now has not changed.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value};

use super::events::Event;

/// What was shown last.
#[derive(Debug, Default)]
pub struct Changes {
    servers: BTreeMap<String, Shown>,
    /// Servers that did not answer last.
    down: BTreeSet<String>,
}

type Row = Map<String, Value>;

/// The rows of one server, each list by the ids of what is in it.
#[derive(Debug, Clone, Default, PartialEq)]
struct Shown {
    lists: [BTreeMap<String, Row>; KINDS.len()],
}

/// One list of a snapshot.
#[derive(Debug)]
struct Kind {
    list: &'static str,
    /// The member that names a row.
    id: &'static str,
    /// What a row is called in an event.
    name: &'static str,
    /// The events of a row that is new, has changed, or is gone.
    created: &'static str,
    updated: &'static str,
    closed: &'static str,
    /// Members whose change is no news, or is told by another event.
    passed_over: &'static [&'static str],
}

/// The outermost first: what is new comes before what is in it, and what is gone behind.
const KINDS: [Kind; 4] = [
    Kind {
        list: "workspaces",
        id: "workspace_id",
        name: "workspace",
        created: "workspace_created",
        updated: "workspace_updated",
        closed: "workspace_closed",
        passed_over: &["active_tab_id", "agent_status", "focused", "pane_count", "tab_count"],
    },
    Kind {
        list: "tabs",
        id: "tab_id",
        name: "tab",
        created: "tab_created",
        updated: "tab_updated",
        closed: "tab_closed",
        passed_over: &["agent_status", "focused", "pane_count"],
    },
    Kind {
        list: "panes",
        id: "pane_id",
        name: "pane",
        created: "pane_created",
        updated: "pane_updated",
        closed: "pane_closed",
        passed_over: &["agent", "agent_status", "focused", "revision", "scroll", "terminal_title"],
    },
    Kind {
        list: "agents",
        id: "pane_id",
        name: "agent",
        created: DETECTED,
        updated: "agent_updated",
        closed: DETECTED,
        passed_over: &[
            "agent",
            "agent_status",
            "attention_rank",
            "focused",
            "last_activity_ts",
            "recency_rank",
            "revision",
            "state_change_seq",
            "terminal_title",
        ],
    },
];

const DETECTED: &str = "pane_agent_detected";

impl Changes {
    /// Takes what is shown at first, the whole body: that is no change.
    pub fn begin(&mut self, body: &Value) {
        self.servers = servers_of(body);
        self.down.clear();
    }

    /// Takes what is shown now. `failed` are servers that are not in it because they did not answer, and why.
    pub fn update<'a>(&mut self, body: &Value, failed: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Event> {
        let mut events = Vec::new();
        let mut shown = servers_of(body);
        let (before, mut kept) = (core::mem::take(&mut self.down), Vec::new());
        for (server, why) in failed {
            if !before.contains(server) {
                events.push(Event::of_bridge("herdr_disconnected").with("session", server).with("error", why));
            }
            kept.extend(self.servers.remove_entry(server));
            self.down.insert(server.to_owned());
        }
        for server in before.difference(&self.down) {
            events.push(Event::of_bridge("herdr_connected").with("session", server.as_str()));
        }
        let names: BTreeSet<&String> = self.servers.keys().chain(shown.keys()).collect();
        let nothing = Shown::default();
        for name in names {
            let (old, new) = (self.servers.get(name).unwrap_or(&nothing), shown.get(name).unwrap_or(&nothing));
            compare(old, new, &mut events);
        }
        shown.extend(kept);
        self.servers = shown;
        events
    }

    /// Nothing is shown any more: no server answers.
    pub fn lose(&mut self, server: &str, why: &str) -> Option<Event> {
        let is_news = self.down.insert(server.to_owned());
        is_news.then(|| Event::of_bridge("herdr_disconnected").with("session", server).with("error", why))
    }
}

/// The rows of a body, by the server that they are of.
fn servers_of(body: &Value) -> BTreeMap<String, Shown> {
    let snapshot = body.get("result").and_then(|result| result.get("snapshot"));
    let mut servers: BTreeMap<String, Shown> = BTreeMap::new();
    for (at, kind) in KINDS.iter().enumerate() {
        let rows = snapshot.and_then(|snapshot| snapshot.get(kind.list)).and_then(Value::as_array);
        for row in rows.into_iter().flatten().filter_map(Value::as_object) {
            let text = |key: &str| row.get(key).and_then(Value::as_str);
            let Some(id) = text(kind.id) else { continue };
            let server = servers.entry(text("session").unwrap_or_default().to_owned()).or_default();
            if let Some(list) = server.lists.get_mut(at) {
                list.insert(id.to_owned(), row.clone());
            }
        }
    }
    servers
}

fn compare(old: &Shown, new: &Shown, events: &mut Vec<Event>) {
    let lists = || KINDS.iter().zip(old.lists.iter().zip(&new.lists));
    for (kind, (old, new)) in lists() {
        for (id, row) in new {
            match old.get(id) {
                None => created(kind, row, events),
                Some(before) => changed(kind, before, row, events),
            }
        }
    }
    let focused = |shown: &Shown| focused(shown).cloned();
    if let Some(pane) =
        focused(new).filter(|pane| focused(old).is_none_or(|before| before["pane_id"] != pane["pane_id"]))
        && *old != Shown::default()
    {
        events.push(Event::of_herdr("pane_focused").with_those_of(&pane, &["pane_id", "workspace_id"]));
    }
    for (kind, (old, new)) in lists().rev() {
        for row in old.iter().filter(|(id, _)| !new.contains_key(*id)).map(|(_, row)| row) {
            let ids = if kind.name == "workspace" { &["workspace_id"][..] } else { &[kind.id, "workspace_id"] };
            let gone = Event::of_herdr(kind.closed).with_those_of(row, ids);
            events.push(if kind.closed == DETECTED {
                gone.with_those_of(row, &["agent"]).with("released", true)
            } else {
                gone
            });
        }
    }
}

fn created(kind: &Kind, row: &Row, events: &mut Vec<Event>) {
    if kind.created == DETECTED {
        events.push(Event::of_herdr(DETECTED).with_those_of(row, &["agent", "pane_id", "workspace_id"]));
        events.push(status_of(row));
    } else {
        events.push(Event::of_herdr(kind.created).with(kind.name, row.clone()));
    }
}

fn changed(kind: &Kind, old: &Row, new: &Row, events: &mut Vec<Event>) {
    let differs = |key: &str| old.get(key) != new.get(key);
    if kind.created == DETECTED {
        if differs("agent") {
            return created(kind, new, events);
        }
        if differs("agent_status") || differs("state_change_seq") {
            events.push(status_of(new));
        }
    }
    if old.keys().chain(new.keys()).any(|key| !kind.passed_over.contains(&key.as_str()) && differs(key)) {
        // herdr has no such event of tabs and agents.
        let is_ours = matches!(kind.name, "tab" | "agent");
        let event = if is_ours { Event::of_bridge(kind.updated) } else { Event::of_herdr(kind.updated) };
        events.push(event.with(kind.name, new.clone()));
    }
}

fn status_of(agent: &Row) -> Event {
    let members = ["agent", "agent_status", "pane_id", "state_change_seq", "workspace_id"];
    Event::of_herdr("pane_agent_status_changed").with_those_of(agent, &members)
}

fn focused(shown: &Shown) -> Option<&Row> {
    let [.., panes, _] = &shown.lists;
    panes.values().find(|pane| pane.get("focused") == Some(&Value::Bool(true)))
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString as _};
    use alloc::vec::Vec;

    use serde_json::{Value, json};

    use super::Changes;

    fn body() -> Value {
        json!({"result": {"snapshot": {
            "workspaces": [{"workspace_id": "w1", "label": "shed", "agent_status": "idle", "session": "default"}],
            "tabs": [{"tab_id": "w1:t1", "workspace_id": "w1", "label": "1", "session": "default"}],
            "panes": [
                {"pane_id": "w1:p1", "workspace_id": "w1", "agent": "claude", "agent_status": "idle", "focused": true,
                 "cwd": "/srv", "scroll": {"max_offset_from_bottom": 1}, "session": "default"},
                {"pane_id": "w1:p2", "workspace_id": "w1", "agent_status": "unknown", "focused": false, "session": "default"},
            ],
            "agents": [
                {"pane_id": "w1:p1", "workspace_id": "w1", "agent": "claude", "agent_status": "idle", "branch": "main",
                 "state_change_seq": 4, "recency_rank": 0, "session": "default"},
            ],
        }}})
    }

    /// What is told when the snapshot was `body` and is what `change` makes of it.
    fn told(change: impl FnOnce(&mut Value)) -> Vec<String> {
        let mut changes = Changes::default();
        changes.begin(&body());
        let mut after = body();
        change(&mut after["result"]["snapshot"]);
        texts(&changes.update(&after, [].into_iter()))
    }

    fn texts(events: &[super::Event]) -> Vec<String> {
        let text = |event: &super::Event| {
            let frame: Value = serde_json::from_slice(&event.frame(1, Default::default())).unwrap();
            [frame["source"].as_str().unwrap(), " ", event.kind(), " ", &frame["payload"].to_string()].concat()
        };
        events.iter().map(text).collect()
    }

    #[test]
    fn what_is_no_news_is_not_told() {
        let same = told(|shown| {
            shown["panes"][0]["scroll"]["max_offset_from_bottom"] = 2.into();
            shown["panes"][0]["terminal_title"] = "⠂ busy".into();
            shown["agents"][0]["recency_rank"] = 7.into();
            shown["agents"][0]["last_activity_ts"] = 7.into();
            shown["workspaces"][0]["agent_status"] = "working".into();
        });
        assert_eq!(same, [] as [&str; 0]);
    }

    #[test]
    fn a_status_that_changed_is_told_with_its_number() {
        let change = told(|shown| {
            shown["panes"][0]["agent_status"] = "blocked".into();
            shown["agents"][0]["agent_status"] = "blocked".into();
            shown["agents"][0]["state_change_seq"] = 5.into();
        });
        assert_eq!(
            change,
            [concat!(
                "herdr pane_agent_status_changed ",
                r#"{"agent":"claude","agent_status":"blocked","pane_id":"w1:p1","state_change_seq":5,"workspace_id":"w1"}"#
            )]
        );
    }

    #[test]
    fn what_is_new_is_told_from_the_outside_in_and_what_is_gone_from_the_inside_out() {
        let change = told(|shown| {
            shown["tabs"][0]["tab_id"] = "w1:t2".into();
            shown["panes"][0]["pane_id"] = "w1:p3".into();
            shown["agents"][0]["pane_id"] = "w1:p3".into();
        });
        let kinds: Vec<&str> = change.iter().map(|text| text.split(' ').nth(1).unwrap()).collect();
        let expected = [
            "tab_created",
            "pane_created",
            "pane_agent_detected",
            "pane_agent_status_changed",
            "pane_focused",
            "pane_agent_detected",
            "pane_closed",
            "tab_closed",
        ];
        assert_eq!(kinds, expected);
        assert_eq!(
            change[5],
            r#"herdr pane_agent_detected {"agent":"claude","pane_id":"w1:p1","released":true,"workspace_id":"w1"}"#
        );
        assert_eq!(change[6], r#"herdr pane_closed {"pane_id":"w1:p1","workspace_id":"w1"}"#);
    }

    #[test]
    fn other_members_update_their_row() {
        let change = told(|shown| {
            shown["panes"][0]["cwd"] = "/srv/x".into();
            shown["agents"][0]["branch"] = "rake".into();
            shown["workspaces"][0]["label"] = "barn".into();
        });
        let starts: Vec<&str> = change.iter().map(|text| text.split(" {").next().unwrap()).collect();
        assert_eq!(starts, ["herdr workspace_updated", "herdr pane_updated", "gothalo agent_updated"]);
        assert!(change[2].contains(r#"{"agent":{"agent":"claude","agent_status":"idle","branch":"rake","#));
    }

    #[test]
    fn a_server_that_does_not_answer_has_not_changed() {
        let mut changes = Changes::default();
        changes.begin(&body());
        let nothing = json!({"result": {"snapshot": {}}});
        let down = || [("default", "too slow")].into_iter();
        let lost = [r#"gothalo herdr_disconnected {"error":"too slow","session":"default"}"#];
        assert_eq!(texts(&changes.update(&nothing, down())), lost);
        assert_eq!(texts(&changes.update(&nothing, down())), [] as [&str; 0]);
        assert_eq!(changes.lose("default", "too slow"), None);
        let back = texts(&changes.update(&body(), [].into_iter()));
        assert_eq!(back, [r#"gothalo herdr_connected {"session":"default"}"#]);
        assert_eq!(changes.update(&nothing, [].into_iter()).len(), 5, "a server that is gone takes all with it");
    }
}
