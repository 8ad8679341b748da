//! Every answer that was captured of a real herdr, when they are at hand: `PANEWIRE_SHARED=<directory> cargo test`.
//!
//! What is read out of each stands in one table; a capture that is none of our questions stands there as such, so that none
//! is left out.

#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test that reads files")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use panewire_core::config::{Herdr, HerdrMode};
use panewire_core::ids::PaneId;
use panewire_core::io::{Failure, FailureKind, Outcome};
use panewire_core::machine::Machine as _;
use panewire_core::pane::herdr::{
    HerdrAsk, HerdrError, HerdrSession, PaneAgent, Question, Reply, Rows, ScreenSource, SessionKind,
};
use panewire_core::time::Now;
use serde_json::Value;

fn directory() -> Option<PathBuf> {
    let shared = std::env::var_os("PANEWIRE_SHARED");
    if shared.is_none() {
        eprintln!("skipped: PANEWIRE_SHARED names no directory with captures");
    }
    shared.map(|shared| PathBuf::from(shared).join("herdr/captures"))
}

#[test]
fn every_answer_means_this() {
    let Some(directory) = directory() else { return };
    let mut folders = Vec::new();
    collect(&directory, &mut folders);
    folders.sort();
    let mut table = String::new();
    for folder in folders {
        let name = folder.strip_prefix(&directory).unwrap().display().to_string();
        for (what, result) in results(&folder) {
            writeln!(table, "{name}{what}: {}", result.as_deref().unwrap_or("not asked")).unwrap();
        }
    }
    insta::assert_snapshot!("every-answer", table);
}

/// The folders that hold no folder.
fn collect(directory: &Path, folders: &mut Vec<PathBuf>) {
    let inner: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    if inner.is_empty() {
        folders.push(directory.to_owned());
    }
    inner.iter().for_each(|inner| collect(inner, folders));
}

/// What each answer in a folder comes to; none where it answers no question of ours.
fn results(folder: &Path) -> Vec<(&'static str, Option<String>)> {
    let read = |name: &str| fs::read(folder.join(name)).ok();
    let text = |name: &str| read(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if let Some(command) = text("cmd") {
        let exit = text("exit").and_then(|exit| exit.trim().parse().ok());
        let (stdout, stderr) = (read("stdout").unwrap_or_default(), read("stderr").unwrap_or_default());
        let outcome = Outcome::Ran { exit, stdout: &stdout, stderr: &stderr };
        return vec![("", of_command(&words(&command)).map(|question| ask(HerdrMode::Cli, question, outcome)))];
    }
    if let Some(request) = text("request").filter(|_| !folder.join("events.jsonl").exists()) {
        let question = of_request(&request);
        return vec![("", question.map(|question| by_socket(question, &read("response").unwrap_or_default())))];
    }
    let files = [("agent-get.json", true), ("read-visible.json", false), ("read-visible-ansi.json", false)];
    let found = files.into_iter().filter_map(|(name, is_agent)| {
        let answer = read(name)?;
        let pane = PaneId::from("w1:p1");
        let question = if is_agent { Question::Agent(pane) } else { Question::Screen(pane, ScreenSource::Visible) };
        let place = match name {
            "agent-get.json" => " agent-get",
            "read-visible.json" => " read-visible",
            _ => " read-visible-ansi",
        };
        Some((place, Some(by_socket(question, &answer))))
    });
    let found: Vec<_> = found.collect();
    if found.is_empty() { vec![("", None)] } else { found }
}

fn by_socket(question: Question, answer: &[u8]) -> String {
    let lost = Outcome::Failed(Failure { kind: FailureKind::Lost, text: "closed without an answer" });
    let line = answer.trim_ascii();
    ask(HerdrMode::Socket, question, if line.is_empty() { lost } else { Outcome::Answer(line) })
}

/// The words of a command line, quotes removed; those before the program's name are left out.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for char in command.chars() {
        match char {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' | '\n' if !quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    let program = words.iter().position(|word| word == "herdr" || word.ends_with("/herdr"));
    words.split_off(program.map_or(words.len(), |at| at + 1))
}

fn of_command(words: &[String]) -> Option<Question> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (session, words) = match &words[..] {
        ["--session", name, rest @ ..] => (HerdrSession::named(name), rest),
        rest => (HerdrSession::DEFAULT, rest),
    };
    let pane = |id: &str| PaneId(session.qualified(id));
    Some(match words {
        ["agent", "get", id] => Question::Agent(pane(id)),
        ["agent", "list"] => Question::Agents(session),
        ["api", "snapshot"] => Question::Snapshot(session),
        ["pane", "get", id] => Question::Occupant(pane(id)),
        ["agent", "read", id, ..] => Question::Screen(pane(id), ScreenSource::Detection),
        ["pane", "read", id, ..] => Question::Rows(pane(id), Rows::Screen),
        ["pane", "send-text", id, text] => Question::Type(pane(id), (*text).to_owned()),
        ["pane", "send-keys", id, keys @ ..] => {
            Question::Press(pane(id), keys.iter().map(|key| (*key).to_owned()).collect())
        }
        _ => return None,
    })
}

fn of_request(request: &str) -> Option<Question> {
    let request: Value = serde_json::from_str(request.lines().next()?).ok()?;
    let id = ["target", "pane_id"].into_iter().find_map(|key| request["params"][key].as_str()).unwrap_or("w1:p1");
    let pane = PaneId::from(id);
    Some(match request["method"].as_str()? {
        "agent.get" => Question::Agent(pane),
        "agent.list" => Question::Agents(HerdrSession::DEFAULT),
        "session.snapshot" => Question::Snapshot(HerdrSession::DEFAULT),
        "pane.get" => Question::Occupant(pane),
        "agent.read" => Question::Screen(pane, ScreenSource::Detection),
        "pane.send_text" | "pane.send_input" => Question::Type(pane, "2".into()),
        // What it refuses, whatever we ask in words that it does not know.
        "agent.fly" => Question::Agent(pane),
        _ => return None,
    })
}

/// Asks by one way, which is answered so.
fn ask(mode: HerdrMode, question: Question, outcome: Outcome<'_>) -> String {
    let herdr = Herdr {
        mode,
        socket: Some("/run/herdr.sock".into()),
        sessions_dir: Some("/run/sessions".into()),
        program: "herdr".into(),
    };
    let mut machine = HerdrAsk::new(Now::default(), &herdr, question);
    while let Some((tag, op)) = machine.poll_op() {
        let outcome = match op {
            // The directory of a named session is there.
            panewire_core::io::Op::Stat { .. } => Outcome::Done,
            _ => outcome,
        };
        machine.handle_outcome(Now::default(), tag, outcome);
    }
    match machine.take_result() {
        Some(Ok(reply)) => of_reply(reply),
        Some(Err(HerdrError::NoSuchAgent)) => "no such agent".into(),
        Some(Err(HerdrError::NoSuchSession(name))) => format!("no such session {name}"),
        Some(Err(HerdrError::Absent)) => "no herdr".into(),
        Some(Err(HerdrError::Failed(why))) => format!("502 {}", one_line(&why)),
        Some(Err(HerdrError::Unknown(why))) => format!("502, and unknown what was typed: {}", one_line(&why)),
        None => "no result".into(),
    }
}

fn of_reply(reply: Reply) -> String {
    match reply {
        Reply::Agent(agent) => of_agent(&agent),
        Reply::Agents(agents) => {
            let agents: Vec<String> = agents.iter().map(of_agent).collect();
            agents.iter().fold(format!("{} agents", agents.len()), |all, agent| all + "\n    " + agent)
        }
        Reply::Occupant(occupant) => {
            let terminal = occupant.terminal_id.unwrap_or_else(|| "none".into());
            format!("{} in terminal {terminal}", if occupant.is_agent { "an agent" } else { "no agent" })
        }
        Reply::Snapshot(fields) => {
            let counts = fields.iter().filter_map(|(key, value)| Some(format!("{} {key}", value.as_array()?.len())));
            counts.collect::<Vec<_>>().join(", ")
        }
        // What is on it is read elsewhere.
        Reply::Screen(text) => format!("{} rows of text, {} characters", text.lines().count(), text.chars().count()),
        Reply::Done => "done".into(),
    }
}

fn of_agent(agent: &PaneAgent) -> String {
    let session = agent.session.as_ref().map(|session| {
        let kind = match session.kind {
            SessionKind::Id => "id",
            SessionKind::Path => "path",
        };
        format!("{kind} {}", session.value)
    });
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".into());
    format!(
        "{} {} {} seq {} terminal {} session {} cwd {} foreground {} title {}",
        agent.pane,
        agent.kind_label,
        agent.status,
        agent.state_change_seq,
        or_none(&agent.terminal_id),
        or_none(&session),
        or_none(&agent.cwd),
        or_none(&agent.foreground_cwd),
        or_none(&agent.title).escape_debug(),
    )
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ⏎ ").chars().take(160).collect()
}
