//! The clients of the world: what they send, how they take what is sent to them.

use panewire_core::ids::ExId;
use panewire_core::io::{Fault, Fin, Input, Message, Request};
use serde_json::Value;

use super::{Due, Face, World};
use crate::sim::client::{Ask, Client, Phase, Received, Said, Speed};
use crate::sim::config::TOKEN;
use crate::sim::reply::Reply;

/// What clients do, and what they saw.
impl<F: Face> World<F> {
    /// A client sends a request. It runs on with the next [`run`](Self::run).
    pub fn ask(&mut self, ask: &Ask) -> ExId {
        self.next_client += 1;
        let ex = ExId(self.next_client);
        let mut client = Client::new(ask.speed);
        client.head_only = ask.method == "HEAD";
        self.clients.insert(ex, client);
        let headers: Vec<(&str, &[u8])> = ask.headers.iter().map(|(name, value)| (name.as_str(), &**value)).collect();
        let request = Request { method: &ask.method, target: &ask.target, headers: &headers, upgrade: ask.upgrade };
        self.hand(Input::Request(ex, request));
        if let Some(body) = &ask.body {
            self.upload(ex, body, Fin::Last);
        }
        ex
    }

    /// A client sends a piece of the body of its request. Once it was answered, nobody reads it.
    pub fn upload(&mut self, ex: ExId, piece: &[u8], fin: Fin) {
        if self.clients.get(&ex).is_some_and(|client| client.phase == Phase::Asked) {
            self.hand(Input::Body(ex, piece, fin));
        }
    }

    /// A `POST` with the token and this JSON, and what can be done at once is done.
    pub fn post(&mut self, target: &str, body: &Value) -> ExId {
        let ask = Ask::post(target, body.to_string()).with("Authorization", format!("Bearer {TOKEN}"));
        let ex = self.ask(&ask);
        self.run();
        ex
    }

    /// A client asks for a WebSocket: path and query.
    pub fn connect(&mut self, target: &str) -> ExId {
        self.ask(&Ask::socket(target))
    }

    /// A client connects to the transcript of a pane, with the token, and what can be done at once is done.
    pub fn watch(&mut self, pane: &str) -> ExId {
        let ex = self.connect(&format!("/agent-transcript?pane={pane}&token={TOKEN}"));
        self.run();
        ex
    }

    /// A plain `GET` with the token, and what can be done at once is done.
    pub fn get(&mut self, target: &str) -> ExId {
        let ex = self.ask(&Ask::get(target).with("Authorization", format!("Bearer {TOKEN}")));
        self.run();
        ex
    }

    /// A client sends a text message.
    pub fn say(&mut self, ex: ExId, text: &str) {
        self.speak(ex, Said::text(text));
    }

    /// A client sends a binary message.
    pub fn say_binary(&mut self, ex: ExId, bytes: &[u8]) {
        self.speak(ex, Said::binary(bytes));
    }

    /// A client sends bytes that are no message.
    pub fn say_wrong(&mut self, ex: ExId, fault: Fault) {
        self.speak(ex, Said::Fault(fault));
    }

    /// A client asks for an older page.
    pub fn load_older(&mut self, ex: ExId, before_seq: u64, limit: u64) {
        self.say(ex, &format!("{{\"type\":\"load_older\",\"before_seq\":{before_seq},\"limit\":{limit}}}"));
    }

    /// A client takes data at another speed from now on.
    pub fn set_speed(&mut self, ex: ExId, speed: Speed) {
        if let Some(client) = self.clients.get_mut(&ex) {
            client.speed = speed;
        }
        self.arrange_taking(ex);
    }

    /// A client stops answering pings: its machine is gone, its socket is not.
    pub fn stop_answering(&mut self, ex: ExId) {
        if let Some(client) = self.clients.get_mut(&ex) {
            client.answers_pings = false;
        }
    }

    /// A client goes away without a word. Of an exchange that the core ended itself it hears nothing more.
    pub fn leave(&mut self, ex: ExId) {
        if let Some(client) = self.clients.get_mut(&ex).filter(|client| client.phase < Phase::Gone) {
            let known = client.phase < Phase::Closing;
            client.go();
            if known {
                self.hand(Input::Gone(ex));
            }
        }
    }

    /// The program ends at whose terminal a client is, and what can be done at once is done.
    pub fn end_program(&mut self, ex: ExId, exit: Option<i32>) {
        if let Some(op) = self.clients.get_mut(&ex).and_then(|client| client.at_terminal.take()) {
            let ran = Reply::Ran { exit, stdout: Vec::new(), stderr: Vec::new() };
            self.arrange(self.clock.mono(), Due::Outcome(op, ran));
        }
        self.run();
    }

    /// Whether a client is at the terminal of a program.
    #[must_use]
    pub fn is_at_terminal(&self, ex: ExId) -> bool {
        self.clients.get(&ex).is_some_and(|client| client.at_terminal.is_some())
    }

    /// What a client saw.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a scenario asks only for clients that it made")]
    pub fn client(&self, ex: ExId) -> &Client {
        self.clients.get(&ex).expect("a client of this world")
    }

    /// The frames a client took since this was asked for last.
    pub fn fresh(&mut self, ex: ExId) -> Vec<Received> {
        self.clients.get_mut(&ex).map(Client::fresh).unwrap_or_default()
    }
}

/// How that reaches the core.
impl<F: Face> World<F> {
    /// A client takes what its speed allows.
    pub(super) fn take(&mut self, ex: ExId) {
        let Some(client) = self.clients.get_mut(&ex).filter(|client| client.phase < Phase::Gone) else { return };
        client.taking = false;
        let bytes = match client.speed {
            Speed::Full => usize::MAX,
            Speed::Slow { bytes, .. } => bytes,
            Speed::Stuck => return,
        };
        let (known, pongs) = (client.phase < Phase::Closing, client.answers_pings && client.phase == Phase::Open);
        let (taken, closed) = (client.take(bytes), client.closed().is_some());
        match taken {
            Ok((taken, pings)) => {
                if taken > 0 && known {
                    self.hand(Input::Taken(ex, taken));
                }
                (0..pings).filter(|_| pongs).for_each(|_| self.speak(ex, Said::Pong));
            }
            Err(wrong) => self.violate(format!("{ex:?}: {wrong}")),
        }
        if closed {
            self.arrange(self.clock.mono(), Due::End(ex));
        }
        self.arrange_taking(ex);
    }

    pub(super) fn speak(&mut self, ex: ExId, said: Said) {
        if let Some(client) = self.clients.get_mut(&ex).filter(|client| client.phase <= Phase::Closing) {
            client.inbox.push_back(said);
            self.listen(ex);
        }
    }

    /// Hands on what a client said, unless it is not to be read.
    pub(super) fn listen(&mut self, ex: ExId) {
        while let Some(client) = self.clients.get_mut(&ex)
            && !client.held
            && !client.deaf
            && client.phase == Phase::Open
            && let Some(said) = client.inbox.pop_front()
        {
            let message = match &said {
                Said::Text(text) => {
                    client.contract.asked(text);
                    Message::Text(text)
                }
                Said::Binary(bytes) => Message::Binary(bytes),
                Said::Pong => Message::Pong,
                Said::Fault(fault) => {
                    client.deaf = true;
                    Message::Fault(*fault)
                }
            };
            self.hand(Input::Message(ex, message));
        }
    }

    pub(super) fn arrange_taking(&mut self, ex: ExId) {
        let now = self.clock.mono();
        let Some(client) = self.clients.get_mut(&ex) else { return };
        if client.taking || !client.would_take() {
            return;
        }
        let at = match client.speed {
            Speed::Slow { every, .. } => now.plus(every),
            Speed::Full | Speed::Stuck => now,
        };
        client.taking = true;
        self.arrange(at, Due::Take(ex));
    }
}
