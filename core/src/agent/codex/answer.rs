//! The answer of a tool, as a person reads it.

use alloc::format;
use alloc::string::String;

use super::patch::{self, Made};
use crate::agent::Caps;
use crate::agent::shown::{named, output};
use crate::entry::ToolResult;
use crate::entry::ansi::Plain;
use crate::source::json::Value;

/// The answer in an item or an event.
pub(super) fn tool_result(item: Value<'_>, caps: &Caps) -> ToolResult {
    let mut result = ToolResult {
        for_id: ["call_id", "callId", "id"].iter().find_map(|key| named(item.get(key))).unwrap_or_default(),
        ok: true,
        ..ToolResult::default()
    };
    let kind = named(item.get("type")).unwrap_or_default();
    match kind.as_str() {
        "exec_command_end" => {
            result.ok = succeeded(item.get("exit_code"));
            let whole = item.get("aggregated_output").filter(|text| !text.is_empty());
            print(&mut result, caps, |out| match whole {
                Some(text) => told(text, out),
                None => both(item, out),
            });
        }
        "patch_apply_end" => {
            result.ok = item.get("success").is_none_or(|success| success.raw() != b"false");
            print(&mut result, caps, |out| both(item, out));
            let made = item.get("changes").map(Made::read).filter(|_| result.ok);
            if let Some(diff) = made.and_then(|made| patch::diff(&made.changes(), caps)) {
                result.truncated |= diff.truncated;
                result.diff = Some(diff.text);
            }
        }
        "mcp_tool_call_end" => {
            let said = item.get("result");
            let error = said.and_then(|said| said.get("Err"));
            let fine = said.and_then(|said| said.get("Ok"));
            result.ok = error.is_none() && !fine.and_then(|fine| fine.get("isError")).is_some_and(Value::is_true);
            let content = error.or_else(|| fine.and_then(|fine| fine.get("content")));
            print(&mut result, caps, |out| content.into_iter().for_each(|content| told(content, out)));
        }
        "web_search_end" => {
            let results = item.get("results").filter(|results| !results.is_empty()).or_else(|| item.get("query"));
            print(&mut result, caps, |out| results.into_iter().for_each(|results| told(results, out)));
        }
        "image_generation_end" => {
            let path = named(item.get("saved_path"));
            print(&mut result, caps, |out| {
                out.push_str(&path.map_or_else(|| "[image]".into(), |path| format!("[image] {path}")));
            });
        }
        "dynamic_tool_call_response" => {
            result.ok = item.get("success").is_none_or(|success| success.raw() != b"false");
            let content = item.get("error").filter(|error| !error.is_null()).or_else(|| item.get("content_items"));
            print(&mut result, caps, |out| content.into_iter().for_each(|content| told(content, out)));
        }
        "tool_search_output" => {
            let tools = item.get("tools").unwrap_or_default();
            print(&mut result, caps, |out| told(tools, out));
        }
        _ => returned(&mut result, item.get("output").unwrap_or_default(), caps),
    }
    result
}

/// How texts begin that say in words that a call failed, where no head comes before them.
const FAILURES: &[&str] = &[
    "aborted by user",
    "exec command rejected by user",
    "patch rejected by user",
    "patch rejected:",
    "apply_patch verification failed:",
    "failed to parse function arguments:",
    "failed to parse exec command arguments:",
    "execution error:",
    "exec_command failed",
    "write_stdin failed:",
    "unsupported call:",
    "unsupported custom tool call:",
];

/// How the heads of outputs begin.
const HEADS: &[&str] =
    &["Exit code: ", "Chunk ID: ", "Wall time: ", "Script completed\n", "Script failed\n", "Script running with "];

/// What a call returned: a text, which may be JSON or have a head; or parts that are such texts; or an object with a content.
fn returned(result: &mut ToolResult, said: Value<'_>, caps: &Caps) {
    if said.get("success").is_some_and(|success| success.raw() == b"false") {
        result.ok = false;
    }
    let said = if said.is_object() { said.get("content").unwrap_or(said) } else { said };
    let mut ok = result.ok;
    let single = (!said.is_list()).then_some(said);
    print(result, caps, |out| {
        for part in single.into_iter().chain(said.elements()) {
            out.fresh_line();
            match part.text().or_else(|| part.get("text").and_then(Value::text)) {
                Some(text) => ok &= print_text(&text, out),
                None => told(part, out),
            }
        }
    });
    result.ok = ok;
}

/// Prints a text that a call returned; `false` if it says that the call failed.
fn print_text(text: &str, out: &mut Plain<'_>) -> bool {
    let inner = Value(text.trim().as_bytes());
    if let Some(printed) = inner.get("output").filter(|_| inner.is_object()) {
        let code =
            inner.get("metadata").and_then(|metadata| metadata.get("exit_code")).or_else(|| inner.get("exit_code"));
        told(printed, out);
        return succeeded(code);
    }
    if HEADS.iter().any(|head| text.starts_with(head)) {
        let (code, body) = headed(text);
        out.push_str(body);
        return code.is_none_or(|code| code == "0");
    }
    out.push_str(text);
    !FAILURES.iter().any(|begins| text.starts_with(begins))
}

/// The exit code in the head of a text, or what says instead that it failed, and what stands below it.
fn headed(text: &str) -> (Option<&str>, &str) {
    let mut code = text.starts_with("Script failed\n").then_some("failed");
    let mut rest = text;
    while let Some((line, below)) = rest.split_once('\n') {
        if line == "Output:" {
            return (code, below);
        }
        let said = line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "));
        code = code.or_else(|| said.map(str::trim));
        rest = below;
    }
    match rest.trim_end() {
        "Output:" => (code, ""),
        // Instead of an output.
        "aborted by user" => (Some("aborted"), text),
        _ => (code, text),
    }
}

fn succeeded(code: Option<Value<'_>>) -> bool {
    code.is_none_or(|code| code.is_null() || code.raw() == b"0")
}

fn print(result: &mut ToolResult, caps: &Caps, write: impl FnOnce(&mut Plain<'_>)) {
    if let Some(printed) = output(caps, write) {
        result.truncated |= printed.truncated;
        result.output_summary = Some(printed.text);
    }
}

fn both(item: Value<'_>, out: &mut Plain<'_>) {
    if let Some(chars) = item.get("stdout").and_then(Value::chars) {
        out.decode(chars);
    }
    if let Some(chars) = item.get("stderr").filter(|err| !err.is_empty()).and_then(Value::chars) {
        out.fresh_line();
        out.push_str("[stderr] ");
        out.decode(chars);
    }
}

/// A text, or the parts of one, each on lines of its own.
fn told(said: Value<'_>, out: &mut Plain<'_>) {
    if let Some(chars) = said.chars() {
        return out.decode(chars);
    }
    if said.is_object() {
        return element(said, out);
    }
    for part in said.elements() {
        out.fresh_line();
        element(part, out);
    }
}

fn element(part: Value<'_>, out: &mut Plain<'_>) {
    let name = |key: &str| named(part.get(key));
    if let Some(text) = part.get("text").and_then(Value::chars).or_else(|| part.chars()) {
        out.decode(text);
    } else if let Some(title) = name("title").or_else(|| name("name")) {
        out.push_str(&title);
        if let Some(url) = name("url") {
            out.push(' ');
            out.push_str(&url);
        }
    } else if let Some(kind) = name("type") {
        let kind: String = kind.replace("input_", "");
        out.push_str(&format!("[{kind}]"));
    }
}
