//! What the runtimes of Panewire share and no executor is needed for.
//!
//! A runtime is thin: it owns sockets, timers and threads. Everything that two of them would write twice lives here and
//! blocks at most as long as its caller allowed: the performers of [`Op`](panewire_core::io::Op)s ([`performer`]), the
//! WebSocket engine ([`websocket`]), the command line ([`arguments`]), the token, the lock and the surroundings of the
//! process. It knows no rule of the protocol: those are in [`panewire_core`].
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod answer;
pub mod arguments;
pub mod blocking;
pub mod clock;
pub mod files;
#[cfg(all(feature = "inotify", target_os = "linux"))]
pub mod inotify;
pub mod limit;
pub mod lock;
pub mod log;
pub mod performer;
pub mod pool;
pub mod process;
pub mod surroundings;
pub mod token;
pub mod unix;
pub mod websocket;

pub use answer::Answer;
pub use clock::Clock;
pub use limit::{Cancel, Limit};
pub use log::Log;
pub use performer::Performer;
pub use pool::Pool;
pub use websocket::WebSocket;
