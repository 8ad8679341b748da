//! `POST /approve`: Enter, for the question that the client has seen.
//!
//! The pane is looked at twice. Between the second look and the key nothing else happens; what was another question, or
//! another life of the pane, in one of the two is not confirmed.

use alloc::format;
use alloc::string::String;

use super::{ANOTHER_QUESTION, Claim, Ended, NO_QUESTION, Seen, Shown, Step, View, enter};
use crate::http::ApproveCall;

#[derive(Debug)]
pub(super) struct Approve {
    call: ApproveCall,
    first: Option<Moment>,
}

/// What must not change between two looks.
#[derive(Debug, PartialEq, Eq)]
struct Moment {
    terminal: String,
    fingerprint: Option<String>,
}

impl Approve {
    pub(super) const fn new(call: ApproveCall) -> Self {
        Self { call, first: None }
    }

    pub(super) fn next(&mut self, seen: Seen) -> Step {
        match seen {
            Seen::Agent(view) => self.looked(&view),
            Seen::NoAgent => not_approved(NO_AGENT),
            Seen::Granted(true) => enter(),
            Seen::Granted(false) => not_approved(&format!("already approved: seq {}", self.call.seq)),
            Seen::Typed => Step::End(Ended::Approved),
            Seen::Begun | Seen::Screen(_) | Seen::Rested => Step::Look,
        }
    }

    fn looked(&mut self, view: &View) -> Step {
        let (agent, seq) = (&view.agent, self.call.seq);
        if !view.is_blocked() {
            return not_approved(&format!("agent is {}, not blocked", agent.status.trim()));
        }
        if agent.state_change_seq != seq {
            let now = agent.state_change_seq;
            return not_approved(&format!("stale seq: approve carried {seq}, agent now at {now}"));
        }
        let shown = match &view.shown {
            Ok(shown) => shown,
            Err(why) => return Step::End(Ended::Refused(502, why.clone())),
        };
        if let Some(reason) = self.is_about_another(shown) {
            return not_approved(reason);
        }
        let terminal = agent.terminal_id.clone().unwrap_or_else(|| agent.pane.0.clone());
        let moment = Moment { terminal: terminal.clone(), fingerprint: shown.fingerprint() };
        match self.first.replace(moment) {
            None => Step::Look,
            Some(before) if self.first.as_ref() == Some(&before) => Step::Claim(Claim { terminal, seq }),
            Some(_) => not_approved(ANOTHER_QUESTION),
        }
    }

    fn is_about_another(&self, shown: &Shown) -> Option<&'static str> {
        let question = self.call.question.as_ref()?;
        match shown.fingerprint() {
            Some(asked) if asked == *question => None,
            Some(_) => Some(ANOTHER_QUESTION),
            None => Some(NO_QUESTION),
        }
    }
}

fn not_approved(reason: &str) -> Step {
    Step::End(Ended::NotApproved(reason.into()))
}

/// That there is nobody to approve anything of.
pub(super) const NO_AGENT: &str = "no such agent";
