//! `panewire tree`

use std::io::{self, Write};
use std::time::{Duration, Instant};

use panewire_host::Problem;
use panewire_host::arguments::Places;
use panewire_host::problem::quiet;
use serde::Deserialize;
use tungstenite::{Error, Message};

use super::connection::{self, cause};

/// How long the daemon may take to read the subagents as a whole. After it, what is known is printed.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long subagents may come after a first answer that names none.
const LATECOMERS: Duration = Duration::from_millis(1500);

/// Asks a daemon for the subagents of a pane, and prints them once.
pub(crate) fn run(url: Option<&str>, pane: &str, places: &Places) -> Result<(), Problem> {
    let (mut socket, base) = connection::open(url, pane, "roster", places)?;
    let until = Instant::now() + PATIENCE;
    let mut known: Option<Vec<Agent>> = None;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let is_whole = |agents: &Vec<Agent>| !agents.is_empty() && agents.iter().all(|agent| agent.entries.is_some());
        if known.as_ref().is_some_and(is_whole) || (known.is_some() && left.is_zero()) {
            break;
        }
        if let Some(agents) = &known {
            // None at all is most often the truth; some are still being read.
            let wait = if agents.is_empty() { left.min(LATECOMERS) } else { left };
            let _ = socket.get_ref().set_read_timeout(Some(wait));
        }
        match socket.read() {
            Ok(Message::Text(text)) => match serde_json::from_str(text.as_str()) {
                Ok(Shown::Hello { subagents } | Shown::Subagents { subagents }) => known = Some(subagents),
                Ok(Shown::Other) | Err(_) => {}
            },
            Ok(Message::Close(_)) => break,
            Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
            Err(Error::Io(error)) if known.is_some() && is_timeout(&error) => break,
            Err(error) => return Err(Problem::new(format_args!("the daemon at {base} is gone: {}", cause(&error)))),
        }
    }
    let _ = socket.close(None);
    let agents = known.ok_or_else(|| Problem::new(format_args!("the daemon at {base} closed the socket at once")))?;
    if agents.is_empty() {
        let _ = writeln!(io::stderr(), "panewire: {pane} has no subagents");
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    quiet(draw(&agents, &mut out).and_then(|()| out.flush()))
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// The frames that say something of subagents.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Shown {
    Hello {
        #[serde(default)]
        subagents: Vec<Agent>,
    },
    Subagents {
        subagents: Vec<Agent>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Default, Deserialize)]
struct Agent {
    agent_id: String,
    #[serde(default)]
    agent_type: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    done: bool,
    parent_agent_id: Option<String>,
    running_for_ms: Option<u64>,
    entries: Option<u64>,
    tokens: Option<u64>,
    last_text: Option<String>,
}

/// Each agent below the one that started it, in the daemon's order.
fn draw(agents: &[Agent], out: &mut impl Write) -> io::Result<()> {
    let is_there = |id: &str| agents.iter().any(|agent| agent.agent_id == id);
    let parent = |agent: &Agent| agent.parent_agent_id.clone().filter(|id| is_there(id) && *id != agent.agent_id);
    let mut drawn = vec![false; agents.len()];
    // What is to be drawn, the next one last, with what stands before it on its line and on those below it.
    let mut waiting: Vec<(usize, String, String)> = Vec::new();
    let children = |of: Option<&str>, indent: &str| -> Vec<(usize, String, String)> {
        let below: Vec<usize> =
            (0..agents.len()).filter(|at| agents.get(*at).is_some_and(|a| parent(a).as_deref() == of)).collect();
        let last = below.last().copied();
        let line = |at: usize| {
            let (tee, bar) = if Some(at) == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            if of.is_none() {
                (at, String::new(), String::new())
            } else {
                (at, format!("{indent}{tee}"), format!("{indent}{bar}"))
            }
        };
        below.into_iter().rev().map(line).collect()
    };
    waiting.extend(children(None, ""));
    loop {
        while let Some((at, before, indent)) = waiting.pop() {
            let (Some(agent), Some(seen)) = (agents.get(at), drawn.get_mut(at)) else { continue };
            if !std::mem::replace(seen, true) {
                writeln!(out, "{before}{}", line(agent))?;
                waiting.extend(children(Some(&agent.agent_id), &indent));
            }
        }
        // Whoever is named as each other's parent is drawn all the same.
        match drawn.iter().position(|drawn| !drawn) {
            Some(at) => waiting.push((at, String::new(), String::new())),
            None => return Ok(()),
        }
    }
}

fn line(agent: &Agent) -> String {
    let label = [agent.agent_type.as_str(), &agent.description].into_iter().filter(|label| !label.is_empty());
    let label = label.collect::<Vec<_>>().join(" · ");
    let state = match (agent.done, agent.running_for_ms) {
        (true, _) => "done".to_owned(),
        (false, Some(millis)) => format!("running for {}", duration(millis / 1000)),
        (false, None) => "running".to_owned(),
    };
    let entries = agent.entries.map(|entries| format!("{entries} entries"));
    let tokens = agent.tokens.filter(|tokens| *tokens > 0).map(|tokens| format!("{tokens} tokens"));
    let said = agent.last_text.as_ref().map(|text| format!("“{text}”"));
    let parts = [Some(label).filter(|label| !label.is_empty()), Some(state), entries, tokens, said];
    let text = format!("{}  {}", agent.agent_id, parts.into_iter().flatten().collect::<Vec<_>>().join(", "));
    // What agents write may hold anything, the terminal's own commands too.
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

fn duration(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, _) => format!("{minutes} min"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(id: &str, parent: Option<&str>) -> Agent {
        Agent { agent_id: id.into(), parent_agent_id: parent.map(Into::into), done: true, ..Agent::default() }
    }

    fn drawn(agents: &[Agent]) -> String {
        let mut out = Vec::new();
        draw(agents, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_is_below_the_agent_that_started_it() {
        let agents = [
            agent("a1", None),
            agent("b1", None),
            agent("c1", Some("a1")),
            agent("c2", Some("a1")),
            agent("d1", Some("c1")),
            agent("e1", Some("gone")),
        ];
        let tree = "a1  done\n├─ c1  done\n│  └─ d1  done\n└─ c2  done\nb1  done\ne1  done\n";
        assert_eq!(drawn(&agents), tree);
    }

    #[test]
    fn parents_of_each_other_are_drawn_once() {
        let agents = [agent("a", Some("b")), agent("b", Some("a")), agent("c", Some("c"))];
        assert_eq!(drawn(&agents), "c  done\na  done\n└─ b  done\n");
    }

    #[test]
    fn a_line_says_all_that_is_known() {
        let all = r#"{"agent_id":"a1","tool_use_id":"t","agent_type":"Explore","description":"find it","spawn_depth":1,"done":false,
            "running_for_ms":7500000,"entries":12,"tokens":3400,"last_text":"I \u001b[31mlook."}"#;
        let agent: Agent = serde_json::from_str(all).unwrap();
        let expected = "a1  Explore · find it, running for 2 h 5 min, 12 entries, 3400 tokens, “I  [31mlook.”";
        assert_eq!(line(&agent), expected);
        assert_eq!([59, 60, 3_661].map(duration), ["59 s", "1 min", "1 h 1 min"]);
    }
}
