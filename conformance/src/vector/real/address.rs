//! Where a server listens.

use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// Ports that are given to servers: below those that most systems give to clients.
const FIRST_PORT: u16 = 20_000;
const PORTS: u16 = 12_000;
/// Kits that run at the same time begin so far from each other.
const APART: u32 = 401;

/// How long a server on this machine may take to accept a connection.
const ACCEPTED_WITHIN: Duration = Duration::from_secs(5);

/// `http://HOST:PORT/BASE`, made out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// As `Host` names it.
    pub(super) host: String,
    /// What comes before every path.
    pub(super) base: String,
    sockets: Vec<SocketAddr>,
}

impl Address {
    pub(super) fn of(url: &str) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or_else(|| {
            format!("{url} does not begin with http://: the kit speaks to a server directly, without encryption")
        })?;
        let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let with_port = if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
            host.to_owned()
        } else {
            format!("{host}:80")
        };
        let sockets = with_port.to_socket_addrs().map_err(|error| format!("{url}: {error}"))?.collect();
        Ok(Self { host: host.into(), base: path.trim_end_matches('/').into(), sockets })
    }

    /// The loopback interface of this machine.
    pub(super) fn of_port(port: u16) -> Self {
        let sockets = vec![SocketAddr::from(([127, 0, 0, 1], port))];
        Self { host: format!("127.0.0.1:{port}"), base: String::new(), sockets }
    }

    /// Connects to the first of its sockets that accepts.
    pub(super) fn connect(&self) -> Result<TcpStream, String> {
        let mut last = "it has no address".to_owned();
        for socket in &self.sockets {
            match TcpStream::connect_timeout(socket, ACCEPTED_WITHIN) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error.to_string(),
            }
        }
        Err(format!("nothing accepts connections at {}: {last}", self.host))
    }
}

/// A port of the loopback interface that nobody has. Each is given away once, and most systems give none of them to clients:
/// two servers that start at the same time do not meet.
pub(super) fn free_port() -> Result<u16, String> {
    static NEXT: OnceLock<AtomicU16> = OnceLock::new();
    let first = || u16::try_from(std::process::id().wrapping_mul(APART) % u32::from(PORTS)).unwrap_or_default();
    let next = NEXT.get_or_init(|| AtomicU16::new(first()));
    let mut ports = (0..PORTS).map(|_| FIRST_PORT + next.fetch_add(1, Ordering::Relaxed) % PORTS);
    let last = FIRST_PORT + (PORTS - 1);
    ports.find(|port| !is_taken(*port)).ok_or_else(|| format!("every port from {FIRST_PORT} to {last} is taken"))
}

/// Whether somebody has it.
fn is_taken(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_made_out() {
        let address = Address::of("http://127.0.0.1:4711").unwrap();
        assert_eq!(address, Address::of_port(4711));
        let address = Address::of("http://[::1]:80/agents/").unwrap();
        assert_eq!((address.host.as_str(), address.base.as_str()), ("[::1]:80", "/agents"));
        assert_eq!(Address::of("http://127.0.0.1").unwrap().sockets, ["127.0.0.1:80".parse().unwrap()]);
        assert!(Address::of("https://a").unwrap_err().contains("does not begin with http://"));
    }

    #[test]
    fn a_port_that_is_free_can_be_taken() {
        let port = free_port().unwrap();
        assert_ne!(free_port().unwrap(), port);
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        assert!(is_taken(port));
        assert!(Address::of_port(port).connect().is_ok());
        drop(listener);
        assert!(Address::of_port(port).connect().unwrap_err().contains("nothing accepts connections at 127.0.0.1:"));
    }
}
