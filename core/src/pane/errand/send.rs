//! `POST /send`: a text, a key, or the answer to a question.
//!
//! ```text
//!   a key, a text without Enter ──▶ typed
//!   a text with Enter ──▶ look ┬─ nothing is asked ──▶ typed ──▶ rest, read ── still nothing ──▶ Enter
//!                              ├─ it picks an option ──▶ digit or arrows ──▶ rest, read ── the same question,
//!                              │                                              the option marked ──▶ Enter
//!                              └─ it picks none ──▶ refused, unless the question is one to talk about
//! ```
//!
//! Whoever names the question he answers is refused where it is not the one that is asked.

use alloc::string::{String, ToString as _};
use alloc::vec;

use super::pick::{self, Way};
use super::{ANOTHER_QUESTION, Ended, NO_QUESTION, Seen, Shown, Step, View, enter};
use crate::http::{SendCall, Typed};
use crate::limits::ANSWER_LOOKS;
use crate::screen::{Category, Dialog, ScreenKind};

#[derive(Debug)]
pub(super) struct Send {
    typed: Typed,
    question: Option<String>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Beginning,
    /// Nothing follows what is being typed.
    Last,
    /// Enter follows at once: there is no agent that could ask anything.
    ThenEnter,
    /// Enter follows unless a question came up: this one was asked before.
    IfNothingNew(Option<String>),
    /// Enter follows if the choice is marked.
    Picking(Picking),
}

/// A choice that is being picked.
#[derive(Debug)]
struct Picking {
    fingerprint: String,
    at: usize,
    was_marked: bool,
    was_checked: Option<bool>,
    by_digit: bool,
    looks: u32,
}

impl Send {
    pub(super) fn new(call: SendCall) -> Self {
        Self { typed: call.typed, question: call.question, stage: Stage::Beginning }
    }

    pub(super) fn next(&mut self, seen: Seen) -> Step {
        match seen {
            Seen::Begun if self.must_look() => Step::Look,
            Seen::Begun => self.type_then(Stage::ThenEnter),
            Seen::NoAgent if self.question.is_some() => Step::End(Ended::Refused(404, "no such agent".into())),
            // A pane without an agent is typed into as well. If there is none, herdr says so.
            Seen::NoAgent => self.type_then(Stage::ThenEnter),
            Seen::Agent(view) => self.looked(&view),
            Seen::Typed => match self.stage {
                Stage::ThenEnter => self.press_enter(),
                Stage::IfNothingNew(_) | Stage::Picking(_) => Step::Rest,
                Stage::Beginning | Stage::Last => Step::End(Ended::Sent),
            },
            Seen::Rested => Step::Read,
            Seen::Screen(shown) => self.read(&shown),
            Seen::Granted(_) => Step::End(Ended::Sent),
        }
    }

    /// A question decides what Enter does behind a text. A bare key, and Enter alone, do what they do.
    fn must_look(&self) -> bool {
        let (content, has_enter) = self.parts();
        self.question.is_some() || has_enter && !content.is_empty()
    }

    /// What is typed, and whether Enter follows it.
    fn parts(&self) -> (&str, bool) {
        match &self.typed {
            Typed::Key(_) => ("", false),
            Typed::Text(text) => {
                let content = text.trim_end_matches(['\r', '\n']);
                (content, content.len() < text.len())
            }
        }
    }

    fn type_then(&mut self, then: Stage) -> Step {
        let (content, has_enter) = self.parts();
        let content = content.to_string();
        if let Typed::Key(key) = &self.typed {
            let key = pick::key_name(key);
            self.stage = Stage::Last;
            return Step::Press(vec![key]);
        }
        if content.is_empty() {
            return self.press_enter();
        }
        self.stage = if has_enter { then } else { Stage::Last };
        Step::Type(content)
    }

    fn press_enter(&mut self) -> Step {
        self.stage = Stage::Last;
        enter()
    }

    fn looked(&mut self, view: &View) -> Step {
        let shown = match &view.shown {
            Ok(shown) => shown,
            Err(why) if self.question.is_some() || view.is_blocked() => {
                return Step::End(Ended::Refused(502, why.clone()));
            }
            Err(_) => return self.type_then(Stage::IfNothingNew(None)),
        };
        if let Some(question) = &self.question
            && shown.fingerprint().as_ref() != Some(question)
        {
            let text = if shown.dialog.is_some() { ANOTHER_QUESTION } else { NO_QUESTION };
            return refused(text);
        }
        let dialog = shown.dialog.as_ref();
        let asked = dialog.map(|dialog| dialog.question.clone());
        match (dialog.filter(|_| view.is_blocked()), self.parts()) {
            (Some(dialog), (content, true)) if !content.is_empty() => match pick::choice(dialog, content) {
                Some(at) => self.pick(ScreenKind::from_label(&view.agent.kind_label), dialog, at),
                None if self.question.is_some() || dialog.category == Some(Category::Question) => {
                    self.type_then(Stage::IfNothingNew(asked))
                }
                None => refused(NO_OPTION),
            },
            _ => self.type_then(Stage::IfNothingNew(asked)),
        }
    }

    fn pick(&mut self, kind: Option<ScreenKind>, dialog: &Dialog, at: usize) -> Step {
        let Some((choice, way)) =
            dialog.options.get(at).and_then(|choice| Some((choice, pick::way(kind?, dialog, at)?)))
        else {
            return refused(NO_MARK);
        };
        let picking = Picking {
            fingerprint: dialog.fingerprint(),
            at,
            was_marked: choice.selected,
            was_checked: choice.checked,
            by_digit: matches!(way, Way::Digit(_)),
            looks: 0,
        };
        self.stage = Stage::Picking(picking);
        match way {
            Way::Digit(digit) => Step::Type(digit),
            Way::Key(key) => {
                self.stage = Stage::Last;
                Step::Press(vec![key])
            }
            // It is marked already: all that is left is the look right before Enter.
            Way::Arrows(keys) if keys.is_empty() => Step::Read,
            Way::Arrows(keys) => Step::Press(keys),
        }
    }

    /// The screen right before Enter.
    fn read(&mut self, shown: &Shown) -> Step {
        let verdict = match &mut self.stage {
            Stage::Picking(picking) => picking.judge(shown),
            Stage::IfNothingNew(asked) if shown.dialog.as_ref().map(|dialog| &dialog.question) == asked.as_ref() => {
                Verdict::Enter
            }
            // It has gone, so that nothing can be answered by mistake.
            Stage::IfNothingNew(_) if shown.dialog.is_none() => Verdict::Enter,
            Stage::IfNothingNew(_) => Verdict::Refuse(CAME_UP),
            Stage::Beginning | Stage::Last | Stage::ThenEnter => Verdict::Done,
        };
        match verdict {
            Verdict::Enter => self.press_enter(),
            Verdict::Wait => Step::Rest,
            Verdict::Done => Step::End(Ended::Sent),
            Verdict::Refuse(text) => refused(text),
        }
    }
}

enum Verdict {
    Enter,
    Wait,
    /// The digit alone was the answer.
    Done,
    Refuse(&'static str),
}

impl Picking {
    fn judge(&mut self, shown: &Shown) -> Verdict {
        self.looks = self.looks.saturating_add(1);
        let same = shown.dialog.as_ref().filter(|dialog| dialog.fingerprint() == self.fingerprint);
        let Some((dialog, choice)) = same.and_then(|dialog| Some((dialog, dialog.options.get(self.at)?))) else {
            return if self.by_digit { Verdict::Done } else { Verdict::Refuse(CHANGED) };
        };
        let is_over = self.looks >= ANSWER_LOOKS;
        if !self.by_digit {
            return match (choice.selected, is_over) {
                (true, _) => Verdict::Enter,
                (false, false) => Verdict::Wait,
                (false, true) => Verdict::Refuse(NOT_MARKED),
            };
        }
        // A digit that only ticks has done all that was wanted: Enter would take the tick away.
        if choice.checked != self.was_checked {
            return Verdict::Done;
        }
        let has_moved = choice.selected && !self.was_marked;
        let may_be_marked = choice.selected || dialog.options.iter().all(|choice| !choice.selected);
        match (has_moved, is_over) {
            (true, _) => Verdict::Enter,
            (false, false) => Verdict::Wait,
            (false, true) if may_be_marked => Verdict::Enter,
            (false, true) => Verdict::Refuse(NOT_TAKEN),
        }
    }
}

fn refused(text: &str) -> Step {
    Step::End(Ended::Refused(409, text.into()))
}

const NO_OPTION: &str = "the agent waits on a question and this is none of its options: \
    send the number or the label of one, or the question's fingerprint as `question` to type it all the same";

const NO_MARK: &str = "which option is marked cannot be seen, so none can be picked: nothing was typed";

const CAME_UP: &str = "a question came up: the text was typed and Enter was not pressed";

const CHANGED: &str = "the agent asks another question by now: Enter was not pressed";

const NOT_MARKED: &str = "the option could not be marked: Enter was not pressed";

const NOT_TAKEN: &str = "the digit was typed and the agent did not take it: Enter was not pressed";
