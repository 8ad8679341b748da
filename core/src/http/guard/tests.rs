use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::super::route::Methods;
use super::super::tests::{config, request};
use super::{Manner, Refusal, Target, preflight};
use crate::config::Config;
use crate::io::Request;

const CLIENT: (&str, &[u8]) = ("Host", b"127.0.0.1:8787");

fn check(request: &Request<'_>, config: &Config) -> Result<Manner, Refusal> {
    super::check(request, &Target::parse(request.target), config)
}

fn status(headers: &[(&str, &[u8])]) -> u16 {
    let mut config = config();
    config.own_names = vec!["den".into(), "den.local".into()];
    config.allow_hosts = vec!["Phone.Example:443".into()];
    check(&request("GET", "/", headers), &config).map_or_else(|refusal| refusal.status, |_| 200)
}

fn host(value: &str) -> u16 {
    status(&[("host", value.as_bytes())])
}

#[test]
fn literals_localhost_own_and_allowed_names_pass() {
    for ours in [
        "127.0.0.1:8787",
        "192.168.1.7",
        "[::1]:8787",
        "[fe80::1%25eth0]",
        "localhost",
        "LocalHost:1",
        "localhost.:8787",
        "den:8787",
        "DEN.local",
        "phone.example:8787",
        "den:",
    ] {
        assert_eq!(host(ours), 200, "{ours}");
    }
}

#[test]
fn other_hosts_are_refused() {
    for foreign in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "den.evil",
        "127.1",
        "[::1",
        "[::1]x",
        "::1",
        "localhost:80x",
        "localhost:99999",
        "user@localhost",
        "",
    ] {
        assert_eq!(host(foreign), 403, "{foreign}");
    }
    assert_eq!(status(&[("host", b"local\xffhost")]), 403);
}

#[test]
fn a_request_has_exactly_one_host() {
    assert_eq!(status(&[]), 400);
    assert_eq!(status(&[CLIENT, CLIENT]), 400);
}

#[test]
fn a_request_has_at_most_one_origin() {
    let own: (&str, &[u8]) = ("Origin", b"http://127.0.0.1:8787");
    assert_eq!(status(&[CLIENT, own, own]), 400);
    assert_eq!(status(&[CLIENT, own, ("oRIGIN", b"https://evil.example")]), 400);
}

#[test]
fn a_target_names_no_other_host_than_the_header() {
    let check = |target, host: &str| {
        let headers = [("host", host.as_bytes())];
        check(&request("GET", target, &headers), &config()).map_or_else(|refusal| refusal.status, |_| 200)
    };
    for (target, host) in [
        ("http://127.0.0.1:8787/info", "127.0.0.1:8787"),
        ("HTTP://LocalHost/info", "localhost:80"),
        ("https://localhost", "localhost"),
        ("http://[::1]:1?x", "[0::1]:1"),
    ] {
        assert_eq!(check(target, host), 200, "{target}");
    }
    for target in [
        "http://evil.example/info",
        "http://localhost:8787/info",
        "http://127.0.0.1/info",
        "http://127.0.0.1:8787@evil.example/info",
        "http://evil.example@127.0.0.1:8787/info",
        "http:///info",
        "*",
        "127.0.0.1:8787",
        "evil.example:443",
        "info",
        "",
    ] {
        assert_eq!(check(target, "127.0.0.1:8787"), 400, "{target}");
    }
    assert_eq!(check("http://evil.example/", "evil.example"), 403);
}

#[test]
fn no_origin_and_the_own_origin_pass() {
    assert_eq!(status(&[CLIENT]), 200);
    assert_eq!(status(&[CLIENT, ("Origin", b"http://127.0.0.1:8787")]), 200);
    assert_eq!(status(&[("host", b"den"), ("origin", b"https://den")]), 200);
    assert_eq!(status(&[("host", b"den:443"), ("origin", b"https://DEN")]), 200);
    assert_eq!(status(&[("host", b"[::1]:8787"), ("origin", b"http://[0:0:0:0:0:0:0:1]:8787")]), 200);
}

#[test]
fn a_foreign_origin_is_refused() {
    for foreign in ["https://evil.example", "http://127.0.0.1:3000", "http://localhost:8787", "null", "", "file://"] {
        assert_eq!(status(&[CLIENT, ("origin", foreign.as_bytes())]), 403, "{foreign}");
    }
    assert_eq!(status(&[CLIENT, ("origin", b"http://127.0.0.1:8787\xff")]), 403);
}

#[test]
fn an_allowed_origin_is_named_on_every_answer() {
    let mut config = config();
    config.allow_origins = vec!["https://app.example/".into()];
    let headers = [CLIENT, ("origin", b"https://App.Example:443".as_slice())];
    let manner = check(&request("GET", "/", &headers), &config).unwrap();
    let expected: Vec<(&str, String)> =
        vec![("vary", "origin".into()), ("access-control-allow-origin", "https://App.Example:443".into())];
    assert_eq!(manner.headers, expected);

    let refusal = check(&request("GET", "/", &[CLIENT, ("origin", b"http://app.example")]), &config).unwrap_err();
    assert_eq!(refusal.status, 403);
    assert_eq!(refusal.manner.headers, vec![("vary", String::from("origin"))]);
}

#[test]
fn a_preflight_is_told_what_it_may_do() {
    let mut config = config();
    config.allow_origins = vec!["https://app.example".into()];
    let headers = [
        CLIENT,
        ("origin", b"https://app.example".as_slice()),
        ("access-control-request-method", b"GET"),
        ("access-control-request-private-network", b"true"),
    ];
    let request = request("OPTIONS", "/", &headers);
    let manner = check(&request, &config).unwrap();
    let expected: Vec<(&str, String)> = vec![
        ("access-control-allow-methods", "GET, HEAD".into()),
        ("access-control-allow-headers", "authorization, content-type".into()),
        ("access-control-max-age", "600".into()),
        ("access-control-allow-private-network", "true".into()),
    ];
    assert_eq!(preflight(&request, &manner, Methods::Get), expected);
}
