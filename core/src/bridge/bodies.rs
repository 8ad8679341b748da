//! Requests whose body is still on its way: taken up to its bound and its time, then the whole call goes on.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use super::Bridge;
use super::exchange::Exchange;
use crate::http::{Answer, Manner, Post};
use crate::ids::ExId;
use crate::io::Fin;
use crate::limits::{BODIES_BYTES, BODY_WITHIN, DISCARDED_BODY_BYTES, MAX_PAIRING_BODIES};
use crate::time::Instant;
use crate::timers::Timer;

/// The bodies that are on their way.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    open: BTreeMap<ExId, Upload>,
    /// Bytes of all of them.
    held: usize,
}

/// A body that is on its way.
#[derive(Debug)]
pub(super) struct Upload {
    post: Post,
    manner: Manner,
    bytes: Vec<u8>,
    /// Bytes that came, whether kept or not.
    came: usize,
    until: Instant,
    refused: Option<Refused>,
}

/// Why the rest is read only for the client to see its answer instead of a reset.
#[derive(Debug, Clone, Copy)]
enum Refused {
    TooLarge,
    NoRoom,
}

impl Bodies {
    /// Takes a piece. Whether the body is over, or given up.
    fn take(&mut self, ex: ExId, piece: &[u8], fin: Fin) -> bool {
        let Some(upload) = self.open.get_mut(&ex) else { return false };
        upload.came = upload.came.saturating_add(piece.len());
        if upload.refused.is_none() {
            if upload.came > upload.post.body_bytes() {
                upload.refused = Some(Refused::TooLarge);
            } else if self.held.saturating_add(piece.len()) > BODIES_BYTES {
                upload.refused = Some(Refused::NoRoom);
            }
            if upload.refused.is_some() {
                self.held = self.held.saturating_sub(upload.bytes.len());
                upload.bytes = Vec::new();
            } else {
                self.held = self.held.saturating_add(piece.len());
                upload.bytes.extend_from_slice(piece);
            }
        }
        fin == Fin::Last || upload.came > DISCARDED_BODY_BYTES
    }

    fn remove(&mut self, ex: ExId) -> Option<Upload> {
        let upload = self.open.remove(&ex)?;
        self.held = self.held.saturating_sub(upload.bytes.len());
        Some(upload)
    }
}

impl Bridge {
    /// Waits for the body of this call. Of those who pair, whom nobody knows yet, only a few at once.
    pub(super) fn await_body(&mut self, ex: ExId, post: Post, manner: Manner) {
        let pairing = self.bodies.open.values().filter(|upload| upload.post == Post::Pair).count();
        if post == Post::Pair && pairing >= MAX_PAIRING_BODIES {
            return self.answer(ex, Answer::text(503, "too many devices pair at once: try again later", &manner));
        }
        let until = self.after(BODY_WITHIN);
        self.exchanges.insert(ex, Exchange::Body);
        let upload = Upload { post, manner, bytes: Vec::new(), came: 0, until, refused: None };
        self.bodies.open.insert(ex, upload);
        self.timers.set(Timer::Liveness(ex), until);
    }

    /// A piece of a body came. One that nobody waits for is forgotten.
    pub(super) fn body(&mut self, ex: ExId, piece: &[u8], fin: Fin) {
        if let Some(Exchange::Parked(parked)) = self.exchanges.get_mut(&ex) {
            return parked.take(piece, fin);
        }
        if !self.bodies.take(ex, piece, fin) {
            return;
        }
        let Some(upload) = self.leave_body(ex) else { return };
        self.exchanges.remove(&ex);
        if upload.refused.is_some() {
            return self.answer(ex, upload.refusal());
        }
        match upload.post.read(&upload.bytes) {
            Ok(call) => self.perform(ex, call, upload.manner),
            Err(wanted) => self.answer(ex, Answer::text(400, wanted, &upload.manner)),
        }
    }

    /// A body that does not end is not waited for.
    pub(super) fn check_body(&mut self, ex: ExId) {
        let now = self.now.mono;
        if self.bodies.open.get(&ex).is_some_and(|upload| upload.until <= now)
            && let Some(upload) = self.leave_body(ex)
        {
            self.exchanges.remove(&ex);
            self.answer(ex, upload.refusal());
        }
    }

    /// Ends the exchange without its call.
    pub(super) fn stop_body(&mut self, ex: ExId, refusal: impl Fn(&Manner) -> Answer) {
        if let Some(upload) = self.bodies.open.get(&ex) {
            let answer = refusal(&upload.manner);
            self.answer(ex, answer);
        }
    }

    /// Nothing more is taken of this body.
    pub(super) fn leave_body(&mut self, ex: ExId) -> Option<Upload> {
        self.timers.stop(Timer::Liveness(ex));
        self.bodies.remove(ex)
    }
}

impl Upload {
    /// Why the call is not made, of a body that was too much or too late.
    fn refusal(&self) -> Answer {
        match self.refused {
            Some(Refused::TooLarge) => {
                let text = format!("want a body of at most {} bytes", self.post.body_bytes());
                Answer::text(413, &text, &self.manner)
            }
            Some(Refused::NoRoom) => Answer::text(503, "too many requests with a body: try again later", &self.manner),
            None => {
                let text = format!("the body did not come within {}s", BODY_WITHIN.as_secs());
                Answer::text(408, &text, &self.manner)
            }
        }
    }
}
