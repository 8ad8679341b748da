//! The daemon: one thread runs the core and all sockets, a small pool does what may block.

mod alarm;
#[cfg(all(feature = "inotify", target_os = "linux"))]
mod hints;
mod listener;
mod main_thread;
mod socket;
mod tty;

use std::env;

use async_executor::LocalExecutor;
use async_io::Timer;
use async_signal::{Signal, Signals};
use futures_lite::{FutureExt as _, StreamExt as _};
use panewire_host::arguments::Serve;
use panewire_host::startup::SHUTDOWN_WITHIN;
use panewire_host::{Inbox, Problem, Startup};

use self::listener::Listener;
use self::main_thread::WakeUp;
use crate::PROGRAM;

/// Runs the daemon until a signal ends it.
pub(crate) fn run(serve: &Serve) -> Result<(), Problem> {
    let mut startup = Startup::begin(serve, PROGRAM)?;
    // It lives as long as the process, and tasks that outlive `main` are of no use to anybody.
    let executor: &'static LocalExecutor<'static> = Box::leak(Box::new(LocalExecutor::new()));
    #[cfg(all(feature = "inotify", target_os = "linux"))]
    let directories = startup.watch();
    let driver = startup.driver();
    let inbox = driver.inbox();
    #[cfg(all(feature = "inotify", target_os = "linux"))]
    if let Some(directories) = directories {
        executor.spawn(hints::run(directories, inbox.clone())).detach();
    }
    let signals = Signals::new([Signal::Term, Signal::Int])
        .map_err(|error| Problem::new(format_args!("cannot watch for signals: {error}")))?;
    let listener = Listener::new(startup.listener()?, startup.log)?;
    startup.announce()?;
    let wake_up = WakeUp::default();
    let driving = executor.spawn(driver.run(wake_up.clone()));
    let follow = env::args().next().unwrap_or_else(|| PROGRAM.to_owned());
    executor.spawn(startup.greet(inbox.clone(), follow)).detach();
    let accepting = executor.spawn(listener.accept(inbox.clone(), executor));
    // A task of its own: what is given to `run` is looked at whenever anything happens.
    let ended = executor.spawn(until_signal(signals, inbox, || drop(accepting), driving));
    main_thread::run(executor.run(ended), &wake_up);
    Ok(())
}

/// Waits for a signal, lets the core close every socket, and gives them time; a second signal ends that.
async fn until_signal(
    mut signals: Signals,
    inbox: Inbox,
    stop_accepting: impl FnOnce(),
    all_left: impl Future<Output = ()>,
) {
    signals.next().await;
    stop_accepting();
    inbox.shut_down();
    let late = async {
        Timer::after(SHUTDOWN_WITHIN).await;
    };
    let again = async {
        signals.next().await;
    };
    all_left.or(late).or(again).await;
}
