//! The last steps, told in a line each where a rule was broken.

use std::collections::VecDeque;

use panewire_core::io::{Frame, Input, Op, Outcome, Output};

/// Steps that are remembered.
const STEPS: usize = 80;
/// Bytes of a text that are told.
const TOLD: usize = 160;

/// What happened last.
#[derive(Debug, Default)]
pub(super) struct Story {
    steps: VecDeque<String>,
    untold: bool,
}

impl Story {
    /// A story that nobody wants to hear.
    pub(super) const fn untold() -> Self {
        Self { steps: VecDeque::new(), untold: true }
    }

    pub(super) fn input(&mut self, at_millis: u64, input: &Input<'_>) {
        if self.untold {
            return;
        }
        let told = match input {
            Input::Outcome(op, Outcome::Bytes { bytes, size_now }, _) => {
                format!("{op:?} read {} bytes of a file of {size_now}", bytes.len())
            }
            Input::Outcome(op, Outcome::Answer(line), _) => format!("{op:?} answered {}", text(line)),
            Input::Outcome(op, Outcome::Ran { exit, stdout, stderr }, _) => {
                format!("{op:?} ran, exit {exit:?}: {} {}", text(stdout), text(stderr))
            }
            Input::Request(ex, request) => format!("{ex:?} {} {}", request.method, request.target),
            other => format!("{other:?}"),
        };
        self.tell(format!("{at_millis} ms  {}", text(told.as_bytes())));
    }

    pub(super) fn output(&mut self, output: &Output) {
        if self.untold {
            return;
        }
        let told = match output {
            Output::Send(ex, Frame::Text(frame) | Frame::Body(frame)) => format!("{ex:?} {}", text(frame)),
            Output::Op(op, Op::Call { line, within, .. }) => format!("{op:?} call {} within {within:?}", text(line)),
            Output::Op(op, Op::Write { path, bytes } | Op::Append { path, bytes }) => {
                format!("{op:?} write {} bytes to {path}", bytes.len())
            }
            other => format!("{other:?}"),
        };
        self.tell(format!("    -> {told}"));
    }

    pub(super) fn whole(&self) -> String {
        Vec::from_iter(self.steps.iter().map(String::as_str)).join("\n")
    }

    fn tell(&mut self, step: String) {
        if self.steps.len() == STEPS {
            self.steps.pop_front();
        }
        self.steps.push_back(step);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..TOLD).unwrap_or(bytes)).trim_end().to_owned()
}
