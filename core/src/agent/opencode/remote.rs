//! Feeds a spool from the service.
//!
//! A look asks for the newest page; when that reaches back to what has settled it is enough, so that it costs the same
//! however long the session is. Otherwise everything is read from the beginning, page by page.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::block::{Author, Message};
use super::service::{Ask, Reply, list, next_cursor};
use super::settle::{self, Behind};
use super::v2;
use crate::agent::drift::Drift;
use crate::ids::SessionId;
use crate::io::{Op, Outcome};
use crate::limits::{
    SERVICE_LOOK, SERVICE_LOOKS, SERVICE_NEWEST, SERVICE_PAGE, SERVICE_PAGES_BACK, SERVICE_REST, STORE_FETCH,
};
use crate::machine::{Machine, Tag};
use crate::source::json::Value;
use crate::source::spool::{Feeder, Place, Spool};
use crate::time::{Instant, Now};

/// The service as a feeder.
#[derive(Debug)]
pub(super) struct Remote {
    state_dir: String,
    session: SessionId,
    stage: Stage,
    /// Which life of the spool is fed.
    life: Option<u32>,
    limit: usize,
    /// Looks since the limit was lowered or raised, and pages of this look on the way back from the newest.
    looks: usize,
    back: usize,
    /// Messages that came and have not settled, as they came, in order.
    held: Vec<(Place, Vec<u8>)>,
    /// The cursor of the page that follows.
    next: Option<String>,
    /// It did not answer in time: until then it is not asked.
    rests_until: Option<Instant>,
    found: bool,
    /// Whether any message came in this look.
    any: bool,
    trouble: Option<String>,
    drift: Drift,
}

#[derive(Debug)]
enum Stage {
    Idle,
    /// The newest page; from the first, if nothing has settled yet.
    Newest(Ask),
    /// A page on the way from the beginning.
    All(Ask),
    /// What is held is handed over when the spool has room; `last`: nothing follows.
    Loaded {
        last: bool,
    },
}

impl Remote {
    pub(super) fn new(state_dir: &str, session: &SessionId) -> Self {
        Self {
            state_dir: state_dir.into(),
            session: session.clone(),
            stage: Stage::Idle,
            life: None,
            limit: SERVICE_PAGE,
            looks: 0,
            back: 0,
            held: Vec::new(),
            next: None,
            rests_until: None,
            found: false,
            any: false,
            trouble: None,
            drift: Drift::default(),
        }
    }

    /// Whether the last look found messages of the session with the service.
    pub(super) const fn found(&self) -> bool {
        self.found
    }

    fn page(&self, query: &str, within: Duration) -> Ask {
        Ask::new(&self.state_dir, format!("/api/session/{}/message?{query}", self.session), within)
    }

    /// Cursor and order exclude each other.
    fn next_page(&mut self) -> Ask {
        let limit = self.limit;
        match self.next.take() {
            Some(cursor) => self.page(&format!("limit={limit}&cursor={cursor}"), STORE_FETCH),
            None => self.page(&format!("limit={limit}&order=asc"), STORE_FETCH),
        }
    }

    fn handle_reply(&mut self, now: Now, reply: Reply, newest: bool, spool: &Spool) {
        let body = match reply {
            Reply::Json(body) => body,
            Reply::TooLarge if self.limit > 1 => {
                self.limit /= 4;
                (self.limit, self.looks) = (self.limit.max(1), 0);
                self.begin_anew();
                return;
            }
            Reply::TooLarge => return self.give_up(Some("a message of opencode's service is too long".into()), true),
            Reply::Unknown | Reply::Absent => return self.give_up(None, false),
            // A service that does not page back is asked from the beginning.
            Reply::Failed(_) if newest && self.back > 0 => return self.begin_anew(),
            Reply::Slow(why) => {
                self.rests_until = Some(now.mono.plus(SERVICE_REST));
                return self.give_up(Some(why), false);
            }
            Reply::Failed(why) => return self.give_up(Some(why), false),
        };
        let messages = list(&body);
        // What older versions wrote may be in a store below alone, though the service knows of the session.
        self.any |= !messages.is_empty();
        self.found = self.any;
        let next = next_cursor(&body);
        let mut came: Vec<(Place, Vec<u8>)> =
            messages.into_iter().filter_map(|raw| Some((v2::place(raw)?, raw.raw().to_vec()))).collect();
        came.sort_by(|one, other| one.0.cmp(&other.0));
        let reaches = next.is_none() || came.first().is_some_and(|(place, _)| spool.is_settled(place));
        came.retain(|(place, _)| !spool.all_settled().holds(place));
        self.held.extend(came);
        if newest {
            if !reaches {
                return self.go_back(next);
            }
            self.held.sort_by(|one, other| one.0.cmp(&other.0));
            self.held.dedup_by(|later, earlier| later.0 == earlier.0);
        } else {
            self.next = next;
        }
        self.stage = Stage::Loaded { last: self.next.is_none() };
    }

    /// Pages back from the newest to what has settled, as long as that is not too far.
    fn go_back(&mut self, next: Option<String>) {
        self.back = self.back.saturating_add(1);
        match next.filter(|_| self.back < SERVICE_PAGES_BACK) {
            Some(cursor) => {
                let query = format!("limit={}&cursor={cursor}", self.newest());
                self.stage = Stage::Newest(self.page(&query, SERVICE_LOOK));
            }
            None => self.begin_anew(),
        }
    }

    fn newest(&self) -> usize {
        SERVICE_NEWEST.min(self.limit)
    }

    fn begin_anew(&mut self) {
        self.held.clear();
        self.next = None;
        self.stage = Stage::All(self.next_page());
    }

    fn give_up(&mut self, trouble: Option<String>, found: bool) {
        self.found = found;
        self.trouble = trouble;
        self.held.clear();
        self.next = None;
        self.stage = Stage::Idle;
    }

    fn hand_over(&mut self, now: Now, last: bool, spool: &mut Spool) {
        let held = core::mem::take(&mut self.held);
        let mut messages: Vec<(Message<'_>, Option<i64>)> = Vec::new();
        for (place, bytes) in &held {
            let raw = Value(bytes);
            let kind = raw.get("type").and_then(Value::literal).unwrap_or_default();
            v2::note(kind, raw, "service", &mut self.drift);
            messages.push((v2::message(place.clone(), kind, raw), None));
        }
        let behind = Behind { any: !last, assistant: false, quiet: false };
        // Nothing tells when a message was written to last: only a message behind it ends one that never ended.
        for (message, changed) in &mut messages {
            *changed = (message.author != Author::Human).then_some(now.wall.0);
        }
        let settled = settle::window(&messages, behind, now.wall, spool);
        drop(messages);
        if last {
            self.stage = Stage::Idle;
            return;
        }
        self.held = held;
        self.held.retain(|(place, _)| settled.as_ref().is_none_or(|settled| place > settled));
        self.stage = Stage::All(self.next_page());
    }
}

impl Feeder for Remote {
    fn look(&mut self, now: Now, spool: &Spool) {
        if self.rests_until.is_some_and(|until| now.mono < until) {
            return self.give_up(None, false);
        }
        self.rests_until = None;
        self.life = Some(spool.life());
        self.held.clear();
        (self.next, self.back, self.any) = (None, 0, false);
        self.looks = self.looks.saturating_add(1);
        if self.looks >= SERVICE_LOOKS && self.limit < SERVICE_PAGE {
            // One answer that was too long is not the rule for all.
            (self.limit, self.looks) = (self.limit.saturating_mul(2).min(SERVICE_PAGE), 0);
        }
        self.stage = if spool.settled().is_some() {
            Stage::Newest(self.page(&format!("limit={}&order=desc", self.newest()), SERVICE_LOOK))
        } else {
            Stage::All(self.next_page())
        };
    }

    fn go_on(&mut self, now: Now, spool: &mut Spool) {
        let (reply, newest) = match &mut self.stage {
            Stage::Newest(ask) => (ask.take_result(), true),
            Stage::All(ask) => (ask.take_result(), false),
            Stage::Idle | Stage::Loaded { .. } => (None, false),
        };
        let is_new_life = self.life != Some(spool.life());
        if is_new_life && (reply.is_some() || matches!(self.stage, Stage::Loaded { .. })) {
            return self.give_up(None, self.found);
        }
        if let Some(reply) = reply {
            self.handle_reply(now, reply, newest, spool);
        }
        if let Stage::Loaded { last } = self.stage
            && spool.has_room()
        {
            self.hand_over(now, last, spool);
        }
    }

    fn is_looking(&self) -> bool {
        !matches!(self.stage, Stage::Idle)
    }

    fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    fn take_drift(&mut self) -> Drift {
        core::mem::take(&mut self.drift)
    }
}

impl Machine for Remote {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        match &mut self.stage {
            Stage::Newest(ask) | Stage::All(ask) => ask.poll_op(),
            Stage::Idle | Stage::Loaded { .. } => None,
        }
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        if let Stage::Newest(ask) | Stage::All(ask) = &mut self.stage {
            ask.handle_outcome(now, tag, outcome);
        }
    }
}
