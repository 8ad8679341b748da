//! The daemon: one task owns the core, one task for each connection, as many threads as there are processors.

mod alarm;
#[cfg(all(feature = "inotify", target_os = "linux"))]
mod hints;
mod listener;
mod socket;

use std::io;
use std::panic::resume_unwind;

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
    let runtime = Builder::new_multi_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| Problem::new(format_args!("cannot start threads: {error}")))?;
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
