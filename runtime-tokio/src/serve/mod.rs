//! The daemon: one task owns the core, one task for each connection, as many threads as there are processors.

mod alarm;
#[cfg(all(feature = "inotify", target_os = "linux"))]
mod hints;
mod listener;
mod socket;

use std::io;

use panewire_host::arguments::Serve;
use panewire_host::startup::SHUTDOWN_WITHIN;
use panewire_host::{Inbox, Problem, Startup};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
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
    let driving = tokio::spawn(driver.run(Deadline::default()));
    tokio::spawn(startup.greet(inbox.clone(), FOLLOW.to_owned()));
    let accepting = tokio::spawn(listener.accept(inbox.clone()));

    signals.next().await;
    accepting.abort();
    close(&inbox, driving, &mut signals).await;
    Ok(())
}

async fn close(inbox: &Inbox, all_left: JoinHandle<()>, signals: &mut Signals) {
    inbox.shut_down();
    tokio::select! {
        _ = all_left => {}
        () = sleep(SHUTDOWN_WITHIN) => {}
        () = signals.next() => {}
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
