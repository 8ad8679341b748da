//! What the record of a call says of the agent that it starts.

use alloc::string::String;

use crate::agent::shown::named;
use crate::entry::caps;
use crate::limits::CHILD_LABEL_CHARS;
use crate::roster::digest;
use crate::source::json::Value;
use crate::source::spool::{Place, Spool, Started};

/// The tools that start whatever agent their arguments name.
const TOOLS: &[&str] = &["invoke_agent", "delegate_to_agent"];

/// Agents that older versions offer as tools of their own, where the record says no more than that.
const AGENTS: &[&str] = &["codebase_investigator", "cli_help", "generalist", "generalist_agent", "browser_agent"];

/// A call that starts an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::agent::gemini) struct Start {
    call: String,
    /// The child, if the call says which.
    child: Option<String>,
    agent_type: String,
    description: String,
    /// The digest of what it is told to do.
    prompt: u64,
    ended: bool,
}

impl Start {
    /// What a call with this id says, if it starts an agent.
    pub(in crate::agent::gemini) fn of(id: &str, call: Value<'_>, ended: bool) -> Option<Self> {
        let name = named(call.get("name"))?;
        let (args, shown) = (call.get("args").unwrap_or_default(), call.get("resultDisplay").unwrap_or_default());
        let child = named(call.get("agentId")).or_else(|| named(shown.get("agentId")));
        let is_tool = TOOLS.contains(&name.as_str());
        let is_agent = AGENTS.contains(&name.as_str()) || shown.get("isSubagentProgress").is_some_and(Value::is_true);
        if !is_tool && !is_agent && child.is_none() {
            return None;
        }
        let names: &[&[u8]] = &[b"agent_name", b"agentName"];
        let agent = names.iter().find_map(|key| named(args.members().find(|(name, _)| name == key).map(|(_, v)| v)));
        let agent = agent.or_else(|| named(shown.get("agentName")));
        let agent_type = agent.unwrap_or_else(|| if is_tool { String::new() } else { name });
        let told = args.get("prompt").or_else(|| {
            let others = args.members().filter(|(name, _)| !names.contains(name));
            others.map(|(_, value)| value).find(|value| value.literal().is_some())
        });
        let told = named(told).unwrap_or_default();
        Some(Self {
            call: id.into(),
            child,
            agent_type: caps::one_line(agent_type.chars(), CHILD_LABEL_CHARS).unwrap_or_default(),
            description: caps::one_line(told.chars(), CHILD_LABEL_CHARS).unwrap_or_default(),
            prompt: prompt(&told),
            ended,
        })
    }

    /// Writes it down for whoever reads the spool.
    pub(in crate::agent::gemini) fn push(&self, message: &Place, spool: &mut Spool) {
        let Self { call, child, agent_type, description, prompt, ended } = self;
        let (prompt, ended) = (*prompt, *ended);
        spool.push_started(message, &Started { call, child: child.as_deref(), agent_type, description, prompt, ended });
    }
}

/// By what a task is known again; 0 if there is none.
pub(super) fn prompt(text: &str) -> u64 {
    let text = text.trim();
    if text.is_empty() { 0 } else { digest(text.as_bytes()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_in_which_an_agent_is_started() {
        let start = |child: Option<&str>, agent_type: &str, told: &str| {
            Some(Start {
                call: "c1".into(),
                child: child.map(String::from),
                agent_type: agent_type.into(),
                description: told.replace('\n', " "),
                prompt: prompt(told),
                ended: true,
            })
        };
        for (call, expected) in [
            (
                r#"{"name":"invoke_agent","args":{"agent_name":"generalist","prompt":"Look\nhere"}}"#,
                start(None, "generalist", "Look\nhere"),
            ),
            (
                r#"{"name":"delegate_to_agent","args":{"agent_name":"codebase_investigator","objective":"Find it"}}"#,
                start(None, "codebase_investigator", "Find it"),
            ),
            (
                r#"{"name":"codebase_investigator","args":{"objective":"Find it"}}"#,
                start(None, "codebase_investigator", "Find it"),
            ),
            (
                r#"{"name":"gardener","agentId":"x7f3ab","args":{"deep":true,"query":"Find it"}}"#,
                start(Some("x7f3ab"), "gardener", "Find it"),
            ),
            (
                r#"{"name":"rakes","args":{},"resultDisplay":{"isSubagentProgress":true,"agentName":"gardener","agentId":"a"}}"#,
                start(Some("a"), "gardener", ""),
            ),
            (r#"{"name":"invoke_agent","args":{}}"#, start(None, "", "")),
            (r#"{"name":"read_file","args":{"prompt":"Find it"}}"#, None),
            (r#"{"args":{}}"#, None),
        ] {
            assert_eq!(Start::of("c1", Value(call.as_bytes()), true), expected, "{call}");
        }
        assert_eq!(prompt(" \n"), 0);
    }
}
