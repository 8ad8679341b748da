//! Drives a [`Bridge`], or a machine of the core alone, without a daemon: for commands that need one answer.

use std::collections::VecDeque;
use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use panewire_core::Bridge;
use panewire_core::ids::{ExId, OpId};
use panewire_core::io::{Fin, Frame, Input, Op, Output, Request, Why};
use panewire_core::machine::Machine;

use crate::{Cancel, Clock, Limit, Log, Performer};

/// The exchange of the one request.
const EXCHANGE: ExId = ExId(1);

/// A whole HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Its status.
    pub status: u16,
    /// Its body.
    pub body: Vec<u8>,
}

/// There was no answer in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoAnswer;

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there was no answer in time")
    }
}

impl std::error::Error for NoAnswer {}

/// Puts one plain request to the core, performs in place what it asks for, and gives back the answer.
///
/// # Errors
/// [`NoAnswer`] if it takes longer than `within`, or the request became a WebSocket.
pub fn ask(bridge: &mut Bridge, request: Request<'_>, log: Log, within: Duration) -> Result<Response, NoAnswer> {
    let mut run = Run {
        bridge,
        clock: Clock::start(),
        performer: Performer::new(),
        log,
        asked: VecDeque::new(),
        response: None,
        finished: false,
    };
    let until = Instant::now() + within;
    let mut due = run.input(Input::Request(EXCHANGE, request));
    while !run.finished {
        if Instant::now() >= until {
            return Err(NoAnswer);
        }
        due = match run.asked.pop_front() {
            Some((id, op)) => {
                let answer = run.performer.perform(&op, &Limit::begin(Cancel::default()));
                let due = run.input(Input::Outcome(id, answer.outcome(), Fin::Last));
                run.performer.recycle(answer);
                due
            }
            None => {
                let next = due.ok_or(NoAnswer)?;
                thread::sleep(next.min(until).saturating_duration_since(Instant::now()));
                run.input(Input::Tick)
            }
        };
    }
    run.response.ok_or(NoAnswer)
}

/// Performs in place what a machine asks for, until it has a result. `None`: it asks for nothing more and has none.
pub fn settle<M: Machine, T>(machine: &mut M, mut result: impl FnMut(&mut M) -> Option<T>) -> Option<T> {
    let (clock, performer) = (Clock::start(), Performer::new());
    loop {
        if let Some(result) = result(machine) {
            return Some(result);
        }
        let (tag, op) = machine.poll_op()?;
        let answer = performer.perform(&op, &Limit::begin(Cancel::default()));
        machine.handle_outcome(clock.now(), tag, answer.outcome());
        performer.recycle(answer);
    }
}

struct Run<'a> {
    bridge: &'a mut Bridge,
    clock: Clock,
    performer: Performer,
    log: Log,
    asked: VecDeque<(OpId, Op)>,
    response: Option<Response>,
    finished: bool,
}

impl Run<'_> {
    /// Hands one input to the core, drains it, and says when it wants to be called again.
    fn input(&mut self, input: Input<'_>) -> Option<Instant> {
        // Every input is drained below: there is no misuse.
        let _ = self.bridge.handle_input(self.clock.now(), input);
        let mut taken = 0;
        let due = loop {
            match self.bridge.poll_output() {
                Output::Op(id, op) => self.asked.push_back((id, op)),
                Output::Cancel(id) => self.asked.retain(|(other, _)| *other != id),
                Output::Respond(EXCHANGE, head) => {
                    self.response = Some(Response { status: head.status, body: Vec::new() });
                }
                Output::Send(EXCHANGE, Frame::Body(piece)) => {
                    taken += piece.len();
                    if let Some(response) = &mut self.response {
                        response.body.extend_from_slice(&piece);
                    }
                }
                Output::Finish(_) | Output::Close(..) | Output::Accept(_) => self.finished = true,
                Output::Log(level, text) => self.log.write(level, &text),
                Output::Wait { why: Why::More, .. } => break Some(Instant::now()),
                Output::Wait { until, .. } => break until.map(|until| self.clock.at(until)),
                Output::Respond(..) | Output::Send(..) | Output::Hold(..) | Output::Allow(..) | Output::Pipe(..) => {}
            }
        };
        if taken > 0 && !self.finished {
            return self.input(Input::Taken(EXCHANGE, taken));
        }
        due
    }
}
