//! `panewire pair`: a code for one device, as a QR code, an address and a word to type.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::net::{IpAddr, SocketAddr, UdpSocket};

use hyper::Uri;
use serde::Deserialize;
use serde_json::json;

use crate::arguments::Places;
use crate::daemon::Daemon;
use crate::problem::{Problem, print};
use crate::qr;

/// What a person wants of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The device shall only read.
    pub read: bool,
    /// How the device shall be called, whatever it calls itself.
    pub name: Option<String>,
    /// The address at which the device finds the daemon.
    pub url: Option<String>,
    /// Without the code to scan.
    pub no_qr: bool,
    /// Where the daemon keeps its state.
    pub places: Places,
}

/// Asks the running daemon for a code and shows it.
///
/// # Errors
/// [`Problem`] if there is no daemon, or it gives no code.
pub fn pair(wanted: &Pair) -> Result<(), Problem> {
    let base = wanted.url.as_deref().map(base_of).transpose()?;
    let daemon = Daemon::find(None, &wanted.places)?;
    let scope = if wanted.read { "read" } else { "full" };
    let body = json!({"scope": scope, "name": wanted.name}).to_string();
    let offered: Offered = daemon.ask("/admin/pairing", Some(&body))?.json("no device can be paired now")?;
    let base = base.unwrap_or_else(|| {
        let (base, warning) = reachable(&daemon, route);
        if let Some(warning) = warning {
            let _ = writeln!(io::stderr(), "panewire: {warning}");
        }
        base
    });
    print(&offered.text(&base, io::stdout().is_terminal() && !wanted.no_qr))
}

/// The answer to `POST /admin/pairing`.
#[derive(Deserialize)]
struct Offered {
    code: String,
    scope: String,
    expires_in_s: u64,
}

impl Offered {
    fn text(&self, base: &str, with_qr: bool) -> String {
        let Self { code, scope, expires_in_s } = self;
        let link = format!("{base}/#pair={code}");
        let mut text = String::new();
        for line in with_qr.then(|| qr::lines(&link)).flatten().unwrap_or_default() {
            let _ = writeln!(text, "{line}");
        }
        let how =
            if text.is_empty() { "Open this on the device" } else { "\nScan this with the device, or open there" };
        let (half, rest) = code.split_at_checked(code.len() / 2).unwrap_or((code, ""));
        let may = if scope == "read" { "only read" } else { "read and answer" };
        let minutes = expires_in_s / 60;
        let _ = write!(
            text,
            "{how}:\n  {link}\nIf it asks for a code, type:\n  {half}-{rest}\n\
             It works once, within {minutes} minutes. The device may then {may}; 'panewire devices' lists it.\n"
        );
        text
    }
}

/// The address that a person gave, without what does not belong before a path.
fn base_of(url: &str) -> Result<String, Problem> {
    let unclear = || Problem::new(format_args!("--url wants http://HOST[:PORT] or https://HOST[:PORT], not '{url}'"));
    let uri: Uri = url.parse().map_err(|_| unclear())?;
    let (scheme, authority) = (uri.scheme_str(), uri.authority().filter(|authority| !authority.host().is_empty()));
    match (scheme, authority) {
        (Some(scheme @ ("http" | "https")), Some(authority)) if uri.query().is_none() => {
            Ok(format!("{scheme}://{authority}{}", uri.path().trim_end_matches('/')))
        }
        _ => Err(unclear()),
    }
}

/// The address of a daemon on this machine for devices beside it, and what is to be said about it.
fn reachable(daemon: &Daemon, route: impl Fn() -> Option<IpAddr>) -> (String, Option<String>) {
    let Some(listen) = daemon.listen else {
        return (format!("http://{}", daemon.authority), None);
    };
    let port = listen.port();
    if listen.ip().is_loopback() {
        let warning = format!(
            "the daemon listens on {listen}: no other machine reaches it. Start it with --listen 0.0.0.0:{port}, or put a \
             proxy in front of it and give the proxy's address by --url"
        );
        return (format!("http://{listen}"), Some(warning));
    }
    if !listen.ip().is_unspecified() {
        return (format!("http://{listen}"), None);
    }
    match route() {
        Some(address) => (format!("http://{}", SocketAddr::new(address, port)), None),
        None => {
            let warning = "no network was found by which a device could reach this machine: give its address by --url";
            (format!("http://{}", daemon.authority), Some(warning.to_owned()))
        }
    }
}

/// The address of this machine on the network that leads out. Nothing is sent: a route is looked up.
fn route() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // An address that is reserved for examples: every route but the local ones leads there.
    socket.connect("192.0.2.1:9").ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(listen: &str, route: Option<&str>) -> (String, Option<String>) {
        let listen: Option<SocketAddr> = listen.parse().ok();
        let authority = format!("127.0.0.1:{}", listen.map_or(8787, |listen| listen.port()));
        let daemon = Daemon { authority, path: String::new(), token_in_url: None, token: None, listen };
        reachable(&daemon, || route.map(|address| address.parse().unwrap()))
    }

    #[test]
    fn the_address_is_one_that_a_phone_can_call() {
        assert_eq!(at("192.0.2.7:84", None), ("http://192.0.2.7:84".into(), None));
        assert_eq!(at("0.0.0.0:85", Some("10.0.0.3")), ("http://10.0.0.3:85".into(), None));
        assert_eq!(at("[::]:86", Some("fd00::3")), ("http://[fd00::3]:86".into(), None));
        assert_eq!(at("unknown", Some("10.0.0.3")), ("http://127.0.0.1:8787".into(), None));
        let (base, warning) = at("127.0.0.1:87", Some("10.0.0.3"));
        assert_eq!(base, "http://127.0.0.1:87");
        let expected = "the daemon listens on 127.0.0.1:87: no other machine reaches it. Start it with --listen \
            0.0.0.0:87, or put a proxy in front of it and give the proxy's address by --url";
        assert_eq!(warning.as_deref(), Some(expected));
        let (base, warning) = at("0.0.0.0:88", None);
        assert_eq!(base, "http://127.0.0.1:88");
        assert!(warning.unwrap().ends_with("give its address by --url"));
    }

    #[test]
    fn an_address_of_ones_own_is_taken_as_it_is() {
        assert_eq!(base_of("https://box.tail.example").unwrap(), "https://box.tail.example");
        assert_eq!(base_of("http://box:8787/under/").unwrap(), "http://box:8787/under");
        for wrong in ["box", "box:8787", "ftp://box", "https://", "https://box/?token=x", ""] {
            let said = format!("--url wants http://HOST[:PORT] or https://HOST[:PORT], not '{wrong}'");
            assert_eq!(base_of(wrong).unwrap_err().to_string(), said);
        }
    }

    #[test]
    fn a_code_is_shown_to_scan_to_open_and_to_type() {
        let offered = Offered { code: "K7QM3XTP".into(), scope: "read".into(), expires_in_s: 300 };
        let text = "Open this on the device:\n  http://192.0.2.7:84/#pair=K7QM3XTP\n\
            If it asks for a code, type:\n  K7QM-3XTP\n\
            It works once, within 5 minutes. The device may then only read; 'panewire devices' lists it.\n";
        assert_eq!(offered.text("http://192.0.2.7:84", false), text);
        let with_qr = offered.text("http://192.0.2.7:84", true);
        assert!(
            with_qr.ends_with(&text.replace("Open this on the device", "\nScan this with the device, or open there"))
        );
        assert_eq!(with_qr.lines().filter(|line| line.starts_with("\u{1b}[30;107m")).count(), 19);
    }
}
