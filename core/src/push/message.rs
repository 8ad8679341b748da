//! What somebody is told: two lines for people, and members for programs, no more than is allowed.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde_json::{Map, Value, json};

use super::watcher::{Alert, Entered};
use crate::config::{PushDetail, Server};
use crate::limits::{PUSH_BODY_CHARS, PUSH_OPTIONS, PUSH_TITLE_CHARS};
use crate::mobile::card::Card;
use crate::screen::first_chars;

/// What is told of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it has come to.
    pub entered: Entered,
    /// `box · Tidy the shelf`
    pub title: String,
    /// `Needs you — Which bed comes first? · 1. North / 2. South`
    pub body: String,
    /// The same for programs, as the body of a webhook.
    pub data: Map<String, Value>,
}

impl Message {
    /// What may be told of an agent. Its card is of use only where everything may be told.
    #[must_use]
    pub fn of(alert: &Alert, server: &Server, detail: PushDetail, card: Option<&Card>) -> Self {
        let Alert { agent, entered } = alert;
        let mut data = Map::new();
        data.insert("type".into(), "alert".into());
        data.insert("agent".into(), agent.pane.as_str().into());
        data.insert("status".into(), entered.label().into());
        data.insert("state_change_seq".into(), agent.state_change_seq.into());
        data.insert("server_id".into(), server.id.as_str().into());
        let title = match detail {
            PushDetail::None => String::from("Panewire"),
            PushDetail::Title | PushDetail::Full => {
                let task = agent.title.as_deref().unwrap_or(&agent.kind_label);
                data.insert("server_name".into(), server.name.as_str().into());
                data.insert("agent_title".into(), task.into());
                format!("{} · {task}", server.name)
            }
        };
        let says = match entered {
            Entered::Blocked => "Needs you",
            Entered::Done => "Finished",
        };
        let card = card.filter(|_| detail == PushDetail::Full);
        let more = card.map(|card| match entered {
            Entered::Blocked => asked(card, &mut data),
            Entered::Done => card.headline().to_string(),
        });
        let body = match more.filter(|more| !more.is_empty()) {
            Some(more) => format!("{says} — {more}"),
            None => says.to_string(),
        };
        let (title, body) = (one_line(&title, PUSH_TITLE_CHARS), one_line(&body, PUSH_BODY_CHARS));
        data.insert("title".into(), title.as_str().into());
        data.insert("body".into(), body.as_str().into());
        Self { entered: *entered, title, body, data }
    }
}

/// The question and its first options; what the screen says otherwise.
fn asked(card: &Card, data: &mut Map<String, Value>) -> String {
    let Some((question, options)) = card.asks() else { return card.headline().to_string() };
    let options: Vec<(u32, &str, bool)> = options.take(PUSH_OPTIONS).collect();
    let rows: Vec<Value> = options
        .iter()
        .map(|(index, label, selected)| json!({"index": index, "label": label, "selected": selected}))
        .collect();
    data.insert("question".into(), question.into());
    data.insert("options".into(), rows.into());
    let shown: Vec<String> = options
        .iter()
        .map(|(index, label, _)| if *index > 0 { format!("{index}. {label}") } else { (*label).to_string() })
        .collect();
    [question, &shown.join(" / ")].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn one_line(text: &str, max: usize) -> String {
    let line: String = text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    first_chars(line.trim(), max)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Message;
    use crate::config::{PushDetail, Server};
    use crate::ids::PaneId;
    use crate::mobile::card::{Card, Known};
    use crate::pane::herdr::{HerdrSession, PaneAgent};
    use crate::push::{Alert, Entered};

    const SCREEN: &str = "──────────────────────────────\n ☐ Beds\n\nWhich bed comes first?\n\n❯ 1. North\n  2. South\n\n\
        Enter to select · ↑/↓ to navigate · Esc to cancel\n";

    fn message(entered: Entered, detail: PushDetail, screen: &str) -> Message {
        let value = json!({
            "pane_id": "w1:p2", "agent": "claude", "agent_status": entered.label(), "state_change_seq": 41,
            "terminal_title_stripped": "Dig the beds",
        });
        let agent = PaneAgent::from_snapshot(&value, &HerdrSession::DEFAULT).unwrap();
        let card = Card::of(&Known {
            pane: &PaneId::from("w1:p2"),
            kind: "claude",
            status: Some(entered.label()),
            title: Some("Dig the beds"),
            screen: Some(screen),
            recent: None,
        });
        let server = Server { id: "5e5e".into(), name: "shed".into(), url: "http://127.0.0.1:1".into() };
        Message::of(&Alert { agent, entered }, &server, detail, Some(&card))
    }

    #[test]
    fn a_question_is_told_with_its_options() {
        let told = message(Entered::Blocked, PushDetail::Full, SCREEN);
        assert_eq!(told.title, "shed · Dig the beds");
        assert_eq!(told.body, "Needs you — Which bed comes first? · 1. North / 2. South");
        let data = json!({
            "type": "alert", "agent": "w1:p2", "status": "blocked", "state_change_seq": 41, "server_id": "5e5e",
            "server_name": "shed", "agent_title": "Dig the beds", "title": told.title, "body": told.body,
            "question": "Which bed comes first?",
            "options": [
                {"index": 1, "label": "North", "selected": true}, {"index": 2, "label": "South", "selected": false},
            ],
        });
        assert_eq!(json!(told.data), data);
    }

    #[test]
    fn what_has_finished_is_told_by_its_headline() {
        let told = message(Entered::Done, PushDetail::Full, "⏺ Both beds are dug.\n\n❯ \n");
        assert_eq!(told.body, "Finished — Both beds are dug.");
        assert_eq!(message(Entered::Done, PushDetail::Full, &"⏺ dug ".repeat(200)).body.chars().count(), 131);
    }

    #[test]
    fn no_more_is_told_than_is_allowed() {
        let told = message(Entered::Blocked, PushDetail::Title, SCREEN);
        assert_eq!((told.title.as_str(), told.body.as_str()), ("shed · Dig the beds", "Needs you"));
        assert_eq!(told.data.get("question"), None);
        let told = message(Entered::Blocked, PushDetail::None, SCREEN);
        let data = json!({
            "type": "alert", "agent": "w1:p2", "status": "blocked", "state_change_seq": 41, "server_id": "5e5e",
            "title": "Panewire", "body": "Needs you",
        });
        assert_eq!(json!(told.data), data);
    }
}
