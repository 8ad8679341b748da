//! What Panewire's tests and its conformance kit stand on.
//!
//! * [`sim`]: a world without real time and real files around the core: disk, clock, herdr, clients.
//! * [`trial`]: random plays in that world, compared with a model.
//! * [`herdr`]: what herdr answers, in the shapes that were captured from the real one.
//! * [`fake_herdr`]: a real process with a real socket that answers so.
//! * [`vector`]: examples of the contract as data, for this core and for every other server.
//! * [`wrong`]: servers that are wrong on purpose, to see that the vectors notice.
//! * [`shape`]: JSON with its field order, for contracts in which the order matters.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod fake_herdr;
pub mod herdr;
pub mod shape;
pub mod sim;
pub mod trial;
pub mod vector;
pub mod wrong;
