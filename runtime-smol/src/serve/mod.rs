//! The daemon: one thread runs the core and all sockets, a small pool does what may block.

mod driver;
mod exchange;
mod greeting;
#[cfg(all(feature = "inotify", target_os = "linux"))]
mod hints;
mod http;
mod listener;
mod ops;
mod signal;
mod socket;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use async_executor::LocalExecutor;
use async_io::Timer;
use async_signal::{Signal as UnixSignal, Signals};
use futures_lite::{FutureExt as _, StreamExt as _, future};
use panewire_core::Bridge;
use panewire_core::io::{Input, Level};
use panewire_host::arguments::Serve;
use panewire_host::lock::Lock;
use panewire_host::surroundings::Surroundings;
use panewire_host::{Log, Performer, token};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use self::driver::Driver;
use self::listener::Listener;
use crate::Problem;

/// After a signal, sockets get this long to be closed in good order.
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(3);

/// Runs the daemon until a signal ends it.
pub(crate) fn run(serve: &Serve) -> Result<(), Problem> {
    let log = Log::new(serve.log);
    let surroundings = Surroundings::find(&serve.places)?;
    let state_dir = &surroundings.state_dir;
    let mut lock = Lock::take(state_dir).map_err(|error| {
        let place = state_dir.display();
        Problem::new(format_args!("cannot use the state directory {place}: {error}; --state-dir DIR names another"))
    })?;
    let (secret, origin) = secret(&surroundings)?;
    let listener = Listener::bind(&serve.listen).map_err(|error| {
        Problem::new(format_args!("cannot listen on {}: {error}; --listen HOST:PORT names another place", serve.listen))
    })?;
    let address = listener.address();
    if !address.ip().is_loopback() {
        let text =
            format!("{address} can be reached from other machines, unencrypted: whoever has the token can read all");
        log.write(Level::Warn, &text);
    }
    raise_descriptor_limit();
    let url = url(address);
    lock.say(Some(&url)).map_err(|error| Problem::new(format_args!("cannot write the lock file: {error}")))?;
    announce(&url, &origin);

    let config = surroundings.config(serve, &secret)?;
    // It lives as long as the process, and tasks that outlive `main` are of no use to anybody.
    let executor: &'static LocalExecutor<'static> = Box::leak(Box::new(LocalExecutor::new()));
    let performer = Performer::new();
    #[cfg(all(feature = "inotify", target_os = "linux"))]
    let (hints, performer) = with_hints(performer, log);
    let driver = Driver::new(Bridge::new(config), performer, log);
    #[cfg(all(feature = "inotify", target_os = "linux"))]
    if let Some(hints) = hints {
        executor.spawn(hints.run(Rc::clone(&driver))).detach();
    }
    let signals = Signals::new([UnixSignal::Term, UnixSignal::Int])
        .map_err(|error| Problem::new(format_args!("cannot watch for signals: {error}")))?;
    executor.spawn(Rc::clone(&driver).pump()).detach();
    executor.spawn(greeting::greet(Rc::clone(&driver), secret, log, serve.clone())).detach();
    let accepting = executor.spawn(listener.accept(Rc::clone(&driver), executor, log));
    // A task of its own: what is given to `run` is looked at whenever anything happens.
    let ended = executor.spawn(async move { until_signal(signals, &driver, || drop(accepting)).await });
    // Not async-io's own: its two threads would take turns at waiting, and wake each other for it.
    future::block_on(executor.run(ended));
    Ok(())
}

/// Lets changes of watched directories be told, if the system has room for it.
#[cfg(all(feature = "inotify", target_os = "linux"))]
fn with_hints(mut performer: Performer, log: Log) -> (Option<hints::Hints>, Performer) {
    let hints = hints::Hints::begin(&mut performer)
        .inspect_err(|error| log.write(Level::Info, &format!("files are looked at by the clock alone: {error}")));
    (hints.ok(), performer)
}

/// Waits for a signal, lets the core close every socket, and gives them time; a second signal ends that.
async fn until_signal(mut signals: Signals, driver: &Driver, stop_accepting: impl FnOnce()) {
    signals.next().await;
    stop_accepting();
    driver.input(Input::Shutdown);
    driver.ops().abandon();
    let all_left = async {
        while driver.carriers().get() > 0 || driver.ops().is_at_work() {
            driver.left().seen().await;
        }
    };
    let late = async {
        Timer::after(SHUTDOWN_WITHIN).await;
    };
    let again = async {
        signals.next().await;
    };
    all_left.or(late).or(again).await;
}

/// The token, and what the first line says about where it comes from.
fn secret(surroundings: &Surroundings) -> Result<(String, String), Problem> {
    let unusable = |error| Problem::new(format_args!("cannot use the token: {error}"));
    if let Some(secret) = token::from_environment().map_err(unusable)? {
        return Ok((secret, format!("token-variable {}", token::VARIABLE)));
    }
    let secret = token::load(&surroundings.state_dir).map_err(unusable)?;
    Ok((secret, format!("token-file {}", token::file(&surroundings.state_dir).display())))
}

/// The address as a client on this machine reaches it.
fn url(address: SocketAddr) -> String {
    match address {
        address if !address.ip().is_unspecified() => format!("http://{address}"),
        SocketAddr::V4(address) => format!("http://127.0.0.1:{}", address.port()),
        SocketAddr::V6(address) => format!("http://[::1]:{}", address.port()),
    }
}

/// The one line on standard output, for scripts and for people.
fn announce(url: &str, origin: &str) {
    let mut out = io::stdout().lock();
    // A daemon whose standard output is closed serves all the same.
    let _ = writeln!(out, "listening {url} {origin}").and_then(|()| out.flush());
}

/// A thousand clients need more descriptors than the usual soft limit of 1,024.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    // macOS says "unlimited" and refuses more than this.
    let wanted = limit.maximum.map_or(10_240, |maximum| maximum.min(65_536));
    if limit.current.is_some_and(|current| current < wanted) {
        // If it is refused, fewer clients find room, and the log will say so.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_is_one_that_can_be_called() {
        for (address, expected) in [
            ("127.0.0.1:80", "http://127.0.0.1:80"),
            ("0.0.0.0:81", "http://127.0.0.1:81"),
            ("[::]:82", "http://[::1]:82"),
            ("[::1]:83", "http://[::1]:83"),
            ("192.0.2.7:84", "http://192.0.2.7:84"),
        ] {
            assert_eq!(url(address.parse().unwrap()), expected);
        }
    }
}
