//! The Panewire daemon for many clients: the same answers as `panewire serve`, on all processors.
#![forbid(unsafe_code)]

mod serve;

use std::process::ExitCode;

use panewire_host::arguments::{self, ServerCommand, Topic};
use panewire_host::problem;

/// How the program calls itself.
const PROGRAM: &str = "panewire-server";

fn main() -> ExitCode {
    let command = match arguments::parse_server(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(unclear) => return problem::fail(PROGRAM, &unclear, 2),
    };
    let done = match command {
        ServerCommand::Serve(serve) => serve::run(&serve),
        ServerCommand::Help => problem::print(Topic::Server.help()),
        ServerCommand::Version => problem::print(concat!("panewire-server ", env!("CARGO_PKG_VERSION"), "\n")),
    };
    problem::end(PROGRAM, done)
}
