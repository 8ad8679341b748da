//! A herdr that is none: a real process with a real socket, and a real command, that answer as herdr 0.8 does.
//!
//! What it knows stands in one JSON file, a [`Desk`]: the test writes it, both ways read it anew for each question.
//!
//! * [`Server`] serves the socket from a thread of the test.
//! * [`command`] is the command line. The program `panewire-fake-herdr` is it; so is any test executable that is called
//!   through a link named `herdr` and hands its arguments on.

mod attach;
mod desk;
mod listeners;
mod server;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

pub use attach::FLOOD_BYTES;
pub use desk::DeskFile;
pub use server::Server;

use crate::herdr::{Desk, Typed, answer};

/// The file beside the command that says what it knows.
pub const DESK_FILE: &str = "herdr.json";

/// How long a command that never answers stays when its desk is gone.
const GONE: Duration = Duration::from_secs(1);

/// The command line. `program` is what it was called by: [`DESK_FILE`] lies beside it, unless `PANEWIRE_FAKE_HERDR` names
/// another one. `serve SOCKET` serves a socket until the process is killed.
#[must_use]
pub fn command(program: &Path, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let file = std::env::var_os("PANEWIRE_FAKE_HERDR").map_or_else(|| beside(program), PathBuf::from);
    let file = DeskFile::at(file);
    let arguments: Vec<String> = arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["serve", socket] = arguments[..] {
        return serve(Path::new(socket), file);
    }
    let desk = match file.read() {
        Ok(desk) => desk,
        Err(error) => return spoken(1, "", &format!("fake herdr: {}: {error}\n", file.path().display())),
    };
    let socket = std::env::var("HERDR_SOCKET_PATH").unwrap_or_else(|_| default_socket());
    if let Some((session, typed)) = Typed::by_command(&desk, &arguments)
        && let Err(error) = file.take(session, typed)
    {
        return spoken(1, "", &format!("fake herdr: {}: {error}\n", file.path().display()));
    }
    if let Some(exit) = attach::command(&desk, &arguments) {
        return exit;
    }
    std::thread::sleep(Duration::from_millis(desk.takes_ms));
    match answer::to_command(&desk, &arguments, &socket) {
        Some(said) => spoken(u8::try_from(said.exit).unwrap_or(1), &said.stdout, &said.stderr),
        None => loop {
            // Whoever asks may be killed while it waits: then nobody ends this process but itself.
            std::thread::sleep(GONE);
            if !file.path().exists() {
                return ExitCode::FAILURE;
            }
        },
    }
}

/// The desk beside a program. One that was called by its bare name lies where its caller found it.
fn beside(program: &Path) -> PathBuf {
    let is_bare = program.parent().is_none_or(|parent| parent.as_os_str().is_empty());
    let path = std::env::var_os("PATH").filter(|_| is_bare).unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join(program)).find(|program| program.exists());
    found.unwrap_or_else(|| program.to_path_buf()).with_file_name(DESK_FILE)
}

fn serve(socket: &Path, file: DeskFile) -> ExitCode {
    match Server::start(socket, file) {
        Ok(server) => {
            server.join();
            ExitCode::SUCCESS
        }
        Err(error) => spoken(1, "", &format!("fake herdr: {}: {error}\n", socket.display())),
    }
}

/// Writes both and ends; a reader that is gone is no reason to fail.
fn spoken(exit: u8, stdout: &str, stderr: &str) -> ExitCode {
    let _ = std::io::stdout().write_all(stdout.as_bytes());
    let _ = std::io::stderr().write_all(stderr.as_bytes());
    ExitCode::from(exit)
}

fn default_socket() -> String {
    format!("{}/.config/herdr/herdr.sock", std::env::var("HOME").unwrap_or_default())
}

/// Makes the command `herdr` in a directory: a link to `executable`, and the desk beside it.
///
/// # Errors
/// If the link or the file cannot be made.
pub fn install(directory: &Path, executable: &Path, desk: &Desk) -> std::io::Result<(PathBuf, DeskFile)> {
    let program = directory.join("herdr");
    std::os::unix::fs::symlink(executable, &program)?;
    let file = DeskFile::at(directory.join(DESK_FILE));
    file.write(desk)?;
    Ok((program, file))
}
