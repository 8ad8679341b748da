//! The call of a tool, as a person reads it.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::patch::{self, Kind};
use crate::agent::Caps;
use crate::agent::input::{Input, base_name, set_diff, text, title};
use crate::agent::shown::named;
use crate::entry::{ToolCall, caps};
use crate::limits::{SUBTITLE_CHARS, SUMMARY_CHARS};
use crate::source::json::Value;

/// The call in an item or an event.
pub(super) fn tool_call(item: Value<'_>, caps: &Caps) -> ToolCall {
    let kind = text(item, "type").unwrap_or_default();
    let named = text(item, "name")
        .or_else(|| text(item, "tool"))
        .or_else(|| text(item.get("function").unwrap_or_default(), "name"));
    let name = named.unwrap_or_else(|| match kind.strip_suffix("_call") {
        Some("function" | "custom_tool") | None => "unnamed".to_string(),
        Some(kind) => kind.to_string(),
    });
    let label = text(item, "namespace").map_or_else(|| name.clone(), |namespace| format!("{namespace}: {name}"));
    let id = ["call_id", "callId", "id"].iter().find_map(|key| text(item, key));
    let mut call = ToolCall { id: id.unwrap_or_default(), title: Some(title(&label)), ..ToolCall::default() };
    let arguments = item.get("arguments").or_else(|| item.get("action")).or_else(|| item.get("input"));
    // Arguments are JSON inside a string, or JSON itself, or a text of the tool's own.
    let inner = arguments.and_then(Value::text);
    let input =
        Input(inner.as_ref().map_or_else(|| arguments.unwrap_or_default(), |inner| Value(inner.trim().as_bytes())));
    let plain = inner.as_deref().filter(|_| !input.0.is_object());
    call.input_summary = describe(&mut call, &name, input, plain, caps)
        .or_else(|| plain.and_then(|text| caps::one_line(text.chars(), SUMMARY_CHARS)))
        .or_else(|| input.json());
    call.name = name;
    call
}

/// Says what a built-in tool is about to do, and sums its input up. Of any other nothing is known.
fn describe(call: &mut ToolCall, name: &str, input: Input<'_>, plain: Option<&str>, caps: &Caps) -> Option<String> {
    match name {
        "shell" | "container.exec" | "local_shell" | "exec_command" | "shell_command" | "exec" | "apply_patch" => {
            let command = plain.map(String::from).or_else(|| command(input))?;
            let in_program = patch::in_program(&command);
            let wanted = patch::wanted(in_program.as_deref().unwrap_or(&command));
            if !wanted.is_empty() {
                return changes(call, &wanted, caps);
            }
            let shown = caps::text(command.chars(), caps.command_chars);
            call.command_truncated = shown.truncated;
            call.command = Some(shown.text).filter(|command| !command.is_empty());
            call.subtitle = input.label("justification");
            caps::one_line(command.chars(), SUMMARY_CHARS)
        }
        "write_stdin" => input.joined(&["session_id", "chars"], ": "),
        "update_plan" => plan(call, input),
        "view_image" | "read_file" | "list_dir" => {
            let path = ["path", "file_path", "dir_path"].iter().find_map(|key| input.whole(key))?;
            call.file = base_name(&path);
            caps::one_line(path.chars(), SUMMARY_CHARS)
        }
        "grep_files" => {
            call.subtitle = input.label("pattern");
            input.joined(&["pattern", "path", "include"], " in ")
        }
        "web_search" | "tool_search" => {
            call.subtitle = input.label("query").or_else(|| input.label("url"));
            input.joined(&["query", "url", "pattern"], " ")
        }
        "image_generation" => {
            let prompt = named(input.0.get("prompt"));
            prompt.and_then(|prompt| caps::one_line(prompt.chars(), SUMMARY_CHARS))
        }
        "spawn_agent" | "send_input" | "send_message" => {
            call.subtitle = input.label("agent_type").or_else(|| input.label("target"));
            input.joined(&["agent_type", "target", "message"], ": ")
        }
        _ => None,
    }
}

/// The command line: of a shell that is given one, only that.
fn command(input: Input<'_>) -> Option<String> {
    let command = input.0.get("command").or_else(|| input.0.get("cmd"))?;
    if command.literal().is_some() {
        return command.text();
    }
    let words: Vec<String> = command.elements().filter_map(Value::text).collect();
    match words.as_slice() {
        [shell, flag, line] if is_shell(shell) && matches!(flag.as_str(), "-c" | "-lc" | "-Command") => {
            Some(line.clone())
        }
        [] => None,
        words => Some(words.join(" ")),
    }
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    matches!(name, "bash" | "sh" | "zsh" | "powershell" | "powershell.exe" | "pwsh" | "pwsh.exe")
}

fn changes(call: &mut ToolCall, wanted: &[patch::Change<'_>], caps: &Caps) -> Option<String> {
    match wanted {
        [only] => {
            call.file = base_name(&only.path);
            call.subtitle = match (&only.moved_to, only.is) {
                (Some(path), _) => caps::one_line(format!("move to {path}").chars(), SUBTITLE_CHARS),
                (None, Kind::Deleted) => Some("delete".to_string()),
                (None, Kind::Added | Kind::Updated) => None,
            };
        }
        many => call.subtitle = Some(format!("{} files", many.len())),
    }
    set_diff(call, patch::diff(wanted, caps));
    let paths: Vec<&str> = wanted.iter().map(|change| change.path.as_str()).collect();
    caps::one_line(paths.join(", ").chars(), SUMMARY_CHARS)
}

fn plan(call: &mut ToolCall, input: Input<'_>) -> Option<String> {
    let steps: Vec<Value<'_>> = input.list("plan").collect();
    let with = |status: &str| steps.iter().filter(|step| step.get("status").is_some_and(|is| is.is(status))).count();
    let active = steps.iter().find(|step| step.get("status").is_some_and(|is| is.is("in_progress")));
    call.subtitle = active
        .and_then(|step| Input(*step).label("step"))
        .or_else(|| input.label("explanation"))
        .and_then(|label| caps::one_line(label.chars(), SUBTITLE_CHARS));
    if steps.is_empty() {
        return None;
    }
    let items: Vec<String> = steps.iter().filter_map(|step| Input(*step).line("step")).collect();
    caps::one_line(
        format!("{} of {} done: {}", with("completed"), steps.len(), items.join("; ")).chars(),
        SUMMARY_CHARS,
    )
}
