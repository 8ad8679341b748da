//! Questions and answers, over the socket and on the command line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::typing::Order;
use super::{Desk, Mode, Pane, snapshot};

/// An error in herdr's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// `agent_not_found`, `protocol_mismatch`, …
    pub code: String,
    /// What a person reads.
    pub message: String,
}

/// What a run of the command leaves behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// Its exit code.
    pub exit: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

#[derive(Deserialize)]
struct Question {
    id: String,
    method: String,
    params: Params,
}

#[derive(Deserialize)]
struct Params {
    target: Option<String>,
    pane_id: Option<String>,
    source: Option<String>,
    format: Option<String>,
    lines: Option<usize>,
}

#[derive(Serialize)]
struct Answer<T> {
    id: String,
    result: T,
}

#[derive(Serialize)]
struct ErrorAnswer {
    id: String,
    error: Failing,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Found<'a> {
    AgentInfo { agent: &'a Pane },
    AgentList { agents: Vec<&'a Pane> },
    SessionSnapshot { snapshot: Value },
    PaneInfo { pane: Value },
    PaneRead { read: Read<'a> },
    Ok,
    SubscriptionStarted,
    Pong { version: &'static str, protocol: u32, capabilities: Capabilities },
}

#[derive(Serialize)]
struct Read<'a> {
    pane_id: &'a str,
    workspace_id: &'a str,
    tab_id: &'a str,
    source: &'a str,
    format: &'a str,
    text: String,
    revision: u64,
    truncated: bool,
}

#[derive(Serialize)]
struct Capabilities {
    live_handoff: bool,
    detached_server_daemon: bool,
}

/// The version that it says it has.
pub const VERSION: &str = "0.8.2";

/// The wire protocol of that version.
pub const PROTOCOL: u32 = 20;

/// The line that the socket answers to this line, without newlines; `None` if it closes without a word, or never answers:
/// [`Desk::socket`] says which.
#[must_use]
pub fn to_line(desk: &Desk, line: &str) -> Option<String> {
    let question = serde_json::from_str::<Question>(line);
    match &desk.socket {
        Mode::Normal => {}
        Mode::Failing(error) => {
            let id = question.map(|question| question.id).unwrap_or_default();
            return written(&ErrorAnswer { id, error: error.clone() });
        }
        Mode::Wedged | Mode::Silent | Mode::NoServer | Mode::Broken(_) => return None,
    }
    if line.is_empty() {
        return None;
    }
    match question {
        Ok(Question { id, method, params }) => match found(desk, line, &method, &Asked::of(&params)) {
            Ok(result) => written(&Answer { id, result }),
            Err(error) => {
                let id = if error.code == "invalid_request" { String::new() } else { id };
                written(&ErrorAnswer { id, error })
            }
        },
        Err(error) => written(&ErrorAnswer { id: String::new(), error: invalid(&error.to_string()) }),
    }
}

/// What the command does with these arguments; `None` if it never ends. `socket` is the path it names in messages.
#[must_use]
pub fn to_command(desk: &Desk, arguments: &[&str], socket: &str) -> Option<Spoken> {
    let mut asked = Asked::default();
    let (name, method) = match arguments {
        ["--session", session, rest @ ..] => {
            let stopped = Desk { cli: Mode::NoServer, ..Desk::default() };
            let base = socket.rsplit_once('/').map_or("", |(base, _)| base);
            let socket = format!("{base}/sessions/{session}/herdr.sock");
            return to_command(desk.sessions.get(*session).unwrap_or(&stopped), rest, &socket);
        }
        ["--version"] => return Some(said(&format!("herdr {VERSION}\n"))),
        ["agent", "get", "--help"] => {
            return Some(said("Show an agent\n\nUsage: herdr agent get <target>\n\nArguments:\n  <target>\n\n"));
        }
        ["agent", "get", target] if !target.starts_with('-') => {
            asked.target = Some(*target);
            ("cli:agent:get", "agent.get")
        }
        ["agent", "read", target, "--source", source, "--format", format] => {
            asked = Asked { target: Some(*target), source: Some(*source), format: Some(*format), lines: None };
            ("cli:agent:read", "agent.read")
        }
        ["pane", "get", target] if !target.starts_with('-') => {
            asked.target = Some(*target);
            ("cli:pane:get", "pane.get")
        }
        ["pane", "read", target, "--source", source, "--format", format, lines @ ..] => {
            let lines = match lines {
                [] => None,
                ["--lines", lines] if lines.parse::<usize>().is_ok() => lines.parse().ok(),
                _ => return Some(refused(2, "usage: herdr pane read <pane> [--lines N]\n")),
            };
            asked = Asked { target: Some(*target), source: Some(*source), format: Some(*format), lines };
            ("cli:pane:read", "pane.read")
        }
        ["agent", "get", ..] => return Some(refused(2, "usage: herdr agent get <target>\n")),
        ["pane", "send-text" | "send-keys", ..] | ["agent", "send-keys", ..] => ("cli:request", "pane.send_text"),
        ["agent", "list"] => ("cli:agent:list", "agent.list"),
        ["api", "snapshot"] => ("cli:api:snapshot", "session.snapshot"),
        [other, ..] => {
            return Some(refused(2, &format!("unknown command: {other}\nrun 'herdr --help' for usage\n")));
        }
        [] => return Some(refused(2, "run 'herdr --help' for usage\n")),
    };
    let found = match &desk.cli {
        Mode::Normal if name == "cli:request" => match Order::of_command(arguments) {
            Some(order) => order.typed(desk).map(|_| Found::Ok),
            None => return Some(refused(2, "usage: herdr pane send-text <pane> <text>\n")),
        },
        Mode::Normal => find(desk, method, &asked),
        Mode::Failing(error) => Err(error.clone()),
        Mode::Wedged | Mode::Silent => return None,
        Mode::Broken(stderr) => return Some(refused(1, &format!("{stderr}\n"))),
        Mode::NoServer => {
            let message = format!("no herdr server is running at {socket}; run `herdr` to start or attach it");
            let error = Failing { code: "server_not_running".into(), message };
            let line = written(&ErrorAnswer { id: name.into(), error }).unwrap_or_default();
            return Some(refused(1, &format!("{line}\n")));
        }
    };
    Some(match found {
        // Of a screen it prints the text alone.
        Ok(Found::PaneRead { read }) => said(&read.text),
        // Of what was typed it says nothing.
        Ok(Found::Ok) => said(""),
        Ok(result) => said(&format!("{}\n", sorted(&Answer { id: name.into(), result }))),
        Err(error) => refused(1, &format!("{}\n", sorted(&ErrorAnswer { id: name.into(), error }))),
    })
}

/// What a question is about.
#[derive(Default)]
struct Asked<'a> {
    target: Option<&'a str>,
    source: Option<&'a str>,
    format: Option<&'a str>,
    lines: Option<usize>,
}

impl<'a> Asked<'a> {
    fn of(params: &'a Params) -> Self {
        let Params { target, pane_id, source, format, lines } = params;
        let target = target.as_deref().or(pane_id.as_deref());
        Self { target, source: source.as_deref(), format: format.as_deref(), lines: *lines }
    }
}

/// What is found, or done: [`Typed::by_line`](super::Typed::by_line) says what was typed.
fn found<'a>(desk: &'a Desk, line: &str, method: &str, asked: &Asked<'a>) -> Result<Found<'a>, Failing> {
    match Order::of_line(line) {
        Some(order) => order.typed(desk).map(|_| Found::Ok),
        None => find(desk, method, asked),
    }
}

fn find<'a>(desk: &'a Desk, method: &str, asked: &Asked<'a>) -> Result<Found<'a>, Failing> {
    let agents = || desk.panes.iter().filter(|pane| pane.agent.is_some());
    match (method, asked.target) {
        ("ping", _) => Ok(Found::Pong {
            version: VERSION,
            protocol: PROTOCOL,
            capabilities: Capabilities { live_handoff: true, detached_server_daemon: false },
        }),
        ("events.subscribe", _) => Ok(Found::SubscriptionStarted),
        ("agent.list", _) => Ok(Found::AgentList { agents: agents().collect() }),
        ("session.snapshot", _) => Ok(Found::SessionSnapshot { snapshot: snapshot::of(desk) }),
        ("pane.get" | "pane.read", None) => Err(invalid("missing field `pane_id`")),
        ("pane.get" | "pane.read", Some(target)) => {
            let pane = desk.panes.iter().find(|pane| pane.pane_id == target).ok_or_else(|| Failing {
                code: "pane_not_found".into(),
                message: format!("pane {target} not found"),
            })?;
            match method {
                "pane.get" => Ok(Found::PaneInfo { pane: snapshot::as_pane(pane) }),
                _ => Ok(Found::PaneRead { read: read(desk, pane, asked)? }),
            }
        }
        ("agent.get" | "agent.read", None) => Err(invalid("missing field `target`")),
        ("agent.read", Some(target)) => {
            let pane = agents().find(|pane| pane.pane_id == target).ok_or_else(|| not_found(target))?;
            Ok(Found::PaneRead { read: read(desk, pane, asked)? })
        }
        ("agent.get", Some(target)) => agents()
            .find(|pane| pane.pane_id == target)
            .map(|agent| Found::AgentInfo { agent })
            .ok_or_else(|| not_found(target)),
        (other, _) => Err(invalid(&format!("unknown variant `{other}`, expected one of `ping`, `session.snapshot`"))),
    }
}

/// A screen is kept with its colours; only `visible` has them.
fn read<'a>(desk: &Desk, pane: &'a Pane, asked: &Asked<'a>) -> Result<Read<'a>, Failing> {
    let source = asked.source.ok_or_else(|| invalid("missing field `source`"))?;
    if !["visible", "recent", "recent_unwrapped", "detection"].contains(&source) {
        return Err(invalid(&format!("unknown variant `{source}`, expected one of `visible`, `recent`")));
    }
    let format = asked.format.unwrap_or("text");
    let coloured = format == "ansi" && source != "detection";
    let of = |texts: &BTreeMap<String, String>| texts.get(&pane.pane_id).cloned().unwrap_or_default();
    let is_recent = source.starts_with("recent");
    let above = if is_recent { of(&desk.scrollback) } else { String::new() };
    let screen = above + &of(&desk.screens);
    let rows = asked.lines.unwrap_or(if is_recent { RECENT_ROWS } else { MAX_ROWS }).min(MAX_ROWS);
    let cut = screen.split_inclusive('\n').count().saturating_sub(rows);
    let screen: String = screen.split_inclusive('\n').skip(cut).collect();
    let text = if coloured { screen.replace('\n', "\r\n") } else { plain(&screen) };
    let Pane { pane_id, workspace_id, tab_id, .. } = pane;
    Ok(Read { pane_id, workspace_id, tab_id, source, format, text, revision: 0, truncated: cut > 0 })
}

/// Rows of `recent` where nobody says how many, and the most of all.
const RECENT_ROWS: usize = 80;
const MAX_ROWS: usize = 1_000;

/// The text without its colours.
fn plain(screen: &str) -> String {
    let mut parts = screen.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or(part, |(_, rest)| rest))
}

fn not_found(target: &str) -> Failing {
    Failing { code: "agent_not_found".into(), message: format!("agent target {target} not found") }
}

fn invalid(why: &str) -> Failing {
    Failing { code: "invalid_request".into(), message: format!("invalid request: {why}") }
}

fn said(stdout: &str) -> Spoken {
    Spoken { exit: 0, stdout: stdout.into(), stderr: String::new() }
}

fn refused(exit: i32, stderr: &str) -> Spoken {
    Spoken { exit, stdout: String::new(), stderr: stderr.into() }
}

fn written(answer: &impl Serialize) -> Option<String> {
    serde_json::to_string(answer).ok()
}

/// The command line sorts the keys of what it prints.
fn sorted(answer: &impl Serialize) -> String {
    serde_json::to_value(answer).map(|value| value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the real herdr said; the desk is read back from its own answers.
    macro_rules! captured {
        ($file:literal) => {
            include_str!(concat!("../../data/herdr/", $file)).trim_end_matches('\n')
        };
    }

    fn desk() -> Desk {
        let list: Value = serde_json::from_str(captured!("socket-agent-list.response")).unwrap();
        let mut panes: Vec<Pane> = serde_json::from_value(list["result"]["agents"].clone()).unwrap();
        let shell = Pane { agent: None, ..Pane::claude("w1:p6", "/home/u/project") };
        panes.push(shell);
        Desk { panes, ..Desk::default() }
    }

    fn command(desk: &Desk, arguments: &[&str]) -> Spoken {
        to_command(desk, arguments, "/home/u/.config/herdr/herdr.sock").unwrap()
    }

    #[test]
    fn the_socket_answers_byte_for_byte_as_captured() {
        let desk = desk();
        for (request, response) in [
            (captured!("socket-agent-get.request"), captured!("socket-agent-get.response")),
            (captured!("socket-agent-list.request"), captured!("socket-agent-list.response")),
            (captured!("socket-ping.request"), captured!("socket-ping.response")),
        ] {
            assert_eq!(to_line(&desk, request).unwrap(), response);
        }
    }

    /// The order of members is not kept, and what a terminal scrolled and how a screen is laid out is not known.
    #[test]
    fn a_snapshot_says_what_was_captured() {
        let captured: Value = serde_json::from_str(captured!("socket-snapshot.response")).unwrap();
        let mut captured = captured["result"]["snapshot"].clone();
        captured["layouts"] = Value::Array(Vec::new());
        let mut panes: Vec<Pane> = serde_json::from_value(captured["agents"].clone()).unwrap();
        for pane in captured["panes"].as_array_mut().unwrap() {
            pane.as_object_mut().unwrap().remove("scroll");
            if pane["pane_id"] == "w1:p6" {
                let mut shell = pane.clone();
                shell["state_change_seq"] = 0.into();
                panes.push(serde_json::from_value(shell).unwrap());
            }
        }
        let desk = Desk { panes, ..Desk::default() };
        let answer: Value =
            serde_json::from_str(&to_line(&desk, captured!("socket-snapshot.request")).unwrap()).unwrap();
        assert_eq!(answer["result"]["snapshot"], captured);
    }

    #[test]
    fn the_command_answers_byte_for_byte_as_captured() {
        let desk = desk();
        let list = command(&desk, &["agent", "list"]);
        assert_eq!((list.stdout.trim_end(), list.exit), (captured!("cli-agent-list.stdout"), 0));
        let unknown = command(&desk, &["agent", "get", "w9:p9"]);
        assert_eq!((unknown.stderr.trim_end(), unknown.exit), (captured!("cli-agent-get-unknown-pane.stderr"), 1));
        let shell = command(&desk, &["agent", "get", "w1:p6"]);
        assert_eq!((shell.stderr.trim_end(), shell.exit), (captured!("cli-agent-get-plain-shell-pane.stderr"), 1));
        for arguments in [&["agent", "get"][..], &["agent", "get", "--json", "w1:p1"]] {
            let wrong = command(&desk, arguments);
            assert_eq!((wrong.stderr.trim_end(), wrong.exit), (captured!("cli-agent-get-missing-arg.stderr"), 2));
        }
        let unknown = command(&desk, &["frobnicate"]);
        assert_eq!((unknown.stderr.trim_end(), unknown.exit), (captured!("cli-unknown-command.stderr"), 2));
    }

    #[test]
    fn an_idle_pane_without_a_session_is_printed_as_captured() {
        let answer: Value = serde_json::from_str(captured!("cli-agent-get-idle.stdout")).unwrap();
        let pane: Pane = serde_json::from_value(answer["result"]["agent"].clone()).unwrap();
        assert_eq!(pane.agent_session, None);
        let desk = Desk { panes: vec![pane], ..Desk::default() };
        assert_eq!(
            command(&desk, &["agent", "get", "w1:p1"]).stdout.trim_end(),
            captured!("cli-agent-get-idle.stdout")
        );
    }

    #[test]
    fn without_a_server_the_command_says_so_as_captured() {
        let desk = Desk { cli: Mode::NoServer, ..desk() };
        let get = command(&desk, &["agent", "get", "w1:p1"]);
        assert_eq!((get.stderr.trim_end(), get.exit), (captured!("cli-no-server-agent-get.stderr"), 1));
        let list = command(&desk, &["agent", "list"]);
        assert_eq!((list.stderr.trim_end(), list.exit), (captured!("cli-no-server-agent-list.stderr"), 1));
    }

    #[test]
    fn a_screen_has_colours_only_where_a_person_looks() {
        let screens = [("w1:p1".into(), "\u{1b}[1;44mTea\u{1b}[0m\nis up\n".into())].into();
        let desk = Desk { panes: vec![Pane::claude("w1:p1", "/srv/x")], screens, ..Desk::default() };
        let ask = |source: &str, format: &str| {
            let line = format!(
                r#"{{"id":"q","method":"agent.read","params":{{"target":"w1:p1","source":"{source}","format":"{format}"}}}}"#
            );
            to_line(&desk, &line).unwrap()
        };
        let plain = concat!(
            r#"{"id":"q","result":{"type":"pane_read","read":{"pane_id":"w1:p1","workspace_id":"w1","tab_id":"w1:t1","#,
            r#""source":"detection","format":"text","text":"Tea\nis up\n","revision":0,"truncated":false}}}"#
        );
        assert_eq!(ask("detection", "text"), plain);
        assert!(ask("detection", "ansi").contains(r#""text":"Tea\nis up\n""#));
        assert!(ask("visible", "ansi").contains(r#""text":"\u001b[1;44mTea\u001b[0m\r\nis up\r\n""#));
        assert!(ask("everything", "text").contains("invalid_request"));
        let words = ["agent", "read", "w1:p1", "--source", "detection", "--format", "text"];
        assert_eq!(command(&desk, &words), said("Tea\nis up\n"));
        assert_eq!(command(&desk, &["agent", "read", "w9:p9", "--source", "visible", "--format", "text"]).exit, 1);
    }

    #[test]
    fn of_a_long_text_the_last_rows_are_read() {
        let text = |rows: core::ops::Range<u32>| rows.map(|n| format!("{n}\n")).collect::<String>();
        let desk = Desk {
            panes: vec![Pane::claude("w1:p1", "/srv/x")],
            scrollback: [("w1:p1".into(), text(0..1_200))].into(),
            screens: [("w1:p1".into(), text(1_200..1_240))].into(),
            ..Desk::default()
        };
        let words = ["pane", "read", "w1:p1", "--source", "recent", "--format", "text"];
        assert_eq!(command(&desk, &words).stdout, text(1_160..1_240));
        for (lines, from) in [("5", 1_235), ("0", 1_240), ("5000", 240)] {
            let words = [&words[..], &["--lines", lines]].concat();
            assert_eq!(command(&desk, &words).stdout, text(from..1_240), "{lines}");
        }
        let line = r#"{"id":"q","method":"pane.read","params":{"pane_id":"w1:p1","source":"recent","lines":2}}"#;
        let answer = to_line(&desk, line).unwrap();
        assert!(answer.ends_with(r#""text":"1238\n1239\n","revision":0,"truncated":true}}}"#), "{answer}");
    }

    #[test]
    fn errors_carry_the_id_where_the_question_could_be_read() {
        let desk = desk();
        let unknown = to_line(&desk, r#"{"id":"a","method":"agent.get","params":{"target":"w1:p6"}}"#).unwrap();
        let expected = r#"{"id":"a","error":{"code":"agent_not_found","message":"agent target w1:p6 not found"}}"#;
        assert_eq!(unknown, expected);
        let garbage = to_line(&desk, "hello").unwrap();
        assert_eq!(garbage, captured!("raw-not-json.response"));
        assert_eq!(to_line(&desk, ""), None);
    }

    #[test]
    fn a_failing_and_a_broken_herdr_differ() {
        let error = Failing { code: "protocol_mismatch".into(), message: "client protocol 20 is older".into() };
        let failing = Desk { socket: Mode::Failing(error.clone()), cli: Mode::Failing(error), ..Desk::default() };
        let line = to_line(&failing, r#"{"id":"q","method":"ping","params":{}}"#).unwrap();
        let expected = r#"{"id":"q","error":{"code":"protocol_mismatch","message":"client protocol 20 is older"}}"#;
        assert_eq!(line, expected);
        assert_eq!(command(&failing, &["agent", "list"]).exit, 1);
        let broken = Desk { cli: Mode::Broken("Error: EmptyResponse".into()), ..Desk::default() };
        assert_eq!(command(&broken, &["agent", "list"]).stderr, "Error: EmptyResponse\n");
        let wedged = Desk { cli: Mode::Wedged, ..Desk::default() };
        assert_eq!(to_command(&wedged, &["agent", "list"], ""), None);
    }
}
