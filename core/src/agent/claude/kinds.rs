//! The one table of what Claude Code writes: every type of record, subtype, attachment and block, and what it becomes.
//!
//! What stands in no row is unknown: it makes an entry only if it carries something said, and then one that is not
//! parsed. No rule here looks behind `message`, so that counting may stop there.

use crate::source::json::Value;

/// What a record becomes, told by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// Something a human, a tool or the harness told the assistant.
    User,
    /// Something the assistant said, thought or called.
    Assistant,
    /// A notice of the harness: see [`system`].
    System,
    /// Something handed to the assistant beside the conversation: see [`attachment`].
    Attachment,
    /// Bookkeeping: no entry.
    Bookkeeping,
    /// In no row of the table.
    Unknown,
}

/// What a `system` record becomes, told by its `subtype`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SystemKind {
    /// Its content, if that is not blank.
    Content,
    /// A failed request and when it is tried again: an entry, whatever it holds.
    ApiError,
    /// The place where the conversation was compacted: an entry, whatever it holds.
    Compaction,
    /// Bookkeeping: no entry.
    Bookkeeping,
    /// In no row of the table: an entry that is not parsed, if it has content.
    Unknown,
}

/// What an `attachment` record becomes, told by its `attachment.type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttachmentKind {
    /// What was typed, or notified, while the assistant worked: its `prompt`.
    Queued,
    /// What a hook said: a system message.
    Hook,
    /// A file, directory or selection that the human attached.
    File,
    /// The state of work in the background: a system message.
    Task,
    /// Messages of other agents: a system message.
    Mailbox,
    /// Bookkeeping, or instructions of the harness to the assistant: no entry.
    Bookkeeping,
    /// In no row of the table: no entry.
    Unknown,
}

/// What an element of `content` becomes, told by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// Something said, unless it is blank.
    Text,
    /// A thought, unless only its signature was written.
    Thinking,
    /// The call of a tool.
    Call,
    /// The answer of a tool.
    Result,
    /// An image, a document and the like: a note.
    Media,
    /// The reply goes on with another model: a system message.
    Fallback,
    /// No entry.
    Hidden,
    /// In no row of the table: an entry that is not parsed.
    Unknown,
}

/// The row of a record.
pub(super) fn record(kind: Option<Value<'_>>) -> RecordKind {
    match kind.and_then(Value::literal) {
        Some(b"user") => RecordKind::User,
        Some(b"assistant") => RecordKind::Assistant,
        Some(b"system") => RecordKind::System,
        Some(b"attachment") => RecordKind::Attachment,
        Some(
            b"progress"
            | b"file-history-snapshot"
            | b"file-history-delta"
            | b"last-prompt"
            | b"mode"
            | b"permission-mode"
            | b"summary"
            | b"ai-title"
            | b"custom-title"
            | b"agent-name"
            | b"queue-operation"
            | b"bridge-session"
            | b"pr-link"
            | b"worktree-state"
            | b"relocated"
            | b"frame-link"
            | b"atis-latch"
            | b"started"
            | b"result"
            | b"tag"
            | b"agent-color"
            | b"agent-setting"
            | b"task-summary",
        ) => RecordKind::Bookkeeping,
        _ => RecordKind::Unknown,
    }
}

/// The row of a `system` record.
pub(super) fn system(subtype: Option<Value<'_>>) -> SystemKind {
    match subtype.map(|subtype| subtype.literal().unwrap_or_else(|| subtype.raw())) {
        None
        | Some(
            b"null"
            | b""
            | b"informational"
            | b"local_command"
            | b"away_summary"
            | b"scheduled_task_fire"
            | b"api_refusal"
            | b"model_refusal_fallback"
            | b"error"
            | b"session_start"
            | b"microcompact_boundary"
            | b"permission_retry"
            | b"bridge_status"
            | b"memory_saved",
        ) => SystemKind::Content,
        Some(b"api_error") => SystemKind::ApiError,
        Some(b"compact_boundary") => SystemKind::Compaction,
        Some(b"stop_hook_summary" | b"turn_duration" | b"agents_killed" | b"file_snapshot") => SystemKind::Bookkeeping,
        Some(_) => SystemKind::Unknown,
    }
}

/// The row of an `attachment` record.
pub(super) fn attachment(kind: Option<Value<'_>>) -> AttachmentKind {
    match kind.and_then(Value::literal) {
        Some(b"queued_command") => AttachmentKind::Queued,
        Some(
            b"hook_blocking_error"
            | b"hook_non_blocking_error"
            | b"hook_error_during_execution"
            | b"hook_stopped_continuation"
            | b"hook_additional_context"
            | b"hook_system_message",
        ) => AttachmentKind::Hook,
        Some(
            b"file"
            | b"directory"
            | b"pdf_reference"
            | b"already_read_file"
            | b"selected_lines_in_ide"
            | b"opened_file_in_ide"
            | b"mcp_resource",
        ) => AttachmentKind::File,
        Some(b"task_status") => AttachmentKind::Task,
        Some(b"teammate_mailbox") => AttachmentKind::Mailbox,
        Some(
            b"total_tokens_reminder"
            | b"task_reminder"
            | b"todo_reminder"
            | b"todo"
            | b"hook_success"
            | b"hook_cancelled"
            | b"hook_permission_decision"
            | b"async_hook_response"
            | b"deferred_tools_delta"
            | b"agent_listing_delta"
            | b"skill_listing"
            | b"mcp_instructions_delta"
            | b"structured_output"
            | b"goal_status"
            | b"command_permissions"
            | b"read_truncation_notice"
            | b"nested_memory"
            | b"relevant_memories"
            | b"auto_mode"
            | b"auto_mode_exit"
            | b"edited_text_file"
            | b"edited_image_file"
            | b"date_change"
            | b"compact_file_reference"
            | b"plan_file_reference"
            | b"invoked_skills"
            | b"dynamic_skill"
            | b"plan_mode"
            | b"plan_mode_exit"
            | b"plan_mode_reentry"
            | b"ultra_effort_enter"
            | b"ultra_effort_exit"
            | b"budget_usd"
            | b"token_usage"
            | b"batching_reminder_sent"
            | b"silent_turn_reminder"
            | b"prompt_snapshot"
            | b"diagnostics"
            | b"output_style"
            | b"critical_system_reminder"
            | b"compaction_reminder"
            | b"context_efficiency"
            | b"ultramemory"
            | b"verify_plan_reminder"
            | b"max_turns_reached"
            | b"current_session_memory"
            | b"agent_mention"
            | b"team_context"
            | b"skill_discovery"
            | b"companion_intro",
        ) => AttachmentKind::Bookkeeping,
        _ => AttachmentKind::Unknown,
    }
}

/// The row of an element of `content`; a bare string is text.
pub(super) fn block(raw: Value<'_>, kind: Option<Value<'_>>) -> BlockKind {
    if raw.literal().is_some() {
        return BlockKind::Text;
    }
    match kind.and_then(Value::literal) {
        Some(b"text") => BlockKind::Text,
        Some(b"thinking") => BlockKind::Thinking,
        Some(b"redacted_thinking") => BlockKind::Hidden,
        Some(b"tool_use" | b"server_tool_use" | b"mcp_tool_use") => BlockKind::Call,
        Some(b"image" | b"document" | b"tool_reference" | b"container_upload") => BlockKind::Media,
        Some(b"fallback") => BlockKind::Fallback,
        Some(kind) if kind.ends_with(b"tool_result") => BlockKind::Result,
        _ => BlockKind::Unknown,
    }
}
