//! One HTTP exchange, between the driver that fills it and the task that carries it to the client.
//!
//! ```text
//!            Said: head, frames, close, hold
//!   Driver ──────────────────────────────────▶ Carrier ──▶ client
//!          ◀──────────────────────────────────
//!            Told: credit, one message, gone
//! ```
//!
//! The two may run on different threads. Neither waits for the other: what is said lies in the exchange until the carrier
//! takes it, bounded by the client's credit; what is told lies there until the driver takes it, bounded because credit
//! adds up and a carrier reads nothing more while a message of its client was not heard.

use std::collections::VecDeque;
use std::fs::File;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use panewire_core::ids::{ExId, OpId};
use panewire_core::io::{CloseCode, Fin, Frame, Head, Input};

use crate::inbox::Inbox;
use crate::signal::Signal;
use crate::websocket::Received;

/// What the core has said about one exchange, and what it was not told yet.
#[derive(Debug)]
pub(crate) struct Exchange {
    id: ExId,
    state: Mutex<State>,
    /// Raised when the core has said something, or has heard what was told.
    changed: Signal,
}

#[derive(Debug, Default)]
struct State {
    said: Said,
    told: Told,
    /// The driver knows that something was told.
    posted: bool,
}

/// What the core has said and the carrier has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// The head of an HTTP answer.
    pub(crate) head: Option<Head>,
    /// The upgrade is accepted: it is a WebSocket from here on.
    pub(crate) accepted: bool,
    /// Frames for the client, in order.
    pub(crate) frames: VecDeque<Frame>,
    /// The answer is complete.
    pub(crate) finished: bool,
    /// Close the WebSocket behind the last frame.
    pub(crate) close: Option<(CloseCode, &'static str)>,
    /// Nothing more is to be read from the client.
    pub(crate) held: bool,
    /// Messages of so many bytes may come.
    pub(crate) allowed: Option<usize>,
    /// The client is at another terminal from here on.
    pub(crate) piping: Option<Piping>,
}

/// Which terminal a client is at.
#[derive(Debug)]
pub(crate) enum Piping {
    /// This one.
    Begin(OpId, File),
    /// None any more.
    End,
}

/// What the carrier has told and the core has not heard yet.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) taken: usize,
    pub(crate) event: Option<Event>,
    pub(crate) gone: bool,
    /// This terminal has ended.
    pub(crate) unpiped: Option<OpId>,
}

/// Something that a client sent.
#[derive(Debug)]
pub(crate) enum Event {
    /// A piece of the body of its request.
    Body(Bytes, Fin),
    /// A WebSocket message.
    Message(Received),
}

impl Event {
    /// The same as the core takes it; nothing for what the core is not told.
    pub(crate) fn as_input(&self, id: ExId) -> Option<Input<'_>> {
        match self {
            Self::Body(piece, fin) => Some(Input::Body(id, piece, *fin)),
            Self::Message(received) => received.as_message().map(|message| Input::Message(id, message)),
        }
    }
}

impl Exchange {
    pub(crate) fn new(id: ExId) -> Self {
        Self { id, state: Mutex::default(), changed: Signal::default() }
    }

    pub(crate) const fn id(&self) -> ExId {
        self.id
    }

    /// Says something to the carrier, which learns of it when [`changed`](Self::changed) is raised.
    pub(crate) fn say(&self, say: impl FnOnce(&mut Said)) {
        say(&mut self.state().said);
    }

    pub(crate) const fn changed(&self) -> &Signal {
        &self.changed
    }

    /// Takes what was told.
    pub(crate) fn hear(&self) -> Told {
        let mut state = self.state();
        state.posted = false;
        mem::take(&mut state.told)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever carries the exchange to the client holds this; when it is dropped, the core learns that the client is gone.
#[derive(Debug)]
pub struct Carrier {
    inbox: Inbox,
    exchange: Arc<Exchange>,
}

impl Carrier {
    pub(crate) const fn new(inbox: Inbox, exchange: Arc<Exchange>) -> Self {
        Self { inbox, exchange }
    }

    /// Ready when something was said, or what was told was heard, since the last call.
    pub(crate) fn poll_changed(&self, cx: &Context<'_>) -> Poll<()> {
        self.exchange.changed.poll(cx)
    }

    /// Looks at what the core has said, and takes of it.
    pub(crate) fn said<T>(&self, look: impl FnOnce(&mut Said) -> T) -> T {
        look(&mut self.exchange.state().said)
    }

    /// Whether the client may be read: the core does not hold it, and has heard what it sent before.
    pub(crate) fn may_read(&self) -> bool {
        let state = self.exchange.state();
        !state.said.held && state.told.event.is_none()
    }

    /// Tells the core what the client sent. Only while it [may be read](Self::may_read).
    pub(crate) fn tell(&self, event: Event) {
        self.post(|told| told.event = Some(event));
    }

    /// Tells the core that so many bytes of its frames have left.
    pub(crate) fn taken(&self, bytes: usize) {
        self.post(|told| told.taken = told.taken.saturating_add(bytes));
    }

    /// Tells the driver that this terminal has ended.
    pub(crate) fn unpiped(&self, op: OpId) {
        self.post(|told| told.unpiped = Some(op));
    }

    /// Tells the core that the client is gone.
    pub(crate) fn gone(&self) {
        self.post(|told| told.gone = true);
    }

    fn post(&self, tell: impl FnOnce(&mut Told)) {
        let mut state = self.exchange.state();
        tell(&mut state.told);
        let posted = mem::replace(&mut state.posted, true);
        drop(state);
        if !posted {
            self.inbox.post(&self.exchange);
        }
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.gone();
        self.inbox.carrier_left();
    }
}
