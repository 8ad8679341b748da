//! The command line.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use lexopt::prelude::*;
use panewire_core::config::{HerdrMode, Push, PushDetail, PushTarget};
use panewire_core::io::Level;

use crate::pairing::Pair;

/// Where the daemon listens if nobody says.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:8787";

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Run the daemon.
    Serve(Serve),
    /// Print a conversation.
    Show {
        /// One JSON entry a line instead of text for people.
        json: bool,
        /// A file or a session id.
        what: String,
        /// Where to look for a session.
        places: Places,
    },
    /// Follow a pane of a running daemon.
    Tail {
        /// The daemon's address, if it was given.
        url: Option<String>,
        /// The pane.
        pane: String,
        /// Where the daemon keeps its token.
        places: Places,
    },
    /// Print the subagents of a pane of a running daemon.
    Tree {
        /// The daemon's address, if it was given.
        url: Option<String>,
        /// The pane.
        pane: String,
        /// Where the daemon keeps its token.
        places: Places,
    },
    /// List the panes.
    Panes(Places),
    /// Pair a device with a running daemon.
    Pair(Pair),
    /// List the devices of a running daemon, or revoke one.
    Devices {
        /// The device to revoke.
        revoke: Option<String>,
        /// Where the daemon keeps its token.
        places: Places,
    },
    /// Say what no reader knew in the transcripts on this machine.
    Drift {
        /// JSON instead of text for people.
        json: bool,
        /// What every record became, instead of what is not known.
        table: bool,
        /// A file, or a directory that is searched; otherwise the sessions of this machine.
        what: Option<PathBuf>,
        /// Where the sessions are.
        places: Places,
    },
    /// Print the token.
    Token {
        /// Make a new one first.
        rotate: bool,
        /// Where it lies.
        places: Places,
    },
    /// Print the help of a command, or the overview.
    Help(Topic),
    /// Print the version.
    Version,
}

/// What is to be done by the program that is a daemon and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerCommand {
    /// Run the daemon.
    Serve(Box<Serve>),
    /// Print the help.
    Help,
    /// Print the version.
    Version,
}

/// How the daemon runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serve {
    /// `HOST:PORT`; port 0 lets the system choose.
    pub listen: String,
    /// Where things are.
    pub places: Places,
    /// Further names for `Host`.
    pub allow_hosts: Vec<String>,
    /// Foreign origins that may call.
    pub allow_origins: Vec<String>,
    /// What the log says at most.
    pub log: Level,
    /// Who is told of agents that need a person.
    pub push: Push,
    /// Further authorities that certify who is told, in a PEM file.
    pub push_ca: Option<PathBuf>,
    /// Serve the demo pane even when there is something else to follow.
    pub demo: bool,
}

/// Where things are on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The home directory in which agents keep their sessions.
    pub home: Option<PathBuf>,
    /// Our own state.
    pub state_dir: Option<PathBuf>,
    /// Which ways to herdr are tried.
    pub herdr: HerdrMode,
    /// herdr's program.
    pub herdr_bin: Option<PathBuf>,
    /// herdr's socket.
    pub herdr_socket: Option<PathBuf>,
}

impl Default for Serve {
    fn default() -> Self {
        Self {
            listen: DEFAULT_LISTEN.to_owned(),
            places: Places::default(),
            allow_hosts: Vec::new(),
            allow_origins: Vec::new(),
            log: Level::Info,
            push: Push::default(),
            push_ca: None,
            demo: false,
        }
    }
}

impl Default for Places {
    fn default() -> Self {
        Self { home: None, state_dir: None, herdr: HerdrMode::Auto, herdr_bin: None, herdr_socket: None }
    }
}

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

/// A command line that makes no sense; its text is one line for the person who typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unclear {
    text: String,
    topic: Topic,
}

impl Unclear {
    const fn new(text: String) -> Self {
        Self { text, topic: Topic::Overview }
    }
}

impl fmt::Display for Unclear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, topic } = self;
        match (topic, topic.word()) {
            (Topic::Server, _) => write!(f, "{text} (see panewire-server --help)"),
            (_, Some(word)) => write!(f, "{text} (see panewire {word} --help)"),
            (_, None) => write!(f, "{text} (see panewire --help)"),
        }
    }
}

impl std::error::Error for Unclear {}

impl From<lexopt::Error> for Unclear {
    fn from(error: lexopt::Error) -> Self {
        Self::new(error.to_string())
    }
}

/// Reads a command line without the program's own name.
///
/// # Errors
/// [`Unclear`] for what is unknown, missing or too much.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, Unclear> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let word = |at: usize| arguments.get(at).and_then(|word| word.to_str()).filter(|word| !word.starts_with('-'));
    let topic = match (word(0), word(1)) {
        (Some("help"), None) => return Ok(Command::Help(Topic::Overview)),
        (Some("help"), Some(word)) => return Topic::named(word).map(Command::Help),
        (Some(word), _) => Topic::named(word)?,
        (None, _) => {
            return match options(Topic::Serve, arguments)? {
                Command::Help(_) => Ok(Command::Help(Topic::Overview)),
                command => Ok(command),
            };
        }
    };
    arguments.remove(0);
    options(topic, arguments)
}

/// Reads a command line of the program that is a daemon and nothing else. It takes the flags of `serve`, and the word
/// itself, so that one line in a script or a unit serves both programs.
///
/// # Errors
/// [`Unclear`] for what is unknown, missing or too much.
pub fn parse_server(arguments: impl IntoIterator<Item = OsString>) -> Result<ServerCommand, Unclear> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    match arguments.first().and_then(|word| word.to_str()) {
        Some("help") => return Ok(ServerCommand::Help),
        Some("serve") => drop(arguments.remove(0)),
        _ => {}
    }
    match options(Topic::Server, arguments)? {
        Command::Serve(serve) => Ok(ServerCommand::Serve(Box::new(serve))),
        Command::Version => Ok(ServerCommand::Version),
        _ => Ok(ServerCommand::Help),
    }
}

fn options(topic: Topic, arguments: Vec<OsString>) -> Result<Command, Unclear> {
    read(topic, arguments).map_err(|unclear| Unclear { topic, ..unclear })
}

fn read(topic: Topic, arguments: Vec<OsString>) -> Result<Command, Unclear> {
    let mut serve = Serve::default();
    let (mut json, mut table, mut rotate, mut url, mut subject) = (false, false, false, None, None);
    let (mut only_read, mut name, mut no_qr, mut revoke) = (false, None, false, None);
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help(topic)),
            Short('V') | Long("version") => return Ok(Command::Version),
            Long("home") => serve.places.home = Some(path(&mut parser)?),
            Long("state-dir") => serve.places.state_dir = Some(path(&mut parser)?),
            Long("herdr") if topic != Topic::Token => {
                serve.places.herdr = match text(&mut parser)?.as_str() {
                    "auto" => HerdrMode::Auto,
                    "socket" => HerdrMode::Socket,
                    "cli" => HerdrMode::Cli,
                    "none" => HerdrMode::Off,
                    other => return Err(Unclear::new(format!("--herdr is auto, socket, cli or none, not '{other}'"))),
                };
            }
            Long("herdr-bin") if topic != Topic::Token => serve.places.herdr_bin = Some(path(&mut parser)?),
            Long("herdr-socket") if topic != Topic::Token => serve.places.herdr_socket = Some(path(&mut parser)?),
            Long("listen") if topic.serves() => serve.listen = listen(text(&mut parser)?)?,
            Long("allow-host") if topic.serves() => serve.allow_hosts.push(text(&mut parser)?),
            Long("allow-origin") if topic.serves() => serve.allow_origins.push(text(&mut parser)?),
            Long("log") if topic.serves() => {
                serve.log = match text(&mut parser)?.as_str() {
                    "warn" => Level::Warn,
                    "info" => Level::Info,
                    "debug" => Level::Debug,
                    other => return Err(Unclear::new(format!("--log is warn, info or debug, not '{other}'"))),
                };
            }
            Long("push") if topic.serves() => {
                serve.push.targets.push(PushTarget::Webhook(push_url("--push", text(&mut parser)?)?));
            }
            Long("push-ntfy") if topic.serves() => {
                serve.push.targets.push(PushTarget::Ntfy(push_url("--push-ntfy", text(&mut parser)?)?));
            }
            Long("push-ca") if topic.serves() => serve.push_ca = Some(path(&mut parser)?),
            Long("push-detail") if topic.serves() => {
                serve.push.detail = match text(&mut parser)?.as_str() {
                    "none" => PushDetail::None,
                    "title" => PushDetail::Title,
                    "full" => PushDetail::Full,
                    other => return Err(Unclear::new(format!("--push-detail is none, title or full, not '{other}'"))),
                };
            }
            Long("demo") if topic.serves() => serve.demo = true,
            Long("json") if matches!(topic, Topic::Show | Topic::Drift) => json = true,
            Long("table") if topic == Topic::Drift => table = true,
            Long("url") if matches!(topic, Topic::Tail | Topic::Tree | Topic::Pair) => url = Some(text(&mut parser)?),
            Long("rotate") if topic == Topic::Token => rotate = true,
            Long("read") if topic == Topic::Pair => only_read = true,
            Long("name") if topic == Topic::Pair => name = Some(text(&mut parser)?),
            Long("no-qr") if topic == Topic::Pair => no_qr = true,
            Value(word) if topic == Topic::Devices && word == "revoke" && revoke.is_none() => {
                let id =
                    parser.value().map_err(|_| Unclear::new("ID is missing: 'panewire devices' lists them".into()))?;
                revoke = Some(id.string()?);
            }
            Value(value) if topic.takes_a_subject() && subject.is_none() => {
                subject = Some(value.string()?);
            }
            other => return Err(other.unexpected().into()),
        }
    }
    let places = serve.places.clone();
    let named = |subject: Option<String>, what: &str| {
        subject.ok_or_else(|| Unclear::new(format!("{what} is missing: 'panewire panes' lists what there is")))
    };
    Ok(match topic {
        Topic::Overview => Command::Help(topic),
        Topic::Serve | Topic::Server => Command::Serve(serve),
        Topic::Show => Command::Show { json, what: named(subject, "FILE or SESSION")?, places },
        Topic::Tail => Command::Tail { url, pane: named(subject, "PANE")?, places },
        Topic::Tree => Command::Tree { url, pane: named(subject, "PANE")?, places },
        Topic::Panes => Command::Panes(places),
        Topic::Pair => Command::Pair(Pair { read: only_read, name, url, no_qr, places }),
        Topic::Devices => Command::Devices { revoke, places },
        Topic::Drift => Command::Drift { json, table, what: subject.map(PathBuf::from), places },
        Topic::Token => Command::Token { rotate, places },
    })
}

fn text(parser: &mut lexopt::Parser) -> Result<String, Unclear> {
    Ok(parser.value()?.string()?)
}

fn path(parser: &mut lexopt::Parser) -> Result<PathBuf, Unclear> {
    let path = PathBuf::from(text(parser)?);
    if path.as_os_str().is_empty() {
        return Err(Unclear::new("a path is empty".to_owned()));
    }
    Ok(path)
}

/// Whether `https` URLs can be called.
const HAS_TLS: bool = cfg!(feature = "tls");

/// A URL that can be called. What is wrong is said without repeating it: it may hold a secret.
fn push_url(option: &str, url: String) -> Result<String, Unclear> {
    let wrong = |what: &str| Err(Unclear::new(format!("{option} {what}")));
    let Some((scheme, rest)) = url.split_once("://").filter(|(scheme, _)| ["http", "https"].contains(scheme)) else {
        return wrong("wants a URL that begins with http:// or https://");
    };
    if scheme == "https" && !HAS_TLS {
        return wrong(
            "speaks http only: this program was built without TLS; panewire-server has it, and so has panewire with the \
             feature 'tls'; or name a relay on this machine or network",
        );
    }
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    if host.is_empty() || host.contains('@') || url.contains('#') || url.chars().any(|char| !char.is_ascii_graphic()) {
        return wrong("wants a URL with a host, without a user, a fragment or characters that are not escaped");
    }
    Ok(url)
}

/// `HOST:PORT`; a port alone is one on loopback.
fn listen(address: String) -> Result<String, Unclear> {
    if address.parse::<u16>().is_ok() {
        return Ok(format!("127.0.0.1:{address}"));
    }
    match address.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(address),
        _ => Err(Unclear::new(format!("--listen wants HOST:PORT, not '{address}'"))),
    }
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

    fn named(word: &str) -> Result<Self, Unclear> {
        let topic = Self::COMMANDS.into_iter().find(|topic| topic.word() == Some(word));
        topic.ok_or_else(|| Unclear::new(format!("unknown command '{word}'")))
    }

    const fn word(self) -> Option<&'static str> {
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

    const fn takes_a_subject(self) -> bool {
        matches!(self, Self::Show | Self::Tail | Self::Tree | Self::Drift)
    }

    const fn serves(self) -> bool {
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

const OVERVIEW: &str = "\
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

const SERVE: &str = serve_help!("Run the daemon.\n\nusage: panewire [serve] [OPTIONS]\n");

const SERVER: &str = serve_help!(
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

  --rotate                make a new one; a running daemon keeps the old one until it is started again
  --state-dir DIR         where the token lies
";

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, Unclear> {
        parse(line.split_whitespace().map(OsString::from))
    }

    fn serve(line: &str) -> Serve {
        match parsed(line).unwrap() {
            Command::Serve(serve) => serve,
            other => panic!("{other:?}"),
        }
    }

    fn error(line: &str) -> String {
        parsed(line).unwrap_err().to_string()
    }

    #[test]
    fn nothing_at_all_serves() {
        let plain = serve("");
        assert_eq!(plain.listen, "127.0.0.1:8787");
        assert_eq!((plain.log, plain.demo), (Level::Info, false));
        assert_eq!(plain.places, Places::default());
        assert_eq!(serve("serve"), plain);
    }

    #[test]
    fn every_flag_of_serve_is_read() {
        let all = serve(
            "serve --listen 0.0.0.0:0 --home /h --state-dir=/s --herdr cli --herdr-bin /b --herdr-socket /k \
             --allow-host a --allow-host b --allow-origin https://c --log debug --demo \
             --push http://h/x --push-ntfy http://n:80/t?auth=y --push-detail full --push-ca /c",
        );
        let places = Places {
            home: Some("/h".into()),
            state_dir: Some("/s".into()),
            herdr: HerdrMode::Cli,
            herdr_bin: Some("/b".into()),
            herdr_socket: Some("/k".into()),
        };
        let expected = Serve {
            listen: "0.0.0.0:0".into(),
            places,
            allow_hosts: vec!["a".into(), "b".into()],
            allow_origins: vec!["https://c".into()],
            log: Level::Debug,
            push: Push {
                targets: vec![
                    PushTarget::Webhook("http://h/x".into()),
                    PushTarget::Ntfy("http://n:80/t?auth=y".into()),
                ],
                detail: PushDetail::Full,
            },
            push_ca: Some("/c".into()),
            demo: true,
        };
        assert_eq!(all, expected);
        assert_eq!(serve("--listen 9000").listen, "127.0.0.1:9000");
        assert_eq!(serve("--listen [::1]:9000").listen, "[::1]:9000");
        for (word, mode) in [("auto", HerdrMode::Auto), ("socket", HerdrMode::Socket), ("none", HerdrMode::Off)] {
            assert_eq!(serve(&format!("--herdr {word}")).places.herdr, mode);
        }
    }

    #[test]
    fn the_other_commands_take_their_own_flags() {
        let places = Places::default();
        assert_eq!(
            parsed("show --json a.jsonl"),
            Ok(Command::Show { json: true, what: "a.jsonl".into(), places: places.clone() })
        );
        assert_eq!(
            parsed("tail --url http://h:1 w1:p1"),
            Ok(Command::Tail { url: Some("http://h:1".into()), pane: "w1:p1".into(), places: places.clone() })
        );
        let pane = "w1:p1".to_owned();
        assert_eq!(parsed("tree w1:p1"), Ok(Command::Tree { url: None, pane, places: places.clone() }));
        assert_eq!(parsed("panes"), Ok(Command::Panes(places.clone())));
        let drift = |json, table, what: Option<&str>| {
            Ok(Command::Drift { json, table, what: what.map(PathBuf::from), places: places.clone() })
        };
        assert_eq!(parsed("drift"), drift(false, false, None));
        assert_eq!(parsed("drift --table --json /d"), drift(true, true, Some("/d")));
        assert_eq!(parsed("token --rotate"), Ok(Command::Token { rotate: true, places }));
    }

    #[test]
    fn pairing_has_its_own_words() {
        let places = Places { state_dir: Some("/s".into()), ..Places::default() };
        let all = "pair --read --name phone --url https://h --no-qr --state-dir /s";
        let (name, url) = (Some("phone".into()), Some("https://h".into()));
        assert_eq!(parsed(all), Ok(Command::Pair(Pair { read: true, name, url, no_qr: true, places: places.clone() })));
        let plain = Pair { read: false, name: None, url: None, no_qr: false, places: Places::default() };
        assert_eq!(parsed("pair"), Ok(Command::Pair(plain)));
        assert_eq!(parsed("devices"), Ok(Command::Devices { revoke: None, places: Places::default() }));
        let revoke = Some("1f2e3d4c".to_owned());
        assert_eq!(parsed("devices revoke 1f2e3d4c --state-dir /s"), Ok(Command::Devices { revoke, places }));
        assert_eq!(
            error("devices revoke"),
            "ID is missing: 'panewire devices' lists them (see panewire devices --help)"
        );
        assert_eq!(error("devices remove"), "unexpected argument \"remove\" (see panewire devices --help)");
        assert_eq!(error("pair x"), "unexpected argument \"x\" (see panewire pair --help)");
    }

    #[test]
    fn help_and_version_are_everywhere() {
        assert_eq!(parsed("--help"), Ok(Command::Help(Topic::Overview)));
        assert_eq!(parsed("help"), Ok(Command::Help(Topic::Overview)));
        assert_eq!(parsed("-V"), Ok(Command::Version));
        for (word, topic) in [
            ("serve", Topic::Serve),
            ("show", Topic::Show),
            ("tail", Topic::Tail),
            ("tree", Topic::Tree),
            ("panes", Topic::Panes),
            ("pair", Topic::Pair),
            ("devices", Topic::Devices),
            ("drift", Topic::Drift),
            ("token", Topic::Token),
        ] {
            assert_eq!(parsed(&format!("{word} --help")), Ok(Command::Help(topic)));
            assert_eq!(parsed(&format!("help {word}")), Ok(Command::Help(topic)));
            assert!(topic.help().contains("usage: panewire "));
            assert!(OVERVIEW.contains(&format!("panewire {word}")) || word == "serve");
        }
    }

    #[test]
    fn the_server_takes_the_flags_of_serve_and_no_command() {
        let server = |line: &str| parse_server(line.split_whitespace().map(OsString::from));
        let line = "--listen 9000 --demo --herdr none --state-dir /s";
        assert_eq!(server(line), Ok(ServerCommand::Serve(Box::new(serve(line)))));
        assert_eq!(server(&format!("serve {line}")), server(line));
        assert_eq!(server(""), Ok(ServerCommand::Serve(Box::default())));
        assert_eq!((server("help"), server("--demo -h")), (Ok(ServerCommand::Help), Ok(ServerCommand::Help)));
        assert_eq!(server("--version"), Ok(ServerCommand::Version));
        let error = |line| server(line).unwrap_err().to_string();
        assert_eq!(error("panes"), "unexpected argument \"panes\" (see panewire-server --help)");
        assert_eq!(error("--rotate"), "invalid option '--rotate' (see panewire-server --help)");
        let flags = |help: &'static str| help.split_once("\n\n  --listen").unwrap().1;
        assert_eq!(flags(SERVER), flags(SERVE));
    }

    #[test]
    fn what_makes_no_sense_is_said_in_one_line() {
        assert_eq!(error("srve"), "unknown command 'srve' (see panewire --help)");
        assert_eq!(error("help srve"), "unknown command 'srve' (see panewire --help)");
        assert_eq!(error("--bogus"), "invalid option '--bogus' (see panewire serve --help)");
        assert_eq!(error("panes --demo"), "invalid option '--demo' (see panewire panes --help)");
        let missing = "is missing: 'panewire panes' lists what there is";
        assert_eq!(error("show"), format!("FILE or SESSION {missing} (see panewire show --help)"));
        assert_eq!(error("tail"), format!("PANE {missing} (see panewire tail --help)"));
        assert_eq!(error("tail a b"), "unexpected argument \"b\" (see panewire tail --help)");
        assert_eq!(error("token --home="), "a path is empty (see panewire token --help)");
        assert_eq!(error("--herdr ssh"), "--herdr is auto, socket, cli or none, not 'ssh' (see panewire serve --help)");
        assert_eq!(error("--log loud"), "--log is warn, info or debug, not 'loud' (see panewire serve --help)");
        let detail = "--push-detail is none, title or full, not 'all' (see panewire serve --help)";
        assert_eq!(error("--push-detail all"), detail);
        for (url, wants) in [
            #[cfg(not(feature = "tls"))]
            ("https://h/secret", "speaks http only: this program was built without TLS; panewire-server has it, "),
            ("https:///secret", if HAS_TLS { "wants a URL with a host, " } else { "speaks http only: " }),
            ("ftp://h/secret", "wants a URL that begins with http://"),
            ("http:///secret", "wants a URL with a host, "),
            ("http://user:secret@h/", "wants a URL with a host, without a user, "),
            ("http://h/secret#x", "wants a URL with a host, "),
        ] {
            let said = error(&format!("--push {url}"));
            assert!(said.starts_with(&format!("--push {wants}")) && !said.contains("secret"), "{said}");
        }
        for address in ["x", "host", "host:", ":80", "host:99999"] {
            assert_eq!(
                error(&format!("--listen {address}")),
                format!("--listen wants HOST:PORT, not '{address}' (see panewire serve --help)")
            );
        }
    }
}
