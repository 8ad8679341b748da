//! The stage around the bare core: everything is simulated, and time is virtual.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use panewire_core::Bridge;
use panewire_core::ids::ExId;
use panewire_core::io;

use crate::sim::disk::{Effect, OpKind};
use crate::sim::world::World;
use crate::sim::{Ask, TOKEN, client, config};
use crate::vector::document::Vector;
use crate::vector::stage::{Answered, Asked, Change, Heard, Stage, Trouble, Welcome};
use crate::vector::step::{Fault, Herdr, Message, Need, Speed};

/// How far time moves at once while something is waited for.
const STRIDE: Duration = Duration::from_millis(50);
/// The home directory of the simulated agents.
const HOME: &str = "/home/u/";

/// A world for one vector.
#[derive(Debug, Default)]
pub struct Simulated {
    world: Option<World>,
    clients: BTreeMap<String, Heeded>,
}

/// A client and what it heard that was not asked for yet.
#[derive(Debug)]
struct Heeded {
    ex: ExId,
    taken: usize,
    frames: VecDeque<String>,
}

impl Simulated {
    /// A stage on which nothing was set yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn world(&mut self) -> Result<&mut World, Trouble> {
        self.world.as_mut().ok_or_else(|| Trouble("no vector is played".into()))
    }

    fn of(&self, client: &str) -> Result<ExId, Trouble> {
        self.clients.get(client).map(|heeded| heeded.ex).ok_or_else(|| Trouble::no_client(client))
    }

    /// Lets time pass until this is there, or the time is over.
    fn until<T>(&mut self, within: Duration, there: impl Fn(&World) -> Option<T>) -> Result<Option<T>, Trouble> {
        let world = self.world()?;
        let mut waited = Duration::ZERO;
        loop {
            world.run();
            if let Some(found) = there(world) {
                return Ok(Some(found));
            }
            if waited >= within {
                return Ok(None);
            }
            world.advance(STRIDE);
            waited += STRIDE;
        }
    }
}

impl Stage for Simulated {
    fn lacks(&self, _: Need) -> Option<&'static str> {
        None
    }

    fn set(&mut self, vector: &Vector) -> Result<(), Trouble> {
        let mut world = World::new().lenient(true);
        for file in &vector.files {
            let path = real(&file.file);
            world.disk.write(&path, vector.bytes(&file.content)?);
            let io::FileTime(now) = world.clock().file_time();
            let age = i64::from(file.age_s) * 1_000_000_000;
            world.disk.set_modified(&path, io::FileTime(now.saturating_sub(age)));
        }
        vector.herdr.panes.iter().for_each(|pane| pane.put(&mut world.herdr.desk, HOME));
        self.world = Some(world);
        self.clients.clear();
        Ok(())
    }

    fn change(&mut self, file: &str, change: &Change) -> Result<(), Trouble> {
        let (path, disk) = (real(file), &mut self.world()?.disk);
        match change {
            Change::Append(bytes) => disk.append(&path, bytes),
            Change::Write(bytes) => disk.write(&path, bytes),
            Change::Replace(bytes) => disk.replace(&path, bytes),
            Change::Overwrite(offset, bytes) => disk.overwrite(&path, usize::try_from(*offset).unwrap_or(0), bytes),
            Change::Truncate(len) => disk.truncate(&path, usize::try_from(*len).unwrap_or(0)),
            Change::Rename(to) => disk.rename(&path, &real(to)),
            Change::Delete => disk.delete(&path),
            Change::Spoil => [OpKind::Open, OpKind::Read]
                .into_iter()
                .for_each(|kind| disk.spoil(kind, &path, Effect::Fail(io::FailureKind::Denied))),
            Change::Heal => disk.heal(),
        }
        Ok(())
    }

    fn herdr(&mut self, change: &Herdr) -> Result<(), Trouble> {
        let herdr = &mut self.world()?.herdr;
        match change {
            Herdr::Pane(pane) => pane.put(&mut herdr.desk, HOME),
            Herdr::Close(pane) => herdr.close(pane),
            Herdr::Answers(_) | Herdr::Fails(_) | Herdr::Hangs(_) => {
                herdr.set_mode(change.mode().unwrap_or_default());
            }
        }
        Ok(())
    }

    fn typed(&mut self, pane: &str) -> Result<Vec<String>, Trouble> {
        Ok(self.world()?.herdr.desk.take_typed(pane))
    }

    fn now(&self) -> Duration {
        self.world.as_ref().map_or(Duration::ZERO, |world| Duration::from_millis(world.elapsed()))
    }

    fn pass(&mut self, time: Duration) -> Result<(), Trouble> {
        self.world()?.advance(time);
        Ok(())
    }

    fn connect(&mut self, client: &str, asked: &Asked, within: Duration) -> Result<Option<Welcome>, Trouble> {
        let ask = with_headers(Ask::socket(&asked.target), asked);
        let ex = self.world()?.ask(&ask);
        let welcome = self.until(within, |world| {
            let seen = world.client(ex);
            let refused = || seen.answer().map(|answer| Welcome::Refused(answered(answer)));
            if seen.accepted() { Some(Welcome::Open) } else { refused() }
        })?;
        self.clients.insert(client.into(), Heeded { ex, taken: 0, frames: VecDeque::new() });
        Ok(welcome)
    }

    fn request(&mut self, asked: &Asked, within: Duration) -> Result<Option<Answered>, Trouble> {
        let ask = match &asked.body {
            Some(body) => Ask::post(&asked.target, body),
            None => Ask::get(&asked.target),
        };
        let ask = with_headers(ask.by(&asked.method), asked);
        let ex = self.world()?.ask(&ask);
        self.until(within, |world| world.client(ex).answer().map(answered))
    }

    fn say(&mut self, client: &str, message: &Message) -> Result<(), Trouble> {
        let ex = self.of(client)?;
        let world = self.world()?;
        match message {
            Message::Text(text) => world.say(ex, text),
            Message::Binary(bytes) => world.say_binary(ex, bytes),
            Message::Fault(Fault::NotUtf8) => world.say_wrong(ex, io::Fault::NotUtf8),
            Message::Fault(Fault::TooLarge) => world.say_wrong(ex, io::Fault::TooLarge),
            Message::Fault(Fault::Protocol) => world.say_wrong(ex, io::Fault::Protocol),
        }
        world.run();
        Ok(())
    }

    fn hear(&mut self, client: &str, within: Duration) -> Result<Heard, Trouble> {
        let ex = self.of(client)?;
        let waits = |heeded: &Heeded| !heeded.frames.is_empty();
        if !self.clients.get(client).is_some_and(waits) {
            let taken = self.clients.get(client).map_or(0, |heeded| heeded.taken);
            self.until(within, |world| {
                let seen = world.client(ex);
                (seen.received().len() > taken || seen.closed().is_some() || seen.left()).then_some(())
            })?;
            let fresh = self.world()?.fresh(ex);
            let heeded = self.clients.get_mut(client).ok_or_else(|| Trouble::no_client(client))?;
            heeded.taken += fresh.len();
            heeded.frames.extend(fresh.into_iter().map(|frame| frame.raw));
        }
        if let Some(frame) = self.clients.get_mut(client).and_then(|heeded| heeded.frames.pop_front()) {
            return Ok(Heard::Text(frame));
        }
        let seen = self.world()?.client(ex);
        Ok(match seen.closed() {
            Some((code, reason)) => Heard::Closed(code, reason.into()),
            None if seen.left() => Heard::Cut,
            None => Heard::Silence,
        })
    }

    fn read(&mut self, client: &str, speed: Speed) -> Result<(), Trouble> {
        let ex = self.of(client)?;
        let speed = match speed {
            Speed::Full => client::Speed::Full,
            Speed::Stuck => client::Speed::Stuck,
        };
        self.world()?.set_speed(ex, speed);
        Ok(())
    }

    fn leave(&mut self, client: &str) -> Result<(), Trouble> {
        let ex = self.of(client)?;
        self.world()?.leave(ex);
        self.clients.remove(client);
        Ok(())
    }

    fn mute(&mut self, client: &str) -> Result<(), Trouble> {
        let ex = self.of(client)?;
        self.world()?.stop_answering(ex);
        Ok(())
    }

    fn pings(&mut self, client: &str) -> Result<u64, Trouble> {
        let ex = self.of(client)?;
        let pings = self.world()?.client(ex).pings();
        Ok(u64::try_from(pings).unwrap_or(u64::MAX))
    }

    fn restart(&mut self) -> Result<(), Trouble> {
        self.world()?.reborn(Bridge::new(config()));
        Ok(())
    }

    fn strike(&mut self) -> Result<(), Trouble> {
        let Some(mut world) = self.world.take() else { return Ok(()) };
        world.close_down();
        world.broken().map_or(Ok(()), |broken| Err(Trouble(broken)))
    }

    fn token(&self) -> &str {
        TOKEN
    }

    fn host(&self) -> String {
        "127.0.0.1:8787".into()
    }
}

/// Opens a pane, or puts it in the place of the one of its name.
fn real(file: &str) -> String {
    file.strip_prefix("~/").map_or_else(|| file.to_owned(), |below| format!("{HOME}{below}"))
}

fn with_headers(ask: Ask, asked: &Asked) -> Ask {
    asked.headers.iter().fold(ask, |ask, (name, value)| ask.with(name, value))
}

fn answered(answer: client::Answer) -> Answered {
    let headers = answer.headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Answered { status: answer.status, headers, body: answer.body }
}
