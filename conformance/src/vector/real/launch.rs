//! How a server is started, and when it listens.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::herdr::Desk;
use crate::vector::real::address::{Address, free_port};
use crate::vector::real::interrupt;
use crate::vector::real::machine::Machine;
use crate::vector::real::process::{LOOK, Process};
use crate::vector::real::template::Template;
use crate::vector::stage::Trouble;

/// How long a server may take until it listens, unless somebody says otherwise.
const LISTENS_WITHIN: Duration = Duration::from_secs(20);
/// Ports that are tried: one that was free may be somebody else's a moment later.
const PORTS: usize = 3;
/// The beginning of the line in which a server says where it listens.
const LISTENING: &str = "listening ";
/// Variables by which servers and agents find what is not the kit's.
const FOREIGN: [&str; 8] = [
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "HERDR_SESSION",
    "PANEWIRE_TOKEN",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// The command line of a server, and its environment.
#[derive(Debug, Clone)]
pub struct Launch {
    command: Template,
    variables: BTreeMap<String, Template>,
    herdr: PathBuf,
    listens_within: Duration,
}

/// A server that listens.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) process: Process,
    pub(super) address: Address,
    pub(super) token: String,
}

/// What is known of where a server listens.
#[derive(Debug, PartialEq, Eq)]
struct Line<'a> {
    url: &'a str,
    /// `token-file` or `token-variable`, and what.
    token: Option<(&'a str, &'a str)>,
}

impl Launch {
    /// A command with places: see [`Template`]. `herdr` is a program that is the fake herdr when it is called by a link of
    /// that name.
    ///
    /// # Errors
    /// What is wrong with the command.
    pub fn new(command: &str, herdr: PathBuf) -> Result<Self, String> {
        let command = Template::command(command)?;
        Ok(Self { command, variables: BTreeMap::new(), herdr, listens_within: LISTENS_WITHIN })
    }

    /// With a variable `NAME=VALUE` in its environment; the value has places like the command.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn with_variable(mut self, assignment: &str) -> Result<Self, String> {
        let (name, value) = assignment
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| format!("a variable is written NAME=VALUE, not {assignment}"))?;
        self.variables.insert(name.into(), Template::text(value)?);
        Ok(self)
    }

    /// It may take so long until it listens.
    #[must_use]
    pub const fn listening_within(mut self, time: Duration) -> Self {
        self.listens_within = time;
        self
    }

    /// Starts it once, on a machine with nothing to serve, and ends it.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub fn rehearse(&self) -> Result<(), Trouble> {
        self.start(&self.machine(|_| Desk::default())?, false).map(drop)
    }

    pub(super) fn machine(&self, desk: impl FnOnce(&str) -> Desk) -> Result<Machine, Trouble> {
        Machine::new(&self.herdr, desk)
    }

    /// Starts it and waits until it listens. An obedient one reads what it may read, even as root.
    pub(super) fn start(&self, machine: &Machine, obedient: bool) -> Result<Started, Trouble> {
        let mut tried = 1;
        loop {
            match self.start_at(machine, free_port().map_err(Trouble)?, obedient)? {
                Ok(started) => return Ok(started),
                Err(_) if self.uses("port") && tried < PORTS => tried += 1,
                Err(ended) => return Err(ended),
            }
        }
    }

    /// The inner error: it ended before it listened.
    fn start_at(&self, machine: &Machine, port: u16, obedient: bool) -> Result<Result<Started, Trouble>, Trouble> {
        let filling = machine.filling(port);
        let words = self.command.fill(&filling);
        let mut command = self.surroundings(machine, &words);
        for (name, value) in &self.variables {
            command.env(name, value.fill(&filling).concat());
        }
        let shown = words.join(" ");
        let mut process = Process::start(command, &machine.log(), obedient)
            .map_err(|error| Trouble(format!("the server cannot be started: {error}\nits command: {shown}")))?;
        let began = Instant::now();
        loop {
            interrupt::check()?;
            let placed = self.place(machine, &process, port)?;
            let status = process.status().map_err(|error| Trouble(format!("the server is lost: {error}")))?;
            // Looked at last: somebody else may listen there while it ends.
            if let Some(status) = status {
                let words = process.last_words();
                let ended =
                    format!("the server ended before it listened, with {status}\nits command: {shown}\n{words}");
                return Ok(Err(Trouble(ended)));
            }
            if let Some((address, token)) = placed {
                return Ok(Ok(Started { process, address, token }));
            }
            if began.elapsed() >= self.listens_within {
                return Err(self.silent(port, &shown, &process));
            }
            thread::sleep(LOOK);
        }
    }

    /// Where it listens and its token, as soon as both are known.
    fn place(&self, machine: &Machine, process: &Process, port: u16) -> Result<Option<(Address, String)>, Trouble> {
        let stdout = process.stdout();
        let line = stdout.split_inclusive('\n').find_map(Line::of);
        let ours = self.uses("token").then(|| machine.token().to_owned());
        let Some(line) = line else {
            let by_port = ours.filter(|_| self.uses("port")).map(|token| (Address::of_port(port), token));
            return Ok(by_port.filter(|(address, _)| address.connect().is_ok()));
        };
        let token = match (ours, line.token) {
            (Some(ours), _) => ours,
            (None, Some(("token-file", file))) => fs::read_to_string(file)
                .map(|token| token.trim().to_owned())
                .map_err(|error| Trouble(format!("the token file of the server cannot be read: {file}: {error}")))?,
            (None, Some(("token-variable", name))) => {
                let why = format!("the server takes its token from the variable {name}: say --env {name}={{token}}");
                return Err(Trouble(why));
            }
            (None, _) => {
                return Err(Trouble(format!(
                    "the server says where it listens and not its token: put {{token}} into its command or its --env, or let it \
                 say `listening URL token-file FILE`\nit said: listening {}",
                    line.url
                )));
            }
        };
        Ok(Some((Address::of(line.url)?, token)))
    }

    fn surroundings(&self, machine: &Machine, words: &[String]) -> Command {
        let (program, arguments) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        let mut command = Command::new(program);
        command.args(arguments);
        FOREIGN.iter().for_each(|name| _ = command.env_remove(name));
        let filling = machine.filling(0);
        command.env("HOME", filling.home).env("HERDR_SOCKET_PATH", filling.herdr_socket);
        command.env("PATH", with_first(&machine.herdr_directory()));
        command
    }

    fn uses(&self, place: &str) -> bool {
        self.command.has(place) || self.variables.values().any(|value| value.has(place))
    }

    fn silent(&self, port: u16, shown: &str, process: &Process) -> Trouble {
        let within = self.listens_within.as_secs_f64();
        let answers = self.uses("port") && Address::of_port(port).connect().is_ok();
        let why = if answers {
            "listens, and its token is not known: put {token} into its command or its --env, or let it say \
             `listening URL token-file FILE`"
                .to_owned()
        } else if self.uses("port") {
            format!("does not listen on 127.0.0.1:{port} after {within} s")
        } else {
            format!(
                "did not say `listening http://HOST:PORT token-file FILE` within {within} s: put {{port}} into its command, or let it say so"
            )
        };
        Trouble(format!("the server {why}\nits command: {shown}\n{}", process.last_words()))
    }
}

impl<'a> Line<'a> {
    /// A whole line that says where a server listens.
    fn of(line: &'a str) -> Option<Self> {
        let rest = line.strip_suffix('\n')?.trim_end_matches('\r').strip_prefix(LISTENING)?;
        let (url, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        Some(Self { url, token: rest.split_once(' ') })
    }
}

/// The search path, with this directory first.
fn with_first(directory: &Path) -> OsString {
    let mut path = directory.as_os_str().to_owned();
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_server_is_read() {
        let line = |text| Line::of(text);
        let url = "http://127.0.0.1:1";
        assert_eq!(
            line("listening http://127.0.0.1:1 token-file /a b/token\n"),
            Some(Line { url, token: Some(("token-file", "/a b/token")) })
        );
        assert_eq!(line("listening http://127.0.0.1:1\r\n"), Some(Line { url, token: None }));
        assert_eq!(line("listening http://127.0.0.1:1 token-file /a"), None);
        assert_eq!(line("not listening\n"), None);
    }

    fn wrong(command: &str, variables: &[&str]) -> String {
        let launch = Launch::new(command, "/bin/true".into()).unwrap().listening_within(Duration::from_millis(300));
        let launch = variables.iter().fold(launch, |launch, variable| launch.with_variable(variable).unwrap());
        launch.rehearse().unwrap_err().0
    }

    #[test]
    fn why_a_server_cannot_be_started_is_said() {
        for (command, variables, said) in [
            ("/no/such/server {home}", vec![], "the server cannot be started: No such file"),
            (
                "/bin/sh -c 'echo broken pipe dream >&2; exit 3'",
                vec![],
                "ended before it listened, with exit status: 3",
            ),
            ("/bin/sh -c 'echo broken pipe dream >&2; exit 3'", vec![], "its standard error:\n  broken pipe dream"),
            ("sleep 1000", vec![], "did not say `listening http://HOST:PORT token-file FILE` within 0.3 s: put {port}"),
            ("sleep 1000", vec!["A={port}"], "does not listen on 127.0.0.1:"),
            ("/bin/sh -c 'echo listening http://127.0.0.1:1; exec sleep 1000'", vec![], "not its token: put {token}"),
            ("/bin/sh -c 'echo listening https://a; exec sleep 1000'", vec!["A={token}"], "begin with http://"),
            (
                "/bin/sh -c 'echo listening http://127.0.0.1:1 token-variable T; exec sleep 1000'",
                vec![],
                "say --env T={token}",
            ),
            (
                "/bin/sh -c 'echo listening http://127.0.0.1:1 token-file /none; exec sleep 1000'",
                vec![],
                "cannot be read: /none",
            ),
        ] {
            let told = wrong(command, &variables);
            assert!(told.contains(said), "{told}");
        }
    }

    #[test]
    fn a_server_that_does_not_say_its_token_is_asked_for_it() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let launch = Launch::new("sleep 1000", "/bin/true".into()).unwrap().with_variable("P={port}").unwrap();
        let machine = launch.machine(|_| Desk::default()).unwrap();
        let process = Process::start(Command::new("true"), &machine.log(), false).unwrap();
        let told = launch.silent(listener.local_addr().unwrap().port(), "sleep 1000", &process);
        assert!(told.0.starts_with("the server listens, and its token is not known: put {token}"), "{told}");
    }

    #[test]
    fn home_token_and_herdr_are_found_in_the_environment() {
        let script = "echo \"$T\" > \"$HOME/said\"; command -v herdr >> \"$HOME/said\"; \
                      test -S \"$HERDR_SOCKET_PATH\" && echo \"listening http://127.0.0.1:1\"; exec sleep 1000";
        let launch = Launch::new(&format!("/bin/sh -c '{script}'"), "/bin/true".into()).unwrap();
        let launch = launch.with_variable("T={token}").unwrap();
        let machine = launch.machine(|_| Desk::default()).unwrap();
        let started = launch.start(&machine, false).unwrap();
        assert_eq!((started.token.as_str(), started.token.len()), (machine.token(), 64));
        let said = fs::read_to_string(machine.home().join("said")).unwrap();
        let herdr = machine.herdr_directory().join("herdr");
        assert_eq!(said, format!("{}\n{}\n", machine.token(), herdr.display()));
        let home = machine.home();
        drop((started, machine));
        assert!(!home.exists());
    }
}
