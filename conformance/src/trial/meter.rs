//! How much memory the core holds: asked of an allocator that tells its allocations apart.
//!
//! The allocator belongs to the program that runs trials; a test has none, and then nothing is measured.

use panewire_core::io::{Input, Output};
use panewire_core::time::Now;
use panewire_core::{Bridge, Misuse};

use crate::sim::Face;

/// What a counting allocator offers, for the thread that asks.
#[derive(Debug, Clone, Copy)]
pub struct Meter {
    /// From now on allocations are the core's, or are not.
    pub inside: fn(bool),
    /// The most bytes that were the core's at once since this was asked last.
    pub take_peak: fn() -> usize,
}

/// The core, with what it allocates counted as its own wherever it is freed.
#[derive(Debug)]
pub struct Metered {
    bridge: Bridge,
    meter: Option<Meter>,
}

impl Metered {
    /// This core, measured if there is a meter.
    #[must_use]
    pub const fn new(bridge: Bridge, meter: Option<Meter>) -> Self {
        Self { bridge, meter }
    }

    fn within<T>(&mut self, act: impl FnOnce(&mut Bridge) -> T) -> T {
        if let Some(meter) = self.meter {
            (meter.inside)(true);
        }
        let done = act(&mut self.bridge);
        if let Some(meter) = self.meter {
            (meter.inside)(false);
        }
        done
    }
}

impl Face for Metered {
    fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        self.within(|bridge| bridge.handle_input(now, input))
    }

    fn poll_output(&mut self) -> Output {
        self.within(Bridge::poll_output)
    }
}
