//! What stands in for TLS in a program that was built without it.

use std::convert::Infallible;
use std::io;
use std::path::Path;

use panewire_core::io::FailureKind;
use rustix::event::PollFlags;

use super::wire::Socket;
use crate::answer::Answer;

/// Whom servers must be certified by: nobody is asked here.
#[derive(Debug, Clone, Default)]
pub struct Trust(());

impl Trust {
    /// Nothing can be done with authorities.
    ///
    /// # Errors
    /// Always.
    pub fn with_file(_: &Path) -> Result<Self, String> {
        Err("this program was built without TLS: panewire-server has it, and panewire with the feature 'tls'"
            .to_owned())
    }

    pub(super) fn client(&self, _: &str) -> Result<Client, Answer> {
        let text = "this program was built without TLS: only http URLs can be fetched".to_owned();
        Err(Answer::Failed(FailureKind::Unsupported, text))
    }
}

/// There is none.
pub(super) struct Client(Infallible);

/// There is none.
pub(super) struct Session(Infallible);

#[expect(clippy::needless_pass_by_ref_mut, reason = "the face of a session that there is")]
impl Session {
    pub(super) fn begin(client: Client, _: Socket) -> Self {
        Self(client.0)
    }

    pub(super) fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }

    pub(super) fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        match self.0 {}
    }

    pub(super) fn waits_for(&self) -> Option<PollFlags> {
        match self.0 {}
    }
}

pub(super) fn complaint(_: &io::Error) -> Option<String> {
    None
}
