//! The normalised entry: what every kind of agent's record becomes, before it is given a seq and a wire shape.

pub mod ansi;
pub mod caps;
pub mod diff;
pub(crate) mod timestamp;
pub mod unified;

use alloc::string::String;

/// One message, thought, call, result or attachment of a conversation.
///
/// Its place in the stream ([`Seq`](crate::ids::Seq)) is not part of it: the stream knows that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `<uuid of the record>#<block>`; without a uuid `@<offset of the record>#<block>`.
    pub id: String,
    /// The uuid of the record that this one follows, where it says so.
    pub parent_id: Option<String>,
    /// The record's time stamp, as the agent wrote it.
    pub ts: Option<String>,
    /// Who said it.
    pub role: Role,
    /// What it is.
    pub body: Body,
    /// `false`: the reader could not place it; the text says what was seen.
    pub parsed: bool,
}

/// Who said it. A tool's result has the role `User` for every kind of agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The human, or a tool answering the assistant.
    User,
    /// The agent.
    Assistant,
    /// Neither: the harness around them.
    System,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Something said. Markdown.
    Message(Text),
    /// The assistant's reasoning.
    Thinking(Text),
    /// The assistant calls a tool.
    ToolCall(ToolCall),
    /// A tool answers.
    ToolResult(ToolResult),
    /// An image or another attachment, as a note such as `[image]`.
    Attachment(Text),
}

/// Text up to its cap.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// The text.
    pub text: String,
    /// Whether some of it was cut.
    pub truncated: bool,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// The agent's id of the call: equal to [`ToolResult::for_id`] of its answer.
    pub id: String,
    /// The tool's raw name.
    pub name: String,
    /// A short label.
    pub title: Option<String>,
    /// A second label, one line.
    pub subtitle: Option<String>,
    /// The shell command, for tools that run one.
    pub command: Option<String>,
    /// Whether some of the command was cut.
    pub command_truncated: bool,
    /// The base name of the file, for tools that work on one.
    pub file: Option<String>,
    /// A unified diff of what the call is about to change.
    pub diff: Option<String>,
    /// Whether some of the diff was cut.
    pub diff_truncated: bool,
    /// One line about the input, safe to show for any tool.
    pub input_summary: Option<String>,
}

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolResult {
    /// The id of the call it answers.
    pub for_id: String,
    /// `false`: an error, an interruption, a rejection.
    pub ok: bool,
    /// What it printed, or what happened.
    pub output_summary: Option<String>,
    /// The unified diff of what was changed.
    pub diff: Option<String>,
    /// Whether some of the output or of the diff was cut.
    pub truncated: bool,
}
