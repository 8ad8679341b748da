//! How long an operation may take, and whether anybody still waits for it.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, Timespec, poll};
use rustix::net::{Shutdown, shutdown};

/// How often a waiting operation looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(50);

/// Ends an operation early, from any thread.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    is_cancelled: AtomicBool,
    /// What somebody reads from without a deadline.
    stream: Mutex<Option<OwnedFd>>,
}

impl Cancel {
    /// Nobody waits any more.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::Relaxed);
        if let Some(stream) = self.stream().take() {
            // Whoever reads from it finds its end.
            let _ = shutdown(stream, Shutdown::Both);
        }
    }

    /// Shuts this stream when nobody waits any more, also if that is so already.
    pub(crate) fn shuts(&self, stream: impl Into<OwnedFd>) {
        *self.stream() = Some(stream.into());
        if self.is_cancelled() {
            self.cancel();
        }
    }

    fn stream(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        self.0.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody waits any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Relaxed)
    }
}

/// A deadline that begins when the operation is asked for: time spent in a queue counts.
#[derive(Debug, Clone)]
pub struct Limit {
    asked: Instant,
    cancel: Cancel,
}

impl Limit {
    /// Begins now.
    #[must_use]
    pub fn begin(cancel: Cancel) -> Self {
        Self { asked: Instant::now(), cancel }
    }

    /// Shuts this stream when nobody waits any more.
    pub(crate) fn shuts(&self, stream: impl Into<OwnedFd>) {
        self.cancel.shuts(stream);
    }

    /// What is left of `within`, or nothing if it is over or nobody waits.
    #[must_use]
    pub fn left(&self, within: Duration) -> Option<Duration> {
        if self.cancel.is_cancelled() {
            return None;
        }
        within.checked_sub(self.asked.elapsed()).filter(|left| !left.is_zero())
    }

    /// Waits until one of `fds` is ready, or for `step`, whichever is first. `false`: the time is over.
    pub(crate) fn wait(&self, within: Duration, step: Duration, fds: &mut [PollFd<'_>]) -> bool {
        let Some(left) = self.left(within) else {
            return false;
        };
        let timeout = Timespec::try_from(left.min(step).min(LOOK)).unwrap_or_default();
        // An interrupted or refused poll is a short wait: the caller's loop looks again, until the deadline.
        let _ = poll(fds, Some(&timeout));
        true
    }
}
