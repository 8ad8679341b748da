//! What `POST /send`, `/approve` and `/agent-mode/cycle` answer.

use alloc::string::String;

use serde::Serialize;

/// That a request was carried out, or why it changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Receipt {
    /// Everything was typed.
    Sent {
        /// Always.
        ok: bool,
    },
    /// An approval.
    Approval {
        /// Always: the question was looked at.
        ok: bool,
        /// Whether Enter was pressed, by this request.
        applied: bool,
        /// Why not.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Another permission mode was asked for.
    Mode {
        /// Always: the key was typed.
        ok: bool,
        /// Whether the agent shows another mode by now.
        cycled: bool,
        /// The mode that it shows.
        #[serde(skip_serializing_if = "Option::is_none")]
        permission_mode: Option<String>,
    },
}

#[cfg(test)]
mod tests {
    use super::Receipt;

    #[test]
    fn what_is_not_known_is_left_out() {
        let text = |receipt: &Receipt| serde_json::to_string(receipt).unwrap();
        assert_eq!(text(&Receipt::Sent { ok: true }), r#"{"ok":true}"#);
        let approval = Receipt::Approval { ok: true, applied: false, reason: Some("stale".into()) };
        assert_eq!(text(&approval), r#"{"ok":true,"applied":false,"reason":"stale"}"#);
        let mode = Receipt::Mode { ok: true, cycled: true, permission_mode: Some("plan".into()) };
        assert_eq!(text(&mode), r#"{"ok":true,"cycled":true,"permission_mode":"plan"}"#);
        let mode = Receipt::Mode { ok: true, cycled: false, permission_mode: None };
        assert_eq!(text(&mode), r#"{"ok":true,"cycled":false}"#);
    }
}
