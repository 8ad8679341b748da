//! What every daemon must do, whichever runtime it stands on: one list of tests over real sockets, real files and a fake
//! herdr. A runtime's test names its program and takes this folder in as a module:
//!
//! ```ignore
//! #[path = "../../conformance/daemon/mod.rs"]
//! mod daemon;
//!
//! const PROGRAM: daemon::Program = daemon::Program { .. };
//! ```
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod answers;
mod attach;
mod card;
mod edges;
mod events;
mod load;
pub(crate) mod machine;
mod named;
mod pairing;
pub(crate) mod push;
mod refusals;
mod serve;
mod vectors;

use panewire_conformance::herdr::{Desk, Pane};
use panewire_conformance::sim::Transcript;
use panewire_conformance::sim::scene::{CWD, PANE, SESSION};

use self::machine::Machine;
pub(crate) use self::machine::Program;

fn desk() -> Desk {
    Desk { panes: vec![Pane::claude(PANE, CWD).with_session(SESSION)], ..Desk::default() }
}

/// A machine on which the session of the pane has so many entries, and the agent that goes on with it.
pub(crate) fn machine(entries: u32) -> (Machine, Transcript) {
    let machine = Machine::new(&desk());
    let mut agent = Transcript::new(SESSION, CWD);
    machine.append(&agent.path(), agent.talk(entries));
    (machine, agent)
}
