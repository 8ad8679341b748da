//! Who may talk to us from a browser: the rules for `Host` (against rebinding) and `Origin` (against foreign pages).

use alloc::string::String;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::answer::{Headers, Manner, Refusal};
use super::route::Methods;
use super::target::Target;
use crate::config::Config;
use crate::io::Request;

/// Checks `Host` and `Origin` of a request, and the host in its target if there is one.
///
/// The manner that comes back holds what the origin rules add to every answer.
///
/// # Errors
/// 400 without exactly one `Host`, with two of `Origin`, and for a target that is no path or names another host; 403 for a
/// host or an origin that is not ours and was not allowed.
pub fn check(request: &Request<'_>, target: &Target<'_>, config: &Config) -> Result<Manner, Refusal> {
    let mut manner = Manner { head_only: request.method == "HEAD", headers: Headers::new() };
    if !config.allow_origins.is_empty() {
        manner.headers.push(("vary", "origin".into()));
    }
    let mut hosts = values(request, "host");
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(Refusal::new(400, "want one Host header", &manner));
    };
    let Some(host) = Authority::from_bytes(host).filter(|host| is_allowed_host(&host.host, config)) else {
        return Err(Refusal::new(403, "host not allowed: start with --allow-host NAME to allow it", &manner));
    };
    if !target.is_path() {
        return Err(Refusal::new(400, "want a path in the request line", &manner));
    }
    if target.origin().is_some_and(|origin| !Origin::parse(origin).is_some_and(|origin| origin.is_of(&host))) {
        return Err(Refusal::new(400, "want one host: the request line names another than the Host header", &manner));
    }
    let mut origins = values(request, "origin");
    let (origin, None) = (origins.next(), origins.next()) else {
        return Err(Refusal::new(400, "want at most one Origin header", &manner));
    };
    let Some(origin) = origin else { return Ok(manner) };
    let origin = core::str::from_utf8(origin).unwrap_or_default();
    if Origin::parse(origin).is_some_and(|origin| origin.is_of(&host)) {
        return Ok(manner);
    }
    if config.allow_origins.iter().any(|allowed| is_same_origin(allowed, origin)) {
        manner.headers.push(("access-control-allow-origin", origin.into()));
        return Ok(manner);
    }
    Err(Refusal::new(403, "origin not allowed: start with --allow-origin ORIGIN to allow it", &manner))
}

/// The headers that answer a browser's question before it calls across origins. Empty for an origin that is our own.
pub(super) fn preflight(request: &Request<'_>, manner: &Manner, methods: Methods) -> Headers {
    let mut headers = Headers::new();
    if manner.headers.iter().any(|(name, _)| *name == "access-control-allow-origin") {
        headers.push(("access-control-allow-methods", methods.names().into()));
        headers.push(("access-control-allow-headers", "authorization, content-type".into()));
        headers.push(("access-control-max-age", "600".into()));
        if header(request, "access-control-request-private-network").is_some() {
            headers.push(("access-control-allow-private-network", "true".into()));
        }
    }
    headers
}

/// The first header of that name.
pub(super) fn header<'a>(request: &Request<'a>, wanted: &'static str) -> Option<&'a [u8]> {
    values(request, wanted).next()
}

/// The headers of that name.
pub(super) fn values<'a>(request: &Request<'a>, wanted: &'static str) -> impl Iterator<Item = &'a [u8]> {
    request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| *value)
}

fn is_allowed_host(host: &Host, config: &Config) -> bool {
    let Host::Name(name) = host else { return true };
    name == "localhost"
        || config.own_names.iter().chain(&config.allow_hosts).any(|allowed| {
            Authority::parse(allowed).is_some_and(|allowed| matches!(allowed.host, Host::Name(own) if own == *name))
        })
}

fn is_same_origin(allowed: &str, origin: &str) -> bool {
    match (Origin::parse(allowed.trim_end_matches('/')), Origin::parse(origin)) {
        (Some(allowed), Some(origin)) => allowed == origin,
        _ => false,
    }
}

/// A host in a form in which two spellings of one are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Ip(IpAddr),
    Name(String),
}

/// `host` or `host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Authority {
    host: Host,
    port: Option<u16>,
}

impl Authority {
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Self::parse(core::str::from_utf8(bytes).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(inner) = text.strip_prefix('[') {
            let (address, after) = inner.split_once(']')?;
            let address = address.split_once('%').map_or(address, |(address, _zone)| address);
            let host = Host::Ip(address.parse::<Ipv6Addr>().ok()?.into());
            return Some(Self { host, port: port_after(after)? });
        }
        let (name, after) = text.find(':').map_or((text, ""), |at| text.split_at(at));
        Some(Self { host: host_of(name)?, port: port_after(after)? })
    }
}

/// `scheme://host[:port]`, with the scheme's own port where none stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    scheme: String,
    host: Host,
    port: Option<u16>,
}

impl Origin {
    fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.trim().split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let authority = Authority::parse(rest)?;
        let port = authority.port.or_else(|| default_port(&scheme));
        Some(Self { scheme, host: authority.host, port })
    }

    /// Whether a page of this origin was loaded from that host. Who ends TLS in front of us is not known, so a `Host`
    /// without a port is on the port of the origin's own scheme.
    fn is_of(&self, host: &Authority) -> bool {
        self.host == host.host && self.port == host.port.or_else(|| default_port(&self.scheme))
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        _ => None,
    }
}

fn host_of(name: &str) -> Option<Host> {
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return Some(Host::Ip(address.into()));
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '.' | '_'));
    is_name.then(|| Host::Name(name.to_lowercase()))
}

/// The port in `:8787`, or none in an empty text; `None` if it is neither.
#[expect(clippy::option_option, reason = "no port is not the same as a bad one")]
fn port_after(text: &str) -> Option<Option<u16>> {
    match text.strip_prefix(':') {
        Some("") => Some(None),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok().map(Some),
        Some(_) => None,
        None => text.is_empty().then_some(None),
    }
}

#[cfg(test)]
mod tests;
