//! What the driver is told: by whoever carries exchanges, watches directories, or stops the daemon.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use hyper::http::request::Parts;
use panewire_core::ids::ExId;

use crate::exchange::{Carrier, Exchange};
#[cfg(all(feature = "inotify", target_os = "linux"))]
use crate::inotify::Change;
use crate::signal::listen;

/// The way to the driver, from any thread. Clones lead to the same driver.
///
/// It holds one request and one post for each exchange at most, and one read's worth of hints: its size is bounded by how
/// many connections there are.
#[derive(Debug, Clone, Default)]
pub struct Inbox(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Raised when hints were heard.
    #[cfg(all(feature = "inotify", target_os = "linux"))]
    heard: crate::signal::Signal,
}

#[derive(Debug, Default)]
struct State {
    posts: VecDeque<Post>,
    driver: Option<Waker>,
    last_exchange: u64,
    carriers: usize,
}

/// Something for the driver to look at.
#[derive(Debug)]
pub(crate) enum Post {
    /// An exchange begins.
    Request(Arc<Exchange>, Box<Asked>),
    /// Something was told on this exchange.
    Told(Arc<Exchange>),
    /// Something happened in watched directories.
    #[cfg(all(feature = "inotify", target_os = "linux"))]
    Hints(Vec<Change>),
    /// The daemon stops.
    ShutDown,
}

/// The head of a request.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) parts: Parts,
    /// Whether it is a well-formed upgrade to a WebSocket.
    pub(crate) upgrade: bool,
}

impl Inbox {
    /// Begins an exchange with the head of its request.
    #[must_use]
    pub fn request(&self, parts: Parts, upgrade: bool) -> Carrier {
        let exchange = {
            let mut state = self.state();
            state.carriers += 1;
            state.last_exchange = state.last_exchange.saturating_add(1);
            Arc::new(Exchange::new(ExId(state.last_exchange)))
        };
        self.push(Post::Request(Arc::clone(&exchange), Box::new(Asked { parts, upgrade })));
        Carrier::new(self.clone(), exchange)
    }

    /// Brings hints to the core, and waits until it has heard them.
    #[cfg(all(feature = "inotify", target_os = "linux"))]
    pub async fn hints(&self, changes: Vec<Change>) {
        if !changes.is_empty() {
            self.push(Post::Hints(changes));
            self.0.heard.seen().await;
        }
    }

    /// Lets the core close every socket. The driver [ends](crate::Driver::run) when all of them have left.
    pub fn shut_down(&self) {
        self.push(Post::ShutDown);
    }

    pub(crate) fn post(&self, exchange: &Arc<Exchange>) {
        self.push(Post::Told(Arc::clone(exchange)));
    }

    pub(crate) fn carrier_left(&self) {
        let waker = {
            let mut state = self.state();
            state.carriers = state.carriers.saturating_sub(1);
            state.driver.take()
        };
        wake(waker);
    }

    /// How many exchanges are still carried to their clients.
    pub(crate) fn carriers(&self) -> usize {
        self.state().carriers
    }

    /// Asks to be woken when there is something to look at.
    pub(crate) fn listen(&self, cx: &Context<'_>) {
        listen(&mut self.state().driver, cx);
    }

    pub(crate) fn next(&self) -> Option<Post> {
        let mut state = self.state();
        let post = state.posts.pop_front();
        if state.posts.is_empty() {
            // A crowd has passed: its room is given back.
            state.posts.shrink_to(KEPT_POSTS);
        }
        post
    }

    #[cfg(all(feature = "inotify", target_os = "linux"))]
    pub(crate) fn hints_heard(&self) {
        self.0.heard.raise();
    }

    fn push(&self, post: Post) {
        let waker = {
            let mut state = self.state();
            state.posts.push_back(post);
            state.driver.take()
        };
        wake(waker);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Posts for which the emptied inbox keeps its room.
const KEPT_POSTS: usize = 64;

/// Never while the state is held: whoever is woken may look at once.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
