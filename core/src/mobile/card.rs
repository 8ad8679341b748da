//! `GET /agent-state`: one pane in a few lines.
//!
//! | | headline and detail |
//! |---|---|
//! | blocked, with a question on the screen | the question, and what else the dialog says |
//! | working, and silent for a while | the pane's title, and the call that runs |
//! | otherwise | what the agent said last: by its transcript where that is followed, else by its screen |

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::Serialize;

use super::recent::Recent;
use crate::ids::PaneId;
use crate::limits::HEADLINE_CHARS;
use crate::screen::{self, Choice, Dialog, Reading, ScreenKind, first_chars};

/// Everything that a card is made of. What is not known is none.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The pane, in the client's word.
    pub pane: &'a PaneId,
    /// The kind of its agent, in herdr's word.
    pub kind: &'a str,
    /// What herdr thinks the agent does.
    pub status: Option<&'a str>,
    /// What the terminal says the agent does.
    pub title: Option<&'a str>,
    /// What the terminal shows.
    pub screen: Option<&'a str>,
    /// What the newest entries of its conversation tell.
    pub recent: Option<&'a Recent>,
}

/// The wire form of a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Card {
    pane_id: String,
    agent_kind: String,
    agent_status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_mode: Option<String>,
    headline: String,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked: Option<Blocked>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    transcript: Vec<String>,
    parsed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Blocked {
    question: String,
    options: Vec<OptionRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<&'static str>,
    fingerprint: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct OptionRow {
    index: u32,
    label: String,
    selected: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    checked: Option<bool>,
}

impl Card {
    /// The card of a pane.
    #[must_use]
    pub fn of(known: &Known<'_>) -> Self {
        let kind = ScreenKind::from_label(known.kind);
        let reading = known.screen.map(|text| screen::read(kind, text)).unwrap_or_default();
        let status = clamped(known.status);
        let dialog = reading.dialog.as_ref().filter(|_| status == "blocked");
        // Blocked, and the screen does not say on what: a client has to look at the terminal itself.
        let is_riddle = status == "blocked" && dialog.is_none();
        let title = known.title.map(cleaned).filter(|title| !title.is_empty());
        let (headline, detail) = match dialog {
            Some(dialog) => of_dialog(dialog),
            None if is_riddle => of_lines(&reading),
            None => of_words(known, status, &reading, title.as_deref()),
        };
        let headline = [headline, title.unwrap_or_default()].into_iter().find(|text| !text.is_empty());
        let lines: Vec<String> = match known.recent {
            Some(recent) if reading.lines.is_empty() => recent.lines().map(cleaned).collect(),
            _ => reading.lines,
        };
        Self {
            pane_id: known.pane.to_string(),
            agent_kind: known.kind.into(),
            agent_status: status,
            permission_mode: reading.permission_mode,
            headline: headline.map_or_else(|| ["Agent ", status].concat(), |text| one_line(&text)),
            detail,
            blocked: dialog.map(Blocked::from),
            transcript: lines,
            parsed: kind.is_some() && !is_riddle,
        }
    }
}

impl Card {
    /// What it says in one line.
    pub(crate) fn headline(&self) -> &str {
        &self.headline
    }

    /// The question that is asked, and its options: number, label, and whether Enter takes it.
    pub(crate) fn asks(&self) -> Option<(&str, impl Iterator<Item = (u32, &str, bool)>)> {
        let Blocked { question, options, .. } = self.blocked.as_ref()?;
        Some((question, options.iter().map(|option| (option.index, option.label.as_str(), option.selected))))
    }
}

impl From<&Dialog> for Blocked {
    fn from(dialog: &Dialog) -> Self {
        Self {
            question: dialog.question.clone(),
            options: dialog.options.iter().map(OptionRow::from).collect(),
            category: dialog.category.map(|category| category.label()),
            fingerprint: dialog.fingerprint(),
        }
    }
}

impl From<&Choice> for OptionRow {
    fn from(choice: &Choice) -> Self {
        let Choice { index, label, selected, key, description, checked } = choice.clone();
        Self { index, label, selected, key, description, checked }
    }
}

fn of_dialog(dialog: &Dialog) -> (String, String) {
    let detail = if dialog.detail.is_empty() { &dialog.question } else { &dialog.detail };
    (dialog.question.clone(), detail.clone())
}

/// The last readable lines, the very last of them first.
fn of_lines(reading: &Reading) -> (String, String) {
    (reading.lines.last().cloned().unwrap_or_default(), reading.lines.join("\n"))
}

fn of_words(known: &Known<'_>, status: &str, reading: &Reading, title: Option<&str>) -> (String, String) {
    let title = title.unwrap_or_default();
    if let Some(recent) = known.recent {
        let is_silent = status == "working" && !recent.said_just_now();
        match (recent.said(), recent.open_call()) {
            (Some(said), _) if !is_silent => return (said.into(), said.into()),
            (_, Some(call)) if is_silent => return (title.into(), cleaned(call)),
            _ => {}
        }
    }
    if let Some(dialog) = &reading.dialog {
        return of_dialog(dialog);
    }
    match (&reading.said, &reading.step) {
        (Some(said), _) if said.cut && !title.is_empty() => (title.into(), said.text.clone()),
        (Some(said), _) => (said.text.clone(), said.text.clone()),
        (None, Some(step)) => (
            [title, step].into_iter().find(|text| !text.is_empty()).map(String::from).unwrap_or_default(),
            step.clone(),
        ),
        (None, None) if reading.parsed => (title.into(), title.into()),
        (None, None) => of_lines(reading),
    }
}

fn clamped(status: Option<&str>) -> &'static str {
    let said = status.unwrap_or_default().trim();
    ["idle", "working", "blocked", "done"]
        .into_iter()
        .find(|known| said.eq_ignore_ascii_case(known))
        .unwrap_or("unknown")
}

/// The first line that says anything, cut to its bound.
fn one_line(text: &str) -> String {
    let line = text.lines().map(cleaned).find(|line| !line.is_empty()).unwrap_or_default();
    first_chars(&line, HEADLINE_CHARS)
}

/// Without controls, and without what turns the direction of a text.
fn cleaned(text: &str) -> String {
    let text: String = text.chars().filter(|char| !char.is_control() && !screen::is_bidi_control(*char)).collect();
    text.trim().into()
}

#[cfg(test)]
mod tests;
