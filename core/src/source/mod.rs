//! From the bytes of a growing file to its lines, and to a stream with a seq for every entry.

pub mod json;
pub mod records;
