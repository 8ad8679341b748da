//! The root machine: routes inputs to the machines below it and drains them.
//!
//! ```text
//!   file bytes ──▶ Follower ──▶ entries ──▶ ring ──┐
//!   herdr, disk ──▶ Resolve ──▶ Session ───────────┼──▶ Client ──▶ frames
//!   requests ──▶ route ──▶ exchange ───────────────┘
//! ```
//!
//! # The one rule
//! One [`Input`], then [`poll_output`](Bridge::poll_output) until [`Output::Wait`]; then the next input, or
//! [`Input::Tick`] at the deadline that came with it. An input in between is refused with [`Misuse::NotDrained`].
//!
//! ```no_run
//! use panewire_core::io::{Input, Output};
//! use panewire_core::time::Now;
//! use panewire_core::Bridge;
//!
//! # fn now() -> Now { Now::default() }
//! # fn next_input() -> Input<'static> { Input::Tick }
//! # fn perform(_: Output) {}
//! # fn serve(mut bridge: Bridge) -> Result<(), panewire_core::Misuse> {
//! loop {
//!     // 1. Drain: perform operations, answer requests, queue frames.
//!     let until = loop {
//!         match bridge.poll_output() {
//!             Output::Wait { until, .. } => break until,
//!             output => perform(output),
//!         }
//!     };
//!     // 2. Flush the touched sockets, and wait for an input, but not beyond `until`.
//!     # let _ = until;
//!     // 3. Hand it in.
//!     bridge.handle_input(now(), next_input())?;
//! }
//! # }
//! ```

mod announced;
mod attached;
mod bodies;
mod cards;
mod counting;
mod demo;
mod devices;
mod errands;
mod events;
mod exchange;
mod feeds;
mod hints;
mod listeners;
mod long_lines;
mod ops;
mod own_token;
mod push;
mod rosters;
mod rotation;
mod sessions;
mod snapshots;
mod store;
mod streams;
mod tallies;
mod watch;
mod whole_entry;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

use self::announced::Announced;
use self::attached::AttachedClients;
use self::bodies::Bodies;
use self::cards::Cards;
use self::counting::Counting;
use self::demo::DemoPane;
use self::devices::Devices;
use self::errands::Errands;
use self::events::Events;
use self::exchange::Exchange;
use self::hints::Directories;
use self::listeners::Listeners;
use self::long_lines::LongLines;
use self::ops::{Ops, Owner};
use self::own_token::OwnToken;
use self::push::Push;
use self::sessions::Sessions;
use self::snapshots::Snapshots;
use self::store::IndexStore;
use self::streams::Streams;
use self::tallies::Tallies;
use self::whole_entry::WholeEntries;
use crate::config::Config;
use crate::ids::{ExId, OpId, PaneId};
use crate::io::{Fin, Input, Message, Op, Outcome, Output, Why};
use crate::limits::{CLIENTS_PER_CALL, TIMERS_PER_CALL};
use crate::machine::{Machine as _, Tag};
use crate::mobile::frames::Heartbeat;
use crate::pane::census::Census;
use crate::pane::resolve::Resolve;
use crate::time::{Instant, Now};
use crate::timers::{Timer, Timers};

/// The whole protocol core. See the [module](self) for how it is driven.
#[derive(Debug)]
pub struct Bridge {
    config: Config,
    now: Now,
    outputs: VecDeque<Output>,
    drained: bool,
    stopping: bool,
    /// Clients that may still be served before the core yields.
    turns_left: usize,
    timers: Timers,
    ops: Ops,
    exchanges: BTreeMap<ExId, Exchange>,
    bodies: Bodies,
    connecting: Connecting,
    listing: Option<Listing>,
    sessions: Sessions,
    streams: Streams,
    counting: Counting,
    directories: Directories,
    /// When every watched file is looked at again, whatever hints said.
    safety_net: Instant,
    whole_entries: WholeEntries,
    cards: Cards,
    errands: Errands,
    attached: AttachedClients,
    events: Events,
    listeners: Listeners,
    announced: Announced,
    snapshots: Snapshots,
    tallies: Tallies,
    push: Push,
    store: IndexStore,
    demo: DemoPane,
    devices: Devices,
    own_token: OwnToken,
    /// Clients for which something may have changed.
    dirty: BTreeSet<ExId>,
    /// Clients that wait for the next look at their file before they read it again.
    paused: BTreeSet<ExId>,
    /// Clients that wait for a look at their file which proves what they read.
    unproven: BTreeSet<ExId>,
    long_lines: LongLines,
}

/// Panes that are being resolved for those who connect to them: one question for each pane, whoever asks.
#[derive(Debug, Default)]
struct Connecting {
    last: u64,
    panes: BTreeMap<u64, (PaneId, Resolve, BTreeSet<ExId>)>,
    /// The streams of sessions of which a child is looked for, and for whom.
    children: BTreeSet<(u64, ExId)>,
}

/// A listing on its way, and who waits for it.
#[derive(Debug)]
struct Listing {
    census: Census,
    waiting: BTreeSet<ExId>,
}

impl Bridge {
    /// A bridge that has seen nothing yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let store = IndexStore::new(&config.state_dir);
        let devices = Devices::new(&config.state_dir);
        let mut bridge = Self {
            config,
            now: Now::default(),
            outputs: VecDeque::new(),
            drained: true,
            stopping: false,
            turns_left: 0,
            timers: Timers::default(),
            ops: Ops::default(),
            exchanges: BTreeMap::new(),
            bodies: Bodies::default(),
            connecting: Connecting::default(),
            listing: None,
            sessions: Sessions::default(),
            streams: Streams::default(),
            counting: Counting::default(),
            directories: Directories::default(),
            safety_net: Instant::default(),
            whole_entries: WholeEntries::default(),
            cards: Cards::default(),
            errands: Errands::default(),
            attached: AttachedClients::default(),
            events: Events::default(),
            listeners: Listeners::default(),
            announced: Announced::default(),
            snapshots: Snapshots::default(),
            tallies: Tallies::default(),
            push: Push::default(),
            store,
            demo: DemoPane::default(),
            devices,
            own_token: OwnToken::default(),
            dirty: BTreeSet::new(),
            paused: BTreeSet::new(),
            unproven: BTreeSet::new(),
            long_lines: LongLines::default(),
        };
        if bridge.is_pushing() {
            bridge.timers.set(Timer::Events, Instant::default());
        }
        bridge
    }

    /// Takes one input. Drain with [`poll_output`](Self::poll_output) until [`Output::Wait`] before the next.
    ///
    /// # Errors
    /// [`Misuse::NotDrained`] if the outputs of the input before were not drained; nothing has changed then.
    pub fn handle_input(&mut self, now: Now, input: Input<'_>) -> Result<(), Misuse> {
        if !self.drained {
            return Err(Misuse::NotDrained);
        }
        self.drained = false;
        self.now = now;
        self.turns_left = CLIENTS_PER_CALL;
        match input {
            Input::Tick => {}
            Input::Request(ex, request) => self.request(ex, &request),
            Input::Body(ex, piece, fin) => self.body(ex, piece, fin),
            Input::Message(ex, message) => self.message(ex, message),
            Input::Taken(ex, bytes) => self.taken(ex, bytes),
            Input::Gone(ex) => self.forget(ex),
            Input::Outcome(op, outcome, fin) => self.outcome(op, outcome, fin),
            Input::Hint(watch, name) => self.hinted(watch, name),
            Input::WatchEnded(watch) => self.watch_ended(watch),
            Input::Shutdown => self.shut_down(),
        }
        self.run_timers();
        Ok(())
    }

    /// The next thing to do; [`Output::Wait`] means there is nothing more until the next input.
    pub fn poll_output(&mut self) -> Output {
        loop {
            if let Some(output) = self.outputs.pop_front() {
                return output;
            }
            if self.dirty.is_empty() {
                break;
            }
            let Some(left) = self.turns_left.checked_sub(1) else {
                self.drained = true;
                return Output::Wait { until: Some(self.now.mono), why: Why::More };
            };
            self.turns_left = left;
            if let Some(ex) = self.dirty.pop_first() {
                self.pump(ex);
            }
        }
        self.drained = true;
        match self.timers.next() {
            Some((until, why)) => Output::Wait { until: Some(until), why },
            None => Output::Wait { until: None, why: Why::Idle },
        }
    }

    fn run_timers(&mut self) {
        for _ in 0..TIMERS_PER_CALL {
            // What is still due then is the deadline of the next wait, and that is over already.
            let Some(timer) = self.timers.take_due(self.now.mono) else { return };
            match timer {
                Timer::FilePoll => self.poll_files(),
                Timer::SessionPoll(no) => self.recheck(no),
                Timer::Roster(no) => self.look_at_roster(no),
                Timer::Liveness(ex) => self.check_liveness(ex),
                Timer::Grace(no) => self.drop_stream(no),
                Timer::Errand(no) => self.resume_errand(no),
                Timer::Events => self.look_for_changes(),
                Timer::Tallies => self.show_tallies(),
                Timer::Tally(no) => self.check_count(no),
                Timer::Push(no) => self.push_again(no),
                Timer::Attached(ex) => self.check_attached(ex),
                Timer::Demo => self.run_demo(),
            }
        }
    }

    fn message(&mut self, ex: ExId, message: Message<'_>) {
        let now = self.now.mono;
        if let Some(Exchange::Client { client, .. }) = self.exchanges.get_mut(&ex) {
            client.handle_message(now, message, &mut self.outputs);
            if client.is_closed() {
                self.forget(ex);
            } else {
                self.dirty.insert(ex);
            }
        } else {
            self.subscriber_message(ex, message);
            self.attached_message(ex, message);
        }
    }

    fn taken(&mut self, ex: ExId, bytes: usize) {
        let now = self.now.mono;
        if let Some(Exchange::Client { client, .. }) = self.exchanges.get_mut(&ex) {
            client.handle_taken(now, bytes);
            self.dirty.insert(ex);
        } else {
            self.subscriber_taken(ex, bytes);
            self.attached_taken(ex, bytes);
            self.whole_entry_taken(ex, bytes);
        }
    }

    fn outcome(&mut self, op: OpId, outcome: Outcome<'_>, fin: Fin) {
        let route = if fin == Fin::Last { self.ops.take(op) } else { self.ops.peek(op) };
        let (owner, tag) = route.unwrap_or((Owner::Nobody, Tag(0)));
        let now = self.now;
        if let Outcome::Opened { handle, .. } = outcome {
            self.ops.opened(owner, handle);
        }
        match owner {
            Owner::Connect(no) => {
                if let Some((_, resolve, _)) = self.connecting.panes.get_mut(&no) {
                    resolve.handle_outcome(now, tag, outcome);
                    return self.run_connect(no);
                }
            }
            Owner::Recheck(no) => {
                if let Some(recheck) = self.sessions.session_mut(no).and_then(|session| session.recheck.as_mut()) {
                    recheck.handle_outcome(now, tag, outcome);
                    return self.run_recheck(no);
                }
            }
            Owner::Stream(no) => {
                if let Some(stream) = self.streams.stream_mut(no) {
                    stream.follower.handle_outcome(now, tag, outcome);
                    return self.run_stream(no);
                }
            }
            Owner::Feed(no) => {
                if let Some(feed) = self.streams.feed_mut(no) {
                    feed.handle_outcome(now, tag, outcome);
                    return self.run_feed(no);
                }
            }
            Owner::Roster(no) => {
                if let Some(roster) = self.streams.roster_mut(no) {
                    roster.handle_outcome(now, tag, outcome);
                    return self.run_roster(no);
                }
            }
            Owner::Client(ex) => return self.client_outcome(ex, tag, outcome),
            Owner::WholeEntry(ex) => return self.whole_entry_outcome(ex, outcome),
            Owner::Card(no) => return self.card_outcome(no, tag, outcome),
            Owner::Errand(no) => return self.errand_outcome(no, tag, outcome),
            Owner::Attached(ex, part) => return self.attached_outcome(ex, part, tag, outcome),
            Owner::Census => {
                if let Some(listing) = &mut self.listing {
                    listing.census.handle_outcome(now, tag, outcome);
                    return self.run_listing();
                }
            }
            Owner::Survey => return self.survey_outcome(tag, outcome),
            Owner::Tally(no) => return self.glance_outcome(no, tag, outcome),
            Owner::Listener(no) => return self.heard(no, outcome),
            Owner::Push(no) => return self.push_outcome(no, tag, outcome),
            Owner::Store => {
                self.store.handle_outcome(now, tag, outcome);
                return self.ops.issue_all(Owner::Store, &mut self.store, &mut self.outputs);
            }
            Owner::Spools => return self.spools_listed(outcome),
            Owner::Announced => return self.announced_outcome(tag, outcome),
            Owner::Watches => {
                self.directories.handle_outcome(now, tag, outcome);
                return self.run_directories();
            }
            Owner::Token => return self.token_outcome(outcome),
            Owner::Devices => return self.register_outcome(tag, outcome),
            Owner::Demo => return self.demo_outcome(tag, outcome),
            Owner::Nobody => {}
        }
        // A file that was opened for somebody who is gone.
        if let Outcome::Opened { handle, .. } = outcome {
            self.ops.issue(Owner::Nobody, tag, Op::CloseFile { handle }, &mut self.outputs);
        }
    }

    fn check_liveness(&mut self, ex: ExId) {
        let Some(Exchange::Client { client, session }) = self.exchanges.get_mut(&ex) else {
            self.check_body(ex);
            self.check_subscriber(ex);
            return self.check_whole_entry(ex);
        };
        let Some(session) = self.sessions.session(*session) else { return };
        let beat = Heartbeat {
            head_seq: self.streams.stream(session.stream).map_or(0, |stream| stream.follower.index().total()),
            agent_status: session.resolved.agent.as_ref().map(|agent| agent.status.as_str()),
            server_time: self.now.wall,
        };
        client.handle_tick(self.now.mono, &beat, &mut self.outputs);
        if client.is_closed() {
            self.forget(ex);
        } else {
            self.timers.set(Timer::Liveness(ex), client.next_deadline());
        }
    }

    fn after(&self, wait: core::time::Duration) -> Instant {
        self.now.mono.plus(wait)
    }
}

/// A call that the face does not allow: a fault of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// An input came before the outputs of the last one were drained.
    NotDrained,
}

impl core::fmt::Display for Misuse {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NotDrained => f.write_str("handle_input was called before poll_output returned Wait"),
        }
    }
}

impl core::error::Error for Misuse {}
