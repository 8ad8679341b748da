//! What in a message was said by whom: Codex puts instructions and its surroundings into those of the user, and marks plans
//! and sources in those of the assistant.

use memchr::memmem;

use super::memory::Digest;
use crate::source::json::{Chars, Value};

/// How texts begin that Codex wrote in the name of the user. They make no entry.
const INJECTED: &[&str] = &[
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<permissions instructions>",
    "<skills_instructions>",
    "<apps_instructions>",
    "<plugins_instructions>",
    "<environments_instructions>",
    "<collaboration_mode>",
    "<multi_agent_mode>",
    "<personality_spec>",
    "<model_switch>",
    "<realtime_conversation>",
    "<recommended_plugins>",
    "<skill>",
    "<codex_internal_context",
    "<goal_context>",
    "<hook_context>",
    "<image",
    "</image>",
];

/// How texts begin that are told by Codex and worth seeing.
const TOLD: &[&str] = &["<subagent_notification>", "<user_action>", "<user_shell_command>"];

/// Whose words a text in a user's message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speech {
    /// The human's.
    Typed,
    /// Codex's, worth seeing.
    Told,
    /// That the human stopped the turn.
    Aborted,
}

/// Whose words these are; nothing if they make no entry.
pub(super) fn speech(mut chars: Chars<'_>) -> Option<Speech> {
    chars.skip_blanks();
    match chars.clone().next()? {
        '<' | '#' => {}
        _ => return Some(Speech::Typed),
    }
    let begins = |opening: &&str| chars.clone().take_prefix(opening);
    if INJECTED.iter().any(&begins) {
        None
    } else if begins(&"<turn_aborted>") {
        Some(Speech::Aborted)
    } else if TOLD.iter().any(begins) {
        Some(Speech::Told)
    } else {
        Some(Speech::Typed)
    }
}

/// The same of a text that says by itself that the human typed it, whatever it looks like.
pub(super) fn typed_alone(chars: Chars<'_>) -> Option<Speech> {
    (!chars.is_blank()).then_some(Speech::Typed)
}

/// What the human typed below what an editor put before it.
pub(super) fn typed(text: &str) -> &str {
    let text = text.trim();
    let below =
        text.strip_prefix("# Context from my IDE setup:").and_then(|text| text.split_once("## My request for Codex:"));
    below.map(|(_, typed)| typed.trim()).filter(|typed| !typed.is_empty()).unwrap_or(text)
}

/// What stands inside `<tag>`.
pub(super) fn inside<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(alloc::format!("<{tag}>").as_str())?;
    Some(rest.split_once(alloc::format!("</{tag}>").as_str()).map_or(rest, |(inside, _)| inside).trim())
}

/// Between these stands a plan, each on a line of its own.
const PLAN: [&str; 2] = ["<proposed_plan>", "</proposed_plan>"];

/// Between these stands what the assistant has read, which is not for people.
const SOURCES: [&str; 2] = ["<oai-mem-citation>", "</oai-mem-citation>"];

/// Whether a text of the assistant is more, or less, than what it shows.
pub(super) fn is_marked(text: Value<'_>) -> bool {
    let has = |tag: &str| memmem::find(text.raw(), tag.as_bytes()).is_some();
    has(PLAN[0]) || has(SOURCES[0])
}

/// The digests of what an assistant's text shows: of the text and of a plan in it. None of what is blank.
pub(super) fn digests(text: Value<'_>) -> impl Iterator<Item = Digest> {
    let (mut said, mut plan) = (Digest::new(), Digest::new());
    match text.chars() {
        Some(chars) if is_marked(text) => {
            for (char, is_plan) in Shown::new(chars) {
                if is_plan { &mut plan } else { &mut said }.add([char]);
            }
        }
        Some(chars) => said.add(chars),
        None => {}
    }
    [said, plan].into_iter().filter(|digest| !digest.is_blank())
}

/// What is shown of an assistant's text, and whether it is part of a plan.
#[derive(Debug)]
pub(super) struct Shown<'a> {
    chars: Chars<'a>,
    begins_line: bool,
    in_plan: bool,
}

impl<'a> Shown<'a> {
    pub(super) const fn new(chars: Chars<'a>) -> Self {
        Self { chars, begins_line: true, in_plan: false }
    }

    /// Goes over a tag that is all there is on its line.
    fn take_line(&mut self, tag: &str) -> bool {
        let mut look = self.chars.clone();
        let is_alone = look.take_prefix(tag)
            && loop {
                match look.next() {
                    None | Some('\n') => break true,
                    Some(char) if char.is_whitespace() => {}
                    Some(_) => break false,
                }
            };
        if is_alone {
            self.chars = look;
        }
        is_alone
    }
}

impl Iterator for Shown<'_> {
    type Item = (char, bool);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let [opens, closes] = PLAN;
            if self.begins_line && self.take_line(if self.in_plan { closes } else { opens }) {
                self.in_plan = !self.in_plan;
                continue;
            }
            if self.chars.take_prefix(SOURCES[0]) {
                while !self.chars.take_prefix(SOURCES[1]) && self.chars.next().is_some() {}
                continue;
            }
            let char = self.chars.next()?;
            self.begins_line = char == '\n';
            return Some((char, self.in_plan));
        }
    }
}

/// What an error says: its text, or its message.
pub(super) fn error(error: Value<'_>) -> Option<Value<'_>> {
    let says = |value: &Value<'_>| value.chars().is_some_and(|chars| !chars.is_blank());
    Some(error).filter(says).or_else(|| error.get("message").filter(says))
}
