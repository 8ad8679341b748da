//! The daemon: one task owns the core, one task for each connection, as many threads as there are processors.

mod alarm;
#[cfg(all(feature = "inotify", target_os = "linux"))]
mod hints;
mod listener;
mod socket;
mod tty;

use std::io;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::thread::{self, available_parallelism};

use panewire_host::arguments::Serve;
use panewire_host::startup::SHUTDOWN_WITHIN;
use panewire_host::{Problem, Startup};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinError;
use tokio::time::sleep;

use self::alarm::Deadline;
use self::listener::Listener;
use crate::PROGRAM;

/// The program that follows a pane: it finds this daemon by its state directory.
const FOLLOW: &str = "panewire";

/// Runs the daemon until a signal ends it.
pub(crate) fn run(serve: &Serve) -> Result<(), Problem> {
    let startup = Startup::begin(serve, PROGRAM)?;
    let threads = available_parallelism().map_or(1, NonZero::get);
    let runtime = ask_for_threads(threads, thread::Builder::new)
        .and_then(|()| Builder::new_multi_thread().worker_threads(threads).enable_io().enable_time().build())
        .map_err(|error| Problem::new(format_args!("cannot start {threads} threads: {error}")))?;
    // Dropped at the end, the runtime lets every task come to its next rest: an answer whose last piece was just given to
    // the HTTP library is written.
    runtime.block_on(until_signal(startup))
}

/// Serves until a signal comes, lets the core close every socket, and gives them time; a second signal ends that.
async fn until_signal(mut startup: Startup) -> Result<(), Problem> {
    #[cfg(all(feature = "inotify", target_os = "linux"))]
    let directories = startup.watch();
    let driver = startup.driver();
    let inbox = driver.inbox();
    #[cfg(all(feature = "inotify", target_os = "linux"))]
    if let Some(directories) = directories {
        tokio::spawn(hints::run(directories, inbox.clone()));
    }
    let mut signals =
        Signals::new().map_err(|error| Problem::new(format_args!("cannot watch for signals: {error}")))?;
    let listener = Listener::new(startup.listener()?, startup.log)?;
    startup.announce()?;
    let mut driving = tokio::spawn(driver.run(Deadline::default()));
    tokio::spawn(startup.greet(inbox.clone(), FOLLOW.to_owned()));
    let accepting = tokio::spawn(listener.accept(inbox.clone()));

    tokio::select! {
        () = signals.next() => {}
        // Not before it was told to: it has failed, and nothing works without it.
        Err(failed) = &mut driving => resume(failed),
    }
    accepting.abort();
    inbox.shut_down();
    tokio::select! {
        left = driving => left.unwrap_or_else(resume),
        () = sleep(SHUTDOWN_WITHIN) => {}
        () = signals.next() => {}
    }
    Ok(())
}

/// Whether the system gives so many threads. tokio panics where it does not, and may wait for ever on its way out.
fn ask_for_threads(wanted: usize, mut builder: impl FnMut() -> thread::Builder) -> io::Result<()> {
    let gate = Mutex::new(());
    thread::scope(|scope| {
        // All of them are there at once before the first may end.
        let shut = gate.lock();
        let asked = (0..wanted).try_for_each(|_| builder().spawn_scoped(scope, || drop(gate.lock())).map(drop));
        drop(shut);
        asked
    })
}

/// Goes on with the panic of a task here, where it ends the daemon.
fn resume(failed: JoinError) {
    if let Ok(panic) = failed.try_into_panic() {
        resume_unwind(panic);
    }
}

/// SIGTERM and SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_cannot_be_had_is_said_and_holds_nobody() {
        assert!(ask_for_threads(3, thread::Builder::new).is_ok());
        let mut given = 0;
        let asked = ask_for_threads(9, || {
            given += 1;
            // No system has so much room for a stack.
            if given == 3 { thread::Builder::new().stack_size(usize::MAX / 2) } else { thread::Builder::new() }
        });
        assert!(asked.is_err());
        assert_eq!(given, 3);
    }
}
