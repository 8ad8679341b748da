//! The call of a tool, as a person reads it.

use alloc::string::String;

use crate::agent::Caps;
use crate::agent::input::{Input, called, edits, file, set_diff, shell};
use crate::entry::{ToolCall, diff};
use crate::source::json::Value;

/// The call in a block.
pub(super) fn tool_call(block: Value<'_>, caps: &Caps) -> ToolCall {
    called(block, "arguments", caps, describe)
}

/// Says what a built-in tool is about to do, and sums its input up. Of any other nothing is known.
fn describe(call: &mut ToolCall, name: &str, input: Input<'_>, caps: &Caps) -> Option<String> {
    match name {
        "bash" => {
            shell(call, input, "command", caps);
            input.line("command")
        }
        "read" => {
            file(call, input, "path");
            call.subtitle = input.lines();
            input.line("path")
        }
        "write" => {
            file(call, input, "path");
            set_diff(call, input.whole("content").and_then(|content| diff::between("", &content, caps)));
            input.line("path")
        }
        "edit" => {
            file(call, input, "path");
            let single = input.0.get("oldText").or_else(|| input.0.get("newText")).map(|_| replacement(input));
            set_diff(call, edits(single.into_iter().chain(input.list("edits").map(Input).map(replacement)), caps));
            input.line("path")
        }
        "grep" | "find" => {
            call.subtitle = input.label("pattern");
            input.joined(&["pattern", "path", "glob"], " in ")
        }
        "ls" => input.line("path"),
        _ => None,
    }
}

fn replacement(edit: Input<'_>) -> (String, String) {
    (edit.whole("oldText").unwrap_or_default(), edit.whole("newText").unwrap_or_default())
}
