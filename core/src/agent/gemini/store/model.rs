//! Whatever an agent does to its file, and whenever it is looked at: each entry comes once, with its final text.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use proptest::prelude::*;

use super::tests::{FILE, Fed, feed};
use crate::entry::Body;
use crate::pane::simulated::at;

/// What the agent does, or what happens to whoever looks.
#[derive(Debug, Clone)]
enum Step {
    Ask,
    Reply,
    /// The last reply goes on.
    Write,
    Call,
    /// The oldest call of the last reply is answered.
    Answer,
    /// So many messages are taken back.
    Back(usize),
    /// The list is another one: so many of its last messages.
    Replace(usize),
    /// The file is seen half written.
    Torn(prop::sample::Index),
    Restart,
    Wait,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Ask),
        3 => Just(Step::Reply),
        4 => Just(Step::Write),
        3 => Just(Step::Call),
        3 => Just(Step::Answer),
        1 => (1..4_usize).prop_map(Step::Back),
        1 => (1..4_usize).prop_map(Step::Replace),
        2 => any::<prop::sample::Index>().prop_map(Step::Torn),
        1 => Just(Step::Restart),
        2 => Just(Step::Wait),
    ]
}

#[derive(Debug, Clone, Default)]
struct Message {
    id: String,
    second: u64,
    is_reply: bool,
    text: String,
    /// Its calls, and whether each was answered.
    calls: Vec<bool>,
}

impl Message {
    fn json(&self) -> String {
        let Self { id, second, is_reply, text, calls } = self;
        let kind = if *is_reply { "gemini" } else { "user" };
        let call = |(at, answered): (usize, &bool)| {
            let (status, result) = if *answered {
                ("success", r#"[{"functionResponse":{"response":{"output":"a"}}}]"#)
            } else {
                ("executing", "[]")
            };
            format!(r#"{{"id":"{id}-{at}","name":"glob","args":{{}},"status":"{status}","result":{result}}}"#)
        };
        let calls = calls.iter().enumerate().map(call).collect::<Vec<_>>().join(",");
        format!(
            r#"{{"id":"{id}","timestamp":"2026-06-08T11:{:02}:{:02}Z","type":"{kind}","content":"{text}","toolCalls":[{calls}]}}"#,
            second / 60 % 60,
            second % 60,
        )
    }

    /// The ids of its entries, with the text of the first.
    fn entries(&self) -> BTreeMap<String, Option<String>> {
        let Self { id, text, calls, .. } = self;
        let mut entries = BTreeMap::from([(format!("{id}#text"), Some(text.clone()))]);
        for (at, answered) in calls.iter().enumerate().filter(|_| self.is_reply) {
            entries.insert(format!("{id}#call-{id}-{at}"), None);
            if *answered {
                entries.insert(format!("{id}#result-{id}-{at}"), None);
            }
        }
        entries
    }
}

/// The file, in either form.
#[derive(Debug, Default)]
struct Session {
    is_log: bool,
    lines: String,
    messages: Vec<Message>,
    made: u64,
}

impl Session {
    fn text(&self) -> String {
        if self.is_log {
            return self.lines.clone();
        }
        let messages: Vec<String> = self.messages.iter().map(Message::json).collect();
        format!("{{\n \"sessionId\": \"s\",\n \"messages\": [{}]\n}}", messages.join(",\n"))
    }

    fn log(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    fn add(&mut self, is_reply: bool) {
        self.made += 1;
        let id = format!("m{}", self.made);
        let message = Message { text: format!("text {id}"), id, second: self.made, is_reply, calls: Vec::new() };
        self.log(&message.json());
        self.messages.push(message);
    }

    /// Changes the last message, if it is a reply.
    fn change(&mut self, change: impl FnOnce(&mut Message)) {
        if let Some(last) = self.messages.last_mut().filter(|last| last.is_reply) {
            change(last);
            let line = last.json();
            self.log(&line);
        }
    }

    fn back(&mut self, count: usize) {
        let keep = self.messages.len().saturating_sub(count);
        if let Some(first) = self.messages.get(keep) {
            let line = format!(r#"{{"$rewindTo":"{}"}}"#, first.id);
            self.log(&line);
            self.messages.truncate(keep);
        }
    }

    fn replace(&mut self, count: usize) {
        let from = self.messages.len().saturating_sub(count);
        self.messages.drain(..from);
        let messages: Vec<String> = self.messages.iter().map(Message::json).collect();
        let line = format!(r#"{{"$set":{{"messages":[{}]}}}}"#, messages.join(","));
        self.log(&line);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 2, ..ProptestConfig::default() })]

    #[test]
    fn each_entry_comes_once_with_its_final_text(is_log in any::<bool>(), steps in prop::collection::vec(step(), 1..40)) {
        let mut session = Session { is_log, ..Session::default() };
        session.log(r#"{"sessionId":"s","projectHash":"h"}"#);
        let (mut fed, mut now) = (Fed::new(), 10_000);
        // Whether the last reply may go on, and its text: what is written after a pause is not waited for.
        let (mut goes_on, mut is_written) = (false, false);
        // What was ever in the conversation, as it was last.
        let mut ever: BTreeMap<String, Message> = BTreeMap::new();
        for step in steps {
            now += 200;
            match step {
                Step::Ask => session.add(false),
                Step::Reply => session.add(true),
                Step::Write if is_written => session.change(|last| last.text.push_str(" more")),
                Step::Call if goes_on => session.change(|last| last.calls.push(false)),
                Step::Answer if goes_on => session.change(|last| {
                    if let Some(open) = last.calls.iter_mut().find(|answered| !**answered) {
                        *open = true;
                    }
                }),
                Step::Back(count) => session.back(count),
                Step::Replace(count) => session.replace(count),
                Step::Torn(cut) => {
                    let text = session.text();
                    fed.world.put(FILE, &text[..cut.index(text.len())], at(now).wall.0);
                    fed.look(now);
                    now += 200;
                }
                Step::Restart => fed.feed = feed(),
                Step::Wait => now += 5_000,
                Step::Write | Step::Call | Step::Answer => {}
            }
            match step {
                Step::Reply => (goes_on, is_written) = (true, true),
                Step::Ask | Step::Back(_) | Step::Replace(_) => (goes_on, is_written) = (false, false),
                Step::Wait => is_written = false,
                _ => {}
            }
            ever.extend(session.messages.iter().map(|message| (message.id.clone(), message.clone())));
            fed.put(&session.text(), now);
        }
        let shown = fed.look(now + 5_000);
        fed.feed = feed();
        prop_assert_eq!(fed.look(now + 6_000), shown, "a daemon that is started again repeats nothing");

        let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
        for entry in fed.entries() {
            let text = match &entry.body {
                Body::Message(text) => Some(text.text.to_string()),
                _ => None,
            };
            if !entry.id.starts_with("rewind-") {
                prop_assert!(entry.parsed, "{:?}", entry);
                prop_assert_eq!(found.insert(entry.id.clone(), text), None, "{} came twice", entry.id);
            }
        }
        let expected: BTreeMap<String, Option<String>> = session.messages.iter().flat_map(Message::entries).collect();
        for (id, text) in expected {
            prop_assert_eq!(found.get(&id), Some(&text), "{}", id);
        }
        // Nothing is shown that nobody has said.
        for id in found.keys() {
            let message = id.split('#').next().and_then(|message| ever.get(message));
            prop_assert!(message.is_some(), "{}", id);
        }
    }
}
