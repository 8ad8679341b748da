//! What is typed into panes, and what the programs in them do then.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Desk, Failing, Mode};

/// Something that was typed into a pane in one write, as the program in it reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Typed {
    /// Where.
    pub pane_id: String,
    /// What.
    pub bytes: String,
}

/// What the program in a pane does when it reads something. It does so once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reaction {
    /// Where.
    pub pane_id: String,
    /// What it reads.
    pub to: String,
    /// What it shows then.
    pub screen: Option<String>,
    /// What herdr thinks of it then.
    pub status: Option<String>,
}

impl Typed {
    /// This, typed into that pane.
    #[must_use]
    pub fn new(pane_id: &str, bytes: &str) -> Self {
        Self { pane_id: pane_id.into(), bytes: bytes.into() }
    }

    /// What is typed by a question to the socket, if it is typed.
    #[must_use]
    pub fn by_line(desk: &Desk, line: &str) -> Option<Self> {
        let types = matches!(desk.socket, Mode::Normal | Mode::Silent);
        Order::of_line(line).filter(|_| types)?.typed(desk).ok()
    }

    /// What is typed by a command, if it is typed, and in which session.
    #[must_use]
    pub fn by_command<'a>(desk: &Desk, arguments: &[&'a str]) -> Option<(Option<&'a str>, Self)> {
        if let ["--session", session, rest @ ..] = arguments {
            let (_, typed) = Self::by_command(desk.sessions.get(*session)?, rest)?;
            return Some((Some(session), typed));
        }
        let types = matches!(desk.cli, Mode::Normal | Mode::Silent);
        Some((None, Order::of_command(arguments).filter(|_| types)?.typed(desk).ok()?))
    }
}

impl Desk {
    /// The server of a session; of none, this one.
    pub fn of_session(&mut self, session: Option<&str>) -> Option<&mut Self> {
        match session {
            Some(session) => self.sessions.get_mut(session),
            None => Some(self),
        }
    }

    /// The program in a pane reads what was typed, and does what it does then.
    pub fn take(&mut self, typed: Typed) {
        let reacts = |reaction: &Reaction| reaction.pane_id == typed.pane_id && reaction.to == typed.bytes;
        if let Some(at) = self.reactions.iter().position(reacts) {
            let Reaction { pane_id, screen, status, .. } = self.reactions.remove(at);
            if let Some(screen) = screen {
                self.screens.insert(pane_id.clone(), screen);
            }
            if let Some(status) = status {
                self.set_status(&pane_id, &status);
            }
        }
        self.typed.push(typed);
    }

    /// What was typed into a pane since this was asked for last, each write by itself.
    pub fn take_typed(&mut self, pane_id: &str) -> Vec<String> {
        let (of_pane, others) =
            core::mem::take(&mut self.typed).into_iter().partition(|typed| typed.pane_id == pane_id);
        self.typed = others;
        let of_pane: Vec<Typed> = of_pane;
        of_pane.into_iter().map(|typed| typed.bytes).collect()
    }

    /// herdr thinks something else of a pane. Its counter goes on.
    pub fn set_status(&mut self, pane_id: &str, status: &str) {
        let last = self.panes.iter().map(|pane| pane.state_change_seq).max().unwrap_or_default();
        if let Some(pane) = self.panes.iter_mut().find(|pane| pane.pane_id == pane_id) {
            pane.agent_status = status.into();
            pane.state_change_seq = last + 1;
        }
    }
}

/// A request to type something.
#[derive(Debug, Default)]
pub(super) struct Order {
    pane_id: String,
    text: String,
    keys: Vec<String>,
}

impl Order {
    pub(super) fn of_line(line: &str) -> Option<Self> {
        let question: Value = serde_json::from_str(line).ok()?;
        let params = question.get("params")?;
        let text = |key: &str| params.get(key).and_then(Value::as_str).map(String::from);
        let keys = || serde_json::from_value(params.get("keys")?.clone()).ok();
        let pane_id = text("pane_id").or_else(|| text("target"))?;
        match question.get("method")?.as_str()? {
            "pane.send_text" => Some(Self { pane_id, text: text("text")?, ..Self::default() }),
            "pane.send_keys" | "agent.send_keys" => Some(Self { pane_id, keys: keys()?, ..Self::default() }),
            "pane.send_input" => {
                Some(Self { pane_id, text: text("text").unwrap_or_default(), keys: keys().unwrap_or_default() })
            }
            _ => None,
        }
    }

    pub(super) fn of_command(arguments: &[&str]) -> Option<Self> {
        match arguments {
            ["pane", "send-text", pane, text] => {
                Some(Self { pane_id: (*pane).into(), text: (*text).into(), ..Self::default() })
            }
            ["pane" | "agent", "send-keys", pane, keys @ ..] if !keys.is_empty() => {
                let keys = keys.iter().map(|&key| key.into()).collect();
                Some(Self { pane_id: (*pane).into(), keys, ..Self::default() })
            }
            _ => None,
        }
    }

    pub(super) fn typed(&self, desk: &Desk) -> Result<Typed, Failing> {
        let pane = &self.pane_id;
        if !desk.panes.iter().any(|known| known.pane_id == *pane) {
            return Err(Failing { code: "pane_not_found".into(), message: format!("pane {pane} not found") });
        }
        let mut bytes = self.text.clone();
        for key in &self.keys {
            bytes.push_str(key_bytes(key).ok_or_else(|| {
                let message = format!("unsupported key {key}");
                Failing { code: "invalid_key".into(), message }
            })?);
        }
        Ok(Typed::new(pane, &bytes))
    }
}

/// What a terminal sends for a key.
fn key_bytes(key: &str) -> Option<&str> {
    Some(match key {
        "Enter" | "enter" => "\r",
        "Escape" => "\u{1b}",
        "Tab" => "\t",
        "Up" => "\u{1b}[A",
        "Down" => "\u{1b}[B",
        "Right" => "\u{1b}[C",
        "Left" => "\u{1b}[D",
        "Backspace" => "\u{7f}",
        "shift+tab" => "\u{1b}[Z",
        "ctrl+c" => "\u{3}",
        _ if key.chars().count() == 1 => key,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Pane, answer};
    use super::*;

    macro_rules! captured {
        ($file:literal) => {
            include_str!(concat!("../../data/herdr/", $file)).trim_end_matches('\n')
        };
    }

    fn desk() -> Desk {
        Desk { panes: vec![Pane::claude("w1:p1", "/srv/x")], ..Desk::default() }
    }

    #[test]
    fn keys_and_texts_arrive_as_captured() {
        let bytes = |arguments: &[&str]| Typed::by_command(&desk(), arguments).map(|(_, typed)| typed.bytes);
        let keys = "Down Down Enter Escape shift+tab ctrl+c Tab Up Left Right Backspace y 2";
        let words: Vec<&str> = ["pane", "send-keys", "w1:p1"].into_iter().chain(keys.split(' ')).collect();
        assert_eq!(bytes(&words).unwrap(), "\u{1b}[B\u{1b}[B\r\u{1b}\u{1b}[Z\u{3}\t\u{1b}[A\u{1b}[D\u{1b}[C\u{7f}y2");
        assert_eq!(bytes(&["pane", "send-text", "w1:p1", "3\n"]).unwrap(), "3\n");
        assert_eq!(bytes(&["pane", "send-keys", "w1:p1", "NotAKey"]), None);
        let line = captured!("socket-pane-send-input.request");
        assert_eq!(Typed::by_line(&desk(), line), Some(Typed::new("w1:p1", "2\r")));
    }

    #[test]
    fn the_answers_are_as_captured() {
        let command = |arguments: &[&str]| answer::to_command(&desk(), arguments, "/run/herdr.sock").unwrap();
        let done = command(&["pane", "send-text", "w1:p1", "2"]);
        assert_eq!((done.exit, &*done.stdout, &*done.stderr), (0, "", ""));
        let unknown = command(&["pane", "send-text", "w9:p9", "x"]);
        assert_eq!((unknown.exit, unknown.stderr.trim_end()), (1, captured!("cli-pane-send-text-unknown.stderr")));
        let bad = command(&["pane", "send-keys", "w1:p1", "NotAKey"]);
        assert_eq!((bad.exit, bad.stderr.trim_end()), (1, captured!("cli-pane-send-keys-bad-key.stderr")));
        let line = captured!("socket-pane-send-input.request");
        assert_eq!(answer::to_line(&desk(), line).unwrap(), captured!("socket-pane-send-input.response"));
    }

    #[test]
    fn a_program_does_once_what_it_does() {
        let mut desk = desk();
        let (pane_id, to) = ("w1:p1".to_owned(), "2".to_owned());
        desk.reactions = vec![Reaction { pane_id, to, screen: Some("tea".into()), status: Some("working".into()) }];
        desk.take(Typed::new("w1:p1", "1"));
        assert_eq!(desk.screens.get("w1:p1"), None);
        desk.take(Typed::new("w1:p1", "2"));
        assert_eq!((&*desk.screens["w1:p1"], &*desk.panes[0].agent_status), ("tea", "working"));
        assert_eq!((desk.panes[0].state_change_seq, desk.reactions.len(), desk.typed.len()), (9, 0, 2));
    }
}
