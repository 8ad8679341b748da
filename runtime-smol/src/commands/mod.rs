//! The commands beside the daemon.

pub(crate) mod token;
