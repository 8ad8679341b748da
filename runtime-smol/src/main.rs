//! The small Panewire daemon and its command line.
#![forbid(unsafe_code)]

mod commands;
mod listing;
mod render;
mod serve;

use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use panewire_host::arguments::{self, Command};

fn main() -> ExitCode {
    let command = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(unclear) => return failed(&unclear, 2),
    };
    let done = match command {
        Command::Serve(serve) => serve::run(&serve),
        Command::Show { json, what, places } => commands::show::run(json, &what, &places),
        Command::Tail { url, pane, places } => commands::tail::run(url.as_deref(), &pane, &places),
        Command::Panes(places) => commands::panes::run(&places),
        Command::Drift { json, table, what, places } => commands::drift::run(json, table, what.as_deref(), &places),
        Command::Token { rotate, places } => commands::token::run(rotate, &places),
        Command::Help(topic) => print(topic.help()),
        Command::Version => print(concat!("panewire ", env!("CARGO_PKG_VERSION"), "\n")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error, 1),
    }
}

/// Why a command did not do what it should: one line for the person who started it.
#[derive(Debug)]
pub(crate) struct Problem(String);

impl Problem {
    pub(crate) fn new(text: impl fmt::Display) -> Self {
        Self(text.to_string())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<panewire_host::surroundings::Unusable> for Problem {
    fn from(unusable: panewire_host::surroundings::Unusable) -> Self {
        Self::new(unusable)
    }
}

fn failed(problem: &dyn fmt::Display, code: u8) -> ExitCode {
    // Who closed our standard error does not want to read it.
    let _ = writeln!(io::stderr(), "panewire: {problem}");
    ExitCode::from(code)
}

/// Prints a text; a reader that has had enough is no problem.
fn print(text: &str) -> Result<(), Problem> {
    quiet(io::stdout().write_all(text.as_bytes()))
}

/// Takes a closed pipe for what it is: a pager that was left.
pub(crate) fn quiet(written: io::Result<()>) -> Result<(), Problem> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Problem::new(format_args!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
