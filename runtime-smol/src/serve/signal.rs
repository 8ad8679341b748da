//! A flag that one task raises and one other waits for.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

/// Raised flags are kept until they are seen: none is lost when nobody waits yet.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    raised: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Signal {
    /// Raises the flag.
    pub(crate) fn raise(&self) {
        self.raised.set(true);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Takes the flag down, or asks to be woken when it is raised.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        if self.raised.take() {
            return Poll::Ready(());
        }
        let mut waker = self.waker.borrow_mut();
        match &mut *waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => *waker = Some(cx.waker().clone()),
        }
        Poll::Pending
    }

    /// Waits until the flag is raised and takes it down.
    pub(crate) async fn seen(&self) {
        poll_fn(|cx| self.poll(cx)).await;
    }
}
