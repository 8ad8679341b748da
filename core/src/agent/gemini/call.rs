//! The call of a tool, as a person reads it.

use alloc::format;
use alloc::string::{String, ToString as _};

use crate::agent::Caps;
use crate::agent::input::{Input, edits, file, set_diff, shell, text, title};
use crate::entry::{ToolCall, diff};
use crate::source::json::Value;

/// The call in a message: what the tool's record says, or the part of the content that asks for it.
pub(super) fn tool_call(id: &str, call: Value<'_>, caps: &Caps) -> ToolCall {
    let name = text(call, "name").unwrap_or_else(|| "unnamed".to_string());
    let input = Input(call.get("args").unwrap_or_default());
    let label = text(call, "displayName").map_or_else(|| title(&name), |shown| title(&shown));
    let mut made = ToolCall { id: id.to_string(), title: Some(label), ..ToolCall::default() };
    made.input_summary = describe(&mut made, &name, input, caps).or_else(|| input.json());
    made.subtitle = made.subtitle.or_else(|| Input(call).label("description"));
    made.name = name;
    made
}

/// Says what a built-in tool is about to do, and sums its input up. Of any other nothing is known.
fn describe(call: &mut ToolCall, name: &str, input: Input<'_>, caps: &Caps) -> Option<String> {
    match name {
        "run_shell_command" => {
            shell(call, input, "command", caps);
            call.subtitle = input.label("description");
            input.line("command")
        }
        "read_file" => {
            call.subtitle = input.lines();
            path(call, input)
        }
        "write_file" => {
            set_diff(call, input.whole("content").and_then(|content| diff::between("", &content, caps)));
            path(call, input)
        }
        "replace" | "edit_file" | "edit" => {
            let (old, new) = (input.whole("old_string"), input.whole("new_string"));
            if old.is_some() || new.is_some() {
                set_diff(call, edits([(old.unwrap_or_default(), new.unwrap_or_default())], caps));
            }
            call.subtitle = input.label("instruction");
            path(call, input)
        }
        "list_directory" => path(call, input),
        "search_file_content" | "grep_search" | "glob" => {
            call.subtitle = input.label("pattern");
            input.joined(&["pattern", "path", "dir_path", "include"], " in ")
        }
        "google_web_search" => input.line("query"),
        "web_fetch" => input.line("prompt").or_else(|| input.line("url")),
        "save_memory" => input.line("fact"),
        "write_todos" => {
            let open = |todo: &Value<'_>| todo.get("status").is_some_and(|status| status.is("in_progress"));
            call.subtitle = input.list("todos").find(open).and_then(|todo| Input(todo).label("description"));
            Some(format!("{} todos", input.list("todos").count()))
        }
        _ => None,
    }
}

/// The file that the call works on, in the spelling of whichever version wrote it.
fn path(call: &mut ToolCall, input: Input<'_>) -> Option<String> {
    let key = ["file_path", "absolute_path", "dir_path", "path"].into_iter().find(|key| input.0.get(key).is_some())?;
    file(call, input, key);
    input.line(key)
}
