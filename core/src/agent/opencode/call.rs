//! The call of a tool, as a person reads it.

use alloc::string::String;

use super::block::Tool;
use crate::agent::Caps;
use crate::agent::input::{Input, edits, file, set_diff, shell, title};
use crate::entry::{ToolCall, diff};
use crate::source::json::Value;

/// The call in a block.
pub(super) fn tool_call(tool: &Tool<'_>, caps: &Caps) -> ToolCall {
    let input = Input(tool.state.get("input").unwrap_or_default());
    let mut call = ToolCall { id: tool.call_id.clone(), title: Some(title(&tool.name)), ..ToolCall::default() };
    call.input_summary = describe(&mut call, &tool.name, input, caps).or_else(|| input.json());
    call.name.clone_from(&tool.name);
    call
}

/// Says what a built-in tool is about to do, and sums its input up. Of any other nothing is known.
fn describe(call: &mut ToolCall, name: &str, input: Input<'_>, caps: &Caps) -> Option<String> {
    match name {
        "bash" | "shell" => {
            shell(call, input, "command", caps);
            call.subtitle = input.label("description");
            input.line("command")
        }
        "read" => {
            let path = path(call, input);
            call.subtitle = input.lines();
            path
        }
        "write" => {
            set_diff(call, input.whole("content").and_then(|content| diff::between("", &content, caps)));
            path(call, input)
        }
        "edit" | "multiedit" => {
            let single = input.0.get("oldString").or_else(|| input.0.get("newString")).map(|_| replacement(input));
            set_diff(call, edits(single.into_iter().chain(input.list("edits").map(Input).map(replacement)), caps));
            path(call, input)
        }
        "glob" | "grep" => {
            call.subtitle = input.label("pattern");
            input.joined(&["pattern", "path", "include"], " in ")
        }
        "list" => path(call, input),
        "task" => {
            call.subtitle = input.label("description");
            input.joined(&["subagent_type", "description"], ": ")
        }
        "webfetch" => input.line("url"),
        "websearch" | "codesearch" => input.line("query"),
        "skill" => input.line("name"),
        "question" => input.list("questions").find_map(|question| Input(question).line("question")),
        "todowrite" => {
            let todos: usize = input.list("todos").count();
            let open =
                input.list("todos").find(|todo| todo.get("status").is_some_and(|status| status.is("in_progress")));
            call.subtitle = open.and_then(|todo| Input(todo).label("content"));
            Some(alloc::format!("{todos} todos"))
        }
        _ => None,
    }
}

/// The file that the call works on, in the spelling of whichever version wrote it.
fn path(call: &mut ToolCall, input: Input<'_>) -> Option<String> {
    let key = ["filePath", "file_path", "path"].into_iter().find(|key| input.0.get(key).is_some())?;
    file(call, input, key);
    input.line(key)
}

fn replacement(edit: Input<'_>) -> (String, String) {
    let text = |key: &str| edit.0.get(key).and_then(Value::text).unwrap_or_default();
    (text("oldString"), text("newString"))
}
