//! The events of the service: they name sessions in which something may have changed.
//!
//! ```text
//!  listen ──▶ service.json ──▶ GET /event ──▶ an event ──▶ whose session does it name?
//!    ▲                                 └─▶ its end, or none of that: later again, each time twice as late
//!    └────────────────────────────────────────┘
//! ```
//!
//! What they say beside that is not believed: whoever is named is looked at.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use memchr::memmem;

use super::service::{Ask, Reply};
use crate::ids::SessionId;
use crate::io::{Op, Outcome};
use crate::limits::{SERVICE_LISTEN_AGAIN, SERVICE_LISTEN_AGAIN_MOST};
use crate::machine::{Machine, Tag};
use crate::time::{Instant, Now};

/// Listens to the service, as long as somebody wants that.
#[derive(Debug)]
pub(crate) struct Events {
    state_dir: String,
    ask: Option<Box<Ask>>,
    /// When it was asked last, and whether it has told anything since.
    begun: Instant,
    tells: bool,
    /// Before this it is not asked again; and how long it rests the next time.
    not_before: Instant,
    rest: Duration,
}

impl Events {
    pub(crate) const fn new(state_dir: String) -> Self {
        let (begun, not_before, rest) = (Instant::from_millis(0), Instant::from_millis(0), SERVICE_LISTEN_AGAIN);
        Self { state_dir, ask: None, begun, tells: false, not_before, rest }
    }

    /// Begins to listen, unless it does or has to rest.
    pub(crate) fn listen(&mut self, now: Now) {
        if self.ask.is_none() && self.not_before <= now.mono {
            self.begun = now.mono;
            self.ask = Some(Box::new(Ask::events(&self.state_dir)));
        }
    }

    /// Whether it tells.
    pub(crate) const fn tells(&self) -> bool {
        self.tells
    }

    /// Takes what was told since this was asked last.
    pub(crate) fn take_told(&mut self) -> Option<Vec<u8>> {
        self.ask.as_mut()?.take_told()
    }

    fn end(&mut self, now: Now, reply: &Reply) {
        (self.ask, self.tells) = (None, false);
        if now.mono.since(self.begun) >= SERVICE_LISTEN_AGAIN_MOST {
            self.rest = SERVICE_LISTEN_AGAIN;
        }
        // What a service does not have it will not have soon.
        if *reply == Reply::Unknown {
            self.rest = SERVICE_LISTEN_AGAIN_MOST;
        }
        self.not_before = now.mono.plus(self.rest);
        self.rest = self.rest.saturating_mul(2).min(SERVICE_LISTEN_AGAIN_MOST);
    }
}

impl Machine for Events {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.ask.as_mut()?.poll_op()
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        let Some(ask) = &mut self.ask else { return };
        self.tells |= matches!(outcome, Outcome::Answer(_));
        ask.handle_outcome(now, tag, outcome);
        if let Some(reply) = ask.take_result() {
            self.end(now, &reply);
        }
    }
}

/// Whether an event names this session, in whichever member.
pub(crate) fn names(event: &[u8], session: &SessionId) -> bool {
    memmem::find(event, format!("\"{session}\"").as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::io::{Failure, FailureKind};
    use crate::pane::simulated::{World, at};

    /// Performs what is asked on the disk; gives back the question to the service, if there is one.
    fn ask(world: &mut World, millis: u64, events: &mut Events) -> Option<(Tag, Op)> {
        struct Disk<'a>(&'a mut Events, Option<(Tag, Op)>);
        impl Machine for Disk<'_> {
            fn poll_op(&mut self) -> Option<(Tag, Op)> {
                let asked = self.0.poll_op()?;
                if matches!(asked.1, Op::Events { .. }) {
                    self.1 = Some(asked);
                    return None;
                }
                Some(asked)
            }

            fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
                self.0.handle_outcome(now, tag, outcome);
            }
        }
        let mut disk = Disk(events, None);
        disk.0.listen(at(millis));
        world.drive(at(millis), &mut disk);
        disk.1
    }

    fn world() -> World {
        let mut world = World::new();
        world.put("/s/service.json", r#"{"url":"http://127.0.0.1:4096/","pid":7,"password":"p"}"#, 1);
        world.put("/proc/7", "", 1);
        world
    }

    const LOST: Outcome<'static> = Outcome::Failed(Failure { kind: FailureKind::Lost, text: "the events have ended" });

    #[test]
    fn it_is_asked_with_its_password_and_tells_until_it_ends() {
        let (mut world, mut events) = (world(), Events::new("/s".into()));
        let (tag, op) = ask(&mut world, 0, &mut events).unwrap();
        let Op::Events { url, headers, .. } = op else { panic!("{op:?}") };
        assert_eq!(url, "http://127.0.0.1:4096/event");
        let expected = vec![("authorization", "Basic b3BlbmNvZGU6cA==".into()), ("accept", "text/event-stream".into())];
        assert_eq!(headers, expected);
        assert!(!events.tells());
        for said in [&b"{\"type\":\"server.connected\"}"[..], b"{\"sessionID\":\"ses_1\"}"] {
            events.handle_outcome(at(1), tag, Outcome::Answer(said));
            assert_eq!((events.tells(), events.take_told()), (true, Some(said.to_vec())));
        }
        assert_eq!(events.take_told(), None);
        assert_eq!(ask(&mut world, 2, &mut events), None, "it is listened to already");
        events.handle_outcome(at(5_000), tag, LOST);
        assert!(!events.tells());
    }

    #[test]
    fn it_is_asked_again_each_time_later_and_soon_after_it_told_for_long() {
        let (mut world, mut events) = (world(), Events::new("/s".into()));
        let most = u64::try_from(SERVICE_LISTEN_AGAIN_MOST.as_millis()).unwrap();
        let mut moment = 0;
        for rest in [1_000, 2_000, 4_000, 8_000] {
            let (tag, _) = ask(&mut world, moment, &mut events).unwrap();
            events.handle_outcome(at(moment), tag, LOST);
            assert_eq!(ask(&mut world, moment + rest - 1, &mut events), None);
            moment += rest;
        }
        let (tag, _) = ask(&mut world, moment, &mut events).unwrap();
        moment += most;
        events.handle_outcome(at(moment), tag, LOST);
        let (tag, _) = ask(&mut world, moment + 1_000, &mut events).unwrap();
        // It has none.
        events.handle_outcome(at(moment + 1_000), tag, Outcome::Fetched { status: 404, body: b"" });
        assert_eq!(ask(&mut world, moment + most, &mut events), None);
        assert!(ask(&mut world, moment + most + 1_000, &mut events).is_some());
    }

    #[test]
    fn an_event_names_a_session_and_not_one_whose_name_begins_like_that() {
        let session = SessionId::from("ses_1");
        for (event, expected) in [
            (r#"{"type":"message.part.updated","properties":{"part":{"sessionID":"ses_1"}}}"#, true),
            (r#"{"id":"evt","data":{"sessionID": "ses_1"}}"#, true),
            (r#"{"sessionID":"ses_12"}"#, false),
            (r#"{"sessionID":"ses_2","text":"ses_1"}"#, true),
            ("{}", false),
        ] {
            assert_eq!(names(event.as_bytes(), &session), expected, "{event}");
        }
    }
}
