//! From a request to the call it makes, or to the refusal it gets.

use alloc::string::String;

use super::answer::{Manner, Refusal};
use super::auth;
use super::guard;
use super::post::{ApproveCall, PairCall, Post, SendCall};
use super::site::Page;
use super::target::Target;
use crate::config::Config;
use crate::device::pairing::Grant;
use crate::device::{Caller, Register, Scope};
use crate::ids::{DeviceId, PaneId, Seq};
use crate::io::Request;
use crate::mobile::features::Features;
use crate::mobile::resume::Resume;

/// A call, and what its answer must respect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routed {
    /// What is wanted.
    pub call: Call,
    /// How every answer to it is made.
    pub manner: Manner,
    /// Who wants it.
    pub caller: Caller,
}

/// What a request wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// `GET /healthz`: `ok`.
    Healthz,
    /// `GET /` and what belongs to it: a file of the web view.
    Site(Page),
    /// `GET /info`: [`Info`](super::info::Info).
    Info,
    /// `GET /drift`: what no reader knew in what was counted and read since the start, as [`Drift`](crate::agent::drift::Drift).
    Drift,
    /// `GET /panes`: the listing.
    Panes,
    /// `GET /snapshot`: everything that herdr shows.
    Snapshot,
    /// WebSocket `/events`: the same, and then what changes.
    Events {
        /// Whether the request is a WebSocket upgrade.
        upgrade: bool,
    },
    /// `GET /agent-state`: the card of this pane.
    Card(PaneId),
    /// `GET` or WebSocket `/agent-transcript`.
    Transcript(TranscriptCall),
    /// `GET /agent-transcript/entry`: one whole entry.
    Entry(EntryCall),
    /// WebSocket `/attach`: a client at the terminal of a pane.
    Attach(AttachCall),
    /// A call that is complete only with its body: see [`Post::read`].
    Posted(Post),
    /// `POST /send`
    Send(SendCall),
    /// `POST /approve`
    Approve(ApproveCall),
    /// `POST /agent-mode/cycle`: the agent of this pane goes on to its next permission mode.
    CycleMode(PaneId),
    /// `POST /admin/pairing`: a code that gives this.
    Offer(Grant),
    /// `POST /pair`
    Pair(PairCall),
    /// `GET /admin/devices`: the paired devices.
    Devices,
    /// `POST /admin/devices/revoke`: this device is none any more.
    Revoke(DeviceId),
    /// A browser asks before it calls across origins: 204, everything is in the headers of the manner.
    Preflight,
}

impl Call {
    /// Whether it does something to an agent, and not only looks: who may only read may not call it.
    #[must_use]
    pub const fn writes(&self) -> bool {
        match self {
            Self::Posted(post) => post.writes(),
            Self::Attach(_) | Self::Send(_) | Self::Approve(_) | Self::CycleMode(_) => true,
            Self::Healthz
            | Self::Info
            | Self::Drift
            | Self::Panes
            | Self::Snapshot
            | Self::Events { .. }
            | Self::Card(_)
            | Self::Transcript(_)
            | Self::Entry(_)
            | Self::Offer(_)
            | Self::Pair(_)
            | Self::Devices
            | Self::Revoke(_)
            | Self::Preflight
            | Self::Site(_) => false,
        }
    }
}

/// A call for a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptCall {
    /// Whose.
    pub pane: PaneId,
    /// `?subagent=`: the conversation of a child instead of the session's own.
    pub subagent: Option<String>,
    /// `?probe=1`: only whether there is one.
    pub probe: bool,
    /// Whether the request is a WebSocket upgrade.
    pub upgrade: bool,
    /// What the client already has.
    pub resume: Option<Resume>,
    /// What it opted in to.
    pub features: Features,
}

/// A call for one whole entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryCall {
    /// Of whose transcript.
    pub pane: PaneId,
    /// Which one.
    pub seq: Seq,
    /// `?subagent=`: of the conversation of a child.
    pub subagent: Option<String>,
}

/// A call for the terminal of a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachCall {
    /// Of which pane.
    pub pane: PaneId,
    /// `?takeover=1`: whoever else is attached to its agent is sent away.
    pub takeover: bool,
    /// Whether the request is a WebSocket upgrade.
    pub upgrade: bool,
}

/// Whether the list of devices is needed to say who calls, or to do what is wanted.
#[must_use]
pub fn needs_devices(request: &Request<'_>, config: &Config) -> bool {
    let target = Target::parse(request.target);
    match Endpoint::at(target.path()).map(Endpoint::right) {
        None => false,
        Some(Right::Anyone) => target.path() == PAIR,
        Some(Right::Admin) => true,
        Some(Right::Device) => auth::presented(request, &target).is_some_and(|token| !token.is_among(&config.tokens)),
    }
}

/// Decides what a request wants: first who may ask from where, then whether there is such an endpoint, then the token,
/// then the parameters, then whether this caller may do it.
///
/// # Errors
/// The refusal to answer with: 400, 401, 403, 404 or 405; 503 if nobody can say whose token it is. What is wrong with a
/// body comes later.
pub fn route(request: &Request<'_>, config: &Config, register: &Register) -> Result<Routed, Refusal> {
    let target = Target::parse(request.target);
    let mut manner = guard::check(request, &target, config)?;
    if let Some(page) = Page::of(request, target.path(), config.site) {
        return match request.method {
            "GET" | "HEAD" => Ok(Routed { call: Call::Site(page), manner, caller: Caller::Anyone }),
            _ => Err(Refusal::new(405, "use GET", &manner).with_header("allow", "GET, HEAD")),
        };
    }
    let Some(endpoint) = Endpoint::at(target.path()) else {
        return Err(Refusal::new(404, NO_SUCH_ENDPOINT, &manner));
    };
    let methods = endpoint.methods();
    match request.method {
        "GET" | "HEAD" if methods == Methods::Get => {}
        "POST" if methods == Methods::Post => {}
        "OPTIONS" if guard::header(request, "access-control-request-method").is_some() => {
            let headers = guard::preflight(request, &manner, methods);
            manner.headers.extend(headers);
            return Ok(Routed { call: Call::Preflight, manner, caller: Caller::Anyone });
        }
        _ => return Err(Refusal::new(405, methods.advice(), &manner).with_header("allow", methods.names())),
    }
    let caller = match endpoint.right() {
        Right::Anyone => Some(Caller::Anyone),
        right => match auth::presented(request, &target) {
            Some(token) if token.is_among(&config.tokens) => Some(Caller::Admin),
            Some(token) if right == Right::Device => {
                register.caller(&token).map_err(|_| Refusal::new(503, DEVICES_UNREADABLE, &manner))?
            }
            _ => None,
        },
    };
    let Some(caller) = caller else {
        return Err(Refusal::new(401, "unauthorized", &manner).with_header("www-authenticate", "Bearer"));
    };
    let call = match endpoint {
        Endpoint::Healthz => Call::Healthz,
        Endpoint::Info => Call::Info,
        Endpoint::Panes => Call::Panes,
        Endpoint::Drift => Call::Drift,
        Endpoint::Devices => Call::Devices,
        Endpoint::Snapshot => Call::Snapshot,
        Endpoint::Events => Call::Events { upgrade: request.upgrade },
        Endpoint::Card => match target.filled("pane") {
            Some(pane) => Call::Card(PaneId(pane)),
            None => return Err(Refusal::new(400, "want ?pane=<pane_id>", &manner)),
        },
        Endpoint::Transcript => {
            let Some(pane) = target.filled("pane") else {
                return Err(Refusal::new(400, "want ?pane=<pane_id>", &manner));
            };
            Call::Transcript(TranscriptCall {
                pane: PaneId(pane),
                subagent: target.filled("subagent"),
                probe: target.first("probe").as_deref() == Some("1"),
                upgrade: request.upgrade,
                resume: Resume::of(&target),
                features: Features::of(&target),
            })
        }
        Endpoint::Entry => {
            let seq = target.first("seq").and_then(|seq| seq.parse::<u64>().ok()?.checked_sub(1)).map(Seq::after);
            let (Some(pane), Some(seq)) = (target.filled("pane"), seq) else {
                return Err(Refusal::new(400, "want ?pane=<pane_id>&seq=<n>", &manner));
            };
            Call::Entry(EntryCall { pane: PaneId(pane), seq, subagent: target.filled("subagent") })
        }
        Endpoint::Attach => match target.filled("pane") {
            Some(pane) => Call::Attach(AttachCall {
                pane: PaneId(pane),
                takeover: target.first("takeover").as_deref() == Some("1"),
                upgrade: request.upgrade,
            }),
            None => return Err(Refusal::new(400, "want ?pane=<pane_id>", &manner)),
        },
        Endpoint::Post(post) => Call::Posted(post),
    };
    if call.writes() && matches!(caller, Caller::Device(_, Scope::Read)) {
        return Err(Refusal::new(403, ONLY_READS, &manner));
    }
    Ok(Routed { call, manner, caller })
}

const PAIR: &str = "/pair";

const ONLY_READS: &str = "this device may only read: to let it answer agents, revoke it and pair it without --read";

const DEVICES_UNREADABLE: &str =
    "the list of devices cannot be read, so nobody knows whose token this is: try again later";

const NO_SUCH_ENDPOINT: &str = "no such endpoint: there are GET /healthz, GET /info, GET /panes, GET /drift, \
    GET /snapshot, GET /agent-state?pane=<pane_id>, GET /agent-transcript/entry?pane=<pane_id>&seq=<n>, POST /send, \
    POST /approve, POST /agent-mode/cycle, POST /pair, POST /admin/pairing, GET /admin/devices, \
    POST /admin/devices/revoke, WebSocket /events, WebSocket /agent-transcript?pane=<pane_id> and \
    WebSocket /attach?pane=<pane_id>";

#[derive(Clone, Copy, PartialEq)]
enum Endpoint {
    Healthz,
    Info,
    Panes,
    Drift,
    Snapshot,
    Events,
    Card,
    Transcript,
    Entry,
    Attach,
    Devices,
    Post(Post),
}

/// Who may call an endpoint.
#[derive(Clone, Copy, PartialEq)]
enum Right {
    Anyone,
    /// A paired device, and whoever has the daemon's own token.
    Device,
    /// Whoever has the daemon's own token.
    Admin,
}

/// The methods by which an endpoint is called.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Methods {
    Get,
    Post,
}

impl Methods {
    pub(super) const fn names(self) -> &'static str {
        match self {
            Self::Get => "GET, HEAD",
            Self::Post => "POST",
        }
    }

    const fn advice(self) -> &'static str {
        match self {
            Self::Get => "use GET",
            Self::Post => "use POST",
        }
    }
}

impl Endpoint {
    const fn methods(self) -> Methods {
        match self {
            Self::Post(_) => Methods::Post,
            Self::Healthz
            | Self::Info
            | Self::Panes
            | Self::Drift
            | Self::Snapshot
            | Self::Events
            | Self::Card
            | Self::Transcript
            | Self::Entry
            | Self::Attach
            | Self::Devices => Methods::Get,
        }
    }

    const fn right(self) -> Right {
        match self {
            Self::Healthz | Self::Post(Post::Pair) => Right::Anyone,
            Self::Devices | Self::Post(Post::Offer | Post::Revoke) => Right::Admin,
            Self::Info
            | Self::Panes
            | Self::Drift
            | Self::Snapshot
            | Self::Events
            | Self::Card
            | Self::Transcript
            | Self::Entry
            | Self::Attach
            | Self::Post(Post::Send | Post::Approve | Post::CycleMode) => Right::Device,
        }
    }

    fn at(path: &str) -> Option<Self> {
        match path {
            "/healthz" => Some(Self::Healthz),
            "/info" => Some(Self::Info),
            "/panes" => Some(Self::Panes),
            "/drift" => Some(Self::Drift),
            "/snapshot" => Some(Self::Snapshot),
            "/events" => Some(Self::Events),
            "/agent-state" => Some(Self::Card),
            "/agent-transcript" => Some(Self::Transcript),
            "/agent-transcript/entry" => Some(Self::Entry),
            "/attach" => Some(Self::Attach),
            "/send" => Some(Self::Post(Post::Send)),
            "/approve" => Some(Self::Post(Post::Approve)),
            "/agent-mode/cycle" => Some(Self::Post(Post::CycleMode)),
            PAIR => Some(Self::Post(Post::Pair)),
            "/admin/pairing" => Some(Self::Post(Post::Offer)),
            "/admin/devices" => Some(Self::Devices),
            "/admin/devices/revoke" => Some(Self::Post(Post::Revoke)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
