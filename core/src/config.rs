//! What a program decides before it starts a [`Bridge`](crate::Bridge).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::http::auth::TokenDigest;
use crate::http::site::Asset;
use crate::limits::Limits;

/// Everything that is chosen from outside. Paths are absolute, without a final `/`.
#[derive(Debug, Clone)]
pub struct Config {
    /// The version that `GET /info` names.
    pub version: String,
    /// Who this server is, for its clients.
    pub server: Server,
    /// The machine's own names, which a `Host` header may carry beside IP literals and `localhost`.
    pub own_names: Vec<String>,
    /// Further names for `Host` (`--allow-host`).
    pub allow_hosts: Vec<String>,
    /// Foreign origins that may call (`--allow-origin`), such as `https://app.example`.
    pub allow_origins: Vec<String>,
    /// Digests of the tokens that open the door.
    pub tokens: Vec<TokenDigest>,
    /// The file that they come from, if they come from one: a token that is written there later counts from the moment in
    /// which somebody brings it, and those of before count no more.
    pub token_file: Option<String>,
    /// The web view: what is served without a token. Empty: there is none.
    pub site: &'static [Asset],
    /// Where agents keep their sessions.
    pub roots: Roots,
    /// Where our own state lies.
    pub state_dir: String,
    /// How herdr is asked.
    pub herdr: Herdr,
    /// Who is told of agents that need a person.
    pub push: Push,
    /// When the demo pane is there.
    pub demo: Demo,
    /// The bounds.
    pub limits: Limits,
}

/// Who a server is, for its clients.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Server {
    /// 16 hexadecimal digits that stay the same for as long as its state directory is kept.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// Its address as a client on the same machine reaches it, without a final `/`.
    pub url: String,
}

/// The directories of the agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// Claude Code's configuration directory (`~/.claude`); sessions lie in `projects/` below it.
    pub claude: String,
    /// Codex's directory (`~/.codex`); sessions lie in `sessions/` and `archived_sessions/` below it.
    pub codex: String,
    /// pi's directory (`~/.pi/agent`); sessions lie in `sessions/` below it.
    pub pi: String,
    /// opencode's data directory (`~/.local/share/opencode`): its databases, and `storage/` of its older versions.
    pub opencode: String,
    /// Gemini CLI's directory (`~/.gemini`); sessions lie in `tmp/<project>/chats/` below it.
    pub gemini: String,
    /// opencode's state directory (`~/.local/state/opencode`), in which its service says where it listens.
    pub opencode_state: String,
}

impl Roots {
    /// The directories that agents have in a home of which nothing else is known.
    #[must_use]
    pub fn below(home: &str) -> Self {
        Self {
            claude: format!("{home}/.claude"),
            codex: format!("{home}/.codex"),
            pi: format!("{home}/.pi/agent"),
            gemini: format!("{home}/.gemini"),
            opencode: format!("{home}/.local/share/opencode"),
            opencode_state: format!("{home}/.local/state/opencode"),
        }
    }
}

/// How herdr is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Herdr {
    /// Which ways are tried.
    pub mode: HerdrMode,
    /// Its socket, if a path could be made out.
    pub socket: Option<String>,
    /// Where its named sessions lie, each in a directory of its own, if a path could be made out.
    pub sessions_dir: Option<String>,
    /// Its program: a path, or a name that is looked up in `PATH`.
    pub program: String,
}

/// Which ways to herdr are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HerdrMode {
    /// The socket where one answers, the command line otherwise, decided anew for each question.
    Auto,
    /// Only the socket.
    Socket,
    /// Only the command line.
    Cli,
    /// Never: standalone panes only.
    Off,
}

/// Who is told of agents that need a person, and how much.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Push {
    /// Where it is told. None: nobody watches for it.
    pub targets: Vec<PushTarget>,
    /// How much is told.
    pub detail: PushDetail,
}

/// Somebody who is told.
#[derive(Clone, PartialEq, Eq)]
pub enum PushTarget {
    /// A URL that takes JSON.
    Webhook(String),
    /// The URL of an ntfy topic.
    Ntfy(String),
}

/// Without what may be a secret.
impl core::fmt::Debug for PushTarget {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let kind = if matches!(self, Self::Webhook(_)) { "Webhook" } else { "Ntfy" };
        f.debug_tuple(kind).field(&self.place()).finish()
    }
}

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PushDetail {
    /// That some agent needs a person, or has finished.
    None,
    /// Also which: the names of machine and task.
    #[default]
    Title,
    /// Also what it asks or has said.
    Full,
}

/// When the pane `demo` is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demo {
    /// When there is nothing else to follow.
    Auto,
    /// Always.
    Always,
}
