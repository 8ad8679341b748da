use alloc::string::{String, ToString as _};
use alloc::vec;

use super::super::site::Asset;
use super::super::tests::{TOKEN, config, request};
use super::super::{Answer, Post, Refusal};
use super::{AttachCall, Call, EntryCall, TranscriptCall, needs_devices, route};
use crate::config::Config;
use crate::device::{Caller, Device, Register, Scope};
use crate::http::auth::TokenDigest;
use crate::ids::{DeviceId, PaneId, Seq};
use crate::mobile::features::Features;
use crate::time::UnixMillis;

const HOST: (&str, &[u8]) = ("host", b"localhost:8787");
const BEARER: (&str, &[u8]) = ("authorization", b"Bearer sesame-opens");

const PHONE: (&str, &[u8]) = ("authorization", b"Bearer phones-bearer");
const TABLET: (&str, &[u8]) = ("authorization", b"Bearer tablets-bearer");

/// A phone that may do everything, and a tablet that may read.
fn register() -> Register {
    let device = |id: &str, scope, bearer| Device {
        id: DeviceId::from(id),
        name: id.into(),
        scope,
        bearer: TokenDigest::of(bearer),
        paired_at: UnixMillis(0),
        last_seen: UnixMillis(0),
    };
    Register::of(vec![
        device("0000000f", Scope::Full, "phones-bearer"),
        device("0000000a", Scope::Read, "tablets-bearer"),
    ])
}

fn call(method: &str, target: &str, headers: &[(&str, &[u8])]) -> Result<Call, Refusal> {
    route(&request(method, target, headers), &config(), &register()).map(|routed| routed.call)
}

fn refusal(method: &str, target: &str, headers: &[(&str, &[u8])]) -> (u16, String) {
    let refusal = call(method, target, headers).unwrap_err();
    (refusal.status, refusal.body)
}

#[test]
fn health_needs_no_token() {
    assert_eq!(call("GET", "/healthz", &[HOST]), Ok(Call::Healthz));
    assert_eq!(call("HEAD", "/healthz?x=1", &[HOST]), Ok(Call::Healthz));
}

#[test]
fn nor_does_the_web_view() {
    const SITE: &[Asset] = &[Asset {
        path: "/",
        content_type: "text/html",
        etag: "\"1\"",
        immutable: false,
        plain: b"<!doctype html>",
        gzip: None,
        brotli: None,
    }];
    let with_site = Config { site: SITE, ..config() };
    let routed = route(&request("GET", "/?x=1", &[HOST]), &with_site, &register()).unwrap();
    assert!(matches!(routed.call, Call::Site(page) if page.asset == SITE[0]), "{routed:?}");
    let refused = route(&request("POST", "/", &[HOST]), &with_site, &register()).unwrap_err();
    assert_eq!((refused.status, refused.body.as_str()), (405, "use GET"));
    let refused = route(&request("GET", "/", &[("host", b"elsewhere.example")]), &with_site, &register()).unwrap_err();
    assert_eq!(refused.status, 403);
    assert_eq!(refusal("GET", "/", &[HOST]).0, 404, "without a view there is nothing there");
}

#[test]
fn everything_else_does() {
    for target in ["/info", "/panes", "/drift", "/agent-state", "/agent-transcript", "/agent-transcript/entry"] {
        assert_eq!(refusal("GET", target, &[HOST]), (401, "unauthorized".to_string()), "{target}");
    }
    assert_eq!(call("GET", "/info", &[HOST, BEARER]), Ok(Call::Info));
    assert_eq!(call("GET", "/drift", &[HOST, BEARER]), Ok(Call::Drift));
    assert_eq!(call("GET", &["/panes?token=", TOKEN].concat(), &[HOST]), Ok(Call::Panes));
}

#[test]
fn a_device_may_what_its_scope_says() {
    let caller = |target: &str, method: &str, bearer| {
        let headers = [HOST, bearer];
        let request = request(method, target, &headers);
        route(&request, &config(), &register())
            .map(|routed| routed.caller)
            .map_err(|refusal| (refusal.status, refusal.body))
    };
    let phone = Ok(Caller::Device(DeviceId::from("0000000f"), Scope::Full));
    let tablet = Ok(Caller::Device(DeviceId::from("0000000a"), Scope::Read));
    let wrong = ("authorization", b"Bearer nobodys".as_slice());
    let unauthorized = Err((401, "unauthorized".to_string()));
    for target in ["/info", "/panes", "/drift", "/agent-state?pane=w1:p1", "/agent-transcript?pane=w1:p1"] {
        assert_eq!(caller(target, "GET", BEARER), Ok(Caller::Admin), "{target}");
        assert_eq!(caller(target, "GET", PHONE), phone, "{target}");
        assert_eq!(caller(target, "GET", TABLET), tablet, "{target}");
        assert_eq!(caller(target, "GET", wrong), unauthorized, "{target}");
    }
    for target in ["/send", "/approve", "/agent-mode/cycle"] {
        assert_eq!(caller(target, "POST", BEARER), Ok(Caller::Admin), "{target}");
        assert_eq!(caller(target, "POST", PHONE), phone, "{target}");
        let text = "this device may only read: to let it answer agents, revoke it and pair it without --read";
        assert_eq!(caller(target, "POST", TABLET), Err((403, text.to_string())), "{target}");
        assert_eq!(caller(target, "POST", wrong), unauthorized, "{target}");
    }
    for (target, method) in [("/admin/pairing", "POST"), ("/admin/devices", "GET"), ("/admin/devices/revoke", "POST")] {
        assert_eq!(caller(target, method, BEARER), Ok(Caller::Admin), "{target}");
        for bearer in [PHONE, TABLET, wrong] {
            assert_eq!(caller(target, method, bearer), unauthorized, "{target}");
        }
    }
    for bearer in [BEARER, PHONE, TABLET, wrong] {
        assert_eq!(caller("/pair", "POST", bearer), Ok(Caller::Anyone));
        assert_eq!(caller("/healthz", "GET", bearer), Ok(Caller::Anyone));
    }
}

#[test]
fn only_who_is_not_known_without_it_needs_the_list_of_devices() {
    let needs = |method: &str, target: &str, headers: &[(&str, &[u8])]| {
        needs_devices(&request(method, target, headers), &config())
    };
    for target in ["/info", "/send", "/agent-transcript?pane=w1:p1"] {
        assert!(needs("GET", target, &[HOST, PHONE]), "{target}");
        assert!(!needs("GET", target, &[HOST, BEARER]) && !needs("GET", target, &[HOST]), "{target}");
    }
    for target in ["/pair", "/admin/pairing", "/admin/devices", "/admin/devices/revoke"] {
        assert!(needs("POST", target, &[HOST]) && needs("POST", target, &[HOST, BEARER]), "{target}");
    }
    for target in ["/healthz", "/nowhere"] {
        assert!(!needs("GET", target, &[HOST, PHONE]), "{target}");
    }
}

#[test]
fn while_the_list_cannot_be_read_nobody_is_refused_for_good() {
    let route = |bearer| {
        let headers = [HOST, bearer];
        route(&request("GET", "/info", &headers), &config(), &Register::new("/state")).map(|routed| routed.caller)
    };
    assert_eq!(route(PHONE).unwrap_err().status, 503);
    assert_eq!(route(BEARER), Ok(Caller::Admin));
}

#[test]
fn a_card_is_of_one_pane() {
    let wanted = Call::Card(PaneId::from("w1:p1"));
    assert_eq!(call("GET", "/agent-state?pane=w1:p1&recent=1", &[HOST, BEARER]), Ok(wanted));
    for query in ["", "?pane=", "?recent=1"] {
        let target = ["/agent-state", query].concat();
        assert_eq!(refusal("GET", &target, &[HOST, BEARER]), (400, "want ?pane=<pane_id>".to_string()), "{query}");
    }
    assert_eq!(refusal("POST", "/agent-state?pane=w1:p1", &[HOST, BEARER]), (405, "use GET".to_string()));
}

#[test]
fn a_terminal_is_of_one_pane_and_for_who_may_write() {
    let wanted = |takeover| Call::Attach(AttachCall { pane: PaneId::from("w1:p1"), takeover, upgrade: false });
    assert_eq!(call("GET", "/attach?pane=w1:p1&takeover=yes", &[HOST, BEARER]), Ok(wanted(false)));
    assert_eq!(call("GET", "/attach?takeover=1&pane=w1%3Ap1", &[HOST, PHONE]), Ok(wanted(true)));
    assert_eq!(refusal("GET", "/attach?pane=", &[HOST, BEARER]), (400, "want ?pane=<pane_id>".to_string()));
    assert_eq!(refusal("GET", "/attach?pane=w1:p1", &[HOST, TABLET]).0, 403);
    assert_eq!(refusal("GET", "/attach?pane=w1:p1", &[HOST]).0, 401);
    assert_eq!(refusal("POST", "/attach?pane=w1:p1", &[HOST, BEARER]), (405, "use GET".to_string()));
}

#[test]
fn a_transcript_call_is_read_from_the_query() {
    let wanted = Call::Transcript(TranscriptCall {
        pane: PaneId::from("claude:dir:/home/u/a b"),
        subagent: Some("a3979c6700530d9fe".to_string()),
        probe: true,
        upgrade: false,
        resume: None,
        features: Features::default(),
    });
    let target = "/agent-transcript?pane=claude:dir:%2Fhome/u/a+b&subagent=a3979c6700530d9fe&probe=1";
    assert_eq!(call("GET", target, &[HOST, BEARER]), Ok(wanted));
}

#[test]
fn an_upgrade_is_a_transcript_call_like_any_other() {
    let headers = [HOST, BEARER];
    let mut request = request("GET", "/agent-transcript?pane=w1:p1", &headers);
    request.upgrade = true;
    let wanted = TranscriptCall {
        pane: PaneId::from("w1:p1"),
        subagent: None,
        probe: false,
        upgrade: true,
        resume: None,
        features: Features::default(),
    };
    assert_eq!(route(&request, &config(), &register()).unwrap().call, Call::Transcript(wanted));
}

#[test]
fn the_pane_comes_after_the_token() {
    assert_eq!(refusal("GET", "/agent-transcript?pane=", &[HOST, BEARER]), (400, "want ?pane=<pane_id>".to_string()));
    assert_eq!(refusal("GET", "/agent-transcript?token=wrong", &[HOST]), (401, "unauthorized".to_string()));
}

#[test]
fn a_whole_entry_is_named_by_its_pane_and_its_seq() {
    let wanted = EntryCall { pane: PaneId::from("w1:p1"), seq: Seq::after(41), subagent: Some("a1".to_string()) };
    let target = "/agent-transcript/entry?pane=w1:p1&seq=42&subagent=a1";
    assert_eq!(call("GET", target, &[HOST, BEARER]), Ok(Call::Entry(wanted)));
    for query in
        ["", "pane=w1:p1", "pane=w1:p1&seq=", "pane=w1:p1&seq=0", "pane=w1:p1&seq=-1", "pane=w1:p1&seq=1e3", "seq=1"]
    {
        let target = ["/agent-transcript/entry?", query].concat();
        let refused = refusal("GET", &target, &[HOST, BEARER]);
        assert_eq!(refused, (400, "want ?pane=<pane_id>&seq=<n>".to_string()), "{query}");
        assert_eq!(refusal("GET", &target, &[HOST]).0, 401, "{query}");
    }
}

#[test]
fn the_guard_comes_before_everything() {
    assert_eq!(refusal("GET", "/nowhere", &[("host", b"evil.example"), BEARER]).0, 403);
}

#[test]
fn an_unknown_path_is_told_which_there_are() {
    let (status, body) = refusal("GET", "/nowhere?token=secret", &[HOST]);
    assert_eq!(status, 404);
    assert_eq!(
        body,
        "no such endpoint: there are GET /healthz, GET /info, GET /panes, GET /drift, GET /snapshot, \
         GET /agent-state?pane=<pane_id>, GET /agent-transcript/entry?pane=<pane_id>&seq=<n>, POST /send, \
         POST /approve, POST /agent-mode/cycle, POST /pair, POST /admin/pairing, GET /admin/devices, \
         POST /admin/devices/revoke, WebSocket /events, WebSocket /agent-transcript?pane=<pane_id> and \
         WebSocket /attach?pane=<pane_id>"
    );
}

#[test]
fn a_wrong_method_is_told_the_right_one() {
    let refusal = call("POST", "/panes", &[HOST, BEARER]).unwrap_err();
    assert_eq!((refusal.status, refusal.body.as_str()), (405, "use GET"));
    assert_eq!(refusal.headers, vec![("allow", "GET, HEAD".to_string())]);
    assert_eq!(call("OPTIONS", "/panes", &[HOST]).unwrap_err().status, 405);
}

#[test]
fn a_preflight_needs_no_token_and_names_the_origin() {
    let mut config = config();
    config.allow_origins = vec!["https://app.example".into()];
    let headers =
        [HOST, ("origin", b"https://app.example".as_slice()), ("access-control-request-method", b"GET".as_slice())];
    let routed = route(&request("OPTIONS", "/panes", &headers), &config, &register()).unwrap();
    assert_eq!(routed.call, Call::Preflight);
    let answer = Answer::empty(204, &routed.manner);
    assert!(answer.head.headers.contains(&("access-control-allow-origin", "https://app.example".to_string())));
    assert!(answer.head.headers.contains(&("access-control-allow-headers", "authorization, content-type".to_string())));
}

#[test]
fn what_takes_a_body_is_called_by_post_and_complete_only_with_it() {
    for (target, post) in [("/send", Post::Send), ("/approve", Post::Approve), ("/agent-mode/cycle", Post::CycleMode)] {
        assert_eq!(call("POST", target, &[HOST, BEARER]), Ok(Call::Posted(post)));
        assert!(Call::Posted(post).writes());
        assert_eq!(refusal("POST", target, &[HOST]), (401, "unauthorized".to_string()), "{target}");
        for method in ["GET", "HEAD", "PUT", "OPTIONS"] {
            let refusal = call(method, target, &[HOST, BEARER]).unwrap_err();
            assert_eq!((refusal.status, refusal.body.as_str()), (405, "use POST"), "{method} {target}");
            assert_eq!(refusal.headers, vec![("allow", "POST".to_string())]);
        }
    }
    assert!(!Call::Card(PaneId::from("w1:p1")).writes());
    let headers = [HOST, ("access-control-request-method", b"POST".as_slice())];
    assert_eq!(call("OPTIONS", "/send", &headers), Ok(Call::Preflight));
}

#[test]
fn a_head_request_keeps_its_body_here() {
    assert!(route(&request("HEAD", "/info", &[HOST, BEARER]), &config(), &register()).unwrap().manner.head_only);
    let refusal = call("HEAD", "/nowhere", &[HOST]).unwrap_err();
    assert!(Answer::from(refusal).body.is_empty());
}

#[test]
fn no_refusal_repeats_a_token() {
    let guess = "tr0ub4dor-and-3";
    for target in ["/info", "/agent-transcript", "/nowhere", "/panes"] {
        let target = [target, "?token=", guess].concat();
        for method in ["GET", "POST", "HEAD"] {
            let answer = Answer::from(call(method, &target, &[HOST]).unwrap_err());
            let whole = alloc::format!("{:?}{:?}", answer.head, answer.body);
            assert!(!whole.contains(guess), "{method} {target}");
        }
    }
}
