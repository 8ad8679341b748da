use alloc::string::{String, ToString as _};

use super::{Card, Known};
use crate::entry::{Body, Entry, Role, Text, ToolCall};
use crate::ids::PaneId;
use crate::mobile::recent::Recent;

fn card(kind: &str, status: &str, title: Option<&str>, screen: Option<&str>, recent: Option<&Recent>) -> Card {
    let pane = PaneId::from("w1:p1");
    Card::of(&Known { pane: &pane, kind, status: Some(status), title, screen, recent })
}

fn entry(body: Body) -> Entry {
    Entry { id: String::new(), parent_id: None, ts: None, role: Role::Assistant, body, parsed: true }
}

fn said(text: &str) -> Recent {
    let mut recent = Recent::default();
    recent.push(entry(Body::Message(Text { text: text.into(), truncated: false })));
    recent
}

const ASKING: &str = "\
⏺ Putting the kettle on
  ⎿  $ kettle --on

──────────────────────────────────────────────
 Bash command

   kettle --on

 Do you want to proceed?
 ❯ 1. Yes
   2. No

 Esc to cancel · Tab to amend";

#[test]
fn a_question_leads_and_its_fields_are_in_order() {
    let card = card("claude", "blocked", Some("Tea"), Some(ASKING), Some(&said("All is well.")));
    let json = serde_json::to_string(&card).unwrap();
    let fingerprint = card.blocked.unwrap().fingerprint;
    assert_eq!(
        json,
        [
            r#"{"pane_id":"w1:p1","agent_kind":"claude","agent_status":"blocked","headline":"Do you want to proceed?","#,
            r#""detail":"Bash command\nkettle --on","blocked":{"question":"Do you want to proceed?","options":["#,
            r#"{"index":1,"label":"Yes","selected":true},{"index":2,"label":"No","selected":false}],"#,
            r#""category":"permission","fingerprint":""#,
            fingerprint.as_str(),
            r#""},"transcript":["Putting the kettle on","$ kettle --on","Bash command","kettle --on","#,
            r#""Do you want to proceed?","❯ 1. Yes","2. No"],"parsed":true}"#,
        ]
        .concat()
    );
}

#[test]
fn nothing_is_blocked_that_herdr_does_not_call_so() {
    for status in ["idle", "done", "working", "unknown"] {
        let card = card("claude", status, Some("Tea"), Some(ASKING), None);
        assert_eq!((card.blocked, card.headline.as_str()), (None, "Do you want to proceed?"), "{status}");
    }
}

#[test]
fn blocked_on_what_the_screen_does_not_say_is_not_parsed() {
    let card = card("pi", "blocked", Some("Tea"), Some(" The pot is empty.\n"), Some(&said("Fine.")));
    assert_eq!((card.blocked, card.parsed), (None, false));
    assert_eq!((card.headline.as_str(), card.detail.as_str()), ("The pot is empty.", "The pot is empty."));
}

#[test]
fn a_transcript_that_is_followed_says_it_best() {
    let card = card("claude", "idle", Some("Tea"), Some("⏺ Old words"), Some(&said("## Done\n\nThe **pot** is full.")));
    assert_eq!((card.headline.as_str(), card.detail.as_str()), ("Done", "Done\n\nThe pot is full."));
    assert_eq!(card.transcript, ["Old words"]);
}

#[test]
fn a_working_agent_that_was_silent_for_long_shows_its_title_and_its_call() {
    let mut recent = said("Let us see.");
    for no in 0..8 {
        let call = ToolCall {
            id: no.to_string(),
            name: "Bash".into(),
            subtitle: Some("Fill the pot".into()),
            ..ToolCall::default()
        };
        recent.push(entry(Body::ToolCall(call)));
    }
    let working = card("claude", "working", Some("Tea for two"), None, Some(&recent));
    assert_eq!((working.headline.as_str(), working.detail.as_str()), ("Tea for two", "Bash: Fill the pot"));
    let idle = card("claude", "idle", Some("Tea for two"), None, Some(&recent));
    assert_eq!(idle.headline, "Let us see.");
    assert_eq!(idle.transcript.first().map(String::as_str), Some("Let us see."));
}

#[test]
fn without_a_transcript_the_screen_speaks() {
    let of = |status: &str, title: Option<&str>, screen: &str| {
        let card = card("claude", status, title, Some(screen), None);
        (card.headline, card.detail)
    };
    let pair = |headline: &str, detail: &str| (headline.to_string(), detail.to_string());
    assert_eq!(
        of("idle", Some("Tea"), "⏺ It is ready.\n  Mind the cup."),
        pair("It is ready.", "It is ready.\nMind the cup.")
    );
    assert_eq!(of("working", Some("Tea"), "⏺ Bash(kettle)\n  ⎿  hot"), pair("Tea", "Bash(kettle)"));
    assert_eq!(of("idle", Some("Tea"), "  and the last cup\n\n✻ Brewed for 4s"), pair("Tea", "and the last cup"));
    assert_eq!(of("idle", None, ""), pair("Agent idle", ""));
    assert_eq!(of("working", Some("\u{202e}Tea\u{7}"), ""), pair("Tea", "Tea"));
}

#[test]
fn another_kind_is_shown_raw() {
    let card = card("aider", "Working ", None, Some("Editing pot.py\n\nTokens: 12\n"), None);
    let json = serde_json::to_string(&card).unwrap();
    let expected = r#"{"pane_id":"w1:p1","agent_kind":"aider","agent_status":"working","headline":"Tokens: 12","detail":"Editing pot.py\nTokens: 12","transcript":["Editing pot.py","Tokens: 12"],"parsed":false}"#;
    assert_eq!(json, expected);
}

#[test]
fn an_unknown_word_is_an_unknown_status() {
    for word in ["paused", "", "BLOCKED!"] {
        assert_eq!(card("claude", word, None, None, None).agent_status, "unknown", "{word}");
    }
    assert_eq!(card("claude", " Idle", None, None, None).agent_status, "idle");
}

#[test]
fn a_headline_is_one_bounded_line() {
    let long = ["\n", &"tea ".repeat(50), "\nmore"].concat();
    let card = card("claude", "idle", None, None, Some(&said(&long)));
    assert_eq!((card.headline.chars().count(), card.headline.ends_with('…')), (120, true));
}
