//! What the core wants done: operations go to the disk and to herdr, the rest to the clients. Each is checked first.

use core::time::Duration;

use panewire_core::ids::{ExId, OpId};
use panewire_core::io::{FailureKind, Frame, Op, Output};
use panewire_core::limits::{HERDR_BUDGET, MAX_RANDOM_BYTES, MAX_READ_BYTES};

use super::{Due, Face, World};
use crate::sim::client::{Client, Phase};
use crate::sim::config::HERDR_PROGRAM;
use crate::sim::disk::Performed;
use crate::sim::reply::Reply;

/// How long a runtime waits for a client to take its close frame.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

impl<F: Face> World<F> {
    pub(super) fn perform(&mut self, output: Output) {
        let done = match output {
            Output::Op(op_id, op) => self.operate(op_id, &op),
            Output::Cancel(op_id) => self.cancel(op_id),
            Output::Log(level, text) => {
                self.log.push((level, text));
                Ok(())
            }
            Output::Wait { .. } => Ok(()),
            Output::Respond(ex, head) => self.moves(ex, Phase::Asked, Phase::Answering, |client| client.respond(head)),
            Output::Accept(ex) => self.moves(ex, Phase::Asked, Phase::Open, |client| client.accepted = true),
            Output::Send(ex, frame) => self.send(ex, frame),
            Output::Finish(ex) => {
                let window = self.window;
                let finished = self.clients.get_mut(&ex).map_or(Ok(()), |client| client.finish(window));
                finished.and_then(|()| self.moves(ex, Phase::Answering, Phase::Over, |_| ()))
            }
            Output::Close(ex, code, reason) => {
                let code = code.get();
                self.arrange(self.clock.mono().plus(CLOSE_PATIENCE), Due::End(ex));
                self.moves(ex, Phase::Open, Phase::Closing, |client| client.closing = Some((code, reason)))
            }
            Output::Hold(ex, held) => self.hold(ex, held),
            // Only those who are attached may send more at once, and get bytes.
            Output::Allow(ex, _) => self.present(ex).map(|client| client.attached = true),
            Output::Pipe(ex, op) => self.pipe(ex, op),
        };
        if let Err(wrong) = done {
            self.violate(wrong);
        }
    }

    fn operate(&mut self, op_id: OpId, op: &Op) -> Result<(), String> {
        check_bounds(op)?;
        if !self.pending.insert(op_id) {
            return Err(format!("{op_id:?} is used twice"));
        }
        if let Op::Listen { socket, line, within, .. } = op {
            let Performed { reply, after } = self.herdr.subscribe(socket, line, *within);
            self.arrange(self.clock.mono().plus(after), Due::Outcome(op_id, reply));
            self.listening.insert(op_id);
            return Ok(());
        }
        let watched = self.hints.perform(op, &self.disk);
        let performed = watched.or_else(|| self.disk.perform(op)).or_else(|| self.herdr.perform(op));
        let performed = performed.or_else(|| self.web.perform(op));
        let performed = performed.or_else(|| self.random.perform(op)).or_else(|| of_a_database(op));
        let performed = performed.or_else(|| self.perform_terminal(op));
        let Some(Performed { reply, after }) = performed else {
            return Err(format!("nobody can perform {op:?}"));
        };
        let mut at = self.clock.mono().plus(after);
        match op {
            Op::Read { handle, .. } => {
                let turn = self.read_turn.entry(*handle).or_insert(at);
                at = at.max(*turn);
                *turn = at;
            }
            Op::CloseFile { handle } => {
                self.read_turn.remove(handle);
            }
            _ => {}
        }
        self.arrange(at, Due::Outcome(op_id, reply));
        Ok(())
    }

    /// A program runs under its terminal until the scenario ends it.
    fn perform_terminal(&self, op: &Op) -> Option<Performed> {
        let reply = match op {
            Op::Pty { argv, .. } if argv.first().map(String::as_str) == Some(HERDR_PROGRAM) => Reply::Started,
            Op::Pty { .. } => Reply::failed(FailureKind::NotFound),
            Op::Resize { pty, .. } if self.pending.contains(pty) => Reply::Done,
            Op::Resize { .. } => Reply::failed(FailureKind::NotFound),
            _ => return None,
        };
        Some(Performed { reply, after: Duration::ZERO })
    }

    /// A runtime that ends an operation also forgets the file that it may have opened.
    fn cancel(&mut self, op_id: OpId) -> Result<(), String> {
        if !self.pending.remove(&op_id) {
            return Err(format!("{op_id:?} is cancelled and was not under way"));
        }
        self.listening.remove(&op_id);
        for client in self.clients.values_mut() {
            client.at_terminal = client.at_terminal.filter(|op| *op != op_id);
        }
        let opened = self.agenda.values().find_map(|due| match due {
            Due::Outcome(other, Reply::Opened(handle, _)) if *other == op_id => Some(*handle),
            _ => None,
        });
        if let Some(handle) = opened {
            self.disk.close(handle);
        }
        Ok(())
    }

    fn send(&mut self, ex: ExId, frame: Frame) -> Result<(), String> {
        let window = self.window;
        let client = self.present(ex)?;
        let wanted = if matches!(frame, Frame::Body(_)) { Phase::Answering } else { Phase::Open };
        if client.phase != wanted {
            return Err(format!("{ex:?} is {:?} and is sent {frame:?}", client.phase));
        }
        if !frame.is_empty() && !client.may_be_sent(&frame, window) {
            return Err(format!("{} bytes wait for {ex:?}, its window is {window}", client.outstanding));
        }
        let seen = match &frame {
            Frame::Text(_) if client.attached => Ok(()),
            Frame::Text(text) => core::str::from_utf8(text)
                .map_err(|_| "a text frame is not UTF-8".to_owned())
                .and_then(|raw| client.contract.sent(raw)),
            _ => Ok(()),
        };
        client.push(frame);
        seen.map_err(|wrong| format!("{ex:?}: {wrong}"))
    }

    /// What goes through a terminal is not the core's: here it is enough that both ends are there.
    fn pipe(&mut self, ex: ExId, op: OpId) -> Result<(), String> {
        if !self.pending.contains(&op) {
            return Err(format!("{ex:?} is at the terminal of {op:?}, which is not there"));
        }
        self.present(ex)?.at_terminal = Some(op);
        Ok(())
    }

    fn hold(&mut self, ex: ExId, held: bool) -> Result<(), String> {
        let client = self.present(ex)?;
        if client.held == held {
            return Err(format!("{ex:?} is held {held} twice"));
        }
        client.held = held;
        self.arrange(self.clock.mono(), Due::Listen(ex));
        Ok(())
    }

    fn moves(&mut self, ex: ExId, from: Phase, to: Phase, how: impl FnOnce(&mut Client)) -> Result<(), String> {
        let client = self.present(ex)?;
        if client.phase != from {
            return Err(format!("{ex:?} is {:?} and would be {to:?}", client.phase));
        }
        client.phase = to;
        how(client);
        Ok(())
    }

    fn present(&mut self, ex: ExId) -> Result<&mut Client, String> {
        match self.clients.get_mut(&ex) {
            Some(client) if client.phase < Phase::Gone => Ok(client),
            Some(_) => Err(format!("an output for {ex:?}, which is gone")),
            None => Err(format!("an output for {ex:?}, which never was")),
        }
    }
}

/// There is no database in the world.
fn of_a_database(op: &Op) -> Option<Performed> {
    let reply = Reply::failed(FailureKind::NotFound);
    matches!(op, Op::Query { .. }).then(|| Performed { reply, after: Duration::ZERO })
}

fn check_bounds(op: &Op) -> Result<(), String> {
    let absolute = |path: &str| path.starts_with('/') && !path.split('/').any(|part| part == "..");
    let fine = match op {
        Op::Open { path, under } => absolute(path) && under.as_deref().is_none_or(absolute),
        Op::Watch { directory: path }
        | Op::Stat { path }
        | Op::Write { path, .. }
        | Op::Append { path, .. }
        | Op::Load { path, .. }
        | Op::Remove { path } => absolute(path),
        Op::List { path, max_names } => absolute(path) && *max_names > 0,
        Op::Read { len, .. } => (1..=MAX_READ_BYTES).contains(len),
        Op::Random { bytes } => (1..=MAX_RANDOM_BYTES).contains(bytes),
        Op::Run { argv, within, output_cap } => !argv.is_empty() && *within <= HERDR_BUDGET && *output_cap > 0,
        Op::Listen { line, within, line_cap: answer_cap, .. } | Op::Call { line, within, answer_cap, .. } => {
            line.ends_with(b"\n") && *within <= HERDR_BUDGET && *answer_cap > 0
        }
        _ => true,
    };
    if fine { Ok(()) } else { Err(format!("out of bounds: {op:?}")) }
}
