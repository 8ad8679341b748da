//! What a stranger cannot exceed, and what it sees when it tries. (Pages that wait: `sim_pages`; long messages:
//! `sim_clients`.)

use core::time::Duration;

use panewire_conformance::herdr::{Mode, Pane};
use panewire_conformance::sim::disk::{Access, Effect, OpKind};
use panewire_conformance::sim::scene::{CWD, PANE};
use panewire_conformance::sim::{Frames as _, Scene, TOKEN, Transcript, World};
use panewire_core::ids::ExId;
use panewire_core::limits::{MAX_COUNTING, MAX_EXCHANGES, MAX_READ_BYTES, MAX_STREAMS, STREAM_GRACE};

/// Another session with a pane of its own: so many entries with so many bytes each.
fn open_pane(world: &mut World, number: usize, entries: usize, bytes: usize) -> (String, Transcript) {
    let mut agent = Transcript::new(&format!("session-{number}"), CWD);
    let talk: String = (0..entries).map(|_| agent.assistant(&"x".repeat(bytes))).collect();
    world.disk.append(&agent.path(), talk);
    let pane = format!("w9:p{number}");
    world.herdr.open(Pane::claude(&pane, CWD).with_session(agent.session()));
    (pane, agent)
}

fn target(pane: &str) -> String {
    format!("/agent-transcript?pane={pane}&token={TOKEN}")
}

fn scans(accesses: &[Access]) -> usize {
    accesses.iter().filter(|access| access.kind == OpKind::Read && access.len == MAX_READ_BYTES).count()
}

#[test]
fn one_client_too_many_is_told_to_try_again() {
    let mut scene = Scene::with_entries(3);
    scene.world.herdr.set_mode(Mode::Wedged);
    let clients: Vec<ExId> = (0..MAX_EXCHANGES).map(|_| scene.world.connect(&target(PANE))).collect();
    let refused = scene.world.connect(&target(PANE));
    scene.world.run();
    let answer = scene.world.client(refused).answer().unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (503, "too many clients: try again later\n"));
    scene.world.leave(clients[0]);
    let next = scene.world.connect(&target(PANE));
    scene.world.run();
    assert!(scene.world.client(next).answer().is_none());
}

#[test]
fn one_pane_too_many_is_told_to_try_again_until_somebody_leaves_another() {
    let mut world = World::new();
    let mut clients = Vec::new();
    for number in 0..MAX_STREAMS {
        let (pane, _) = open_pane(&mut world, number, 1, 1);
        clients.push(world.watch(&pane));
    }
    let (pane, _) = open_pane(&mut world, MAX_STREAMS, 1, 1);
    let refused = world.watch(&pane);
    let answer = world.client(refused).answer().unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (503, "too many panes are watched: try again later\n"));
    let another = world.watch("w9:p7");
    assert!(world.client(another).accepted(), "a pane that is watched already needs no more");
    world.leave(clients[3]);
    let next = world.watch(&pane);
    assert_eq!(world.client(next).received().only("hello").number("total"), 1);
    world.finish();
}

#[test]
fn a_few_sessions_are_counted_at_once_and_the_others_in_their_order() {
    let mut world = World::new();
    let slow = Duration::from_millis(100);
    let (live_pane, mut live) = open_pane(&mut world, 0, 3, 1);
    let watcher = world.watch(&live_pane);
    world.fresh(watcher);
    let panes: Vec<_> = (1..=12).map(|number| open_pane(&mut world, number, 40, 20_000)).collect();
    for (_, agent) in &panes {
        world.disk.spoil(OpKind::Read, &agent.path(), Effect::Slow(slow));
    }
    let clients: Vec<ExId> = panes.iter().map(|(pane, _)| world.connect(&target(pane))).collect();
    // The first and the last piece of each, which decide how the upgrade is answered.
    world.advance(slow * 2);
    world.disk.take_accesses();
    let mut greeted = Vec::new();
    for _ in 0..40 {
        let talk = live.talk(1);
        world.disk.append(&live.path(), talk);
        world.advance(slow);
        let begun = scans(&world.disk.take_accesses());
        assert!(begun <= 2 * MAX_COUNTING, "{begun} reads");
        let waiting = |client: &&ExId| !greeted.contains(*client) && !world.client(**client).received().is_empty();
        let new: Vec<ExId> = clients.iter().filter(waiting).copied().collect();
        greeted.extend(new);
    }
    assert_eq!(greeted, clients, "who came first is counted first");
    // Who is live waits for none of this: never longer than a poll.
    world.advance(Duration::from_millis(250));
    assert_eq!(world.fresh(watcher).seqs(), (4..=43).collect::<Vec<_>>());
    for client in clients {
        assert_eq!(world.client(client).received().only("hello").number("total"), 40);
    }
    world.finish();
}

#[test]
fn a_session_that_cannot_be_read_on_gives_its_turn_to_others() {
    let mut world = World::new();
    let stuck: Vec<_> = (0..MAX_COUNTING).map(|number| open_pane(&mut world, number, 20, 20_000)).collect();
    let clients: Vec<ExId> = stuck.iter().map(|(pane, _)| world.watch(pane)).collect();
    // All of them are found rewritten, and cannot be read from then on.
    for (_, agent) in &stuck {
        world.disk.replace(&agent.path(), Transcript::new("other", CWD).talk(9));
        world.disk.spoil(OpKind::Read, &agent.path(), Effect::Fail(panewire_core::io::FailureKind::Other));
    }
    world.advance(Duration::from_secs(3));
    let (pane, _) = open_pane(&mut world, 99, 5, 1);
    let client = world.watch(&pane);
    world.advance(Duration::from_secs(1));
    assert_eq!(world.client(client).received().only("hello").number("total"), 5);
    world.disk.heal();
    world.advance(Duration::from_secs(1));
    for client in clients {
        assert_eq!(world.fresh(client).kinds().last(), Some(&"backlog_complete"));
        assert_eq!(world.client(client).received().iter().filter(|frame| frame.kind() == "hello").count(), 2);
    }
    world.advance(STREAM_GRACE);
    world.finish();
}
