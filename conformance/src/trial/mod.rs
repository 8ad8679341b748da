//! Trials: a random play of everything that can go wrong, from a seed, against the real core and against a model that holds
//! everything.
//!
//! ```text
//!   seed ──► Plan ──► acts ──► World around the Bridge ──► what each client took
//!                      │                                         │ compared after every act
//!                      └─────► Chronicle of every file ──────────┘
//! ```
//!
//! The [`World`](crate::sim::World) checks the face of the core and the order of frames; here their content is compared with
//! what the file held: whatever a client has of one session id is one state of the file, whole and in order. Beside them
//! others are at terminals, follow events and answer the agent: what is shown, told and pressed is compared, too. A trial
//! that fails is [shrunk](shrink::shrink) to few acts.

pub mod act;
pub mod chance;
pub mod chronicle;
pub mod meter;
pub mod play;
pub mod shrink;
mod view;

pub use act::{Act, Plan};
pub use chance::Chance;
pub use meter::Meter;
pub use play::{Tally, play};
