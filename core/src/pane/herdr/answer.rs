//! What an answer of herdr means, whichever way it came.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};

use serde_json::Value;

use super::agent::PaneAgent;
use super::occupant::Occupant;
use super::{Question, Reply};
use crate::limits;

/// For an answer that is not what the question calls for.
pub(super) const UNEXPECTED: &str = "unexpected answer";

/// What an answer comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is the reply.
    Reply(Reply),
    /// There is no such agent. That is final.
    NoSuchAgent,
    /// herdr refused or failed, in its own words. That is final.
    Failed(String),
    /// What was asked for may have been done, or not.
    Unknown(String),
    /// Nothing was learned about the question, and nothing was done. The other way may know more.
    OtherWay(Option<String>),
}

/// An answer line of the socket.
pub(super) fn of_socket(question: &Question, line: &[u8]) -> Verdict {
    let unexpected = || match question.types() {
        true => Verdict::Unknown(UNEXPECTED.to_string()),
        false => Verdict::OtherWay(Some(UNEXPECTED.to_string())),
    };
    let Some(answer) = object(line) else { return unexpected() };
    match error_of(&answer) {
        Some(error) if error.is_no_such_agent() => Verdict::NoSuchAgent,
        Some(error) if question.types() && error.code == "timeout" => Verdict::Unknown(error.text()),
        // The server is older or newer than what we speak; its own command line speaks what it speaks.
        Some(error) if error.code == "invalid_request" => Verdict::OtherWay(Some(error.text())),
        Some(error) => Verdict::Failed(error.text()),
        None => reply_to(question, &answer).map_or_else(unexpected, Verdict::Reply),
    }
}

/// The output of the command line. Some versions report an error on standard output and exit with 0, so what was said
/// counts before how it ended.
pub(super) fn of_cli(question: &Question, exit: Option<i32>, stdout: &[u8], stderr: &[u8]) -> Verdict {
    let answer = object(stdout);
    if let Some(error) = answer.as_ref().and_then(error_of) {
        return if error.is_no_such_agent() { Verdict::NoSuchAgent } else { Verdict::Failed(error.text()) };
    }
    if question.types() {
        return of_typing(exit, stderr);
    }
    if exit == Some(0) && matches!(question, Question::Screen(..) | Question::Rows(..)) {
        return Verdict::Reply(Reply::Screen(String::from_utf8_lossy(stdout).into_owned()));
    }
    if exit == Some(0) {
        return answer
            .and_then(|answer| reply_to(question, &answer))
            .map_or_else(|| Verdict::Failed(UNEXPECTED.to_string()), Verdict::Reply);
    }
    if errors_in(stderr).any(|error| error == Complaint::NoSuchAgent) {
        return Verdict::NoSuchAgent;
    }
    Verdict::Failed(complaint(exit, stderr))
}

/// Of typing the command line says nothing if all is well. Where herdr said why not, nothing was typed; where something else
/// went wrong, nobody knows.
fn of_typing(exit: Option<i32>, stderr: &[u8]) -> Verdict {
    const USAGE: i32 = 2;
    match (exit, errors_in(stderr).last()) {
        (Some(0), _) => Verdict::Reply(Reply::Done),
        (_, Some(Complaint::NoSuchAgent)) => Verdict::NoSuchAgent,
        (Some(USAGE), _) | (_, Some(Complaint::Refused)) => Verdict::Failed(complaint(exit, stderr)),
        (_, Some(Complaint::TimedOut) | None) => Verdict::Unknown(complaint(exit, stderr)),
    }
}

/// What a line of the command line's errors comes to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Complaint {
    NoSuchAgent,
    TimedOut,
    Refused,
}

fn errors_in(stderr: &[u8]) -> impl Iterator<Item = Complaint> {
    stderr.split(|byte| *byte == b'\n').filter_map(object).filter_map(|answer| {
        let error = error_of(&answer)?;
        Some(match error.code {
            _ if error.is_no_such_agent() => Complaint::NoSuchAgent,
            "timeout" => Complaint::TimedOut,
            _ => Complaint::Refused,
        })
    })
}

/// Its errors in its own words.
fn complaint(exit: Option<i32>, stderr: &[u8]) -> String {
    let stderr = String::from_utf8_lossy(stderr);
    match (stderr.trim(), exit) {
        ("", Some(code)) => format!("exit status {code}"),
        ("", None) => "ended by a signal".to_string(),
        (said, _) => said.to_string(),
    }
}

/// A text for an error body: bounded, and without the control characters that a terminal would obey.
pub(super) fn shortened(text: &str) -> String {
    let mut short: String = text
        .trim()
        .chars()
        .map(|c| if c.is_control() && c != '\n' { ' ' } else { c })
        .take(limits::HERDR_ERROR_CHARS)
        .collect();
    if text.trim().chars().nth(limits::HERDR_ERROR_CHARS).is_some() {
        short.push('…');
    }
    short
}

struct ErrorOf<'a> {
    code: &'a str,
    message: &'a str,
}

impl ErrorOf<'_> {
    fn is_no_such_agent(&self) -> bool {
        matches!(self.code, "agent_not_found" | "pane_not_found")
    }

    fn text(&self) -> String {
        let text = [self.message, self.code].into_iter().find(|text| !text.trim().is_empty());
        text.unwrap_or("unknown error").to_string()
    }
}

fn error_of(answer: &Value) -> Option<ErrorOf<'_>> {
    let error = answer.get("error").filter(|error| !error.is_null())?;
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    Some(ErrorOf { code: text("code"), message: text("message") })
}

fn reply_to(question: &Question, answer: &Value) -> Option<Reply> {
    let result = answer.get("result")?;
    match question {
        Question::Agent(pane) => {
            PaneAgent::from_value(result.get("agent")?, Some(pane)).map(Box::new).map(Reply::Agent)
        }
        Question::Occupant(_) => Occupant::from_value(result.get("pane")?).map(Reply::Occupant),
        Question::Snapshot(_) => result.get("snapshot")?.as_object().cloned().map(Reply::Snapshot),
        Question::Agents(_) => {
            let agents = result.get("agents")?.as_array()?;
            let agents = agents.iter().filter_map(|agent| PaneAgent::from_value(agent, None));
            let mut panes = BTreeSet::new();
            Some(Reply::Agents(agents.filter(|agent| panes.insert(agent.pane.clone())).collect()))
        }
        Question::Type(..) | Question::Press(..) => Some(Reply::Done),
        Question::Screen(..) | Question::Rows(..) => {
            result.get("read")?.get("text")?.as_str().map(|text| Reply::Screen(text.to_string()))
        }
    }
}

fn object(bytes: &[u8]) -> Option<Value> {
    let text: Cow<'_, str> = String::from_utf8_lossy(bytes);
    serde_json::from_str(text.trim()).ok().filter(Value::is_object)
}
