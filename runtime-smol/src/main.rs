//! The small Panewire daemon and its command line.
#![forbid(unsafe_code)]

mod commands;
mod serve;

use std::process::ExitCode;

use panewire_host::arguments::{self, Command};
use panewire_host::{devices, pairing, problem};

/// How the program calls itself.
const PROGRAM: &str = "panewire";

fn main() -> ExitCode {
    let command = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(unclear) => return problem::fail(PROGRAM, &unclear, 2),
    };
    let done = match command {
        Command::Serve(serve) => serve::run(&serve),
        Command::Show { json, what, places } => commands::show::run(json, &what, &places),
        Command::Tail { url, pane, places } => commands::tail::run(url.as_deref(), &pane, &places),
        Command::Tree { url, pane, places } => commands::tree::run(url.as_deref(), &pane, &places),
        Command::Panes(places) => commands::panes::run(&places),
        Command::Pair(wanted) => pairing::pair(&wanted),
        Command::Devices { revoke: None, places } => devices::list(&places),
        Command::Devices { revoke: Some(id), places } => devices::revoke(&id, &places),
        Command::Drift { json, table, what, places } => commands::drift::run(json, table, what.as_deref(), &places),
        Command::Token { rotate, places } => commands::token::run(rotate, &places),
        Command::Help(topic) => problem::print(topic.help()),
        Command::Version => problem::print(concat!("panewire ", env!("CARGO_PKG_VERSION"), "\n")),
    };
    problem::end(PROGRAM, done)
}
