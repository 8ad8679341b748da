//! The vectors of the kit: they are what the schema says, they prove what the contract says, and the bare core passes them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod schema;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use panewire_conformance::vector::{Catalog, Coverage, Sentences, Simulated, Vector, Verdict, play};
use schema::Schema;
use serde_json::{Value, json};

const SCHEMA: &str = include_str!("../../vectors/schema.json");

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::mobile().unwrap());

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/mobile")
}

#[test]
fn every_vector_passes_on_the_core() {
    let failed: Vec<String> = CATALOG
        .vectors()
        .iter()
        .filter_map(|vector| match play(vector, &mut Simulated::new()) {
            Verdict::Passed => None,
            other => Some(format!("{}: {other:#?}", vector.name)),
        })
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_vectors_in_the_program_are_those_of_the_directory() {
    assert_eq!(*CATALOG, Catalog::of(&vectors()).unwrap());
}

#[test]
fn every_vector_is_what_the_schema_says() {
    let schema = Schema::new(SCHEMA);
    for vector in CATALOG.vectors() {
        let text = std::fs::read(vectors().join(&vector.name).join("vector.json")).unwrap();
        let written: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(schema.check(&written), Ok(()), "{}", vector.name);
    }
}

#[test]
fn every_sentence_has_a_vector_or_a_reason() {
    let sentences = Sentences::mobile().unwrap();
    assert_eq!(Coverage::of(&CATALOG, &sentences).faults(), Vec::<String>::new());
}

#[test]
fn the_page_about_coverage_says_what_the_vectors_prove() {
    let sentences = Sentences::mobile().unwrap();
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/conformance-coverage.md"));
    let now = Coverage::of(&CATALOG, &sentences).page();
    assert!(page.unwrap() == now, "run: panewire-conformance coverage > docs/conformance-coverage.md");
}

#[test]
fn what_is_not_covered_is_seen() {
    let sentences: Sentences = serde_json::from_value(json!([
        {"section": "s", "sentences": [{"name": "proven"}, {"name": "forgotten"}]},
        {"section": "t", "sentences": [{"name": "excused", "untested": "a remark"}, {"name": "both", "untested": "a remark"}]},
    ]))
    .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let vector =
        json!({"format": 1, "title": "t", "mark": "seed", "proves": ["proven", "both", "invented"], "steps": []});
    std::fs::create_dir(directory.path().join("it")).unwrap();
    std::fs::write(directory.path().join("it/vector.json"), vector.to_string()).unwrap();
    let catalog = Catalog::of(directory.path()).unwrap();
    let expected = [
        "sentence 2, forgotten: no seed vector and no reason why",
        "sentence 4, both: a seed vector and a reason why not",
        "it: there is no sentence invented",
    ];
    let coverage = Coverage::of(&catalog, &sentences);
    assert_eq!(coverage.faults(), expected);
    let numbered =
        ["| 1 | proven | `it` |", "| 2 | forgotten |  |", "| 3 | excused | a remark |", "| 4 | both | a remark |"];
    let page = coverage.page();
    assert_eq!(
        page.lines().filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit()).collect::<Vec<_>>(),
        numbered
    );
}

#[test]
fn the_vector_in_the_book_passes() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/conformance.md")).unwrap();
    let (_, behind) = page.split_once("```json\n").unwrap();
    let (json, _) = behind.split_once("```").unwrap();
    assert_eq!(Schema::new(SCHEMA).check(&serde_json::from_str(json).unwrap()), Ok(()));
    let vector = Vector::parse("of-the-book", json.as_bytes(), BTreeMap::new()).unwrap();
    assert_eq!(play(&vector, &mut Simulated::new()), Verdict::Passed);
}

/// Every session and directory is of one vector only: one server can play all of them, one after the other.
#[test]
fn no_vector_meets_the_files_of_another() {
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    for vector in CATALOG.vectors() {
        let directories = vector.files.iter().map(|file| match file.file.as_str() {
            // The directories of Codex are days, which its sessions share.
            rollout if rollout.starts_with("~/.codex/") => rollout,
            file => file.rsplit_once('/').unwrap().0,
        });
        let sessions = vector.herdr.panes.iter().filter_map(|pane| pane.session.as_deref());
        for place in directories.chain(sessions) {
            let owner = owners.entry(place.to_owned()).or_insert_with(|| vector.name.clone());
            assert_eq!(*owner, vector.name, "{place}");
        }
    }
}

#[test]
fn what_the_schema_refuses_the_kit_refuses_too() {
    let schema = Schema::new(SCHEMA);
    let whole = json!({
        "format": 1, "title": "t", "mark": "seed", "proves": ["a"],
        "files": [{"file": "~/a.jsonl", "content": [{"type": "user"}, "raw", {"$repeat": 2, "line": {}}]}],
        "herdr": {"panes": [{"pane": "w1:p1", "cwd": "/srv", "status": "idle"}]},
        "steps": [
            {"connect": {"pane": "w1:p1"}},
            {"expect": {"frames": [{"type": "hello", "total": {"$any": "integer"}}, {"$skip_to": {"type": "entry"}}]}},
            {"say": {"json": {"type": "load_older"}}},
            {"append": {"file": "~/a.jsonl", "content": {"hex": "41", "from": 0}}},
            {"herdr": {"close": "w1:p1"}},
            {"closed": {"code": 1000}},
        ],
    });
    assert_eq!(schema.check(&whole), Ok(()));
    assert!(parse(&whole).is_ok());
    for (pointer, wrong) in [
        ("/format", json!(2)),
        ("/mark", json!("must")),
        ("/steps/0", json!({"dance": {}})),
        ("/steps/0/connect", json!({"pane": 7})),
        ("/steps/0/connect", json!({"plane": "w1:p1"})),
        ("/steps/1/expect/frames/0/total", json!({"$any": "int"})),
        ("/steps/1/expect/frames/0/total", json!({"$nay": 1})),
        ("/steps/1/expect/frames/1", json!({"$skip_to": {"a": {"$nay": 1}}})),
        ("/steps/2/say", json!({"json": {}, "text": ""})),
        ("/steps/3/append/content", json!({"hex": "4g"})),
        ("/steps/3/append/content", json!({"hex": "41", "text": ""})),
        ("/steps/3/append/content", json!([7])),
        ("/steps/4/herdr", json!({"sleeps": {}})),
        ("/steps/5/closed", json!({})),
        ("/files/0/content/2", json!({"$repeat": 2, "lines": []})),
        ("/herdr/panes/0", json!({"pane": "w1:p1"})),
    ] {
        let mut vector = whole.clone();
        *vector.pointer_mut(pointer).unwrap() = wrong.clone();
        assert!(schema.check(&vector).is_err(), "the schema takes {wrong} at {pointer}");
        assert!(parse(&vector).is_err(), "the kit takes {wrong} at {pointer}");
    }
}

fn parse(vector: &Value) -> Result<Vector, String> {
    Vector::parse("it", vector.to_string().as_bytes(), BTreeMap::new())
}
