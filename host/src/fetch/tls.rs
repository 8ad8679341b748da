//! TLS with rustls: whom a server must be certified by, and the session under a request.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use panewire_core::io::FailureKind;
use rustix::event::PollFlags;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::wire::Socket;
use crate::answer::Answer;

/// Whom servers must be certified by: the authorities that the system knows, and those of one more file. The system is
/// asked when the first `https` URL is fetched. Clones share what was found.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    more: Vec<CertificateDer<'static>>,
    config: Arc<OnceLock<Arc<ClientConfig>>>,
}

impl Trust {
    /// The same with the authorities of a PEM file.
    ///
    /// # Errors
    /// What is wrong with the file, in words for people.
    pub fn with_file(file: &Path) -> Result<Self, String> {
        let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let more = read.map_err(|error| match error {
            rustls::pki_types::pem::Error::Io(error) => error.to_string(),
            error => format!("it is no PEM file: {error}"),
        })?;
        if more.is_empty() {
            return Err("no certificate is in it".to_owned());
        }
        let mut roots = RootCertStore::empty();
        for certificate in &more {
            roots.add(certificate.clone()).map_err(|error| format!("a certificate in it cannot be used: {error}"))?;
        }
        Ok(Self { more, config: Arc::default() })
    }

    /// Our side of a session with this host.
    pub(super) fn client(&self, host: &str) -> Result<Client, Answer> {
        let failed = |text: String| Answer::Failed(FailureKind::Other, text);
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| failed("this URL cannot be fetched: its host is no name and no address".to_owned()))?;
        let config = match self.config.get() {
            Some(config) => Arc::clone(config),
            None => {
                let config = self.look().map_err(failed)?;
                Arc::clone(self.config.get_or_init(|| config))
            }
        };
        ClientConnection::new(config, name).map(Client).map_err(|error| failed(format!("TLS: {error}")))
    }

    fn look(&self) -> Result<Arc<ClientConfig>, String> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.add_parsable_certificates(self.more.iter().cloned());
        if roots.is_empty() {
            let text = "this system knows no authorities for TLS: install its package of their certificates \
                (ca-certificates), or name a file of them with --push-ca FILE";
            return Err(text.to_owned());
        }
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS: {error}"))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// Our side of a session that has not begun.
pub(super) struct Client(ClientConnection);

/// A session over the socket.
pub(super) struct Session(StreamOwned<ClientConnection, Socket>);

impl Session {
    pub(super) fn begin(client: Client, socket: Socket) -> Self {
        Self(StreamOwned::new(client.0, socket))
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    /// What the socket has to be ready for; `None` if that is not for the session to say.
    pub(super) fn waits_for(&self) -> Option<PollFlags> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, self.0.conn.wants_read());
        flags.set(PollFlags::OUT, self.0.conn.wants_write());
        (!flags.is_empty()).then_some(flags)
    }
}

/// What is wrong with the other side, if it is that and not the connection.
pub(super) fn complaint(error: &io::Error) -> Option<String> {
    let inner = error.get_ref()?;
    let wrong = inner.downcast_ref::<rustls::Error>().or_else(|| inner.source()?.downcast_ref())?;
    Some(match wrong {
        rustls::Error::InvalidCertificate(why) => {
            format!("its certificate is not trusted ({why}); --push-ca FILE names further authorities")
        }
        wrong => format!("TLS: {wrong}"),
    })
}
