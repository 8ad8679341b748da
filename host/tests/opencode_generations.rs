//! The three generations of opencode's store, one beside the other: which of them is shown, and that nothing comes twice.
#![cfg(feature = "opencode-sqlite")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod feeding;

use std::collections::VecDeque;

use feeding::Feeding;
use feeding::home::{Home, NOON, by_id, text};
use feeding::service::{Service, assistant, serving, session_info, user};
use panewire_core::agent::AgentKind;
use panewire_core::agent::locate::{LocateError, Located};
use panewire_core::ids::SessionId;
use panewire_core::roster::{Told, Wanted};
use panewire_core::source::spool::Stored;
use panewire_host::{Cancel, Clock, Limit, Performer};
use serde_json::{Value, json};

fn stored(located: &Located) -> Stored {
    let Located { path, under, session, exists, recorded_cwd: directory, .. } = located.clone();
    Stored { kind: AgentKind::Opencode, session, path, under, exists, directory }
}

/// A human's message in the tables.
fn say(home: &Home, at: i64, words: &str) {
    let id = format!("msg_{at:03}");
    home.message(at, &id, &json!({"role": "user", "time": {"created": NOON + at}}));
    home.part(at, &id, &format!("prt_{at:03}"), &json!({"type": "text", "text": words}));
}

/// The same in the JSON tree.
fn say_in_tree(home: &Home, at: i64, words: &str) {
    let (id, part) = (format!("msg_{at:03}"), format!("prt_{at:03}"));
    let info = json!({"id": id, "sessionID": "ses_1", "role": "user", "time": {"created": NOON + at}});
    home.put_file(&format!("message/ses_1/{id}"), &info);
    home.put_file(&format!("part/{id}/{part}"), &json!({"id": part, "type": "text", "text": words}));
}

#[test]
fn a_session_that_is_awaited_and_comes_to_be_in_another_directory_is_none_of_the_pane() {
    for (directory, expected) in [("/else", vec![]), ("/w", vec!["user: hello"])] {
        let home = Home::with_database();
        let awaited = home.locate(Some("/w"), &by_id("ses_1")).unwrap();
        assert!(!awaited.exists);
        let mut feeding = Feeding::of(stored(&awaited), &home.config());
        assert_eq!(feeding.texts(), [""; 0]);
        home.session("ses_1", None, directory, 1);
        say(&home, 0, "hello");
        // Where it is has not been asked again: nothing is shown of it, whatever is written there.
        assert_eq!(feeding.texts(), [""; 0]);
        let located = home.locate(Some("/w"), &by_id("ses_1"));
        if let Ok(located) = &located {
            feeding.feed.relocate(&stored(located));
        }
        assert_eq!(located.is_ok(), directory == "/w");
        assert_eq!(feeding.texts(), expected, "{directory}");
        // Its spool is no way around that, in a time in which no store tells where it was recorded.
        let mut home = home;
        home.lose_database();
        let shown = home.locate_spooled(Some("/w"), "ses_1");
        assert_eq!(shown.map(|located| located.is_spooled()), Ok(directory == "/w"), "{directory}");
        assert_eq!(home.locate_spooled(Some("/third"), "ses_1").is_err(), directory == "/w");
    }
}

#[test]
fn the_database_of_another_build_is_found_by_its_sessions() {
    let mut home = Home::with_database();
    home.session("ses_0", None, "/w", 1);
    home.switch_to("opencode-nightly.db");
    home.session("ses_1", None, "/w", 2);
    say(&home, 0, "in the nightly");
    let located = home.locate(Some("/w"), &by_id("ses_1")).unwrap();
    assert_eq!(located.path, home.text("data/opencode-nightly.db"));
    let mut feeding = home.feed(&located);
    assert_eq!(feeding.texts(), ["user: in the nightly"]);
    say(&home, 1, "and more");
    assert_eq!(feeding.texts(), ["user: in the nightly", "user: and more"]);
    // Of two databases that hold it, one is asked, and always the same one.
    home.switch_to("opencode-dev.db");
    home.session("ses_1", None, "/w", 3);
    say(&home, 0, "in the nightly");
    say(&home, 1, "and more");
    say(&home, 2, "by the developer");
    let located = home.locate(Some("/w"), &by_id("ses_1")).unwrap();
    assert_eq!(located.path, home.text("data/opencode-dev.db"));
    feeding.feed.relocate(&stored(&located));
    assert_eq!(feeding.texts(), ["user: in the nightly", "user: and more", "user: by the developer"]);
    // Names that only look like one are nobody's.
    std::fs::copy(home.path("data/opencode-dev.db"), home.path("data/opencoded.db")).unwrap();
    std::fs::remove_file(home.path("data/opencode-dev.db")).unwrap();
    let located = home.locate(Some("/w"), &by_id("ses_1")).unwrap();
    assert_eq!(located.path, home.text("data/opencode-nightly.db"));
}

#[test]
fn of_two_generations_the_newest_is_shown_and_nothing_comes_twice_on_the_way_through_all() {
    let mut home = Home::with_database();
    home.put_file("session/p/ses_1", &json!({"id": "ses_1", "directory": "/w"}));
    say_in_tree(&home, 0, "one");
    home.session("ses_1", None, "/w", 1);
    say(&home, 0, "one");
    say(&home, 1, "two");
    let mut messages = vec![user(0, "one"), user(1, "two"), user(2, "three")];
    let service = Service::start(&home, serving(messages.clone()));
    let located = home.locate(Some("/w"), &by_id("ses_1")).unwrap();
    assert_eq!(located.path, home.text("state/service.json"));
    let mut feeding = home.feed(&located);
    let mut expected = vec!["user: one", "user: two", "user: three"];
    assert_eq!(feeding.texts(), expected);
    // The service ends in the middle of a message, and its database goes on with it.
    messages.push(assistant(3, false, json!([{"type": "text", "text": "I look"}, {"type": "text", "text": "and"}])));
    service.answer(serving(messages.clone()));
    expected.push("assistant: I look");
    assert_eq!(feeding.texts(), expected);
    std::fs::remove_file(home.path("state/service.json")).unwrap();
    say(&home, 2, "three");
    home.message(3, "msg_003", &json!({"role": "assistant", "time": {"completed": NOON + 9}}));
    home.part(3, "msg_003", "prt_a", &text("I look", true));
    home.part(4, "msg_003", "prt_b", &text("and see", true));
    expected.push("assistant: and see");
    assert_eq!(feeding.texts(), expected);
    // An older generation, whatever is written to it, is not read as long as a newer one holds the session.
    say_in_tree(&home, 5, "into the past");
    assert_eq!(feeding.texts(), expected);
    // It is when that is gone; and the service, when it is there again, goes on behind it.
    home.lose_database();
    expected.push("user: into the past");
    assert_eq!(feeding.texts(), expected);
    messages.pop();
    messages.push(assistant(3, true, json!([{"type": "text", "text": "I look"}, {"type": "text", "text": "and see"}])));
    messages.extend([user(5, "into the past"), user(6, "and back")]);
    service.answer(serving(messages));
    service.announce(&home, std::process::id());
    expected.push("user: and back");
    for _ in 0..2 {
        assert_eq!(feeding.texts(), expected);
    }
    assert!(feeding.troubles.is_empty(), "{:?}", feeding.troubles);
}

/// The rows of a session's children, as a roster shows them: id, what for, whether it has ended, and its parent.
fn children(home: &Home, located: &Located) -> Vec<(String, String, u64, Option<String>)> {
    let config = home.config();
    let source = stored(located).source(&config.state_dir);
    let mut finder = AgentKind::Opencode.finder(&source, &config);
    let (told, performer, clock) = (Told::default(), Performer::new(), Clock::start());
    finder.look(Wanted::default());
    let mut waiting = VecDeque::new();
    loop {
        finder.go_on(&told);
        waiting.extend(std::iter::from_fn(|| finder.poll_op()));
        let Some((tag, op)) = waiting.pop_front() else { break };
        let answer = performer.perform(&op, &Limit::begin(Cancel::default()));
        finder.handle_outcome(clock.now(), tag, answer.outcome());
    }
    assert_eq!(finder.take_trouble(), None);
    let rows = finder.rows(&told).into_iter();
    rows.map(|row| (row.agent_id, row.agent_type, row.spawn_depth, row.parent_agent_id)).collect()
}

#[test]
fn children_are_rows_in_every_generation() {
    let expected = [
        ("ses_child".to_owned(), "explore".to_owned(), 1, None),
        ("ses_below".to_owned(), String::new(), 2, Some("ses_child".to_owned())),
    ];
    let info = |id: &str, parent: Option<&str>, title: &str| {
        let mut info = session_info(id, "/w");
        (info["title"], info["directory"]) = (json!(title), json!("/w"));
        if let Some(parent) = parent {
            info["parentID"] = json!(parent);
        }
        info
    };
    let family = [
        info("ses_1", None, "the first"),
        info("ses_child", Some("ses_1"), "look around (@explore subagent)"),
        info("ses_below", Some("ses_child"), "deeper"),
        info("ses_2", None, "another"),
        info("ses_other", Some("ses_2"), "another's"),
    ];

    let home = Home::new();
    let listed = family.to_vec();
    let _service = Service::start(&home, move |path: &str| match path.split('?').next().unwrap() {
        "/api/session" => (200, json!({"data": listed})),
        "/api/session/ses_1" => (200, json!({"data": listed[0]})),
        _ => (404, Value::Null),
    });
    let located = home.locate(Some("/w"), &by_id("ses_1")).unwrap();
    assert_eq!(children(&home, &located), expected, "service");

    let home = Home::with_database();
    for session in &family {
        let get = |key: &str| session[key].as_str();
        let sql = "INSERT INTO session VALUES (?1, 'p', ?2, '/w', ?3, ?4, ?4)";
        home.put(sql, (get("id"), get("parentID"), get("title"), NOON));
    }
    let located = home.locate(Some("/w"), &by_id("ses_1")).unwrap();
    assert_eq!(children(&home, &located), expected, "database");

    let home = Home::new();
    for session in &family {
        home.put_file(&format!("session/p/{}", session["id"].as_str().unwrap()), session);
    }
    let located = home.locate(Some("/w"), &by_id("ses_1")).unwrap();
    assert!(located.path.ends_with("/ses_1.json"));
    assert_eq!(children(&home, &located), expected, "tree");
    // A child has a transcript of its own, and is no session of the pane's directory.
    assert_eq!(home.locate(None, &by_id("ses_child")).unwrap().session, SessionId::from("ses_child"));
    assert_eq!(home.locate(Some("/else"), &by_id("ses_child")), Err(LocateError::NoFile));
}
