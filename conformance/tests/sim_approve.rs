//! `POST /approve` and `POST /agent-mode/cycle`: what is pressed, once, and when nothing is.

use core::time::Duration;

use panewire_conformance::herdr::{Failing, Mode, Pane, Reaction};
use panewire_conformance::sim::scene::{CWD, PANE};
use panewire_conformance::sim::screen::{prompt, yes_or_no};
use panewire_conformance::sim::{Scene, TOKEN, World};
use panewire_core::ids::ExId;
use panewire_core::limits::{ANSWER_REST, MODE_LOOKS};
use serde_json::{Value, json};

/// A pane that is blocked on this command, and herdr's counter.
fn blocked_on(scene: &mut Scene, command: &str) -> u64 {
    scene.world.herdr.desk.screens.insert(PANE.into(), yes_or_no(command));
    scene.world.herdr.desk.set_status(PANE, "blocked");
    scene.world.herdr.pane(PANE).map_or(0, |pane| pane.state_change_seq)
}

fn reacts(scene: &mut Scene, to: &str, screen: &str, status: Option<&str>) {
    scene.world.herdr.desk.reactions.push(Reaction {
        pane_id: PANE.into(),
        to: to.into(),
        screen: Some(screen.into()),
        status: status.map(Into::into),
    });
}

/// Status and body of the answer, if there is one.
fn answer(world: &World, client: ExId) -> Option<(u16, String)> {
    world.client(client).answer().map(|answer| (answer.status, answer.body))
}

fn post(world: &mut World, target: &str, body: &Value) -> (u16, String) {
    let client = world.post(target, body);
    world.advance(Duration::from_secs(5));
    answer(world, client).unwrap_or_default()
}

fn approve(world: &mut World, seq: u64) -> (u16, String) {
    post(world, "/approve", &json!({"agent": PANE, "seq": seq}))
}

fn applied() -> (u16, String) {
    (200, "{\"ok\":true,\"applied\":true}\n".into())
}

fn not_applied(reason: &str) -> (u16, String) {
    (200, format!("{{\"ok\":true,\"applied\":false,\"reason\":\"{reason}\"}}\n"))
}

fn refused(status: u16, text: &str) -> (u16, String) {
    (status, format!("{text}\n"))
}

fn typed(world: &mut World) -> Vec<String> {
    core::mem::take(&mut world.herdr.desk.typed).into_iter().map(|typed| typed.bytes).collect()
}

fn fingerprint(world: &mut World) -> Value {
    let client = world.get(&format!("/agent-state?pane={PANE}"));
    let body = answer(world, client).map(|(_, body)| body).unwrap_or_default();
    serde_json::from_str::<Value>(&body).unwrap_or_default()["blocked"]["fingerprint"].clone()
}

const ANOTHER: &str = "the agent asks another question by now: look at its card again";

const NOTHING: [&str; 0] = [];

#[test]
fn the_selected_answer_is_confirmed_after_two_looks() {
    let mut scene = Scene::with_entries(1);
    let seq = blocked_on(&mut scene, "water --all");
    reacts(&mut scene, "\r", &prompt("? for shortcuts"), Some("working"));
    scene.world.herdr.take_questions();
    assert_eq!(approve(&mut scene.world, seq), applied());
    assert_eq!(typed(&mut scene.world), ["\r"]);
    let asked = ["agent.get", "agent.read", "agent.get", "agent.read", "pane.send_keys"];
    assert_eq!(scene.world.herdr.take_questions(), asked.map(|method| format!("socket {method} {PANE}")));
    assert_eq!(approve(&mut scene.world, seq), not_applied("agent is working, not blocked"));
    assert_eq!(typed(&mut scene.world), NOTHING);
    scene.world.finish();
}

#[test]
fn what_is_not_so_any_more_is_not_confirmed() {
    let mut scene = Scene::with_entries(1);
    let seq = blocked_on(&mut scene, "water --all");
    let stale = format!("stale seq: approve carried {}, agent now at {seq}", seq - 1);
    assert_eq!(approve(&mut scene.world, seq - 1), not_applied(&stale));
    scene.world.herdr.desk.set_status(PANE, "idle");
    assert_eq!(approve(&mut scene.world, seq), not_applied("agent is idle, not blocked"));
    let nobody = post(&mut scene.world, "/approve", &json!({"agent": "w9:p9", "seq": 1}));
    assert_eq!(nobody, not_applied("no such agent"));
    scene.world.herdr.open(Pane { agent: None, ..Pane::claude("w1:p6", CWD) });
    let shell = post(&mut scene.world, "/approve", &json!({"agent": "w1:p6", "seq": 8}));
    assert_eq!(shell, not_applied("no such agent"));
    assert_eq!(typed(&mut scene.world), NOTHING);
    scene.world.finish();
}

#[test]
fn a_question_that_changes_between_the_look_and_the_key_is_not_confirmed() {
    // The last look is asked for after 60 ms. What changes behind it herdr gives nobody a way to notice.
    for after in 1..60 {
        for with_counter in [false, true] {
            let mut scene = Scene::with_entries(1);
            let seq = blocked_on(&mut scene, "water --all");
            let question = fingerprint(&mut scene.world);
            scene.world.herdr.socket_latency = Duration::from_millis(20);
            scene.world.after(Duration::from_millis(after), move |world| {
                world.herdr.desk.screens.insert(PANE.into(), yes_or_no("dig --deep"));
                if with_counter {
                    world.herdr.desk.set_status(PANE, "blocked");
                }
            });
            let body = json!({"agent": PANE, "seq": seq, "question": question});
            let told = post(&mut scene.world, "/approve", &body);
            let stale = format!("stale seq: approve carried {seq}, agent now at {}", seq + 1);
            // Whether the counter or the screen tells first depends on which of them is looked at next.
            let expected = if with_counter && (21..=40).contains(&after) { stale.as_str() } else { ANOTHER };
            assert_eq!(told, not_applied(expected), "after {after} ms, {with_counter}");
            assert_eq!(typed(&mut scene.world), NOTHING, "after {after} ms, {with_counter}");
            scene.world.finish();
        }
    }
}

/// Two looks of two answers each take 80 ms: the key finds no pane any more.
#[test]
fn a_pane_that_goes_between_the_look_and_the_key_is_no_agent() {
    let mut scene = Scene::with_entries(1);
    let seq = blocked_on(&mut scene, "water --all");
    scene.world.herdr.socket_latency = Duration::from_millis(20);
    scene.world.after(Duration::from_millis(70), |world| world.herdr.close(PANE));
    let told = post(&mut scene.world, "/approve", &json!({"agent": PANE, "seq": seq}));
    assert_eq!(told, not_applied("no such agent"));
    assert_eq!(typed(&mut scene.world), NOTHING);
    scene.world.finish();
}

#[test]
fn even_without_its_name_a_question_that_changes_between_two_looks_is_not_confirmed() {
    let mut scene = Scene::with_entries(1);
    let seq = blocked_on(&mut scene, "water --all");
    scene.world.herdr.socket_latency = Duration::from_millis(20);
    scene.world.after(Duration::from_millis(30), |world| {
        world.herdr.desk.screens.insert(PANE.into(), yes_or_no("dig --deep"));
    });
    assert_eq!(approve(&mut scene.world, seq), not_applied(ANOTHER));
    assert_eq!(typed(&mut scene.world), NOTHING);
    scene.world.finish();
}

#[test]
fn a_server_that_was_started_again_is_another_life() {
    let mut scene = Scene::with_entries(1);
    let seq = blocked_on(&mut scene, "water --all");
    scene.world.herdr.socket_latency = Duration::from_millis(20);
    scene.world.after(Duration::from_millis(30), move |world| {
        world.herdr.restart();
        if let Some(pane) = world.herdr.pane(PANE) {
            pane.state_change_seq = seq;
        }
    });
    assert_eq!(approve(&mut scene.world, seq), not_applied(ANOTHER));
    // In this life nobody has approved anything yet.
    assert_eq!(approve(&mut scene.world, seq), applied());
    assert_eq!(typed(&mut scene.world), ["\r"]);
    scene.world.finish();
}

#[test]
fn each_question_is_confirmed_once() {
    let mut scene = Scene::with_entries(1);
    let seq = blocked_on(&mut scene, "water --all");
    let clients: Vec<ExId> =
        (0..3).map(|_| scene.world.post("/approve", &json!({"agent": PANE, "seq": seq}))).collect();
    scene.world.advance(Duration::from_secs(1));
    let answers: Vec<_> = clients.iter().filter_map(|client| answer(&scene.world, *client)).collect();
    let already = not_applied(&format!("already approved: seq {seq}"));
    assert_eq!(answers, [applied(), already.clone(), already.clone()]);
    assert_eq!(approve(&mut scene.world, seq), already);
    assert_eq!(typed(&mut scene.world), ["\r"]);
    // The next question is another one, and so is that of another life with the same counter.
    let next = blocked_on(&mut scene, "water --all");
    assert_eq!(approve(&mut scene.world, next), applied());
    scene.world.herdr.restart();
    scene.world.herdr.pane(PANE).unwrap().state_change_seq = next;
    assert_eq!(approve(&mut scene.world, next), applied());
    assert_eq!(typed(&mut scene.world), ["\r", "\r"]);
    scene.world.finish();
}

#[test]
fn an_approval_that_is_lost_is_not_pressed_again_and_one_that_was_refused_may_be() {
    let mut scene = Scene::with_entries(1);
    let seq = blocked_on(&mut scene, "water --all");
    let lose = |scene: &mut Scene, mode: Mode| {
        scene.world.herdr.socket_latency = Duration::from_millis(10);
        let client = scene.world.post("/approve", &json!({"agent": PANE, "seq": seq}));
        scene.world.advance(Duration::from_millis(35));
        scene.world.herdr.desk.socket = mode;
        scene.world.advance(Duration::from_secs(5));
        scene.world.herdr.desk.socket = Mode::Normal;
        answer(&scene.world, client)
    };
    let busy = Mode::Failing(Failing { code: "server_unavailable".into(), message: "moving house".into() });
    let text = "herdr pane send-keys w1:p1 Enter: moving house";
    assert_eq!(lose(&mut scene, busy), Some(refused(502, text)));
    let text = "herdr pane send-keys w1:p1 Enter: timed out after 4s; whether it was typed is not known: \
                look at the pane before you try again";
    assert_eq!(lose(&mut scene, Mode::Silent), Some(refused(502, text)));
    assert_eq!(typed(&mut scene.world), ["\r"]);
    assert_eq!(approve(&mut scene.world, seq), not_applied(&format!("already approved: seq {seq}")));
    assert_eq!(typed(&mut scene.world), NOTHING);
    scene.world.finish();
}

#[test]
fn a_screen_that_cannot_be_read_confirms_nothing() {
    let mut scene = Scene::with_entries(1);
    let seq = blocked_on(&mut scene, "water --all");
    scene.world.herdr.set_mode(Mode::Wedged);
    let text = "herdr agent get w1:p1: timed out after 4s";
    assert_eq!(approve(&mut scene.world, seq), refused(502, text));
    assert_eq!(typed(&mut scene.world), NOTHING);
    scene.world.finish();
}

#[test]
fn an_agent_whose_questions_nobody_reads_is_confirmed_by_its_counter() {
    let mut scene = Scene::with_entries(1);
    let seq = blocked_on(&mut scene, "water --all");
    scene.world.herdr.pane(PANE).unwrap().agent = Some("gemini".into());
    let named = post(&mut scene.world, "/approve", &json!({"agent": PANE, "seq": seq, "question": "0123456789abcdef"}));
    assert_eq!(named, not_applied("the agent does not ask this question any more: look at its card again"));
    assert_eq!(approve(&mut scene.world, seq), applied());
    assert_eq!(typed(&mut scene.world), ["\r"]);
    scene.world.finish();
}

#[test]
fn the_next_mode_is_waited_for() {
    let mut scene = Scene::with_entries(1);
    scene.world.herdr.desk.screens.insert(PANE.into(), prompt("⏵⏵ auto mode on"));
    reacts(&mut scene, "\u{1b}[Z", &prompt("⏸ plan mode on"), None);
    let client = scene.world.post("/agent-mode/cycle", &json!({"pane": PANE}));
    scene.world.advance(ANSWER_REST - Duration::from_millis(1));
    assert_eq!(answer(&scene.world, client), None);
    scene.world.advance(Duration::from_millis(1));
    let body = "{\"ok\":true,\"cycled\":true,\"permission_mode\":\"plan\"}\n";
    assert_eq!(answer(&scene.world, client), Some((200, body.into())));
    assert_eq!(typed(&mut scene.world), ["\u{1b}[Z"]);
    scene.world.finish();
}

#[test]
fn a_mode_that_stays_is_said_after_six_looks() {
    let mut scene = Scene::with_entries(1);
    scene.world.herdr.desk.screens.insert(PANE.into(), prompt("⏵⏵ auto mode on"));
    let client = scene.world.post("/agent-mode/cycle", &json!({"pane": PANE}));
    scene.world.advance(ANSWER_REST * MODE_LOOKS - Duration::from_millis(1));
    assert_eq!(answer(&scene.world, client), None);
    scene.world.advance(Duration::from_millis(1));
    let body = "{\"ok\":true,\"cycled\":false,\"permission_mode\":\"auto\"}\n";
    assert_eq!(answer(&scene.world, client), Some((200, body.into())));
    scene.world.herdr.desk.screens.insert(PANE.into(), prompt("my own status line"));
    let unknown = post(&mut scene.world, "/agent-mode/cycle", &json!({"pane": PANE}));
    assert_eq!(unknown, (200, "{\"ok\":true,\"cycled\":false}\n".into()));
    assert_eq!(typed(&mut scene.world), ["\u{1b}[Z", "\u{1b}[Z"]);
    scene.world.finish();
}

#[test]
fn only_claude_code_has_modes_and_only_while_it_asks_nothing() {
    let mut scene = Scene::with_entries(1);
    let cycle = |scene: &mut Scene, pane: &str| post(&mut scene.world, "/agent-mode/cycle", &json!({"pane": pane}));
    scene.world.herdr.pane(PANE).unwrap().agent = Some("codex".into());
    let text = "mode switching not supported for this agent kind: codex";
    assert_eq!(cycle(&mut scene, PANE), refused(409, text));
    assert_eq!(cycle(&mut scene, "w9:p9"), refused(404, "no such agent"));
    scene.world.herdr.pane(PANE).unwrap().agent = Some("claude".into());
    blocked_on(&mut scene, "water --all");
    let text = "the agent waits on a question: answer it before you change its mode";
    assert_eq!(cycle(&mut scene, PANE), refused(409, text));
    let text = "nothing can be typed into this pane: only panes of herdr have a terminal";
    assert_eq!(cycle(&mut scene, "claude:latest"), refused(501, text));
    assert_eq!(typed(&mut scene.world), NOTHING);
    scene.world.finish();
}

#[test]
fn whoever_follows_events_is_told_what_was_done() {
    let mut scene = Scene::with_entries(1);
    let seq = blocked_on(&mut scene, "water --all");
    let follower = scene.world.connect(&format!("/events?token={TOKEN}"));
    scene.world.run();
    scene.world.fresh(follower);
    let told = |scene: &mut Scene| -> Vec<(String, Value)> {
        let fresh = scene.world.fresh(follower);
        let ours = fresh.into_iter().filter(|frame| frame.json["source"] == "gothalo");
        ours.map(|frame| (frame.kind().to_owned(), frame.json["payload"].clone())).collect()
    };
    let approved = |applied: bool| json!({"agent": PANE, "seq": if applied { seq } else { 1 }});
    post(&mut scene.world, "/approve", &approved(false));
    post(&mut scene.world, "/approve", &approved(true));
    let reason = format!("stale seq: approve carried 1, agent now at {seq}");
    assert_eq!(
        told(&mut scene),
        [
            ("approve_applied".into(), json!({"pane": PANE, "seq": 1, "applied": false, "reason": reason})),
            ("approve_applied".into(), json!({"pane": PANE, "seq": seq, "applied": true})),
        ]
    );
    scene.world.herdr.desk.set_status(PANE, "idle");
    scene.world.herdr.desk.screens.insert(PANE.into(), prompt("⏵⏵ auto mode on"));
    reacts(&mut scene, "\u{1b}[Z", &prompt("⏸ plan mode on"), None);
    post(&mut scene.world, "/agent-mode/cycle", &json!({"pane": PANE}));
    assert_eq!(told(&mut scene), [("mode_cycled".into(), json!({"pane": PANE, "permission_mode": "plan"}))]);
    scene.world.finish();
}

#[test]
fn an_approval_that_never_arrives_leaves_the_call_open_until_its_result_is_written() {
    let mut scene = Scene::with_entries(1);
    let call = scene.agent.tool_use("Bash", &json!({"command": "water --all"}));
    scene.append(&call);
    let client = scene.watch();
    let seq = blocked_on(&mut scene, "water --all");
    // The key is pressed, and the agent does not hear it.
    assert_eq!(approve(&mut scene.world, seq), applied());
    let before = snapshot_row(&mut scene.world);
    for _ in 0..10 {
        scene.world.advance(Duration::from_secs(30));
    }
    assert_eq!(scene.world.fresh(client), [], "nothing is made of an approval but by the agent itself");
    assert_eq!(snapshot_row(&mut scene.world), before, "still blocked, since as long ago");
    assert_eq!((&before["agent_status"], &before["attention_rank"]), (&json!("blocked"), &json!(0)));
    let card = scene.world.get(&format!("/agent-state?pane={PANE}"));
    let card: Value = serde_json::from_str(&answer(&scene.world, card).unwrap_or_default().1).unwrap_or_default();
    assert_eq!(
        (&card["headline"], card["blocked"]["options"].as_array().map(Vec::len)),
        (&json!("Do you want to proceed?"), Some(2))
    );
    assert_eq!(approve(&mut scene.world, seq), not_applied(&format!("already approved: seq {seq}")));
    let result = scene.agent.tool_result("wet", false, &Value::Null);
    scene.append(&result);
    let frames = scene.polled(client);
    let kinds: Vec<&Value> = frames.iter().map(|frame| &frame.json["entry"]["kind"]).collect();
    assert_eq!(kinds, [&json!("tool_result")]);
    scene.world.finish();
}

/// What the list says of the agent.
fn snapshot_row(world: &mut World) -> Value {
    let client = world.get("/snapshot");
    world.advance(Duration::from_secs(1));
    let body = answer(world, client).map(|(_, body)| body).unwrap_or_default();
    serde_json::from_str::<Value>(&body).unwrap_or_default()["result"]["snapshot"]["agents"][0].take()
}
