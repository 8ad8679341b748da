//! The one table of what pi writes: every type of record, role and block, and what it becomes.
//!
//! What stands in no row is unknown: it makes an entry only if it carries something said, and then one that is not parsed.

use crate::source::json::Value;

/// What a record becomes, told by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// A message: see [`role`].
    Message,
    /// What stands for a conversation that was compacted: a system message.
    Compaction,
    /// What stands for a branch that was left: a system message.
    BranchSummary,
    /// What an extension told the assistant: a system message, unless it is not to be displayed.
    Custom,
    /// Bookkeeping: no entry.
    Bookkeeping,
    /// In no row of the table.
    Unknown,
}

/// What a message becomes, told by its `role`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoleKind {
    /// What the human typed.
    User,
    /// What the assistant said, thought or called, and why it failed.
    Assistant,
    /// The answer of a tool.
    Result,
    /// A `!` line that the human typed for the shell, and its output.
    Shell,
    /// What an extension told the assistant.
    Custom,
    /// The same as the records of that name, in a session that was rebuilt.
    Compaction,
    /// The same.
    BranchSummary,
    /// In no row of the table.
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
    /// An image: a note.
    Image,
    /// In no row of the table: an entry that is not parsed.
    Unknown,
}

/// The row of a record.
pub(super) fn record(kind: Option<Value<'_>>) -> RecordKind {
    match kind.and_then(Value::literal) {
        Some(b"message") => RecordKind::Message,
        Some(b"compaction") => RecordKind::Compaction,
        Some(b"branch_summary") => RecordKind::BranchSummary,
        Some(b"custom_message") => RecordKind::Custom,
        Some(
            b"session" | b"model_change" | b"thinking_level_change" | b"label" | b"session_info" | b"custom" | b"leaf",
        ) => RecordKind::Bookkeeping,
        _ => RecordKind::Unknown,
    }
}

/// The row of a message. Version 3 renamed `hookMessage` to `custom`.
pub(super) fn role(role: Option<Value<'_>>) -> RoleKind {
    match role.and_then(Value::literal) {
        Some(b"user") => RoleKind::User,
        Some(b"assistant") => RoleKind::Assistant,
        Some(b"toolResult") => RoleKind::Result,
        Some(b"bashExecution") => RoleKind::Shell,
        Some(b"custom" | b"hookMessage") => RoleKind::Custom,
        Some(b"compactionSummary") => RoleKind::Compaction,
        Some(b"branchSummary") => RoleKind::BranchSummary,
        _ => RoleKind::Unknown,
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
        Some(b"toolCall") => BlockKind::Call,
        Some(b"image") => BlockKind::Image,
        _ => BlockKind::Unknown,
    }
}

/// The tools that pi has by itself. Others are an extension's: nothing is decided by that, but they are drift.
pub(super) const TOOLS: &[&str] = &["read", "bash", "edit", "write", "grep", "find", "ls"];
