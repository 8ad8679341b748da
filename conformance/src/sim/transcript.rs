//! Lines as Claude Code writes them, of our own invention: numbered uuids, a clock of their own, a place on disk.

use serde_json::{Value, json};

use crate::sim::config::CLAUDE_ROOT;

/// Writes the lines of one session. Each method gives the bytes of one line with its newline, for the scenario to put
/// on the disk whole, in pieces or not at all.
#[derive(Debug, Clone)]
pub struct Transcript {
    session: String,
    cwd: String,
    lines: u32,
    calls: u32,
    parent: Option<String>,
    /// The agent whose conversation it is, if it is that of a child.
    child: Option<String>,
}

impl Transcript {
    /// A session that has not begun.
    #[must_use]
    pub fn new(session: &str, cwd: &str) -> Self {
        Self { session: session.into(), cwd: cwd.into(), lines: 0, calls: 0, parent: None, child: None }
    }

    /// The conversation of a child of this session, which has not begun.
    #[must_use]
    pub fn child(&self, agent_id: &str) -> Self {
        Self { child: Some(agent_id.into()), ..Self::new(&self.session, &self.cwd) }
    }

    /// Where Claude Code keeps it.
    #[must_use]
    pub fn path(&self) -> String {
        match &self.child {
            Some(agent_id) => format!("{}/agent-{agent_id}.jsonl", self.children()),
            None => format!("{}/{}.jsonl", project_directory(&self.cwd), self.session),
        }
    }

    /// The directory of the children of this session.
    #[must_use]
    pub fn children(&self) -> String {
        format!("{}/{}/subagents", project_directory(&self.cwd), self.session)
    }

    /// Where Claude Code keeps the metadata of this child.
    #[must_use]
    pub fn meta_path(&self) -> String {
        self.path().replace(".jsonl", ".meta.json")
    }

    /// The session's id.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The uuid of the newest line.
    #[must_use]
    pub fn uuid(&self) -> String {
        uuid(&self.session, self.lines)
    }

    /// The id of the newest call.
    #[must_use]
    pub fn call_id(&self) -> String {
        format!("toolu_{:04}", self.calls)
    }

    /// The human says something.
    pub fn user(&mut self, text: &str) -> String {
        self.message("user", &json!({"role": "user", "content": text}), "")
    }

    /// The agent says something.
    pub fn assistant(&mut self, text: &str) -> String {
        self.blocks(&json!([{"type": "text", "text": text}]))
    }

    /// The agent thinks.
    pub fn thinking(&mut self, text: &str) -> String {
        self.blocks(&json!([{"type": "thinking", "thinking": text, "signature": "c2ln"}]))
    }

    /// One line of the agent with several blocks: one entry for each that is shown.
    pub fn blocks(&mut self, content: &Value) -> String {
        let message = json!({
            "id": format!("msg_{:04}", self.lines + 1),
            "type": "message",
            "role": "assistant",
            "model": "a-model",
            "content": content,
            "stop_reason": null,
            "usage": {"input_tokens": 3, "output_tokens": 5},
        });
        self.message("assistant", &message, "")
    }

    /// The agent calls a tool.
    pub fn tool_use(&mut self, name: &str, input: &Value) -> String {
        self.calls += 1;
        let id = self.call_id();
        self.blocks(&json!([{"type": "tool_use", "id": id, "name": name, "input": input}]))
    }

    /// The newest call is answered: `tool_use_result` is what Claude Code adds beside the message.
    pub fn tool_result(&mut self, output: &str, is_error: bool, tool_use_result: &Value) -> String {
        let block =
            json!({"type": "tool_result", "tool_use_id": self.call_id(), "content": output, "is_error": is_error});
        let extra = format!(",\"toolUseResult\":{tool_use_result}");
        self.message("user", &json!({"role": "user", "content": [block]}), &extra)
    }

    /// The agent starts another one by a call of this id; `waits` is told in the call if it is told at all.
    pub fn spawn(&mut self, call: &str, waits: Option<bool>, prompt: &str) -> String {
        let mut input = json!({"description": format!("do {call}"), "prompt": prompt, "subagent_type": "Explore"});
        if let (Some(waits), Some(input)) = (waits, input.as_object_mut()) {
            input.insert("run_in_background".into(), json!(!waits));
        }
        self.blocks(&json!([{"type": "tool_use", "id": call, "name": "Agent", "input": input}]))
    }

    /// The call of this id is answered; `result` is what Claude Code adds beside the message.
    pub fn answer(&mut self, call: &str, result: &Value) -> String {
        let block = json!({"type": "tool_result", "tool_use_id": call, "content": [{"type": "text", "text": "Done."}]});
        let extra = format!(",\"toolUseResult\":{result}");
        self.message("user", &json!({"role": "user", "content": [block]}), &extra)
    }

    /// The harness tells the agent how these agents are; nothing of an end if there is no status.
    pub fn notification(&mut self, agents: &[&str], status: Option<&str>) -> String {
        let text = notification(agents, status);
        self.message("user", &json!({"role": "user", "content": text}), ",\"origin\":{\"kind\":\"task-notification\"}")
    }

    /// The human shows a picture.
    pub fn picture(&mut self) -> String {
        let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
        self.message("user", &json!({"role": "user", "content": [{"type": "image", "source": source}]}), "")
    }

    /// The harness says something.
    pub fn system(&mut self, text: &str) -> String {
        let body = format!("\"subtype\":\"informational\",\"content\":{},\"level\":\"info\"", json!(text));
        self.line("system", &body, "")
    }

    /// A line of bookkeeping: no entry.
    #[must_use]
    pub fn bookkeeping(&self) -> String {
        format!("{{\"type\":\"permission-mode\",\"permissionMode\":\"plan\",\"sessionId\":\"{}\"}}\n", self.session)
    }

    /// So many lines with one entry each, in the rhythm of a working agent.
    pub fn talk(&mut self, entries: u32) -> String {
        (0..entries).map(|_| self.next_line()).collect()
    }

    fn next_line(&mut self) -> String {
        let turn = self.lines + 1;
        match turn % 4 {
            1 => self.user(&format!("Step {turn}: look at shelf №{turn}, please.")),
            2 => self.assistant(&format!("I look at shelf {turn} — “one moment” 🔎.")),
            3 => self.tool_use("Bash", &json!({"command": format!("ls shelf/{turn}"), "description": "List a shelf"})),
            _ => {
                let output = format!("book-{turn}.txt\nbox");
                self.tool_result(&output, false, &json!({"stdout": output, "stderr": "", "interrupted": false}))
            }
        }
    }

    fn message(&mut self, kind: &str, message: &Value, extra: &str) -> String {
        self.line(kind, &format!("\"message\":{message}"), extra)
    }

    fn line(&mut self, kind: &str, body: &str, extra: &str) -> String {
        self.lines += 1;
        let uuid = self.uuid();
        let parent = self.parent.replace(uuid.clone());
        let (cwd, session, parent) = (json!(self.cwd), json!(self.session), json!(parent));
        let time = timestamp(self.lines);
        let child = self.child.as_ref().map(|id| format!("\"agentId\":{},", json!(id))).unwrap_or_default();
        let sidechain = self.child.is_some();
        format!(
            "{{\"parentUuid\":{parent},\"isSidechain\":{sidechain},{child}\"userType\":\"external\",\"cwd\":{cwd},\"sessionId\":{session},\
             \"version\":\"2.1.0\",\"gitBranch\":\"main\",\"type\":\"{kind}\",{body},\"uuid\":\"{uuid}\",\
             \"timestamp\":\"{time}\"{extra}}}\n"
        )
    }
}

/// A task notification as the harness writes it.
#[must_use]
pub fn notification(agents: &[&str], status: Option<&str>) -> String {
    let ids: String = agents.iter().map(|id| format!("<task-id>{id}</task-id>\n")).collect();
    let status = status.map(|status| format!("<status>{status}</status>\n")).unwrap_or_default();
    format!("<task-notification>\n{ids}{status}<summary>Agent \"it\" has news</summary>\n</task-notification>")
}

/// The directory of a project: every character of its path that is not an ASCII letter or digit becomes `-`.
#[must_use]
pub fn project_directory(cwd: &str) -> String {
    let encoded: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("{CLAUDE_ROOT}/projects/{encoded}")
}

/// A uuid that tells the session and the line.
fn uuid(session: &str, line: u32) -> String {
    let of_session = session.bytes().fold(0x811c_9dc5_u32, |hash, b| (hash ^ u32::from(b)).wrapping_mul(0x0100_0193));
    format!("{of_session:08x}-0000-4000-8000-{line:012x}")
}

/// One second for each line, from 2026-03-01T08:00:00Z on.
fn timestamp(line: u32) -> String {
    let (hours, minutes, seconds) = (8 + line / 3_600, line / 60 % 60, line % 60);
    format!("2026-03-{:02}T{:02}:{minutes:02}:{seconds:02}.250Z", 1 + hours / 24, hours % 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_one_json_object_that_knows_its_session() {
        let mut t = Transcript::new("s-1", "/srv/a b");
        let text = t.talk(9) + &t.bookkeeping() + &t.thinking("hm");
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 11);
        assert!(lines.iter().all(|line| line["sessionId"] == "s-1"));
        assert_eq!(lines[1]["parentUuid"], lines[0]["uuid"]);
        assert_eq!(lines[0]["cwd"], "/srv/a b");
        assert_eq!(lines[10]["timestamp"], "2026-03-01T08:00:10.250Z");
    }

    #[test]
    fn sessions_lie_where_claude_code_puts_them() {
        let t = Transcript::new("s-1", "/home/u/my.proj_ü");
        assert_eq!(t.path(), "/home/u/.claude/projects/-home-u-my-proj--/s-1.jsonl");
        assert_ne!(t.uuid(), Transcript::new("s-2", "/home/u").uuid());
    }
}
