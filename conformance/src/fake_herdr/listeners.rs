//! Those who listen to the events of the fake herdr.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Their connections. A byte from one of them ends it, as it does with herdr.
#[derive(Debug, Clone, Default)]
pub(super) struct Listeners(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<(u64, Vec<(u64, UnixStream)>)>,
    changed: Condvar,
}

impl Listeners {
    /// One more listens, until it goes.
    pub(super) fn add(&self, stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(None)?;
        let mut reader = stream.try_clone()?;
        let no = {
            let (last, streams) = &mut *self.state();
            *last += 1;
            streams.push((*last, stream));
            *last
        };
        self.0.changed.notify_all();
        let listeners = self.clone();
        std::thread::spawn(move || {
            // Whatever comes is the end.
            let _ = reader.read(&mut [0; 1]);
            let _ = reader.shutdown(Shutdown::Both);
            listeners.state().1.retain(|(other, _)| *other != no);
            listeners.0.changed.notify_all();
        });
        Ok(())
    }

    /// Tells all of them.
    pub(super) fn tell(&self, line: &str) {
        for (_, stream) in &mut self.state().1 {
            // One that is gone is taken away by its own thread.
            let _ = stream.write_all(format!("{line}\n").as_bytes());
        }
    }

    /// Hangs up on all of them.
    pub(super) fn hang_up(&self) {
        for (_, stream) in &self.state().1 {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Waits until there are so many; `false` if that takes longer than `within`.
    pub(super) fn wait_for(&self, listeners: usize, within: Duration) -> bool {
        let state = self.state();
        let waited = self.0.changed.wait_timeout_while(state, within, |(_, streams)| streams.len() != listeners);
        waited.unwrap_or_else(PoisonError::into_inner).0.1.len() == listeners
    }

    fn state(&self) -> MutexGuard<'_, (u64, Vec<(u64, UnixStream)>)> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
