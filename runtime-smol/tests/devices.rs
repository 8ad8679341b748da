//! `panewire pair` and `panewire devices` against a daemon that runs.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A daemon on a state directory of its own.
struct Daemon {
    child: Child,
    authority: String,
    _stdout: BufReader<ChildStdout>,
}

impl Daemon {
    fn start(home: &Path, listen: &str) -> Self {
        Self::start_with(home, listen, &[])
    }

    fn start_with(home: &Path, listen: &str, variables: &[(&str, &str)]) -> Self {
        let mut child = program(home)
            .envs(variables.iter().copied())
            .args(["serve", "--listen", listen, "--herdr", "none", "--log", "warn"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (mut stdout, mut line) = (BufReader::new(child.stdout.take().unwrap()), String::new());
        stdout.read_line(&mut line).unwrap();
        let url = line.split_whitespace().nth(1).unwrap();
        Self { child, authority: url.strip_prefix("http://").unwrap().to_owned(), _stdout: stdout }
    }

    /// Brings a code, and gives back the answer's status line and body.
    fn bring(&self, code: &str) -> (String, String) {
        let body = format!(r#"{{"code":"{code}","device_name":"Ana's phone"}}"#);
        let mut stream = TcpStream::connect(&self.authority).unwrap();
        let (host, length) = (&self.authority, body.len());
        write!(
            stream,
            "POST /pair HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), body.to_owned())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_panewire"));
    command.env_clear().env("HOME", home);
    command
}

/// Exit code, standard output and standard error.
fn panewire(home: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = program(home).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_new_token_is_brought_to_the_daemon_that_runs() {
    let home = tempfile::tempdir().unwrap();
    let nobody = panewire(home.path(), &["token", "--rotate"]);
    assert_eq!((nobody.0, nobody.1.len(), &*nobody.2), (Some(0), 65, ""));
    let daemon = Daemon::start(home.path(), "127.0.0.1:0");
    let (code, token, said) = panewire(home.path(), &["token", "--rotate"]);
    let pid = daemon.child.id();
    assert_eq!(
        said,
        format!(
            "panewire: the running daemon (process {pid}) has taken it up: what was opened with the old one is closed\n"
        )
    );
    assert_eq!((code, token.len()), (Some(0), 65));
    assert_ne!(token, nobody.1);
    let devices = |token: &str| {
        let output = program(home.path()).arg("devices").env("PANEWIRE_TOKEN", token.trim()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = devices(&nobody.1);
    assert_eq!(code, Some(1));
    assert!(said.starts_with("panewire: the daemon wants another token (401): "), "{said}");
    let said = "panewire: no device is paired; 'panewire pair' pairs one\n".to_owned();
    assert_eq!(devices(&token), (Some(0), said));
}

#[test]
fn a_daemon_with_a_token_of_its_environment_keeps_it_and_that_is_said() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::start_with(home.path(), "127.0.0.1:0", &[("PANEWIRE_TOKEN", "from-outside")]);
    let (code, token, said) = panewire(home.path(), &["token", "--rotate"]);
    let pid = daemon.child.id();
    let expected = format!(
        "panewire: the running daemon (process {pid}) does not take it: if it was started with PANEWIRE_TOKEN, that one \
         counts until it is restarted\n"
    );
    assert_eq!((code, token.len(), said), (Some(0), 65, expected));
}

#[test]
fn a_device_is_let_in_listed_and_let_out() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(home.path(), "127.0.0.1:0");
    let (code, out, err) = panewire(home.path(), &["pair", "--read", "--url", "https://box.example/"]);
    assert_eq!((code, &*err), (Some(0), ""));
    let typed = out.lines().nth(3).unwrap().trim().to_owned();
    let plain = typed.replace('-', "");
    let expected = format!(
        "Open this on the device:\n  https://box.example/#pair={plain}\nIf it asks for a code, type:\n  {typed}\n\
         It works once, within 5 minutes. The device may then only read; 'panewire devices' lists it.\n"
    );
    assert_eq!(out, expected);
    let (status, body) = daemon.bring(&typed);
    assert_eq!(status, "HTTP/1.1 200 OK");
    let id = body.split('"').nth(3).unwrap();
    let line = format!("{id}  Ana's phone, reads only, paired just now, last seen just now\n");
    assert_eq!(panewire(home.path(), &["devices"]), (Some(0), line, String::new()));
    let said = "revoked Ana's phone: what it had open is closed\n";
    assert_eq!(panewire(home.path(), &["devices", "revoke", id]), (Some(0), said.into(), String::new()));
    let nobody = "panewire: no device is paired; 'panewire pair' pairs one\n";
    assert_eq!(panewire(home.path(), &["devices"]), (Some(0), String::new(), nobody.into()));
    let said = format!("panewire: there is no device {id}: 'panewire devices' lists what there is\n");
    assert_eq!(panewire(home.path(), &["devices", "revoke", id]), (Some(1), String::new(), said));
    assert_eq!(daemon.bring(&typed).0, "HTTP/1.1 403 Forbidden");
}

#[test]
fn an_address_that_no_device_reaches_is_said() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(home.path(), "127.0.0.1:0");
    let (code, out, err) = panewire(home.path(), &["pair"]);
    assert_eq!(code, Some(0));
    assert!(out.contains(&format!("\n  http://{}/#pair=", daemon.authority)), "{out}");
    let said =
        format!("panewire: the daemon listens on {}: no other machine reaches it. Start it with", daemon.authority);
    assert!(err.starts_with(&said), "{err}");
}

#[test]
fn a_daemon_that_listens_everywhere_is_found_by_this_machines_address() {
    let home = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(home.path(), "0.0.0.0:0");
    let port = daemon.authority.rsplit_once(':').unwrap().1;
    let (code, out, err) = panewire(home.path(), &["pair"]);
    assert_eq!(code, Some(0));
    let address = out.lines().nth(1).unwrap().trim();
    assert!(address.starts_with("http://") && address.contains(&format!(":{port}/#pair=")), "{out}");
    // A machine without any network can only say so.
    let on_loopback = address.starts_with("http://127.0.0.1:");
    assert_eq!(on_loopback, err.starts_with("panewire: no network was found"), "{out}{err}");
}

#[test]
fn without_a_daemon_there_is_nobody_to_ask() {
    let home = tempfile::tempdir().unwrap();
    let said = "panewire: --url wants http://HOST[:PORT] or https://HOST[:PORT], not 'box'\n";
    assert_eq!(panewire(home.path(), &["pair", "--url", "box"]), (Some(1), String::new(), said.into()));
}
