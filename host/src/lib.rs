//! What the runtimes of Panewire share and no executor is needed for.
//!
//! A runtime is thin: it owns sockets, timers and threads. Everything that two of them would write twice lives here and
//! blocks at most as long as its caller allowed: the [`Driver`] that owns the core, the performers of
//! [`Op`](panewire_core::io::Op)s ([`performer`]), what happens on a connection ([`http`], [`connection`], [`websocket`]),
//! the command line, what it asks of a daemon and what it prints ([`arguments`], [`daemon`], [`render`]), the token, the lock and the surroundings of the process.
//! It knows no rule of the
//! protocol: those are in [`panewire_core`].
//!
//! What a runtime does with it is in `docs/writing-a-runtime.md`.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod answer;
pub mod arguments;
pub mod blocking;
pub mod clock;
pub mod connection;
pub mod daemon;
pub mod devices;
pub mod door;
pub mod driver;
mod exchange;
pub mod fetch;
pub mod files;
mod greeting;
pub mod http;
pub mod identity;
pub mod impatient;
pub mod inbox;
#[cfg(all(feature = "inotify", target_os = "linux"))]
pub mod inotify;
pub mod limit;
pub mod listing;
pub mod lock;
pub mod log;
mod ops;
pub mod pairing;
pub mod performer;
pub mod pipe;
pub mod pool;
pub mod problem;
pub mod process;
pub mod qr;
pub mod render;
pub mod signal;
#[cfg(feature = "opencode-sqlite")]
pub mod sqlite;
pub mod startup;
pub mod surroundings;
pub mod terminal;
pub mod token;
pub mod unix;
pub mod websocket;

pub use answer::Answer;
pub use clock::Clock;
pub use door::Door;
pub use driver::{Alarm, Driver};
pub use exchange::Carrier;
pub use impatient::Impatient;
pub use inbox::Inbox;
pub use limit::{Cancel, Limit};
pub use log::Log;
pub use performer::Performer;
pub use pool::Pool;
pub use problem::Problem;
pub use startup::Startup;
pub use websocket::WebSocket;
