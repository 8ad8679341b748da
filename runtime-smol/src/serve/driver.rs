//! Owns the core: hands inputs to it, drains what it wants, and wakes it at its deadlines.
//!
//! Every task of this thread calls [`Driver::input`] directly. Outputs go into queues and wake tasks, they never call back,
//! so one input is always drained before the next.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant as StdInstant;

use async_io::Timer;
use futures_lite::FutureExt as _;
use futures_lite::future::yield_now;
use panewire_core::Bridge;
use panewire_core::ids::{ExId, OpId};
use panewire_core::io::{Fin, Input, Level, Output, Request, Why};
use panewire_core::time::Instant;
use panewire_host::log::Log;
use panewire_host::{Answer, Clock, Performer};

use super::exchange::{Carrier, Exchange};
use super::ops::Ops;
use super::signal::Signal;

/// Inputs after which clients are told of what is queued for them, even if more is about to come.
const HELD_BACK: usize = 8;

/// The core and everything that is connected to it.
#[derive(Debug)]
pub(crate) struct Driver {
    bridge: RefCell<Bridge>,
    clock: Clock,
    log: Log,
    ops: Ops,
    /// The exchanges that the core has neither finished nor closed, and whose clients are not gone.
    exchanges: RefCell<BTreeMap<ExId, Rc<Exchange>>>,
    last_exchange: Cell<u64>,
    carriers: Cell<usize>,
    left: Signal,
    due: Cell<Due>,
    /// Raised when the pump has something new to look at.
    turn: Signal,
    /// Exchanges for which something was queued, and their carriers do not know yet.
    touched: RefCell<Vec<Rc<Exchange>>>,
    /// Inputs since they were told.
    held_back: Cell<usize>,
}

/// When the core wants to be called again without an input.
#[derive(Debug, Clone, Copy)]
enum Due {
    Never,
    At(Instant),
    /// It came to its bound for one call and has more to do.
    AtOnce,
}

impl Driver {
    pub(crate) fn new(bridge: Bridge, performer: Performer, log: Log) -> Rc<Self> {
        Rc::new(Self {
            bridge: RefCell::new(bridge),
            clock: Clock::start(),
            log,
            ops: Ops::new(performer),
            exchanges: RefCell::default(),
            last_exchange: Cell::new(0),
            carriers: Cell::new(0),
            left: Signal::default(),
            due: Cell::new(Due::Never),
            turn: Signal::default(),
            touched: RefCell::default(),
            held_back: Cell::new(0),
        })
    }

    /// Begins an exchange with the head of its request.
    pub(crate) fn request(self: &Rc<Self>, request: Request<'_>) -> Carrier {
        let id = ExId(self.last_exchange.get().saturating_add(1));
        self.last_exchange.set(id.0);
        let exchange = Rc::new(Exchange::new(id));
        self.exchanges.borrow_mut().insert(id, Rc::clone(&exchange));
        let carrier = Carrier::new(Rc::clone(self), exchange);
        self.input(Input::Request(id, request));
        carrier
    }

    /// Hands one input to the core and does what it wants.
    pub(crate) fn input(&self, input: Input<'_>) {
        let mut bridge = self.bridge.borrow_mut();
        if let Err(misuse) = bridge.handle_input(self.clock.now(), input) {
            // Not reachable: the loop below drains every input.
            self.log.write(Level::Warn, &misuse.to_string());
        }
        let touched = &mut *self.touched.borrow_mut();
        loop {
            match bridge.poll_output() {
                Output::Op(id, op) => self.ops.start(id, op),
                Output::Cancel(id) => self.ops.cancel(id),
                Output::Respond(id, head) => self.touch(id, touched, |exchange| exchange.respond(head)),
                Output::Accept(id) => self.touch(id, touched, Exchange::accept),
                Output::Send(id, frame) => self.touch(id, touched, |exchange| exchange.send(frame)),
                Output::Finish(id) => {
                    self.touch(id, touched, Exchange::finish);
                    self.exchanges.borrow_mut().remove(&id);
                }
                Output::Close(id, code, reason) => {
                    self.touch(id, touched, |exchange| exchange.close(code, reason));
                    self.exchanges.borrow_mut().remove(&id);
                }
                Output::Hold(id, hold) => self.touch(id, touched, |exchange| exchange.hold(hold)),
                Output::Log(level, text) => self.log.write(level, &text),
                Output::Wait { until, why } => {
                    self.due.set(match (until, why) {
                        (_, Why::More) => Due::AtOnce,
                        (Some(until), _) => Due::At(until),
                        (None, _) => Due::Never,
                    });
                    break;
                }
            }
        }
        // With an answer at hand there may be more for the same clients in a moment: one write instead of two.
        let held_back = self.held_back.get().saturating_add(1);
        if self.ops.is_ready() && held_back < HELD_BACK {
            self.held_back.set(held_back);
        } else {
            self.held_back.set(0);
            for exchange in touched.drain(..) {
                exchange.changed().raise();
            }
        }
        self.turn.raise();
    }

    /// Whether the core still has this exchange.
    pub(crate) fn knows(&self, id: ExId) -> bool {
        self.exchanges.borrow().contains_key(&id)
    }

    /// The client of this exchange is gone.
    pub(crate) fn gone(&self, id: ExId) {
        let known = self.exchanges.borrow_mut().remove(&id);
        if known.is_some() {
            self.input(Input::Gone(id));
        }
    }

    /// How many exchanges are still carried to their clients.
    pub(crate) const fn carriers(&self) -> &Cell<usize> {
        &self.carriers
    }

    /// What the core waits for.
    pub(crate) const fn ops(&self) -> &Ops {
        &self.ops
    }

    /// Raised when an exchange or an operation ended.
    pub(crate) const fn left(&self) -> &Signal {
        &self.left
    }

    /// Brings answers and deadlines to the core, for ever. Other tasks have their turn after each.
    pub(crate) async fn pump(self: Rc<Self>) {
        let mut alarm = Alarm { timer: Timer::never(), at: None };
        let mut ticked = false;
        loop {
            match poll_fn(|cx| self.poll_turn(cx, &mut alarm, ticked)).await {
                Turn::Tick => {
                    ticked = true;
                    self.input(Input::Tick);
                }
                Turn::Answer(id, answer) => {
                    ticked = false;
                    self.input(Input::Outcome(id, answer.outcome(), Fin::Last));
                    self.ops.recycle(answer);
                }
            }
            yield_now().await;
        }
    }

    /// What is next. Answers and ticks take turns where both are there.
    fn poll_turn(&self, cx: &mut Context<'_>, alarm: &mut Alarm, ticked: bool) -> Poll<Turn> {
        loop {
            let due = match self.due.get() {
                Due::AtOnce => true,
                Due::At(until) => self.clock.now().mono >= until,
                Due::Never => false,
            };
            if due && !ticked {
                return Poll::Ready(Turn::Tick);
            }
            if self.ops.collect(cx) {
                self.left.raise();
            }
            if let Some((id, answer)) = self.ops.next_answer() {
                return Poll::Ready(Turn::Answer(id, answer));
            }
            if due {
                return Poll::Ready(Turn::Tick);
            }
            let rung = match self.due.get() {
                Due::At(until) => alarm.poll(self.clock.at(until), cx),
                Due::AtOnce | Due::Never => Poll::Pending,
            };
            if rung.is_pending() && self.turn.poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// Applies an output to its exchange; one that is gone or over takes nothing.
    fn touch(&self, id: ExId, touched: &mut Vec<Rc<Exchange>>, change: impl FnOnce(&Exchange)) {
        let exchanges = self.exchanges.borrow();
        let Some(exchange) = exchanges.get(&id) else {
            return;
        };
        change(exchange);
        if touched.last().is_none_or(|last| last.id() != id) {
            touched.push(Rc::clone(exchange));
        }
    }
}

enum Turn {
    Tick,
    Answer(OpId, Answer),
}

/// One timer for all deadlines. It is set anew only to ring earlier: setting costs a system call, ringing for nothing
/// costs nearly nothing.
struct Alarm {
    timer: Timer,
    at: Option<StdInstant>,
}

impl Alarm {
    fn poll(&mut self, at: StdInstant, cx: &mut Context<'_>) -> Poll<()> {
        if self.at.is_none_or(|set| at < set) {
            self.timer.set_at(at);
            self.at = Some(at);
        }
        self.timer.poll(cx).map(|_| self.at = None)
    }
}
