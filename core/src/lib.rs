//! The sans-IO protocol core of Panewire.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod agent;
pub mod bridge;
pub mod config;
pub mod entry;
pub mod http;
pub mod ids;
pub mod io;
pub mod limits;
pub mod machine;
pub mod mobile;
pub mod pane;
pub mod source;
pub mod time;
mod timers;

pub use bridge::{Bridge, Misuse};
pub use config::Config;
