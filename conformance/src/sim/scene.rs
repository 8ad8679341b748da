//! The scene that most scenarios begin with: one Claude Code pane in herdr, and its session on disk.

use core::time::Duration;

use panewire_core::Config;
use panewire_core::ids::ExId;

use super::client::Received;
use super::transcript::Transcript;
use super::world::World;
use crate::herdr::Pane;

/// The pane.
pub const PANE: &str = "w1:p1";
/// Its directory.
pub const CWD: &str = "/home/u/project";
/// Its session.
pub const SESSION: &str = "5e550001-0a0b-4c0d-8e0f-000000000001";
/// The session that comes after it.
pub const NEXT_SESSION: &str = "5e550002-0a0b-4c0d-8e0f-000000000002";
/// Long enough for two looks at a file.
pub const TWO_POLLS: Duration = Duration::from_millis(500);
/// Long enough for a look at the session, and for what follows from it.
pub const SESSION_POLLED: Duration = Duration::from_millis(2_500);

/// Long enough for a look at the children, and for what follows from it.
pub const ROSTER_POLLED: Duration = Duration::from_millis(3_500);

/// One pane with its session in a world.
#[derive(Debug)]
pub struct Scene {
    /// The world.
    pub world: World,
    /// What writes the session.
    pub agent: Transcript,
    /// Where it writes to.
    pub path: String,
}

impl Scene {
    /// A session of so many entries.
    #[must_use]
    pub fn with_entries(entries: u32) -> Self {
        let mut scene = Self::without_file(super::config());
        let talk = scene.agent.talk(entries);
        scene.append(&talk);
        scene
    }

    /// A session that has not written its file yet.
    #[must_use]
    pub fn without_file(config: Config) -> Self {
        let mut world = World::with(config);
        world.herdr.open(Pane::claude(PANE, CWD).with_session(SESSION));
        let agent = Transcript::new(SESSION, CWD);
        let path = agent.path();
        Self { world, agent, path }
    }

    /// The agent writes these bytes.
    pub fn append(&mut self, bytes: &str) {
        self.world.disk.append(&self.path, bytes);
    }

    /// The agent writes so many entries.
    pub fn talk(&mut self, entries: u32) {
        let talk = self.agent.talk(entries);
        self.append(&talk);
    }

    /// A child of the session appears, with metadata that names the call and the depth, and says so many things.
    pub fn spawn(&mut self, agent_id: &str, call: &str, depth: u64, entries: u32) -> Transcript {
        let mut child = self.agent.child(agent_id);
        let meta = serde_json::json!({
            "agentType": "Explore",
            "description": format!("do {call}"),
            "toolUseId": call,
            "spawnDepth": depth,
        });
        let talk = child.talk(entries);
        self.world.disk.append(&child.path(), talk);
        self.world.disk.write(&child.meta_path(), meta.to_string());
        child
    }

    /// A client connects, takes the opening, and forgets it.
    pub fn watch(&mut self) -> ExId {
        let client = self.world.watch(PANE);
        self.world.fresh(client);
        client
    }

    /// Two looks at the file later: what a client saw since it was asked last.
    pub fn polled(&mut self, client: ExId) -> Vec<Received> {
        self.world.advance(TWO_POLLS);
        self.world.fresh(client)
    }

    /// Another session of the same pane, its file written, that herdr does not know of yet.
    pub fn next_session(&mut self, entries: u32) -> Transcript {
        let mut next = Transcript::new(NEXT_SESSION, CWD);
        let talk = next.talk(entries);
        self.world.disk.append(&next.path(), talk);
        next
    }
}
