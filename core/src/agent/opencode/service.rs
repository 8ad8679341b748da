//! opencode's service: where it listens, whether it still runs, and what it says.
//!
//! ```text
//!  service.json ──▶ is its process there? ──▶ GET … with its password ──▶ a JSON answer
//!        │ no file             │ no
//!        └─────────────────────┴──▶ there is no service
//! ```
//!
//! It is never started from here, and its password goes nowhere but to a process that its own file names.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;

use crate::agent::shown::named;
use crate::io::{FailureKind, Op, Outcome};
use crate::limits::{SERVICE_EVENT_BYTES, SERVICE_FILE_BYTES, SERVICE_LOOK, SERVICE_SILENCE, STORE_ANSWER_BYTES};
use crate::machine::{Asks, Machine, Tag, of_side};
use crate::source::json::Value;
use crate::source::whole_files::{Whole, WholeFiles};
use crate::time::Now;

/// One question to the service.
#[derive(Debug)]
pub(super) struct Ask {
    path: String,
    within: Duration,
    /// Whether events are asked for, and what was told last.
    listens: bool,
    told: Option<Vec<u8>>,
    stage: Stage,
    file: WholeFiles<()>,
    asks: Asks,
    asked: Option<Tag>,
    result: Option<Reply>,
}

/// What became of a question.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The body of an answer with status 200.
    Json(Vec<u8>),
    /// The service knows nothing of it.
    Unknown,
    /// There is no service.
    Absent,
    /// The answer is longer than may be.
    TooLarge,
    /// It is there, and does not answer in time: what there is to say about it.
    Slow(String),
    /// It is there, and this went wrong.
    Failed(String),
}

#[derive(Debug)]
enum Stage {
    File,
    /// Whether its process is there, and if not, whether that can be told here at all.
    Process(Address),
    Processes(Address),
    Fetch,
    Done,
}

#[derive(Debug)]
struct Address {
    url: String,
    password: String,
}

impl Ask {
    /// Asks for a path with its query, such as `/api/session?limit=1`, and waits so long for the answer.
    pub(super) fn new(state_dir: &str, path: String, within: Duration) -> Self {
        let mut file = WholeFiles::new(state_dir.into(), SERVICE_FILE_BYTES, 1);
        file.read((), format!("{state_dir}/service.json"));
        let (stage, asks) = (Stage::File, Asks::default());
        Self { path, within, listens: false, told: None, stage, file, asks, asked: None, result: None }
    }

    /// Asks for its events. They come one by one; the result says how they ended.
    pub(super) fn events(state_dir: &str) -> Self {
        Self { listens: true, ..Self::new(state_dir, "/event".into(), SERVICE_LOOK) }
    }

    /// Takes what was told last.
    pub(super) fn take_told(&mut self) -> Option<Vec<u8>> {
        self.told.take()
    }

    /// The result, once.
    pub(super) fn take_result(&mut self) -> Option<Reply> {
        self.result.take()
    }

    fn finish(&mut self, reply: Reply) {
        self.stage = Stage::Done;
        self.result = Some(reply);
    }

    fn ask(&mut self, stage: Stage, op: Op) {
        self.stage = stage;
        self.asked = Some(self.asks.ask(op));
    }

    fn handle_file(&mut self, whole: Whole) {
        let Whole::Bytes(_, bytes) = whole else { return self.finish(Reply::Absent) };
        let said = Value(bytes.trim_ascii());
        let (url, password) = (named(said.get("url")), named(said.get("password")));
        let pid = said.get("pid").and_then(Value::number);
        let (Some(url), Some(password), Some(pid)) = (url, password, pid) else { return self.finish(Reply::Absent) };
        let address = Address { url: url.trim_end_matches('/').to_string(), password };
        self.ask(Stage::Process(address), Op::Stat { path: format!("/proc/{pid}") });
    }

    fn fetch(&mut self, address: &Address) {
        let credentials = BASE64_STANDARD.encode(format!("opencode:{}", address.password));
        let url = format!("{}{}", address.url, self.path);
        let within = self.within;
        let headers = |accept: &str| {
            Vec::from([("authorization", format!("Basic {credentials}")), ("accept", accept.to_string())])
        };
        let op = if self.listens {
            let headers = headers("text/event-stream");
            Op::Events { url, headers, within, silence: SERVICE_SILENCE, event_cap: SERVICE_EVENT_BYTES }
        } else {
            let (method, headers, body) = ("GET", headers("application/json"), Bytes::new());
            Op::Fetch { method, url, headers, body, within, answer_cap: STORE_ANSWER_BYTES }
        };
        self.ask(Stage::Fetch, op);
    }

    fn handle_answer(&mut self, outcome: Outcome<'_>) {
        let reply = match outcome {
            Outcome::Fetched { .. } if self.listens => Reply::Unknown,
            _ if self.listens => Reply::Absent,
            Outcome::Fetched { status: 200, body } => Reply::Json(body.to_vec()),
            Outcome::Fetched { status: 404, .. } => Reply::Unknown,
            Outcome::Fetched { status, .. } => {
                Reply::Failed(format!("opencode's service answers {status} to {}", self.path))
            }
            Outcome::Failed(failure) => match failure.kind {
                FailureKind::TooLarge => Reply::TooLarge,
                FailureKind::Unreachable | FailureKind::NotFound => Reply::Absent,
                FailureKind::TimedOut => Reply::Slow(format!("opencode's service does not answer: {}", failure.text)),
                _ => Reply::Failed(format!("cannot ask opencode's service: {}", failure.text)),
            },
            _ => Reply::Absent,
        };
        self.finish(reply);
    }
}

impl Machine for Ask {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take().map(of_side::<2>(0)).or_else(|| self.file.poll_op().map(of_side::<2>(1)))
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        let (side, inner) = tag.side::<2>();
        if side == 1 {
            self.file.handle_outcome(now, inner, outcome);
            if let Some(((), whole)) = self.file.take() {
                self.handle_file(whole);
            }
            return;
        }
        if self.asked != Some(inner) {
            return;
        }
        if let (true, Outcome::Answer(told)) = (self.listens, &outcome) {
            self.told = Some(told.to_vec());
            return;
        }
        self.asked = None;
        match core::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Process(address) => match outcome {
                Outcome::Facts(_) => self.fetch(&address),
                _ => self.ask(Stage::Processes(address), Op::Stat { path: "/proc/self".into() }),
            },
            // Where processes are no files, a connection must be enough.
            Stage::Processes(address) => match outcome {
                Outcome::Facts(_) => self.finish(Reply::Absent),
                _ => self.fetch(&address),
            },
            Stage::Fetch => self.handle_answer(outcome),
            Stage::File | Stage::Done => {}
        }
    }
}

/// The list in an answer: `data` in newer builds, `items` in those of early 2026.
pub(super) fn list(answer: &[u8]) -> Vec<Value<'_>> {
    let answer = Value(answer.trim_ascii());
    let list = answer.get("data").or_else(|| answer.get("items")).unwrap_or(answer);
    list.elements().collect()
}

/// The one thing in an answer.
pub(super) fn one(answer: &[u8]) -> Value<'_> {
    let answer = Value(answer.trim_ascii());
    answer.get("data").filter(|data| data.is_object()).unwrap_or(answer)
}

/// The cursor of the page behind this one, as it stands in a query.
pub(super) fn next_cursor(answer: &[u8]) -> Option<String> {
    let cursor = Value(answer.trim_ascii()).get("cursor")?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let mut encoded = String::new();
    for byte in named(cursor.get("next"))?.bytes() {
        if plain(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    Some(encoded)
}

/// The directory of a session, as the versions name it.
pub(super) fn directory_of(session: Value<'_>) -> Option<String> {
    let location = session.get("location").and_then(|location| named(location.get("directory")));
    location.or_else(|| named(session.get("directory")))
}
