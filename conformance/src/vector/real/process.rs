//! One life of a server that the kit started.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, geteuid, kill_process_group, waitid};

/// Time between two looks at a server that begins or ends.
pub(super) const LOOK: Duration = Duration::from_millis(5);
/// How long a server may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(5);
/// Of what it wrote, the last lines that a person is shown, and their bytes.
const SHOWN_LINES: usize = 20;
const SHOWN_BYTES: usize = 4_000;

/// A process with a group of its own. It is ended, and waited for, at the latest when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    ended: bool,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Process {
    /// Starts it. What it writes goes into files of this directory. An obedient one reads what it may read, even as root.
    pub(super) fn start(mut command: Command, directory: &Path, obedient: bool) -> io::Result<Self> {
        let (stdout, stderr) = (directory.join("stdout"), directory.join("stderr"));
        command.stdin(Stdio::null()).stdout(File::create(&stdout)?).stderr(File::create(&stderr)?).process_group(0);
        let child = if obedient { spawn_obedient(command)? } else { command.spawn()? };
        Ok(Self { child, ended: false, stdout, stderr })
    }

    /// How it ended, if it did.
    pub(super) fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        if !self.ended && self.is_over()? {
            self.reap();
        }
        if self.ended { self.child.try_wait() } else { Ok(None) }
    }

    /// Its standard output so far.
    pub(super) fn stdout(&self) -> String {
        fs::read(&self.stdout).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// What it wrote last, for a person.
    pub(super) fn last_words(&self) -> String {
        let of = |path: &Path| fs::read(path).map(|bytes| last_lines(&bytes)).unwrap_or_default();
        match (of(&self.stderr), of(&self.stdout)) {
            (stderr, _) if !stderr.is_empty() => format!("its standard error:\n{stderr}"),
            (_, stdout) if !stdout.is_empty() => format!("its standard output:\n{stdout}"),
            _ => "it wrote nothing".into(),
        }
    }

    /// Asks it to end and waits; one that does not is killed.
    pub(super) fn end(&mut self) {
        self.signal(Signal::TERM);
        let began = Instant::now();
        while !self.ended && began.elapsed() < GRACE && !self.is_over().unwrap_or(true) {
            thread::sleep(LOOK);
        }
        self.kill();
    }

    /// Ends it at once.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
        self.reap();
    }

    /// Whether it is over, and still has its number.
    fn is_over(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), options)?.is_some())
    }

    /// What it started and left behind ends with it.
    fn reap(&mut self) {
        if !self.ended {
            self.signal(Signal::KILL);
            // A child of our own that was killed can be waited for.
            let _ = self.child.wait();
            self.ended = true;
        }
    }

    fn signal(&self, signal: Signal) {
        if !self.ended {
            // The group is there as long as its leader was not waited for.
            let _ = kill_process_group(Pid::from_child(&self.child), signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether a server can be kept from reading what nobody may read.
pub(super) fn can_be_obedient() -> bool {
    cfg!(target_os = "linux") || !geteuid().is_root()
}

/// The right to read everything is taken from a thread, and so from what it starts.
#[cfg(target_os = "linux")]
fn spawn_obedient(mut command: Command) -> io::Result<Child> {
    use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};
    let start = move || {
        if geteuid().is_root() {
            remove_capability_from_bounding_set(CapabilitySet::DAC_OVERRIDE)?;
            remove_capability_from_bounding_set(CapabilitySet::DAC_READ_SEARCH)?;
        }
        command.spawn()
    };
    thread::spawn(start).join().unwrap_or_else(|_| Err(io::Error::other("the thread that starts it panicked")))
}

#[cfg(not(target_os = "linux"))]
fn spawn_obedient(mut command: Command) -> io::Result<Child> {
    command.spawn()
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes.get(bytes.len().saturating_sub(SHOWN_BYTES)..).unwrap_or_default());
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let shown = lines.get(lines.len().saturating_sub(SHOWN_LINES)..).unwrap_or_default();
    shown.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, directory: &Path) -> Process {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        Process::start(command, directory, false).unwrap()
    }

    fn wait(process: &mut Process) -> ExitStatus {
        loop {
            if let Some(status) = process.status().unwrap() {
                return status;
            }
            thread::yield_now();
        }
    }

    #[test]
    fn how_it_ended_and_what_it_wrote_is_known() {
        let directory = tempfile::tempdir().unwrap();
        let mut process = sh("echo out; echo one >&2; echo two >&2; exit 7", directory.path());
        assert_eq!(wait(&mut process).code(), Some(7));
        assert_eq!(process.status().unwrap().unwrap().code(), Some(7));
        assert_eq!(process.stdout(), "out\n");
        assert_eq!(process.last_words(), "its standard error:\n  one\n  two");
        let mut process = sh("echo only", directory.path());
        wait(&mut process);
        assert_eq!(process.last_words(), "its standard output:\n  only");
    }

    #[test]
    fn its_children_end_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let mut process = sh("sleep 1000 & echo $!; wait", directory.path());
        let child = loop {
            match process.stdout().trim().parse().ok().and_then(Pid::from_raw) {
                Some(pid) => break pid,
                None => thread::yield_now(),
            }
        };
        process.end();
        let gone = || rustix::process::test_kill_process(child).is_err() || is_zombie(child);
        while !gone() {
            thread::yield_now();
        }
        assert!(process.status().unwrap().is_some());
    }

    #[test]
    fn an_obedient_one_cannot_read_what_nobody_may_read() {
        use std::os::unix::fs::PermissionsExt as _;
        if !can_be_obedient() {
            return println!("skipped: this system keeps nothing from root");
        }
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("secret");
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
        let mut command = Command::new("cat");
        command.arg(&file);
        let mut process = Process::start(command, directory.path(), true).unwrap();
        assert_eq!(wait(&mut process).code(), Some(1));
        assert_eq!(process.stdout(), "");
        assert!(process.last_words().contains("ermission"), "{}", process.last_words());
    }

    /// Whoever inherits it may be slow to wait for it.
    fn is_zombie(pid: Pid) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
    }
}
