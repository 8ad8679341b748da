//! What a command line is about, and the help on it.

use super::Unclear;

/// What help is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// All commands.
    Overview,
    /// `serve`
    Serve,
    /// `show`
    Show,
    /// `tail`
    Tail,
    /// `tree`
    Tree,
    /// `panes`
    Panes,
    /// `pair`
    Pair,
    /// `devices`
    Devices,
    /// `drift`
    Drift,
    /// `token`
    Token,
    /// The program that is a daemon and nothing else.
    Server,
}

impl Topic {
    const COMMANDS: [Self; 9] = [
        Self::Serve,
        Self::Show,
        Self::Tail,
        Self::Tree,
        Self::Panes,
        Self::Pair,
        Self::Devices,
        Self::Drift,
        Self::Token,
    ];

    pub(super) fn named(word: &str) -> Result<Self, Unclear> {
        let topic = Self::COMMANDS.into_iter().find(|topic| topic.word() == Some(word));
        topic.ok_or_else(|| Unclear::new(format!("unknown command '{word}'")))
    }

    pub(super) const fn word(self) -> Option<&'static str> {
        match self {
            Self::Overview | Self::Server => None,
            Self::Serve => Some("serve"),
            Self::Show => Some("show"),
            Self::Tail => Some("tail"),
            Self::Tree => Some("tree"),
            Self::Panes => Some("panes"),
            Self::Pair => Some("pair"),
            Self::Devices => Some("devices"),
            Self::Drift => Some("drift"),
            Self::Token => Some("token"),
        }
    }

    pub(super) const fn takes_a_subject(self) -> bool {
        matches!(self, Self::Show | Self::Tail | Self::Tree | Self::Drift)
    }

    pub(super) const fn serves(self) -> bool {
        matches!(self, Self::Serve | Self::Server)
    }

    /// The help.
    #[must_use]
    pub const fn help(self) -> &'static str {
        match self {
            Self::Overview => OVERVIEW,
            Self::Serve => SERVE,
            Self::Show => SHOW,
            Self::Tail => TAIL,
            Self::Tree => TREE,
            Self::Panes => PANES,
            Self::Pair => PAIR,
            Self::Devices => DEVICES,
            Self::Drift => DRIFT,
            Self::Token => TOKEN,
            Self::Server => SERVER,
        }
    }
}

pub(super) const OVERVIEW: &str = "\
Follow coding agents live: their transcripts, normalised and served over WebSocket.

usage:
  panewire [serve] [OPTIONS]            run the daemon
  panewire show [--json] FILE|SESSION   print a conversation from a file
  panewire tail [--url URL] PANE        follow a pane of a running daemon
  panewire tree [--url URL] PANE        print the subagents of a pane
  panewire panes                        list the panes, sessions and files it sees
  panewire pair [--read]                let a phone or a browser in, by a code to scan
  panewire devices [revoke ID]          list the devices that were let in, or end one's access
  panewire drift [--table] [DIR|FILE]   say what no reader knew in the transcripts
  panewire token [--rotate]             print the token, or a new one

  panewire COMMAND --help               more about a command and its options
  panewire --version
";

/// The flags of a daemon, behind its first lines.
macro_rules! serve_help {
    ($first:literal) => {
        concat!(
            $first,
            "
  --listen HOST:PORT      where to listen [127.0.0.1:8787]; port 0: any that is free
  --home DIR              the home directory whose agents are followed; CLAUDE_CONFIG_DIR does not count then
  --state-dir DIR         where the token and our own state lie [$XDG_STATE_HOME/panewire or ~/.local/state/panewire]
  --herdr auto|socket|cli|none
                          how herdr is asked [auto: its socket where one answers, its command line otherwise]
  --herdr-bin PATH        herdr's program [herdr]
  --herdr-socket PATH     herdr's socket [as herdr itself finds it]
  --allow-host NAME       a further name that clients may use for this machine (repeatable)
  --allow-origin ORIGIN   a web page's origin that may call, such as https://app.example (repeatable)
  --log warn|info|debug   what standard error tells [info]
  --push URL              post to this webhook when an agent needs a person or has finished (repeatable)
  --push-ntfy URL         the same to this ntfy topic (repeatable)
  --push-ca FILE          trust these authorities (PEM) too where it is pushed to https
  --push-detail none|title|full
                          how much is told: that, also the names of machine and task, also what is asked [title]
  --demo                  serve the pane 'demo' even when there is something else to follow

On standard output it says where it listens, in one line. Clients need the token: see 'panewire token'.
The environment variable PANEWIRE_TOKEN replaces the token file. SIGINT or SIGTERM ends it.

On Linux an entry is sent as soon as its line is written (inotify). Elsewhere, and where changes are not announced, as on a
network mount, files are looked at every 250 ms.
"
        )
    };
}

pub(super) const SERVE: &str = serve_help!("Run the daemon.\n\nusage: panewire [serve] [OPTIONS]\n");

pub(super) const SERVER: &str = serve_help!(
    "Run the daemon on all processors, for many clients. It answers as 'panewire serve' does.

usage: panewire-server [OPTIONS]
       panewire-server --help | --version
"
);

const SHOW: &str = "\
Print a conversation from a file, normalised. No daemon is needed.

usage: panewire show [--json] [OPTIONS] FILE|SESSION

  --json                  one JSON entry a line
  --home DIR              where to look for a session

A FILE is the path of a transcript; a SESSION is the id of an agent's session, or the pane of one, as 'panewire panes'
shows it: 'claude:ID', and so for codex:, pi: and gemini:. opencode keeps no such files: 'panewire tail' follows it.
Colours are for terminals; NO_COLOR switches them off.
";

const TAIL: &str = "\
Follow a pane of a running daemon: the newest page, then what comes.

usage: panewire tail [--url URL] [OPTIONS] PANE

  --url URL               the daemon [the one that runs on this machine, else http://127.0.0.1:8787]
  --state-dir DIR         where that daemon keeps its state

A PANE is one that 'panewire panes' lists, or claude:latest (the newest session of all), or claude:dir:DIR (the newest
of a directory); so it is for codex:, pi:, opencode: and gemini:. It runs until it is interrupted or the daemon stops.
The token comes from PANEWIRE_TOKEN or from the daemon's token file; ?token= in the URL wins.
";

const TREE: &str = "\
Print the subagents of a pane of a running daemon, each below the agent that started it.

usage: panewire tree [--url URL] [OPTIONS] PANE

  --url URL               the daemon [the one that runs on this machine, else http://127.0.0.1:8787]
  --state-dir DIR         where that daemon keeps its state

Of each it says whether it is done or how long it runs, what it has written, and what it said last. The id at the beginning
of a line is what ?subagent= takes.
";

const PANES: &str = "\
List the panes, sessions and files that a daemon would see.

usage: panewire panes [OPTIONS]

  --home DIR              the home directory whose agents are followed
  --herdr auto|socket|cli|none, --herdr-bin PATH, --herdr-socket PATH
                          how herdr is asked

The first word of each pane is what 'panewire tail' takes.
";

const PAIR: &str = "\
Let a device in: prints a code to scan, its address, and the code to type. It works once, for 5 minutes.

usage: panewire pair [--read] [--name NAME] [--url URL] [OPTIONS]

  --read                  the device may look and not answer
  --name NAME             how the device is called, whatever it calls itself
  --url URL               the address at which the device finds the daemon, such as https://box.example
                          [where the daemon listens, or this machine's address on its network]
  --no-qr                 without the code to scan
  --state-dir DIR         where the running daemon keeps its state

Every name in --url that is not this machine's own must be given to the daemon by --allow-host.
";

const DEVICES: &str = "\
List the devices that were paired with the running daemon, or revoke one: what it has open is closed at once.

usage: panewire devices [OPTIONS]
       panewire devices revoke ID [OPTIONS]

  --state-dir DIR         where the running daemon keeps its state
";

const DRIFT: &str = "\
Say what no reader knew in the transcripts: types, blocks, tools and fields, by the version of the agent.

usage: panewire drift [--table] [--json] [OPTIONS] [DIR|FILE]

  --table                 what every record became, known or not
  --json                  JSON instead of text
  --home DIR              whose sessions are read if there is no DIR and no FILE

Every *.jsonl file below DIR is read in full, and every document of Gemini CLI (session-*.json). A file whose name begins
with 'agent-' is a child's. opencode keeps no such files: what it wrote is not looked at.
";

const TOKEN: &str = "\
Print the token that clients need; it is made if there is none.

usage: panewire token [--rotate] [OPTIONS]

  --rotate                make a new one; the running daemon takes it up, and closes what was opened with the old one
  --state-dir DIR         where the token lies
";
