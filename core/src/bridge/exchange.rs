//! HTTP exchanges: from a request to its answer, or to the client that it becomes.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::devices::Parked;
use super::ops::Owner;
use super::rosters::{FoundChild, Sought};
use super::sessions::ChildOf;
use super::{Bridge, Listing, demo};
use crate::http::info::Info;
use crate::http::panes::Panes;
use crate::http::{self, Answer, Call, EntryCall, Manner, Refusal, Routed, TranscriptCall};
use crate::ids::{ExId, PaneId};
use crate::io::{CloseCode, Frame, Level, Output, Request};
use crate::limits::MAX_EXCHANGES;
use crate::mobile::client::{Client, Shows};
use crate::pane::census::Census;
use crate::pane::name::PaneName;
use crate::pane::resolve::{Resolve, ResolveError, Resolved};
use crate::timers::Timer;

/// What an exchange waits for.
#[derive(Debug)]
pub(super) enum Exchange {
    /// Nobody knows yet whose it is.
    Parked(Box<Parked>),
    /// A device is being paired or revoked.
    Pairing { manner: Manner },
    /// Its body is on its way.
    Body,
    /// Its pane is being resolved.
    Connecting { wanted: Wanted, manner: Manner },
    /// A child of its pane's session is being looked for.
    Finding(Box<Finding>),
    /// The listing is being made.
    Listing { manner: Manner },
    /// The card of its pane is being made.
    Card { manner: Manner },
    /// Something is done in a pane.
    Errand { manner: Manner },
    /// A snapshot is being made, for its answer or for the events that it will follow.
    Snapshot { manner: Manner, events: bool },
    /// It follows events.
    Subscribed,
    /// Who is in its pane is being asked.
    Attaching { manner: Manner },
    /// It became a client at the terminal of a pane.
    Attached,
    /// It became a client of this session.
    Client { client: Box<Client>, session: u64 },
    /// It is answered with one whole entry.
    WholeEntry,
}

/// What is wanted of a pane.
#[derive(Debug)]
pub(super) enum Wanted {
    /// Its transcript.
    Transcript(TranscriptCall),
    /// One entry of it.
    Entry(EntryCall),
    /// Its card.
    Card,
}

/// The conversation that is served: a session's own, or that of one of its children.
#[derive(Debug)]
struct Conversation {
    resolved: Resolved,
    child: Option<(ChildOf, FoundChild)>,
}

/// A child that is looked for.
#[derive(Debug)]
pub(super) struct Finding {
    wanted: Wanted,
    manner: Manner,
    resolved: Resolved,
    agent_id: String,
    /// The stream of the session that it may belong to.
    parent: u64,
}

impl Wanted {
    fn subagent(&self) -> Option<&str> {
        match self {
            Self::Transcript(TranscriptCall { subagent, .. }) | Self::Entry(EntryCall { subagent, .. }) => {
                subagent.as_deref()
            }
            Self::Card => None,
        }
    }
}

/// How an exchange ends that its client did not end.
#[derive(Debug)]
pub(super) struct Ending {
    /// For a WebSocket.
    code: CloseCode,
    reason: &'static str,
    /// For a request that has no answer yet.
    pub(super) status: u16,
    pub(super) text: &'static str,
}

impl Ending {
    /// The daemon stops.
    const STOPPED: Self =
        Self { code: CloseCode::Normal, reason: "server stopped", status: 503, text: "shutting down" };

    /// The device is none any more.
    pub(super) const REVOKED: Self =
        Self { code: CloseCode::Policy, reason: "device revoked", status: 401, text: "unauthorized" };

    /// The daemon has another token.
    pub(super) const ANOTHER_TOKEN: Self =
        Self { code: CloseCode::Policy, reason: "token rotated", status: 401, text: "unauthorized" };
}

impl Bridge {
    pub(super) fn request(&mut self, ex: ExId, request: &Request<'_>) {
        if self.must_park(request) {
            return self.park(ex, request);
        }
        let Routed { call, manner, caller } = match http::route(request, &self.config, self.devices.register()) {
            Ok(routed) => routed,
            Err(refusal) if self.may_bring_new_token(request, &refusal) => return self.park(ex, request),
            Err(refusal) => return self.answer(ex, refusal.into()),
        };
        if self.stopping {
            return self.answer(ex, Answer::text(503, "shutting down", &manner));
        }
        if self.exchanges.len() >= MAX_EXCHANGES {
            return self.answer(ex, Answer::text(503, "too many clients: try again later", &manner));
        }
        self.note_caller(ex, caller);
        self.perform(ex, call, manner);
    }

    /// Does what is wanted, or begins to.
    pub(super) fn perform(&mut self, ex: ExId, call: Call, manner: Manner) {
        match call {
            Call::Posted(post) => self.await_body(ex, post, manner),
            Call::Healthz => self.answer(ex, Answer::text(200, "ok", &manner)),
            Call::Site(page) => self.answer(ex, page.answer(&manner)),
            Call::Drift => self.answer(ex, Answer::json(self.streams.drift(), &manner)),
            Call::Info => {
                let answer = Answer::json(&Info::of(&self.config, self.devices.of(ex)), &manner);
                self.answer(ex, answer);
            }
            Call::Offer(grant) => self.offer(ex, grant, manner),
            Call::Pair(call) => self.pair(ex, &call, manner),
            Call::Devices => self.list_devices(ex, &manner),
            Call::Revoke(id) => self.revoke(ex, &id, manner),
            Call::Preflight => self.answer(ex, Answer::empty(204, &manner)),
            Call::Panes => {
                self.exchanges.insert(ex, Exchange::Listing { manner });
                self.list(ex);
            }
            Call::Snapshot => self.snapshot(ex, manner, false),
            Call::Events { upgrade: true } => self.follow_events(ex, manner),
            Call::Events { upgrade: false } => self.answer(ex, Answer::upgrade_required(&manner)),
            Call::Card(pane) if PaneName::of(&pane) == PaneName::Herdr => self.inspect(ex, pane, manner),
            Call::Card(pane) => self.connect(ex, pane, Wanted::Card, manner),
            Call::Transcript(call) => self.connect(ex, call.pane.clone(), Wanted::Transcript(call), manner),
            Call::Send(call) => self.send(ex, call, manner),
            Call::Approve(call) => self.approve(ex, call, manner),
            Call::CycleMode(pane) => self.cycle_mode(ex, pane, manner),
            Call::Attach(call) => self.attach(ex, call, manner),
            Call::Entry(call) => self.connect(ex, call.pane.clone(), Wanted::Entry(call), manner),
        }
    }

    fn connect(&mut self, ex: ExId, pane: PaneId, wanted: Wanted, manner: Manner) {
        self.exchanges.insert(ex, Exchange::Connecting { wanted, manner });
        if pane.as_str() == demo::PANE {
            self.connect_demo(ex);
        } else {
            self.resolve(ex, pane);
        }
    }

    /// Goes on with the resolution of a pane, and settles everybody who waits for it when it is done.
    pub(super) fn run_connect(&mut self, no: u64) {
        let Some((_, resolve, _)) = self.connecting.panes.get_mut(&no) else { return };
        self.ops.issue_all(Owner::Connect(no), resolve, &mut self.outputs);
        let Some(result) = resolve.take_result() else { return };
        let Some((_, _, waiting)) = self.connecting.panes.remove(&no) else { return };
        for ex in waiting {
            match self.exchanges.remove(&ex) {
                Some(Exchange::Connecting { wanted, manner }) => self.settle(ex, wanted, manner, result.clone()),
                Some(other) => drop(self.exchanges.insert(ex, other)),
                None => {}
            }
        }
    }

    /// Goes on with the listing, and answers everybody who waits for it when it is done.
    pub(super) fn run_listing(&mut self) {
        let Some(listing) = &mut self.listing else { return };
        self.ops.issue_all(Owner::Census, &mut listing.census, &mut self.outputs);
        let Some(found) = listing.census.take_result() else { return };
        let Some(Listing { waiting, .. }) = self.listing.take() else { return };
        for ex in waiting {
            match self.exchanges.get(&ex) {
                Some(Exchange::Listing { manner }) => {
                    let answer = Answer::json(&Panes::from(&found), manner);
                    self.exchanges.remove(&ex);
                    self.answer(ex, answer);
                }
                Some(Exchange::Connecting { .. }) if found.demo => self.begin_demo(ex),
                // There is something else to follow: then the demo is a pane like any other that is not there.
                Some(Exchange::Connecting { .. }) => self.resolve(ex, demo::PANE.into()),
                Some(
                    Exchange::Parked(_)
                    | Exchange::Pairing { .. }
                    | Exchange::Body
                    | Exchange::Client { .. }
                    | Exchange::WholeEntry
                    | Exchange::Finding(_)
                    | Exchange::Card { .. }
                    | Exchange::Errand { .. }
                    | Exchange::Snapshot { .. }
                    | Exchange::Subscribed
                    | Exchange::Attaching { .. }
                    | Exchange::Attached,
                )
                | None => {}
            }
        }
    }

    /// Forgets an exchange, whatever it was doing.
    pub(super) fn forget(&mut self, ex: ExId) {
        self.leave_device(ex);
        self.own_token.leave(ex);
        match self.exchanges.remove(&ex) {
            Some(Exchange::Parked(_)) => self.leave_parked(),
            Some(Exchange::Pairing { .. }) => self.leave_pairing(ex),
            Some(Exchange::Client { session, .. }) => self.leave(ex, session),
            Some(Exchange::WholeEntry) => self.leave_whole_entry(ex),
            Some(Exchange::Body) => drop(self.leave_body(ex)),
            Some(Exchange::Card { .. }) => self.leave_card(ex),
            Some(Exchange::Errand { .. }) => self.leave_errand(ex),
            Some(Exchange::Snapshot { .. }) => self.snapshots.forget(ex),
            Some(Exchange::Subscribed) => self.unsubscribe(ex),
            Some(Exchange::Attaching { .. } | Exchange::Attached) => self.leave_attached(ex),
            Some(Exchange::Finding(finding)) => {
                self.connecting.children.remove(&(finding.parent, ex));
                self.release(finding.parent);
            }
            Some(Exchange::Connecting { .. } | Exchange::Listing { .. }) => {
                self.connecting.forget(ex);
                self.demo.forget(ex);
                if let Some(listing) = &mut self.listing {
                    listing.waiting.remove(&ex);
                }
            }
            None => {}
        }
    }

    /// Closes every client with 1000, and refuses whoever still waits or comes.
    pub(super) fn shut_down(&mut self) {
        self.stopping = true;
        let open: BTreeSet<ExId> = self.exchanges.keys().copied().collect();
        for ex in open {
            self.end(ex, &Ending::STOPPED);
        }
        self.stop_listening();
        for no in self.streams.numbers() {
            self.save_index(no, true);
        }
    }

    /// Ends an exchange, whatever it is doing: a client is closed, and who still waits is refused.
    pub(super) fn end(&mut self, ex: ExId, ending: &Ending) {
        let refusal = |manner: &Manner| Answer::text(ending.status, ending.text, manner);
        match self.exchanges.get_mut(&ex) {
            Some(Exchange::Client { client, .. }) => client.close(ending.code, ending.reason, &mut self.outputs),
            Some(
                Exchange::Connecting { manner, .. }
                | Exchange::Listing { manner }
                | Exchange::Card { manner }
                | Exchange::Snapshot { manner, .. }
                | Exchange::Attaching { manner }
                | Exchange::Pairing { manner },
            ) => {
                let answer = refusal(manner);
                self.answer(ex, answer);
            }
            Some(Exchange::Finding(finding)) => {
                let answer = refusal(&finding.manner);
                self.answer(ex, answer);
            }
            // Its origin was not looked at yet.
            Some(Exchange::Parked(_)) => self.answer(ex, refusal(&Manner::default())),
            Some(Exchange::Subscribed) => self.close_subscriber(ex, ending.code, ending.reason),
            Some(Exchange::WholeEntry) => self.stop_whole_entry(ex, refusal),
            Some(Exchange::Body) => self.stop_body(ex, refusal),
            Some(Exchange::Errand { manner }) => {
                let manner = manner.clone();
                self.stop_errand(ex, ending, &manner);
            }
            Some(Exchange::Attached) => self.close_attached(ex, ending.code, ending.reason),
            None => {}
        }
        self.forget(ex);
    }

    /// Finds out what a pane shows, for one more who asks.
    pub(super) fn resolve(&mut self, ex: ExId, pane: PaneId) {
        if let Some((_, _, waiting)) = self.connecting.panes.values_mut().find(|(asked, _, _)| *asked == pane) {
            waiting.insert(ex);
            return;
        }
        let resolve = Resolve::connect(self.now, &self.config, pane.clone(), self.demo.located());
        self.connecting.last = self.connecting.last.saturating_add(1);
        let no = self.connecting.last;
        self.connecting.panes.insert(no, (pane, resolve, BTreeSet::from([ex])));
        self.run_connect(no);
    }

    pub(super) fn list(&mut self, ex: ExId) {
        if let Some(listing) = &mut self.listing {
            listing.waiting.insert(ex);
            return;
        }
        let census = Census::new(self.now, &self.config);
        self.listing = Some(Listing { census, waiting: BTreeSet::from([ex]) });
        self.run_listing();
    }

    /// The pane is known, or there is a reason why not: answers, or takes the client in.
    fn settle(&mut self, ex: ExId, wanted: Wanted, manner: Manner, result: Result<Resolved, ResolveError>) {
        let resolved = match result {
            Ok(resolved) => resolved,
            Err(error) => {
                if let Some(cause) = error.cause {
                    self.outputs.push_back(Output::Log(Level::Warn, cause));
                }
                return self.answer(ex, Refusal::new(error.status, &error.body, &manner).into());
            }
        };
        if !self.has_room_for(&self.source_of(&resolved)) {
            return self.answer(ex, Answer::text(503, TOO_MANY, &manner));
        }
        match wanted.subagent() {
            Some(agent_id) => {
                let agent_id = agent_id.to_string();
                self.find_child(ex, wanted, manner, resolved, agent_id);
            }
            None => self.serve(ex, wanted, &manner, Conversation { resolved, child: None }),
        }
    }

    /// Looks for a child among those of its session. What a client asks for is compared with what was found, and is never
    /// a part of a path.
    fn find_child(&mut self, ex: ExId, wanted: Wanted, manner: Manner, resolved: Resolved, agent_id: String) {
        if !resolved.located.exists {
            return self.answer(ex, Answer::text(404, NO_TRANSCRIPT, &manner));
        }
        let parent = self.watch(&resolved);
        let finding = Finding { wanted, manner, resolved, agent_id, parent };
        self.exchanges.insert(ex, Exchange::Finding(Box::new(finding)));
        self.connecting.children.insert((parent, ex));
        self.settle_children(parent);
    }

    /// Serves the children of this session that were found, and refuses those that were not.
    pub(super) fn settle_children(&mut self, parent: u64) {
        for ex in self.connecting.looking_for_children_of(parent) {
            let Some(Exchange::Finding(finding)) = self.exchanges.get(&ex) else { continue };
            let stream =
                self.streams.stream(parent).and_then(|stream| Some((stream.roster.as_ref()?, &stream.follower)));
            let found = match stream.map(|(roster, follower)| roster.find(&finding.agent_id, follower)) {
                Some(Sought::NotYet) => continue,
                Some(Sought::Found(found)) => Some(found),
                Some(Sought::Nowhere) | None => None,
            };
            let Some(Exchange::Finding(finding)) = self.exchanges.remove(&ex) else { continue };
            let Finding { wanted, manner, resolved, agent_id, .. } = *finding;
            self.connecting.children.remove(&(parent, ex));
            match found {
                Some(found) if self.has_room_for(&found.0) => {
                    let child = Some((ChildOf { agent_id, parent }, found));
                    self.serve(ex, wanted, &manner, Conversation { resolved, child });
                }
                Some(_) => self.answer(ex, Answer::text(503, TOO_MANY, &manner)),
                None => self.answer(ex, Answer::text(404, NO_TRANSCRIPT, &manner)),
            }
            self.release(parent);
        }
    }

    fn serve(&mut self, ex: ExId, wanted: Wanted, manner: &Manner, of: Conversation) {
        match wanted {
            Wanted::Entry(call) => {
                let stream = match of.child {
                    Some((_, (source, reader))) => self.follow(reader, source),
                    None => self.watch(&of.resolved),
                };
                self.serve_whole_entry(ex, call.seq, stream, manner.clone());
            }
            Wanted::Card => self.card_of_transcript(ex, &of.resolved, manner.clone()),
            Wanted::Transcript(call) if call.upgrade => self.accept(ex, of, call),
            Wanted::Transcript(call) if call.probe => self.answer(ex, Answer::empty(204, manner)),
            Wanted::Transcript(_) => self.answer(ex, Answer::upgrade_required(manner)),
        }
    }

    fn accept(&mut self, ex: ExId, of: Conversation, call: TranscriptCall) {
        let now = self.now.mono;
        let Conversation { resolved, child } = of;
        let shows = Shows { pane: resolved.pane.clone(), kind: resolved.kind, subagent: call.subagent };
        self.outputs.push_back(Output::Accept(ex));
        let client = Client::new(ex, shows, call.resume, call.features, self.config.limits.window_bytes, now);
        self.timers.set(Timer::Liveness(ex), client.next_deadline());
        let session = match child {
            Some((child, found)) => self.join_child(ex, resolved, child, found),
            None => self.join(ex, resolved),
        };
        let wants_more = client.wants_full_roster();
        self.exchanges.insert(ex, Exchange::Client { client: Box::new(client), session });
        if wants_more {
            self.fill_roster(session);
        }
        self.dirty.insert(ex);
    }

    pub(super) fn answer(&mut self, ex: ExId, answer: Answer) {
        self.devices.leave(ex);
        self.own_token.leave(ex);
        self.outputs.push_back(Output::Respond(ex, answer.head));
        if !answer.body.is_empty() {
            self.outputs.push_back(Output::Send(ex, Frame::Body(answer.body)));
        }
        self.outputs.push_back(Output::Finish(ex));
    }
}

const TOO_MANY: &str = "too many panes are watched: try again later";

const NO_TRANSCRIPT: &str = "no transcript file for pane";

impl super::Connecting {
    /// Who looks for a child of the session with this stream.
    pub(super) fn looking_for_children_of(&self, parent: u64) -> Vec<ExId> {
        let of_parent = (parent, ExId(0))..=(parent, ExId(u64::MAX));
        self.children.range(of_parent).map(|(_, ex)| *ex).collect()
    }

    fn forget(&mut self, ex: ExId) {
        for (_, _, waiting) in self.panes.values_mut() {
            waiting.remove(&ex);
        }
    }
}
