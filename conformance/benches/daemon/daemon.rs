//! A daemon in a home of its own, and what the system says of it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A home directory that is there as long as the benchmark runs.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A running daemon. It ends with its owner.
pub(crate) struct Daemon {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    _stdout: BufReader<ChildStdout>,
}

/// What it does when nothing happens.
pub(crate) struct Idle {
    pub(crate) cpu_millis: f64,
    pub(crate) switches: f64,
}

impl Daemon {
    /// Starts it; `fresh`: without anything that another life of it left behind.
    pub(crate) fn start(program: &Path, home: &Home, fresh: bool) -> Self {
        let state = home.path().join("state");
        if fresh {
            let _ = fs::remove_dir_all(&state);
        }
        let mut child = Command::new(program)
            .env_clear()
            .args(["serve", "--listen", "127.0.0.1:0", "--herdr", "none", "--home"])
            .arg(home.path())
            .arg("--state-dir")
            .arg(&state)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the daemon is there: cargo build --release -p panewire");
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let address = words[1].strip_prefix("http://").unwrap().parse().unwrap();
        let token = fs::read_to_string(words[3]).unwrap().trim().to_owned();
        Self { child, address, token, _stdout: stdout }
    }

    /// A figure of its memory in KiB.
    pub(crate) fn memory(&self, field: &str) -> f64 {
        number_of(&self.of("status"), field)
    }

    /// CPU time that it has used so far.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        self.tasks().iter().map(|task| on_cpu(task)).sum()
    }

    /// What it does a second when it is left alone.
    pub(crate) fn idle(&self, span: Duration) -> Idle {
        let switches = || -> f64 {
            let all = |task: &PathBuf| {
                let status = fs::read_to_string(task.join("status")).unwrap_or_default();
                number_of(&status, "voluntary_ctxt_switches") + number_of(&status, "nonvoluntary_ctxt_switches")
            };
            self.tasks().iter().map(all).sum()
        };
        let (began, cpu, switched) = (Instant::now(), self.cpu_seconds(), switches());
        std::thread::sleep(span);
        let seconds = began.elapsed().as_secs_f64();
        Idle { cpu_millis: (self.cpu_seconds() - cpu) * 1e3 / seconds, switches: (switches() - switched) / seconds }
    }

    fn of(&self, name: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{name}", self.child.id())).unwrap()
    }

    fn tasks(&self) -> Vec<PathBuf> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        tasks.map(|task| task.unwrap().path()).collect()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// CPU time of the thread that asks.
pub(crate) fn own_cpu_seconds() -> f64 {
    on_cpu(Path::new("/proc/thread-self"))
}

fn on_cpu(task: &Path) -> f64 {
    let times = fs::read_to_string(task.join("schedstat")).unwrap_or_default();
    times.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or_default() / 1e9
}

fn number_of(status: &str, field: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
