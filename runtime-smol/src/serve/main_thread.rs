//! The one thread of the daemon sleeps until somebody wakes it, or until the deadline of the core.
//!
//! A timer of async-io would ring on the thread that waits for sockets, which then wakes this one and is told of the next
//! deadline: three switches for each look at a file, where this is one.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use panewire_host::Alarm;

/// The alarm of one task that [`run`] runs. Clones are one alarm.
#[derive(Clone, Default)]
pub(crate) struct WakeUp(Rc<Cell<Option<(Instant, Waker)>>>);

impl WakeUp {
    /// Rings if it is time, and tells when it wants to be asked again.
    fn ring(&self) -> Option<Instant> {
        let (at, waker) = self.0.take()?;
        if at <= Instant::now() {
            waker.wake();
            return None;
        }
        self.0.set(Some((at, waker)));
        Some(at)
    }
}

impl Alarm for WakeUp {
    fn poll(&mut self, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
        if at <= Instant::now() {
            return Poll::Ready(());
        }
        self.0.set(Some((at, cx.waker().clone())));
        Poll::Pending
    }
}

/// Runs a future on this thread to its end.
pub(crate) fn run<T>(future: impl Future<Output = T>, alarm: &WakeUp) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut cx) {
            return done;
        }
        match alarm.ring() {
            // What rang or woke this thread in between ends the sleep before it begins.
            Some(at) => thread::park_timeout(at.saturating_duration_since(Instant::now())),
            None => thread::park(),
        }
        alarm.ring();
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_wakes_up_at_the_deadline_and_not_before() {
        let alarm = WakeUp::default();
        let (began, mut rings) = (Instant::now(), alarm.clone());
        let at = began + Duration::from_millis(20);
        run(poll_fn(|cx| rings.poll(at, cx)), &alarm);
        assert!(Instant::now() >= at);
    }

    #[test]
    fn another_thread_wakes_it_before_its_deadline() {
        let alarm = WakeUp::default();
        let (mut rings, mut woken) = (alarm.clone(), false);
        let far = Instant::now() + Duration::from_secs(3600);
        let polls = run(
            poll_fn(|cx| {
                if woken {
                    return Poll::Ready("woken");
                }
                woken = true;
                assert!(rings.poll(far, cx).is_pending());
                let waker = cx.waker().clone();
                thread::spawn(move || waker.wake());
                Poll::Pending
            }),
            &alarm,
        );
        assert_eq!(polls, "woken");
    }
}
