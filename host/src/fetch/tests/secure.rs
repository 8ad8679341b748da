//! The same under TLS, against a server that an authority of the test has certified.

use std::fs;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use super::*;

/// An authority, and where its certificate lies.
struct Authority {
    directory: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        Self { directory, issuer: Issuer::new(params, key) }
    }

    fn trust(&self) -> Trust {
        Trust::with_file(&self.directory.path().join("ca.pem")).unwrap()
    }

    /// What a server with these names needs.
    fn certify(&self, names: &[&str]) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let names = names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &self.issuer).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key.serialize_der().try_into().unwrap())
            .unwrap();
        Arc::new(config)
    }
}

/// What a server read, or why it could not.
type Served = thread::JoinHandle<io::Result<(String, Vec<u8>)>>;

/// Takes one connection under TLS and answers one request with `pieces`.
fn server(config: Arc<ServerConfig>, pieces: Vec<Vec<u8>>) -> (u16, Served) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let served = thread::spawn(move || {
        let (stream, _) = listener.accept()?;
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        let read = read_request(&mut stream);
        for piece in pieces {
            stream.write_all(&piece)?;
        }
        stream.conn.send_close_notify();
        stream.flush()?;
        Ok(read)
    });
    (port, served)
}

fn get_trusting(url: &str, trust: &Trust, cap: usize) -> Answer {
    let question = Question { method: "GET", url, headers: &[], body: &Bytes::new(), within: LONG, answer_cap: cap };
    fetch(question, trust, &Limit::begin(Cancel::default()))
}

#[test]
fn a_server_that_is_certified_is_asked_by_name_and_by_address() {
    let authority = Authority::new("ours");
    let config = authority.certify(&["localhost", "127.0.0.1"]);
    for host in ["localhost", "127.0.0.1"] {
        let answer = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
        let (port, served) = server(Arc::clone(&config), vec![answer, b"ab".into(), b"cd".into()]);
        let url = format!("https://{host}:{port}/hook?a=1");
        assert_eq!(fetched(&get_trusting(&url, &authority.trust(), 4)), (200, "abcd"));
        let (head, _) = served.join().unwrap().unwrap();
        assert!(head.starts_with("GET /hook?a=1 HTTP/1.1\r\n"), "{head}");
        assert!(head.contains(&format!("host: {host}:{port}\r\n")), "{head}");
    }
}

#[test]
fn a_large_body_goes_out_and_comes_back_whole() {
    let authority = Authority::new("ours");
    let body = Bytes::from(vec![b'x'; 3_000_000]);
    let answer = [format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat();
    let (port, served) = server(authority.certify(&["localhost"]), vec![answer]);
    let question = Question {
        method: "POST",
        url: &format!("https://localhost:{port}/"),
        headers: &[],
        body: &body,
        within: LONG,
        answer_cap: body.len(),
    };
    let answer = fetch(question, &authority.trust(), &Limit::begin(Cancel::default()));
    let Answer::Fetched { status: 200, body: back } = answer else { panic!("{answer:?}") };
    assert_eq!(back, body);
    assert_eq!(served.join().unwrap().unwrap().1, body);
}

#[test]
fn a_stranger_gets_no_request() {
    let authority = Authority::new("ours");
    for (config, trust, why) in [
        (authority.certify(&["localhost"]), Authority::new("others").trust(), "UnknownIssuer"),
        (authority.certify(&["elsewhere.example"]), authority.trust(), "not valid for name"),
    ] {
        let (port, served) = server(config, Vec::new());
        let answer = get_trusting(&format!("https://localhost:{port}/secret"), &trust, 1);
        let (kind, text) = failure(&answer);
        assert_eq!(kind, FailureKind::Other, "{text}");
        assert!(text.starts_with("its certificate is not trusted (") && text.contains(why), "{text}");
        assert!(text.ends_with("); --push-ca FILE names further authorities"), "{text}");
        assert!(served.join().unwrap().is_err(), "the request was read");
    }
}

#[test]
fn a_body_that_is_cut_is_no_answer() {
    let authority = Authority::new("ours");
    let config = authority.certify(&["localhost"]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}/", listener.local_addr().unwrap().port());
    let served = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        read_request(&mut stream);
        // It goes away without saying that this was all.
        stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhalf").unwrap();
    });
    let answer = get_trusting(&url, &authority.trust(), 100);
    assert_eq!(failure(&answer), (FailureKind::Unreachable, "closed before the answer was complete"));
    served.join().unwrap();
}

#[test]
fn who_speaks_no_tls_is_named_so() {
    let (origin, served) = super::server(vec![b"HTTP/1.1 400 Bad Request\r\n\r\n".into()]);
    let port = origin.rsplit(':').next().unwrap();
    let talk = thread::spawn(move || served.join().is_ok());
    let answer = get_trusting(&format!("https://127.0.0.1:{port}/"), &Authority::new("ours").trust(), 1);
    assert_ne!(failure(&answer).0, FailureKind::Unsupported);
    assert!(!talk.join().unwrap(), "what came was a request");
}

#[test]
fn a_file_without_authorities_is_said_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ca.pem");
    assert!(Trust::with_file(&file).unwrap_err().contains("No such file"));
    for (text, why) in [
        ("hello", "no certificate is in it"),
        ("-----BEGIN CERTIFICATE-----\nx\n", "it is no PEM file: "),
        ("-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n", "a certificate in it cannot be used: "),
    ] {
        fs::write(&file, text).unwrap();
        let said = Trust::with_file(&file).unwrap_err();
        assert!(said.starts_with(why), "{said}");
    }
}
