use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;

use super::*;
use crate::limit::Cancel;

#[cfg(feature = "tls")]
mod secure;

const LONG: Duration = Duration::from_secs(30);

/// A server that takes one connection on loopback, reads one request, sends `pieces` and goes away. What it read comes
/// back: the head, with its lines as they came, and the body.
fn server(pieces: Vec<Vec<u8>>) -> (String, thread::JoinHandle<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let served = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let read = read_request(&stream);
        for piece in pieces {
            // The client may have had enough.
            let _ = (&stream).write_all(&piece);
        }
        read
    });
    (origin, served)
}

fn read_request(stream: impl io::Read) -> (String, Vec<u8>) {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "the request ends in its head: {head}");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    (head, body)
}

fn get(url: &str, within: Duration) -> Answer {
    let question = Question { method: "GET", url, headers: &[], body: &Bytes::new(), within, answer_cap: 1000 };
    fetch(question, &Trust::default(), &Limit::begin(Cancel::default()))
}

fn fetched(answer: &Answer) -> (u16, &str) {
    match answer {
        Answer::Fetched { status, body } => (*status, std::str::from_utf8(body).unwrap()),
        other => panic!("nothing was fetched: {other:?}"),
    }
}

fn failure(answer: &Answer) -> (FailureKind, &str) {
    match answer {
        Answer::Failed(kind, text) => (*kind, text),
        other => panic!("not a failure: {other:?}"),
    }
}

#[test]
fn a_request_goes_out_as_it_was_asked_for() {
    let (origin, served) = server(vec![b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".into()]);
    let answer = fetch(
        Question {
            method: "POST",
            url: &format!("{origin}/hook?a=1&b=%20"),
            headers: &[("authorization", "Basic dTpw".to_owned()), ("content-type", "application/json".to_owned())],
            body: &Bytes::from_static(b"{\"x\":1}"),
            within: LONG,
            answer_cap: 2,
        },
        &Trust::default(),
        &Limit::begin(Cancel::default()),
    );
    assert_eq!(fetched(&answer), (200, "ok"));
    let (head, body) = served.join().unwrap();
    let mut lines: Vec<&str> = head.trim_end().lines().collect();
    assert_eq!(lines.remove(0), "POST /hook?a=1&b=%20 HTTP/1.1");
    lines.sort_unstable();
    let host = format!("host: {}", origin.strip_prefix("http://").unwrap());
    assert_eq!(lines, ["authorization: Basic dTpw", "content-length: 7", "content-type: application/json", &host]);
    assert_eq!(body, b"{\"x\":1}");
}

#[test]
fn a_question_without_a_path_asks_for_the_root() {
    let (origin, served) = server(vec![b"HTTP/1.1 204 No Content\r\n\r\n".into()]);
    assert_eq!(fetched(&get(&origin, LONG)), (204, ""));
    assert!(served.join().unwrap().0.starts_with("GET / HTTP/1.1\r\n"));
}

#[test]
fn a_body_comes_whole_however_it_is_sent() {
    for pieces in [
        vec!["HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nab", "cd", "ef"],
        vec!["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n", "4\r\ncd", "ef\r\n0\r\n\r\n"],
        vec!["HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc", "def"],
        vec!["HTTP/1.0 200 OK\r\n\r\nabc", "def"],
        vec!["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabcdef", "GARBAGE"],
    ] {
        let (origin, served) = server(pieces.iter().map(|piece| piece.as_bytes().to_vec()).collect());
        assert_eq!(fetched(&get(&origin, LONG)), (200, "abcdef"), "{pieces:?}");
        served.join().unwrap();
    }
}

#[test]
fn what_the_server_thinks_of_it_is_an_answer_too() {
    for (head, status) in
        [("401 Unauthorized", 401), ("500 Internal Server Error", 500), ("302 Found\r\nlocation: /elsewhere", 302)]
    {
        let (origin, served) = server(vec![format!("HTTP/1.1 {head}\r\ncontent-length: 3\r\n\r\nno\n").into_bytes()]);
        assert_eq!(fetched(&get(&origin, LONG)), (status, "no\n"));
        served.join().unwrap();
    }
}

#[test]
fn an_answer_over_the_cap_is_refused_and_one_as_long_as_it_is_not() {
    for (length, expected) in [(1000, None), (1001, Some((FailureKind::TooLarge, "answer of over 1000 bytes")))] {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n").into_bytes();
        let (origin, served) = server(vec![head, vec![b'x'; length]]);
        let answer = get(&origin, LONG);
        match expected {
            Some(expected) => assert_eq!(failure(&answer), expected),
            None => assert_eq!(fetched(&answer), (200, "x".repeat(length).as_str())),
        }
        served.join().unwrap();
    }
}

#[test]
fn each_way_to_fail_is_told_apart() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    assert_eq!(failure(&get(&url, Duration::from_millis(100))), (FailureKind::TimedOut, "timed out"));
    drop(silent);
    assert_eq!(failure(&get(&url, LONG)).0, FailureKind::Unreachable, "nobody listens any more");

    for (answer, expected) in [
        ("", (FailureKind::Unreachable, "closed before the answer was complete")),
        ("HTTP/1.1 200 OK\r\ncontent-le", (FailureKind::Unreachable, "closed before the answer was complete")),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc",
            (FailureKind::Unreachable, "closed before the answer was complete"),
        ),
        ("SSH-2.0-OpenSSH_9.9\r\n\r\n", (FailureKind::Other, "the answer is no HTTP")),
    ] {
        let (origin, served) = server(vec![answer.into()]);
        assert_eq!(failure(&get(&origin, LONG)), expected, "{answer:?}");
        served.join().unwrap();
    }
    assert_eq!(failure(&get("http://no-such-host.invalid/", LONG)).0, FailureKind::Unreachable);
}

#[test]
fn nobody_waits_for_a_cancelled_question() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let cancel = Cancel::default();
    let limit = Limit::begin(cancel.clone());
    let asking = thread::spawn(move || {
        let body = Bytes::new();
        let question =
            Question { method: "GET", url: &url, headers: &[], body: &body, within: LONG * 1000, answer_cap: 1 };
        fetch(question, &Trust::default(), &limit)
    });
    let (stream, _) = silent.accept().unwrap();
    assert!(read_request(&stream).0.starts_with("GET / "));
    cancel.cancel();
    assert_eq!(failure(&asking.join().unwrap()).0, FailureKind::TimedOut);
}

#[test]
fn a_url_that_cannot_be_fetched_is_refused_without_being_repeated() {
    for url in
        ["", "/path", "127.0.0.1:80/secret", "ftp://127.0.0.1/secret", "http://u:secret@127.0.0.1/", "http://a b/"]
    {
        let answer = get(url, LONG);
        let (kind, text) = failure(&answer);
        assert_eq!(kind, FailureKind::Other, "{url}");
        assert!(text.starts_with("this URL cannot be fetched: ") && !text.contains("secret"), "{url}: {text}");
    }
    let headers = [("x", "a\nb".to_owned())];
    let (body, within) = (Bytes::new(), LONG);
    let question =
        Question { method: "GET", url: "http://127.0.0.1/", headers: &headers, body: &body, within, answer_cap: 1 };
    assert_eq!(failure(&fetch(question, &Trust::default(), &Limit::begin(Cancel::default()))).0, FailureKind::Other);
}

#[cfg(not(feature = "tls"))]
#[test]
fn https_needs_a_program_that_was_built_with_it() {
    assert_eq!(failure(&get("https://127.0.0.1/", LONG)).0, FailureKind::Unsupported);
}
