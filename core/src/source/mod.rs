//! From the bytes of a growing file to its lines, and to a stream with a seq for every entry.

pub mod branches;
pub mod follow;
mod generation;
pub mod index;
pub mod json;
pub mod lines;
pub(crate) mod own_files;
pub mod page;
pub mod records;
pub mod ring;
pub mod saved;
pub mod spool;
pub mod whole_files;
