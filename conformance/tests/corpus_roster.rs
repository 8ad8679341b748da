//! Real sessions with subagents: what the roster counts must be what a plain script counts.
//! `PANEWIRE_SHARED=<directory> cargo test`.
#![expect(clippy::unwrap_used, reason = "a test that reads files")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use panewire_conformance::sim::{World, config, transcript::project_directory};
use serde_json::Value;

#[test]
fn real_sessions_have_the_rosters_that_a_plain_script_counts() {
    let Some(shared) = std::env::var_os("PANEWIRE_SHARED") else {
        println!("PANEWIRE_SHARED is not set: the corpus is not looked at");
        return;
    };
    let mut sessions = 0;
    let mut children = 0;
    let mut done = 0;
    for file in files(&Path::new(&shared).join("corpus/claude")) {
        let (counted, shown) = (plain(&file), shown(&file));
        assert_eq!(shown, counted, "{}", file.display());
        if shown.is_empty() {
            continue;
        }
        sessions += 1;
        children += shown.len();
        done += shown.values().filter(|done| **done).count();
    }
    println!("{sessions} sessions, {children} children, {done} of them done");
    assert!(sessions >= 6 && children >= 10 && done >= 4, "{sessions} sessions, {children} children, {done} done");
}

/// Every session's file, children left out.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap_or_default());
        if path.is_dir() {
            found.extend(files(&path));
        } else if name.ends_with(".jsonl") && !name.starts_with("agent-") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The children of a session and whether they are done, by nothing but names and `contains`.
fn plain(file: &Path) -> BTreeMap<String, bool> {
    let (stem, directory) = (file.file_stem().unwrap().to_str().unwrap(), file.parent().unwrap());
    let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
    let id = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        let id = name.strip_prefix("agent-")?.strip_suffix(".jsonl")?;
        (!id.starts_with("acompact-")).then(|| id.to_owned())
    };
    let list = |directory: &Path| -> Vec<PathBuf> {
        fs::read_dir(directory).map(|entries| entries.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default()
    };
    let ours = format!("\"sessionId\":\"{stem}\"");
    let names_us = |path: &PathBuf| fs::read_to_string(path).is_ok_and(|child| child.contains(&ours));
    let beside = list(directory).into_iter().filter(|path| id(path).is_some() && names_us(path));
    let own = list(&directory.join(stem).join("subagents"));
    let ids: BTreeSet<String> = own.into_iter().chain(beside).filter_map(|path| id(&path)).collect();
    let mut children = inside(&text);
    children.extend(ids.into_iter().map(|id| (id.clone(), is_done(&text, &id))));
    children
}

/// Children of the oldest versions, whose lines stand between those of the session: done when their call is answered.
fn inside(text: &str) -> BTreeMap<String, bool> {
    let records: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let blocks = |kind: &'static str| {
        let content = records.iter().filter(|record| record["isSidechain"] != true);
        let content = content.filter_map(|record| record["message"]["content"].as_array());
        content.flatten().filter(move |block| block["type"] == kind)
    };
    let mut children = BTreeMap::new();
    for record in records.iter().filter(|record| record["isSidechain"] == true) {
        let root = Some(&record["uuid"]).filter(|_| record["parentUuid"].is_null()).and_then(Value::as_str);
        let Some(id) = record["agentId"].as_str().or(root) else { continue };
        let says = record["message"]["content"].as_str().unwrap_or_default();
        let call = blocks("tool_use").find(|call| call["input"]["prompt"] == says && !says.is_empty());
        let answered = call.is_some_and(|call| blocks("tool_result").any(|answer| answer["tool_use_id"] == call["id"]));
        children.entry(id.to_owned()).or_insert(answered);
    }
    children
}

fn is_done(text: &str, id: &str) -> bool {
    let named = format!("<task-notification>\\n<task-id>{id}</task-id>");
    let notices: Vec<&str> =
        text.lines().filter(|line| line.contains(&named) && line.contains("\"type\":\"user\"")).collect();
    if let Some(last) = notices.last() {
        let head = last.split(&named).nth(1).unwrap_or_default();
        let status = head.split("<status>").nth(1).and_then(|rest| rest.split("</status>").next()).unwrap_or("running");
        return status != "running";
    }
    let agent = format!("\"agentId\":\"{id}\"");
    let answers = text.lines().filter(|line| line.contains("\"toolUseResult\":{") && line.contains(&agent));
    answers.clone().any(|line| line.contains("\"status\":\"completed\""))
        && !answers.clone().any(|l| l.contains("\"isAsync\":true"))
}

/// The same as a client sees it.
fn shown(file: &Path) -> BTreeMap<String, bool> {
    let stem = file.file_stem().unwrap().to_str().unwrap();
    let project = project_directory("/srv/corpus");
    let mut world = World::with(config());
    let root = file.parent().unwrap();
    let mut put = vec![file.to_path_buf()];
    put.extend(fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()));
    if let Ok(children) = fs::read_dir(root.join(stem).join("subagents")) {
        put.extend(children.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()));
    }
    for path in put.iter().collect::<BTreeSet<_>>() {
        let below = path.strip_prefix(root).unwrap().to_str().unwrap();
        world.disk.write(&format!("{project}/{below}"), fs::read(path).unwrap());
    }
    let client = world.watch(&format!("claude:{stem}"));
    // Some files have names that no session has: nothing is served of them.
    let hello = world.fresh(client).into_iter().find(|frame| frame.kind() == "hello");
    let rows = hello.and_then(|hello| hello.json.get("subagents").cloned()).unwrap_or_default();
    let row = |row: &Value| (row["agent_id"].as_str().unwrap_or_default().to_owned(), row["done"] == true);
    rows.as_array().map(|rows| rows.iter().map(row).collect()).unwrap_or_default()
}
