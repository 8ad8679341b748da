//! The call of a tool, as a person reads it.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::agent::Caps;
use crate::agent::input::{Input, called, edits, file, set_diff, shell, text};
use crate::entry::{ToolCall, caps, diff};
use crate::limits::{SUBTITLE_CHARS, SUMMARY_CHARS};
use crate::source::json::Value;

/// The call in a block.
pub(super) fn tool_call(block: Value<'_>, caps: &Caps) -> ToolCall {
    called(block, "input", caps, describe)
}

/// Says what a built-in tool is about to do, and sums its input up. Of any other nothing is known.
fn describe(call: &mut ToolCall, name: &str, input: Input<'_>, caps: &Caps) -> Option<String> {
    match name {
        "Bash" => {
            shell(call, input, "command", caps);
            call.subtitle = input.label("description");
            input.line("command")
        }
        "Read" => {
            file(call, input, "file_path");
            call.subtitle = range(input);
            input.line("file_path")
        }
        "Write" => {
            file(call, input, "file_path");
            let content = input.whole("content");
            set_diff(call, content.and_then(|content| diff::between("", &content, caps)));
            input.line("file_path")
        }
        "Edit" => {
            file(call, input, "file_path");
            set_diff(call, edits([replacement(input)], caps));
            input.line("file_path")
        }
        "MultiEdit" => {
            file(call, input, "file_path");
            let each: Vec<Input<'_>> = input.list("edits").map(Input).collect();
            call.subtitle = Some(counted(each.len(), "edit"));
            set_diff(call, edits(each.into_iter().map(replacement), caps));
            input.line("file_path")
        }
        "NotebookEdit" => {
            file(call, input, "notebook_path");
            call.subtitle = input.label("cell_id").map(|cell| match input.label("edit_mode") {
                Some(mode) => format!("{mode} cell {cell}"),
                None => format!("cell {cell}"),
            });
            let source = input.whole("new_source");
            set_diff(call, source.and_then(|source| diff::between_pieces("", &source, caps)));
            input.line("notebook_path")
        }
        "LS" => input.line("path"),
        "Glob" | "Grep" => {
            call.subtitle = input.label("pattern");
            input.joined(&["pattern", "path", "glob"], " in ")
        }
        "Task" | "Agent" => {
            call.subtitle = input.label("description");
            input.joined(&["subagent_type", "prompt"], ": ")
        }
        "TodoWrite" => todos(call, input),
        "TaskCreate" => {
            call.subtitle = input.label("subject");
            input.joined(&["subject", "description"], ": ")
        }
        "TaskUpdate" => input.joined(&["taskId", "status"], " → "),
        "TaskGet" => input.line("taskId"),
        "TaskOutput" | "TaskStop" => input.line("task_id"),
        "BashOutput" => input.line("bash_id"),
        "KillShell" | "KillBash" => input.line("shell_id"),
        "WebFetch" => {
            call.subtitle = input.label("prompt");
            input.line("url")
        }
        "WebSearch" | "web_search" | "ToolSearch" => {
            call.subtitle = input.label("query");
            input.line("query")
        }
        "AskUserQuestion" => questions(call, input),
        "ExitPlanMode" | "exit_plan_mode" => {
            let plan = input.whole("plan").unwrap_or_default();
            let heading = plan.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
            call.subtitle = heading.and_then(|heading| caps::one_line(heading.chars(), SUBTITLE_CHARS));
            input.line("plan")
        }
        "Skill" => {
            call.subtitle = input.label("skill").or_else(|| input.label("command"));
            input.joined(&["skill", "command", "args"], " ")
        }
        "SlashCommand" => {
            call.subtitle = input.label("command");
            input.line("command")
        }
        "LSP" => {
            file(call, input, "filePath");
            input.joined(&["operation", "filePath", "line"], " ")
        }
        "ScheduleWakeup" => {
            call.subtitle = input.label("reason");
            input.joined(&["reason", "prompt"], ": ")
        }
        _ => None,
    }
}

fn replacement(edit: Input<'_>) -> (String, String) {
    (edit.whole("old_string").unwrap_or_default(), edit.whole("new_string").unwrap_or_default())
}

fn range(input: Input<'_>) -> Option<String> {
    let offset = input.0.get("offset").and_then(Value::number);
    let limit = input.0.get("limit").and_then(Value::number);
    match (offset, limit) {
        (Some(offset), Some(limit)) => {
            Some(format!("lines {offset}-{}", offset.saturating_add(limit).saturating_sub(1)))
        }
        (Some(offset), None) => Some(format!("from line {offset}")),
        (None, Some(limit)) => Some(format!("first {limit} lines")),
        (None, None) => None,
    }
}

fn todos(call: &mut ToolCall, input: Input<'_>) -> Option<String> {
    let todos: Vec<Value<'_>> = input.list("todos").collect();
    if todos.is_empty() {
        return None;
    }
    let with = |status: &str| {
        let status = status.to_string();
        todos.iter().filter(move |todo| text(**todo, "status").as_deref() == Some(status.as_str()))
    };
    let active = with("in_progress").next().map(|todo| Input(*todo));
    call.subtitle = active.and_then(|todo| todo.label("activeForm").or_else(|| todo.label("content")));
    let done = with("completed").count();
    let items: Vec<String> = todos.iter().filter_map(|todo| Input(*todo).line("content")).collect();
    let all = format!("{done} of {} done: {}", todos.len(), items.join("; "));
    caps::one_line(all.chars(), SUMMARY_CHARS)
}

/// The questions with their options: what a person needs to answer while nothing else is written.
fn questions(call: &mut ToolCall, input: Input<'_>) -> Option<String> {
    let mut questions: Vec<Input<'_>> = input.list("questions").map(Input).collect();
    if questions.is_empty() {
        questions.push(input);
    }
    let first = questions.first()?;
    call.subtitle = first.label("question");
    let asked: Vec<String> = questions
        .iter()
        .filter_map(|question| {
            let text = question.line("question")?;
            let options: Vec<String> = question
                .list("options")
                .filter_map(|option| {
                    Input(option).line("label").or_else(|| caps::one_line(option.chars()?, SUMMARY_CHARS))
                })
                .collect();
            Some(if options.is_empty() { text } else { format!("{text} [{}]", options.join(" | ")) })
        })
        .collect();
    caps::one_line(asked.join(" ").chars(), SUMMARY_CHARS)
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
