//! The conformance kit: `panewire-conformance run` plays the vectors, `sim` random trials against the core.
//!
//! ```text
//!   panewire-conformance run --core [--only NAME]... [--strict]    the vectors on the bare core
//!   panewire-conformance run --server 'CMD …'                      the vectors on a server that is started for each
//!   panewire-conformance run --url URL                             the vectors on a server that runs
//!   panewire-conformance run --list                                what there is
//!   panewire-conformance faults [--all]                            would the vectors notice a wrong server?
//!   panewire-conformance coverage                                  docs/conformance-coverage.md
//!   panewire-conformance sim [--seeds N] [--start N] [--steps N]   so many trials, from a seed on
//!   panewire-conformance sim --seed N [--steps N]                  one trial again
//! ```
//!
//! Called by a link named `herdr` it is the fake herdr of a server that it plays on: the kit is one file.

mod allocator;
mod faults;
mod run;
mod sim;

use std::path::PathBuf;
use std::process::ExitCode;

use panewire_conformance::fake_herdr;
use panewire_conformance::vector::{Catalog, Coverage, Sentences};

const USAGE: &str = "usage: panewire-conformance sim [--seeds N] [--start N] [--steps N] [--seed N] [--brief]";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let program = PathBuf::from(arguments.next().unwrap_or_default());
    if program.file_name().is_some_and(|name| name == "herdr") {
        return fake_herdr::command(&program, arguments);
    }
    let arguments: Vec<String> = arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let told = match words.split_first() {
        Some((&"sim", rest)) => sim::Wanted::parse(rest).map(|wanted| wanted.run()),
        Some((&"run", rest)) => run::Wanted::parse(rest).and_then(run::Wanted::run),
        Some((&"faults", [])) => faults::run(false),
        Some((&"faults", ["--all"])) => faults::run(true),
        Some((&"coverage", [])) => coverage(),
        _ => Err(format!(
            "{}\n       panewire-conformance faults [--all]\n       panewire-conformance coverage\n{USAGE}",
            run::USAGE
        )),
    };
    told.unwrap_or_else(|wrong| {
        eprintln!("{wrong}");
        ExitCode::from(2)
    })
}

/// Prints the page that says which sentences the vectors prove.
fn coverage() -> Result<ExitCode, String> {
    let (catalog, sentences) = (Catalog::mobile()?, Sentences::mobile()?);
    let coverage = Coverage::of(&catalog, &sentences);
    print!("{}", coverage.page());
    let faults = coverage.faults();
    faults.iter().for_each(|fault| eprintln!("{fault}"));
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
