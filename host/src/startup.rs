//! How a daemon starts: everything that stands before its first connection, in the order in which it may fail.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use panewire_core::Bridge;
use panewire_core::config::Config;
use panewire_core::io::Level;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::arguments::Serve;
use crate::fetch::Trust;
use crate::greeting::{self, Greeting};
use crate::inbox::Inbox;
use crate::lock::Lock;
use crate::problem::Problem;
use crate::surroundings::Surroundings;
use crate::{Driver, Log, Performer, identity, token};

/// After a signal, sockets get this long to be closed in good order.
pub const SHUTDOWN_WITHIN: Duration = Duration::from_secs(3);

/// A daemon that has its state directory, its token and its address. It holds the state directory until it is dropped.
#[derive(Debug)]
pub struct Startup {
    /// What the operator reads.
    pub log: Log,
    lock: Lock,
    listener: TcpListener,
    address: SocketAddr,
    secret: String,
    /// Where the token comes from, as the first line says it.
    origin: String,
    config: Config,
    performer: Performer,
    serve: Serve,
}

impl Startup {
    /// Takes the state directory and the address. `program` is how the log calls itself.
    ///
    /// # Errors
    /// [`Problem`] for the first thing that cannot be had.
    pub fn begin(serve: &Serve, program: &'static str) -> Result<Self, Problem> {
        let log = Log::new(program, serve.log);
        let surroundings = Surroundings::find(&serve.places)?;
        let state_dir = &surroundings.state_dir;
        let lock = Lock::take(state_dir).map_err(|error| {
            let place = state_dir.display();
            Problem::new(format_args!("cannot use the state directory {place}: {error}; --state-dir DIR names another"))
        })?;
        let (secret, token_file) = secret(&surroundings)?;
        let origin = match &token_file {
            Some(file) => format!("token-file {}", file.display()),
            None => format!("token-variable {}", token::VARIABLE),
        };
        let trust = trust(serve.push_ca.as_deref())?;
        let unusable = |error| {
            let listen = &serve.listen;
            Problem::new(format_args!("cannot listen on {listen}: {error}; --listen HOST:PORT names another place"))
        };
        let listener = TcpListener::bind(&serve.listen).map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        listener.set_nonblocking(true).map_err(unusable)?;
        if !address.ip().is_loopback() {
            let text = format!(
                "{address} can be reached from other machines, unencrypted: whoever listens on the network can take the \
                 token, and with it read all and answer agents"
            );
            log.write(Level::Warn, &text);
        }
        raise_descriptor_limit();
        let mut config = surroundings.config(serve, &secret)?;
        config.server.id = identity::load(state_dir)
            .map_err(|error| Problem::new(format_args!("cannot tell which server this is: {error}")))?;
        config.server.url = url(address);
        config.token_file = token_file.and_then(|file| file.into_os_string().into_string().ok());
        let (mut performer, serve) = (Performer::new(), serve.clone());
        performer.trust(trust);
        Ok(Self { log, lock, listener, address, secret, origin, config, performer, serve })
    }

    /// The address, for the runtime: it does not block.
    ///
    /// # Errors
    /// That the system has no more descriptors.
    pub fn listener(&self) -> Result<TcpListener, Problem> {
        self.listener.try_clone().map_err(|error| Problem::new(format_args!("cannot use the listener: {error}")))
    }

    /// Lets the [driver](Self::driver) watch directories, if the system has room for it. Whoever waits for the
    /// [descriptor](crate::inotify::Directories::descriptor) brings it [hints](Inbox::hints).
    #[cfg(all(feature = "inotify", target_os = "linux"))]
    pub fn watch(&mut self) -> Option<std::sync::Arc<crate::inotify::Directories>> {
        let directories = crate::inotify::Directories::begin()
            .inspect_err(|error| {
                self.log.write(Level::Info, &format!("files are looked at by the clock alone: {error}"));
            })
            .ok()
            .map(std::sync::Arc::new)?;
        self.performer.watch_with(std::sync::Arc::clone(&directories));
        Some(directories)
    }

    /// The core with everything around it.
    #[must_use]
    pub fn driver(&self) -> Driver {
        Driver::new(Bridge::new(self.config.clone()), self.performer.clone(), self.log)
    }

    /// Says where it listens: in one line on standard output, for scripts and for people, and in the state directory,
    /// for commands that look for it. From here on a signal must end it in good order.
    ///
    /// # Errors
    /// That the state directory cannot be written.
    pub fn announce(&mut self) -> Result<(), Problem> {
        let url = &self.config.server.url;
        let said = self.lock.say(Some((url, self.address)));
        said.map_err(|error| Problem::new(format_args!("cannot write the lock file: {error}")))?;
        let mut out = io::stdout().lock();
        // A daemon whose standard output is closed serves all the same.
        let _ = writeln!(out, "listening {url} {}", self.origin).and_then(|()| out.flush());
        Ok(())
    }

    /// Tells on standard error what there is to follow, and that `follow` is the program to do it with.
    pub fn greet(&self, inbox: Inbox, follow: String) -> impl Future<Output = ()> + Send + use<> {
        let (secret, url) = (self.secret.clone(), self.config.server.url.clone());
        let greeting = Greeting { secret, log: self.log, serve: self.serve.clone(), follow, url };
        greeting::greet(inbox, greeting)
    }
}

/// Whom servers must be certified by that are pushed to.
fn trust(file: Option<&Path>) -> Result<Trust, Problem> {
    let Some(file) = file else { return Ok(Trust::default()) };
    let place = file.display();
    Trust::with_file(file).map_err(|error| Problem::new(format_args!("cannot use --push-ca {place}: {error}")))
}

/// The token, and the file that it comes from, if it comes from one.
fn secret(surroundings: &Surroundings) -> Result<(String, Option<PathBuf>), Problem> {
    let unusable = |error| Problem::new(format_args!("cannot use the token: {error}"));
    let unusable_file = |error: io::Error| match error.kind() {
        // It says itself what helps.
        io::ErrorKind::InvalidData => unusable(error),
        _ => Problem::new(format_args!("cannot use the token: {error}; --state-dir DIR names another place")),
    };
    if let Some(secret) = token::from_environment().map_err(unusable)? {
        return Ok((secret, None));
    }
    let secret = token::load(&surroundings.state_dir).map_err(unusable_file)?;
    Ok((secret, Some(token::file(&surroundings.state_dir))))
}

/// The address as a client on this machine reaches it.
fn url(address: SocketAddr) -> String {
    match address {
        address if !address.ip().is_unspecified() => format!("http://{address}"),
        SocketAddr::V4(address) => format!("http://127.0.0.1:{}", address.port()),
        SocketAddr::V6(address) => format!("http://[::1]:{}", address.port()),
    }
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
