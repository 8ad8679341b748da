//! A deterministic world around the core: no real time, no real file, no socket.
//!
//! ```text
//!  scenario ──► World ──Input──► Bridge
//!                 │  ◄──Output──
//!        ┌────────┼─────────┬──────────┐
//!      Disk     Clock     Herdr     Clients
//! ```
//!
//! A [`World`] hands one input to the core, drains it until it waits, performs what it asked for and keeps the outcomes for
//! the moment they are due. Time jumps from deadline to deadline. On the way it checks that the core keeps to its
//! face ([`world`]) and that what each client sees is a transcript stream ([`contract`]).

pub mod client;
pub mod clock;
pub mod config;
pub mod contract;
pub mod disk;
pub mod herdr;
pub mod hints;
pub mod random;
pub mod reply;
pub mod scene;
pub mod screen;
pub mod transcript;
pub mod web;
pub mod world;

pub use client::{Ask, Client, Frames, Received, Speed};
pub use clock::Clock;
pub use config::{TOKEN, config};
pub use disk::Disk;
pub use herdr::Herdr;
pub use hints::{Hinting, Hints};
pub use random::Random;
pub use scene::Scene;
pub use transcript::Transcript;
pub use world::{Face, World};
