//! The one table of what Codex writes: every type of record, item and event, and what it becomes.
//!
//! What stands in no row is unknown: it makes an entry only if it carries something said, and then one that is not parsed.

use crate::source::json::Value;

/// What a record is, told by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// What the session is; the first one counts.
    Meta,
    /// How the next turn is run.
    Turn,
    /// A part of the model's conversation: see [`item`].
    Item,
    /// An event that Codex showed: see [`event`].
    Event,
    /// The conversation was compacted: a system message.
    Compacted,
    /// Bookkeeping: no entry.
    Bookkeeping,
    /// In no row of the table.
    Unknown,
}

/// What a part of the model's conversation becomes, told by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// Something said, by its role.
    Message,
    /// Thoughts: one for each part of the summary, and of what was thought where that is written.
    Reasoning,
    /// The call of a tool.
    Call,
    /// The answer of a tool.
    Output,
    /// What another agent told this one.
    Peer,
    /// Bookkeeping: no entry.
    Bookkeeping,
    /// In no row of the table.
    Unknown,
}

/// What an event becomes, told by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    /// What the human typed: its `message`.
    User,
    /// What the assistant said: its `message`.
    Assistant,
    /// What the assistant thought: its `text`.
    Reasoning,
    /// An item of any kind came to its end: see [`completed`].
    Completed,
    /// A tool was called, or has answered.
    Call,
    Answer,
    /// A turn began: who forks a session is told by it where its own part begins.
    TurnBegan,
    /// A turn came to its end: no entry, unless it failed.
    TurnEnded,
    /// An error: a system message.
    Error,
    /// A turn was stopped: a system message.
    Aborted,
    /// The conversation was compacted: a system message.
    Compacted,
    /// Something that happened beside the conversation: a system message.
    Notice,
    /// Bookkeeping: no entry.
    Bookkeeping,
    /// In no row of the table.
    Unknown,
}

/// What a completed item becomes, told by its `item.type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CompletedKind {
    User,
    Assistant,
    /// A plan that the assistant proposes: its message.
    Plan,
    Reasoning,
    Compacted,
    /// The items of the model's conversation say the same.
    Bookkeeping,
    /// In no row of the table.
    Unknown,
}

/// The row of a record.
pub(super) fn record(kind: Option<Value<'_>>) -> RecordKind {
    match kind.and_then(Value::literal) {
        Some(b"session_meta") => RecordKind::Meta,
        Some(b"turn_context") => RecordKind::Turn,
        Some(b"response_item") => RecordKind::Item,
        Some(b"event_msg") => RecordKind::Event,
        Some(b"compacted") => RecordKind::Compacted,
        Some(
            b"world_state"
            | b"inter_agent_communication"
            | b"inter_agent_communication_metadata"
            | b"token_usage_record"
            | b"session_state",
        ) => RecordKind::Bookkeeping,
        _ => RecordKind::Unknown,
    }
}

/// The row of a part of the model's conversation.
pub(super) fn item(kind: Option<Value<'_>>) -> ItemKind {
    match kind.and_then(Value::literal) {
        Some(b"message") => ItemKind::Message,
        Some(b"reasoning") => ItemKind::Reasoning,
        Some(
            b"function_call"
            | b"custom_tool_call"
            | b"local_shell_call"
            | b"web_search_call"
            | b"tool_search_call"
            | b"image_generation_call",
        ) => ItemKind::Call,
        Some(b"function_call_output" | b"custom_tool_call_output" | b"tool_search_output") => ItemKind::Output,
        Some(b"agent_message") => ItemKind::Peer,
        Some(
            b"ghost_snapshot"
            | b"compaction"
            | b"context_compaction"
            | b"compaction_summary"
            | b"compaction_trigger"
            | b"additional_tools"
            | b"other",
        ) => ItemKind::Bookkeeping,
        _ => ItemKind::Unknown,
    }
}

/// The row of an event.
pub(super) fn event(kind: Option<Value<'_>>) -> EventKind {
    match kind.and_then(Value::literal) {
        Some(b"user_message") => EventKind::User,
        Some(b"agent_message") => EventKind::Assistant,
        Some(b"agent_reasoning" | b"agent_reasoning_raw_content") => EventKind::Reasoning,
        Some(b"item_completed") => EventKind::Completed,
        Some(b"dynamic_tool_call_request") => EventKind::Call,
        Some(
            b"exec_command_end"
            | b"patch_apply_end"
            | b"mcp_tool_call_end"
            | b"web_search_end"
            | b"image_generation_end"
            | b"dynamic_tool_call_response",
        ) => EventKind::Answer,
        Some(b"task_started" | b"turn_started") => EventKind::TurnBegan,
        Some(b"task_complete" | b"turn_complete" | b"turn.completed") => EventKind::TurnEnded,
        Some(b"turn_aborted") => EventKind::Aborted,
        Some(b"context_compacted") => EventKind::Compacted,
        Some(b"error") => EventKind::Error,
        Some(
            b"stream_error"
            | b"warning"
            | b"undo_completed"
            | b"thread_rolled_back"
            | b"entered_review_mode"
            | b"exited_review_mode",
        ) => EventKind::Notice,
        Some(
            b"token_count"
            | b"account/rateLimits/updated"
            | b"codex/event/raw_item"
            | b"raw_response_item"
            | b"session_configured"
            | b"thread_name_updated"
            | b"thread_goal_updated"
            | b"thread_settings_applied"
            | b"guardian_assessment"
            | b"sub_agent_activity"
            | b"collab_agent_spawn_end"
            | b"collab_agent_interaction_end"
            | b"collab_waiting_end"
            | b"collab_close_end"
            | b"collab_resume_end"
            | b"view_image_tool_call"
            | b"item_started"
            | b"agent_message_delta"
            | b"agent_reasoning_delta"
            | b"agent_reasoning_section_break"
            | b"exec_command_begin"
            | b"exec_command_output_delta"
            | b"patch_apply_begin"
            | b"mcp_tool_call_begin"
            | b"web_search_begin"
            | b"image_generation_begin"
            | b"background_event"
            | b"turn_diff"
            | b"plan_update"
            | b"hook_started"
            | b"hook_completed"
            | b"deprecation_notice"
            | b"shutdown_complete",
        ) => EventKind::Bookkeeping,
        _ => EventKind::Unknown,
    }
}

/// The row of a completed item; its name is written in two ways.
pub(super) fn completed(kind: Option<Value<'_>>) -> CompletedKind {
    match kind.and_then(Value::literal) {
        Some(b"UserMessage" | b"user_message") => CompletedKind::User,
        Some(b"AgentMessage" | b"agent_message") => CompletedKind::Assistant,
        Some(b"Plan" | b"plan") => CompletedKind::Plan,
        Some(b"Reasoning" | b"reasoning") => CompletedKind::Reasoning,
        Some(b"ContextCompaction" | b"context_compaction") => CompletedKind::Compacted,
        Some(
            b"WebSearch"
            | b"Extension"
            | b"ImageView"
            | b"ImageGeneration"
            | b"FileChange"
            | b"CommandExecution"
            | b"McpToolCall"
            | b"DynamicToolCall"
            | b"CollabAgentToolCall"
            | b"HookPrompt"
            | b"EnteredReviewMode"
            | b"ExitedReviewMode"
            | b"SubAgentActivity"
            | b"Sleep",
        ) => CompletedKind::Bookkeeping,
        _ => CompletedKind::Unknown,
    }
}
