//! A real daemon on a machine of its own: a home, a state directory, a fake herdr, and clients over real sockets.
//!
//! Nothing sleeps: a test waits on a socket or a process, and [`BOUND`] only says when to give up.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use panewire_conformance::fake_herdr::{self, DeskFile, Server};
use panewire_conformance::herdr::Desk;
use panewire_conformance::sim::client::Received;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

use crate::PROGRAM;

/// How long a test waits for something that should come at once or with the next poll.
pub(crate) const BOUND: Duration = Duration::from_secs(20);

/// The daemon that is tested. Each runtime names its own as `PROGRAM`.
#[derive(Debug)]
pub(crate) struct Program {
    /// How it calls itself.
    pub(crate) name: &'static str,
    /// Where it was built.
    pub(crate) path: &'static str,
    /// The example that is built beside it and answers as herdr.
    pub(crate) fake_herdr: &'static str,
}

impl Program {
    /// The program that answers as herdr when it is called so.
    pub(crate) fn herdr(&self) -> PathBuf {
        let executable = Path::new(self.path).with_file_name("examples").join(self.fake_herdr);
        assert!(executable.exists(), "{} is not there: run `cargo test -p {}`", executable.display(), self.name);
        executable
    }
}

/// Everything a daemon finds around it.
#[derive(Debug)]
pub(crate) struct Machine {
    herdr: Option<Server>,
    named: Vec<Server>,
    /// What herdr knows, whichever way it is asked.
    pub(crate) desk: DeskFile,
    herdr_program: PathBuf,
    directory: TempDir,
}

impl Machine {
    /// A home without agents, and a herdr with these panes that answers over its socket and as a program.
    pub(crate) fn new(desk: &Desk) -> Self {
        let mut machine = Self::without_herdr_socket(desk);
        let server = Server::start(&machine.path("herdr.sock"), machine.desk.clone()).unwrap();
        machine.herdr = Some(server);
        machine
    }

    /// The same, with herdr's program alone.
    pub(crate) fn without_herdr_socket(desk: &Desk) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("home")).unwrap();
        fs::create_dir(directory.path().join("herdr")).unwrap();
        let (herdr_program, desk) =
            fake_herdr::install(&directory.path().join("herdr"), &PROGRAM.herdr(), desk).unwrap();
        Self { directory, desk, herdr_program, herdr: None, named: Vec::new() }
    }

    /// Starts the server of a named session: its panes are in the desk's `sessions`.
    pub(crate) fn start_session(&mut self, name: &str) {
        let socket = self.real(&format!("/home/u/.config/herdr/sessions/{name}/herdr.sock"));
        let server = Server::start_session(&socket, self.desk.clone(), Some(name)).unwrap();
        self.named.push(server);
    }

    /// The server behind herdr's socket.
    pub(crate) fn herdr(&self) -> &Server {
        self.herdr.as_ref().unwrap()
    }

    /// A path on this machine.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Where a file of the simulated home lies here; its directory is made.
    pub(crate) fn real(&self, simulated: &str) -> PathBuf {
        let path = self.path("home").join(simulated.strip_prefix("/home/u/").unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    /// Appends to a file of the simulated home.
    pub(crate) fn append(&self, simulated: &str, bytes: impl AsRef<[u8]>) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(self.real(simulated)).unwrap();
        file.write_all(bytes.as_ref()).unwrap();
    }

    /// The program, in an environment in which nothing of this machine's own is left.
    pub(crate) fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM.path);
        command.env_clear().env("HOME", self.path("home")).stdin(Stdio::null()).args(arguments);
        command
    }

    /// The options that every daemon of this machine has.
    pub(crate) fn options(&self) -> Vec<String> {
        let path = |name: &str| self.path(name).to_str().unwrap().to_owned();
        let herdr_program = self.herdr_program.to_str().unwrap().to_owned();
        [
            ["--home".into(), path("home")],
            ["--state-dir".into(), path("state")],
            ["--herdr-bin".into(), herdr_program],
            ["--herdr-socket".into(), path("herdr.sock")],
        ]
        .concat()
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.program(arguments).output().unwrap()
    }

    /// Starts a daemon.
    pub(crate) fn start(&self, arguments: &[&str]) -> Daemon {
        self.start_with(arguments, &[])
    }

    /// Starts a daemon with variables in its environment.
    pub(crate) fn start_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Daemon {
        let stderr = fs::File::create(self.path("stderr")).unwrap();
        let mut child = self
            .program(&["serve", "--listen", "127.0.0.1:0", "--log", "debug"])
            .args(self.options())
            .args(arguments)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["listening", url, origin, place] = words[..] else {
            panic!("{line:?}, {}", fs::read_to_string(self.path("stderr")).unwrap())
        };
        let token = match origin {
            "token-file" => fs::read_to_string(place).unwrap().trim().to_owned(),
            _ => variables.iter().find(|(name, _)| *name == place).unwrap().1.to_owned(),
        };
        let address = url.strip_prefix("http://").unwrap().parse().unwrap();
        Daemon { child, address, token, line, stderr: self.path("stderr"), _stdout: stdout }
    }
}

/// A running daemon.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Its token.
    pub(crate) token: String,
    /// What it said first.
    pub(crate) line: String,
    /// Where its log goes.
    stderr: PathBuf,
    /// Kept open, as a terminal would.
    _stdout: BufReader<std::process::ChildStdout>,
}

impl Daemon {
    /// Connects to the transcript of a pane.
    pub(crate) fn watch(&self, pane: &str) -> Socket {
        self.watch_with(pane, &self.token)
    }

    /// The same, as somebody who has this token.
    pub(crate) fn watch_with(&self, pane: &str, token: &str) -> Socket {
        let stream = Patient(self.stream());
        let url = format!("ws://{}/agent-transcript?pane={pane}&token={token}", self.address);
        Socket(tungstenite::client(url, stream).unwrap().0)
    }

    /// Attaches to a pane.
    pub(crate) fn attach(&self, pane: &str) -> Socket {
        self.attach_with(pane, &self.token)
    }

    /// The same, as somebody who has this token.
    pub(crate) fn attach_with(&self, pane: &str, token: &str) -> Socket {
        let url = format!("ws://{}/attach?pane={pane}&token={token}", self.address);
        Socket(tungstenite::client(url, Patient(self.stream())).unwrap().0)
    }

    /// Connects to the events.
    pub(crate) fn events(&self) -> Socket {
        let url = format!("ws://{}/events?token={}", self.address, self.token);
        Socket(tungstenite::client(url, Patient(self.stream())).unwrap().0)
    }

    /// Status and body of a `GET`, and of an attempt to upgrade that is refused.
    pub(crate) fn ask(&self, target: &str, upgrade: bool) -> (u16, String) {
        let extra = if upgrade {
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: cGFuZXdpcmUgc2ltdWxhdA==\r\n"
        } else {
            ""
        };
        self.exchange(&format!("GET {target} HTTP/1.1\r\nHost: {}\r\n{extra}\r\n", self.address))
    }

    /// Status and body of a `POST` with the token.
    pub(crate) fn post(&self, target: &str, body: &str) -> (u16, String) {
        let Self { address, token, .. } = self;
        let fields = format!("Host: {address}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}", body.len());
        self.exchange(&format!("POST {target} HTTP/1.1\r\n{fields}\r\n\r\n{body}"))
    }

    fn exchange(&self, request: &str) -> (u16, String) {
        let mut stream = self.stream();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let (mut head, mut line) = (Vec::new(), String::new());
        while reader.read_line(&mut line).unwrap() > 0 && line != "\r\n" {
            head.push(core::mem::take(&mut line).trim_end().to_lowercase());
        }
        let status = head[0].split(' ').nth(1).unwrap().parse().unwrap();
        let length =
            head.iter().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        (status, String::from_utf8(body).unwrap())
    }

    /// A connection to it.
    pub(crate) fn stream(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(BOUND)).unwrap();
        stream
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end: its exit code, if it has one.
    pub(crate) fn wait(mut self) -> Option<i32> {
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), None);
        status.code()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}{}", self.line, fs::read_to_string(&self.stderr).unwrap_or_default());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection that goes on after the process was stopped for a while: a read that may time out is interrupted then.
#[derive(Debug)]
pub(crate) struct Patient(TcpStream);

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A WebSocket client.
#[derive(Debug)]
pub(crate) struct Socket(pub(crate) WebSocket<Patient>);

impl Socket {
    /// One whose upgrade was answered already.
    pub(crate) fn upgraded(stream: TcpStream) -> Self {
        Self(WebSocket::from_raw_socket(Patient(stream), Role::Client, None))
    }

    /// The next frame.
    pub(crate) fn next(&mut self) -> Received {
        loop {
            match self.0.read().unwrap() {
                Message::Text(text) => {
                    let raw = text.to_string();
                    return Received { json: serde_json::from_str(&raw).unwrap(), raw };
                }
                Message::Ping(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next frames.
    pub(crate) fn take(&mut self, frames: usize) -> Vec<Received> {
        (0..frames).map(|_| self.next()).collect()
    }

    /// The frames up to the first of this type.
    pub(crate) fn until(&mut self, kind: &str) -> Vec<Received> {
        let mut frames = Vec::new();
        while frames.last().is_none_or(|frame: &Received| frame.kind() != kind) {
            frames.push(self.next());
        }
        frames
    }

    /// What a terminal shows up to this, that included.
    pub(crate) fn shows(&mut self, until: &str) -> String {
        let mut shown = String::new();
        while !shown.contains(until) {
            match self.0.read().unwrap() {
                Message::Binary(bytes) => shown.push_str(core::str::from_utf8(&bytes).unwrap()),
                Message::Ping(_) => {}
                other => panic!("{other:?} behind {shown:?}"),
            }
        }
        shown
    }

    /// Types bytes.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.0.send(Message::binary(keys.as_bytes().to_vec())).unwrap();
    }

    /// Sends a text message.
    pub(crate) fn say(&mut self, text: &str) {
        self.0.send(Message::text(text)).unwrap();
    }

    /// Sends bytes past the protocol.
    pub(crate) fn say_raw(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// The close frame that comes next, frames before it skipped.
    pub(crate) fn closed(mut self) -> (u16, String) {
        loop {
            match self.0.read().unwrap() {
                Message::Close(Some(frame)) => return (frame.code.into(), frame.reason.to_string()),
                Message::Close(None) => panic!("closed without a code"),
                _ => {}
            }
        }
    }
}
