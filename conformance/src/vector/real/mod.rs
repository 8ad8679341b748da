//! The stage around a real server: sockets, files and a herdr that are real, and time that passes by itself.
//!
//! ```text
//!  Launch ──► Machine: home, herdr (command and socket), token ──┐
//!                                                                ├──► Real: Stage
//!  Running: a server that somebody else started ─────────────────┘
//! ```
//!
//! Each play has a server and a machine of its own, so that many can run side by side. Nothing of them is left afterwards.

mod address;
mod client;
mod exchange;
mod home;
mod interrupt;
mod launch;
mod machine;
mod process;
mod running;
mod template;

use core::time::Duration;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::geteuid;
use tungstenite::handshake::client::generate_key;
use tungstenite::handshake::derive_accept_key;

pub use interrupt::{interrupt, is_interrupted};
pub use launch::Launch;
pub use running::Running;
pub use template::Template;

use self::address::Address;
use self::client::{Client, timespec};
use self::home::Home;
use self::launch::Started;
use self::machine::Machine;
use self::process::Process;
use crate::fake_herdr::DeskFile;
use crate::herdr::Desk;
use crate::vector::document::Vector;
use crate::vector::stage::{Answered, Asked, Change, Heard, Stage, Trouble, Welcome};
use crate::vector::step::{Herdr, Message, Need, Speed};

/// How long the stage waits at a time before it looks whether it shall end.
const HEED: Duration = Duration::from_millis(100);

/// How a server is come by.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// It is started for each vector.
    Launch(&'a Launch),
    /// It runs already.
    Running(&'a Running),
}

/// A real server and its clients, for one vector at a time.
#[derive(Debug)]
pub struct Real<'a> {
    subject: Subject<'a>,
    patience: Duration,
    began: Instant,
    place: Option<Place>,
    clients: BTreeMap<String, Client>,
}

/// What is there while a vector is played. The server goes first.
#[derive(Debug)]
struct Place {
    process: Option<Process>,
    obedient: bool,
    address: Address,
    token: String,
    home: Option<Home>,
    desk: Option<DeskFile>,
    machine: Option<Machine>,
}

impl<'a> Real<'a> {
    /// A stage on which nothing was set yet. Everything that must come may take as long as this, if the vector has less
    /// patience.
    #[must_use]
    pub fn new(subject: Subject<'a>, patience: Duration) -> Self {
        Self { subject, patience, began: Instant::now(), place: None, clients: BTreeMap::new() }
    }

    fn place(&mut self) -> Result<&mut Place, Trouble> {
        self.place.as_mut().ok_or_else(|| Trouble("no vector is played".into()))
    }

    fn of(&mut self, client: &str) -> Result<&mut Client, Trouble> {
        self.clients.get_mut(client).ok_or_else(|| Trouble::no_client(client))
    }

    /// Takes what comes for every client, until this is there or the time is over.
    fn pump(&mut self, within: Duration, there: impl Fn(&BTreeMap<String, Client>) -> bool) -> Result<(), Trouble> {
        let until = Instant::now() + within;
        loop {
            interrupt::check()?;
            self.clients.values_mut().for_each(Client::take);
            let left = until.saturating_duration_since(Instant::now());
            if there(&self.clients) || left.is_zero() {
                return Ok(());
            }
            if self.clients.values().any(Client::has_more) {
                continue;
            }
            let sockets: Vec<BorrowedFd<'_>> = self.clients.values().filter_map(Client::waits_on).collect();
            let mut waiting: Vec<PollFd<'_>> =
                sockets.iter().map(|socket| PollFd::from_borrowed_fd(*socket, PollFlags::IN)).collect();
            match poll(&mut waiting, Some(&timespec(left.min(HEED)))) {
                Ok(_) => {}
                Err(error) if io::Error::from(error).kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Trouble(format!("cannot wait for the server: {error}"))),
            }
        }
    }

    /// What happened to a server that ended by itself.
    fn died(&mut self) -> Option<Trouble> {
        let process = self.place.as_mut()?.process.as_mut()?;
        let status = process.status().ok().flatten()?;
        Some(Trouble(format!("the server ended by itself, with {status}\n{}", process.last_words())))
    }

    /// Why the server cannot be reached, in its own words if it has any.
    fn explained(&mut self, trouble: Trouble) -> Trouble {
        self.died().unwrap_or(trouble)
    }
}

impl Place {
    fn launched(launch: &Launch, vector: &Vector) -> Result<Self, Trouble> {
        let machine = launch.machine(|home| desk(vector, home))?;
        let mut home = Home::at(machine.home());
        home.put(vector)?;
        let obedient = vector.needs().contains(&Need::Spoil);
        let Started { process, address, token } = launch.start(&machine, obedient)?;
        let desk = Some(machine.desk().clone());
        let (process, home, machine) = (Some(process), Some(home), Some(machine));
        Ok(Self { process, obedient, address, token, home, desk, machine })
    }

    fn lent(running: &Running, vector: &Vector) -> Result<Self, Trouble> {
        if let Some(why) = running.unfit(vector) {
            return Err(Trouble(why));
        }
        let mut place = Self {
            process: None,
            obedient: false,
            address: running.address().clone(),
            token: running.token().into(),
            home: running.home().map(Home::at),
            desk: running.desk(),
            machine: None,
        };
        let put = place.home.as_mut().map_or(Ok(()), |home| home.put(vector));
        let known = desk(vector, &place.directory());
        let told = put.and_then(|()| place.say(&known));
        // What was put there must not stay when the rest cannot follow.
        told.inspect_err(|_| drop(place.clear())).map(|()| place)
    }

    /// The home directory of the agents, as herdr names it.
    fn directory(&self) -> String {
        self.home.as_ref().map(|home| home.directory().to_string_lossy().into_owned()).unwrap_or_default()
    }

    fn say(&self, desk: &Desk) -> Result<(), Trouble> {
        let Some(file) = &self.desk else { return Ok(()) };
        file.write(desk).map_err(|error| Trouble(format!("cannot say what herdr knows: {error}")))
    }

    fn clear(&mut self) -> Result<(), Trouble> {
        if self.machine.is_some() {
            return Ok(());
        }
        let said = self.say(&Desk::default());
        self.home.as_mut().map_or(Ok(()), Home::clear).and(said)
    }
}

/// What herdr knows on a machine with this home directory.
fn desk(vector: &Vector, home: &str) -> Desk {
    let mut desk = Desk::default();
    vector.herdr.panes.iter().for_each(|pane| pane.put(&mut desk, home));
    desk
}

impl Stage for Real<'_> {
    fn lacks(&self, need: Need) -> Option<&'static str> {
        match (need, self.subject) {
            (Need::Restart, Subject::Running(_)) => Some("the server is not the kit's to start anew"),
            (Need::SpoilOpen, _) => Some("who has a file open can go on reading it: played on the core"),
            (Need::Spoil, _) if !process::can_be_obedient() => Some("as root every file can be read: use another user"),
            (Need::Spoil, Subject::Running(_)) if geteuid().is_root() => {
                Some("a server of root's can read every file: use another user")
            }
            (Need::Restart, Subject::Launch(_)) | (Need::Spoil, _) => None,
        }
    }

    fn set(&mut self, vector: &Vector) -> Result<(), Trouble> {
        self.place = Some(match self.subject {
            Subject::Launch(launch) => Place::launched(launch, vector)?,
            Subject::Running(running) => Place::lent(running, vector)?,
        });
        self.began = Instant::now();
        Ok(())
    }

    fn change(&mut self, file: &str, change: &Change) -> Result<(), Trouble> {
        let home = self.place()?.home.as_mut();
        home.ok_or_else(|| Trouble(format!("{file} can be put nowhere")))?.change(file, change)
    }

    fn herdr(&mut self, change: &Herdr) -> Result<(), Trouble> {
        let place = self.place()?;
        let home = place.directory();
        let desk = place.desk.as_ref().ok_or_else(|| Trouble("herdr is not the kit's".into()))?;
        let changed = desk.change(|desk| match change {
            Herdr::Pane(pane) => pane.put(desk, &home),
            Herdr::Close(pane) => desk.panes.retain(|other| other.pane_id != *pane),
            Herdr::Answers(_) | Herdr::Fails(_) | Herdr::Hangs(_) => {
                desk.socket = change.mode().unwrap_or_default();
                desk.cli = desk.socket.clone();
            }
        });
        changed.map_err(|error| Trouble(format!("cannot say what herdr knows: {error}")))
    }

    fn typed(&mut self, pane: &str) -> Result<Vec<String>, Trouble> {
        let desk = self.place()?.desk.as_ref().ok_or_else(|| Trouble("herdr is not the kit's".into()))?;
        let mut typed = Vec::new();
        let taken = desk.change(|desk| typed = desk.take_typed(pane));
        taken.map(|()| typed).map_err(|error| Trouble(format!("what was typed cannot be read: {error}")))
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn patience(&self, within: Duration) -> Duration {
        within.max(self.patience)
    }

    fn pass(&mut self, time: Duration) -> Result<(), Trouble> {
        self.pump(time, |_| false)
    }

    fn connect(&mut self, client: &str, asked: &Asked, within: Duration) -> Result<Option<Welcome>, Trouble> {
        let key = generate_key();
        let own = [
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", &key),
        ];
        let reply = exchange::ask(&self.place()?.address, asked, &own, within);
        let Some(mut reply) = reply.map_err(|trouble| self.explained(trouble))? else { return Ok(None) };
        if reply.answered.status != 101 {
            return Ok(Some(Welcome::Refused(reply.answered)));
        }
        let accepted = reply.answered.headers.get("sec-websocket-accept");
        if accepted != Some(&derive_accept_key(key.as_bytes())) {
            reply.answered.body = "(Sec-WebSocket-Accept is not what follows from the key)".into();
            return Ok(Some(Welcome::Refused(reply.answered)));
        }
        let connected = Client::new(reply.stream, reply.behind);
        let connected = connected.map_err(|error| Trouble(format!("cannot use the socket: {error}")))?;
        self.clients.insert(client.into(), connected);
        Ok(Some(Welcome::Open))
    }

    fn request(&mut self, asked: &Asked, within: Duration) -> Result<Option<Answered>, Trouble> {
        let reply = exchange::ask(&self.place()?.address, asked, &[("Connection", "close")], within);
        Ok(reply.map_err(|trouble| self.explained(trouble))?.map(|reply| reply.answered))
    }

    fn say(&mut self, client: &str, message: &Message) -> Result<(), Trouble> {
        self.of(client)?.say(message);
        Ok(())
    }

    fn hear(&mut self, client: &str, within: Duration) -> Result<Heard, Trouble> {
        if !self.of(client)?.has_heard() {
            self.pump(within, |clients| clients.get(client).is_some_and(Client::has_heard))?;
        }
        Ok(self.of(client)?.next().unwrap_or(Heard::Silence))
    }

    fn read(&mut self, client: &str, speed: Speed) -> Result<(), Trouble> {
        self.of(client)?.read(speed);
        Ok(())
    }

    fn leave(&mut self, client: &str) -> Result<(), Trouble> {
        self.clients.remove(client).ok_or_else(|| Trouble::no_client(client))?.leave();
        Ok(())
    }

    fn mute(&mut self, client: &str) -> Result<(), Trouble> {
        self.of(client)?.mute();
        Ok(())
    }

    fn pings(&mut self, client: &str) -> Result<u64, Trouble> {
        self.pump(Duration::ZERO, |_| true)?;
        Ok(self.of(client)?.pings())
    }

    fn restart(&mut self) -> Result<(), Trouble> {
        let subject = self.subject;
        let place = self.place()?;
        let (Subject::Launch(launch), Some(machine), Some(mut process)) =
            (subject, place.machine.as_ref(), place.process.take())
        else {
            return Err(Trouble("the server is not the kit's to start anew".into()));
        };
        process.kill();
        let Started { process, address, token } = launch.start(machine, place.obedient)?;
        (place.process, place.address, place.token) = (Some(process), address, token);
        Ok(())
    }

    fn strike(&mut self) -> Result<(), Trouble> {
        let died = self.died();
        self.clients.clear();
        let Some(mut place) = self.place.take() else { return Ok(()) };
        if let Some(mut process) = place.process.take() {
            process.end();
        }
        died.map_or_else(|| place.clear(), Err)
    }

    fn token(&self) -> &str {
        self.place.as_ref().map_or("", |place| &place.token)
    }

    fn host(&self) -> String {
        self.place.as_ref().map(|place| place.address.host.clone()).unwrap_or_default()
    }
}
