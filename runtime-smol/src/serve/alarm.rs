//! A timer that wakes a task.

use std::task::{Context, Poll};
use std::time::Instant;

use async_io::Timer;
use futures_lite::FutureExt as _;
use panewire_host::Alarm;

/// One timer for all deadlines of a task. It is set anew only to ring earlier: setting costs a system call, ringing for
/// nothing costs nearly nothing.
#[derive(Debug, Default)]
pub(crate) struct Deadline {
    set: Option<(Timer, Instant)>,
}

impl Alarm for Deadline {
    fn poll(&mut self, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let (timer, set) = match &mut self.set {
                Some((timer, set)) => {
                    if at < *set {
                        timer.set_at(at);
                        *set = at;
                    }
                    (timer, *set)
                }
                none => {
                    let (timer, set) = none.insert((Timer::at(at), at));
                    (timer, *set)
                }
            };
            if timer.poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.set = None;
            if set >= at {
                return Poll::Ready(());
            }
        }
    }
}
