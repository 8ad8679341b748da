//! `POST /send`: what is typed into a pane, key by key, and what is not.

use core::time::Duration;

use panewire_conformance::herdr::{Failing, Mode, Pane, Reaction, Typed};
use panewire_conformance::sim::scene::{CWD, PANE};
use panewire_conformance::sim::screen::{chips, permission, prompt};
use panewire_conformance::sim::{Scene, World, config};
use panewire_core::config::{Config, HerdrMode};
use panewire_core::ids::ExId;
use panewire_core::limits::{ANSWER_LOOKS, ANSWER_REST, MAX_PANE_ERRANDS};
use serde_json::{Value, json};

/// A question of Claude Code's own, of which several answers may be ticked.
fn herbs(ticked: &str) -> String {
    let tick = |herb: &str| if ticked.contains(herb) { '✔' } else { ' ' };
    format!(
        "──────────────────────────────\n ☐ Herbs\n\nWhich herbs shall be sown?\n\n❯ 1. [{}] Dill\n  2. [{}] Mint\n  3. Submit\n\n\
         Enter to select · ↑/↓ to navigate · Esc to cancel\n",
        tick("Dill"),
        tick("Mint")
    )
}

const LABELS: [&str; 3] = ["Allow once", "Allow always", "Reject"];

fn shows(scene: &mut Scene, kind: &str, status: &str, screen: &str) {
    if let Some(pane) = scene.world.herdr.pane(PANE) {
        pane.agent = Some(kind.into());
        pane.agent_status = status.into();
    }
    scene.world.herdr.desk.screens.insert(PANE.into(), screen.into());
}

fn reacts(scene: &mut Scene, to: &str, screen: &str, status: &str) {
    scene.world.herdr.desk.reactions.push(Reaction {
        pane_id: PANE.into(),
        to: to.into(),
        screen: Some(screen.into()),
        status: Some(status.into()),
    });
}

/// Status and body of the answer, if there is one.
fn answer(world: &World, client: ExId) -> Option<(u16, String)> {
    world.client(client).answer().map(|answer| (answer.status, answer.body))
}

/// Status and body of the answer, however long it takes.
fn post(world: &mut World, body: &Value) -> (u16, String) {
    let client = world.post("/send", body);
    world.advance(Duration::from_secs(5));
    answer(world, client).unwrap_or_default()
}

fn send(scene: &mut Scene, text: &str) -> (u16, String) {
    post(&mut scene.world, &json!({"pane": PANE, "text": text}))
}

fn fingerprint(world: &mut World) -> Value {
    let client = world.get(&format!("/agent-state?pane={PANE}"));
    world.run();
    let body = answer(world, client).map(|(_, body)| body).unwrap_or_default();
    serde_json::from_str::<Value>(&body).unwrap_or_default()["blocked"]["fingerprint"].clone()
}

/// Everything that was typed since this was asked for last, each write by itself.
fn typed(scene: &mut Scene) -> Vec<String> {
    core::mem::take(&mut scene.world.herdr.desk.typed).into_iter().map(|Typed { bytes, .. }| bytes).collect()
}

fn ok() -> (u16, String) {
    (200, "{\"ok\":true}\n".into())
}

fn refused(status: u16, text: &str) -> (u16, String) {
    (status, format!("{text}\n"))
}

#[test]
fn a_line_end_is_the_enter_key_in_a_write_of_its_own() {
    for (text, writes) in [
        ("wet the roses", &["wet the roses"][..]),
        ("wet the roses\n", &["wet the roses", "\r"]),
        ("wet\nthe roses\r\n\n", &["wet\nthe roses", "\r"]),
        ("\r", &["\r"]),
        ("日本 👍\r", &["日本 👍", "\r"]),
    ] {
        let mut scene = Scene::with_entries(1);
        shows(&mut scene, "claude", "idle", &prompt("? for shortcuts"));
        assert_eq!(send(&mut scene, text), ok(), "{text:?}");
        assert_eq!(typed(&mut scene), writes, "{text:?}");
        scene.world.finish();
    }
}

#[test]
fn a_key_wins_over_a_text_and_bears_herdrs_name() {
    let mut scene = Scene::with_entries(1);
    for (key, bytes) in [("esc", "\u{1b}"), ("Down", "\u{1b}[B"), ("y", "y")] {
        assert_eq!(post(&mut scene.world, &json!({"pane": PANE, "key": key, "text": "3\n"})), ok(), "{key}");
        assert_eq!(typed(&mut scene), [bytes]);
    }
    let bad = post(&mut scene.world, &json!({"pane": PANE, "key": "AnyKey"}));
    assert_eq!(bad, refused(502, "herdr pane send-keys w1:p1 AnyKey: unsupported key AnyKey"));
    assert_eq!(typed(&mut scene), [] as [&str; 0]);
    scene.world.finish();
}

#[test]
fn a_digit_that_answers_by_itself_is_followed_by_nothing() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "blocked", &permission("water --all", 1));
    reacts(&mut scene, "3", &prompt("? for shortcuts"), "idle");
    assert_eq!(send(&mut scene, "3\n"), ok());
    assert_eq!(typed(&mut scene), ["3"]);
    scene.world.finish();
}

#[test]
fn a_question_that_comes_behind_the_digit_is_not_answered() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "blocked", &permission("water --all", 1));
    reacts(&mut scene, "1", &permission("dig --deep", 1), "blocked");
    assert_eq!(send(&mut scene, "1\n"), ok());
    assert_eq!(typed(&mut scene), ["1"]);
    scene.world.finish();
}

#[test]
fn a_digit_that_only_marks_is_followed_by_enter() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "blocked", &permission("water --all", 1));
    reacts(&mut scene, "2", &permission("water --all", 2), "blocked");
    assert_eq!(send(&mut scene, "2\n"), ok());
    assert_eq!(typed(&mut scene), ["2", "\r"]);
    // The option that is marked already: it is waited for longer, because nothing shows that the digit was read.
    let begun = scene.world.elapsed();
    let client = scene.world.post("/send", &json!({"pane": PANE, "text": "Yes, and always allow it in this garden\n"}));
    while answer(&scene.world, client).is_none() {
        scene.world.advance(Duration::from_millis(1));
    }
    assert_eq!(typed(&mut scene), ["2", "\r"]);
    assert_eq!(u128::from(scene.world.elapsed() - begun), (ANSWER_REST * ANSWER_LOOKS).as_millis());
    scene.world.finish();
}

#[test]
fn a_digit_that_is_not_taken_is_not_made_an_answer_to_something_else() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "blocked", &permission("water --all", 1));
    let text = "the digit was typed and the agent did not take it: Enter was not pressed";
    assert_eq!(send(&mut scene, "3\n"), refused(409, text));
    assert_eq!(typed(&mut scene), ["3"]);
    scene.world.finish();
}

#[test]
fn a_digit_that_ticks_is_followed_by_nothing() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "blocked", &herbs("Dill"));
    reacts(&mut scene, "2", &herbs("Dill Mint"), "blocked");
    assert_eq!(send(&mut scene, "2\n"), ok());
    assert_eq!(typed(&mut scene), ["2"]);
    scene.world.finish();
}

#[test]
fn chips_are_gone_to_and_confirmed() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "opencode", "blocked", &chips(&LABELS, "Allow once"));
    reacts(&mut scene, "\u{1b}[C\u{1b}[C", &chips(&LABELS, "Reject"), "blocked");
    assert_eq!(send(&mut scene, "Reject\n"), ok());
    assert_eq!(typed(&mut scene), ["\u{1b}[C\u{1b}[C", "\r"]);
    // By number, and back.
    reacts(&mut scene, "\u{1b}[D", &chips(&LABELS, "Allow always"), "blocked");
    assert_eq!(send(&mut scene, "2\n"), ok());
    assert_eq!(typed(&mut scene), ["\u{1b}[D", "\r"]);
    // The one that is marked.
    assert_eq!(send(&mut scene, "allow always\n"), ok());
    assert_eq!(typed(&mut scene), ["\r"]);
    // A mark that does not move.
    assert_eq!(send(&mut scene, "3\n"), refused(409, "the option could not be marked: Enter was not pressed"));
    assert_eq!(typed(&mut scene), ["\u{1b}[C"]);
    scene.world.finish();
}

#[test]
fn a_question_that_changes_under_the_arrows_is_not_confirmed() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "opencode", "blocked", &chips(&LABELS, "Allow once"));
    reacts(&mut scene, "\u{1b}[C", &chips(&LABELS, "Allow always").replace("water", "dig"), "blocked");
    let text = "the agent asks another question by now: Enter was not pressed";
    assert_eq!(send(&mut scene, "Allow always\n"), refused(409, text));
    assert_eq!(typed(&mut scene), ["\u{1b}[C"]);
    scene.world.finish();
}

#[test]
fn without_a_visible_mark_no_chip_is_picked() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "opencode", "blocked", &chips(&LABELS, "none"));
    let text = "which option is marked cannot be seen, so none can be picked: nothing was typed";
    assert_eq!(send(&mut scene, "Reject\n"), refused(409, text));
    assert_eq!(typed(&mut scene), [] as [&str; 0]);
    scene.world.finish();
}

#[test]
fn codex_takes_its_letters_and_pi_its_arrows() {
    let codex = "• Looking\n\n  Would you like to run the following command?\n\n  $ water --all\n\n› 1. Yes, proceed (y)\n  \
        2. Yes, and don't ask again (p)\n  3. No, and tell Codex what to do differently (esc)\n\n  \
        Press enter to confirm or esc to cancel\n";
    let mut scene = Scene::with_entries(1);
    for (text, bytes) in [("2\n", "p"), ("y\n", "y"), ("3\r", "\u{1b}")] {
        shows(&mut scene, "codex", "blocked", codex);
        assert_eq!(send(&mut scene, text), ok(), "{text}");
        assert_eq!(typed(&mut scene), [bytes], "{text}");
    }
    let pi = |marked: u32| {
        let mark = |number: u32| if number == marked { "→" } else { " " };
        format!(
            "────────────────────────\n Trust this garden?\n\n {} Trust\n {} Trust for today\n {} Do not trust\n\n \
             ↑↓ navigate  enter select  esc cancel\n────────────────────────\n",
            mark(1),
            mark(2),
            mark(3)
        )
    };
    shows(&mut scene, "pi", "blocked", &pi(1));
    reacts(&mut scene, "\u{1b}[B\u{1b}[B", &pi(3), "blocked");
    assert_eq!(send(&mut scene, "Do not trust\n"), ok());
    assert_eq!(typed(&mut scene), ["\u{1b}[B\u{1b}[B", "\r"]);
    scene.world.finish();
}

#[test]
fn words_do_not_answer_a_permission() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "blocked", &permission("water --all", 1));
    let (status, text) = send(&mut scene, "mind the cat\n");
    assert_eq!(status, 409);
    assert!(text.starts_with("the agent waits on a question and this is none of its options: "), "{text}");
    assert_eq!(send(&mut scene, "7\n").0, 409);
    assert_eq!(typed(&mut scene), [] as [&str; 0]);
    // Whoever names the question means it, and a text without Enter answers nothing.
    let question = fingerprint(&mut scene.world);
    assert_eq!(post(&mut scene.world, &json!({"pane": PANE, "text": "mind it\n", "question": question})), ok());
    assert_eq!(typed(&mut scene), ["mind it", "\r"]);
    assert_eq!(send(&mut scene, "mind"), ok());
    // A question of the agent's own may be talked about.
    shows(&mut scene, "claude", "blocked", &herbs(""));
    assert_eq!(send(&mut scene, "all of them\n"), ok());
    assert_eq!(typed(&mut scene), ["mind", "all of them", "\r"]);
    scene.world.finish();
}

#[test]
fn enter_behind_a_text_never_answers_a_question_that_came_up_meanwhile() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "working", &prompt("? for shortcuts"));
    reacts(&mut scene, "and the lawn", &permission("water --all", 1), "working");
    let text = "a question came up: the text was typed and Enter was not pressed";
    assert_eq!(send(&mut scene, "and the lawn\n"), refused(409, text));
    assert_eq!(typed(&mut scene), ["and the lawn"]);
    scene.world.finish();
}

#[test]
fn the_answer_to_another_question_is_refused() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "blocked", &permission("water --all", 1));
    let question = fingerprint(&mut scene.world);
    shows(&mut scene, "claude", "blocked", &permission("dig --deep", 1));
    let another = refused(409, "the agent asks another question by now: look at its card again");
    for body in [
        json!({"pane": PANE, "text": "1\n", "question": question}),
        json!({"pane": PANE, "text": "1", "question": question}),
        json!({"pane": PANE, "text": "\n", "question": question}),
        json!({"pane": PANE, "key": "esc", "question": question}),
    ] {
        assert_eq!(post(&mut scene.world, &body), another, "{body}");
    }
    shows(&mut scene, "claude", "working", &prompt("? for shortcuts"));
    let none = refused(409, "the agent does not ask this question any more: look at its card again");
    assert_eq!(post(&mut scene.world, &json!({"pane": PANE, "key": "esc", "question": question})), none);
    assert_eq!(typed(&mut scene), [] as [&str; 0]);
    shows(&mut scene, "claude", "blocked", &permission("water --all", 1));
    assert_eq!(post(&mut scene.world, &json!({"pane": PANE, "key": "esc", "question": question})), ok());
    assert_eq!(typed(&mut scene), ["\u{1b}"]);
    scene.world.finish();
}

#[test]
fn a_shell_is_typed_into_and_asked_nothing() {
    let mut scene = Scene::with_entries(1);
    scene.world.herdr.open(Pane { agent: None, ..Pane::claude("w1:p6", CWD) });
    assert_eq!(post(&mut scene.world, &json!({"pane": "w1:p6", "text": "ls\n"})), ok());
    let expected = [Typed::new("w1:p6", "ls"), Typed::new("w1:p6", "\r")];
    assert_eq!(core::mem::take(&mut scene.world.herdr.desk.typed), expected);
    let question = json!({"pane": "w1:p6", "text": "ls\n", "question": "0123456789abcdef"});
    assert_eq!(post(&mut scene.world, &question), refused(404, "no such agent"));
    for body in [json!({"pane": "w9:p9", "text": "ls\n"}), json!({"pane": "w9:p9", "key": "esc"})] {
        assert_eq!(post(&mut scene.world, &body), refused(404, "no such pane"));
    }
    assert_eq!(typed(&mut scene), [] as [&str; 0]);
    scene.world.finish();
}

#[test]
fn where_there_is_no_terminal_nothing_can_be_typed() {
    let mut off = config();
    off.herdr.mode = HerdrMode::Off;
    let mut scene = Scene::without_file(off);
    let text = "nothing can be typed: this daemon was started with --herdr none";
    assert_eq!(send(&mut scene, "go\n"), refused(501, text));
    let mut scene = Scene::with_entries(1);
    for pane in ["demo", "claude:latest", "codex:dir:/srv/x"] {
        let text = "nothing can be typed into this pane: only panes of herdr have a terminal";
        assert_eq!(post(&mut scene.world, &json!({"pane": pane, "text": "go"})), refused(501, text));
    }
    scene.world.herdr.desk.socket = Mode::NoServer;
    scene.world.herdr.installed = false;
    let text = "nothing can be typed: there is no herdr here; start it, or name its socket with --herdr-socket";
    assert_eq!(send(&mut scene, "go\n"), refused(501, text));
    scene.world.finish();
}

#[test]
fn the_command_line_types_where_the_socket_took_nothing() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "opencode", "blocked", &chips(&LABELS, "Allow once"));
    reacts(&mut scene, "\u{1b}[C", &chips(&LABELS, "Allow always"), "blocked");
    scene.world.herdr.desk.socket = Mode::NoServer;
    assert_eq!(send(&mut scene, "2\n"), ok());
    assert_eq!(typed(&mut scene), ["\u{1b}[C", "\r"]);
    assert_eq!(post(&mut scene.world, &json!({"pane": "w9:p9", "key": "y"})), refused(404, "no such pane"));
    let bad = post(&mut scene.world, &json!({"pane": PANE, "key": "AnyKey"}));
    let words = r#"{"error":{"code":"invalid_key","message":"unsupported key AnyKey"},"id":"cli:request"}"#;
    assert_eq!(bad, refused(502, &format!("herdr pane send-keys w1:p1 AnyKey: {words}")));
    scene.world.finish();
}

#[test]
fn what_may_have_been_typed_is_not_typed_again() {
    for (mode, why) in [(Mode::Silent, "timed out after 4s"), (Mode::Broken(String::new()), "closed without an answer")]
    {
        let mut scene = Scene::with_entries(1);
        scene.world.herdr.desk.socket = mode;
        scene.world.herdr.take_questions();
        let text = "whether it was typed is not known: look at the pane before you try again";
        let answer = post(&mut scene.world, &json!({"pane": PANE, "text": "dig"}));
        assert_eq!(answer, refused(502, &format!("herdr pane send-text w1:p1 …: {why}; {text}")));
        assert_eq!(scene.world.herdr.take_questions(), ["socket pane.send_text w1:p1"]);
        assert!(scene.world.log().iter().any(|(_, line)| line.contains(why) && !line.contains("dig")));
        scene.world.finish();
    }
}

#[test]
fn an_enter_that_is_lost_is_said_to_be() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "idle", &prompt("? for shortcuts"));
    scene.world.herdr.socket_latency = Duration::from_millis(100);
    let client = scene.world.post("/send", &json!({"pane": PANE, "text": "dig\n"}));
    // The look, the text, the rest and the second look take 580 ms.
    scene.world.advance(Duration::from_millis(550));
    scene.world.herdr.desk.socket = Mode::Silent;
    scene.world.advance(Duration::from_secs(5));
    let text = "herdr pane send-keys w1:p1 Enter: timed out after 4s; whether it was typed is not known: \
                look at the pane before you try again";
    assert_eq!(answer(&scene.world, client), Some(refused(502, text)));
    assert_eq!(typed(&mut scene), ["dig", "\r"]);
    scene.world.finish();
}

#[test]
fn what_was_typed_before_something_failed_is_said() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "idle", &prompt("? for shortcuts"));
    let client = scene.world.post("/send", &json!({"pane": PANE, "text": "dig\n"}));
    scene.world.herdr.set_mode(Mode::Failing(Failing { code: "busy".into(), message: "moving house".into() }));
    scene.world.advance(Duration::from_secs(1));
    let text = "herdr agent read w1:p1 --source detection --format text: moving house; what came before it was typed: \
                look at the pane before you try again";
    assert_eq!(answer(&scene.world, client), Some(refused(502, text)));
    assert_eq!(typed(&mut scene), ["dig"]);
    scene.world.finish();
}

#[test]
fn a_wedged_or_slow_herdr_is_502_within_its_budget() {
    for latency in [Duration::from_secs(9), Duration::from_millis(900)] {
        let mut scene = Scene::with_entries(1);
        shows(&mut scene, "claude", "idle", &prompt("? for shortcuts"));
        scene.world.herdr.socket_latency = latency;
        scene.world.herdr.cli_latency = latency;
        let client = scene.world.post("/send", &json!({"pane": PANE, "text": "dig\n"}));
        scene.world.advance(Duration::from_millis(3_999));
        assert_eq!(answer(&scene.world, client), None);
        scene.world.advance(Duration::from_millis(1));
        assert_eq!(answer(&scene.world, client).map(|answer| answer.0), Some(502), "{latency:?}");
        scene.world.finish();
    }
}

#[test]
fn two_who_type_into_one_pane_do_so_one_after_the_other() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "idle", &prompt("? for shortcuts"));
    scene.world.herdr.open(Pane::claude("w1:p2", CWD));
    scene.world.herdr.socket_latency = Duration::from_millis(50);
    let texts = ["a\n", "b\n"].map(|text| scene.world.post("/send", &json!({"pane": PANE, "text": text})));
    let other = scene.world.post("/send", &json!({"pane": "w1:p2", "text": "c"}));
    scene.world.advance(Duration::from_millis(50));
    assert_eq!(answer(&scene.world, other), Some(ok()), "another pane waits for nobody");
    scene.world.advance(Duration::from_secs(2));
    assert_eq!(texts.map(|client| answer(&scene.world, client)), [Some(ok()), Some(ok())]);
    assert_eq!(typed(&mut scene), ["c", "a", "\r", "b", "\r"]);
    scene.world.finish();
}

#[test]
fn too_many_who_wait_are_turned_away_and_those_who_leave_are_forgotten() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "idle", &prompt("? for shortcuts"));
    scene.world.herdr.socket_latency = Duration::from_millis(10);
    let post = |scene: &mut Scene, text: &str| scene.world.post("/send", &json!({"pane": PANE, "text": text}));
    let clients: Vec<ExId> = (0..MAX_PANE_ERRANDS).map(|no| post(&mut scene, &format!("{no}\n"))).collect();
    let late = post(&mut scene, "late");
    let text = "too many requests wait to type into this pane: try again later";
    assert_eq!(answer(&scene.world, late), Some(refused(503, text)));
    // One that has begun goes on to its end, one that waits is not begun.
    scene.world.leave(clients[0]);
    scene.world.leave(clients[1]);
    scene.world.advance(Duration::from_secs(5));
    assert_eq!(typed(&mut scene).join(" "), "0 \r 2 \r 3 \r 4 \r 5 \r 6 \r 7 \r");
    scene.world.finish();
}

#[test]
fn a_daemon_that_stops_says_what_it_does_not_know() {
    let mut scene = Scene::with_entries(1);
    shows(&mut scene, "claude", "idle", &prompt("? for shortcuts"));
    let typing = scene.world.post("/send", &json!({"pane": PANE, "text": "a\n"}));
    let waiting = scene.world.post("/send", &json!({"pane": PANE, "text": "b\n"}));
    scene.world.shut_down();
    let text = "shutting down; whether everything was typed is not known: look at the pane before you try again";
    assert_eq!(answer(&scene.world, typing), Some(refused(503, text)));
    assert_eq!(answer(&scene.world, waiting), Some(refused(503, "shutting down")));
    assert_eq!(typed(&mut scene), ["a"]);
    scene.world.finish();
}

#[test]
fn a_named_session_is_typed_into_by_its_own_server() {
    let mut scene = Scene::without_file(Config { ..config() });
    let mut garden = scene.world.herdr.desk.clone();
    garden.panes = vec![Pane::claude("w1:p4", CWD)];
    scene.world.herdr.desk.sessions.insert("garden".into(), garden);
    assert_eq!(post(&mut scene.world, &json!({"pane": "garden/w1:p4", "text": "dig\n"})), ok());
    let typed = &scene.world.herdr.desk.sessions["garden"].typed;
    assert_eq!(*typed, [Typed::new("w1:p4", "dig"), Typed::new("w1:p4", "\r")]);
    scene.world.finish();
}
