//! Programs under terminals of their own.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::thread;

use panewire_core::io::TerminalSize;
use pty_process::blocking;
use rustix::process::Signal;
use rustix::termios::{Winsize, tcsetwinsize};

use crate::process::{await_end, end, signal_group};

/// A program that is the leader of a session with a terminal of its own. When this is dropped, it is hung up; if it stays,
/// it is killed.
#[derive(Debug)]
pub struct Terminal {
    side: File,
    child: Option<Child>,
}

impl Terminal {
    /// Starts a program, with these variables beside ours.
    ///
    /// # Errors
    /// What the system says: there is no such program, or there are no more terminals.
    pub fn open(argv: &[String], environment: &[(&'static str, String)], size: TerminalSize) -> io::Result<Self> {
        let Some((program, arguments)) = argv.split_first() else {
            return Err(io::Error::other("no program"));
        };
        let (ours, theirs) = blocking::open().map_err(plain)?;
        let ours: OwnedFd = ours.into();
        tcsetwinsize(&ours, winsize(size))?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let mut command = Command::new(program);
        command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value)));
        let child = blocking::Command::from(command).spawn(theirs).map_err(plain)?;
        Ok(Self { side: ours.into(), child: Some(child) })
    }

    /// Our side of the terminal, which never waits. It ends when the program and all it started have let go of theirs.
    ///
    /// # Errors
    /// If the system gives no more descriptors.
    pub fn side(&self) -> io::Result<File> {
        self.side.try_clone()
    }

    /// Gives the terminal another size; the program is told.
    ///
    /// # Errors
    /// What the system says.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        Ok(tcsetwinsize(&self.side, winsize(size))?)
    }

    /// The program has let go of its terminal: its exit code, once it has ended. One that stays is killed and has none.
    #[must_use]
    pub fn finish(mut self) -> Option<i32> {
        let mut child = self.child.take()?;
        match await_end(&mut child) {
            Some(status) => status.code(),
            None => {
                end(child);
                None
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        signal_group(&child, Signal::HUP);
        // What it does about that is not waited for here. If there is no thread, it is gone with its terminal all the same.
        let _ = thread::Builder::new().spawn(move || {
            if await_end(&mut child).is_none() {
                end(child);
            }
        });
    }
}

const fn winsize(size: TerminalSize) -> Winsize {
    Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn plain(error: pty_process::Error) -> io::Error {
    match error {
        pty_process::Error::Io(error) => error,
        pty_process::Error::Rustix(error) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;

    const SIZE: TerminalSize = TerminalSize { columns: 80, rows: 24 };

    fn shell(script: &str) -> Terminal {
        Terminal::open(&["sh".into(), "-c".into(), script.into()], &[("PANEWIRE_WORD", "tea".into())], SIZE).unwrap()
    }

    /// What the program writes, until it ends or has written this.
    fn said(side: &mut File, until: &str) -> String {
        let (begun, mut text, mut buffer) = (Instant::now(), Vec::new(), [0; 100]);
        while !String::from_utf8_lossy(&text).contains(until) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{}", String::from_utf8_lossy(&text));
            let _ = poll(&mut [PollFd::new(side, PollFlags::IN)], None);
            match side.read(&mut buffer) {
                Ok(read) if read > 0 => text.extend(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The system says so when the other side is gone, each in its way.
                Ok(_) | Err(_) => break,
            }
        }
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_program_finds_a_terminal_of_the_right_size_and_is_told_of_another() {
        let terminal =
            shell("trap 'stty size; exit 3' WINCH; tty -s && stty size; echo $PANEWIRE_WORD; read x; read x");
        let mut side = terminal.side().unwrap();
        assert_eq!(said(&mut side, "tea\r\n"), "24 80\r\ntea\r\n");
        terminal.resize(TerminalSize { columns: 132, rows: 50 }).unwrap();
        assert_eq!(said(&mut side, "never"), "50 132\r\n");
        assert_eq!(terminal.finish(), Some(3));
    }

    #[test]
    fn what_is_typed_is_read_as_at_any_terminal() {
        let terminal = shell("read line; echo \"<$line>\"; read line; exit 5");
        let mut side = terminal.side().unwrap();
        side.write_all(b"hello\r").unwrap();
        assert_eq!(said(&mut side, "<hello>\r\n"), "hello\r\n<hello>\r\n");
        // The end of the file.
        side.write_all(b"\x04").unwrap();
        said(&mut side, "never");
        assert_eq!(terminal.finish(), Some(5));
    }

    #[test]
    fn a_program_that_does_not_mind_to_be_hung_up_is_killed() {
        let terminal = shell("trap '' HUP TERM INT; echo $$; while :; do sleep 1000; done");
        let mut side = terminal.side().unwrap();
        let pid: i32 = said(&mut side, "\n").trim().parse().unwrap();
        drop(terminal);
        // Its side is closed by the kernel when it is gone, whoever else holds ours.
        said(&mut side, "never");
        let gone = Instant::now();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        while rustix::process::test_kill_process(pid).is_ok() {
            assert!(gone.elapsed() < Duration::from_secs(20), "neither dead nor reaped");
            thread::yield_now();
        }
    }

    #[test]
    fn a_missing_program_is_not_found() {
        let error = Terminal::open(&["/nonexistent/herdr".into()], &[], SIZE).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(Terminal::open(&[], &[], SIZE).is_err());
    }
}
