//! What a look at opencode's database costs, in each version of its tables.
#![cfg(feature = "opencode-sqlite")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod feeding;

use feeding::Feeding;
use feeding::home::{Home, INDEXES, NOON, by_id};
use panewire_core::io::Cell;
use rusqlite::{Connection, StatementStatus, ToSql, params_from_iter, types::Value};
use serde_json::json;

/// How SQLite goes about a question, and the steps that it takes for that.
fn cost(connection: &Connection, (sql, parameters): &(&'static str, Vec<Cell>)) -> (Vec<String>, i32) {
    let value = |cell: &Cell| match cell {
        Cell::Null => Value::Null,
        Cell::Integer(number) => Value::Integer(*number),
        Cell::Text(text) => Value::Text(text.clone()),
    };
    let values: Vec<Value> = parameters.iter().map(value).collect();
    let values = || params_from_iter(values.iter().map(|value| value as &dyn ToSql));
    let mut explained = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let plan = explained.query_map(values(), |row| row.get::<_, String>(3)).unwrap().map(Result::unwrap).collect();
    let mut statement = connection.prepare(sql).unwrap();
    let mut rows = statement.query(values()).unwrap();
    while rows.next().unwrap().is_some() {}
    drop(rows);
    (plan, statement.get_status(StatementStatus::VmStep))
}

/// A session among others of the same database, with so many messages each.
fn home(indexes: &str, documents: bool, messages: i64) -> Home {
    let home = Home::with_indexes(indexes);
    home.connection().execute_batch("BEGIN").unwrap();
    for session in ["ses_0", "ses_1", "ses_2"] {
        home.session(session, None, "/w", 1);
        for n in 0..messages {
            let id = format!("{session}_{n:05}");
            if documents {
                let sql = "INSERT INTO session_message (id, session_id, type, time_created, time_updated, data)
                    VALUES (?1, ?2, 'user', ?3, ?3, ?4)";
                home.put(sql, (&id, session, NOON + n, json!({"text": "again"}).to_string()));
            } else {
                let info = json!({"role": "user"}).to_string();
                home.put("INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)", (&id, session, NOON + n, info));
                let part = json!({"type": "text", "text": "again"}).to_string();
                home.put(
                    "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)",
                    (format!("{id}p"), &id, session, NOON, part),
                );
            }
        }
    }
    home.connection().execute_batch("COMMIT").unwrap();
    home
}

/// What the look at one message more costs.
fn cost_of_news(indexes: &str, documents: bool, messages: i64) -> Vec<(Vec<String>, i32)> {
    let home = home(indexes, documents, messages);
    let mut feeding = home.feed(&home.locate(None, &by_id("ses_1")).unwrap());
    assert_eq!(feeding.look().len(), usize::try_from(messages).unwrap());
    if documents {
        home.document(messages, "new", "user", &json!({"text": "the newest"}));
    } else {
        home.message(messages, "new", &json!({"role": "user"}));
        home.part(messages, "new", "new_p", &json!({"type": "text", "text": "the newest"}));
    }
    assert_eq!(feeding.texts().last().unwrap(), "user: the newest");
    assert!(feeding.troubles.is_empty(), "{:?}", feeding.troubles);
    let mut asked = feeding.queries.clone();
    // It has settled: the next look asks whether there is more.
    feeding.look();
    asked.extend(feeding.queries.clone());
    asked.iter().map(|query| cost(home.connection(), query)).collect()
}

#[test]
fn a_look_costs_what_is_new_whatever_the_length_of_the_session_and_the_version_of_the_tables() {
    let by_ids = |table: &str, index: &str| {
        vec![
            format!("SEARCH {table} USING INDEX {index} (id=?)"),
            "LIST SUBQUERY 1".to_owned(),
            "SCAN json_each VIRTUAL TABLE INDEX 1:".to_owned(),
            "USE TEMP B-TREE FOR ORDER BY".to_owned(),
        ]
    };
    for (version, indexes) in INDEXES {
        for documents in [false, true] {
            let (short, long) = (cost_of_news(indexes, documents, 20), cost_of_news(indexes, documents, 600));
            assert_eq!(short, long, "{version}");
            let plans: Vec<&[String]> = short.iter().map(|(plan, _)| plan.as_slice()).collect();
            let table = if documents { "session_message" } else { "message" };
            let news = vec![format!("SEARCH {table} USING INTEGER PRIMARY KEY (rowid>?)")];
            let messages = by_ids(table, &format!("sqlite_autoindex_{table}_1"));
            let mut expected = vec![news, messages];
            if !documents {
                expected.push(vec![
                    "SCAN wanted VIRTUAL TABLE INDEX 1:".to_owned(),
                    "SEARCH part USING INDEX parts (message_id=?)".to_owned(),
                ]);
            }
            assert_eq!(plans[..expected.len()], expected, "{version}");
            assert_eq!(plans[expected.len()..], expected[..1], "{version}");
        }
    }
}

/// What is shown of a session after something was done to the database of which the newest row was known.
fn after(act: impl FnOnce(&Home)) -> (Vec<String>, Feeding) {
    let home = home(INDEXES[0].1, false, 3);
    let mut feeding = home.feed(&home.locate(None, &by_id("ses_1")).unwrap());
    assert_eq!(feeding.look().len(), 3);
    act(&home);
    home.message(9, "new", &json!({"role": "user"}));
    home.part(9, "new", "new_p", &json!({"type": "text", "text": "the newest"}));
    (feeding.texts(), feeding)
}

#[test]
fn rows_that_are_renumbered_removed_or_made_again_bring_nothing_twice_and_lose_nothing() {
    let expected = ["user: again", "user: again", "user: again", "user: the newest"];
    type Act = fn(&Home);
    let acts: [(&str, Act); 4] = [
        ("nothing", |_| {}),
        ("the newest row, and one of another session", |home| {
            home.put("DELETE FROM message WHERE id IN ('ses_2_00002', 'ses_0_00000')", ());
        }),
        ("renumbered", |home| {
            home.put("DELETE FROM message WHERE session_id = 'ses_0'", ());
            home.connection().execute_batch("VACUUM").unwrap();
        }),
        ("made again", |home| home.put("INSERT OR REPLACE INTO message SELECT * FROM message", ())),
    ];
    for (what, act) in acts {
        let (texts, feeding) = after(act);
        assert_eq!(texts, expected, "{what}");
        assert!(feeding.troubles.is_empty(), "{what}: {:?}", feeding.troubles);
    }
}

#[test]
fn a_table_without_numbered_rows_is_looked_at_as_a_whole() {
    let home = Home::with_indexes(
        "DROP TABLE message;
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT)
            WITHOUT ROWID;",
    );
    home.session("ses_1", None, "/w", 1);
    let mut feeding = home.feed(&home.locate(None, &by_id("ses_1")).unwrap());
    let mut expected = Vec::new();
    for at in 0..3 {
        let id = format!("msg_{at}");
        home.message(at, &id, &json!({"role": "user"}));
        home.part(at, &id, &format!("prt_{at}"), &json!({"type": "text", "text": id}));
        expected.push(format!("user: {id}"));
        assert_eq!(feeding.texts(), expected);
    }
    assert!(feeding.troubles.is_empty(), "{:?}", feeding.troubles);
}

#[test]
fn a_message_that_fills_more_than_one_answer_comes_whole() {
    let home = Home::with_database();
    home.session("ses_1", None, "/w", 1);
    let long = "x".repeat(900 * 1024);
    // Ids run down while time runs up: the order of the parts is that of the messages.
    for (at, id) in [(0, "msg_c"), (1, "msg_b"), (2, "msg_a")] {
        home.message(at, id, &json!({"role": "assistant", "time": {"completed": NOON + 9}}));
        for n in 0..4 {
            let part = json!({"type": "text", "text": format!("{n} of {id} {long}"), "time": {"end": NOON + 9}});
            home.part(at, id, &format!("prt_{id}_{n}"), &part);
        }
    }
    let mut feeding = home.feed(&home.locate(None, &by_id("ses_1")).unwrap());
    let said = |text: String| text.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
    let texts: Vec<String> = feeding.texts().into_iter().map(said).collect();
    let expected: Vec<String> = ["msg_c", "msg_b", "msg_a"]
        .iter()
        .flat_map(|id| (0..4).map(move |n| format!("assistant: {n} of {id}")))
        .collect();
    assert_eq!(texts, expected);
    assert!(feeding.troubles.is_empty(), "{:?}", feeding.troubles);
}
