//! Where Gemini CLI keeps its sessions: `tmp/<project>/chats/session-<time>-<8 characters of the id>.json`, or `.jsonl`
//! since 0.39. A project is the SHA-256 of its directory, or a name of its own; the file says the SHA-256 too.
//!
//! ```text
//! id known    the newest file with its first characters that names it; pending
//! id unknown  the newest file of all projects that is of this very directory
//! ```

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

use crate::agent::Recorded;
use crate::agent::gather::Places;
use crate::agent::layout::{Attempt, Layout, Pending, Search, first_object, is_session_id};
use crate::agent::locate::Wanted;
use crate::agent::shown::named;
use crate::config::Roots;
use crate::entry::caps;
use crate::ids::SessionId;
use crate::limits::SUBTITLE_CHARS;
use crate::source::json::Value;

/// Characters of a session's id in the name of its file.
const SHORT: usize = 8;

/// Levels of directories between the root and the files: projects, and `chats` in each.
const LEVELS: usize = 2;

/// The directory below which all sessions lie.
#[must_use]
pub fn sessions_root(roots: &Roots) -> String {
    format!("{}/tmp", roots.gemini)
}

/// The first characters of the session's id, as the name of a file tells them.
#[must_use]
pub fn session_of_file(name: &str) -> Option<SessionId> {
    let stem = name.strip_prefix("session-")?;
    let stem = stem.strip_suffix(".jsonl").or_else(|| stem.strip_suffix(".json"))?;
    let (_, short) = stem.rsplit_once('-')?;
    (short.len() == SHORT && is_session_id(short)).then(|| SessionId::from(short))
}

/// How Gemini CLI writes a directory.
#[must_use]
pub fn project_hash(directory: &str) -> String {
    let mut hash = String::new();
    for byte in Sha256::digest(directory.as_bytes()) {
        hash.push_str(&format!("{byte:02x}"));
    }
    hash
}

/// Reads the beginning of a session. It may be cut: what stands before the cut counts.
#[must_use]
pub fn recorded(head: &[u8]) -> Recorded {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    let (meta, lines) = (Value(head), head.split(|&byte| byte == b'\n'));
    let messages = memchr::memmem::find(head, b"\"messages\"")
        .and_then(|at| head.get(at..))
        .and_then(|rest| rest.get(memchr::memchr(b'[', rest)?..));
    let listed = Value(messages.unwrap_or_default()).elements();
    let logged = lines.skip(1).map(|line| Value(line.trim_ascii())).filter(|record| record.is_object());
    let mut recorded = Recorded {
        session: named(meta.get("sessionId")).filter(|id| is_session_id(id)).map(|id| SessionId::from(id.as_str())),
        cwd_digest: named(meta.get("projectHash")),
        child: meta.get("kind").is_some_and(|kind| kind.is("subagent")),
        ..Recorded::default()
    };
    for message in listed.chain(logged).filter(|message| message.get("id").is_some()) {
        recorded.conversation = true;
        if message.get("type").is_some_and(|kind| kind.is("user")) && recorded.first_prompt.is_none() {
            let content = message.get("content");
            let part = || content.into_iter().flat_map(Value::elements).find_map(|part| part.get("text"));
            let text = content.filter(|content| content.literal().is_some()).or_else(part);
            recorded.first_prompt = text.and_then(Value::chars).and_then(|text| caps::one_line(text, SUBTITLE_CHARS));
        }
    }
    recorded
}

/// The places of Gemini CLI.
#[derive(Debug)]
pub(crate) struct GeminiLayout;

impl Layout for GeminiLayout {
    fn session_of_file(&self) -> fn(&str) -> Option<SessionId> {
        session_of_file
    }

    fn recorded(&self) -> fn(&[u8]) -> Recorded {
        recorded
    }

    /// A session, or a spool of ours of this kind.
    fn wrote(&self, head: &[u8]) -> bool {
        let recorded = recorded(head);
        let is_session = recorded.session.is_some() && recorded.cwd_digest.is_some();
        is_session
            || first_object(head).is_some_and(|record| {
                record.get("spool").is_some() && record.get("kind").is_some_and(|kind| kind.is("gemini"))
            })
    }

    fn search(&self, roots: &Roots, cwd: Option<&str>, wanted: &Wanted) -> Search {
        match wanted {
            Wanted::Session(session) => {
                let under = sessions_root(roots);
                let short = session.as_str().get(..SHORT).unwrap_or(session.as_str());
                // The time in its name is not known yet.
                let pending = cwd.map(|cwd| Pending {
                    path: format!("{under}/{}/chats/session-{short}.json", project_hash(cwd)),
                    under: under.clone(),
                    session: session.clone(),
                });
                Search { attempts: self.all(roots), pending, session: Some(SessionId::from(short)) }
            }
            Wanted::Newest => Search { attempts: self.all(roots), ..Search::default() },
            Wanted::File(_) => Search::default(),
        }
    }

    fn all(&self, roots: &Roots) -> Vec<Attempt> {
        let under = sessions_root(roots);
        let places = Places::Below { directories: [under.clone()].into(), levels: LEVELS };
        [Attempt { under, places }].into()
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use crate::agent::AgentKind;
    use crate::agent::locate::{Locate, LocateError, Located};
    use crate::pane::simulated::{World, at};

    const ID: &str = "0a1b2c3d-0000-4000-8000-000000000001";

    fn session(id: &str, cwd: &str, messages: &str) -> String {
        format!(
            "{{\n  \"sessionId\": \"{id}\",\n  \"projectHash\": \"{}\",\n  \"messages\": [{messages}]\n}}",
            project_hash(cwd)
        )
    }

    fn locate(world: &mut World, cwd: &str, wanted: &Wanted) -> Result<Located, LocateError> {
        let mut machine = Locate::new(AgentKind::Gemini, &Roots::below("/home/u"), Some(cwd), wanted);
        world.drive(at(0), &mut machine);
        machine.take_result().expect("a result when nothing is asked any more")
    }

    #[test]
    fn names_tell_the_first_characters_of_the_session() {
        assert_eq!(session_of_file("session-2026-06-08T11-00-0a1b2c3d.json"), Some(SessionId::from("0a1b2c3d")));
        assert_eq!(session_of_file("session-2026-06-08T11-00-0a1b2c3d.jsonl"), Some(SessionId::from("0a1b2c3d")));
        for none in ["logs.json", "session-2026-06-08T11-00-tools.json", "session-0a1b2c3d.json", "x-0a1b2c3d.json"] {
            assert_eq!(session_of_file(none), None, "{none}");
        }
        assert_eq!(project_hash("/w").len(), 64);
    }

    #[test]
    fn a_beginning_names_the_session_its_project_and_what_was_asked() {
        let text =
            session(ID, "/w", r#"{"id":"a","type":"user","content":[{"text":"Hello,\n you"}]},{"id":"b","type":"gem"#);
        let expected = Recorded {
            session: Some(ID.into()),
            cwd_digest: Some(project_hash("/w")),
            conversation: true,
            first_prompt: Some("Hello, you".into()),
            ..Recorded::default()
        };
        assert_eq!(recorded(text.as_bytes()), expected);
        let log = format!(
            "{{\"sessionId\":\"{ID}\",\"projectHash\":\"{}\"}}\n{{\"id\":\"a\",\"type\":\"user\",\"content\":\"Hello, you\"}}\n{{\"id",
            project_hash("/w")
        );
        assert_eq!(recorded(log.as_bytes()), expected);
        let child = br#"{"sessionId":"c","kind":"subagent"}"#;
        assert!(recorded(child).child && !recorded(child).conversation);
    }

    #[test]
    fn a_session_is_found_by_its_whole_id_and_the_newest_by_its_directory() {
        let mut world = World::new();
        let root = "/home/u/.gemini/tmp";
        let one = r#"{"id":"a","type":"user","content":"hi"}"#;
        let old = format!("{root}/{}/chats/session-2026-06-08T11-00-0a1b2c3d.json", project_hash("/w"));
        let new = format!("{root}/a-name/chats/session-2026-06-09T11-00-0a1b2c3d.jsonl");
        world.put(&old, &session(ID, "/w", one), 3);
        world.put(&new, &session(ID, "/w", one), 5);
        world.put(
            &format!("{root}/a-name/chats/session-2026-06-09T12-00-0a1b2c3d.json"),
            &session("0a1b2c3d-x", "/v", one),
            7,
        );
        let found = |world: &mut World, cwd: &str, wanted: &Wanted| {
            locate(world, cwd, wanted).map(|found| (found.path, found.session, found.exists))
        };
        assert_eq!(found(&mut world, "/w", &Wanted::Session(ID.into())), Ok((new.clone(), ID.into(), true)));
        assert_eq!(found(&mut world, "/w", &Wanted::Newest), Ok((new, ID.into(), true)));
        assert_eq!(found(&mut world, "/elsewhere", &Wanted::Newest), Err(LocateError::NoFile));
        assert!(!found(&mut world, "/w", &Wanted::Session("0a1b2c3d-other".into())).unwrap().2);
        assert!(!found(&mut world, "/w", &Wanted::Session("later".into())).unwrap().2);
    }
}
