//! The names that a reader of Claude Code expects to meet: tools with their inputs, and the members of what is shown.
//!
//! Nothing is decided by them. What is not among them is drift: perhaps something that should be shown and is not.

use super::kinds::RecordKind;

/// Members that any record of the conversation may have.
const COMMON: &[&str] = &[
    "type",
    "uuid",
    "parentUuid",
    "logicalParentUuid",
    "sessionId",
    "session_id",
    "agentId",
    "isSidechain",
    "cwd",
    "gitBranch",
    "version",
    "slug",
    "userType",
    "entrypoint",
    "timestamp",
    "isMeta",
    "teamName",
    "agentName",
    "forkedFrom",
    "parentToolUseID",
    "sessionKind",
    "toolUseID",
];

const USER: &[&str] = &[
    "message",
    "toolUseResult",
    "sourceToolAssistantUUID",
    "sourceToolUseID",
    "isCompactSummary",
    "isVisibleInTranscriptOnly",
    "permissionMode",
    "promptId",
    "promptSource",
    "origin",
    "imagePasteIds",
    "thinkingMetadata",
    "todos",
    "toolDenialKind",
    "mcpMeta",
    "summarizeMetadata",
    "planContent",
    "interruptedMessageId",
    "queuePriority",
    "toolEndsTurn",
    "classifierMetaLines",
    "interruptedByShutdown",
    "turnCompanion",
];

const ASSISTANT: &[&str] = &[
    "message",
    "requestId",
    "isApiErrorMessage",
    "apiError",
    "error",
    "apiErrorStatus",
    "apiErrorIsTransient",
    "errorDetails",
    "costUSD",
    "durationMs",
    "isAbortedMidStream",
    "effort",
    "perTurnEffort",
    "wireToolInputs",
    "apiBlockIndex",
    "serverClassifierRequest",
    "attributionMcpServer",
    "attributionMcpTool",
    "attributionSkill",
    "attributionPlugin",
    "attributionAgent",
    "model",
    "advisorModel",
    "supersedesUuids",
];

const SYSTEM: &[&str] = &[
    "subtype",
    "content",
    "level",
    "hookCount",
    "hookInfos",
    "hookErrors",
    "preventedContinuation",
    "stopReason",
    "hasOutput",
    "durationMs",
    "messageCount",
    "pendingBackgroundAgentCount",
    "pendingWorkflowCount",
    "compactMetadata",
    "microcompactMetadata",
    "error",
    "cause",
    "retryInMs",
    "retryAttempt",
    "maxRetries",
    "retractedMessageUuids",
    "hookAdditionalContext",
    "hookLabel",
    "commands",
    "isMeta",
    "url",
    "upgradeNudge",
    "writtenPaths",
    "verb",
    "budgetTokens",
    "trigger",
    "source",
    "scope",
    "direction",
    "requestId",
    "originalModel",
    "fallbackModel",
    "refusedUserMessageUuid",
    "apiRefusalExplanation",
    "apiRefusalCategory",
];

const ATTACHMENT: &[&str] = &["attachment", "rendered", "renderedRole"];

const MESSAGE: &[&str] = &[
    "id",
    "type",
    "role",
    "model",
    "content",
    "stop_reason",
    "stop_sequence",
    "stop_details",
    "usage",
    "container",
    "context_management",
    "diagnostics",
    "input_transforms",
];

const TEXT: &[&str] = &["type", "text", "citations", "cache_control"];
const THINKING: &[&str] = &["type", "thinking", "signature"];
const CALL: &[&str] = &["type", "id", "name", "input", "caller", "server_name", "cache_control"];
const RESULT: &[&str] = &["type", "tool_use_id", "content", "is_error", "cache_control"];
const MEDIA: &[&str] = &["type", "source", "title", "context", "citations", "cache_control", "tool_name", "file_id"];

/// Whether a record of this type is known to have such a member.
pub(super) fn is_record_field(kind: RecordKind, name: &str) -> bool {
    let own = match kind {
        RecordKind::User => USER,
        RecordKind::Assistant => ASSISTANT,
        RecordKind::System => SYSTEM,
        RecordKind::Attachment => ATTACHMENT,
        // Nothing of it is shown, whatever it holds; and of what is unknown everything is.
        RecordKind::Bookkeeping | RecordKind::Unknown => return true,
    };
    COMMON.contains(&name) || own.contains(&name)
}

/// Whether a message is known to have such a member.
pub(super) fn is_message_field(name: &str) -> bool {
    MESSAGE.contains(&name)
}

/// Whether a block of this type is known to have such a member.
pub(super) fn is_block_field(kind: super::kinds::BlockKind, name: &str) -> bool {
    use super::kinds::BlockKind;
    match kind {
        BlockKind::Text => TEXT.contains(&name),
        BlockKind::Thinking => THINKING.contains(&name),
        BlockKind::Call => CALL.contains(&name),
        BlockKind::Result => RESULT.contains(&name),
        BlockKind::Media => MEDIA.contains(&name),
        BlockKind::Fallback | BlockKind::Hidden | BlockKind::Unknown => true,
    }
}

/// The members that the input of a built-in tool may have; none if the tool is not known. The tools of other programs
/// (`mcp__…`) are all known, whatever their input.
pub(super) fn inputs(tool: &str) -> Option<&'static [&'static str]> {
    if tool.starts_with("mcp__") {
        return Some(ANYTHING);
    }
    TOOLS.iter().find(|(name, _)| *name == tool).map(|(_, inputs)| *inputs)
}

/// Whether a tool with these inputs may have this one.
pub(super) fn is_input(inputs: &[&str], name: &str) -> bool {
    inputs.contains(&"*") || inputs.contains(&name)
}

const ANYTHING: &[&str] = &["*"];

const TOOLS: &[(&str, &[&str])] = &[
    (
        "Agent",
        &[
            "description",
            "prompt",
            "subagent_type",
            "model",
            "run_in_background",
            "name",
            "team_name",
            "isolation",
            "mode",
        ],
    ),
    (
        "AskUserQuestion",
        &["questions", "question", "options", "answers", "annotations", "metadata", "multiSelect", "header"],
    ),
    (
        "Bash",
        &[
            "command",
            "description",
            "timeout",
            "run_in_background",
            "dangerouslyDisableSandbox",
            "sandbox",
            "shellExecutable",
        ],
    ),
    ("BashOutput", &["bash_id", "filter", "block", "wait_up_to"]),
    ("CronCreate", ANYTHING),
    ("CronDelete", ANYTHING),
    ("CronList", ANYTHING),
    ("Edit", &["file_path", "old_string", "new_string", "replace_all"]),
    ("EnterPlanMode", &[]),
    ("EnterWorktree", ANYTHING),
    ("ExitPlanMode", &["plan", "allowedPrompts", "launchSwarm", "teammateCount", "pushToRemote", "planFilePath"]),
    ("ExitWorktree", ANYTHING),
    ("Glob", &["pattern", "path"]),
    (
        "Grep",
        &[
            "pattern",
            "path",
            "glob",
            "type",
            "output_mode",
            "-n",
            "-A",
            "-B",
            "-C",
            "-i",
            "context",
            "head_limit",
            "offset",
            "multiline",
            "-o",
        ],
    ),
    ("KillBash", &["shell_id"]),
    ("KillShell", &["shell_id"]),
    ("LS", &["path", "ignore"]),
    ("LSP", &["operation", "filePath", "line", "character", "query"]),
    ("ListMcpResourcesTool", &["server"]),
    ("Monitor", ANYTHING),
    ("MultiEdit", &["file_path", "edits"]),
    ("NotebookEdit", &["notebook_path", "new_source", "cell_id", "cell_type", "edit_mode", "cell_number"]),
    ("NotebookRead", &["notebook_path", "cell_id"]),
    ("Read", &["file_path", "offset", "limit", "pages"]),
    ("ReadMcpResourceTool", &["server", "uri"]),
    ("ScheduleWakeup", &["delaySeconds", "prompt", "reason"]),
    ("SendMessage", ANYTHING),
    ("Skill", &["skill", "args", "command"]),
    ("SlashCommand", &["command"]),
    ("StructuredOutput", ANYTHING),
    (
        "Task",
        &[
            "description",
            "prompt",
            "subagent_type",
            "model",
            "run_in_background",
            "resume",
            "max_turns",
            "name",
            "team_name",
            "mode",
            "isolation",
            "allowed_tools",
        ],
    ),
    ("TaskCreate", &["subject", "description", "activeForm", "metadata"]),
    ("TaskGet", &["taskId"]),
    ("TaskList", &[]),
    ("TaskOutput", &["task_id", "block", "timeout"]),
    ("TaskStop", &["task_id", "shell_id"]),
    (
        "TaskUpdate",
        &["taskId", "status", "subject", "description", "activeForm", "owner", "addBlocks", "addBlockedBy", "metadata"],
    ),
    ("TeamCreate", ANYTHING),
    ("TeamDelete", ANYTHING),
    ("TodoRead", &[]),
    ("TodoWrite", &["todos"]),
    ("ToolSearch", &["query", "max_results"]),
    ("WebFetch", &["url", "prompt"]),
    ("WebSearch", &["query", "allowed_domains", "blocked_domains"]),
    ("Workflow", ANYTHING),
    ("Write", &["file_path", "content"]),
    ("exit_plan_mode", &["plan"]),
    ("web_fetch", ANYTHING),
    ("web_search", &["query"]),
];
