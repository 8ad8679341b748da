//! One question to every server of herdr at once: the default one, and the named sessions that run.
//!
//! ```text
//!  default ─────────────────────────────────────────────▶ ┐
//!  sessions directory ── names ── has it a socket? ── ask ▶ ┴ replies, the default one first, the others by name
//! ```

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::{HerdrAsk, HerdrError, HerdrSession, Question, Reply, is_session_name, socket_in};
use crate::config::{Herdr, HerdrMode};
use crate::io::{DirEntry, FileKind, Op, Outcome};
use crate::limits::{HERDR_BUDGET, MAX_DIRECTORY_NAMES, MAX_HERDR_SESSIONS};
use crate::machine::{Asks, Machine, Tag};
use crate::time::{Instant, Now};

/// What each server said, the default one first.
pub type Replies = Vec<(HerdrSession, Result<Reply, HerdrError>)>;

/// Asks every server. All of them share one budget.
#[derive(Debug)]
pub struct Everywhere {
    question: fn(HerdrSession) -> Question,
    config: Herdr,
    deadline: Instant,
    asks: Asks,
    /// What was asked for, and by whom.
    open: BTreeMap<Tag, Waiting>,
    servers: BTreeMap<HerdrSession, Box<HerdrAsk>>,
    replies: BTreeMap<HerdrSession, Result<Reply, HerdrError>>,
    is_done: bool,
}

#[derive(Debug)]
enum Waiting {
    Names,
    Socket(HerdrSession),
    Server(HerdrSession, Tag),
}

impl Everywhere {
    /// Begins to ask.
    #[must_use]
    pub fn new(now: Now, config: &Herdr, question: fn(HerdrSession) -> Question) -> Self {
        let mut all = Self {
            question,
            config: config.clone(),
            deadline: now.mono.plus(HERDR_BUDGET),
            asks: Asks::default(),
            open: BTreeMap::new(),
            servers: BTreeMap::new(),
            replies: BTreeMap::new(),
            is_done: false,
        };
        if let (Some(path), true) = (&config.sessions_dir, config.mode != HerdrMode::Off) {
            let names = all.asks.ask(Op::List { path: path.clone(), max_names: MAX_DIRECTORY_NAMES });
            all.open.insert(names, Waiting::Names);
        }
        all.ask(now, HerdrSession::DEFAULT);
        all
    }

    /// The replies, once, when all have come.
    pub fn take_result(&mut self) -> Option<Replies> {
        let is_over = self.open.is_empty() && self.servers.is_empty();
        (is_over && !core::mem::replace(&mut self.is_done, true))
            .then(|| core::mem::take(&mut self.replies).into_iter().collect())
    }

    fn ask(&mut self, now: Now, session: HerdrSession) {
        let ask = HerdrAsk::until(now, self.deadline, &self.config, (self.question)(session.clone()));
        self.servers.insert(session.clone(), Box::new(ask));
        self.go_on(&session);
    }

    fn go_on(&mut self, session: &HerdrSession) {
        let Some(ask) = self.servers.get_mut(session) else { return };
        while let Some((tag, op)) = ask.poll_op() {
            self.open.insert(self.asks.ask(op), Waiting::Server(session.clone(), tag));
        }
        if let Some(reply) = ask.take_result() {
            self.servers.remove(session);
            self.replies.insert(session.clone(), reply);
        }
    }

    /// A session that does not run has no socket, or one that nobody listens on.
    fn look_for_sockets(&mut self, names: &[DirEntry]) {
        let is_session = |entry: &&DirEntry| entry.facts.kind == FileKind::Directory && is_session_name(&entry.name);
        let mut names: Vec<String> = names.iter().filter(is_session).map(|entry| entry.name.clone()).collect();
        names.sort();
        names.truncate(MAX_HERDR_SESSIONS);
        for session in names.iter().map(|name| HerdrSession::named(name)) {
            if let Some(directory) = session.directory(&self.config) {
                let tag = self.asks.ask(Op::Stat { path: socket_in(&directory) });
                self.open.insert(tag, Waiting::Socket(session));
            }
        }
    }
}

impl Machine for Everywhere {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        match (self.open.remove(&tag), outcome) {
            (Some(Waiting::Names), Outcome::Listing { names, .. }) => self.look_for_sockets(names),
            (Some(Waiting::Socket(session)), Outcome::Facts(_)) => self.ask(now, session),
            (Some(Waiting::Server(session, tag)), outcome) => {
                if let Some(ask) = self.servers.get_mut(&session) {
                    ask.handle_outcome(now, tag, outcome);
                    self.go_on(&session);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{Everywhere, Replies};
    use crate::config::{Herdr, HerdrMode};
    use crate::io::Op;
    use crate::pane::herdr::{HerdrError, HerdrSession, Question, Reply};
    use crate::pane::simulated::{World, at, config};

    fn everywhere(world: &mut World, herdr: &Herdr) -> Replies {
        let mut machine = Everywhere::new(at(0), herdr, Question::Agents);
        world.drive(at(0), &mut machine);
        let replies = machine.take_result().expect("a result when nothing is asked any more");
        assert_eq!(machine.take_result(), None);
        replies
    }

    fn sockets(world: &World) -> Vec<&str> {
        let calls = world
            .log
            .iter()
            .filter_map(|op| if let Op::Call { socket, .. } = op { Some(socket.as_str()) } else { None });
        calls.collect()
    }

    #[test]
    fn every_session_with_a_socket_is_asked() {
        let mut world = World::new();
        for path in ["b/herdr.sock", "a/herdr.sock", "stopped/session.json", "-odd/herdr.sock"] {
            world.put(&["/home/u/.config/herdr/sessions/", path].concat(), "", 1);
        }
        for pane in ["w1:p1", "w1:p2", "w1:p3"] {
            world.answers.push_back(alloc::format!(r#"{{"result":{{"agents":[{{"pane_id":"{pane}"}}]}}}}"#).into());
        }
        let replies = everywhere(&mut world, &config().herdr);
        let panes = |reply: &Result<Reply, HerdrError>| match reply {
            Ok(Reply::Agents(agents)) => agents[0].pane.0.clone(),
            other => panic!("{other:?}"),
        };
        let labels: Vec<&str> = replies.iter().map(|(session, _)| session.label()).collect();
        assert_eq!(labels, ["default", "a", "b"]);
        // The world answers the newest question first.
        assert_eq!(
            sockets(&world),
            [
                "/run/herdr.sock",
                "/home/u/.config/herdr/sessions/b/herdr.sock",
                "/home/u/.config/herdr/sessions/a/herdr.sock"
            ]
        );
        let panes: Vec<_> = replies.iter().map(|(_, reply)| panes(reply)).collect();
        assert_eq!(panes, ["w1:p1", "a/w1:p3", "b/w1:p2"]);
    }

    #[test]
    fn one_that_fails_is_told_and_holds_nobody() {
        let mut world = World::new();
        world.put("/home/u/.config/herdr/sessions/a/herdr.sock", "", 1);
        world.answers.push_back(br#"{"error":{"code":"timeout","message":"too slow"}}"#.to_vec());
        world.answers.push_back(br#"{"result":{"agents":[]}}"#.to_vec());
        let replies = everywhere(&mut world, &config().herdr);
        let slow = Err(HerdrError::Failed("herdr agent list: too slow".into()));
        assert_eq!(replies, [(HerdrSession::DEFAULT, slow), (HerdrSession::named("a"), Ok(Reply::Agents(Vec::new())))]);
    }

    #[test]
    fn herdr_that_is_off_is_not_looked_for() {
        let mut world = World::new();
        let replies = everywhere(&mut world, &Herdr { mode: HerdrMode::Off, ..config().herdr });
        assert_eq!(replies, [(HerdrSession::DEFAULT, Err(HerdrError::Absent))]);
        assert!(world.log.is_empty());
    }
}
