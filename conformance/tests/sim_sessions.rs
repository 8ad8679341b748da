//! Named sessions of herdr: their panes are followed and listed like those of the default one.

use panewire_conformance::herdr::{Desk, Mode, Pane};
use panewire_conformance::sim::config::HERDR_SESSIONS;
use panewire_conformance::sim::scene::{CWD, NEXT_SESSION, PANE, SESSION};
use panewire_conformance::sim::{Ask, Frames as _, Scene, TOKEN, Transcript};
use serde_json::Value;

/// The session `work` with one pane, which has the name of a pane of the default session and another conversation.
fn scene() -> Scene {
    let mut scene = Scene::with_entries(3);
    let mut agent = Transcript::new(NEXT_SESSION, CWD);
    let talk = agent.talk(2);
    scene.world.disk.append(&agent.path(), talk);
    let panes = vec![Pane::claude(PANE, CWD).with_session(NEXT_SESSION)];
    scene.world.herdr.desk.sessions.insert("work".into(), Desk { panes, ..Desk::default() });
    scene.world.disk.append(&format!("{HERDR_SESSIONS}/work/herdr.sock"), "");
    scene.world.disk.append(&format!("{HERDR_SESSIONS}/stopped/session.json"), "{}");
    scene
}

fn ask(scene: &mut Scene, target: &str) -> (u16, String) {
    let ex = scene.world.ask(&Ask::get(target).with("Authorization", format!("Bearer {TOKEN}")));
    scene.world.run();
    scene.world.client(ex).answer().map(|answer| (answer.status, answer.body)).unwrap_or_default()
}

#[test]
fn two_panes_of_one_name_show_what_is_theirs() {
    let mut scene = scene();
    for (pane, session, entries) in [(PANE, SESSION, 3), ("default/w1:p1", SESSION, 3), ("work/w1:p1", NEXT_SESSION, 2)]
    {
        let client = scene.world.watch(pane);
        let frames = scene.world.fresh(client);
        let hello = &frames.only("hello").json;
        assert_eq!((&hello["pane"], &hello["session_id"]), (&pane.into(), &session.into()));
        assert_eq!(hello["total"], entries, "{pane}");
    }
    scene.world.herdr.take_questions();
    scene.world.advance(core::time::Duration::from_secs(2));
    let questions = scene.world.herdr.take_questions();
    assert_eq!(questions, ["socket agent.get w1:p1"; 3], "each pane is asked of its own server");
    scene.world.finish();
}

#[test]
fn what_herdr_does_not_have_is_said() {
    let mut scene = scene();
    for endpoint in ["/agent-state", "/agent-transcript"] {
        for (pane, status, body) in [
            ("x/w1:p1", 404, "herdr session \"x\" not found\n"),
            ("../w1:p1", 404, "herdr session \"..\" not found\n"),
            ("work/w9:p9", 404, "no such agent\n"),
        ] {
            let target = format!("{endpoint}?pane={pane}");
            assert_eq!(ask(&mut scene, &target), (status, body.to_owned()), "{target}");
        }
        // It is there and does not run: herdr says so itself.
        let (status, body) = ask(&mut scene, &format!("{endpoint}?pane=stopped/w1:p1"));
        assert_eq!(status, 502);
        assert!(body.starts_with("herdr --session stopped agent get w1:p1: ") && body.contains("server_not_running"));
    }
    scene.world.finish();
}

#[test]
fn the_list_has_the_panes_of_every_session_that_runs() {
    let mut scene = scene();
    let panes = |scene: &mut Scene| -> Vec<String> {
        let (status, body) = ask(scene, "/panes");
        assert_eq!(status, 200);
        let body: Value = serde_json::from_str(&body).unwrap();
        let of_herdr = body["panes"].as_array().unwrap().iter().filter(|pane| pane["status"].is_string());
        of_herdr.map(|pane| pane["pane"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(panes(&mut scene), ["w1:p1", "work/w1:p1"]);
    scene.world.herdr.desk.socket = Mode::Wedged;
    scene.world.herdr.desk.cli = Mode::Wedged;
    let ex = scene.world.ask(&Ask::get("/panes").with("Authorization", format!("Bearer {TOKEN}")));
    scene.world.advance(core::time::Duration::from_millis(4_000));
    let body: Value = serde_json::from_str(&scene.world.client(ex).answer().unwrap().body).unwrap();
    assert_eq!(body["panes"][0]["pane"], "work/w1:p1", "one that hangs holds nobody longer than its time");
    assert_eq!(body["notes"][0], "herdr agent list: timed out after 4s");
    scene.world.finish();
}
