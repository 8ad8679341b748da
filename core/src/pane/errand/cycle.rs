//! `POST /agent-mode/cycle`: what Shift+Tab does in Claude Code, and the mode that it shows then.

use alloc::format;
use alloc::string::String;

use super::{Ended, Seen, Shown, Step, View};
use crate::limits::MODE_LOOKS;
use crate::screen::ScreenKind;

#[derive(Debug, Default)]
pub(super) struct Cycle {
    before: Option<String>,
    looks: u32,
}

impl Cycle {
    pub(super) fn next(&mut self, seen: Seen) -> Step {
        match seen {
            Seen::Begun | Seen::Granted(_) => Step::Look,
            Seen::NoAgent => refused(404, "no such agent"),
            Seen::Agent(view) => self.looked(&view),
            Seen::Typed => Step::Rest,
            Seen::Rested => Step::Read,
            Seen::Screen(shown) => self.read(shown),
        }
    }

    fn looked(&mut self, view: &View) -> Step {
        let kind = &view.agent.kind_label;
        if ScreenKind::from_label(kind) != Some(ScreenKind::Claude) {
            return refused(409, &format!("mode switching not supported for this agent kind: {kind}"));
        }
        match &view.shown {
            // In some dialogs the same key is an answer.
            Ok(shown) if shown.dialog.is_some() || view.is_blocked() => refused(409, ASKS),
            Ok(shown) => {
                self.before.clone_from(&shown.mode);
                Step::Type(SHIFT_TAB.into())
            }
            Err(why) => refused(502, why),
        }
    }

    fn read(&mut self, shown: Shown) -> Step {
        self.looks = self.looks.saturating_add(1);
        if shown.mode.is_some() && shown.mode != self.before {
            return Step::End(Ended::Cycled(shown.mode));
        }
        if self.looks < MODE_LOOKS { Step::Rest } else { Step::End(Ended::NotCycled(shown.mode)) }
    }
}

fn refused(status: u16, text: &str) -> Step {
    Step::End(Ended::Refused(status, text.into()))
}

/// What a terminal sends for Shift+Tab. herdr types it as it is, in every version.
const SHIFT_TAB: &str = "\u{1b}[Z";

const ASKS: &str = "the agent waits on a question: answer it before you change its mode";
