//! Where a vector is played: something with files, a herdr, a server and clients.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;

use crate::vector::document::Vector;
use crate::vector::step::{Herdr, Message, Need, Speed};

/// What a stage does. Paths are those of the vector: `~/` is the home directory of the agents.
pub trait Stage {
    /// Why this cannot be done here; `None` if it can.
    fn lacks(&self, need: Need) -> Option<&'static str>;

    /// Puts files and panes there and starts the server.
    ///
    /// # Errors
    /// If that cannot be done.
    fn set(&mut self, vector: &Vector) -> Result<(), Trouble>;

    /// Changes a file.
    ///
    /// # Errors
    /// If that cannot be done.
    fn change(&mut self, file: &str, change: &Change) -> Result<(), Trouble>;

    /// Changes what herdr says.
    ///
    /// # Errors
    /// If that cannot be done.
    fn herdr(&mut self, change: &Herdr) -> Result<(), Trouble>;

    /// What was typed into a pane since this was asked for last, each write by itself.
    ///
    /// # Errors
    /// If herdr is not the kit's.
    fn typed(&mut self, pane: &str) -> Result<Vec<String>, Trouble>;

    /// Time since the vector was set.
    fn now(&self) -> Duration;

    /// How long something may take for which the vector has so much patience. A real machine may need more.
    fn patience(&self, within: Duration) -> Duration {
        within
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// If the server is gone.
    fn pass(&mut self, time: Duration) -> Result<(), Trouble>;

    /// A client asks for a WebSocket. It is let in, or gets an answer; `None`: neither, in time.
    ///
    /// # Errors
    /// If the server cannot be reached.
    fn connect(&mut self, client: &str, asked: &Asked, within: Duration) -> Result<Option<Welcome>, Trouble>;

    /// A plain HTTP request; `None`: no answer in time.
    ///
    /// # Errors
    /// If the server cannot be reached.
    fn request(&mut self, asked: &Asked, within: Duration) -> Result<Option<Answered>, Trouble>;

    /// A client sends a message.
    ///
    /// # Errors
    /// If the vector has no such client.
    fn say(&mut self, client: &str, message: &Message) -> Result<(), Trouble>;

    /// What a client hears next.
    ///
    /// # Errors
    /// If the vector has no such client.
    fn hear(&mut self, client: &str, within: Duration) -> Result<Heard, Trouble>;

    /// A client takes data at another speed.
    ///
    /// # Errors
    /// If the vector has no such client.
    fn read(&mut self, client: &str, speed: Speed) -> Result<(), Trouble>;

    /// A client goes away without a word.
    ///
    /// # Errors
    /// If the vector has no such client.
    fn leave(&mut self, client: &str) -> Result<(), Trouble>;

    /// A client answers nothing any more.
    ///
    /// # Errors
    /// If the vector has no such client.
    fn mute(&mut self, client: &str) -> Result<(), Trouble>;

    /// Pings that reached a client.
    ///
    /// # Errors
    /// If the vector has no such client.
    fn pings(&mut self, client: &str) -> Result<u64, Trouble>;

    /// The server ends without a word, and another one begins.
    ///
    /// # Errors
    /// If this server is not the kit's to start.
    fn restart(&mut self) -> Result<(), Trouble>;

    /// It is over: everything is put away.
    ///
    /// # Errors
    /// What the stage itself saw go wrong.
    fn strike(&mut self) -> Result<(), Trouble>;

    /// The server's token.
    fn token(&self) -> &str;

    /// Where the server listens, as `Host` names it.
    fn host(&self) -> String;
}

/// How a file changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Bytes are appended; the file is made if missing.
    Append(Vec<u8>),
    /// The same file has this content now.
    Write(Vec<u8>),
    /// Another file with this content has its name now.
    Replace(Vec<u8>),
    /// Bytes are written over what was there, from this one on.
    Overwrite(u64, Vec<u8>),
    /// It is cut to this length.
    Truncate(u64),
    /// It has this name now.
    Rename(String),
    /// It has no name any more.
    Delete,
    /// It can be read no longer.
    Spoil,
    /// It can be read again.
    Heal,
}

/// A request for an answer or a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Its method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Its headers, but for those that every request has.
    pub headers: BTreeMap<String, String>,
    /// Its body, if it has one.
    pub body: Option<String>,
}

/// An HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// Its status.
    pub status: u16,
    /// Its headers, by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Its body.
    pub body: String,
}

/// What came of an upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Welcome {
    /// The socket is open.
    Open,
    /// It was refused so.
    Refused(Answered),
}

/// What a client hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A text message.
    Text(String),
    /// A binary message of so many bytes.
    Binary(usize),
    /// A close frame.
    Closed(u16, String),
    /// The connection ended without one.
    Cut,
    /// Bytes that are against the WebSocket protocol, and why.
    Garbled(String),
    /// Nothing, in time.
    Silence,
}

/// The kit cannot go on: no verdict about the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble(pub String);

impl Trouble {
    /// A client that the vector speaks of was never let in.
    #[must_use]
    pub fn no_client(client: &str) -> Self {
        Self(format!("there is no client {client:?} that is connected"))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Trouble {}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Self(why)
    }
}
