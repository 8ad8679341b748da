//! The sans-IO protocol core of Panewire.
//!
//! Features, none of which adds API or changes behaviour:
//! - `std` (default): faster byte search on hosts with an operating system.
//! - `simd`: long strings with escapes are decoded by simd-json, which needs `std`, when an entry is made of them.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod agent;
pub mod bridge;
pub mod config;
pub mod device;
pub mod entry;
pub mod http;
pub mod ids;
pub mod io;
pub mod limits;
pub mod machine;
pub mod mobile;
pub mod pane;
pub mod push;
pub mod roster;
pub mod screen;
pub mod source;
pub mod time;
mod timers;

pub use bridge::{Bridge, Misuse};
pub use config::Config;
