//! One daemon for one state directory.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::files::make_directory;

/// Holds the state directory until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct Lock(File);

/// Who holds a state directory, and where it listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// Its address, once it listens.
    pub url: Option<String>,
    /// What it listens on: that may be every address of the machine.
    pub listen: Option<SocketAddr>,
}

impl Lock {
    /// Takes the state directory, which is made if it is missing.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], with who it is, if another process holds it; else what the system says.
    pub fn take(state_dir: &Path) -> io::Result<Self> {
        make_directory(state_dir)?;
        let file = open(state_dir)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let who = read(state_dir).map_or_else(String::new, |holder| format!(" (process {})", holder.pid));
                let text = format!("another daemon{who} has it");
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let mut lock = Self(file);
        lock.say(None)?;
        Ok(lock)
    }

    /// Leaves word of where this process listens, for commands that look for it: its address, and what it listens on.
    ///
    /// # Errors
    /// What the system says.
    pub fn say(&mut self, place: Option<(&str, SocketAddr)>) -> io::Result<()> {
        let place = place.map_or_else(String::new, |(url, listen)| format!("{url} {listen}"));
        let text = format!("{} {place}\n", std::process::id());
        self.0.set_len(0)?;
        self.0.seek(SeekFrom::Start(0))?;
        self.0.write_all(text.as_bytes())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing alone is not enough: a child that was just started holds the descriptor until it runs its program.
        let _ = self.0.unlock();
    }
}

/// Who holds the state directory now, if anybody does.
#[must_use]
pub fn holder(state_dir: &Path) -> Option<Holder> {
    let file = File::open(state_dir.join(NAME)).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => read(state_dir),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

const NAME: &str = "lock";

fn open(state_dir: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(state_dir.join(NAME))
}

fn read(state_dir: &Path) -> Option<Holder> {
    let text = fs::read_to_string(state_dir.join(NAME)).ok()?;
    let mut words = text.split_whitespace();
    let pid = words.next()?.parse().ok()?;
    let url = words.next().map(str::to_owned);
    Some(Holder { pid, url, listen: words.next().and_then(|listen| listen.parse().ok()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_daemon_is_told_who_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let state_dir = directory.path().join("deep/state");
        assert_eq!(holder(&state_dir), None);
        let mut lock = Lock::take(&state_dir).unwrap();
        let pid = std::process::id();
        let error = Lock::take(&state_dir).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(error.to_string(), format!("another daemon (process {pid}) has it"));
        assert_eq!(holder(&state_dir), Some(Holder { pid, url: None, listen: None }));
        lock.say(Some(("http://127.0.0.1:1234", "127.0.0.1:1234".parse().unwrap()))).unwrap();
        let listen = "0.0.0.0:9".parse().unwrap();
        lock.say(Some(("http://127.0.0.1:9", listen))).unwrap();
        let url = Some("http://127.0.0.1:9".into());
        assert_eq!(holder(&state_dir), Some(Holder { pid, url, listen: Some(listen) }));
        drop(lock);
        assert_eq!(holder(&state_dir), None, "the file stays, the lock does not");
        Lock::take(&state_dir).unwrap();
    }
}
