//! The daemon's own token: taken up anew when somebody comes with a token that nobody knows and its file has another one.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::Bridge;
use super::exchange::Ending;
use super::ops::Owner;
use crate::http::Refusal;
use crate::http::auth::{TokenDigest, brings_token, token_in};
use crate::ids::ExId;
use crate::io::{Level, Op, Outcome, Output, Request};
use crate::limits::{MAX_TOKEN_BYTES, TOKEN_AGAIN};
use crate::machine::Tag;
use crate::time::Instant;

/// When its file was read, and what was opened with it.
#[derive(Debug, Default)]
pub(super) struct OwnToken {
    /// Nobody is worth a look before.
    again: Instant,
    reading: bool,
    /// It was said that the file holds none.
    complained: bool,
    opened: BTreeSet<ExId>,
}

impl OwnToken {
    /// Somebody opened this with the daemon's own token.
    pub(super) fn opens(&mut self, ex: ExId) {
        self.opened.insert(ex);
    }

    /// The exchange is over.
    pub(super) fn leave(&mut self, ex: ExId) {
        self.opened.remove(&ex);
    }
}

impl Bridge {
    /// Whether a request that is refused so may bring a token that was made meanwhile: it waits then until the file was read.
    pub(super) fn may_bring_new_token(&mut self, request: &Request<'_>, refusal: &Refusal) -> bool {
        let Some(path) = &self.config.token_file else { return false };
        // 503: the list of devices cannot be read, and the token may be one of theirs.
        if self.stopping || !matches!(refusal.status, 401 | 503) || !brings_token(request) || !self.has_room_to_park() {
            return false;
        }
        if !self.own_token.reading {
            if self.now.mono < self.own_token.again {
                return false;
            }
            self.own_token.reading = true;
            self.own_token.again = self.now.mono.plus(TOKEN_AGAIN);
            let load = Op::Load { path: path.clone(), cap: MAX_TOKEN_BYTES };
            self.ops.issue(Owner::Token, Tag(0), load, &mut self.outputs);
        }
        true
    }

    /// The token file was read: whoever waited for it is looked at again.
    pub(super) fn token_outcome(&mut self, outcome: Outcome<'_>) {
        self.own_token.reading = false;
        let found = match outcome {
            Outcome::Bytes { bytes, .. } => token_in(bytes).ok_or_else(|| String::from("it holds no token")),
            Outcome::Failed(failure) => Err(failure.text.into()),
            _ => Err(String::from("no answer")),
        };
        match found {
            Ok(token) => self.take_up(TokenDigest::of(token)),
            Err(why) if !self.own_token.complained => {
                self.own_token.complained = true;
                let path = self.config.token_file.as_deref().unwrap_or_default();
                let text = format!("the token of before still counts: cannot use {path}: {why}");
                self.outputs.push_back(Output::Log(Level::Warn, text));
            }
            Err(_) => {}
        }
        self.let_parked_go_on();
    }

    /// From now on this is the token, and what was opened with another one is closed: pairing codes, too.
    fn take_up(&mut self, token: TokenDigest) {
        self.own_token.complained = false;
        if token.is_among(&self.config.tokens) {
            return;
        }
        self.config.tokens = vec![token];
        let text =
            "the token file has a new token: it counts from now on, and what was opened with the old one is closed";
        self.outputs.push_back(Output::Log(Level::Info, text.into()));
        let open: Vec<ExId> = core::mem::take(&mut self.own_token.opened).into_iter().collect();
        for ex in open {
            self.end(ex, &Ending::ANOTHER_TOKEN);
        }
        self.devices.close_codes();
    }
}
