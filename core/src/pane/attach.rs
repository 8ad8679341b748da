//! A client at the terminal of a pane: raw bytes both ways, for as long as both are there.
//!
//! ```text
//!              ┌─ an agent ──▶ herdr agent attach, under a terminal of its own: the runtime carries the bytes
//!  who is ─────┤        ▲ ▼  {"type":"mode"}
//!  in it?      └─ no agent ──▶ its screen is painted anew whenever it changes; keys are typed by herdr
//!     └────── asked again and again; a change is believed when it is seen twice
//! ```
//!
//! What herdr's own events tell of the pane is a reason to look sooner, and no more.
//!
//! The machine decides and touches nothing: what is to be done comes out of [`poll_act`](Attach::poll_act).

mod control;
mod paint;
mod typing;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use self::paint::Paint;
use self::typing::{Stroke, Typing};
use super::herdr::{Concern, HerdrAsk, HerdrError, HerdrSession, Occupant, Question, Reply};
use crate::config::Herdr;
use crate::ids::PaneId;
use crate::io::{CloseCode, Fault, Frame, Level, Message, Op, Outcome, TerminalSize};
use crate::limits::{ATTACH_SETTLES, OCCUPANT_AGAIN, OCCUPANT_POLL, PIPE_INPUT_BYTES};
use crate::machine::{Machine as _, Tag};
use crate::mobile::liveness::{Due, Liveness};
use crate::time::{Instant, Now};

/// The size of a terminal before its client says otherwise.
pub const FIRST_SIZE: TerminalSize = TerminalSize { columns: 80, rows: 24 };

/// Who asks for what: the outcome comes back with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Who is in the pane.
    Look,
    /// The terminal in which herdr's own client runs.
    Terminal,
    /// What a pane without an agent shows.
    Read,
    /// What is typed into one.
    Write,
}

/// What is to be done for an attached client, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Perform this, and bring its outcomes.
    Ask(Part, Tag, Op),
    /// Cancel what this part has asked for.
    Drop(Part),
    /// The runtime carries the bytes of the terminal.
    Pipe,
    /// Its terminal gets another size.
    Resize(TerminalSize),
    /// Send this to the client.
    Send(Frame),
    /// Stop or go on reading from it.
    Hold(bool),
    /// Say this to the operator.
    Log(Level, String),
    /// Close its socket. It is the last act.
    Close(CloseCode, &'static str),
}

/// One client at the terminal of one pane.
#[derive(Debug)]
pub struct Attach {
    herdr: Herdr,
    pane: PaneId,
    takeover: bool,
    size: TerminalSize,
    occupant: Occupant,
    /// Who was seen instead, once.
    doubt: Option<Occupant>,
    terminal: Terminal,
    plain: Option<Plain>,
    window: i64,
    credit: i64,
    look: Option<Box<HerdrAsk>>,
    next_look: Instant,
    liveness: Liveness,
    held: bool,
    acts: VecDeque<Act>,
    closed: bool,
}

/// The program that attaches to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Terminal {
    /// There is no agent.
    None,
    /// Asked for, with this size.
    Opening(TerminalSize),
    Open {
        since: Instant,
    },
    /// It has ended; who is in the pane now is asked.
    Ended {
        failed: bool,
    },
}

/// A pane without an agent.
#[derive(Debug)]
struct Plain {
    paint: Paint,
    typing: Typing,
    read: Option<Box<HerdrAsk>>,
    write: Option<Box<HerdrAsk>>,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Look, Self::Terminal, Self::Read, Self::Write];
}

impl Attach {
    /// Attaches a client whose upgrade was just accepted. `window_bytes` may wait for it in the runtime.
    #[must_use]
    pub fn new(
        now: Now,
        herdr: &Herdr,
        (pane, takeover): (PaneId, bool),
        occupant: Occupant,
        window_bytes: usize,
    ) -> Self {
        let window = i64::try_from(window_bytes).unwrap_or(i64::MAX);
        let mut attach = Self {
            herdr: herdr.clone(),
            pane,
            takeover,
            size: FIRST_SIZE,
            occupant,
            doubt: None,
            terminal: Terminal::None,
            plain: None,
            window,
            credit: window,
            look: None,
            next_look: now.mono.plus(OCCUPANT_POLL),
            liveness: Liveness::new(now.mono),
            held: false,
            acts: VecDeque::new(),
            closed: false,
        };
        attach.begin(now);
        attach
    }

    /// The next thing to do, if any.
    pub fn poll_act(&mut self) -> Option<Act> {
        for part in [Part::Look, Part::Read, Part::Write] {
            while !self.closed
                && let Some((tag, op)) = self.ask(part).and_then(HerdrAsk::poll_op)
            {
                self.acts.push_back(Act::Ask(part, tag, op));
            }
        }
        self.acts.pop_front()
    }

    /// Takes the answer to something that was asked for.
    pub fn handle_outcome(&mut self, now: Now, part: Part, tag: Tag, outcome: Outcome<'_>) {
        match part {
            _ if self.closed => {}
            Part::Terminal => self.terminal_said(now, outcome),
            Part::Look | Part::Read | Part::Write => {
                if let Some(ask) = self.ask(part) {
                    ask.handle_outcome(now, tag, outcome);
                }
                self.settle(now, part);
            }
        }
    }

    /// Takes a message of the client. Its keystrokes at an open terminal do not come here.
    pub fn handle_message(&mut self, now: Now, message: Message<'_>) {
        match message {
            Message::Text(text) => self.resize(control::resize(text)),
            // Without either it was typed in the moment in which a program ended.
            Message::Binary(bytes) => {
                if let Some(plain) = &mut self.plain {
                    plain.typing.push(bytes);
                    self.type_on(now);
                }
            }
            // The only sign of life that counts: who types and takes nothing is not there.
            Message::Pong => self.liveness.heard(now.mono),
            Message::Fault(Fault::TooLarge) => self.close(CloseCode::TooLarge, "message too large"),
            Message::Fault(Fault::NotUtf8) => self.close(CloseCode::NotUtf8, "text is not UTF-8"),
            Message::Fault(Fault::Protocol) => self.close(CloseCode::Protocol, "protocol error"),
        }
    }

    /// The client took something: it is there.
    pub fn handle_taken(&mut self, now: Now, bytes: usize) {
        self.credit = self.credit.saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX)).min(self.window);
        self.liveness.heard(now.mono);
        self.liveness.taken(now.mono, self.credit < self.window);
    }

    /// herdr says that something happened in the pane.
    pub fn handle_hint(&mut self, now: Now, concern: Concern) {
        match (concern, &mut self.plain) {
            (Concern::Occupant, _) => self.next_look = self.next_look.min(now.mono),
            (Concern::Screen, Some(plain)) => plain.paint.hinted(now.mono),
            (Concern::Screen, None) => {}
        }
    }

    /// The server that the pane is of, and what that calls it.
    #[must_use]
    pub fn place(&self) -> (HerdrSession, PaneId) {
        HerdrSession::of(&self.pane)
    }

    /// Looks who is in the pane, pings the client, and closes it if it is silent.
    pub fn handle_tick(&mut self, now: Now) {
        if self.closed {
            return;
        }
        if self.look.is_none() && self.next_look <= now.mono {
            self.look_again(now);
        }
        self.read_on(now);
        match self.liveness.due(now.mono, self.held) {
            None => {}
            Some(Due::Ping) => self.acts.push_back(Act::Send(Frame::Ping)),
            Some(Due::Silent) => self.close(CloseCode::Normal, "no sign of life for 60 s"),
            Some(Due::Stalled) => self.close(CloseCode::Normal, "took nothing for 30 s"),
        }
    }

    /// When [`handle_tick`](Self::handle_tick) has something to do.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        let alive = self.liveness.next_deadline(self.held);
        let look = self.look.is_none().then_some(self.next_look);
        let read = self.plain.as_ref().filter(|plain| plain.read.is_none() && self.credit > 0);
        [look, read.map(|plain| plain.paint.next_look())].into_iter().flatten().fold(alive, Ord::min)
    }

    /// Closes the client with a real close frame, and ends what runs for it.
    pub fn close(&mut self, code: CloseCode, reason: &'static str) {
        if self.closed {
            return;
        }
        self.closed = true;
        self.leave();
        self.acts.push_back(Act::Close(code, reason));
    }

    /// Whether it was closed.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Begins to serve whoever is in the pane.
    fn begin(&mut self, now: Now) {
        self.terminal = Terminal::None;
        self.plain = None;
        if !self.occupant.is_agent {
            let (paint, typing) = (Paint::new(now.mono), Typing::default());
            self.plain = Some(Plain { paint, typing, read: None, write: None });
            self.hold(false);
            return self.read_on(now);
        }
        self.terminal = Terminal::Opening(self.size);
        // What is typed before the program is there waits in the socket.
        self.hold(true);
        let (argv, environment) = (self.argv(), self.environment());
        self.acts.push_back(Act::Ask(Part::Terminal, Tag(0), Op::Pty { argv, environment, size: self.size }));
    }

    /// Ends what runs for the client.
    fn leave(&mut self) {
        self.acts.extend(Part::ALL.map(Act::Drop));
    }

    fn hold(&mut self, hold: bool) {
        if self.held != hold {
            self.held = hold;
            self.acts.push_back(Act::Hold(hold));
        }
    }

    fn argv(&self) -> Vec<String> {
        let (session, pane) = HerdrSession::of(&self.pane);
        let session = session.name().map(|name| ["--session".to_string(), name.to_string()]);
        let mut argv = vec![self.herdr.program.clone()];
        argv.extend(session.into_iter().flatten());
        argv.extend(["agent".to_string(), "attach".to_string(), pane.0]);
        argv.extend(self.takeover.then(|| "--takeover".to_string()));
        argv
    }

    /// A daemon that was started by no terminal has no `TERM`; and herdr's program finds the server that was asked.
    fn environment(&self) -> Vec<(&'static str, String)> {
        let (session, _) = HerdrSession::of(&self.pane);
        let socket = self.herdr.socket.clone().filter(|_| session.name().is_none());
        let term = [("TERM", "xterm-256color".to_string()), ("COLORTERM", "truecolor".to_string())];
        term.into_iter().chain(socket.map(|socket| ("HERDR_SOCKET_PATH", socket))).collect()
    }

    fn resize(&mut self, size: Option<TerminalSize>) {
        let Some(size) = size.filter(|size| *size != self.size) else { return };
        self.size = size;
        if matches!(self.terminal, Terminal::Open { .. }) {
            self.acts.push_back(Act::Resize(size));
        }
    }

    fn terminal_said(&mut self, now: Now, outcome: Outcome<'_>) {
        match (self.terminal, outcome) {
            (Terminal::Opening(asked), Outcome::Started) => {
                self.terminal = Terminal::Open { since: now.mono };
                if asked != self.size {
                    self.acts.push_back(Act::Resize(self.size));
                }
                self.acts.push_back(Act::Pipe);
                self.hold(false);
            }
            (Terminal::Open { since }, Outcome::Ran { exit, .. }) => {
                let failed = exit != Some(0) && now.mono.since(since) < ATTACH_SETTLES;
                self.terminal = Terminal::Ended { failed };
                self.hold(true);
                // One that is on its way was asked before.
                self.acts.push_back(Act::Drop(Part::Look));
                self.look_again(now);
            }
            (Terminal::Opening(_), Outcome::Failed(failure)) => {
                let text = alloc::format!("{}: {}", self.argv().join(" "), failure.text);
                self.acts.push_back(Act::Log(Level::Warn, text));
                self.close(CloseCode::Internal, FAILED);
            }
            _ => {}
        }
    }

    fn look_again(&mut self, now: Now) {
        let question = Question::Occupant(self.pane.clone());
        self.look = Some(Box::new(HerdrAsk::new(now, &self.herdr, question)));
        self.next_look = now.mono.plus(OCCUPANT_POLL);
        self.settle(now, Part::Look);
    }

    /// Reads what the pane shows, if it is time and the client has room for it.
    fn read_on(&mut self, now: Now) {
        let Some(plain) = &mut self.plain else { return };
        if self.closed || plain.read.is_some() || self.credit <= 0 || plain.paint.next_look() > now.mono {
            return;
        }
        let question = Question::Rows(self.pane.clone(), plain.paint.rows());
        plain.read = Some(Box::new(HerdrAsk::new(now, &self.herdr, question)));
        self.settle(now, Part::Read);
    }

    /// Types what waits, one write after the other. A client is not read while too much waits.
    fn type_on(&mut self, now: Now) {
        let Some(plain) = &mut self.plain else { return };
        while plain.write.is_none()
            && let Some(stroke) = plain.typing.next()
        {
            let question = match stroke {
                Stroke::Text(text) => Question::Type(self.pane.clone(), text),
                Stroke::Keys(keys) => Question::Press(self.pane.clone(), keys),
            };
            let mut ask = HerdrAsk::new(now, &self.herdr, question);
            // Refused without asking: nobody is there to type for.
            if ask.take_result().is_none() {
                plain.write = Some(Box::new(ask));
            }
        }
        let too_much = plain.typing.waiting() >= PIPE_INPUT_BYTES;
        self.hold(too_much);
    }

    /// The question of this part, if it has one.
    fn ask(&mut self, part: Part) -> Option<&mut HerdrAsk> {
        match part {
            Part::Look => self.look.as_deref_mut(),
            Part::Read => self.plain.as_mut()?.read.as_deref_mut(),
            Part::Write => self.plain.as_mut()?.write.as_deref_mut(),
            Part::Terminal => None,
        }
    }

    /// Goes on if the question of this part was answered.
    fn settle(&mut self, now: Now, part: Part) {
        let Some(result) = self.ask(part).and_then(HerdrAsk::take_result) else { return };
        match (part, &mut self.plain) {
            (Part::Look, _) => {
                self.look = None;
                self.looked(now, result);
            }
            (Part::Read, Some(plain)) => {
                plain.read = None;
                self.read(now, result);
            }
            (Part::Write, Some(plain)) => {
                plain.write = None;
                self.typed(now, result);
            }
            _ => {}
        }
    }

    fn read(&mut self, now: Now, result: Result<Reply, HerdrError>) {
        let Some(Plain { paint, .. }) = &mut self.plain else { return };
        match result {
            Ok(Reply::Screen(text)) => {
                if let Some(frame) = paint.take(now.mono, &text) {
                    self.credit = self.credit.saturating_sub(i64::try_from(frame.len()).unwrap_or(i64::MAX));
                    self.liveness.sent(now.mono);
                    self.acts.push_back(Act::Send(Frame::Binary(frame)));
                }
            }
            Err(HerdrError::NoSuchAgent | HerdrError::NoSuchSession(_)) => {
                self.close(CloseCode::Normal, "pane closed");
            }
            _ if paint.failed(now.mono) => self.close(CloseCode::Internal, "herdr does not answer"),
            _ => {}
        }
    }

    fn typed(&mut self, now: Now, result: Result<Reply, HerdrError>) {
        if let Some(Plain { paint, .. }) = &mut self.plain {
            paint.hinted(now.mono);
        }
        // A key that herdr does not know is none. What may have been typed is not typed again.
        if let Err(HerdrError::Failed(why) | HerdrError::Unknown(why)) = result {
            self.acts.push_back(Act::Log(Level::Debug, why));
        }
        self.type_on(now);
    }

    fn looked(&mut self, now: Now, result: Result<Reply, HerdrError>) {
        let found = match result {
            Ok(Reply::Occupant(found)) => Some(found),
            Err(HerdrError::NoSuchAgent | HerdrError::NoSuchSession(_)) => {
                return self.close(CloseCode::Normal, "pane closed");
            }
            // herdr is slow or away: the bytes of the terminal do not depend on that.
            _ => None,
        };
        match (self.terminal, found) {
            (Terminal::Ended { .. }, Some(found)) if found.is_agent != self.occupant.is_agent => {
                self.change(now, found)
            }
            (Terminal::Ended { failed: true }, _) => self.close(CloseCode::Internal, FAILED),
            (Terminal::Ended { failed: false }, _) => self.close(CloseCode::Normal, "detached"),
            (_, None) => {}
            (_, Some(found)) if found == self.occupant => self.doubt = None,
            (_, Some(found)) if self.doubt.as_ref() == Some(&found) => self.change(now, found),
            (_, Some(found)) => {
                self.doubt = Some(found);
                self.next_look = now.mono.plus(OCCUPANT_AGAIN);
            }
        }
    }

    /// Another one is in the pane.
    fn change(&mut self, now: Now, found: Occupant) {
        self.doubt = None;
        self.leave();
        self.look = None;
        self.acts.push_back(Act::Send(Frame::Text(control::mode(found.is_agent))));
        self.occupant = found;
        self.begin(now);
    }
}

const FAILED: &str = "attach failed";

#[cfg(test)]
mod tests;
