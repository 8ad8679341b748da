//! Those beside the transcript: at terminals, following events, answering the agent.

use core::time::Duration;
use std::collections::BTreeMap;

use panewire_core::ids::ExId;
use panewire_core::limits::HERDR_BUDGET;
use serde_json::{Value, json};

use super::Stage;
use crate::sim::scene::PANE;
use crate::sim::{Ask, Speed, TOKEN};
use crate::trial::act::{Beside, Place};

/// The pane without an agent.
pub(super) const SHELL: &str = "w1:p6";

/// Of each kind so many are there at once.
const MOST: usize = 6;

/// Who is there, and what was answered so far.
#[derive(Debug, Default)]
pub(super) struct Visitors {
    attached: Vec<(ExId, Place)>,
    followers: Vec<ExId>,
    /// Answers that were asked for: since when, and whether it was an approval.
    posts: Vec<(ExId, u64, bool)>,
    shown: u32,
    questions: u32,
    /// How often Enter was pressed for the agent, and how often that was said, or is not known.
    pressed: usize,
    applied: usize,
    unknown: usize,
}

impl Visitors {
    /// The daemon is another one: all of them are gone, and what they were waiting for may have happened.
    pub(super) fn lose(&mut self) {
        self.unknown += self.posts.len();
        (self.attached, self.followers, self.posts) = (Vec::new(), Vec::new(), Vec::new());
    }

    /// How many hold something in the daemon.
    pub(super) fn count(&self) -> usize {
        2 * (self.attached.len() + self.followers.len() + self.posts.len())
    }
}

impl Stage {
    pub(super) fn beside(&mut self, act: Beside) {
        match act {
            Beside::Attaches(place, speed) => self.attaches(place, speed),
            Beside::Types(who, what) => {
                if let Some((ex, _)) = nth(&self.visitors.attached, who) {
                    self.world.say_binary(ex, format!("t{what}\u{1b}[A").as_bytes());
                }
            }
            Beside::Detaches(who) => {
                if let Some((ex, _)) = nth(&self.visitors.attached, who) {
                    self.world.leave(ex);
                }
            }
            Beside::ShellShows { told } => self.shell_shows(told),
            Beside::AgentComes(comes) => {
                if let Some(pane) = self.world.herdr.pane(SHELL) {
                    pane.agent = comes.then(|| "pi".into());
                }
            }
            Beside::Follows => {
                if self.visitors.followers.len() < MOST {
                    let ex = self.world.ask(&Ask::socket(&format!("/events?token={TOKEN}")));
                    self.visitors.followers.push(ex);
                }
            }
            Beside::Unfollows(who) => {
                if let Some(ex) = nth(&self.visitors.followers, who) {
                    self.world.leave(ex);
                }
            }
            Beside::Asks => self.asks(),
            Beside::Approves { newest } => {
                let seq = self.world.herdr.pane(PANE).map_or(0, |pane| pane.state_change_seq);
                let seq = seq.saturating_sub(u64::from(!newest));
                self.posts("/approve", &json!({"agent": PANE, "seq": seq}), true);
            }
            Beside::Sends(place, what) => {
                let pane = if place == Place::Agent { PANE } else { SHELL };
                self.posts("/send", &json!({"pane": pane, "text": format!("s{what}")}), false);
            }
        }
    }

    fn attaches(&mut self, place: Place, speed: Speed) {
        if self.visitors.attached.len() >= MOST {
            return;
        }
        let pane = if place == Place::Agent { PANE } else { SHELL };
        let target = format!("/attach?pane={pane}&token={TOKEN}");
        let ex = self.world.ask(&Ask::socket(&target).at(speed));
        self.visitors.attached.push((ex, place));
    }

    fn shell_shows(&mut self, told: bool) {
        self.visitors.shown += 1;
        let screen = format!("$ dig {}\n$\n", self.visitors.shown);
        self.world.herdr.desk.screens.insert(SHELL.into(), screen);
        if told {
            let event = json!({"event": "pane_updated", "data": {"type": "pane_updated", "pane": {"pane_id": SHELL}}});
            self.world.tell(&event.to_string(), 1);
        }
    }

    fn asks(&mut self) {
        self.visitors.questions += 1;
        let screen = format!(
            "────────────\n Bash command\n\n   dig bed {}\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel\n",
            self.visitors.questions
        );
        self.world.herdr.desk.screens.insert(PANE.into(), screen);
        self.world.herdr.desk.set_status(PANE, "blocked");
    }

    fn posts(&mut self, target: &str, body: &Value, approves: bool) {
        if self.visitors.posts.len() >= MOST {
            return;
        }
        let ex = self.world.post(target, body);
        self.visitors.posts.push((ex, self.world.elapsed(), approves));
    }

    /// What they have been told so far is in order, in time, and true.
    pub(super) fn check_visitors(&mut self) -> Result<(), String> {
        let now = self.world.elapsed();
        let budget = u64::try_from(HERDR_BUDGET.as_millis()).unwrap_or(u64::MAX);
        let typed = self.world.herdr.desk.take_typed(PANE);
        self.visitors.pressed += typed.iter().filter(|bytes| *bytes == "\r").count();
        let mut open = Vec::new();
        for (ex, since, approves) in core::mem::take(&mut self.visitors.posts) {
            let Some(answer) = self.world.client(ex).answer() else {
                if now.saturating_sub(since) > budget {
                    return Err(format!("an answer of {since} ms is still waited for at {now} ms"));
                }
                open.push((ex, since, approves));
                continue;
            };
            if !matches!(answer.status, 200 | 404 | 409 | 501 | 502 | 503) {
                return Err(format!("answered {}: {}", answer.status, answer.body));
            }
            if approves {
                self.visitors.applied += usize::from(answer.body.contains("\"applied\":true"));
                self.visitors.unknown += usize::from(answer.status != 200);
            }
        }
        self.visitors.posts = open;
        let Visitors { pressed, applied, unknown, posts, .. } = &self.visitors;
        let most = applied + unknown + posts.iter().filter(|(.., approves)| *approves).count();
        if *pressed > most {
            return Err(format!("Enter was pressed {pressed} times, and told {applied} times, {most} at most"));
        }
        let world = &self.world;
        self.visitors.attached.retain(|(ex, _)| is_there(world.client(*ex)));
        self.visitors.followers.retain(|ex| is_there(world.client(*ex)));
        self.visitors.followers.iter().try_for_each(|ex| {
            let frames = self.world.client(*ex).received();
            let numbered = frames.iter().filter(|frame| frame.kind() != "heartbeat");
            let seqs: Vec<u64> = numbered.map(|frame| frame.number("seq")).collect();
            let is_whole = seqs.windows(2).all(|pair| matches!(pair, [one, next] if one + 1 == *next));
            match frames.first().is_none_or(|first| first.kind() == "snapshot") && is_whole {
                true => Ok(()),
                false => Err(format!("a follower was told {seqs:?}")),
            }
        })
    }

    /// Everybody takes what there is, and the shell is a shell again.
    pub(super) fn visitors_have_time(&mut self) {
        self.beside(Beside::AgentComes(false));
        for (ex, _) in self.visitors.attached.clone() {
            self.world.set_speed(ex, Speed::Full);
        }
        self.shell_shows(false);
        self.beside(Beside::Attaches(Place::Shell, Speed::Full));
        self.world.advance(Duration::from_millis(1));
    }

    /// Whoever is still at the shell sees what it shows.
    pub(super) fn check_terminals(&self) -> Result<(), String> {
        let shown = format!("$ dig {}\r\n$", self.visitors.shown);
        let screens: BTreeMap<ExId, String> = self
            .visitors
            .attached
            .iter()
            .filter(|(ex, place)| *place == Place::Shell && self.world.client(*ex).accepted())
            .map(|(ex, _)| (*ex, self.world.client(*ex).screen()))
            .collect();
        match screens.iter().find(|(_, screen)| !screen.ends_with(&shown)) {
            Some((ex, screen)) => Err(format!("{ex:?} does not see {shown:?} but {screen:?}")),
            None => Ok(()),
        }
    }
}

fn is_there(client: &crate::sim::Client) -> bool {
    !client.left() && client.closing().is_none() && client.answer().is_none()
}

fn nth<T: Copy>(all: &[T], who: usize) -> Option<T> {
    all.get(who.checked_rem(all.len())?).copied()
}
