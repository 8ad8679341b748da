//! Every option of every screen that a real agent has shown is sent to it: what is typed is what its kind takes, and Enter
//! never confirms another option. Nothing on these screens moves.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

use core::time::Duration;
use std::path::{Path, PathBuf};

use panewire_conformance::sim::Scene;
use panewire_conformance::sim::scene::PANE;
use serde_json::{Value, json};

/// Kind and screen of every blocked agent; none where the shared screens are not there.
fn screens() -> Vec<(String, PathBuf)> {
    let Some(shared) = std::env::var_os("PANEWIRE_SHARED") else {
        eprintln!("PANEWIRE_SHARED names no directory: the screens of real agents are not looked at");
        return Vec::new();
    };
    let mut found: Vec<(String, PathBuf)> = std::fs::read_dir(Path::new(&shared).join("herdr/screens"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let (kind, rest) = path.file_name()?.to_str()?.split_once('-')?;
            rest.starts_with("blocked-").then(|| (kind.to_owned(), path.clone()))
        })
        .collect();
    found.sort();
    assert!(found.len() >= 20, "{found:?}");
    found
}

/// Status of the answer, and what was typed.
fn send(scene: &mut Scene, text: &str) -> (u16, Vec<String>) {
    let client = scene.world.post("/send", &json!({"pane": PANE, "text": format!("{text}\n")}));
    scene.world.advance(Duration::from_secs(5));
    let status = scene.world.client(client).answer().map_or(0, |answer| answer.status);
    (status, scene.world.herdr.desk.take_typed(PANE))
}

fn options(scene: &mut Scene) -> Vec<Value> {
    let client = scene.world.get(&format!("/agent-state?pane={PANE}"));
    let body = scene.world.client(client).answer().map(|answer| answer.body).unwrap_or_default();
    let card: Value = serde_json::from_str(&body).unwrap_or_default();
    card["blocked"]["options"].as_array().cloned().unwrap_or_default()
}

#[test]
fn no_option_is_mistaken_for_another() {
    let mut sent = 0;
    for (kind, path) in screens() {
        let mut scene = Scene::with_entries(1);
        let pane = scene.world.herdr.pane(PANE).unwrap();
        (pane.agent, pane.agent_status) = (Some(kind.clone()), "blocked".into());
        scene.world.herdr.desk.screens.insert(PANE.into(), std::fs::read_to_string(&path).unwrap());
        let options = options(&mut scene);
        let is_marked = options.iter().any(|option| option["selected"] == true);
        for (at, option) in options.iter().enumerate() {
            let named = options.iter().position(|other| other["label"] == option["label"]);
            if named != Some(at) {
                continue;
            }
            sent += 1;
            let (status, typed) = send(&mut scene, option["label"].as_str().unwrap());
            let about = format!("{} {option} {status} {typed:?}", path.display());
            let keys = typed.strip_suffix(&["\r".to_owned()][..]).unwrap_or(&typed);
            assert!(keys.len() <= 1 && !keys.concat().contains('\r'), "{about}");
            if keys.len() < typed.len() {
                // Claude Code's digit marks by itself where no mark can be seen.
                assert!(option["selected"] == true || !is_marked && kind == "claude", "{about}");
            }
            match (option["key"].as_str(), kind.as_str()) {
                (Some("esc"), _) => assert_eq!((status, keys), (200, &["\u{1b}".to_owned()][..]), "{about}"),
                (Some(key), _) => assert_eq!((status, keys), (200, &[key.to_owned()][..]), "{about}"),
                (None, "claude") if option["index"] != 0 => assert_eq!(keys, [option["index"].to_string()], "{about}"),
                _ if !is_marked => assert_eq!((status, typed.len()), (409, 0), "{about}"),
                _ => assert_eq!(keys.is_empty(), option["selected"] == true, "{about}"),
            }
        }
        scene.world.finish();
    }
    assert!(sent == 0 || sent >= 50, "{sent}");
}
