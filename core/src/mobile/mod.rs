//! The mobile contract: the frames and rules of that contract only.

pub mod card;
pub mod changes;
pub mod client;
pub mod control;
pub mod events;
pub mod features;
pub mod frames;
pub(crate) mod liveness;
mod plain;
pub mod receipt;
pub mod recent;
pub mod resume;
pub mod roster;
pub mod snapshot;
pub mod subscriber;

/// The wire version that `hello` and `GET /info` name.
pub const PROTOCOL: u32 = 5;
