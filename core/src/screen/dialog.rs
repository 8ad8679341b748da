//! A question that an agent waits on.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

use super::first_chars;
use crate::limits::{DETAIL_CHARS, MAX_OPTIONS, OPTION_CHARS, QUESTION_CHARS};

/// A question and what can be answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dialog {
    /// What kind of question it is, if that can be told.
    pub category: Option<Category>,
    /// The question, one line; empty if the screen shows none.
    pub question: String,
    /// The choices, in the order of the screen.
    pub options: Vec<Choice>,
    /// What else the dialog says: the command, the change, the reason.
    pub detail: String,
}

/// What kind of question is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Category {
    /// Whether the agent may do something.
    Permission,
    /// Whether a plan is to be carried out.
    Plan,
    /// A question of the agent's own.
    Question,
    /// Whether a directory is trusted.
    Trust,
}

/// One choice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// The number that picks it; 0 if it has none.
    pub index: u32,
    /// Its text.
    pub label: String,
    /// Whether a bare Enter takes it.
    pub selected: bool,
    /// A key that picks it.
    pub key: Option<String>,
    /// What is said about it.
    pub description: Option<String>,
    /// Whether it is ticked, where several can be.
    pub checked: Option<bool>,
}

impl Category {
    /// Its word on the wire.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Permission => "permission",
            Self::Plan => "plan",
            Self::Question => "question",
            Self::Trust => "trust",
        }
    }
}

impl Dialog {
    /// A name of this question: another one if anything is asked, offered or said differently. Where the rows break, which
    /// choice is marked and what is ticked do not count.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut digest = Sha256::new();
        let mut part = |text: &str| {
            for char in text.chars().filter(|char| !char.is_whitespace()) {
                digest.update(char.encode_utf8(&mut [0; 4]).as_bytes());
            }
            digest.update([0]);
        };
        part(&self.question);
        part(&self.detail);
        for choice in &self.options {
            part(&format!("{}", choice.index));
            part(&choice.label);
        }
        digest.finalize().iter().take(8).fold(String::new(), |name, byte| name + &format!("{byte:02x}"))
    }

    /// Keeps every text within its bound, and one choice marked at most: of two it is not known which Enter takes.
    pub(super) fn bound(&mut self) {
        let is_clear = self.options.iter().filter(|choice| choice.selected).count() <= 1;
        self.question = first_chars(&self.question, QUESTION_CHARS);
        self.detail = first_chars(&self.detail, DETAIL_CHARS);
        self.options.truncate(MAX_OPTIONS);
        for choice in &mut self.options {
            choice.selected &= is_clear;
            choice.label = first_chars(&choice.label, OPTION_CHARS);
            choice.description = choice.description.take().map(|text| first_chars(&text, OPTION_CHARS));
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::{Choice, Dialog};

    fn dialog() -> Dialog {
        let options = vec![Choice { index: 1, label: "Yes".into(), ..Choice::default() }];
        Dialog { category: None, question: "Go on?".into(), options, detail: "make tea".into() }
    }

    #[test]
    fn another_question_has_another_fingerprint() {
        let print = dialog().fingerprint();
        assert_eq!(print.len(), 16);
        for change in [
            |dialog: &mut Dialog| dialog.question = "Go in?".into(),
            |dialog: &mut Dialog| dialog.detail = "make coffee".into(),
            |dialog: &mut Dialog| dialog.options[0].label = "No".into(),
            |dialog: &mut Dialog| dialog.options[0].index = 2,
            |dialog: &mut Dialog| dialog.options.clear(),
        ] {
            let mut other = dialog();
            change(&mut other);
            assert_ne!(other.fingerprint(), print);
        }
    }

    #[test]
    fn of_two_marked_choices_none_is() {
        let mut dialog = dialog();
        dialog.options[0].selected = true;
        dialog.bound();
        assert!(dialog.options[0].selected);
        dialog.options.push(dialog.options[0].clone());
        dialog.bound();
        assert!(dialog.options.iter().all(|choice| !choice.selected));
    }

    #[test]
    fn the_same_question_has_the_same_wherever_it_breaks_and_whatever_is_marked() {
        let mut other = dialog();
        other.detail = "make\ntea".into();
        other.options[0].selected = true;
        other.options[0].checked = Some(true);
        assert_eq!(other.fingerprint(), dialog().fingerprint());
    }
}
