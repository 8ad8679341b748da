//! What an agent's screen says: the question it asks, the options it offers, what it said last.
//!
//! ```text
//!  text or ANSI ──▶ rows ──▶ list of options ──▶ the lines above it ──▶ Dialog
//!                     │                              (question, detail)
//!                     └────▶ blocks of what was said, mode line, readable lines
//! ```
//!
//! Nothing here asks anybody: a screen comes in as text. Whatever it holds, the answer is a [`Reading`], and never a panic.
//! A question that is only quoted in what the agent says is told from one that is asked by what stands around it: the
//! marker of the list, the line of keys under it, and the prompt box that is hidden while a question is asked.

mod claude;
mod codex;
mod dialog;
mod frame;
mod opencode;
mod options;
mod passage;
mod pi;
mod raw;
mod rows;

use alloc::string::String;
use alloc::vec::Vec;

pub use dialog::{Category, Choice, Dialog};
pub(crate) use rows::is_bidi_control;

use crate::limits;

/// What one screen says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// The question that the agent waits on, if one is asked.
    pub dialog: Option<Dialog>,
    /// What the agent said last, as far as it is on the screen.
    pub said: Option<Said>,
    /// The last thing it did, one line.
    pub step: Option<String>,
    /// The mode in which it asks for permissions.
    pub permission_mode: Option<String>,
    /// The last readable lines.
    pub lines: Vec<String>,
    /// Whether there is a parser for this kind of agent.
    pub parsed: bool,
}

/// Something that an agent said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Said {
    /// Its lines.
    pub text: String,
    /// Whether its beginning is not on the screen any more.
    pub cut: bool,
}

/// The kinds of agent whose screens are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenKind {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// OpenCode.
    OpenCode,
    /// pi.
    Pi,
}

impl ScreenKind {
    /// The kind that herdr calls so; case and blanks around it do not matter.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        match label.trim().to_ascii_lowercase().as_str() {
            "claude" => Some(Self::Claude),
            "codex" => Some(Self::Codex),
            "opencode" => Some(Self::OpenCode),
            "pi" => Some(Self::Pi),
            _ => None,
        }
    }

    /// Whether colour alone says which option a bare Enter takes.
    #[must_use]
    pub const fn selects_by_colour(self) -> bool {
        matches!(self, Self::OpenCode)
    }
}

/// Reads a screen of this kind of agent, of any other if `None`: plain text, or text with ANSI colours.
#[must_use]
pub fn read(kind: Option<ScreenKind>, text: &str) -> Reading {
    let rows = rows::parse(text);
    let mut reading = match kind {
        Some(ScreenKind::Claude) => claude::read(&rows),
        Some(ScreenKind::Codex) => codex::read(&rows),
        Some(ScreenKind::OpenCode) => opencode::read(&rows),
        Some(ScreenKind::Pi) => pi::read(&rows),
        None => raw::read(&rows),
    };
    if let Some(dialog) = &mut reading.dialog {
        dialog.bound();
    }
    if let Some(said) = &mut reading.said {
        said.text = first_chars(&said.text, limits::TEXT_CHARS);
    }
    reading
}

/// So many characters of a text; what is cut ends in `…`, which counts.
pub(crate) fn first_chars(text: &str, chars: usize) -> String {
    let mut cut: String = text.chars().take(chars).collect();
    if text.chars().nth(chars).is_some() {
        cut.pop();
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests;
