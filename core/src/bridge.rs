//! The root machine: routes inputs to the machines below it and drains them.

use alloc::collections::VecDeque;

use crate::config::Config;
use crate::io::{Input, Output, Why};
use crate::time::Now;

/// The whole protocol core.
#[derive(Debug)]
pub struct Bridge {
    config: Config,
    outputs: VecDeque<Output>,
    drained: bool,
}

impl Bridge {
    /// A bridge that has seen nothing yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, outputs: VecDeque::new(), drained: true }
    }

    /// Takes one input. Drain with [`poll_output`](Self::poll_output) until [`Output::Wait`] before the next.
    ///
    /// # Errors
    /// [`Misuse::NotDrained`] if the outputs of the input before were not drained; nothing has changed then.
    pub fn handle_input(&mut self, _now: Now, _input: Input<'_>) -> Result<(), Misuse> {
        if !self.drained {
            return Err(Misuse::NotDrained);
        }
        self.drained = false;
        let _ = &self.config;
        Ok(())
    }

    /// The next thing to do; [`Output::Wait`] means there is nothing more until the next input.
    pub fn poll_output(&mut self) -> Output {
        if let Some(output) = self.outputs.pop_front() {
            return output;
        }
        self.drained = true;
        Output::Wait { until: None, why: Why::Idle }
    }
}

/// A call that the face does not allow: a fault of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// An input came before the outputs of the last one were drained.
    NotDrained,
}

impl core::fmt::Display for Misuse {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NotDrained => f.write_str("handle_input was called before poll_output returned Wait"),
        }
    }
}

impl core::error::Error for Misuse {}
