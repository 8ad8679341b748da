//! What each kind of agent says about where its sessions lie: no machine, only places.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::Recorded;
use super::gather::Places;
use super::locate::Wanted;
use crate::config::Roots;
use crate::ids::SessionId;
use crate::limits;
use crate::source::json::Value;

/// Where the sessions of one kind of agent lie.
pub(crate) trait Layout: fmt::Debug + Sync {
    /// The session that a file's name stands for, if it is one that sessions have.
    fn session_of_file(&self) -> fn(&str) -> Option<SessionId>;

    /// What the beginning of a file says.
    fn recorded(&self) -> fn(&[u8]) -> Recorded;

    /// Whether a file with this beginning was written by this kind.
    fn wrote(&self, head: &[u8]) -> bool;

    /// Where to look for what is wanted.
    fn search(&self, roots: &Roots, cwd: Option<&str>, wanted: &Wanted) -> Search;

    /// Whether a session that names another directory than the pane's is none of the pane's, though the pane names it.
    fn is_of_its_directory(&self) -> bool {
        false
    }

    /// Where all sessions lie.
    fn all(&self, roots: &Roots) -> Vec<Attempt>;
}

/// A search: places that are looked at in turn until a file in them settles it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Search {
    pub(crate) attempts: Vec<Attempt>,
    /// The session that a path names, if only its files are to be looked at.
    pub(crate) session: Option<SessionId>,
    /// Where the file will be, if there is none yet. It is found by its session once it is there, so that this may be the
    /// best guess.
    pub(crate) pending: Option<Pending>,
}

/// Places, and the directory that must contain what is opened there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) under: String,
    pub(crate) places: Places,
}

/// A file that is not there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pending {
    pub(crate) path: String,
    pub(crate) under: String,
    pub(crate) session: SessionId,
}

/// Whether this could name a session. An id is data from outside: what is not made of these letters touches no path.
#[must_use]
pub fn is_session_id(text: &str) -> bool {
    let is_short = (1..=limits::MAX_SESSION_ID_BYTES).contains(&text.len());
    is_short && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The first line of a file, if it is an object. It may be cut: what was read of it before the cut counts.
pub(crate) fn first_object(head: &[u8]) -> Option<Value<'_>> {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let line = head.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
    Some(Value(line.trim_ascii())).filter(|value| value.is_object())
}

/// Whether a disk can have a directory of that name.
pub(crate) fn is_name(name: &str) -> bool {
    name.len() <= limits::MAX_NAME_BYTES && !name.contains('\0')
}
