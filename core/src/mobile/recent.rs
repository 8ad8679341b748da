//! What the newest entries of a conversation tell for a card.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use super::plain::plain;
use crate::entry::{Body, Entry, Role};
use crate::limits::{CARD_ENTRIES, CARD_LINE_CHARS, CARD_LINES, CARD_RECENT_ENTRIES};
use crate::screen::first_chars;

/// The newest entries, taken in from the oldest of them on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recent {
    entries: u64,
    /// The last thing that the agent said, and the entry it was.
    said: Option<(u64, String)>,
    /// Calls that nothing has answered.
    open: Vec<OpenCall>,
    lines: VecDeque<String>,
}

/// A call that runs, or waits.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OpenCall {
    id: String,
    shown: String,
}

impl Recent {
    /// Takes in the next entry.
    pub fn push(&mut self, entry: Entry) {
        self.entries = self.entries.saturating_add(1);
        match entry.body {
            Body::Message(text) if entry.role != Role::System => {
                let text = plain(&text.text);
                text.lines().filter(|line| !line.trim().is_empty()).for_each(|line| self.push_line(line));
                if entry.role == Role::Assistant && !text.is_empty() {
                    self.said = Some((self.entries, text));
                }
            }
            Body::ToolCall(call) => {
                self.push_line(&["· ", call.name.as_str()].concat());
                let title = call.title.unwrap_or(call.name);
                let about = call.subtitle.or(call.input_summary).or(call.file);
                let shown =
                    about.map_or_else(|| title.clone(), |about| [title.as_str(), ": ", about.as_str()].concat());
                if (self.open.len() as u64) < CARD_ENTRIES {
                    self.open.push(OpenCall { id: call.id, shown });
                }
            }
            Body::ToolResult(result) => self.open.retain(|call| call.id != result.for_id),
            Body::Message(_) | Body::Thinking(_) | Body::Attachment(_) => {}
        }
    }

    /// What the agent said last, as plain text.
    #[must_use]
    pub fn said(&self) -> Option<&str> {
        self.said.as_ref().map(|(_, text)| text.as_str())
    }

    /// Whether it said that among the last few entries.
    #[must_use]
    pub fn said_just_now(&self) -> bool {
        self.said.as_ref().is_some_and(|(at, _)| self.entries.saturating_sub(*at) < CARD_RECENT_ENTRIES)
    }

    /// The call that was made last and is not answered: its title and its subtitle.
    #[must_use]
    pub fn open_call(&self) -> Option<&str> {
        self.open.last().map(|call| call.shown.as_str())
    }

    /// The last lines: of what was said, and a `· Tool` for each call.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    fn push_line(&mut self, line: &str) {
        if self.lines.len() >= CARD_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(first_chars(line.trim_end(), CARD_LINE_CHARS));
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::Recent;
    use crate::entry::{Body, Entry, Role, Text, ToolCall, ToolResult};

    fn entry(role: Role, body: Body) -> Entry {
        Entry { id: String::new(), parent_id: None, ts: None, role, body, parsed: true }
    }

    fn says(role: Role, text: &str) -> Entry {
        entry(role, Body::Message(Text { text: text.into(), truncated: false }))
    }

    fn calls(id: &str, subtitle: Option<&str>) -> Entry {
        let subtitle = subtitle.map(String::from);
        let call = ToolCall { id: id.into(), name: "Bash".into(), subtitle, ..ToolCall::default() };
        entry(Role::Assistant, Body::ToolCall(call))
    }

    fn answers(id: &str) -> Entry {
        entry(Role::User, Body::ToolResult(ToolResult { for_id: id.into(), ..ToolResult::default() }))
    }

    #[test]
    fn the_last_message_of_the_agent_is_what_it_said() {
        let mut recent = Recent::default();
        for entry in [
            says(Role::Assistant, "First"),
            says(Role::Assistant, "**Second**\n\nwith more"),
            says(Role::User, "thanks"),
            says(Role::System, "a notice"),
        ] {
            recent.push(entry);
        }
        assert_eq!((recent.said(), recent.said_just_now()), (Some("Second\n\nwith more"), true));
        assert_eq!(recent.lines().collect::<Vec<_>>(), ["First", "Second", "with more", "thanks"]);
    }

    #[test]
    fn eight_entries_later_it_is_not_just_now() {
        let mut recent = Recent::default();
        recent.push(says(Role::Assistant, "Let us see."));
        for round in 0..7 {
            assert!(recent.said_just_now(), "{round}");
            recent.push(answers("x"));
        }
        recent.push(answers("x"));
        assert_eq!((recent.said(), recent.said_just_now()), (Some("Let us see."), false));
    }

    #[test]
    fn a_call_is_open_until_it_is_answered() {
        let mut recent = Recent::default();
        recent.push(calls("a", Some("count the cups")));
        recent.push(calls("b", None));
        assert_eq!(recent.open_call(), Some("Bash"));
        recent.push(answers("b"));
        assert_eq!(recent.open_call(), Some("Bash: count the cups"));
        recent.push(answers("a"));
        assert_eq!(recent.open_call(), None);
        assert_eq!(recent.lines().collect::<Vec<_>>(), ["· Bash", "· Bash"]);
    }
}
