//! A daemon in a home of its own, and what the system says of it.

use std::collections::BTreeMap;
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

    /// CPU time that it has used so far, in steps of ten milliseconds; threads that have ended are counted.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let stat = self.of("stat");
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        // utime and stime are the fields 14 and 15, the name is the second.
        fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
    }

    /// What it does a second while its clients rest.
    pub(crate) fn idle(&self, rest: impl FnOnce()) -> Idle {
        let (began, cpu, before) = (Instant::now(), self.cpu_seconds(), self.switches());
        rest();
        let seconds = began.elapsed().as_secs_f64();
        let since = |(task, now): (PathBuf, f64)| before.get(&task).map_or(0.0, |before| now - before);
        let switches: f64 = self.switches().into_iter().map(since).sum();
        Idle { cpu_millis: (self.cpu_seconds() - cpu) * 1e3 / seconds, switches: switches / seconds }
    }

    /// How often each of its threads was switched.
    fn switches(&self) -> BTreeMap<PathBuf, f64> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let count = |task: PathBuf| {
            let status = fs::read_to_string(task.join("status")).unwrap_or_default();
            let of = |field| number_of(&status, field);
            (task, of("voluntary_ctxt_switches") + of("nonvoluntary_ctxt_switches"))
        };
        tasks.map(|task| count(task.unwrap().path())).collect()
    }

    fn of(&self, name: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{name}", self.child.id())).unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// CPU time of the thread that asks. What the system writes into `/proc` is as old as the last switch; this is not.
pub(crate) fn own_cpu_seconds() -> f64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), u32::try_from(spent.tv_nsec).unwrap_or_default()).as_secs_f64()
}

fn number_of(status: &str, field: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
