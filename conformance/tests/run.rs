//! `panewire-conformance run` as a person meets it: exit codes, and what is said.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

/// Exit code, standard output and standard error.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_panewire-conformance"));
    let output = command.arg("run").args(arguments).env_remove("PANEWIRE_TOKEN").output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A directory with one vector that asks for something which no server should answer.
fn failing(directory: &Path, mark: &str) -> String {
    let vector = json!({
        "format": 1,
        "title": "Health is a matter of taste",
        "mark": mark,
        "decisions": if mark == "decided" { vec![7] } else { vec![] },
        "proves": ["401-without-the-token", "health-is-a-matter-of-taste"],
        "steps": [
            {"request": {"path": "/healthz", "auth": "none", "answer": {"status": 200}}},
            {"request": {"path": "/healthz", "auth": "none", "answer": {"status": 418, "body": "<teapot> & \"tea\""}}},
        ],
    });
    let of_its_own = directory.join("taste");
    fs::create_dir(&of_its_own).unwrap();
    fs::write(of_its_own.join("vector.json"), vector.to_string()).unwrap();
    directory.to_str().unwrap().into()
}

#[test]
fn the_core_keeps_the_contract() {
    let (code, out, err) = run(&["--core", "--strict", "--only", "opening-in-order", "--only", "no-pane-is-400"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("the core: seed 2 of 2 vectors passed in "), "{out}");
}

#[test]
fn what_failed_is_told_to_people_and_programs() {
    let directory = tempfile::tempdir().unwrap();
    let vectors = failing(directory.path(), "seed");
    let (json, junit) = (directory.path().join("report.json"), directory.path().join("report.xml"));
    let files = [json.to_str().unwrap(), junit.to_str().unwrap()];
    let (code, out, _) = run(&["--core", "--vectors", &vectors, "--json", files[0], "--junit", files[1]]);
    assert_eq!(code, 1);
    assert!(
        out.starts_with("FAILED taste (seed)\n  Health is a matter of taste\n  step 2 expected\n    status 418"),
        "{out}"
    );
    assert!(out.contains("\n  came\n    status 200 with body \"ok\\n\""), "{out}");
    assert!(out.contains("  breaks: health-is-a-matter-of-taste\n"), "{out}");
    let number: usize = out
        .split_once("  breaks sentence ")
        .unwrap()
        .1
        .split_once(": 401-without-the-token\n")
        .unwrap()
        .0
        .parse()
        .unwrap();
    assert!(out.ends_with(" s\n") && out.contains("the core: seed 0 of 1 vectors passed in "), "{out}");

    let report: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let vector = &report["vectors"][0];
    assert_eq!(
        (&report["keeps"], &report["subject"], &report["contract"]),
        (&json!(false), &json!("the core"), &json!("mobile"))
    );
    assert_eq!((&vector["name"], &vector["verdict"], &vector["step"]), (&json!("taste"), &json!("failed"), &json!(2)));
    assert_eq!(vector["breaks"][0], json!({"number": number, "sentence": "401-without-the-token"}));
    assert_eq!(vector["breaks"][1], json!({"number": null, "sentence": "health-is-a-matter-of-taste"}));
    let xml = fs::read_to_string(junit).unwrap();
    let suite =
        "<testsuites><testsuite name=\"the core\" tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"";
    assert!(xml.contains(suite), "{xml}");
    assert!(
        xml.contains("<failure message=\"401-without-the-token, health-is-a-matter-of-taste\">  step 2 expected"),
        "{xml}"
    );
    assert!(xml.contains("&lt;teapot&gt; &amp; \\&quot;tea\\&quot;"), "{xml}");
}

#[test]
fn only_seed_vectors_count_unless_it_is_strict() {
    let directory = tempfile::tempdir().unwrap();
    let vectors = failing(directory.path(), "decided");
    assert_eq!(run(&["--core", "--vectors", &vectors]).0, 0);
    assert_eq!(run(&["--core", "--vectors", &vectors, "--strict"]).0, 1);
}

#[test]
fn a_server_that_cannot_be_started_is_no_verdict() {
    let (code, out, err) = run(&["--server", "/no/such/server --home {home}", "--only", "opening-in-order"]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(err.starts_with("the server cannot be started: No such file"), "{err}");
    assert!(err.contains("\nits command: /no/such/server --home /"), "{err}");
    let (code, _, err) = run(&["--server", "sh -c 'echo no luck >&2; exit 9'"]);
    assert_eq!(code, 3);
    assert!(err.contains("ended before it listened, with exit status: 9"), "{err}");
    assert!(err.ends_with("its standard error:\n  no luck\n"), "{err}");
}

#[test]
fn a_server_that_cannot_be_reached_is_no_verdict() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let (code, _, err) = run(&["--url", &url, "--token", "t"]);
    assert_eq!(code, 3);
    assert!(err.starts_with("nothing accepts connections at 127.0.0.1:"), "{err}");
}

#[test]
fn what_cannot_be_played_is_named_and_nothing_is_certified() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (code, out, _) = run(&["--url", &url, "--token", "t", "--only", "opening-in-order"]);
    assert_eq!(code, 4);
    let named = "not played: opening-in-order (seed): its files can be put nowhere: say --home DIR; its panes are";
    assert!(out.starts_with(named), "{out}");
    assert!(out.contains("seed 0 of 1 (1 not played) vectors passed"), "{out}");
    assert!(out.ends_with("the contract is not certified\n"), "{out}");
}

#[test]
fn a_run_that_is_interrupted_ends_its_servers() {
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let server = format!("sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000'", pid.display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_panewire-conformance"));
    command.args(["run", "--server", &server]).env("TMPDIR", directory.path()).stderr(Stdio::piped());
    let kit = command.spawn().unwrap();
    let server = loop {
        match fs::read_to_string(&pid) {
            Ok(text) => break Pid::from_raw(text.trim().parse().unwrap()).unwrap(),
            Err(_) => std::thread::yield_now(),
        }
    };
    kill_process(Pid::from_child(&kit), Signal::INT).unwrap();
    let output = kit.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(130), &b"interrupted\n"[..]));
    assert_eq!(test_kill_process(server), Err(Errno::SRCH));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing but the file of this test");
}

#[test]
fn slips_of_the_command_line_are_said() {
    for (arguments, said) in [
        (&["--core", "--url", "http://a"][..], "one of --core, --server and --url at a time"),
        (&[], "what is to be played?"),
        (&["--core", "--home", "/h"], "--token, --home and --desk are for --url"),
        (&["--core", "--env", "A=b"], "--env is for --server"),
        (&["--core", "--jobs", "0"], "--jobs wants a number above 0, not 0"),
        (&["--core", "--timeout", "-1"], "--timeout wants a number above 0, not -1"),
        (&["--core", "--only", "nothing"], "no vector is named nothing: see run --list"),
        (&["--core", "--only"], "--only wants a value"),
        (&["--server", "a {hom}"], "{hom} in \"{hom}\" is none of {home}"),
        (&["--server", "a", "--env", "A"], "a variable is written NAME=VALUE, not A"),
        (
            &["--url", "http://127.0.0.1:1"],
            "the token of http://127.0.0.1:1 is not known: say --token, or set PANEWIRE_TOKEN",
        ),
        (&["--url", "wss://a", "--token", "t"], "wss://a does not begin with http://"),
    ] {
        let (code, out, err) = run(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}");
        assert!(err.starts_with(said), "{err}");
    }
}

#[test]
fn vectors_are_listed() {
    let (code, out, _) = run(&["--list", "--only", "ping-every-20-s", "--only", "opening-in-order"]);
    assert_eq!(code, 0);
    let lines: Vec<&str> = out.lines().collect();
    assert!(
        lines[0].starts_with("opening-in-order (seed): ") && lines[1].starts_with("ping-every-20-s (decided, slow): ")
    );
    assert!(run(&["--help"]).1.contains("Exit code: 0 every vector that counts passed"));
}
