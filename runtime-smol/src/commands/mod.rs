//! The commands beside the daemon.

mod connection;
pub(crate) mod drift;
pub(crate) mod panes;
pub(crate) mod show;
pub(crate) mod tail;
pub(crate) mod token;
pub(crate) mod tree;
