//! One vector: what lies on the disk, what herdr knows, and what happens then.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::herdr::{self, Pane, Reaction};
use crate::vector::content::Content;
use crate::vector::step::{Need, Step};

/// The format that this kit reads.
pub const FORMAT: u32 = 1;

/// Names that are filled in where they stand and not by `let`: the number of a repetition, the token, the server's host.
const FILLED_LATER: [&str; 3] = ["n", "token", "host"];

/// One behaviour, shown by example.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// [`FORMAT`]
    pub format: u32,
    /// The name of its directory.
    #[serde(skip)]
    pub name: String,
    /// The behaviour, in one line for a person.
    pub title: String,
    /// Who asks for it.
    pub mark: Mark,
    /// The numbers of our decisions that it shows; empty for a `seed` vector.
    #[serde(default)]
    pub decisions: Vec<u32>,
    /// Names of the contract's sentences that it proves as a whole. A step may name more of its own.
    #[serde(default)]
    pub proves: Vec<String>,
    /// It waits for so long that it is played on the virtual clock only, unless slow ones are asked for.
    #[serde(default)]
    pub slow: bool,
    /// Members that every line of a transcript has which is written as an object and does not have them itself.
    #[serde(default)]
    pub line: Map<String, Value>,
    /// The files before.
    #[serde(default)]
    pub files: Vec<File>,
    /// What herdr knows before.
    #[serde(default)]
    pub herdr: Desk,
    /// What happens, in order.
    #[serde(deserialize_with = "steps")]
    pub steps: Vec<Step>,
    /// What lies beside `vector.json`, by its name.
    #[serde(skip)]
    pub beside: BTreeMap<String, Vec<u8>>,
}

/// Who asks for a behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// The contract: every server that speaks it must pass.
    Seed,
    /// Our decision, where the contract is silent or the original wrong.
    Decided,
    /// An addition of ours, which a server may lack.
    Beyond,
}

impl Mark {
    /// As it stands in a vector.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seed => "seed",
            Self::Decided => "decided",
            Self::Beyond => "beyond",
        }
    }
}

/// A file before the first step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Where it lies; `~/` is the home directory of the agents.
    pub file: String,
    /// What is in it.
    pub content: Content,
    /// How many seconds ago it was written last.
    #[serde(default)]
    pub age_s: u32,
}

/// What herdr knows before the first step.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Desk {
    /// Its panes.
    #[serde(default)]
    pub panes: Vec<PaneOf>,
}

/// One pane of herdr.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaneOf {
    /// What clients call it, such as `w1:p1`.
    pub pane: String,
    /// The kind of agent; `none` for a plain shell. Claude Code, unless said otherwise.
    #[serde(default = "claude")]
    pub agent: String,
    /// The directory it was started in.
    pub cwd: String,
    /// The directory of its foreground process; `cwd` unless said otherwise.
    pub foreground_cwd: Option<String>,
    /// The session that the agent reported: its id, or the path of its file, which begins with `~/`.
    pub session: Option<String>,
    /// The kind of agent that this session belongs to; `agent` unless said otherwise.
    pub session_agent: Option<String>,
    /// `idle`, `working`, `blocked`, `done` or `unknown`.
    #[serde(default = "idle")]
    pub status: String,
    /// herdr's counter at its last change of status.
    pub seq: Option<u64>,
    /// The title that its agent set.
    pub title: Option<String>,
    /// The rows that its terminal shows.
    #[serde(default)]
    pub screen: Vec<String>,
    /// What its agent does when it reads something, each once.
    #[serde(default)]
    pub reacts: Vec<Reacts>,
}

/// What an agent does when it reads something.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reacts {
    /// What it reads, in one write.
    pub to: String,
    /// The rows that it shows then.
    pub screen: Option<Vec<String>>,
    /// What herdr thinks of it then.
    pub status: Option<String>,
}

impl PaneOf {
    /// Puts it on the desk of herdr, in place of one of this name, on a machine where the agents have this home directory.
    pub fn put(&self, desk: &mut herdr::Desk, home: &str) {
        let pane = self.pane(home);
        match desk.panes.iter_mut().find(|other| other.pane_id == self.pane) {
            Some(other) => *other = pane,
            None => desk.panes.push(pane),
        }
        desk.screens.insert(self.pane.clone(), text_of(&self.screen));
        desk.reactions.retain(|reaction| reaction.pane_id != self.pane);
        desk.reactions.extend(self.reacts.iter().map(|reacts| Reaction {
            pane_id: self.pane.clone(),
            to: reacts.to.clone(),
            screen: reacts.screen.as_ref().map(|rows| text_of(rows)),
            status: reacts.status.clone(),
        }));
    }

    /// As herdr reports it, on a machine where the agents have this home directory.
    #[must_use]
    pub fn pane(&self, home: &str) -> Pane {
        let mut pane = Pane::claude(&self.pane, &self.cwd);
        pane.agent = (self.agent != "none").then(|| self.agent.clone());
        pane.agent_status.clone_from(&self.status);
        if let Some(seq) = self.seq {
            pane.state_change_seq = seq;
        }
        if let Some(title) = &self.title {
            pane.terminal_title = Some(title.clone());
            pane.terminal_title_stripped = Some(title.clone());
        }
        if let Some(directory) = &self.foreground_cwd {
            pane.foreground_cwd = Some(directory.clone());
        }
        match self.session.as_deref().map(|session| (session, session.strip_prefix("~/"))) {
            Some((_, Some(below))) => pane = pane.with_file(&format!("{}/{below}", home.trim_end_matches('/'))),
            Some((session, None)) => pane.set_session(session),
            None => {}
        }
        if let (Some(agent), Some(session)) = (&self.session_agent, &mut pane.agent_session) {
            session.agent.clone_from(agent);
        }
        pane
    }
}

fn text_of(rows: &[String]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

impl Vector {
    /// Reads `vector.json`. `beside` is what else lies in its directory.
    ///
    /// # Errors
    /// What is wrong with it, for the person who wrote it.
    pub fn parse(name: &str, json: &[u8], beside: BTreeMap<String, Vec<u8>>) -> Result<Self, String> {
        let told = |wrong: String| format!("{name}/vector.json: {wrong}");
        let mut value: Value = serde_json::from_slice(json).map_err(|error| told(error.to_string()))?;
        // For editors, which look there for the schema.
        value.as_object_mut().and_then(|vector| vector.remove("$schema"));
        let names = match value.as_object_mut().and_then(|vector| vector.remove("let")) {
            None => BTreeMap::new(),
            Some(names) => serde_json::from_value(names).map_err(|error| told(format!("let: {error}")))?,
        };
        fill(&mut value, &names).map_err(told)?;
        let mut vector: Self = serde_json::from_value(value).map_err(|error| told(error.to_string()))?;
        vector.name = name.into();
        vector.beside = beside;
        vector.check().map_err(told)?;
        Ok(vector)
    }

    /// Every sentence that it proves, as a whole or in one of its steps.
    pub fn proven(&self) -> impl Iterator<Item = &str> {
        let of_steps = self.steps.iter().flat_map(|step| step.proves());
        self.proves.iter().chain(of_steps).map(String::as_str)
    }

    /// What a stage must be able to do for it that is not a matter of course.
    #[must_use]
    pub fn needs(&self) -> Vec<Need> {
        let mut let_in = false;
        let need = |step: &Step| {
            let_in |= matches!(step, Step::Connect(connect) if connect.refused.is_none());
            match step {
                Step::Spoil(_) if let_in => Some(Need::SpoilOpen),
                Step::Spoil(_) => Some(Need::Spoil),
                Step::Restart(_) => Some(Need::Restart),
                _ => None,
            }
        };
        self.steps.iter().filter_map(need).collect()
    }

    /// Whether no real server is held against it, unless slow ones are asked for: only a simulated world has the time, or the
    /// disk, for it.
    #[must_use]
    pub fn is_left_to_the_core(&self) -> bool {
        self.slow || self.needs().contains(&Need::SpoilOpen)
    }

    /// The bytes of a content of this vector.
    ///
    /// # Errors
    /// If a file that should lie beside it does not.
    pub fn bytes(&self, content: &Content) -> Result<Vec<u8>, String> {
        content.bytes(&self.line, &self.beside)
    }

    fn check(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("format {} is not {FORMAT}, which this kit reads", self.format));
        }
        match self.mark {
            Mark::Decided if self.decisions.is_empty() => return Err("a decided vector names its decisions".into()),
            Mark::Seed if !self.decisions.is_empty() => return Err("a seed vector shows no decision".into()),
            Mark::Seed if self.proven().next().is_none() => return Err("a seed vector proves a sentence".into()),
            Mark::Seed | Mark::Decided | Mark::Beyond => {}
        }
        let of_steps = self.steps.iter().filter_map(Step::content);
        self.files
            .iter()
            .map(|file| &file.content)
            .chain(of_steps)
            .try_for_each(|content| self.bytes(content).map(drop))
    }
}

/// Puts what `let` says in the place of `${name}`, in every string.
fn fill(value: &mut Value, names: &BTreeMap<String, String>) -> Result<(), String> {
    match value {
        Value::String(text) => *text = filled(text, names)?,
        Value::Array(items) => items.iter_mut().try_for_each(|item| fill(item, names))?,
        Value::Object(members) => members.values_mut().try_for_each(|member| fill(member, names))?,
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn filled(text: &str, names: &BTreeMap<String, String>) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once("${") {
        let (name, after) = behind.split_once('}').ok_or_else(|| format!("a name without its end: {text}"))?;
        out.push_str(before);
        match names.get(name) {
            Some(value) => out.push_str(value),
            None if FILLED_LATER.contains(&name) => out.extend(["${", name, "}"]),
            None => return Err(format!("${{{name}}} is a name that `let` does not have")),
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Each step by itself, so that an error says which one it is in.
fn steps<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Step>, D::Error> {
    let steps = Vec::<Value>::deserialize(from)?.into_iter();
    let step =
        |(number, step)| Step::deserialize(step).map_err(|wrong: serde_json::Error| format!("step {number}: {wrong}"));
    (1..).zip(steps).map(step).collect::<Result<_, String>>().map_err(D::Error::custom)
}

fn claude() -> String {
    "claude".into()
}

fn idle() -> String {
    "idle".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Vector, String> {
        Vector::parse("it", json.as_bytes(), BTreeMap::new())
    }

    const WHOLE: &str = r#"{"$schema": "../../schema.json", "format": 1, "title": "t", "mark": "seed", "proves": ["a"], "let": {"S": "s-1"},
        "line": {"sessionId": "${S}"},
        "files": [{"file": "~/x/${S}.jsonl", "content": [{"type": "user"}]}],
        "herdr": {"panes": [{"pane": "w1:p1", "cwd": "/srv", "session": "${S}"}]},
        "steps": [{"expect": {"frames": [{"type": "hello"}], "proves": ["b"]}}]}"#;

    #[test]
    fn names_are_filled_in_and_members_merged() {
        let vector = parse(WHOLE).unwrap();
        assert_eq!(vector.files[0].file, "~/x/s-1.jsonl");
        let bytes = vector.bytes(&vector.files[0].content).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), "{\"sessionId\":\"s-1\",\"type\":\"user\"}\n");
        assert_eq!(vector.proven().collect::<Vec<_>>(), ["a", "b"]);
        let pane = vector.herdr.panes[0].pane("/home/u");
        assert_eq!(pane.agent_session.unwrap().value, "s-1");
    }

    #[test]
    fn what_a_stage_must_be_able_to_do_is_known() {
        let needs = |steps: &str| {
            let whole = format!(r#"{{"format": 1, "title": "t", "mark": "beyond", "steps": {steps}}}"#);
            parse(&whole).unwrap().needs()
        };
        let (spoil, refused) = (r#"{"spoil": {"file": "~/a"}}"#, r#"{"connect": {"refused": {"status": 500}}}"#);
        assert_eq!(needs(r#"[{"pass": {"ms": 1}}, {"connect": {}}]"#), []);
        assert_eq!(needs(&format!(r#"[{refused}, {spoil}, {{"restart": {{}}}}]"#)), [Need::Spoil, Need::Restart]);
        assert_eq!(needs(&format!(r#"[{{"connect": {{}}}}, {spoil}]"#)), [Need::SpoilOpen]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (from, to, said) in [
            ("\"format\": 1", "\"format\": 2", "format 2 is not 1, which this kit reads"),
            ("\"s-1\"}", "\"s-1\"}, \"lines\": []", "unknown field `lines`"),
            ("x/${S}", "x/${T}", "${T} is a name that `let` does not have"),
            ("x/${S}", "x/${S", "a name without its end"),
            ("\"seed\", ", "\"decided\", ", "a decided vector names its decisions"),
            ("\"seed\", ", "\"seed\", \"decisions\": [3], ", "a seed vector shows no decision"),
            ("[{\"expect\"", "[{\"drop\": {}}, {\"expects\"", "step 2: unknown variant `expects`"),
            ("[{\"type\": \"user\"}]", "{\"beside\": \"x.jsonl\"}", "x.jsonl does not lie beside it"),
        ] {
            let wrong = parse(&WHOLE.replace(from, to)).unwrap_err();
            assert!(wrong.starts_with("it/vector.json: ") && wrong.contains(said), "{wrong}");
        }
    }
}
