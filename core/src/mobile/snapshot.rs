//! `GET /snapshot`: everything that herdr shows, in its own words, and what a phone sorts its list by.
//!
//! herdr's objects pass through as they are, fields that nobody here knows included. The lists of all servers stand behind
//! each other; every element says its `session`, and ids of a named session are `<session>/<id>`, as in every request. What
//! could not be asked for is no row: one without an id, and a second one with the same.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use serde_json::{Map, Value, json};

use crate::ids::PaneId;
use crate::pane::herdr::HerdrSession;
use crate::pane::survey::{AgentFacts, Surveyed};

/// The children of a conversation, where they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Subagents {
    /// How many there are.
    pub total: usize,
    /// How many have not finished, as far as their parents were told.
    pub running: usize,
}

/// The body of `GET /snapshot`.
#[must_use]
pub fn body(surveyed: &Surveyed, subagents: &BTreeMap<PaneId, Subagents>) -> Value {
    let mut snapshot = surveyed.standalone.clone();
    for (session, fields) in &surveyed.servers {
        add(&mut snapshot, session, fields);
    }
    let sessions: Vec<Value> = surveyed.servers.iter().map(|(session, _)| session.label().into()).collect();
    snapshot.insert("sessions".into(), sessions.into());
    for list in LISTS {
        snapshot.entry(list).or_insert_with(|| json!([]));
    }
    if let Some(Value::Array(agents)) = snapshot.get_mut("agents") {
        enrich(agents, &surveyed.agents, subagents);
    }
    json!({"id": "gothalo:snapshot", "result": {"snapshot": snapshot}})
}

/// The lists that every snapshot has.
const LISTS: [&str; 5] = ["agents", "layouts", "panes", "tabs", "workspaces"];

/// By what the rows of a list are told apart, if it is one of these.
fn id_of(list: &str) -> Option<&'static str> {
    match list {
        "agents" | "panes" => Some("pane_id"),
        "tabs" => Some("tab_id"),
        "workspaces" => Some("workspace_id"),
        _ => None,
    }
}

/// Members that name something of one server.
const IDS: [&str; 8] = [
    "pane_id",
    "tab_id",
    "workspace_id",
    "focused_pane_id",
    "focused_tab_id",
    "focused_workspace_id",
    "active_tab_id",
    "split_from",
];

/// Adds what one server shows. What stands there once, such as the focus, is that of the first server that says it.
fn add(snapshot: &mut Map<String, Value>, session: &HerdrSession, fields: &Map<String, Value>) {
    for (key, value) in fields {
        let mut value = value.clone();
        if let (Some(id), Value::Array(rows)) = (id_of(key), &mut value) {
            let mut ids = BTreeSet::new();
            rows.retain(|row| filled(row, id).is_some_and(|id| ids.insert(id.to_owned())));
        }
        qualify_member(key, &mut value, session);
        match (value, snapshot.get_mut(key)) {
            (Value::Array(mut elements), known) => {
                for element in elements.iter_mut().filter_map(Value::as_object_mut) {
                    element.insert("session".into(), session.label().into());
                }
                match known {
                    Some(Value::Array(list)) => list.append(&mut elements),
                    Some(_) => {}
                    None => drop(snapshot.insert(key.to_owned(), elements.into())),
                }
            }
            (_, Some(_)) => {}
            // A list that is none is empty.
            _ if LISTS.contains(&key.as_str()) => {}
            (value, None) => drop(snapshot.insert(key.to_owned(), value)),
        }
    }
}

fn filled<'a>(row: &'a Value, key: &str) -> Option<&'a str> {
    row.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

fn qualify_member(key: &str, value: &mut Value, session: &HerdrSession) {
    match value {
        Value::String(id) if IDS.contains(&key) => *id = session.qualified(id),
        Value::Array(elements) => elements.iter_mut().for_each(|element| qualify_member("", element, session)),
        Value::Object(members) => {
            members.iter_mut().for_each(|(key, value)| qualify_member(key, value, session));
        }
        _ => {}
    }
}

/// Adds what a list is sorted by.
fn enrich(agents: &mut [Value], facts: &BTreeMap<PaneId, AgentFacts>, subagents: &BTreeMap<PaneId, Subagents>) {
    let mut ages = Vec::new();
    for (at, agent) in agents.iter_mut().enumerate() {
        let Some(fields) = agent.as_object_mut() else { continue };
        let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
        let pane = PaneId::from(text("pane_id"));
        let rank = attention(text("agent_status"));
        let seq = fields.get("state_change_seq").and_then(Value::as_u64).unwrap_or_default();
        let known = facts.get(&pane);
        fields.insert("branch".into(), known.map_or("", |known| &known.branch).into());
        fields.insert("attention_rank".into(), rank.into());
        let last_ts = known.and_then(|known| known.last_activity_ts);
        if let Some(last_ts) = last_ts {
            fields.insert("last_activity_ts".into(), last_ts.into());
        }
        if let Some(Subagents { total, running }) = subagents.get(&pane).filter(|known| known.total > 0) {
            fields.insert("subagents".into(), json!({"total": total, "running": running}));
        }
        ages.push((Reverse(last_ts), Reverse(seq), pane, at));
    }
    // The newest first; those without a time behind all others.
    ages.sort();
    for (rank, (.., at)) in ages.iter().enumerate() {
        if let Some(fields) = agents.get_mut(*at).and_then(Value::as_object_mut) {
            fields.insert("recency_rank".into(), rank.into());
        }
    }
}

/// What needs a person first.
fn attention(status: &str) -> u8 {
    match status.trim() {
        "blocked" => 0,
        "done" => 1,
        "working" => 2,
        "idle" => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::string::String;
    use alloc::vec;
    use alloc::vec::Vec;

    use serde_json::{Map, Value, json};

    use super::{Subagents, body};
    use crate::ids::PaneId;
    use crate::pane::herdr::HerdrSession;
    use crate::pane::survey::{AgentFacts, Surveyed};

    const CAPTURED: &[u8] = include_bytes!("../../tests/data/herdr/socket-snapshot.json");

    fn captured() -> Map<String, Value> {
        let answer: Value = serde_json::from_slice(CAPTURED).unwrap();
        answer["result"]["snapshot"].as_object().unwrap().clone()
    }

    fn facts(branch: &str, last_activity_ts: Option<i64>) -> AgentFacts {
        AgentFacts { branch: branch.into(), last_activity_ts, ..AgentFacts::default() }
    }

    fn snapshot(surveyed: &Surveyed) -> Value {
        body(surveyed, &BTreeMap::new())["result"]["snapshot"].clone()
    }

    fn column(snapshot: &Value, list: &str, key: &str) -> Vec<Value> {
        snapshot[list].as_array().unwrap().iter().map(|row| row[key].clone()).collect()
    }

    #[test]
    fn herdrs_objects_pass_through_and_agents_are_ranked() {
        let surveyed = Surveyed {
            servers: vec![(HerdrSession::DEFAULT, captured())],
            agents: BTreeMap::from([
                (PaneId::from("w1:p1"), facts("main", Some(1_788_600_000_000))),
                (PaneId::from("w1:p4"), facts("", Some(1_788_600_000_001))),
            ]),
            ..Surveyed::default()
        };
        let children = BTreeMap::from([
            (PaneId::from("w1:p1"), Subagents { total: 3, running: 1 }),
            (PaneId::from("w1:p2"), Subagents::default()),
        ]);
        let mut body = body(&surveyed, &children);
        assert_eq!(body["id"], "gothalo:snapshot");
        let snapshot = &body["result"]["snapshot"];
        assert_eq!(column(snapshot, "agents", "attention_rank"), [0, 0, 1, 0, 2]);
        // Dated ones first, then by herdr's counter, then by name.
        assert_eq!(column(snapshot, "agents", "recency_rank"), [1, 4, 3, 0, 2]);
        assert_eq!(column(snapshot, "agents", "branch"), ["main", "", "", "", ""]);
        assert_eq!(snapshot["agents"][0]["last_activity_ts"], 1_788_600_000_000_i64);
        assert_eq!(snapshot["agents"][1].get("last_activity_ts"), None);
        assert_eq!(snapshot["agents"][0]["subagents"], json!({"total": 3, "running": 1}));
        assert_eq!(snapshot["agents"][1].get("subagents"), None);
        assert_eq!(snapshot["sessions"], json!(["default"]));
        // Without what was added, it is what herdr said.
        let snapshot = body["result"]["snapshot"].as_object_mut().unwrap();
        snapshot.remove("sessions");
        for row in snapshot.values_mut().filter_map(Value::as_array_mut).flatten() {
            let row = row.as_object_mut().unwrap();
            for added in ["session", "branch", "attention_rank", "recency_rank", "last_activity_ts", "subagents"] {
                row.remove(added);
            }
        }
        assert_eq!(*snapshot, captured());
    }

    #[test]
    fn ids_of_a_named_session_carry_its_name() {
        let surveyed = Surveyed {
            servers: vec![(HerdrSession::DEFAULT, captured()), (HerdrSession::named("work"), captured())],
            agents: BTreeMap::from([(PaneId::from("work/w1:p1"), facts("tree", None))]),
            ..Surveyed::default()
        };
        let snapshot = snapshot(&surveyed);
        assert_eq!(snapshot["sessions"], json!(["default", "work"]));
        let panes = column(&snapshot, "panes", "pane_id");
        assert_eq!((panes.len(), &panes[0], &panes[6]), (12, &json!("w1:p1"), &json!("work/w1:p1")));
        assert_eq!(snapshot["focused_pane_id"], "w1:p1");
        assert_eq!(snapshot["workspaces"][1]["active_tab_id"], "work/w1:t1");
        assert_eq!(snapshot["layouts"][5]["panes"][1]["pane_id"], "work/w1:p2");
        assert_eq!(snapshot["layouts"][5]["splits"][0]["id"], "split_0_root");
        let session = column(&snapshot, "agents", "session");
        assert_eq!((&session[4], &session[5]), (&json!("default"), &json!("work")));
        let branches = column(&snapshot, "agents", "branch");
        assert_eq!((&branches[0], &branches[5]), (&json!(""), &json!("tree")));
        let mut ranks = column(&snapshot, "agents", "recency_rank");
        ranks.sort_by_key(Value::as_u64);
        assert_eq!(ranks, (0..10).map(Value::from).collect::<Vec<_>>());
    }

    #[test]
    fn a_server_that_says_nothing_is_an_empty_snapshot() {
        let surveyed = Surveyed { servers: vec![(HerdrSession::DEFAULT, Map::new())], ..Surveyed::default() };
        let empty = json!({
            "agents": [], "layouts": [], "panes": [], "tabs": [], "workspaces": [], "sessions": ["default"],
        });
        assert_eq!(snapshot(&surveyed), empty);
    }

    #[test]
    fn odd_answers_do_no_harm() {
        let odd = json!({"agents": [7, {"pane_id": 7}, {}], "panes": "none", "version": {"pane_id": "w1:p1"}});
        let fields = odd.as_object().unwrap().clone();
        let sessions = [HerdrSession::DEFAULT, HerdrSession::named("work")];
        let servers = sessions.into_iter().map(|session| (session, fields.clone())).collect();
        let snapshot = snapshot(&Surveyed { servers, ..Surveyed::default() });
        assert_eq!((&snapshot["agents"], &snapshot["panes"]), (&json!([]), &json!([])));
        assert_eq!(snapshot["version"], json!({"pane_id": "w1:p1"}));
    }

    #[test]
    fn what_could_not_be_asked_for_is_no_row_and_no_pane_is_taken_for_another() {
        let odd = json!({
            "agents": [
                {"agent": "claude"},
                {"pane_id": 7, "agent": "claude"},
                {"pane_id": " ", "agent": "claude"},
                [],
                null,
                {"pane_id": "w1:p1", "agent": "claude", "agent_status": "blocked", "state_change_seq": 5},
                {"pane_id": "w1:p1", "agent": "codex", "agent_status": "idle", "state_change_seq": 9},
                {"pane_id": "work/w1:p1", "agent": "pi", "agent_status": 1, "state_change_seq": -1, "name": {"a": []}},
                {"pane_id": "demo", "agent": ["pi"], "agent_status": null, "state_change_seq": 1.5},
            ],
            "panes": {"w1:p1": {}},
            "tabs": [{"tab_id": "w1:t1"}, {"tab_id": "w1:t1", "label": "again"}, {"label": "none"}],
            "focused_pane_id": "work/w1:p1",
            "more": [{"pane_id": 7}, 7],
        });
        let fields = odd.as_object().unwrap().clone();
        let servers = vec![(HerdrSession::DEFAULT, fields.clone()), (HerdrSession::named("work"), fields)];
        let agents = BTreeMap::from([(PaneId::from("work/w1:p1"), facts("rake", Some(7)))]);
        let snapshot = snapshot(&Surveyed { servers, agents, ..Surveyed::default() });
        let panes = ["w1:p1", "default/work/w1:p1", "default/demo", "work/w1:p1", "work/work/w1:p1", "work/demo"];
        assert_eq!(column(&snapshot, "agents", "pane_id"), panes);
        assert_eq!(column(&snapshot, "agents", "agent")[..3], [json!("claude"), json!("pi"), json!(["pi"])]);
        assert_eq!(column(&snapshot, "agents", "branch"), ["", "", "", "rake", "", ""]);
        assert_eq!(column(&snapshot, "agents", "attention_rank"), [0, 4, 4, 0, 4, 4]);
        assert_eq!(column(&snapshot, "agents", "recency_rank"), [1, 3, 2, 0, 5, 4]);
        assert_eq!(column(&snapshot, "tabs", "tab_id"), ["w1:t1", "work/w1:t1"]);
        assert_eq!(snapshot["panes"], json!([]));
        assert_eq!(snapshot["focused_pane_id"], "default/work/w1:p1");
        assert_eq!(snapshot["more"].as_array().unwrap().len(), 4);
    }
}
