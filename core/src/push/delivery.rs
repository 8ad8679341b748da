//! One message on its way to one target: three tries, then it is given up.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use core::fmt::Write as _;
use core::time::Duration;

use bytes::Bytes;

use super::message::Message;
use super::watcher::Entered;
use crate::config::PushTarget;
use crate::io::{FailureKind, Op, Outcome};
use crate::limits::{PUSH_ANSWER_BYTES, PUSH_RESTS, PUSH_WITHIN};
use crate::machine::{Asks, Machine, Tag};
use crate::time::{Instant, Now};

/// A message for one target.
#[derive(Debug)]
pub struct Delivery {
    /// Where it goes, without what may be a secret.
    place: String,
    op: Op,
    /// Pauses that are left before further tries.
    rests: &'static [Duration],
    stage: Stage,
    asks: Asks,
    result: Option<Result<(), String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Asking(Tag),
    Resting(Instant),
    Done,
}

impl Delivery {
    /// Sends a message for the first time.
    #[must_use]
    pub fn new(target: &PushTarget, message: &Message) -> Self {
        let (url, headers, body) = match target {
            PushTarget::Webhook(url) => {
                let body = serde_json::to_vec(&message.data).unwrap_or_default();
                (url.clone(), vec![("content-type", "application/json".to_owned())], body)
            }
            PushTarget::Ntfy(url) => {
                let headers = vec![("content-type", "text/plain; charset=utf-8".to_owned())];
                (topic(url, message), headers, message.body.clone().into_bytes())
            }
        };
        let body = Bytes::from(body);
        let op = Op::Fetch { method: "POST", url, headers, body, within: PUSH_WITHIN, answer_cap: PUSH_ANSWER_BYTES };
        let mut asks = Asks::default();
        let stage = Stage::Asking(asks.ask(op.clone()));
        Self { place: target.place(), op, rests: &PUSH_RESTS, stage, asks, result: None }
    }

    /// How it ended, once: delivered, or why not, in words for the operator.
    pub fn take_result(&mut self) -> Option<Result<(), String>> {
        self.result.take()
    }

    /// When [`handle_tick`](Self::handle_tick) has something to do.
    #[must_use]
    pub const fn deadline(&self) -> Option<Instant> {
        match self.stage {
            Stage::Resting(until) => Some(until),
            Stage::Asking(_) | Stage::Done => None,
        }
    }

    /// Tries again, if it is time.
    pub fn handle_tick(&mut self, now: Now) {
        if self.deadline().is_some_and(|until| until <= now.mono) {
            self.stage = Stage::Asking(self.asks.ask(self.op.clone()));
        }
    }

    /// Another try may help, unless there were enough.
    fn rest(&mut self, now: Now, why: &str) {
        match self.rests.split_first() {
            Some((rest, left)) => {
                self.rests = left;
                self.stage = Stage::Resting(now.mono.plus(*rest));
            }
            None => self.give_up(why),
        }
    }

    fn give_up(&mut self, why: &str) {
        self.finish(Err(format!("cannot push to {}: {why}", self.place)));
    }

    fn finish(&mut self, result: Result<(), String>) {
        self.stage = Stage::Done;
        self.result = Some(result);
    }
}

impl Machine for Delivery {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        if self.stage != Stage::Asking(tag) {
            return;
        }
        match outcome {
            Outcome::Fetched { status: 200..=299, .. } => self.finish(Ok(())),
            Outcome::Fetched { status: status @ (429 | 500..=599), .. } => self.rest(now, &answered(status)),
            Outcome::Fetched { status, .. } => self.give_up(&answered(status)),
            // It was taken; what more it says does not matter.
            Outcome::Failed(failure) if failure.kind == FailureKind::TooLarge => self.finish(Ok(())),
            Outcome::Failed(failure) if failure.kind == FailureKind::Unsupported => self.give_up(failure.text),
            Outcome::Failed(failure) => self.rest(now, failure.text),
            _ => self.give_up("an answer of another kind"),
        }
    }
}

impl PushTarget {
    /// Scheme and host: what stands behind them may be a secret.
    #[must_use]
    pub fn place(&self) -> String {
        let (Self::Webhook(url) | Self::Ntfy(url)) = self;
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        format!("{scheme}://{host}")
    }
}

fn answered(status: u16) -> String {
    format!("it answered {status}")
}

/// ntfy takes title, priority and tags as parameters, where a header could hold ASCII only.
fn topic(url: &str, message: &Message) -> String {
    let (priority, tag) = match message.entered {
        Entered::Blocked => ("high", "raised_hand"),
        Entered::Done => ("default", "white_check_mark"),
    };
    let joint = if url.contains('?') { '&' } else { '?' };
    let mut out = format!("{url}{joint}priority={priority}&tags={tag}&title=");
    for byte in message.title.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use serde_json::{Map, json};

    use super::{Delivery, Message};
    use crate::config::PushTarget;
    use crate::io::{Failure, FailureKind, Op, Outcome};
    use crate::machine::Machine as _;
    use crate::pane::simulated::at;
    use crate::push::Entered;

    const HOOK: &str = "http://hooks.example/secret-path";

    fn message() -> Message {
        let data = json!({"status": "blocked"}).as_object().cloned().unwrap_or_else(Map::new);
        Message { entered: Entered::Blocked, title: "shed · Dig".into(), body: "Needs you".into(), data }
    }

    fn fetched(status: u16) -> Outcome<'static> {
        Outcome::Fetched { status, body: b"" }
    }

    /// Answers each try with the next outcome: how many there were, when the last began, and how it ended.
    fn deliver(outcomes: &[Outcome<'_>]) -> (usize, u64, Option<Result<(), alloc::string::String>>) {
        let mut delivery = Delivery::new(&PushTarget::Webhook(HOOK.into()), &message());
        let (mut tries, mut now) = (0, 0);
        for outcome in outcomes {
            let Some((tag, _)) = delivery.poll_op() else { break };
            tries += 1;
            delivery.handle_outcome(at(now), tag, *outcome);
            if let Some(until) = delivery.deadline() {
                delivery.handle_tick(at(until.as_millis() - 1));
                assert!(delivery.poll_op().is_none());
                now = until.as_millis();
                delivery.handle_tick(at(now));
            }
        }
        (tries, now, delivery.take_result())
    }

    #[test]
    fn a_webhook_gets_json_and_a_topic_gets_text() {
        let mut delivery = Delivery::new(&PushTarget::Webhook(HOOK.into()), &message());
        let Some((_, Op::Fetch { method, url, headers, body, .. })) = delivery.poll_op() else { panic!() };
        assert_eq!((method, url.as_str(), &body[..]), ("POST", HOOK, &br#"{"status":"blocked"}"#[..]));
        assert_eq!(headers, [("content-type", "application/json".to_string())]);
        let mut delivery = Delivery::new(&PushTarget::Ntfy("http://ntfy.example/t?auth=x".into()), &message());
        let Some((_, Op::Fetch { url, body, .. })) = delivery.poll_op() else { panic!() };
        assert_eq!(url, "http://ntfy.example/t?auth=x&priority=high&tags=raised_hand&title=shed%20%C2%B7%20Dig");
        assert_eq!(&body[..], b"Needs you");
    }

    #[test]
    fn three_tries_with_a_pause_between() {
        let broken = Outcome::Failed(Failure { kind: FailureKind::Unreachable, text: "connection refused" });
        assert_eq!(deliver(&[fetched(204)]), (1, 0, Some(Ok(()))));
        assert_eq!(deliver(&[fetched(503), fetched(429), fetched(200)]), (3, 750, Some(Ok(()))));
        let dead = "cannot push to http://hooks.example: connection refused".to_string();
        assert_eq!(deliver(&[fetched(500), broken, broken]), (3, 750, Some(Err(dead))));
    }

    #[test]
    fn what_will_not_get_better_is_not_tried_again() {
        let dead = |why: &str| Some(Err(["cannot push to http://hooks.example: ", why].concat()));
        assert_eq!(deliver(&[fetched(404)]), (1, 0, dead("it answered 404")));
        assert_eq!(deliver(&[fetched(302)]), (1, 0, dead("it answered 302")));
        let no_tls = Outcome::Failed(Failure { kind: FailureKind::Unsupported, text: "built without TLS" });
        assert_eq!(deliver(&[no_tls]), (1, 0, dead("built without TLS")));
    }

    #[test]
    fn a_place_is_named_without_its_secrets() {
        let place = |url: &str| PushTarget::Ntfy(url.into()).place();
        assert_eq!(place("https://ntfy.example/my-secret-topic"), "https://ntfy.example");
        assert_eq!(place("http://u:p@h.example:81?x=y"), "http://h.example:81");
    }
}
