//! A flag that anyone raises and one task waits for.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Raised flags are kept until they are seen: none is lost when nobody waits yet.
#[derive(Debug, Default)]
pub struct Signal(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    raised: bool,
    waker: Option<Waker>,
}

impl Signal {
    /// Raises the flag.
    pub fn raise(&self) {
        let waker = {
            let mut state = self.state();
            state.raised = true;
            state.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes the flag down, or asks to be woken when it is raised.
    pub fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.raised {
            state.raised = false;
            return Poll::Ready(());
        }
        listen(&mut state.waker, cx);
        Poll::Pending
    }

    /// Waits until the flag is raised and takes it down.
    pub async fn seen(&self) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Remembers who is to be woken.
pub(crate) fn listen(waker: &mut Option<Waker>, cx: &Context<'_>) {
    match waker {
        Some(waker) => waker.clone_from(cx.waker()),
        None => *waker = Some(cx.waker().clone()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_flag_is_seen_once_whether_it_was_raised_before_or_while_somebody_waits() {
        let woken = Arc::new(Woken::default());
        let waker = Arc::clone(&woken).into();
        let cx = Context::from_waker(&waker);
        let signal = Signal::default();
        signal.raise();
        signal.raise();
        assert_eq!((signal.poll(&cx), signal.poll(&cx)), (Poll::Ready(()), Poll::Pending));
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
        signal.raise();
        signal.raise();
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        assert_eq!((signal.poll(&cx), signal.poll(&cx)), (Poll::Ready(()), Poll::Pending));
    }
}
