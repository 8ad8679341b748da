//! Who really said a text: told by how it begins, since what the harness writes stands in user records too.

use alloc::format;
use alloc::string::{String, ToString as _};

use crate::source::json::Chars;

/// Whose words a text of a user or system record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speech {
    /// Nothing marks it: the words of whoever the record is by.
    Plain,
    /// The human typed a slash command.
    Command,
    /// The human typed a `!` line for the shell.
    Shell,
    /// What a slash command or a `!` line printed.
    Output,
    /// Work in the background ended, or says how it goes.
    Notification,
    /// A hook or the harness.
    Reminder,
    /// What the human's editor shows.
    Editor,
    /// The human stopped the assistant.
    Interrupt,
    /// What stands for a conversation that was compacted.
    Summary,
    /// Another agent.
    Peer,
}

/// How marked texts begin. Nothing: such a text makes no entry.
const OPENINGS: &[(&str, Option<Speech>)] = &[
    ("<command-name>", Some(Speech::Command)),
    ("<command-message>", Some(Speech::Command)),
    ("<command-args>", Some(Speech::Command)),
    ("<local-command-stdout>", Some(Speech::Output)),
    ("<local-command-stderr>", Some(Speech::Output)),
    ("<bash-stdout>", Some(Speech::Output)),
    ("<bash-stderr>", Some(Speech::Output)),
    ("<bash-input>", Some(Speech::Shell)),
    ("<local-command-caveat>", None),
    ("Caveat: The messages below", None),
    ("<task-notification>", Some(Speech::Notification)),
    ("<system-reminder>", Some(Speech::Reminder)),
    ("<user-prompt-submit-hook>", Some(Speech::Reminder)),
    ("<session-start-hook>", Some(Speech::Reminder)),
    ("<ide_opened_file>", Some(Speech::Editor)),
    ("<ide_selection>", Some(Speech::Editor)),
    ("<ide_diagnostics>", Some(Speech::Editor)),
    ("[Request interrupted by user", Some(Speech::Interrupt)),
    ("This session is being continued from a previous conversation", Some(Speech::Summary)),
    ("<teammate-message", Some(Speech::Peer)),
    ("<cross-session-message", Some(Speech::Peer)),
    ("<agent-message", Some(Speech::Peer)),
    ("<channel ", Some(Speech::Peer)),
];

/// What an output may consist of and still be nothing.
const OUTPUT_MARKS: &[&str] = &[
    "<local-command-stdout>",
    "</local-command-stdout>",
    "<local-command-stderr>",
    "</local-command-stderr>",
    "<bash-stdout>",
    "</bash-stdout>",
    "<bash-stderr>",
    "</bash-stderr>",
];

/// Whose words these are; nothing if they make no entry.
pub(super) fn speech(mut chars: Chars<'_>) -> Option<Speech> {
    chars.skip_blanks();
    // Nearly every text is told by its first character.
    if !matches!(chars.clone().next()?, '<' | '[' | 'C' | 'T') {
        return Some(Speech::Plain);
    }
    let row = OPENINGS.iter().find(|(opening, _)| chars.clone().take_prefix(opening));
    match row {
        None => Some(Speech::Plain),
        Some((_, Some(Speech::Output))) => (!prints_nothing(chars)).then_some(Speech::Output),
        Some((_, speech)) => *speech,
    }
}

/// The text as a person reads it: without the marks around it. Not blank unless the text is.
pub(super) fn readable(speech: Speech, text: &str) -> String {
    let text = text.trim();
    let shown = match speech {
        Speech::Plain | Speech::Interrupt | Speech::Summary => text.to_string(),
        Speech::Command => command(text),
        Speech::Shell => format!("!{}", inside(text, "bash-input").unwrap_or(text).trim()),
        Speech::Output => output(text),
        Speech::Notification => notification(text),
        Speech::Reminder | Speech::Editor => unwrapped(text).0.to_string(),
        Speech::Peer => peer(text),
    };
    if shown.trim().is_empty() { text.to_string() } else { shown }
}

/// What stands behind the first mark and its end: words of the human behind what the harness put before them.
pub(super) fn behind_mark(text: &str) -> Option<&str> {
    let rest = unwrapped(text.trim()).1.trim();
    let plain = !rest.is_empty() && !rest.starts_with('<') && !rest.starts_with("[Request interrupted");
    plain.then_some(rest)
}

fn prints_nothing(mut chars: Chars<'_>) -> bool {
    loop {
        chars.skip_blanks();
        if !OUTPUT_MARKS.iter().any(|mark| chars.take_prefix(mark)) {
            return chars.is_blank();
        }
    }
}

fn command(text: &str) -> String {
    let message = inside(text, "command-message").and_then(|message| message.split_whitespace().next());
    let name = inside(text, "command-name").map(str::trim).filter(|name| !name.is_empty()).or(message);
    let Some(name) = name else { return text.to_string() };
    let args = inside(text, "command-args").unwrap_or_default().trim();
    let slash = if name.starts_with('/') { "" } else { "/" };
    if args.is_empty() { format!("{slash}{name}") } else { format!("{slash}{name} {args}") }
}

fn output(text: &str) -> String {
    let mut shown = String::new();
    for (tag, label) in [
        ("local-command-stdout", ""),
        ("bash-stdout", ""),
        ("local-command-stderr", "[stderr] "),
        ("bash-stderr", "[stderr] "),
    ] {
        let printed = inside(text, tag).map(|printed| printed.trim_matches(['\n', '\r'])).unwrap_or_default();
        if printed.trim().is_empty() {
            continue;
        }
        if !shown.is_empty() {
            shown.push('\n');
        }
        shown.push_str(label);
        shown.push_str(printed);
    }
    shown
}

fn notification(text: &str) -> String {
    // What an agent answered is free text that may hold the same marks: only what stands before it is looked at.
    let (head, answer) = text.split_once("<result>").unwrap_or((text, ""));
    let status = inside(head, "status").map(str::trim).unwrap_or_default();
    let mut shown = match (inside(head, "summary").map(str::trim).filter(|summary| !summary.is_empty()), status) {
        (Some(summary), _) => summary.to_string(),
        (None, "") => unwrapped(text).0.trim().to_string(),
        (None, status) => format!("Task {} {status}", inside(head, "task-id").unwrap_or_default().trim()),
    };
    let answer = answer.rsplit_once("</result>").map_or(answer, |(answer, _)| answer).trim();
    if !answer.is_empty() {
        shown.push_str("\n\n");
        shown.push_str(answer);
    }
    shown
}

fn peer(text: &str) -> String {
    let head = text.split_once('>').map(|(head, _)| head).unwrap_or_default();
    let from = ["teammate_id=\"", "from=\"", "source=\"", "name=\""]
        .iter()
        .find_map(|attribute| head.split_once(attribute).and_then(|(_, rest)| rest.split_once('"')))
        .map(|(from, _)| from);
    let body = unwrapped(text).0.trim();
    match from {
        Some(from) if !body.is_empty() => format!("[{from}] {body}"),
        _ => body.to_string(),
    }
}

/// What stands between the first `<tag>` and the `</tag>` behind it; to the end if that is missing.
fn inside<'t>(text: &'t str, tag: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(format!("<{tag}>").as_str())?;
    Some(rest.split_once(format!("</{tag}>").as_str()).map_or(rest, |(inside, _)| inside))
}

/// What stands in the element that the text begins with, and what stands behind it.
fn unwrapped(text: &str) -> (&str, &str) {
    let Some((head, rest)) = text.split_once('>') else { return (text, "") };
    let Some(name) = head.strip_prefix('<').and_then(|head| head.split_whitespace().next()) else { return (text, "") };
    let (inside, behind) = rest.split_once(format!("</{name}>").as_str()).unwrap_or((rest, ""));
    (inside.trim(), behind)
}
