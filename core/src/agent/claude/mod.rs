//! Claude Code.

pub mod locate;
pub mod sessions;

use alloc::format;
use alloc::string::String;

use crate::agent::{Caps, Line, Reader, Recorded};
use crate::entry::{Body, Entry, Role, Text};

/// The version of the rules by which records become entries. Another number means: counts may differ.
pub const RULES_VERSION: u32 = 1;

/// Which records of a file belong to the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Selection {
    /// A session's own file: records of child agents in it (old versions wrote them there) make no entry.
    Main,
    /// A child agent's file, whose records all are marked as a child's.
    Child,
}

/// Reads the lines of a Claude Code transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaudeReader {
    /// Which records make entries.
    pub selection: Selection,
}

impl Reader for ClaudeReader {
    fn count(&self, line: &Line<'_>) -> u64 {
        u64::from(line.over_cap.is_some())
    }

    fn read(&self, line: &Line<'_>, _caps: &Caps, each: &mut dyn FnMut(Entry)) {
        if let Some(bytes) = line.over_cap {
            each(Entry {
                id: format!("@{}#0", line.offset),
                parent_id: None,
                ts: None,
                role: Role::System,
                body: Body::Message(Text { text: format!("line too long to read ({bytes} bytes)"), truncated: false }),
                parsed: false,
            });
        }
    }
}

/// What the beginning of a transcript, whose last line may be cut, says about it.
#[must_use]
pub fn recorded(_head: &[u8]) -> Recorded {
    Recorded { cwd: None::<String>, conversation: false, first_prompt: None }
}
