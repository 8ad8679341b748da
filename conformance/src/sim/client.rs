//! Virtual clients, and the queue that a runtime keeps for each.

use core::time::Duration;
use std::collections::VecDeque;

use panewire_core::ids::OpId;
use panewire_core::io::{Fault, Frame, Head};
use panewire_core::limits::MAX_MESSAGE_BYTES;
use serde_json::Value;

use crate::sim::contract::Contract;

/// One HTTP request.
#[derive(Debug, Clone)]
pub struct Ask {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) upgrade: bool,
    pub(super) speed: Speed,
}

impl Ask {
    /// A plain `GET` of this path and query.
    #[must_use]
    pub fn get(target: &str) -> Self {
        let headers = vec![("Host".into(), b"127.0.0.1:8787".to_vec())];
        Self { method: "GET".into(), target: target.into(), headers, body: None, upgrade: false, speed: Speed::Full }
    }

    /// A `POST` with this body, in one piece.
    #[must_use]
    pub fn post(target: &str, body: impl AsRef<[u8]>) -> Self {
        let mut ask = Self::get(target).by("POST");
        ask.body = Some(body.as_ref().to_vec());
        ask
    }

    /// A WebSocket upgrade.
    #[must_use]
    pub fn socket(target: &str) -> Self {
        let mut ask = Self::get(target)
            .with("Connection", "Upgrade")
            .with("Upgrade", "websocket")
            .with("Sec-WebSocket-Version", "13")
            .with("Sec-WebSocket-Key", "cGFuZXdpcmUgc2ltdWxhdA==");
        ask.upgrade = true;
        ask
    }

    /// With another method.
    #[must_use]
    pub fn by(mut self, method: &str) -> Self {
        self.method = method.into();
        self
    }

    /// By a client that takes data at this speed.
    #[must_use]
    pub const fn at(mut self, speed: Speed) -> Self {
        self.speed = speed;
        self
    }

    /// With this header, instead of one of the same name.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self.headers.push((name.into(), value.as_ref().to_vec()));
        self
    }
}

/// How fast a client takes what waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speed {
    /// Everything, at once.
    Full,
    /// So many bytes each time.
    Slow {
        /// Bytes each time.
        bytes: usize,
        /// Time from one to the next.
        every: Duration,
    },
    /// Nothing.
    Stuck,
}

/// What came as an answer to a plain request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: String,
}

impl Answer {
    /// A header's value.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str())
    }
}

/// What a client says on its socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    Text(String),
    Binary(Vec<u8>),
    Pong,
    Fault(Fault),
}

impl Said {
    /// What a runtime makes of a text: one that is too long is a fault.
    pub(super) fn text(text: &str) -> Self {
        if text.len() > MAX_MESSAGE_BYTES { Self::Fault(Fault::TooLarge) } else { Self::Text(text.into()) }
    }

    pub(super) fn binary(bytes: &[u8]) -> Self {
        if bytes.len() > MAX_MESSAGE_BYTES { Self::Fault(Fault::TooLarge) } else { Self::Binary(bytes.into()) }
    }
}

/// Where an exchange stands. It only moves down this list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    Asked,
    Answering,
    Open,
    Closing,
    Over,
    Gone,
}

/// A frame that the client has taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// As it came.
    pub raw: String,
    /// Parsed.
    pub json: Value,
}

impl Received {
    /// `type`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.json["type"].as_str().unwrap_or_default()
    }

    /// The number in this field; 0 if there is none.
    #[must_use]
    pub fn number(&self, field: &str) -> u64 {
        self.json[field].as_u64().unwrap_or_default()
    }

    /// `entry.seq`; 0 if it is no entry.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.json["entry"]["seq"].as_u64().unwrap_or_default()
    }

    /// Whether it is an entry of the live tail.
    #[must_use]
    pub fn live(&self) -> bool {
        self.json["live"] == true
    }
}

/// `hello` and `backlog_complete` behind a `session_changed`.
const FRAMES_THAT_BELONG: usize = 2;

/// One client. What it has not taken yet, it has not seen.
#[derive(Debug)]
pub struct Client {
    pub(super) phase: Phase,
    pub(super) head_only: bool,
    pub(super) speed: Speed,
    pub(super) answers_pings: bool,
    pub(super) accepted: bool,
    pub(super) held: bool,
    pub(super) attached: bool,
    pub(super) at_terminal: Option<OpId>,
    screen: Vec<u8>,
    pub(super) deaf: bool,
    pub(super) taking: bool,
    pub(super) inbox: VecDeque<Said>,
    pub(super) contract: Contract,
    pub(super) closing: Option<(u16, &'static str)>,
    pub(super) outstanding: usize,
    most_outstanding: usize,
    overdrawn: usize,
    queue: VecDeque<Frame>,
    partly: usize,
    head: Option<Head>,
    body: Vec<u8>,
    finished: bool,
    cut: bool,
    received: Vec<Received>,
    seen: usize,
    pings: usize,
    closed: Option<(u16, &'static str)>,
}

impl Client {
    pub(super) fn new(speed: Speed) -> Self {
        Self {
            phase: Phase::Asked,
            head_only: false,
            speed,
            answers_pings: true,
            accepted: false,
            held: false,
            attached: false,
            at_terminal: None,
            screen: Vec::new(),
            deaf: false,
            taking: false,
            inbox: VecDeque::new(),
            contract: Contract::new(),
            closing: None,
            outstanding: 0,
            most_outstanding: 0,
            overdrawn: 0,
            queue: VecDeque::new(),
            partly: 0,
            head: None,
            body: Vec::new(),
            finished: false,
            cut: false,
            received: Vec::new(),
            seen: 0,
            pings: 0,
            closed: None,
        }
    }

    /// Whether its upgrade was accepted.
    #[must_use]
    pub fn accepted(&self) -> bool {
        self.accepted
    }

    /// Whether its answer was ended before its length.
    #[must_use]
    pub const fn cut(&self) -> bool {
        self.cut
    }

    /// The whole answer to its request, once it is complete.
    #[must_use]
    pub fn answer(&self) -> Option<Answer> {
        let head = self.head.as_ref().filter(|_| self.finished)?;
        let body = String::from_utf8_lossy(&self.body).into_owned();
        Some(Answer { status: head.status, headers: head.headers.clone(), body })
    }

    /// Every frame it has taken.
    #[must_use]
    pub fn received(&self) -> &[Received] {
        &self.received
    }

    /// The frames it has taken since this was asked for last.
    pub fn fresh(&mut self) -> Vec<Received> {
        let fresh = self.received.get(self.seen..).unwrap_or_default().to_vec();
        self.seen = self.received.len();
        fresh
    }

    /// Pings that reached it.
    #[must_use]
    pub const fn pings(&self) -> usize {
        self.pings
    }

    /// The bytes that its terminal was sent.
    #[must_use]
    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen).into_owned()
    }

    /// The close frame that reached it.
    #[must_use]
    pub const fn closed(&self) -> Option<(u16, &'static str)> {
        self.closed
    }

    /// The close frame that was sent to it, whether or not it takes it.
    #[must_use]
    pub const fn closing(&self) -> Option<(u16, &'static str)> {
        self.closing
    }

    /// Whether it went away by itself, or its connection is over.
    #[must_use]
    pub fn left(&self) -> bool {
        self.phase == Phase::Gone
    }

    /// Whether the core asked not to read from it.
    #[must_use]
    pub const fn held(&self) -> bool {
        self.held
    }

    /// The most bytes that ever waited for it.
    #[must_use]
    pub const fn most_outstanding(&self) -> usize {
        self.most_outstanding
    }

    pub(super) fn respond(&mut self, head: Head) {
        self.head = Some(head);
    }

    /// Whether its credit allows this frame: one frame may overdraw it, whatever was paid for before may follow, and so may
    /// the few that belong to that one (`session_changed`, `hello`, the end of a page), but no entry.
    pub(super) fn may_be_sent(&mut self, frame: &Frame, window: usize) -> bool {
        if self.outstanding <= window {
            self.overdrawn = 0;
            return true;
        }
        let waiting = self.queue.iter().map(Frame::len).enumerate();
        let left = waiting.map(|(at, len)| if at == 0 { len - self.partly } else { len });
        let largest = left.max().unwrap_or(0).max(frame.len());
        if self.outstanding + frame.len() - largest <= window {
            return true;
        }
        self.overdrawn += 1;
        let is_entry = matches!(frame, Frame::Text(text) if text.starts_with(br#"{"type":"entry""#));
        !is_entry && self.overdrawn <= FRAMES_THAT_BELONG
    }

    pub(super) fn push(&mut self, frame: Frame) {
        self.outstanding += frame.len();
        self.most_outstanding = self.most_outstanding.max(self.outstanding);
        self.queue.push_back(frame);
    }

    /// The answer is complete: its length must be what its head promised. One that fills its window may be given up.
    pub(super) fn finish(&mut self, window: usize) -> Result<(), String> {
        self.finished = true;
        let Some(head) = &self.head else { return Err("an answer was finished that has no head".into()) };
        let waiting: usize = self.queue.iter().map(Frame::len).sum();
        let whole = self.body.len() + waiting.saturating_sub(self.partly);
        if self.head_only {
            return if whole == 0 { Ok(()) } else { Err(format!("a HEAD is answered with {whole} bytes")) };
        }
        match head.headers.iter().find(|(name, _)| *name == "content-length") {
            Some((_, promised))
                if promised.parse().is_ok_and(|promised: usize| whole < promised) && self.outstanding >= window =>
            {
                self.cut = true;
                Ok(())
            }
            Some((_, promised)) if *promised != whole.to_string() => {
                Err(format!("content-length is {promised}, the body has {whole} bytes"))
            }
            _ => Ok(()),
        }
    }

    /// Whether something waits for it that it would take.
    pub(super) fn would_take(&self) -> bool {
        self.speed != Speed::Stuck && (!self.queue.is_empty() || self.closing.is_some() && self.closed.is_none())
    }

    /// Takes so many bytes from the queue: what was taken, and how many pings were among it.
    pub(super) fn take(&mut self, mut bytes: usize) -> Result<(usize, usize), String> {
        let (mut taken, mut pings) = (0, 0);
        while let Some(frame) = self.queue.front() {
            let left = frame.len() - self.partly;
            if left > bytes {
                self.partly += bytes;
                taken += bytes;
                break;
            }
            (self.partly, bytes, taken) = (0, bytes - left, taken + left);
            match self.queue.pop_front() {
                Some(Frame::Text(text)) => {
                    let raw = String::from_utf8(text.to_vec()).map_err(|_| "a text frame is not UTF-8")?;
                    let json = serde_json::from_str(&raw).map_err(|e| format!("a frame is not JSON: {e}: {raw}"))?;
                    self.received.push(Received { raw, json });
                }
                Some(Frame::Body(piece)) => self.body.extend_from_slice(&piece),
                Some(Frame::Ping) => pings += 1,
                Some(Frame::Binary(bytes)) if self.attached => self.screen.extend_from_slice(&bytes),
                Some(Frame::Binary(_)) => return Err("the mobile contract has no binary frames".into()),
                None => break,
            }
        }
        self.outstanding = self.outstanding.saturating_sub(taken);
        self.pings += pings;
        if self.queue.is_empty() {
            self.closed = self.closing;
        }
        Ok((taken, pings))
    }

    /// The client is gone: nothing waits for it any more.
    pub(super) fn go(&mut self) {
        self.phase = Phase::Gone;
        self.queue.clear();
        self.inbox.clear();
        self.outstanding = 0;
    }
}

/// Short words for what scenarios compare.
pub trait Frames {
    /// `type` of each; an entry is `entry` or `live`.
    fn kinds(&self) -> Vec<&str>;
    /// `seq` of every entry.
    fn seqs(&self) -> Vec<u64>;
    /// `text` of every entry that has one.
    fn texts(&self) -> Vec<&str>;
    /// The only frame of this type.
    fn only(&self, kind: &str) -> &Received;
}

impl Frames for [Received] {
    fn kinds(&self) -> Vec<&str> {
        self.iter().map(|frame| if frame.live() { "live" } else { frame.kind() }).collect()
    }

    fn seqs(&self) -> Vec<u64> {
        self.iter().filter(|frame| frame.kind() == "entry").map(Received::seq).collect()
    }

    fn texts(&self) -> Vec<&str> {
        self.iter().filter_map(|frame| frame.json["entry"]["text"].as_str()).collect()
    }

    #[expect(clippy::panic, reason = "the scenario has failed")]
    fn only(&self, kind: &str) -> &Received {
        let mut of_kind = self.iter().filter(|frame| frame.kind() == kind);
        match (of_kind.next(), of_kind.next()) {
            (Some(frame), None) => frame,
            _ => panic!("not one {kind} in {:?}", self.kinds()),
        }
    }
}
