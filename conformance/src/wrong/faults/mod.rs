//! What can be wrong, and which vector must notice it.

mod answers;
mod entries;
mod manners;
mod sessions;
mod stream;

use super::fault::Fault;

/// Every fault.
pub fn faults() -> impl Iterator<Item = &'static Fault> {
    [stream::FAULTS, sessions::FAULTS, entries::FAULTS, manners::FAULTS, answers::FAULTS].into_iter().flatten()
}
