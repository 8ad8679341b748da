//! A timer that wakes a task.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use panewire_host::Alarm;
use tokio::time::{Sleep, sleep_until};

/// One timer for all deadlines of a task, made with the first of them.
#[derive(Debug, Default)]
pub(crate) struct Deadline(Option<Pin<Box<Sleep>>>);

impl Alarm for Deadline {
    fn poll(&mut self, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let at = at.into();
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        sleep.as_mut().poll(cx)
    }
}
