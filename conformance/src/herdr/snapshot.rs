//! What `session.snapshot` answers: workspaces, tabs, panes and agents; the layout of the screen is left out.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::answer::{PROTOCOL, VERSION};
use super::{Desk, Pane};

/// The whole snapshot.
pub(super) fn of(desk: &Desk) -> Value {
    let agents: Vec<&Pane> = desk.panes.iter().filter(|pane| pane.agent.is_some()).collect();
    let mut snapshot = json!({
        "version": VERSION,
        "protocol": PROTOCOL,
        "workspaces": workspaces(desk),
        "tabs": tabs(desk),
        "panes": desk.panes.iter().map(as_pane).collect::<Vec<_>>(),
        "layouts": [],
        "agents": agents,
    });
    if let Some(pane) = desk.panes.iter().find(|pane| pane.focused) {
        snapshot["focused_workspace_id"] = pane.workspace_id.clone().into();
        snapshot["focused_tab_id"] = pane.tab_id.clone().into();
        snapshot["focused_pane_id"] = pane.pane_id.clone().into();
    }
    snapshot
}

/// A pane is told with less than its agent.
pub(super) fn as_pane(pane: &Pane) -> Value {
    let mut value = json!(pane);
    if let Some(fields) = value.as_object_mut() {
        fields.remove("state_change_seq");
        fields.remove("screen_detection_skipped");
    }
    value
}

fn workspaces(desk: &Desk) -> Vec<Value> {
    let groups = groups(desk, |pane| &pane.workspace_id);
    let row = |(number, (id, panes)): (usize, (&str, Vec<&Pane>))| {
        let tabs: Vec<&str> = panes.iter().map(|pane| pane.tab_id.as_str()).collect();
        let mut distinct = tabs.clone();
        distinct.dedup();
        json!({
            "workspace_id": id,
            "number": number,
            "label": "demo",
            "focused": panes.iter().any(|pane| pane.focused),
            "pane_count": panes.len(),
            "tab_count": distinct.len(),
            "active_tab_id": tabs.first(),
            "agent_status": status(&panes),
        })
    };
    (1..).zip(groups).map(row).collect()
}

fn tabs(desk: &Desk) -> Vec<Value> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let rows = groups(desk, |pane| &pane.tab_id).into_iter().filter_map(|(id, panes)| {
        let workspace = panes.first()?.workspace_id.as_str();
        let number = numbers.entry(workspace).or_default();
        *number += 1;
        Some(json!({
            "tab_id": id,
            "workspace_id": workspace,
            "number": *number,
            "label": number.to_string(),
            "focused": panes.iter().any(|pane| pane.focused),
            "pane_count": panes.len(),
            "agent_status": status(&panes),
        }))
    });
    rows.collect()
}

/// Panes that belong together, in the order in which they stand.
fn groups(desk: &Desk, of: fn(&Pane) -> &String) -> Vec<(&str, Vec<&Pane>)> {
    let mut groups: Vec<(&str, Vec<&Pane>)> = Vec::new();
    for pane in &desk.panes {
        let id = of(pane).as_str();
        match groups.iter_mut().find(|(other, _)| *other == id) {
            Some((_, panes)) => panes.push(pane),
            None => groups.push((id, vec![pane])),
        }
    }
    groups
}

/// What needs a person first.
fn status(panes: &[&Pane]) -> &'static str {
    let has = |status: &&str| panes.iter().any(|pane| pane.agent_status == *status);
    ["blocked", "working", "done", "idle"].into_iter().find(has).unwrap_or("unknown")
}
