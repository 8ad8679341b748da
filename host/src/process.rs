//! Runs a program within a deadline, without a shell.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use panewire_core::io::FailureKind;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::answer::Answer;
use crate::limit::Limit;

/// Time between two looks whether a program ended, when its pipes say nothing about it. Grows up to this.
const LONGEST_LOOK: Duration = Duration::from_millis(20);

/// Time that a killed program gets to be gone before a thread of its own waits for it.
const REAPING: Duration = Duration::from_millis(200);

/// [`Op::Run`](panewire_core::io::Op::Run): the program is the leader of a process group of its own, has no standard
/// input, and is killed with its group at the deadline.
///
/// A grandchild that keeps the pipes open after the program ended holds nobody: what was written until then is the
/// output.
#[must_use]
pub fn run(argv: &[String], output_cap: usize, within: Duration, limit: &Limit) -> Answer {
    let Some((program, arguments)) = argv.split_first() else {
        return Answer::Failed(FailureKind::Other, "no program".to_owned());
    };
    if limit.left(within).is_none() {
        return Answer::timed_out();
    }
    let spawned = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => return error.into(),
    };
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        end(child);
        return Answer::Failed(FailureKind::Other, "no pipes".to_owned());
    };
    let (mut stdout, mut stderr) = match (Pipe::new(stdout, output_cap), Pipe::new(stderr, output_cap)) {
        (Ok(stdout), Ok(stderr)) => (stdout, stderr),
        (Err(error), _) | (_, Err(error)) => {
            end(child);
            return error.into();
        }
    };
    match watch(&mut child, &mut stdout, &mut stderr, within, limit) {
        Ok(Some(status)) => Answer::Ran { exit: status.code(), stdout: stdout.kept, stderr: stderr.kept },
        Ok(None) => {
            end(child);
            Answer::timed_out()
        }
        Err(error) => {
            end(child);
            error.into()
        }
    }
}

/// Drains both pipes until the program ends. `None`: its time is over.
fn watch(
    child: &mut Child,
    stdout: &mut Pipe<impl Read + AsFd>,
    stderr: &mut Pipe<impl Read + AsFd>,
    within: Duration,
    limit: &Limit,
) -> io::Result<Option<ExitStatus>> {
    let mut step = Duration::from_millis(1);
    loop {
        // Ask first, drain then: what a program wrote before it ended is in the pipe by now.
        let ended = child.try_wait()?;
        stdout.drain();
        stderr.drain();
        if ended.is_some() {
            return Ok(ended);
        }
        let mut open: Vec<PollFd<'_>> = [stdout.fd(), stderr.fd()]
            .into_iter()
            .flatten()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        if !limit.wait(within, step, &mut open) {
            return Ok(None);
        }
        step = step.saturating_mul(2).min(LONGEST_LOOK);
    }
}

/// Kills the program with all it started in its group, and sees to it that it leaves no zombie.
pub(crate) fn end(mut child: Child) {
    signal_group(&child, Signal::KILL);
    if await_end(&mut child).is_none() {
        // It hangs in the kernel (a dead network disk): nobody else waits for that.
        let _ = thread::Builder::new().spawn(move || child.wait());
    }
}

/// Sends a signal to the program, the leader of a group, and to all it started in that.
pub(crate) fn signal_group(child: &Child, signal: Signal) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended by itself in this moment.
        let _ = kill_process_group(group, signal);
    }
}

/// Waits for the end of a program for the time that one gets which is about to be gone.
pub(crate) fn await_end(child: &mut Child) -> Option<ExitStatus> {
    let limit = Limit::begin(crate::limit::Cancel::default());
    while limit.wait(REAPING, Duration::from_millis(1), &mut []) {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
    }
    None
}

/// One of the outputs: read to its end, kept up to the cap.
struct Pipe<R> {
    from: Option<R>,
    kept: Vec<u8>,
    cap: usize,
}

impl<R: Read + AsFd> Pipe<R> {
    fn new(from: R, cap: usize) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&from, true)?;
        Ok(Self { from: Some(from), kept: Vec::new(), cap })
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.from.as_ref().map(AsFd::as_fd)
    }

    /// Reads what is there, at most some pieces of it: a program that writes for ever must not hide the deadline.
    fn drain(&mut self) {
        let mut buffer = [0; 8192];
        for _ in 0..64 {
            let Some(from) = &mut self.from else {
                return;
            };
            match from.read(&mut buffer) {
                Ok(0) => self.from = None,
                Ok(read) => {
                    let room = self.cap.saturating_sub(self.kept.len());
                    let piece = buffer.get(..read.min(room)).unwrap_or_default();
                    self.kept.extend_from_slice(piece);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.from = None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::limit::Cancel;

    const LONG: Duration = Duration::from_secs(30);

    fn shell(script: &str, cap: usize, within: Duration) -> Answer {
        run(&["sh".into(), "-c".into(), script.into()], cap, within, &Limit::begin(Cancel::default()))
    }

    fn ran(answer: Answer) -> (Option<i32>, Vec<u8>, Vec<u8>) {
        match answer {
            Answer::Ran { exit, stdout, stderr } => (exit, stdout, stderr),
            other => panic!("did not run: {other:?}"),
        }
    }

    fn failure(answer: &Answer) -> FailureKind {
        match answer {
            Answer::Failed(kind, _) => *kind,
            other => panic!("not a failure: {other:?}"),
        }
    }

    #[test]
    fn both_outputs_and_the_exit_code_come_back() {
        assert_eq!(
            ran(shell("echo out; echo err >&2; exit 3", 100, LONG)),
            (Some(3), b"out\n".into(), b"err\n".into())
        );
        assert_eq!(ran(shell("kill -9 $$", 100, LONG)), (None, vec![], vec![]));
        assert_eq!(ran(shell("cat", 100, LONG)), (Some(0), vec![], vec![]), "standard input is empty");
    }

    #[test]
    fn arguments_are_no_shell_words() {
        let argv = ["printf".to_owned(), "%s".to_owned(), "$HOME; `id` *".to_owned()];
        let answer = run(&argv, 100, LONG, &Limit::begin(Cancel::default()));
        assert_eq!(ran(answer), (Some(0), b"$HOME; `id` *".into(), vec![]));
    }

    #[test]
    fn more_than_the_cap_is_read_and_dropped_on_both_sides_at_once() {
        let script = "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; echo end >&2";
        let (exit, stdout, stderr) = ran(shell(script, 1000, LONG));
        assert_eq!((exit, stdout.len(), stderr.len()), (Some(0), 1000, 1000));
    }

    #[test]
    fn a_program_that_does_not_end_is_killed_with_its_children() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("held");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        // The grandchild holds the write side of the pipe open as long as it lives.
        let script = format!("sleep 1000 3<>'{}' & echo started; wait", fifo.display());
        let begun = Instant::now();
        assert_eq!(failure(&shell(&script, 100, Duration::from_millis(300))), FailureKind::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(10));
        // Without a reader, opening the write side fails: the grandchild is gone.
        let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
        let gone = Instant::now() + Duration::from_secs(10);
        while rustix::fs::open(&fifo, flags, rustix::fs::Mode::empty()).is_ok() {
            assert!(Instant::now() < gone, "the grandchild lives");
            thread::yield_now();
        }
    }

    #[test]
    fn a_program_that_writes_for_ever_meets_its_deadline() {
        assert_eq!(failure(&shell("yes", 100, Duration::from_millis(100))), FailureKind::TimedOut);
    }

    #[test]
    fn a_grandchild_that_keeps_the_pipe_holds_nobody() {
        let begun = Instant::now();
        let (exit, stdout, _) = ran(shell("sleep 20 & echo done", 100, LONG));
        assert_eq!((exit, stdout), (Some(0), b"done\n".to_vec()));
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn nobody_waits_for_a_cancelled_program() {
        let cancel = Cancel::default();
        let limit = Limit::begin(cancel.clone());
        let other = thread::spawn(move || run(&["sleep".into(), "1000".into()], 0, LONG, &limit));
        cancel.cancel();
        assert_eq!(failure(&other.join().unwrap()), FailureKind::TimedOut);
    }

    #[test]
    fn a_missing_program_is_not_found() {
        let answer = run(&["/nonexistent/herdr".into()], 10, LONG, &Limit::begin(Cancel::default()));
        assert_eq!(failure(&answer), FailureKind::NotFound);
        assert_eq!(failure(&run(&[], 10, LONG, &Limit::begin(Cancel::default()))), FailureKind::Other);
    }
}
