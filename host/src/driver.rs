//! Owns the core: hands inputs to it, drains what it wants, and wakes it at its deadlines.
//!
//! ```text
//!   Inbox: requests, messages, credit, hints ──┐                  ┌──▶ Exchange ──▶ Carrier
//!   Ops: answers ──────────────────────────────┼──▶ Bridge ───────┼──▶ Ops ──▶ Pool
//!   Alarm: deadlines ──────────────────────────┘   one at a time  └──▶ Log
//! ```

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant as StdInstant;

use panewire_core::Bridge;
use panewire_core::ids::{ExId, OpId};
use panewire_core::io::{Input, Level, Output, Request, Why};
use panewire_core::time::Instant;

use crate::exchange::{Exchange, Piping, Said};
use crate::inbox::{Asked, Inbox, Post};
use crate::ops::Ops;
use crate::{Answer, Clock, Log, Performer};

/// Inputs after which clients are told of what is queued for them, even if more is about to come.
const HELD_BACK: usize = 8;

/// A timer of the runtime.
pub trait Alarm {
    /// Ready once it is this late; otherwise the task is woken then. Only the last point that was asked for counts.
    fn poll(&mut self, at: StdInstant, cx: &mut Context<'_>) -> Poll<()>;
}

/// The core and everything that is connected to it. It runs as one task.
#[derive(Debug)]
pub struct Driver {
    bridge: Bridge,
    clock: Clock,
    log: Log,
    ops: Ops,
    inbox: Inbox,
    /// The exchanges that the core has neither finished nor closed, and whose clients are not gone.
    exchanges: BTreeMap<ExId, Arc<Exchange>>,
    /// Who is at which terminal.
    pipes: BTreeMap<OpId, ExId>,
    due: Due,
    /// Exchanges for which something was queued, and their carriers do not know yet.
    touched: Vec<Arc<Exchange>>,
    /// Inputs since they were told.
    held_back: usize,
    last: Source,
    stopping: bool,
}

/// When the core wants to be called again without an input.
#[derive(Debug, Clone, Copy)]
enum Due {
    Never,
    At(Instant),
    /// It came to its bound for one call and has more to do.
    AtOnce,
}

/// Where inputs come from. They take turns, so that none waits for a busy other.
#[derive(Debug, Clone, Copy)]
enum Source {
    Clock,
    Inbox,
    Ops,
}

enum Turn {
    Tick,
    Post(Post),
    Answer(OpId, Answer),
}

impl Driver {
    /// A driver of this core.
    #[must_use]
    pub fn new(bridge: Bridge, performer: Performer, log: Log) -> Self {
        Self {
            bridge,
            clock: Clock::start(),
            log,
            ops: Ops::new(performer),
            inbox: Inbox::default(),
            exchanges: BTreeMap::new(),
            pipes: BTreeMap::new(),
            due: Due::Never,
            touched: Vec::new(),
            held_back: 0,
            last: Source::Ops,
            stopping: false,
        }
    }

    /// The way to this driver.
    #[must_use]
    pub fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }

    /// Drives the core until it was [shut down](Inbox::shut_down), every client has left, and our own state is written.
    /// Other tasks of its thread have their turn after each input.
    pub async fn run(mut self, mut alarm: impl Alarm) {
        poll_fn(|cx| self.poll(&mut alarm, cx)).await;
    }

    fn poll(&mut self, alarm: &mut impl Alarm, cx: &mut Context<'_>) -> Poll<()> {
        // Ask first: what comes while we look wakes us.
        self.inbox.listen(cx);
        self.ops.collect(cx);
        if self.stopping && self.inbox.carriers() == 0 && !self.ops.is_at_work() {
            return Poll::Ready(());
        }
        if let Some(turn) = self.next_turn() {
            self.take(turn);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.tell_touched();
        if let Due::At(until) = self.due
            && alarm.poll(self.clock.at(until), cx).is_ready()
        {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// What is next; whoever had the last turn is asked last.
    fn next_turn(&mut self) -> Option<Turn> {
        let order = match self.last {
            Source::Clock => [Source::Inbox, Source::Ops, Source::Clock],
            Source::Inbox => [Source::Ops, Source::Clock, Source::Inbox],
            Source::Ops => [Source::Clock, Source::Inbox, Source::Ops],
        };
        order.into_iter().find_map(|source| {
            let turn = match source {
                Source::Clock => self.is_due().then_some(Turn::Tick),
                Source::Inbox => self.inbox.next().map(Turn::Post),
                Source::Ops => self.ops.next_answer().map(|(id, answer)| Turn::Answer(id, answer)),
            };
            turn.inspect(|_| self.last = source)
        })
    }

    fn is_due(&self) -> bool {
        match self.due {
            Due::AtOnce => true,
            Due::At(until) => self.clock.now().mono >= until,
            Due::Never => false,
        }
    }

    fn take(&mut self, turn: Turn) {
        match turn {
            Turn::Tick => self.input(Input::Tick),
            Turn::Answer(id, answer) => {
                self.input(Input::Outcome(id, answer.outcome(), answer.fin()));
                self.ops.recycle(answer);
            }
            Turn::Post(Post::Request(exchange, asked)) => self.begin(exchange, &asked),
            Turn::Post(Post::Told(exchange)) => self.hear(exchange),
            #[cfg(all(feature = "inotify", target_os = "linux"))]
            Turn::Post(Post::Hints(changes)) => {
                for change in &changes {
                    self.input(change.as_input());
                }
                self.inbox.hints_heard();
            }
            Turn::Post(Post::ShutDown) => {
                self.stopping = true;
                self.input(Input::Shutdown);
                self.ops.abandon();
            }
        }
    }

    fn begin(&mut self, exchange: Arc<Exchange>, asked: &Asked) {
        let id = exchange.id();
        self.exchanges.insert(id, exchange);
        let Asked { parts, upgrade } = asked;
        let headers: Vec<(&str, &[u8])> =
            parts.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let (method, target) = (parts.method.as_str(), parts.uri.to_string());
        let request = Request { method, target: &target, headers: &headers, upgrade: *upgrade };
        self.input(Input::Request(id, request));
    }

    /// Brings what was told to the core, unless that has closed or finished the exchange.
    fn hear(&mut self, exchange: Arc<Exchange>) {
        let (id, told) = (exchange.id(), exchange.hear());
        if told.taken > 0 && self.exchanges.contains_key(&id) {
            self.input(Input::Taken(id, told.taken));
        }
        if let Some(event) = told.event {
            if let Some(input) = event.as_input(id).filter(|_| self.exchanges.contains_key(&id)) {
                self.input(input);
            }
            // Its carrier waits for this to read on.
            self.touched.push(exchange);
        }
        if let Some(op) = told.unpiped {
            self.pipes.remove(&op);
            self.ops.finish_terminal(op);
        }
        if told.gone && self.exchanges.remove(&id).is_some() {
            self.input(Input::Gone(id));
        }
    }

    /// Hands one input to the core and does what it wants.
    fn input(&mut self, input: Input<'_>) {
        if let Err(misuse) = self.bridge.handle_input(self.clock.now(), input) {
            // Not reachable: the loop below drains every input.
            self.log.write(Level::Warn, &misuse.to_string());
        }
        loop {
            match self.bridge.poll_output() {
                Output::Op(id, op) => self.ops.start(id, op),
                Output::Cancel(id) => {
                    self.ops.cancel(id);
                    if let Some(ex) = self.pipes.remove(&id) {
                        self.touch(ex, |said| said.piping = Some(Piping::End));
                    }
                }
                Output::Respond(id, head) => self.touch(id, |said| said.head = Some(head)),
                Output::Accept(id) => self.touch(id, |said| said.accepted = true),
                Output::Send(id, frame) => self.touch(id, |said| said.frames.push_back(frame)),
                Output::Finish(id) => {
                    self.touch(id, |said| said.finished = true);
                    self.exchanges.remove(&id);
                }
                Output::Close(id, code, reason) => {
                    self.touch(id, |said| said.close = Some((code, reason)));
                    self.exchanges.remove(&id);
                }
                Output::Allow(id, bytes) => self.touch(id, |said| said.allowed = Some(bytes)),
                Output::Pipe(id, op) => match self.ops.terminal(op) {
                    Some(side) => {
                        self.pipes.insert(op, id);
                        self.touch(id, |said| said.piping = Some(Piping::Begin(op, side)));
                    }
                    None => self.ops.finish_terminal(op),
                },
                Output::Hold(id, hold) => self.touch(id, |said| said.held = hold),
                Output::Log(level, text) => self.log.write(level, &text),
                Output::Wait { until, why } => {
                    self.due = match (until, why) {
                        (_, Why::More) => Due::AtOnce,
                        (Some(until), _) => Due::At(until),
                        (None, _) => Due::Never,
                    };
                    break;
                }
            }
        }
        // With an answer at hand there may be more for the same clients in a moment: one write instead of two.
        self.held_back += 1;
        if !self.ops.is_ready() || self.held_back >= HELD_BACK {
            self.tell_touched();
        }
    }

    /// Applies an output to its exchange; one that is gone or over takes nothing.
    fn touch(&mut self, id: ExId, say: impl FnOnce(&mut Said)) {
        let Some(exchange) = self.exchanges.get(&id) else {
            return;
        };
        exchange.say(say);
        if self.touched.last().is_none_or(|last| last.id() != id) {
            self.touched.push(Arc::clone(exchange));
        }
    }

    fn tell_touched(&mut self) {
        self.held_back = 0;
        for exchange in self.touched.drain(..) {
            exchange.changed().raise();
        }
    }
}

#[cfg(test)]
mod tests;
