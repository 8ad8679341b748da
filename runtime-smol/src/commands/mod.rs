//! The commands beside the daemon.

pub(crate) mod drift;
pub(crate) mod panes;
pub(crate) mod show;
pub(crate) mod tail;
pub(crate) mod token;
