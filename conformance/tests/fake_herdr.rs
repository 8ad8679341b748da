//! The fake herdr as a process: what the real one left in `data/herdr` on stdout, stderr and as exit code.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::{Command, Output};

use panewire_conformance::fake_herdr::{DeskFile, Server, install};
use panewire_conformance::herdr::{Desk, Mode, Pane};

const PROGRAM: &str = env!("CARGO_BIN_EXE_panewire-fake-herdr");

fn captured_desk() -> Desk {
    let list: serde_json::Value =
        serde_json::from_str(include_str!("../data/herdr/socket-agent-list.response")).unwrap();
    Desk { panes: serde_json::from_value(list["result"]["agents"].clone()).unwrap(), ..Desk::default() }
}

fn run(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).env("HOME", "/home/u").env_remove("HERDR_SOCKET_PATH").output().unwrap()
}

#[test]
fn the_command_speaks_as_the_captured_one() {
    let dir = tempfile::tempdir().unwrap();
    let (herdr, desk) = install(dir.path(), Path::new(PROGRAM), &captured_desk()).unwrap();
    let list = run(&herdr, &["agent", "list"]);
    assert_eq!(list.stdout, include_bytes!("../data/herdr/cli-agent-list.stdout"));
    assert_eq!((list.status.code(), list.stderr.len()), (Some(0), 0));
    let unknown = run(&herdr, &["agent", "get", "w9:p9"]);
    assert_eq!(unknown.stderr, include_bytes!("../data/herdr/cli-agent-get-unknown-pane.stderr"));
    assert_eq!((unknown.status.code(), unknown.stdout.len()), (Some(1), 0));
    desk.change(|desk| desk.cli = Mode::NoServer).unwrap();
    let gone = run(&herdr, &["agent", "get", "w1:p1"]);
    assert_eq!(gone.stderr, include_bytes!("../data/herdr/cli-no-server-agent-get.stderr"));
    assert_eq!(gone.status.code(), Some(1));
}

#[test]
fn a_wedged_command_runs_until_it_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let (herdr, _desk) =
        install(dir.path(), Path::new(PROGRAM), &Desk { cli: Mode::Wedged, ..Desk::default() }).unwrap();
    let mut child = Command::new(herdr).args(["agent", "list"]).spawn().unwrap();
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().code(), None);
}

#[test]
fn socket_and_command_read_the_same_desk() {
    use std::io::{Read as _, Write as _};
    let dir = tempfile::tempdir().unwrap();
    let desk = Desk { panes: vec![Pane::claude("w1:p1", "/srv/x").with_session("s-1")], ..Desk::default() };
    let (herdr, file): (_, DeskFile) = install(dir.path(), Path::new(PROGRAM), &desk).unwrap();
    let socket = dir.path().join("herdr.sock");
    let _server = Server::start(&socket, file).unwrap();
    let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
    stream.write_all(b"{\"id\":\"1\",\"method\":\"agent.get\",\"params\":{\"target\":\"w1:p1\"}}\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let by_socket: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let by_command: serde_json::Value =
        serde_json::from_slice(&run(&herdr, &["agent", "get", "w1:p1"]).stdout).unwrap();
    assert_eq!(by_socket["result"], by_command["result"]);
}
