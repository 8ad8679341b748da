//! The edges of HTTP: requests that no client of ours sends, each taken or refused by a rule that is the core's.

use std::io::{Read as _, Write as _};

use panewire_conformance::sim::scene::PANE;

use super::machine;
use super::machine::Daemon;

/// Status and body of the answer to a request with these lines. `{host}`, `{token}` and `{pane}` are filled in.
fn ask(daemon: &Daemon, request: &[&str]) -> (u16, String) {
    let text = [request, &["Connection: close", "", ""]].concat().join("\r\n");
    let host = daemon.address.to_string();
    let text = text.replace("{host}", &host).replace("{token}", &daemon.token).replace("{pane}", PANE);
    let mut stream = daemon.stream();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{request:?}: {answer:?}"));
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

const ONE_HOST: &str = "want one Host header\n";
const FOREIGN_HOST: &str = "host not allowed: start with --allow-host NAME to allow it\n";
const OTHER_HOST: &str = "want one host: the request line names another than the Host header\n";
const NO_PATH: &str = "want a path in the request line\n";
const ONE_ORIGIN: &str = "want at most one Origin header\n";
const FOREIGN_ORIGIN: &str = "origin not allowed: start with --allow-origin ORIGIN to allow it\n";
const UNAUTHORIZED: &str = "unauthorized\n";

#[test]
fn hosts_origins_and_targets_that_nobody_sends_have_their_rules() {
    let (machine, _) = machine(1);
    let daemon = machine.start(&["--allow-origin", "https://app.example"]);
    let health = |expected: (u16, &str), requests: &[&[&str]]| {
        for request in requests {
            assert_eq!(ask(&daemon, request), (expected.0, expected.1.to_owned()), "{request:?}");
        }
    };
    let get = "GET /healthz HTTP/1.1";
    health(
        (200, "ok\n"),
        &[
            &[get, "Host: {host}"],
            &[get, "hOsT: {host}", "oRiGiN: http://{host}"],
            &[get, "Host: {host}", "Origin: https://app.example"],
            &["GET /%68ealth%7A?host=evil.example HTTP/1.1", "Host: {host}"],
            &["GET http://{host}/healthz HTTP/1.1", "Host: {host}"],
            &["GET HTTP://LocalHost/healthz?x HTTP/1.1", "Host: localhost:80"],
            &["GET /healthz#elsewhere HTTP/1.1", "Host: {host}"],
        ],
    );
    health(
        (400, ONE_HOST),
        &[
            &[get],
            &["GET /healthz HTTP/1.0"],
            &[get, "Host: {host}", "Host: {host}"],
            &[get, "Host: {host}", "HOST: evil.example"],
            &["GET http://{host}/healthz HTTP/1.1"],
        ],
    );
    health(
        (403, FOREIGN_HOST),
        &[
            &[get, "Host: evil.example"],
            &[get, "Host:"],
            &[get, "Host: {host}, evil.example"],
            &[get, "Host: {host}@evil.example"],
            &["GET http://{host}/healthz HTTP/1.1", "Host: evil.example"],
            &["GET http://evil.example/healthz HTTP/1.1", "Host: evil.example"],
            &["CONNECT evil.example:443 HTTP/1.1", "Host: evil.example:443"],
        ],
    );
    health(
        (400, OTHER_HOST),
        &[
            &["GET http://evil.example/healthz HTTP/1.1", "Host: {host}"],
            &["GET https://evil.example HTTP/1.1", "Host: {host}"],
            &["GET http://localhost/healthz HTTP/1.1", "Host: {host}"],
            &["GET http://{host}@evil.example/healthz HTTP/1.1", "Host: {host}"],
        ],
    );
    health(
        (400, NO_PATH),
        &[
            &["CONNECT {host} HTTP/1.1", "Host: {host}"],
            &["CONNECT evil.example:443 HTTP/1.1", "Host: {host}"],
            &["OPTIONS * HTTP/1.1", "Host: {host}"],
            &["GET * HTTP/1.1", "Host: {host}"],
            &["GET healthz HTTP/1.1", "Host: {host}"],
        ],
    );
    health(
        (400, ONE_ORIGIN),
        &[
            &[get, "Host: {host}", "Origin: http://{host}", "Origin: http://{host}"],
            &[get, "Host: {host}", "Origin: http://{host}", "ORIGIN: https://evil.example"],
            &[get, "Host: {host}", "Origin: https://app.example", "Origin: null"],
        ],
    );
    health(
        (403, FOREIGN_ORIGIN),
        &[
            &[get, "Host: {host}", "Origin: null"],
            &[get, "Host: {host}", "Origin:"],
            &[get, "Host: {host}", "Origin: http://{host}, https://evil.example"],
            &[get, "Host: {host}", "Origin: http://{host}/healthz"],
            &[get, "Host: {host}", "Origin: https://{host}.evil.example"],
            &["GET http://{host}/healthz HTTP/1.1", "Host: {host}", "Origin: http://localhost"],
        ],
    );
    // Paths are taken as they are: nothing is joined, shortened or looked up.
    for path in ["//healthz", "/healthz/", "/./healthz", "/x/../healthz", "/HEALTHZ", "/healthz%00", "/healthz%2F"] {
        let (status, body) = ask(&daemon, &[&format!("GET {path} HTTP/1.1"), "Host: {host}"]);
        assert_eq!((status, body.starts_with("no such endpoint: ")), (404, true), "{path}: {body}");
    }
}

#[test]
fn tokens_and_parameters_that_come_twice_or_oddly_escaped_have_their_rules() {
    let (machine, _) = machine(1);
    let right = "Authorization: Bearer {token}";
    for way in ["auto", "cli"] {
        let daemon = machine.start(&["--herdr", way]);
        let at = |status: u16, body: &str, target: &str, headers: &[&str]| {
            let line = format!("GET {target} HTTP/1.1");
            let request = [&[line.as_str(), "Host: {host}"], headers].concat();
            let (found, said) = ask(&daemon, &request);
            assert_eq!((found, said.starts_with(body)), (status, true), "{way} {request:?}: {found} {said}");
        };
        let card = "{\"pane_id\":\"w1:p1\",";
        let state = "/agent-state?pane={pane}";
        at(200, card, state, &["aUTHORIZATION: bEARER {token}"]);
        at(200, card, state, &["Authorization:   Bearer   {token}  "]);
        at(200, card, &format!("{state}&token={{token}}"), &[]);
        // Several headers are none that is right, and the query does not stand in for them.
        at(401, UNAUTHORIZED, state, &[right, right]);
        at(401, UNAUTHORIZED, state, &[right, "authorization: Bearer wrong"]);
        at(401, UNAUTHORIZED, &format!("{state}&token={{token}}"), &["Authorization: Basic x", right]);
        at(401, UNAUTHORIZED, state, &["Authorization: Bearer {token}, Bearer {token}"]);
        at(401, UNAUTHORIZED, state, &["X-Authorization: Bearer {token}"]);
        // Of a parameter the first counts, and an empty one is none.
        at(401, UNAUTHORIZED, &format!("{state}&token=wrong&token={{token}}"), &[]);
        at(401, UNAUTHORIZED, &format!("{state}&token=&token={{token}}"), &[]);
        at(200, card, "/agent-state?pane={pane}&pane=w9:p9", &[right]);
        at(404, "no such agent\n", "/agent-state?pane=w9:p9&pane={pane}", &[right]);
        at(400, "want ?pane=<pane_id>\n", "/agent-state?pane=&pane={pane}", &[right]);
        at(400, "want ?pane=<pane_id>\n", "/agent-state?PANE={pane}", &[right]);
        at(400, "want ?pane=<pane_id>\n", "/agent-state?x=1;pane={pane}", &[right]);
        // Escapes are decoded once, in names and values; what they come to is compared, and never cut.
        at(200, card, "/agent%2Dstate?p%61ne=w1%3ap1", &[right]);
        for pane in [
            "w1:p1%00",
            "w1:p1%0a",
            "w1%253Ap1",
            "w1:p1%20",
            "w1:p1+",
            "%c0%b7w1:p1",
            "w1%c0%ba",
            "%ff",
            "%",
            "%zz",
            "-w1:p1",
            "--help",
            "w1:p1%2F",
            "..",
            "%00",
        ] {
            at(404, "no such agent\n", &format!("/agent-state?pane={pane}"), &[right]);
        }
        for pane in ["..%2fw1:p1", "%2e%2e/%2e%2e/w1:p1", "%2Fw1:p1", "a%00/w1:p1"] {
            at(404, "herdr session \"", &format!("/agent-state?pane={pane}"), &[right]);
        }
        // Panes that are sessions: what is no name of one is looked for nowhere.
        for pane in ["claude:..%2f..%2fx", "claude:%00", "claude:dir:%2Fhome%00", "claude:dir:..", "codex:*"] {
            at(404, "", &format!("/agent-state?pane={pane}"), &[right]);
            at(404, "", &format!("/agent-transcript?pane={pane}"), &[right]);
        }
        for (target, status) in [("seq=0", 400), ("seq=-1", 400), ("seq=1%00", 400), ("seq=1&seq=0", 200)] {
            at(status, "", &format!("/agent-transcript/entry?pane={{pane}}&{target}"), &[right]);
        }
    }
}
