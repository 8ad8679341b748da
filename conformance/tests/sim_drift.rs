//! `GET /drift`: what no reader knew in the files that are followed.

#![expect(clippy::unwrap_used, reason = "a report that cannot be read has failed its test")]

use panewire_conformance::sim::scene::TWO_POLLS;
use panewire_conformance::sim::{Scene, TOKEN};
use panewire_core::limits::STREAM_GRACE;
use serde_json::{Value, json};

/// What the report says: kind, name, version, count, offset.
fn drift(scene: &mut Scene) -> Vec<(String, String, String, u64, u64)> {
    let client = scene.world.get("/drift");
    let answer = scene.world.client(client).answer().unwrap();
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let report: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(report["omitted"], 0);
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["file"] == scene.path));
    rows.iter()
        .map(|row| {
            let (count, offset) = (row["count"].as_u64().unwrap(), row["offset"].as_u64().unwrap());
            (text(row, "what"), text(row, "name"), text(row, "version"), count, offset)
        })
        .collect()
}

fn row(what: &str, name: &str, version: &str, count: u64, offset: u64) -> (String, String, String, u64, u64) {
    (what.into(), name.into(), version.into(), count, offset)
}

#[test]
fn it_needs_the_token() {
    let mut scene = Scene::with_entries(1);
    let client = scene.world.ask(&panewire_conformance::sim::Ask::get("/drift"));
    scene.world.run();
    assert_eq!(scene.world.client(client).answer().map(|answer| answer.status), Some(401));
    let client = scene.world.get(&format!("/drift?token={TOKEN}"));
    let answer = scene.world.client(client).answer().unwrap();
    assert_eq!((answer.status, &*answer.body), (200, "{\"rows\":[],\"omitted\":0}\n"));
}

#[test]
fn counting_meets_what_it_cannot_place_and_the_live_tail_meets_everything() {
    let mut scene = Scene::with_entries(2);
    let hammer = scene.agent.tool_use("Hammer", &json!({"nail": 1}));
    scene.append(&hammer);
    let start = |scene: &Scene| scene.world.disk.content(&scene.path).unwrap().len() as u64;
    let omen = start(&scene);
    scene.append("{\"type\":\"omen\",\"version\":\"2.2.0\"}\n{\"type\":\"omen\",\"version\":\"2.2.0\"}\n");
    let torn = start(&scene);
    scene.append("{\"type\":\"us\n");
    assert_eq!(drift(&mut scene), [], "nobody follows it yet");
    scene.watch();
    let counted = [row("record", "omen", "2.2.0", 2, omen), row("damage", "no record", "", 1, torn)];
    assert_eq!(drift(&mut scene), counted);

    let saw = start(&scene);
    let line = scene.agent.tool_use("Saw", &json!({"plank": 1}));
    scene.append(&line);
    scene.world.advance(TWO_POLLS);
    let [omen, damage] = counted;
    assert_eq!(drift(&mut scene), [omen, row("tool", "Saw", "2.1.0", 1, saw), damage]);
    scene.world.finish();
}

#[test]
fn a_file_that_is_followed_again_is_not_counted_twice() {
    let mut scene = Scene::with_entries(1);
    let omen = scene.world.disk.content(&scene.path).unwrap().len() as u64;
    scene.append("{\"type\":\"omen\"}\n");
    for round in 1..=3 {
        let client = scene.watch();
        assert_eq!(drift(&mut scene), [row("record", "omen", "", round, omen)]);
        scene.world.leave(client);
        scene.world.advance(STREAM_GRACE * 2);
        scene.append("{\"type\":\"omen\"}\n");
    }
    scene.world.finish();
}
