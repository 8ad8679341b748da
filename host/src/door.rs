//! Who comes in: the bounds on connections, and how each is prepared.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use panewire_core::io::Level;
use panewire_core::limits::MAX_EXCHANGES;
use rustix::net::sockopt::{set_socket_send_buffer_size, set_tcp_nodelay};

use crate::Log;

/// Connections that speak HTTP at once; one that became a WebSocket counts no more. One more is closed without a word.
/// There is room for all exchanges of the core and some, so that who finds no room there is told.
pub const MAX_CONNECTIONS: usize = MAX_EXCHANGES + 1_024;

/// Bytes that the kernel holds for a client. By default it grows to 4 MB for one that never reads.
const SEND_BUFFER_BYTES: usize = 128 * 1024;

/// Pause after the system refused a connection, for want of descriptors or memory.
const PAUSE: Duration = Duration::from_millis(100);

/// Time between two lines that say the same about connections that are not let in.
const SAY_EVERY: Duration = Duration::from_secs(60);

/// Lets connections in.
#[derive(Debug)]
pub struct Door {
    log: Log,
    most: usize,
    seats: Arc<AtomicUsize>,
    full: Said,
    refused: Said,
}

/// When something was said last. Whoever knocks as often as he likes does not fill our log.
#[derive(Debug, Default)]
struct Said(Mutex<Option<Instant>>);

/// The place of one connection, given back when this is dropped.
#[derive(Debug)]
pub struct Seat(Arc<AtomicUsize>);

impl Door {
    /// Room for [`MAX_CONNECTIONS`].
    #[must_use]
    pub fn new(log: Log) -> Self {
        let (full, refused) = (Said::default(), Said::default());
        Self { log, most: MAX_CONNECTIONS, seats: Arc::default(), full, refused }
    }

    /// Prepares an accepted connection. `None`: drop it.
    #[must_use]
    pub fn admit(&self, stream: impl AsFd) -> Option<Seat> {
        let before = self.seats.fetch_add(1, Ordering::Relaxed);
        let seat = Seat(Arc::clone(&self.seats));
        if before >= self.most {
            if self.full.is_due(Instant::now()) {
                self.log
                    .write(Level::Warn, &format!("over {} connections are open: more are closed at once", self.most));
            }
            return None;
        }
        let prepared =
            set_tcp_nodelay(&stream, true).and_then(|()| set_socket_send_buffer_size(&stream, SEND_BUFFER_BYTES));
        // A client that is gone already.
        prepared.ok().map(|()| seat)
    }

    /// The system did not give a connection. How long to wait before the next, if at all.
    #[must_use]
    pub fn refused(&self, error: &io::Error) -> Option<Duration> {
        if error.kind() == io::ErrorKind::ConnectionAborted {
            return None;
        }
        if self.refused.is_due(Instant::now()) {
            self.log.write(Level::Warn, &format!("connections are not accepted: {error}"));
        }
        Some(PAUSE)
    }
}

impl Said {
    /// Whether it is to be said again; then it counts as said.
    fn is_due(&self, now: Instant) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.is_none_or(|last| now.saturating_duration_since(last) >= SAY_EVERY);
        if due {
            *last = Some(now);
        }
        due
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use rustix::net::sockopt::{socket_send_buffer_size, tcp_nodelay};

    use super::*;

    fn door(most: usize) -> Door {
        Door { most, ..Door::new(Log::new("panewire", Level::Warn)) }
    }

    #[test]
    fn one_too_many_finds_no_seat_until_another_is_given_back() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let door = door(2);
        let first = door.admit(&stream).unwrap();
        let _second = door.admit(&stream).unwrap();
        assert!(door.admit(&stream).is_none() && door.admit(&stream).is_none());
        drop(first);
        let _third = door.admit(&stream).unwrap();
        assert!(door.admit(&stream).is_none());
    }

    #[test]
    fn what_the_kernel_holds_for_a_client_is_bounded() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _seat = door(1).admit(&stream).unwrap();
        assert!(tcp_nodelay(&stream).unwrap());
        // Linux keeps as much again for its own records, and says so.
        assert!([1, 2].map(|times| times * SEND_BUFFER_BYTES).contains(&socket_send_buffer_size(&stream).unwrap()));
    }

    #[test]
    fn what_happens_all_the_time_is_said_once_a_minute() {
        let (said, begun) = (Said::default(), Instant::now());
        let at = |ms| said.is_due(begun + Duration::from_millis(ms));
        assert_eq!([0, 1, 59_999, 60_000].map(at), [true, false, false, true]);
        assert_eq!([60_001, 119_999, 120_000].map(at), [false, false, true]);
    }

    #[test]
    fn only_a_refusal_of_the_system_is_waited_for() {
        let refused = |kind: io::ErrorKind| door(1).refused(&kind.into());
        assert_eq!(refused(io::ErrorKind::ConnectionAborted), None);
        assert_eq!(refused(io::ErrorKind::OutOfMemory), Some(PAUSE));
    }
}
