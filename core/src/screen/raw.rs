//! A kind of agent whose screens nobody has looked at: its last readable lines.

use super::rows::Row;
use super::{Reading, frame};

pub(super) fn read(rows: &[Row]) -> Reading {
    Reading { lines: frame::readable(rows), ..Reading::default() }
}
