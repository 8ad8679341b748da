use super::topic::{OVERVIEW, SERVE, SERVER};
use super::*;

fn parsed(line: &str) -> Result<Command, Unclear> {
    parse(line.split_whitespace().map(OsString::from))
}

fn serve(line: &str) -> Serve {
    match parsed(line).unwrap() {
        Command::Serve(serve) => serve,
        other => panic!("{other:?}"),
    }
}

fn error(line: &str) -> String {
    parsed(line).unwrap_err().to_string()
}

#[test]
fn nothing_at_all_serves() {
    let plain = serve("");
    assert_eq!(plain.listen, "127.0.0.1:8787");
    assert_eq!((plain.log, plain.demo), (Level::Info, false));
    assert_eq!(plain.places, Places::default());
    assert_eq!(serve("serve"), plain);
}

#[test]
fn every_flag_of_serve_is_read() {
    let all = serve(
        "serve --listen 0.0.0.0:0 --home /h --state-dir=/s --herdr cli --herdr-bin /b --herdr-socket /k \
         --allow-host a --allow-host b --allow-origin https://c --log debug --demo \
         --push http://h/x --push-ntfy http://n:80/t?auth=y --push-detail full --push-ca /c",
    );
    let places = Places {
        home: Some("/h".into()),
        state_dir: Some("/s".into()),
        herdr: HerdrMode::Cli,
        herdr_bin: Some("/b".into()),
        herdr_socket: Some("/k".into()),
    };
    let expected = Serve {
        listen: "0.0.0.0:0".into(),
        places,
        allow_hosts: vec!["a".into(), "b".into()],
        allow_origins: vec!["https://c".into()],
        log: Level::Debug,
        push: Push {
            targets: vec![PushTarget::Webhook("http://h/x".into()), PushTarget::Ntfy("http://n:80/t?auth=y".into())],
            detail: PushDetail::Full,
        },
        push_ca: Some("/c".into()),
        demo: true,
    };
    assert_eq!(all, expected);
    assert_eq!(serve("--listen 9000").listen, "127.0.0.1:9000");
    assert_eq!(serve("--listen [::1]:9000").listen, "[::1]:9000");
    for (word, mode) in [("auto", HerdrMode::Auto), ("socket", HerdrMode::Socket), ("none", HerdrMode::Off)] {
        assert_eq!(serve(&format!("--herdr {word}")).places.herdr, mode);
    }
}

#[test]
fn the_other_commands_take_their_own_flags() {
    let places = Places::default();
    assert_eq!(
        parsed("show --json a.jsonl"),
        Ok(Command::Show { json: true, what: "a.jsonl".into(), places: places.clone() })
    );
    assert_eq!(
        parsed("tail --url http://h:1 w1:p1"),
        Ok(Command::Tail { url: Some("http://h:1".into()), pane: "w1:p1".into(), places: places.clone() })
    );
    let pane = "w1:p1".to_owned();
    assert_eq!(parsed("tree w1:p1"), Ok(Command::Tree { url: None, pane, places: places.clone() }));
    assert_eq!(parsed("panes"), Ok(Command::Panes(places.clone())));
    let drift = |json, table, what: Option<&str>| {
        Ok(Command::Drift { json, table, what: what.map(PathBuf::from), places: places.clone() })
    };
    assert_eq!(parsed("drift"), drift(false, false, None));
    assert_eq!(parsed("drift --table --json /d"), drift(true, true, Some("/d")));
    assert_eq!(parsed("token --rotate"), Ok(Command::Token { rotate: true, places }));
}

#[test]
fn pairing_has_its_own_words() {
    let places = Places { state_dir: Some("/s".into()), ..Places::default() };
    let all = "pair --read --name phone --url https://h --no-qr --state-dir /s";
    let (name, url) = (Some("phone".into()), Some("https://h".into()));
    assert_eq!(parsed(all), Ok(Command::Pair(Pair { read: true, name, url, no_qr: true, places: places.clone() })));
    let plain = Pair { read: false, name: None, url: None, no_qr: false, places: Places::default() };
    assert_eq!(parsed("pair"), Ok(Command::Pair(plain)));
    assert_eq!(parsed("devices"), Ok(Command::Devices { revoke: None, places: Places::default() }));
    let revoke = Some("1f2e3d4c".to_owned());
    assert_eq!(parsed("devices revoke 1f2e3d4c --state-dir /s"), Ok(Command::Devices { revoke, places }));
    assert_eq!(error("devices revoke"), "ID is missing: 'panewire devices' lists them (see panewire devices --help)");
    assert_eq!(error("devices remove"), "unexpected argument \"remove\" (see panewire devices --help)");
    assert_eq!(error("pair x"), "unexpected argument \"x\" (see panewire pair --help)");
}

#[test]
fn help_and_version_are_everywhere() {
    assert_eq!(parsed("--help"), Ok(Command::Help(Topic::Overview)));
    assert_eq!(parsed("help"), Ok(Command::Help(Topic::Overview)));
    assert_eq!(parsed("-V"), Ok(Command::Version));
    for (word, topic) in [
        ("serve", Topic::Serve),
        ("show", Topic::Show),
        ("tail", Topic::Tail),
        ("tree", Topic::Tree),
        ("panes", Topic::Panes),
        ("pair", Topic::Pair),
        ("devices", Topic::Devices),
        ("drift", Topic::Drift),
        ("token", Topic::Token),
    ] {
        assert_eq!(parsed(&format!("{word} --help")), Ok(Command::Help(topic)));
        assert_eq!(parsed(&format!("help {word}")), Ok(Command::Help(topic)));
        assert!(topic.help().contains("usage: panewire "));
        assert!(OVERVIEW.contains(&format!("panewire {word}")) || word == "serve");
    }
}

#[test]
fn the_server_takes_the_flags_of_serve_and_no_command() {
    let server = |line: &str| parse_server(line.split_whitespace().map(OsString::from));
    let line = "--listen 9000 --demo --herdr none --state-dir /s";
    assert_eq!(server(line), Ok(ServerCommand::Serve(Box::new(serve(line)))));
    assert_eq!(server(&format!("serve {line}")), server(line));
    assert_eq!(server(""), Ok(ServerCommand::Serve(Box::default())));
    assert_eq!((server("help"), server("--demo -h")), (Ok(ServerCommand::Help), Ok(ServerCommand::Help)));
    assert_eq!(server("--version"), Ok(ServerCommand::Version));
    let error = |line| server(line).unwrap_err().to_string();
    assert_eq!(error("panes"), "unexpected argument \"panes\" (see panewire-server --help)");
    assert_eq!(error("--rotate"), "invalid option '--rotate' (see panewire-server --help)");
    let flags = |help: &'static str| help.split_once("\n\n  --listen").unwrap().1;
    assert_eq!(flags(SERVER), flags(SERVE));
}

#[test]
fn what_makes_no_sense_is_said_in_one_line() {
    assert_eq!(error("srve"), "unknown command 'srve' (see panewire --help)");
    assert_eq!(error("help srve"), "unknown command 'srve' (see panewire --help)");
    assert_eq!(error("--bogus"), "invalid option '--bogus' (see panewire serve --help)");
    assert_eq!(error("panes --demo"), "invalid option '--demo' (see panewire panes --help)");
    let missing = "is missing: 'panewire panes' lists what there is";
    assert_eq!(error("show"), format!("FILE or SESSION {missing} (see panewire show --help)"));
    assert_eq!(error("tail"), format!("PANE {missing} (see panewire tail --help)"));
    assert_eq!(error("tail a b"), "unexpected argument \"b\" (see panewire tail --help)");
    assert_eq!(error("token --home="), "a path is empty (see panewire token --help)");
    assert_eq!(error("--herdr ssh"), "--herdr is auto, socket, cli or none, not 'ssh' (see panewire serve --help)");
    assert_eq!(error("--log loud"), "--log is warn, info or debug, not 'loud' (see panewire serve --help)");
    let detail = "--push-detail is none, title or full, not 'all' (see panewire serve --help)";
    assert_eq!(error("--push-detail all"), detail);
    for (url, wants) in [
        #[cfg(not(feature = "tls"))]
        ("https://h/secret", "speaks http only: this program was built without TLS; panewire-server has it, "),
        ("https:///secret", if HAS_TLS { "wants a URL with a host, " } else { "speaks http only: " }),
        ("ftp://h/secret", "wants a URL that begins with http://"),
        ("http:///secret", "wants a URL with a host, "),
        ("http://user:secret@h/", "wants a URL with a host, without a user, "),
        ("http://h/secret#x", "wants a URL with a host, "),
    ] {
        let said = error(&format!("--push {url}"));
        assert!(said.starts_with(&format!("--push {wants}")) && !said.contains("secret"), "{said}");
    }
    for address in ["x", "host", "host:", ":80", "host:99999"] {
        assert_eq!(
            error(&format!("--listen {address}")),
            format!("--listen wants HOST:PORT, not '{address}' (see panewire serve --help)")
        );
    }
}
