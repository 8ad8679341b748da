//! Threads for what may block.
//!
//! They wait without waking up now and then, and end when nothing was to be done for a while: an idle daemon is idle.
//! How many there are is for the caller to bound, by how much it lets run at once.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// A thread without work ends after this long. Longer than the pauses between two looks at a session.
const LINGER: Duration = Duration::from_secs(5);

type Job = Box<dyn FnOnce() + Send>;

/// A pool that starts a thread for a job when none is idle.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Threads that wait for work, those included that were just called and have not looked yet.
    idle: usize,
    threads: usize,
}

impl Pool {
    /// A pool without threads.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs a job on another thread. Jobs begin in the order in which they were given.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.state();
        state.jobs.push_back(Box::new(job));
        if state.idle >= state.jobs.len() {
            // A thread that is woken while the state is held would only wait again.
            drop(state);
            self.shared.work.notify_one();
            return;
        }
        state.threads += 1;
        drop(state);
        let shared = Arc::clone(&self.shared);
        let started = thread::Builder::new().name("panewire-pool".to_owned()).spawn(move || shared.work());
        if started.is_err() {
            self.without_thread();
        }
    }

    /// The system gives no more threads: those that are there do it later, or this one does it now.
    fn without_thread(&self) {
        let mut state = self.shared.state();
        state.threads -= 1;
        if state.threads > 0 {
            return;
        }
        while let Some(job) = state.jobs.pop_front() {
            drop(state);
            job();
            state = self.shared.state();
        }
    }
}

impl Shared {
    /// What one thread does until there was nothing to do for a while.
    fn work(&self) {
        let mut state = self.state();
        loop {
            while let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.state();
            }
            state.idle += 1;
            let (woken, waited) = self.work.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if waited.timed_out() && state.jobs.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }

    /// No job runs while the state is held: it is whole whatever panicked.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Shared")
            .field("jobs", &state.jobs.len())
            .field("idle", &state.idle)
            .field("threads", &state.threads)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn every_job_runs_once() {
        let pool = Pool::new();
        let (sender, receiver) = mpsc::channel();
        for number in 0..200 {
            let sender = sender.clone();
            pool.run(move || sender.send(number).unwrap());
        }
        drop(sender);
        let mut seen: Vec<i32> = receiver.iter().collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..200).collect::<Vec<_>>());
    }

    #[test]
    fn a_job_that_blocks_holds_no_other() {
        let pool = Pool::new();
        let (release, held) = mpsc::channel::<()>();
        let (sender, receiver) = mpsc::channel();
        let first = sender.clone();
        pool.run(move || {
            held.recv().unwrap();
            first.send("first").unwrap();
        });
        pool.run(move || sender.send("second").unwrap());
        assert_eq!(receiver.recv().unwrap(), "second");
        release.send(()).unwrap();
        assert_eq!(receiver.recv().unwrap(), "first");
    }

    #[test]
    fn an_idle_thread_is_used_again() {
        let pool = Pool::new();
        let (sender, receiver) = mpsc::channel();
        for _ in 0..20 {
            let sender = sender.clone();
            pool.run(move || sender.send(thread::current().id()).unwrap());
            receiver.recv().unwrap();
            while pool.shared.state().idle == 0 {
                thread::yield_now();
            }
        }
        assert_eq!(pool.shared.state().threads, 1);
    }
}
