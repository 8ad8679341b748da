//! opencode: three generations of a store that rewrites itself, fed into a spool.
//!
//! ```text
//!  JSON tree ─┐ messages and parts ──▶ v1 ─┐
//!  SQLite ────┘                            ├─▶ blocks ──▶ settle ──▶ render ──▶ Spool
//!  service ──── messages with content ▶ v2 ┘
//! ```
//!
//! Messages are in order of time, then id: ids alone wrapped in August 2026. A block goes into the spool when it has
//! settled, once: a text when it has ended, a call when its input is complete, its answer when it is there.

pub mod layout;

mod block;
mod call;
pub(crate) mod children;
mod database;
pub(crate) mod events;
mod remote;
mod render;
pub(crate) mod search;
mod service;
mod settle;
mod store;
mod tree;
mod v1;
mod v2;

pub use store::Store;
