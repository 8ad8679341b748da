//! herdr in virtual time.

use core::time::Duration;

use panewire_core::io::{FailureKind, Op};

use crate::herdr::{Desk, Mode, Pane, Typed, answer};
use crate::sim::config::{HERDR_PROGRAM, HERDR_SESSIONS, HERDR_SOCKET};
use crate::sim::disk::Performed;
use crate::sim::reply::Reply;

/// A herdr that answers questions over its socket and as a program, as quickly and as well as the scenario says.
#[derive(Debug)]
pub struct Herdr {
    /// Its panes, and how it behaves.
    pub desk: Desk,
    /// How long an answer of its socket takes.
    pub socket_latency: Duration,
    /// How long a run of its program takes.
    pub cli_latency: Duration,
    /// Whether it tells what happens to those who ask for it; older ones do not.
    pub tells: bool,
    /// Whether its program is installed.
    pub installed: bool,
    questions: Vec<String>,
}

impl Herdr {
    /// A herdr without panes that answers on both ways at once.
    #[must_use]
    pub fn new() -> Self {
        let (socket_latency, cli_latency) = (Duration::ZERO, Duration::ZERO);
        Self { desk: Desk::default(), socket_latency, cli_latency, tells: true, installed: true, questions: Vec::new() }
    }

    /// Opens a pane.
    pub fn open(&mut self, pane: Pane) {
        self.desk.panes.push(pane);
    }

    /// Closes a pane.
    pub fn close(&mut self, pane_id: &str) {
        self.desk.panes.retain(|pane| pane.pane_id != pane_id);
    }

    /// A pane, to change it.
    pub fn pane(&mut self, pane_id: &str) -> Option<&mut Pane> {
        self.desk.panes.iter_mut().find(|pane| pane.pane_id == pane_id)
    }

    /// The agent of a pane reports another session.
    pub fn rotate(&mut self, pane_id: &str, session: &str) {
        if let Some(pane) = self.pane(pane_id) {
            pane.set_session(session);
        }
    }

    /// How both ways behave from now on.
    pub fn set_mode(&mut self, mode: Mode) {
        self.desk.socket = mode.clone();
        self.desk.cli = mode;
    }

    /// The server is stopped and started: panes and sessions stay, every terminal is another one, counters begin again.
    pub fn restart(&mut self) {
        for pane in &mut self.desk.panes {
            pane.terminal_id.push('a');
            pane.state_change_seq = 0;
        }
    }

    /// What was asked since this was asked for last: `socket agent.get w1:p1`, `cli agent get w1:p1`.
    pub fn take_questions(&mut self) -> Vec<String> {
        core::mem::take(&mut self.questions)
    }

    /// Performs an operation; `None` if it is none for herdr.
    pub fn perform(&mut self, op: &Op) -> Option<Performed> {
        match op {
            Op::Call { socket, line, within, answer_cap } => Some(self.call(socket, line, *within, *answer_cap)),
            Op::Run { argv, within, output_cap } => Some(self.run(argv, *within, *output_cap)),
            _ => None,
        }
    }

    fn call(&mut self, socket: &str, line: &[u8], within: Duration, answer_cap: usize) -> Performed {
        let line = String::from_utf8_lossy(line);
        self.questions.push(format!("socket {}", question(&line)));
        let Some(desk) = self.behind(socket).filter(|desk| desk.socket != Mode::NoServer) else {
            return at_once(Reply::failed(FailureKind::NotFound));
        };
        let Some(whole) = line.strip_suffix('\n') else {
            return timed_out(within);
        };
        let reply = match answer::to_line(desk, whole) {
            Some(answer) if answer.len() > answer_cap => Reply::failed(FailureKind::TooLarge),
            Some(answer) => Reply::Answer(answer.into_bytes()),
            None if matches!(desk.socket, Mode::Wedged | Mode::Silent) => Reply::failed(FailureKind::TimedOut),
            None => Reply::failed(FailureKind::Lost),
        };
        let typed = Typed::by_line(desk, whole);
        if let (Some(typed), Some(desk)) = (typed, self.behind_mut(socket)) {
            desk.take(typed);
        }
        if reply == Reply::failed(FailureKind::TimedOut) {
            return timed_out(within);
        }
        in_time(reply, self.socket_latency, within)
    }

    /// Takes the request of somebody who wants to listen: its first line, or why there is none.
    pub(super) fn subscribe(&self, socket: &str, line: &[u8], within: Duration) -> Performed {
        let Some(desk) = self.behind(socket).filter(|desk| desk.socket != Mode::NoServer) else {
            return at_once(Reply::failed(FailureKind::NotFound));
        };
        if !self.tells {
            let refused =
                r#"{"id":"","error":{"code":"invalid_request","message":"unknown variant `events.subscribe`"}}"#;
            return at_once(Reply::Answer(refused.into()));
        }
        match answer::to_line(desk, String::from_utf8_lossy(line).trim_end()) {
            Some(answer) => at_once(Reply::Answer(answer.into_bytes())),
            None if matches!(desk.socket, Mode::Wedged | Mode::Silent) => timed_out(within),
            None => at_once(Reply::failed(FailureKind::Lost)),
        }
    }

    /// The server that listens on this socket.
    fn behind(&self, socket: &str) -> Option<&Desk> {
        if socket == HERDR_SOCKET {
            return Some(&self.desk);
        }
        let name = socket.strip_prefix(HERDR_SESSIONS)?.strip_prefix('/')?.strip_suffix("/herdr.sock")?;
        self.desk.sessions.get(name)
    }

    fn behind_mut(&mut self, socket: &str) -> Option<&mut Desk> {
        if socket == HERDR_SOCKET {
            return Some(&mut self.desk);
        }
        let name = socket.strip_prefix(HERDR_SESSIONS)?.strip_prefix('/')?.strip_suffix("/herdr.sock")?;
        self.desk.sessions.get_mut(name)
    }

    fn run(&mut self, argv: &[String], within: Duration, output_cap: usize) -> Performed {
        let arguments: Vec<&str> = argv.iter().skip(1).map(String::as_str).collect();
        self.questions.push(format!("cli {}", arguments.join(" ")));
        if !self.installed || argv.first().map(String::as_str) != Some(HERDR_PROGRAM) {
            return at_once(Reply::failed(FailureKind::NotFound));
        }
        let spoken = answer::to_command(&self.desk, &arguments, HERDR_SOCKET);
        if let Some((session, typed)) = Typed::by_command(&self.desk, &arguments)
            && let Some(desk) = self.desk.of_session(session)
        {
            desk.take(typed);
        }
        let Some(spoken) = spoken else {
            return timed_out(within);
        };
        let capped = |text: String| text.into_bytes().into_iter().take(output_cap).collect();
        let reply =
            Reply::Ran { exit: Some(spoken.exit), stdout: capped(spoken.stdout), stderr: capped(spoken.stderr) };
        in_time(reply, self.cli_latency, within)
    }
}

impl Default for Herdr {
    fn default() -> Self {
        Self::new()
    }
}

/// `agent.get w1:p1` for a whole question; the line itself for anything else.
fn question(line: &str) -> String {
    let asked: Option<(String, String)> = serde_json::from_str::<serde_json::Value>(line).ok().and_then(|value| {
        let method = value.get("method")?.as_str()?.to_owned();
        let params = value.get("params")?;
        let target = params.get("target").or_else(|| params.get("pane_id")).and_then(|target| target.as_str());
        Some((method, target.unwrap_or_default().to_owned()))
    });
    match asked {
        Some((method, target)) => format!("{method} {target}").trim_end().to_owned(),
        None => line.to_owned(),
    }
}

const fn at_once(reply: Reply) -> Performed {
    Performed { reply, after: Duration::ZERO }
}

fn timed_out(within: Duration) -> Performed {
    Performed { reply: Reply::failed(FailureKind::TimedOut), after: within }
}

fn in_time(reply: Reply, latency: Duration, within: Duration) -> Performed {
    if latency > within { timed_out(within) } else { Performed { reply, after: latency } }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn call(herdr: &mut Herdr, line: &'static str) -> Performed {
        let op = Op::Call {
            socket: HERDR_SOCKET.into(),
            line: Bytes::from_static(line.as_bytes()),
            within: Duration::from_secs(2),
            answer_cap: 4096,
        };
        herdr.perform(&op).unwrap()
    }

    fn run(herdr: &mut Herdr, arguments: &[&str]) -> Performed {
        let argv = [HERDR_PROGRAM].iter().chain(arguments).map(|&word| word.to_owned()).collect();
        herdr.perform(&Op::Run { argv, within: Duration::from_secs(4), output_cap: 4096 }).unwrap()
    }

    const GET: &str = "{\"id\":\"1\",\"method\":\"agent.get\",\"params\":{\"target\":\"w1:p1\"}}\n";

    #[test]
    fn both_ways_know_the_same_pane() {
        let mut herdr = Herdr::new();
        herdr.open(Pane::claude("w1:p1", "/srv/x").with_session("s-1"));
        herdr.socket_latency = Duration::from_millis(3);
        let Performed { reply: Reply::Answer(line), after } = call(&mut herdr, GET) else { panic!() };
        assert_eq!(after, Duration::from_millis(3));
        assert!(String::from_utf8(line).unwrap().contains(r#""kind":"id","value":"s-1""#));
        let Performed { reply: Reply::Ran { exit, stdout, .. }, .. } = run(&mut herdr, &["agent", "get", "w1:p1"])
        else {
            panic!()
        };
        assert_eq!(exit, Some(0));
        assert!(String::from_utf8(stdout).unwrap().contains(r#""value":"s-1""#));
        assert_eq!(herdr.take_questions(), ["socket agent.get w1:p1", "cli agent get w1:p1"]);
    }

    #[test]
    fn a_wedged_or_slow_herdr_times_out_when_its_time_is_over() {
        let mut herdr = Herdr::new();
        herdr.cli_latency = Duration::from_secs(9);
        assert_eq!(run(&mut herdr, &["agent", "list"]), timed_out(Duration::from_secs(4)));
        herdr.set_mode(Mode::Wedged);
        assert_eq!(call(&mut herdr, GET), timed_out(Duration::from_secs(2)));
        assert_eq!(run(&mut herdr, &["agent", "list"]), timed_out(Duration::from_secs(4)));
    }

    #[test]
    fn no_server_and_no_program_are_not_found() {
        let mut herdr = Herdr::new();
        herdr.set_mode(Mode::NoServer);
        assert_eq!(call(&mut herdr, GET), at_once(Reply::failed(FailureKind::NotFound)));
        let Reply::Ran { exit: Some(1), .. } = run(&mut herdr, &["agent", "list"]).reply else { panic!() };
        herdr.installed = false;
        assert_eq!(run(&mut herdr, &["agent", "list"]), at_once(Reply::failed(FailureKind::NotFound)));
        herdr.set_mode(Mode::Broken("Error: EmptyResponse".into()));
        assert_eq!(call(&mut herdr, GET), at_once(Reply::failed(FailureKind::Lost)));
    }

    #[test]
    fn a_restart_changes_the_terminal_and_nothing_else_that_counts() {
        let mut herdr = Herdr::new();
        herdr.open(Pane::claude("w1:p1", "/srv/x").with_session("s-1"));
        let before = herdr.pane("w1:p1").unwrap().clone();
        herdr.restart();
        let after = herdr.pane("w1:p1").unwrap();
        assert_ne!(after.terminal_id, before.terminal_id);
        assert_eq!(after.agent_session, before.agent_session);
    }
}
