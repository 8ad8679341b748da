//! Who is in a pane, as herdr tells it.

use alloc::string::String;

use serde_json::Value;

/// Who is in a pane: which life of it, and whether an agent is in the foreground.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occupant {
    /// New whenever herdr's server starts.
    pub terminal_id: Option<String>,
    /// Whether it is an agent that herdr knows.
    pub is_agent: bool,
}

impl Occupant {
    pub(super) fn from_value(pane: &Value) -> Option<Self> {
        let fields = pane.as_object()?;
        let filled = |key: &str| fields.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        Some(Self { terminal_id: filled("terminal_id").map(String::from), is_agent: filled("agent").is_some() })
    }
}
