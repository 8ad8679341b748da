//! A session of our own invention, of any size: what a working agent writes, with rare lines of megabytes.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use panewire_conformance::sim::Transcript;
use serde_json::json;

use crate::daemon::Home;

const CWD: &str = "/home/u/project";

/// A file that is there, and who goes on writing it.
pub(crate) struct Session {
    agent: Transcript,
    home: PathBuf,
    path: PathBuf,
}

impl Session {
    /// A copy of a session that lies somewhere, or of the lines in its last bytes. The benchmark goes on writing it.
    pub(crate) fn copy(home: &Home, name: &str, from: &Path, last: u64) -> Self {
        let session = Self::place(home, name);
        let mut file = BufReader::new(File::open(from).expect("the session can be opened"));
        let skipped = file.get_ref().metadata().unwrap().len().saturating_sub(last);
        file.seek(SeekFrom::Start(skipped)).unwrap();
        if skipped > 0 {
            file.skip_until(b'\n').unwrap();
        }
        std::io::copy(&mut file, &mut File::create(&session.path).unwrap()).expect("the session can be copied");
        session
    }

    /// Writes a session of at least so many bytes.
    pub(crate) fn generate(home: &Home, name: &str, bytes: u64) -> Self {
        let mut session = Self::place(home, name);
        let mut file = BufWriter::new(File::create(&session.path).unwrap());
        let (mut written, mut turn) = (0, 0);
        while written < bytes {
            let lines = turn_of(&mut session.agent, turn);
            file.write_all(lines.as_bytes()).unwrap();
            written += lines.len() as u64;
            turn += 1;
        }
        file.flush().unwrap();
        session
    }

    fn place(home: &Home, name: &str) -> Self {
        let agent = Transcript::new(name, CWD);
        let mut session = Self { path: PathBuf::new(), home: home.path().to_owned(), agent };
        session.path = session.place_of(&session.agent.path());
        fs::create_dir_all(session.path.parent().unwrap()).unwrap();
        session
    }

    /// Where a file of the agent lies in this home.
    fn place_of(&self, path: &str) -> PathBuf {
        self.home.join(path.strip_prefix("/home/u/").unwrap())
    }

    /// Its agent starts so many others; seven of eight are done.
    pub(crate) fn spawn(&mut self, children: u32) {
        for no in 1..=children {
            let (call, agent_id) = (format!("toolu_shelf_{no}"), format!("shelf{no}"));
            let mut child = self.agent.child(&agent_id);
            let (conversation, meta) = (self.place_of(&child.path()), self.place_of(&child.meta_path()));
            fs::create_dir_all(conversation.parent().unwrap()).unwrap();
            fs::write(conversation, child.talk(40)).unwrap();
            let facts = json!({"agentType": "Explore", "description": format!("Read shelf {no}"), "toolUseId": call});
            fs::write(meta, facts.to_string()).unwrap();
            let lines = [
                self.agent.spawn(&call, Some(false), "Read it"),
                self.agent.answer(&call, &json!({"isAsync": true, "status": "async_launched", "agentId": agent_id})),
                if no % 8 == 0 { String::new() } else { self.agent.notification(&[&agent_id], Some("completed")) },
            ];
            self.append(&lines.concat());
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its pane, where nobody else knows of one.
    pub(crate) fn pane(&self) -> String {
        format!("claude:{}", self.agent.session())
    }

    /// The next line, one entry.
    pub(crate) fn next_line(&mut self) -> String {
        self.agent.assistant(&words(900))
    }

    /// The agent writes it.
    pub(crate) fn append(&self, line: &str) {
        fs::OpenOptions::new().append(true).open(&self.path).unwrap().write_all(line.as_bytes()).unwrap();
    }
}

/// A question, thoughts, a call and what came of it. Each tenth result is long, and now and then one has megabytes.
fn turn_of(agent: &mut Transcript, turn: u64) -> String {
    let output = match turn {
        turn if turn % 4_000 == 2_000 => 4_000_000,
        turn if turn % 400 == 200 => 1_000_000,
        turn if turn.is_multiple_of(10) => 12_000,
        _ => 700,
    };
    let output = words(output);
    [
        agent.user(&words(300)),
        agent.thinking(&words(600)),
        agent.assistant(&words(1_100)),
        agent.tool_use("Bash", &json!({"command": format!("ls shelf/{turn}"), "description": "List a shelf"})),
        agent.tool_result(&output, false, &json!({"stdout": output, "stderr": "", "interrupted": false})),
    ]
    .concat()
}

fn words(bytes: usize) -> String {
    "on the shelf beside the door lies “a book” that nobody reads;\n".chars().cycle().take(bytes).collect()
}

/// `100MB`, `1GB`, or a number of bytes.
pub(crate) fn bytes(size: &str) -> u64 {
    let (number, unit) = size.split_at(size.find(|c: char| !c.is_ascii_digit()).unwrap_or(size.len()));
    let unit = match unit {
        "GB" => 1_000_000_000,
        "MB" => 1_000_000,
        "" => 1,
        other => panic!("MB or GB, not {other}"),
    };
    number.parse::<u64>().expect("a size") * unit
}
