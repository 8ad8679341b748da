//! Push to `https`, over real sockets and under TLS.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;

use panewire_conformance::herdr::Desk;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::crypto::ring;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use crate::daemon::machine;
use crate::daemon::push::read_request;

/// An authority's certificate, and what a server at `localhost` needs that it has certified.
fn certified() -> (String, Arc<ServerConfig>) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let (authority_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let authority = params.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(params, authority_key);
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.serialize_der().try_into().unwrap())
        .unwrap();
    (authority, Arc::new(config))
}

#[test]
fn a_webhook_behind_tls_is_told() {
    let (machine, _) = machine(1);
    let (authority, config) = certified();
    let file = machine.path("authority.pem");
    fs::write(&file, authority).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}/hook", listener.local_addr().unwrap().port());
    let daemon = machine.start(&["--push", &url, "--push-ca", file.to_str().unwrap()]);
    // It is seen as it was before it changes.
    let mut client = daemon.events();
    assert_eq!(client.next().kind(), "snapshot");
    let blocked =
        |desk: &mut Desk| (desk.panes[0].agent_status, desk.panes[0].state_change_seq) = ("blocked".into(), 9);
    machine.desk.change(blocked).unwrap();
    let (stream, _) = listener.accept().unwrap();
    let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
    let (first, body) = read_request(&mut stream);
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    assert_eq!(first, "POST /hook HTTP/1.1");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["body"], "Needs you");
    client.until("push_sent");
}

#[test]
fn a_file_without_authorities_ends_the_start() {
    let (machine, _) = machine(1);
    let file = machine.path("authority.pem");
    let file = file.to_str().unwrap();
    let mut arguments = vec!["serve", "--listen", "127.0.0.1:0", "--push", "https://localhost/", "--push-ca", file];
    let options = machine.options();
    arguments.extend(options.iter().map(String::as_str));
    let ended = machine.run(&arguments);
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("cannot use --push-ca {file}: No such file")), "{said}");
}
