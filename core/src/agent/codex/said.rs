//! What in a user's message the human typed: Codex puts instructions and its surroundings there too.

use crate::source::json::Chars;

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
