//! What happens in a vector, step by step.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::herdr::{Failing, Mode};
use crate::vector::content::{self, Content, Repetition};
use crate::vector::document::PaneOf;
use crate::vector::pattern::Pattern;

/// One step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// An agent appends to a file; it is made if missing.
    Append(Written),
    /// A file is written in place: the same file with another content.
    Write(Written),
    /// Another file is renamed over this name.
    Replace(Written),
    /// Part of a file is overwritten in place.
    Overwrite(Overwritten),
    /// A file is cut in place.
    Truncate(Truncated),
    /// A file or a directory is moved.
    Rename(Renamed),
    /// A name is taken away.
    Delete(Named),
    /// A file is there and cannot be read from now on.
    Spoil(Named),
    /// It can be read again.
    Heal(Named),
    /// herdr says something else from now on.
    Herdr(Herdr),
    /// Time passes.
    Pass(Passing),
    /// A client connects to the transcript of a pane.
    Connect(Connect),
    /// A client sends a message.
    Say(Say),
    /// A client takes data at another speed from now on.
    Read(Read),
    /// A client goes away without a word.
    Drop(Of),
    /// A client stays, and answers nothing any more, not even pings.
    Mute(Of),
    /// The server is stopped without a word, and started again.
    Restart(Nothing),
    /// A plain HTTP request and its answer.
    Request(Request),
    /// What was typed into a pane since this was asked for last.
    Typed(TypedInto),
    /// The next frames that a client gets.
    Expect(Expect),
    /// Frames that a client does not get before something else, or for a while.
    Never(Never),
    /// The server closes a client's socket.
    Closed(Closed),
    /// Pings that reached a client so far.
    Pinged(Pinged),
}

/// A file and what is written to it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// Which file.
    pub file: String,
    /// What is written.
    pub content: Content,
}

/// A file and what is written over a part of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overwritten {
    /// Which file.
    pub file: String,
    /// From which byte on.
    pub offset: u64,
    /// What is written.
    pub content: Content,
}

/// A file that is cut.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truncated {
    /// Which file.
    pub file: String,
    /// How many bytes are left.
    pub to: u64,
}

/// A name that changes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renamed {
    /// What it was called.
    pub file: String,
    /// What it is called now.
    pub to: String,
}

/// A file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Which file.
    pub file: String,
}

/// What herdr says from now on.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Herdr {
    /// A pane is opened, or the one of this name is another one now.
    Pane(Box<PaneOf>),
    /// The pane of this name is closed.
    Close(String),
    /// It answers again.
    Answers(Nothing),
    /// It answers every question with this error, over its socket and as a command.
    Fails(Failing),
    /// It takes every question and answers none.
    Hangs(Nothing),
}

/// Nothing more is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// Time that passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passing {
    /// Milliseconds.
    pub ms: u64,
}

/// How a client shows its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Auth {
    /// As `?token=`.
    #[default]
    Query,
    /// As `Authorization: Bearer`.
    Header,
    /// Not at all.
    None,
    /// Another one, as `?token=`.
    WrongQuery,
    /// Another one, as `Authorization: Bearer`.
    WrongHeader,
    /// The right one as `?token=` and another one as `Authorization: Bearer`.
    WrongHeaderRightQuery,
}

/// A client connects.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connect {
    /// What the vector calls the client.
    #[serde(default = "first")]
    pub client: String,
    /// What it connects to.
    #[serde(default = "transcript")]
    pub path: String,
    /// The pane; without it the request names none.
    pub pane: Option<String>,
    /// Further parameters of the query; `$[name]` is what was captured under this name. They are percent-encoded.
    #[serde(default)]
    pub query: BTreeMap<String, String>,
    /// How it shows its token.
    #[serde(default)]
    pub auth: Auth,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The answer that refuses it; without this it must be let in.
    pub refused: Option<Answer>,
    /// How long it may take.
    #[serde(default = "patience")]
    pub within_ms: u64,
    /// Sentences of the contract that this step proves.
    #[serde(default)]
    pub proves: Vec<String>,
}

/// An HTTP request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its method.
    #[serde(default = "get")]
    pub method: String,
    /// Its path.
    pub path: String,
    /// Its query.
    #[serde(default)]
    pub query: BTreeMap<String, String>,
    /// How it shows the token.
    #[serde(default)]
    pub auth: Auth,
    /// Further headers; `${host}` is where the server listens.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Its body, as JSON; `$[name]` is what was captured under this name.
    pub body: Option<Value>,
    /// The answer.
    pub answer: Answer,
    /// How long it may take.
    #[serde(default = "patience")]
    pub within_ms: u64,
    /// Sentences of the contract that this step proves.
    #[serde(default)]
    pub proves: Vec<String>,
}

/// What was typed into a pane.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypedInto {
    /// Which pane.
    pub pane: String,
    /// All of it, as its agent reads it.
    pub text: Option<Pattern>,
    /// The writes that it came in.
    pub writes: Option<Pattern>,
    /// Sentences of the contract that this step proves.
    #[serde(default)]
    pub proves: Vec<String>,
}

/// What an HTTP answer must look like.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Its status.
    pub status: Pattern,
    /// Its body, as a text.
    pub body: Option<Pattern>,
    /// Its headers, by their names in lower case.
    pub headers: Option<Pattern>,
}

/// A client sends one message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "SayWritten")]
pub struct Say {
    /// Which client.
    pub client: String,
    /// What it sends.
    pub message: Message,
}

/// As it is written: the message stands beside the client.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SayWritten {
    #[serde(default = "first")]
    client: String,
    json: Option<Value>,
    text: Option<String>,
    hex: Option<String>,
    fault: Option<Fault>,
}

impl TryFrom<SayWritten> for Say {
    type Error = String;

    fn try_from(written: SayWritten) -> Result<Self, String> {
        let SayWritten { client, json, text, hex, fault } = written;
        let message = match (json, text, hex, fault) {
            (Some(json), None, None, None) => Message::Text(json.to_string()),
            (None, Some(text), None, None) => Message::Text(text),
            (None, None, Some(hex), None) => Message::Binary(content::unhex(&hex)?),
            (None, None, None, Some(fault)) => Message::Fault(fault),
            _ => return Err("a message is one of `json`, `text`, `hex` and `fault`".into()),
        };
        Ok(Self { client, message })
    }
}

/// A message of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// A text message.
    Text(String),
    /// A binary message.
    Binary(Vec<u8>),
    /// Something that is no proper message.
    Fault(Fault),
}

/// What can be wrong with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A text message that is not UTF-8.
    NotUtf8,
    /// A text message of 64 KiB.
    TooLarge,
    /// Bytes that are against the WebSocket protocol.
    Protocol,
}

/// How fast a client takes what waits for it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// Which client.
    #[serde(default = "first")]
    pub client: String,
    /// How fast.
    pub speed: Speed,
}

/// A speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speed {
    /// Everything, at once.
    Full,
    /// Nothing, until a later step says otherwise.
    Stuck,
}

/// A client.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Of {
    /// Which client.
    #[serde(default = "first")]
    pub client: String,
}

/// The next frames of a client.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Which client.
    #[serde(default = "first")]
    pub client: String,
    /// What comes, in order.
    pub frames: Vec<Coming>,
    /// How long each may take.
    #[serde(default = "patience")]
    pub within_ms: u64,
    /// Sentences of the contract that this step proves.
    #[serde(default)]
    pub proves: Vec<String>,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub enum Coming {
    /// A frame that fits.
    Frame(Pattern),
    /// Anything up to a frame that fits, and this frame.
    SkipTo(Pattern),
    /// Several sequences at the same time: each is in order, how they interleave is open.
    Interleaved(Vec<Vec<Pattern>>),
    /// So many frames that fit, one for each number.
    Repeat(Vec<Pattern>),
}

impl TryFrom<Value> for Coming {
    type Error = String;

    fn try_from(mut value: Value) -> Result<Self, String> {
        if content::repeats(&value) {
            return repeated(&value).map(Self::Repeat);
        }
        let Some(members) = value.as_object_mut().filter(|members| members.len() == 1) else {
            return Pattern::try_from(value).map(Self::Frame);
        };
        if let Some(frame) = members.remove("$skip_to") {
            return Pattern::try_from(frame).map(Self::SkipTo);
        }
        match members.remove("$interleaved") {
            Some(Value::Array(lanes)) => lanes.iter().map(lane).collect::<Result<_, _>>().map(Self::Interleaved),
            Some(other) => Err(format!("$interleaved is a list of lists of frames, not {other}")),
            None => Pattern::try_from(value).map(Self::Frame),
        }
    }
}

fn lane(lane: &Value) -> Result<Vec<Pattern>, String> {
    let mut frames = Vec::new();
    for frame in lane.as_array().into_iter().flatten() {
        if content::repeats(frame) {
            frames.extend(repeated(frame)?);
        } else {
            frames.push(Pattern::try_from(frame.clone())?);
        }
    }
    Ok(frames)
}

fn repeated(value: &Value) -> Result<Vec<Pattern>, String> {
    let Repetition { count, first, of } = content::repetition(value, "frame")?;
    (first..first + count).map(|n| Pattern::try_from(content::numbered(of, n))).collect()
}

impl Coming {
    /// Every pattern in it.
    pub fn patterns(&self) -> Vec<&Pattern> {
        match self {
            Self::Frame(pattern) | Self::SkipTo(pattern) => vec![pattern],
            Self::Interleaved(lanes) => lanes.iter().flatten().collect(),
            Self::Repeat(patterns) => patterns.iter().collect(),
        }
    }
}

/// Frames that do not come.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Never {
    /// Which client.
    #[serde(default = "first")]
    pub client: String,
    /// What does not come.
    pub frames: Vec<Pattern>,
    /// Until this comes, which is taken.
    pub until: Option<Pattern>,
    /// How long it may take until then; or, without `until`, how long nothing of it comes.
    #[serde(default = "patience")]
    pub within_ms: u64,
    /// Sentences of the contract that this step proves.
    #[serde(default)]
    pub proves: Vec<String>,
}

/// A socket is closed by the server.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// Which client.
    #[serde(default = "first")]
    pub client: String,
    /// The close code.
    pub code: Pattern,
    /// The reason.
    pub reason: Option<Pattern>,
    /// How long it may take.
    #[serde(default = "patience")]
    pub within_ms: u64,
    /// Sentences of the contract that this step proves.
    #[serde(default)]
    pub proves: Vec<String>,
}

/// Pings that came.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pinged {
    /// Which client.
    #[serde(default = "first")]
    pub client: String,
    /// How many, since it connected.
    pub times: Pattern,
}

impl Step {
    /// The sentences of the contract that this step proves.
    #[must_use]
    pub fn proves(&self) -> &[String] {
        match self {
            Self::Connect(step) => &step.proves,
            Self::Request(step) => &step.proves,
            Self::Typed(step) => &step.proves,
            Self::Expect(step) => &step.proves,
            Self::Never(step) => &step.proves,
            Self::Closed(step) => &step.proves,
            _ => &[],
        }
    }

    /// What it writes to a file.
    #[must_use]
    pub const fn content(&self) -> Option<&Content> {
        match self {
            Self::Append(step) | Self::Write(step) | Self::Replace(step) => Some(&step.content),
            Self::Overwrite(step) => Some(&step.content),
            _ => None,
        }
    }
}

/// What not every stage can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Make a file that cannot be read.
    Spoil,
    /// The same with a file that the server may have open.
    SpoilOpen,
    /// Stop and start the server.
    Restart,
}

impl Herdr {
    /// How herdr behaves after this, if that is what it says.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        match self {
            Self::Answers(Nothing {}) => Some(Mode::Normal),
            Self::Fails(error) => Some(Mode::Failing(error.clone())),
            Self::Hangs(Nothing {}) => Some(Mode::Wedged),
            Self::Pane(_) | Self::Close(_) => None,
        }
    }
}

/// A vector with one client need not name it.
fn first() -> String {
    "a".into()
}

fn transcript() -> String {
    "/agent-transcript".into()
}

fn get() -> String {
    "GET".into()
}

const fn patience() -> u64 {
    5_000
}
