//! `run`: plays the vectors, and tells what came of them.

use std::env;
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::{ExitCode, exit};
use std::thread;
use std::time::{Duration, Instant};

use async_signal::{Signal, Signals};
use futures_lite::StreamExt as _;
use futures_lite::future::block_on;
use panewire_conformance::vector::real::{Launch, Running, Subject, interrupt, is_interrupted};
use panewire_conformance::vector::side_by_side::{Manner, play_on, side_by_side};
use panewire_conformance::vector::{Catalog, Played, Report, Sentences, Simulated, Vector};
use panewire_conformance::wrong::{self, Fault, play_with};

/// What is written where the command line makes no sense.
pub(crate) const USAGE: &str = "\
usage: panewire-conformance run --core [OPTIONS]
       panewire-conformance run --server 'CMD with {home} {port} {herdr} {token}' [--env NAME=VALUE]... [OPTIONS]
       panewire-conformance run --url URL [--token TOKEN] [--home DIR] [--desk FILE] [OPTIONS]
       panewire-conformance run --list [--only NAME]... [--vectors DIR]
       panewire-conformance run --help";

const HELP: &str = "\
Plays the vectors of the mobile transcript contract, and says what was expected, what came, and which sentence that breaks.

  --core                  on the bare core, in virtual time
  --server 'CMD ...'      on a server that is started for each vector, with a home and a herdr of its own
  --env NAME=VALUE        a variable in its environment (repeatable)
  --url URL               on a server that runs already, one vector after the other
  --token TOKEN           its token [$PANEWIRE_TOKEN]
  --home DIR              the home directory of its agents: files are put there, and taken away again
  --desk FILE             the file from which its herdr answers, which is panewire-fake-herdr

  --only NAME             this vector (repeatable)
  --list                  print which there are
  --strict                every vector counts, not only those marked seed
  --slow                  on a server: play in real time what waits for long, too
  --timeout SECONDS       how long everything that must come may take at least [5]; a server to listen [20]
  --jobs N                so many vectors at a time [twice the processors]
  --json FILE             what came of it, for programs
  --junit FILE            what came of it, for a continuous integration
  --vectors DIR           vectors of your own: each in a directory with the name of its behaviour
  --fault NAME            make what is played on wrong in this way: `faults` has the names, and what must notice

In CMD and VALUE these are filled in. No shell reads the command; quotes and backslashes work as in one.
  {home}                  the home directory of the agents, which HOME names too
  {port}                  a free port of 127.0.0.1. A server that chooses its own says so in a line on standard output:
                            listening http://HOST:PORT token-file FILE
  {token}                 the token. Without it the server makes its own, and names the file in that line
  {herdr}                 the command herdr, which is also the first in PATH
  {herdr-socket}          the socket of herdr, which HERDR_SOCKET_PATH names too

Exit code: 0 every vector that counts passed; 1 one did not; 2 the command line makes no sense; 3 the server could not be
started or reached; 4 none failed, but some that count could not be played in this way; 130 it was interrupted.
";

/// Seconds that a server may take until it listens, at least.
const LISTENS_WITHIN: Duration = Duration::from_secs(20);

/// What is to be played, and on what.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    help: bool,
    core: bool,
    server: Option<String>,
    variables: Vec<String>,
    url: Option<String>,
    token: Option<String>,
    home: Option<PathBuf>,
    desk: Option<PathBuf>,
    list: bool,
    strict: bool,
    slow: bool,
    only: Vec<String>,
    timeout: Duration,
    jobs: Option<NonZeroUsize>,
    json: Option<PathBuf>,
    junit: Option<PathBuf>,
    vectors: Option<PathBuf>,
    fault: Option<&'static Fault>,
}

impl Wanted {
    /// Reads the command line behind `run`.
    pub(crate) fn parse(words: &[&str]) -> Result<Self, String> {
        let mut wanted = Self::default();
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value\n{USAGE}"));
            let number = |text: &str| format!("{word} wants a number above 0, not {text}");
            match word {
                "--help" | "-h" => wanted.help = true,
                "--core" => wanted.core = true,
                "--server" => wanted.server = Some(value()?.into()),
                "--env" => wanted.variables.push(value()?.into()),
                "--url" => wanted.url = Some(value()?.into()),
                "--token" => wanted.token = Some(value()?.into()),
                "--home" => wanted.home = Some(value()?.into()),
                "--desk" => wanted.desk = Some(value()?.into()),
                "--list" => wanted.list = true,
                "--strict" => wanted.strict = true,
                "--slow" => wanted.slow = true,
                "--only" => wanted.only.push(value()?.into()),
                "--timeout" => {
                    let text = value()?;
                    let seconds = text.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
                    let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                    wanted.timeout = time.ok_or_else(|| number(text))?;
                }
                "--jobs" => {
                    let text = value()?;
                    wanted.jobs = Some(text.parse().map_err(|_| number(text))?);
                }
                "--json" => wanted.json = Some(value()?.into()),
                "--junit" => wanted.junit = Some(value()?.into()),
                "--vectors" => wanted.vectors = Some(value()?.into()),
                "--fault" => {
                    let name = value()?;
                    let fault = wrong::named(name);
                    wanted.fault = Some(fault.ok_or_else(|| format!("no fault is named {name}: see faults"))?);
                }
                _ => return Err(format!("{word} is no option of run\n{USAGE}")),
            }
        }
        wanted.checked()
    }

    fn checked(self) -> Result<Self, String> {
        let on = [self.core, self.server.is_some(), self.url.is_some()].into_iter().filter(|on| *on).count();
        if on > 1 {
            return Err(format!("one of --core, --server and --url at a time\n{USAGE}"));
        }
        if on == 0 && !self.list && !self.help {
            return Err(format!("what is to be played?\n{USAGE}"));
        }
        let of_server = (!self.variables.is_empty() && self.server.is_none()).then_some("--env is for --server");
        let of_url = (self.token.is_some() || self.home.is_some() || self.desk.is_some()) && self.url.is_none();
        let of_url = of_url.then_some("--token, --home and --desk are for --url");
        of_server.or(of_url).map_or(Ok(self), |misplaced| Err(format!("{misplaced}\n{USAGE}")))
    }

    /// Plays them; [`HELP`] says what the exit codes mean.
    pub(crate) fn run(self) -> Result<ExitCode, String> {
        if self.help {
            print!("{USAGE}\n\n{HELP}");
            return Ok(ExitCode::SUCCESS);
        }
        let catalog = self.vectors.as_deref().map_or_else(Catalog::mobile, Catalog::of)?;
        let sentences = Sentences::mobile()?;
        if let Some(unknown) = self.only.iter().find(|name| catalog.named(name).is_none()) {
            return Err(format!("no vector is named {unknown}: see run --list"));
        }
        let vectors: Vec<&Vector> = catalog.vectors().iter().filter(|vector| self.wants(vector)).collect();
        if self.list {
            for vector in vectors {
                let slow = if vector.slow { ", slow" } else { "" };
                println!("{} ({}{slow}): {}", vector.name, vector.mark.name(), vector.title);
            }
            return Ok(ExitCode::SUCCESS);
        }
        if !self.core {
            heed_signals()?;
        }
        let began = Instant::now();
        let (subject, played) = match self.play(&vectors)? {
            Ok(played) => played,
            Err(trouble) => {
                eprintln!("{trouble}");
                return Ok(ExitCode::from(if is_interrupted() { INTERRUPTED } else { 3 }));
            }
        };
        if is_interrupted() {
            eprintln!("interrupted: every server was ended, and everything put away");
            return Ok(ExitCode::from(INTERRUPTED));
        }
        let report = Report { subject, played, took: began.elapsed(), sentences: &sentences };
        print!("{report}");
        self.write(&report)?;
        Ok(self.verdict(&report))
    }

    /// What was played, and what came of it; or why there is no server.
    fn play<'a>(&self, vectors: &[&'a Vector]) -> Result<Result<(String, Vec<Played<'a>>), String>, String> {
        let processors = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let jobs = self.jobs.unwrap_or_else(|| processors.saturating_mul(TWICE));
        let manner = Manner { jobs, patience: self.timeout, slow: self.slow, fault: self.fault };
        if let Some(command) = &self.server {
            let herdr = env::current_exe().map_err(|error| format!("the kit cannot find itself: {error}"))?;
            let launch = Launch::new(command, herdr)?.listening_within(self.timeout.max(LISTENS_WITHIN));
            let launch = self.variables.iter().try_fold(launch, |launch, variable| launch.with_variable(variable))?;
            return Ok(launch
                .rehearse()
                .map_err(|trouble| trouble.0)
                .map(|()| (command.clone(), play_on(Subject::Launch(&launch), vectors, &manner))));
        }
        if let Some(url) = &self.url {
            let token = self.token.clone().or_else(|| env::var(TOKEN).ok());
            let token = token.ok_or_else(|| format!("the token of {url} is not known: say --token, or set {TOKEN}"))?;
            let mut running = Running::new(url, &token)?;
            if let Some(home) = &self.home {
                running = running.with_home(home.clone());
            }
            if let Some(desk) = &self.desk {
                running = running.with_desk(desk.clone());
            }
            return Ok(running
                .rehearse()
                .map(|()| (url.clone(), play_on(Subject::Running(&running), vectors, &manner))));
        }
        let played = side_by_side(vectors, NonZeroUsize::MIN, |vector| play_with(self.fault, vector, Simulated::new()));
        Ok(Ok(("the core".into(), played)))
    }

    fn wants(&self, vector: &Vector) -> bool {
        self.only.is_empty() || self.only.contains(&vector.name)
    }

    fn write(&self, report: &Report<'_>) -> Result<(), String> {
        for (file, text) in [(&self.json, report.json(self.strict)), (&self.junit, report.junit())] {
            if let Some(file) = file {
                fs::write(file, text).map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
            }
        }
        Ok(())
    }

    fn verdict(&self, report: &Report<'_>) -> ExitCode {
        if !report.keeps(self.strict) {
            return ExitCode::FAILURE;
        }
        match report.unplayed(self.strict) {
            0 => ExitCode::SUCCESS,
            unplayed => {
                println!(
                    "{unplayed} of those that count could not be played in this way: the contract is not certified"
                );
                ExitCode::from(4)
            }
        }
    }
}

/// The first signal ends every play in good order, the second one at once.
fn heed_signals() -> Result<(), String> {
    let signals = Signals::new([Signal::Int, Signal::Term]);
    let mut signals = signals.map_err(|error| format!("cannot watch for signals: {error}"))?;
    thread::spawn(move || {
        block_on(signals.next());
        interrupt();
        block_on(signals.next());
        exit(INTERRUPTED.into());
    });
    Ok(())
}

/// The exit code after a signal.
const INTERRUPTED: u8 = 130;
/// The variable with the token of a server that runs.
const TOKEN: &str = "PANEWIRE_TOKEN";
/// Vectors at a time for each processor: most of the time they wait.
const TWICE: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);
