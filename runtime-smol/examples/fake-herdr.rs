//! The fake herdr that this package's tests start: an example, because those are built before the tests run.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let program = arguments.next().map(PathBuf::from).unwrap_or_default();
    panewire_conformance::fake_herdr::command(&program, arguments)
}
