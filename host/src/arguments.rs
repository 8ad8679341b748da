//! The command line.

mod topic;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use lexopt::prelude::*;
use panewire_core::config::{HerdrMode, Push, PushDetail, PushTarget};
use panewire_core::io::Level;

pub use topic::Topic;

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

#[cfg(test)]
mod tests;
