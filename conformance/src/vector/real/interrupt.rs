//! A run that is to end early: servers have process groups of their own, so nobody else ends them.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::vector::stage::Trouble;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on every play of this process ends as soon as it can, and puts everything away.
pub fn interrupt() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// Whether that was said.
#[must_use]
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// For those who wait.
pub(super) fn check() -> Result<(), Trouble> {
    if is_interrupted() { Err(Trouble("interrupted".into())) } else { Ok(()) }
}
