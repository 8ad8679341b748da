//! One HTTP exchange, between the driver that fills it and the task that carries it to the client.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::Rc;

use bytes::Bytes;
use panewire_core::ids::ExId;
use panewire_core::io::{CloseCode, Frame, Head, Input};
use panewire_host::WebSocket;

use super::driver::Driver;
use super::signal::Signal;

/// What the core has said about one exchange.
#[derive(Debug)]
pub(crate) struct Exchange {
    id: ExId,
    stage: RefCell<Stage>,
    held: Cell<bool>,
    changed: Signal,
}

#[derive(Debug)]
pub(crate) enum Stage {
    /// Nothing yet.
    Undecided,
    /// An HTTP answer.
    Answer { head: Option<Head>, pieces: VecDeque<Bytes>, finished: bool },
    /// A WebSocket. It takes frames from here on, while its upgrade is still on the way.
    Socket(Box<WebSocket>),
}

impl Exchange {
    pub(crate) fn new(id: ExId) -> Self {
        Self { id, stage: RefCell::new(Stage::Undecided), held: Cell::new(false), changed: Signal::default() }
    }

    pub(crate) const fn id(&self) -> ExId {
        self.id
    }

    /// Raised when the stage changed.
    pub(crate) const fn changed(&self) -> &Signal {
        &self.changed
    }

    /// Whether the core wants nothing more to be read.
    pub(crate) fn is_held(&self) -> bool {
        self.held.get()
    }

    pub(crate) fn hold(&self, hold: bool) {
        self.held.set(hold);
    }

    pub(crate) fn stage(&self) -> RefMut<'_, Stage> {
        self.stage.borrow_mut()
    }

    pub(crate) fn respond(&self, head: Head) {
        *self.stage() = Stage::Answer { head: Some(head), pieces: VecDeque::new(), finished: false };
    }

    pub(crate) fn accept(&self) {
        *self.stage() = Stage::Socket(Box::new(WebSocket::server()));
    }

    pub(crate) fn send(&self, frame: Frame) {
        match &mut *self.stage() {
            Stage::Socket(socket) => socket.send(frame),
            Stage::Answer { pieces, .. } => {
                if let Frame::Body(piece) = frame {
                    pieces.push_back(piece);
                }
            }
            Stage::Undecided => {}
        }
    }

    pub(crate) fn finish(&self) {
        if let Stage::Answer { finished, .. } = &mut *self.stage() {
            *finished = true;
        }
    }

    pub(crate) fn close(&self, code: CloseCode, reason: &'static str) {
        if let Stage::Socket(socket) = &mut *self.stage() {
            socket.close(code, reason);
        }
    }
}

/// Whoever carries the exchange to the client holds this; when it is dropped, the core learns that the client is gone.
#[derive(Debug)]
pub(crate) struct Carrier {
    driver: Rc<Driver>,
    exchange: Rc<Exchange>,
}

impl Carrier {
    pub(crate) fn new(driver: Rc<Driver>, exchange: Rc<Exchange>) -> Self {
        driver.carriers().set(driver.carriers().get() + 1);
        Self { driver, exchange }
    }

    pub(crate) fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Tells the core something about this exchange, unless it has closed or finished it.
    pub(crate) fn tell<'a>(&self, input: impl FnOnce(ExId) -> Input<'a>) {
        if self.driver.knows(self.exchange.id) {
            self.driver.input(input(self.exchange.id));
        }
    }

    /// Tells the core that the client is gone, if it does not know yet.
    pub(crate) fn gone(&self) {
        self.driver.gone(self.exchange.id);
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.gone();
        self.driver.carriers().set(self.driver.carriers().get().saturating_sub(1));
        self.driver.left().raise();
    }
}
