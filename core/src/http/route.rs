//! From a request to the call it makes, or to the refusal it gets.

use alloc::string::String;

use super::answer::{Manner, Refusal};
use super::auth;
use super::guard;
use super::target::Target;
use crate::config::Config;
use crate::ids::{PaneId, Seq};
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
}

/// What a request wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// `GET /healthz`: `ok`.
    Healthz,
    /// `GET /info`: [`Info`](super::info::Info).
    Info,
    /// `GET /drift`: what no reader knew in what was counted and read since the start, as [`Drift`](crate::agent::drift::Drift).
    Drift,
    /// `GET /panes`: the listing.
    Panes,
    /// `GET /agent-state`: the card of this pane.
    Card(PaneId),
    /// `GET` or WebSocket `/agent-transcript`.
    Transcript(TranscriptCall),
    /// `GET /agent-transcript/entry`: one whole entry.
    Entry(EntryCall),
    /// A browser asks before it calls across origins: 204, everything is in the headers of the manner.
    Preflight,
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

/// Decides what a request wants: first who may ask from where, then whether there is such an endpoint, then the token,
/// then the parameters.
///
/// # Errors
/// The refusal to answer with: 400, 401, 403, 404 or 405.
pub fn route(request: &Request<'_>, config: &Config) -> Result<Routed, Refusal> {
    let mut manner = guard::check(request, config)?;
    let target = Target::parse(request.target);
    let Some(endpoint) = Endpoint::at(target.path()) else {
        return Err(Refusal::new(404, NO_SUCH_ENDPOINT, &manner));
    };
    match request.method {
        "GET" | "HEAD" => {}
        "OPTIONS" if guard::header(request, "access-control-request-method").is_some() => {
            let headers = guard::preflight(request, &manner);
            manner.headers.extend(headers);
            return Ok(Routed { call: Call::Preflight, manner });
        }
        _ => return Err(Refusal::new(405, "use GET", &manner).with_header("allow", "GET, HEAD")),
    }
    if endpoint == Endpoint::Healthz {
        return Ok(Routed { call: Call::Healthz, manner });
    }
    if !auth::is_authorized(request, &target, &config.tokens) {
        return Err(Refusal::new(401, "unauthorized", &manner).with_header("www-authenticate", "Bearer"));
    }
    let call = match endpoint {
        Endpoint::Healthz => Call::Healthz,
        Endpoint::Info => Call::Info,
        Endpoint::Panes => Call::Panes,
        Endpoint::Drift => Call::Drift,
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
    };
    Ok(Routed { call, manner })
}

const NO_SUCH_ENDPOINT: &str = "no such endpoint: there are GET /healthz, GET /info, GET /panes, GET /drift, \
    GET /agent-state?pane=<pane_id>, GET /agent-transcript/entry?pane=<pane_id>&seq=<n> and WebSocket /agent-transcript?pane=<pane_id>";

#[derive(Clone, Copy, PartialEq)]
enum Endpoint {
    Healthz,
    Info,
    Panes,
    Drift,
    Card,
    Transcript,
    Entry,
}

impl Endpoint {
    fn at(path: &str) -> Option<Self> {
        match path {
            "/healthz" => Some(Self::Healthz),
            "/info" => Some(Self::Info),
            "/panes" => Some(Self::Panes),
            "/drift" => Some(Self::Drift),
            "/agent-state" => Some(Self::Card),
            "/agent-transcript" => Some(Self::Transcript),
            "/agent-transcript/entry" => Some(Self::Entry),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
