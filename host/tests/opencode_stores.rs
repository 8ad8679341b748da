//! The database and the service of opencode, really asked: a SQLite file that the test makes, and a small HTTP server on
//! loopback that answers as the service does.
#![cfg(feature = "opencode-sqlite")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod feeding;

use std::path::Path;

use feeding::home::{Home, NOON, by_id, text};
use feeding::said;
use feeding::service::{Service, assistant, bash, serving, user};
use panewire_core::agent::AgentKind;
use panewire_core::agent::locate::{LocateError, Wanted};
use panewire_core::agent::sessions::Sessions;
use panewire_core::ids::SessionId;
use panewire_host::Clock;
use serde_json::{Value, json};

#[test]
fn the_database_is_followed_by_what_has_settled() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    home.message(0, "msg_z", &json!({"role": "user", "time": {"created": NOON}}));
    home.part(0, "msg_z", "prt_1", &json!({"type": "text", "text": "look around"}));
    home.message(1, "msg_a", &json!({"role": "assistant", "time": {"created": NOON + 1}}));
    let now = Clock::start().now().wall.0;
    home.part(now - NOON, "msg_a", "prt_2", &text("I am loo", false));
    let mut feeding = home.feed(&home.locate(Some("/w"), &by_id("ses_1")).unwrap());
    assert_eq!(feeding.texts(), ["user: look around"]);
    home.part(now - NOON + 5, "msg_a", "prt_2", &text("I am looking", true));
    let edit = json!({"type": "tool", "tool": "edit", "callID": "call_1", "state": {"status": "completed",
        "input": {"filePath": "/w/a.rs", "oldString": "a", "newString": "b"}, "output": "done",
        "metadata": {"diff": "Index: /w/a.rs\n===\n--- /w/a.rs\n+++ /w/a.rs\n@@ -1,1 +1,1 @@\n-a\n+b\n"}}});
    home.part(now - NOON + 6, "msg_a", "prt_3", &edit);
    let expected = [
        "user: look around",
        "assistant: I am looking",
        "assistant: edit /w/a.rs",
        "user: true done\n@@ -1,1 +1,1 @@\n-a\n+b",
    ];
    assert_eq!(feeding.texts(), expected);
    // The message ends: nothing more is said, and a look costs one question.
    home.message(1, "msg_a", &json!({"role": "assistant", "time": {"created": NOON + 1, "completed": NOON + 9}}));
    assert_eq!(feeding.texts(), expected);
    assert_eq!(feeding.texts(), expected);
    assert_eq!(
        feeding.asked,
        ["Open", "Stat", "Stat", "Query"],
        "the service's file, the database's, and one question"
    );
    // After a restart too.
    let mut again = home.feed(&home.locate(Some("/w"), &by_id("ses_1")).unwrap());
    assert_eq!(again.texts(), expected);
    assert!(again.troubles.is_empty() && feeding.troubles.is_empty(), "{:?}", again.troubles);
}

#[test]
fn a_session_of_many_messages_comes_whole_and_in_order() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    // Ids run down while time runs up.
    for n in 0..50_i64 {
        let (id, at) = (format!("msg_{:03}", 900 - n), n / 2);
        home.message(at, &id, &json!({"role": "user", "time": {"created": NOON + at}}));
        home.part(at, &id, &format!("prt_{n}"), &json!({"type": "text", "text": format!("{at} {id}")}));
    }
    let mut feeding = home.feed(&home.locate(None, &by_id("ses_1")).unwrap());
    let mut expected: Vec<(i64, String)> = (0..50_i64).map(|n| (n / 2, format!("msg_{:03}", 900 - n))).collect();
    expected.sort();
    let expected: Vec<String> = expected.into_iter().map(|(at, id)| format!("user: {at} {id}")).collect();
    assert_eq!(feeding.texts(), expected);
}

#[test]
fn a_message_that_is_stored_late_is_shown_late_and_once() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    let say = |at: i64, id: &str| {
        home.message(at, id, &json!({"role": "user", "time": {"created": NOON + at}}));
        home.part(at, id, &format!("prt_{id}"), &json!({"type": "text", "text": id}));
    };
    say(100, "one");
    say(200, "two");
    let located = home.locate(None, &by_id("ses_1")).unwrap();
    let mut feeding = home.feed(&located);
    assert_eq!(feeding.texts(), ["user: one", "user: two"]);
    // A clock was set back.
    say(50, "three");
    assert_eq!(feeding.texts(), ["user: one", "user: two", "user: three"]);
    assert!(feeding.troubles.is_empty(), "{:?}", feeding.troubles);
    drop(feeding);
    say(150, "four");
    let mut again = home.feed(&located);
    assert_eq!(again.texts(), ["user: one", "user: two", "user: three", "user: four"]);
    assert_eq!(again.texts(), ["user: one", "user: two", "user: three", "user: four"]);
    assert!(again.troubles.is_empty(), "{:?}", again.troubles);
}

#[test]
fn a_message_goes_on_when_the_clock_is_set_back_in_its_middle() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    // An hour later than the clock says from now on.
    let now = Clock::start().now().wall.0 - NOON;
    let later = now + 3_600_000;
    home.message(later, "msg_1", &json!({"role": "assistant", "time": {"created": NOON + later}}));
    home.part(later + 1, "msg_1", "prt_1", &text("before", true));
    let mut feeding = home.feed(&home.locate(Some("/w"), &by_id("ses_1")).unwrap());
    assert_eq!(feeding.texts(), ["assistant: before"]);
    home.part(now, "msg_1", "prt_2", &text("aft", false));
    assert_eq!(feeding.texts(), ["assistant: before"]);
    home.part(now + 1, "msg_1", "prt_2", &text("after", true));
    home.message(later, "msg_1", &json!({"role": "assistant", "time": {"created": NOON + later, "completed": 1}}));
    assert_eq!(feeding.texts(), ["assistant: before", "assistant: after"]);
}

#[test]
fn a_text_that_is_none_is_marked() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    home.message(0, "msg_1", &json!({"role": "user", "time": {"created": NOON}}));
    home.part(0, "msg_1", "prt_1", &json!({"type": "text", "text": 5}));
    home.part(1, "msg_1", "prt_2", &json!({"type": "text", "text": "well"}));
    let mut feeding = home.feed(&home.locate(None, &by_id("ses_1")).unwrap());
    let expected = ["system: unknown block type \"text\": {\"text\":5,\"type\":\"text\"}", "user: well"];
    assert_eq!(feeding.texts(), expected);
}

#[test]
fn a_directory_is_found_by_a_link_that_leads_to_it() {
    let home = Home::with_database();
    let (real, link) = (home.path("project"), home.path("link"));
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    home.session("ses_1", None, real.to_str().unwrap(), 1);
    home.session("ses_2", None, home.path("data").to_str().unwrap(), 2);
    for wanted in [Wanted::Newest, by_id("ses_1")] {
        let found = home.locate(link.to_str(), &wanted).map(|located| located.session);
        assert_eq!(found, Ok(SessionId::from("ses_1")), "{wanted:?}");
    }
    assert_eq!(home.locate(link.to_str(), &by_id("ses_2")), Err(LocateError::NoFile));
}

#[test]
fn where_only_the_newer_table_holds_a_session_that_is_read() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    home.document(0, "msg_1", "user", &json!({"text": "hello"}));
    home.document(1, "msg_2", "agent-switched", &json!({"agent": "plan"}));
    let said = json!({"content": [{"type": "text", "text": "hi"}], "time": {"completed": NOON + 3}});
    home.document(2, "msg_3", "assistant", &said);
    let mut feeding = home.feed(&home.locate(None, &by_id("ses_1")).unwrap());
    assert_eq!(feeding.texts(), ["user: hello", "assistant: hi"]);
}

#[test]
fn sessions_are_found_in_every_generation_and_never_one_for_another() {
    let mut home = Home::with_database();
    home.session("ses_old", None, "/w", 1);
    home.session("ses_new", None, "/w", 2);
    home.session("ses_child", Some("ses_new"), "/w", 3);
    home.session("ses_else", None, "/else", 4);
    let tree = home.path("data/storage/session/p");
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(tree.join("ses_tree.json"), json!({"id": "ses_tree", "directory": "/t"}).to_string()).unwrap();
    let found = |cwd: Option<&str>, wanted: &Wanted| {
        home.locate(cwd, wanted).map(|located| located.session.as_str().to_owned())
    };
    assert_eq!(found(Some("/w"), &Wanted::Newest).as_deref(), Ok("ses_new"));
    assert_eq!(found(Some("/t/"), &Wanted::Newest).as_deref(), Ok("ses_tree"));
    assert_eq!(found(Some("/nowhere"), &Wanted::Newest), Err(LocateError::NoFile));
    for id in ["ses_old", "ses_new", "ses_child", "ses_tree"] {
        assert_eq!(found(None, &by_id(id)).as_deref(), Ok(id));
    }
    assert_eq!(found(None, &by_id("ses_unknown")), Err(LocateError::NoFile));
    assert_eq!(found(Some("/w"), &by_id("ses_else")), Err(LocateError::NoFile));
    let mut sessions = Sessions::new(&home.roots(), &[AgentKind::Opencode], 10);
    let newest = panewire_host::blocking::settle(&mut sessions, Sessions::take_result).unwrap();
    let ids: Vec<&str> = newest.files.iter().map(|file| file.session.as_str()).collect();
    // The tree's file was made just now.
    assert_eq!(ids, ["ses_tree", "ses_else", "ses_new", "ses_old"]);
    home.lose_database();
    assert_eq!(home.locate(None, &by_id("ses_new")), Err(LocateError::NoFile));
}

#[test]
fn the_service_is_followed_by_what_has_settled() {
    let home = Home::new();
    let mut messages = vec![user(0, "hello"), assistant(1, false, json!([{"type": "text", "text": "I a"}]))];
    let service = Service::start(&home, serving(messages.clone()));
    let located = home.locate(Some("/w"), &by_id("ses_1")).unwrap();
    assert_eq!(located.recorded_cwd.as_deref(), Some("/w"));
    let mut feeding = home.feed(&located);
    assert_eq!(feeding.texts(), ["user: hello"]);
    messages[1] = assistant(1, false, json!([{"type": "text", "text": "I am"}, bash("running")]));
    service.answer(serving(messages.clone()));
    assert_eq!(feeding.texts(), ["user: hello", "assistant: I am", "assistant: bash ls"]);
    messages[1] = assistant(
        1,
        true,
        json!([{"type": "text", "text": "I am"}, bash("completed"), {"type": "text", "text": "done"}]),
    );
    service.answer(serving(messages.clone()));
    let expected = ["user: hello", "assistant: I am", "assistant: bash ls", "user: true a.txt", "assistant: done"];
    assert_eq!(feeding.texts(), expected);
    service.take_asked();
    assert_eq!(feeding.texts(), expected);
    assert_eq!(service.take_asked(), ["/api/session/ses_1/message?limit=20&order=desc"], "one page is enough");
    assert!(feeding.troubles.is_empty(), "{:?}", feeding.troubles);
}

#[test]
fn a_long_session_is_read_page_by_page_and_then_by_its_newest_page_alone() {
    let home = Home::new();
    let messages: Vec<Value> = (0..450).map(|at| user(at, &format!("no {at}"))).collect();
    let service = Service::start(&home, serving(messages));
    let mut feeding = home.feed(&home.locate(None, &by_id("ses_1")).unwrap());
    let expected: Vec<String> = (0..450).map(|at| format!("user: no {at}")).collect();
    assert_eq!(feeding.texts(), expected);
    let pages = [
        "/api/session/ses_1",
        "/api/session/ses_1/message?limit=200&order=asc",
        "/api/session/ses_1/message?limit=200&cursor=c%2B200",
        "/api/session/ses_1/message?limit=200&cursor=c%2B400",
    ];
    assert_eq!(service.take_asked(), pages);
    feeding.look();
    assert_eq!(service.take_asked(), ["/api/session/ses_1/message?limit=20&order=desc"]);
}

#[test]
fn every_type_of_message_has_its_entry() {
    let home = Home::new();
    let error = json!({"name": "ProviderError", "data": {"message": "no credit"}});
    let mut failed = assistant(6, true, json!([]));
    failed["error"] = error;
    let messages = vec![
        json!({"id": "msg_000", "type": "user", "text": "see this", "time": {"created": NOON},
            "files": [{"mime": "image/png", "uri": "data:xyz"}, {"mime": "text/plain", "name": "a.txt"}]}),
        json!({"id": "msg_001", "type": "synthetic", "text": "file contents", "time": {"created": NOON + 1}}),
        json!({"id": "msg_002", "type": "system", "text": "a rule", "time": {"created": NOON + 2}}),
        json!({"id": "msg_003", "type": "shell", "callID": "c", "command": "pwd", "output": "/w\n",
            "time": {"created": NOON + 3, "completed": NOON + 4}}),
        json!({"id": "msg_004", "type": "compaction", "reason": "auto", "summary": "all was well", "time": {"created": NOON + 4}}),
        json!({"id": "msg_005", "type": "model-switched", "time": {"created": NOON + 5}}),
        failed,
        assistant(
            7,
            true,
            json!([{"type": "reasoning", "text": "hm"}, {"type": "step-start"}, {"type": "riddle", "text": "what am I?"},
            {"type": "tool", "id": "call_2", "name": "read", "state": {"status": "error", "input": {"filePath": "/w/b"}, "error": {"message": "no such file"}}}]),
        ),
        json!({"id": "msg_008", "type": "prophecy", "text": "it will rain", "time": {"created": NOON + 8}}),
    ];
    let _service = Service::start(&home, serving(messages));
    let mut feeding = home.feed(&home.locate(None, &by_id("ses_1")).unwrap());
    let entries = feeding.look();
    let texts: Vec<String> = entries.iter().map(said).collect();
    let expected = [
        "user: see this",
        "user: [image]",
        "user: [a.txt]",
        "system: file contents",
        "system: a rule",
        "user: !pwd",
        "system: /w",
        "system: Conversation compacted\n\nall was well",
        "system: no credit",
        "assistant: (hm)",
        "system: unknown block type \"riddle\": what am I?",
        "assistant: read /w/b",
        "user: false no such file",
        "system: unknown block type \"prophecy\": it will rain",
    ];
    assert_eq!(texts, expected);
    let unplaced: Vec<bool> = entries.iter().map(|entry| entry.parsed).collect();
    assert_eq!(unplaced.iter().filter(|parsed| !**parsed).count(), 2);
    let drift: Vec<String> = feeding.feed.take_drift().rows().map(|row| row.name.to_owned()).collect();
    assert_eq!(drift, ["prophecy", "riddle"]);
}

#[test]
fn a_service_whose_process_is_gone_gets_no_password() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    home.message(0, "msg_1", &json!({"role": "user", "time": {"created": NOON}}));
    home.part(0, "msg_1", "prt_1", &json!({"type": "text", "text": "from the database"}));
    let service = Service::start(&home, serving(vec![user(0, "from the service")]));
    if Path::new("/proc/self").exists() {
        service.announce(&home, 0x7fff_fff0);
        let located = home.locate(Some("/w"), &by_id("ses_1")).unwrap();
        assert!(located.path.ends_with("/opencode.db"), "{}", located.path);
        assert_eq!(home.feed(&located).texts(), ["user: from the database"]);
        assert_eq!(service.take_asked(), [""; 0]);
    }
    // A wrong password is a trouble, and the database is asked all the same.
    service.announce(&home, std::process::id());
    let said = std::fs::read_to_string(home.path("state/service.json")).unwrap().replace("pass:word", "other");
    std::fs::write(home.path("state/service.json"), said).unwrap();
    let mut feeding = home.feed(&home.locate(Some("/w"), &by_id("ses_1")).unwrap());
    assert_eq!(feeding.texts(), ["user: from the database"]);
    assert!(feeding.troubles.iter().any(|text| text.contains("answers 401")), "{:?}", feeding.troubles);
}

#[test]
fn a_service_that_has_no_messages_of_a_session_leaves_it_to_the_database() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    home.message(0, "msg_000", &json!({"role": "user", "time": {"created": NOON}}));
    home.part(0, "msg_000", "prt_1", &json!({"type": "text", "text": "of old"}));
    let service = Service::start(&home, serving(Vec::new()));
    let located = home.locate(Some("/w"), &by_id("ses_1")).unwrap();
    assert!(located.path.ends_with("service.json"), "{}", located.path);
    let mut feeding = home.feed(&located);
    assert_eq!(feeding.texts(), ["user: of old"]);
    assert_eq!(feeding.texts(), ["user: of old"]);
    // It is gone on with there: the service has it all.
    service.answer(serving([user(0, "of old"), user(1, "of today")].into()));
    assert_eq!(feeding.texts(), ["user: of old", "user: of today"]);
    assert_eq!(feeding.troubles, Vec::<String>::new());
}

#[test]
fn when_the_service_ends_the_database_goes_on_where_it_was() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    let service = Service::start(
        &home,
        serving(vec![user(0, "one"), assistant(1, true, json!([{"type": "text", "text": "two"}]))]),
    );
    let mut feeding = home.feed(&home.locate(Some("/w"), &by_id("ses_1")).unwrap());
    assert_eq!(feeding.texts(), ["user: one", "assistant: two"]);
    std::fs::remove_file(home.path("state/service.json")).unwrap();
    drop(service);
    // The same messages, with the same ids and times, in parts; and one more.
    home.message(0, "msg_000", &json!({"role": "user"}));
    home.part(0, "msg_000", "prt_0", &json!({"type": "text", "text": "one"}));
    home.message(1, "msg_001", &json!({"role": "assistant", "time": {"completed": NOON + 2}}));
    home.part(1, "msg_001", "prt_1", &text("two", true));
    home.message(5, "msg_005", &json!({"role": "user"}));
    home.part(5, "msg_005", "prt_5", &json!({"type": "text", "text": "three"}));
    assert_eq!(feeding.texts(), ["user: one", "assistant: two", "user: three"]);
}
