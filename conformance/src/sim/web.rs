//! Other servers in virtual time: what was sent to them, and how they answer.

use core::time::Duration;
use std::collections::VecDeque;

use panewire_core::io::{FailureKind, Op};

use crate::sim::disk::Performed;
use crate::sim::reply::Reply;

/// Every server that could be fetched from, as one.
#[derive(Debug, Default)]
pub struct Web {
    /// How the next requests are answered: by a status, or not at all. Without one: 200.
    pub answers: VecDeque<Result<u16, FailureKind>>,
    sent: Vec<Sent>,
}

/// A request that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Where to.
    pub url: String,
    /// Its body.
    pub body: String,
}

impl Web {
    /// What was sent since this was asked for last.
    pub fn take_sent(&mut self) -> Vec<Sent> {
        core::mem::take(&mut self.sent)
    }

    /// Performs an operation; `None` if it is none for the web.
    pub fn perform(&mut self, op: &Op) -> Option<Performed> {
        let Op::Fetch { url, body, .. } = op else { return None };
        self.sent.push(Sent { url: url.clone(), body: String::from_utf8_lossy(body).into_owned() });
        let reply = match self.answers.pop_front().unwrap_or(Ok(200)) {
            Ok(status) => Reply::Fetched { status, body: Vec::new() },
            Err(kind) => Reply::failed(kind),
        };
        Some(Performed { reply, after: Duration::ZERO })
    }
}
