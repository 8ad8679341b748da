//! The stage that spoils what goes through it.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::fault::{Fault, How, Memory};
use crate::vector::document::Vector;
use crate::vector::stage::{Answered, Asked, Change, Heard, Stage, Trouble, Welcome};
use crate::vector::step::{Herdr, Message, Need, Speed};

/// A stage around another one, with one fault.
#[derive(Debug)]
pub struct Wrong<'a, S> {
    inner: S,
    how: &'a How,
    clients: BTreeMap<String, Spoiled>,
}

/// What a client is still to hear, and what the fault remembers of it.
#[derive(Debug, Default)]
struct Spoiled {
    memory: Memory,
    frames: VecDeque<String>,
}

impl<'a, S: Stage> Wrong<'a, S> {
    /// This stage with this fault.
    #[must_use]
    pub const fn new(inner: S, fault: &'a Fault) -> Self {
        Self { inner, how: &fault.how, clients: BTreeMap::new() }
    }

    fn asked(&self, asked: &Asked) -> Asked {
        let mut asked = asked.clone();
        if let How::Asked(spoil) = self.how {
            spoil(&mut asked, self.inner.token());
        }
        asked
    }

    fn answered(&self, mut answer: Answered) -> Answered {
        if let How::Answer(spoil) = self.how {
            spoil(&mut answer);
        }
        answer
    }

    fn end(&self, heard: Heard) -> Heard {
        match (self.how, heard) {
            (How::End(spoil), Heard::Closed(code, reason)) => spoil(code, reason),
            (_, heard) => heard,
        }
    }
}

impl<S: Stage> Stage for Wrong<'_, S> {
    fn lacks(&self, need: Need) -> Option<&'static str> {
        self.inner.lacks(need)
    }

    fn set(&mut self, vector: &Vector) -> Result<(), Trouble> {
        self.clients.clear();
        let mut vector = vector.clone();
        if let How::Before(spoil) = self.how {
            spoil(&mut vector);
        }
        self.inner.set(&vector)
    }

    fn change(&mut self, file: &str, change: &Change) -> Result<(), Trouble> {
        self.inner.change(file, change)
    }

    fn herdr(&mut self, change: &Herdr) -> Result<(), Trouble> {
        self.inner.herdr(change)
    }

    fn typed(&mut self, pane: &str) -> Result<Vec<String>, Trouble> {
        self.inner.typed(pane)
    }

    fn now(&self) -> Duration {
        self.inner.now()
    }

    fn patience(&self, within: Duration) -> Duration {
        self.inner.patience(within)
    }

    fn pass(&mut self, time: Duration) -> Result<(), Trouble> {
        self.inner.pass(time)
    }

    fn connect(&mut self, client: &str, asked: &Asked, within: Duration) -> Result<Option<Welcome>, Trouble> {
        self.clients.insert(client.into(), Spoiled::default());
        Ok(match self.inner.connect(client, &self.asked(asked), within)? {
            Some(Welcome::Refused(answer)) => Some(Welcome::Refused(self.answered(answer))),
            other => other,
        })
    }

    fn request(&mut self, asked: &Asked, within: Duration) -> Result<Option<Answered>, Trouble> {
        let answer = self.inner.request(&self.asked(asked), within)?;
        Ok(answer.map(|answer| self.answered(answer)))
    }

    fn say(&mut self, client: &str, message: &Message) -> Result<(), Trouble> {
        let message = match self.how {
            How::Said(spoil) => spoil(message),
            _ => Some(message.clone()),
        };
        message.map_or(Ok(()), |message| self.inner.say(client, &message))
    }

    fn hear(&mut self, client: &str, within: Duration) -> Result<Heard, Trouble> {
        loop {
            let spoiled = self.clients.entry(client.into()).or_default();
            if let Some(text) = spoiled.frames.pop_front() {
                return Ok(if matches!(self.how, How::Binary) { Heard::Binary(text.len()) } else { Heard::Text(text) });
            }
            match self.inner.hear(client, within)? {
                Heard::Text(text) => spoiled.frames.extend(self.how.frames(text, &mut spoiled.memory)),
                other => return Ok(self.end(other)),
            }
        }
    }

    fn read(&mut self, client: &str, speed: Speed) -> Result<(), Trouble> {
        self.inner.read(client, speed)
    }

    fn leave(&mut self, client: &str) -> Result<(), Trouble> {
        self.clients.remove(client);
        self.inner.leave(client)
    }

    fn mute(&mut self, client: &str) -> Result<(), Trouble> {
        self.inner.mute(client)
    }

    fn pings(&mut self, client: &str) -> Result<u64, Trouble> {
        self.inner.pings(client)
    }

    fn restart(&mut self) -> Result<(), Trouble> {
        self.clients.clear();
        self.inner.restart()
    }

    fn strike(&mut self) -> Result<(), Trouble> {
        self.inner.strike()
    }

    fn token(&self) -> &str {
        self.inner.token()
    }

    fn host(&self) -> String {
        self.inner.host()
    }
}

impl How {
    /// The frames that this one becomes.
    fn frames(&self, text: String, memory: &mut Memory) -> Vec<String> {
        let (Self::Frame(_) | Self::Stream(_)) = self else { return vec![text] };
        let Ok(mut frame) = serde_json::from_str::<Value>(&text) else { return vec![text] };
        match self {
            Self::Frame(spoil) => {
                spoil(&mut frame);
                vec![frame.to_string()]
            }
            Self::Stream(spoil) => spoil(frame, memory).iter().map(ToString::to_string).collect(),
            _ => vec![text],
        }
    }
}
