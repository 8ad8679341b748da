//! A server that somebody else started.

use std::path::PathBuf;

use crate::fake_herdr::DeskFile;
use crate::vector::document::Vector;
use crate::vector::real::address::Address;
use crate::vector::step::Step;

/// Where it is, and what of its surroundings the kit may write.
#[derive(Debug, Clone)]
pub struct Running {
    address: Address,
    token: String,
    home: Option<PathBuf>,
    desk: Option<PathBuf>,
}

impl Running {
    /// A server at this URL, whose token is this.
    ///
    /// # Errors
    /// If the URL is none that the kit can use.
    pub fn new(url: &str, token: &str) -> Result<Self, String> {
        Ok(Self { address: Address::of(url)?, token: token.into(), home: None, desk: None })
    }

    /// Its agents live in this directory, and the kit may put files there.
    #[must_use]
    pub fn with_home(mut self, home: PathBuf) -> Self {
        self.home = Some(home);
        self
    }

    /// Its herdr is the kit's fake one, which reads what it knows from this file.
    #[must_use]
    pub fn with_desk(mut self, desk: PathBuf) -> Self {
        self.desk = Some(desk);
        self
    }

    /// Whether it can be reached at all.
    ///
    /// # Errors
    /// Why not.
    pub fn rehearse(&self) -> Result<(), String> {
        self.address.connect().map(drop)
    }

    /// Why this vector cannot be played here.
    #[must_use]
    pub fn unfit(&self, vector: &Vector) -> Option<String> {
        let writes = |step: &Step| {
            step.content().is_some()
                || matches!(
                    step,
                    Step::Truncate(_) | Step::Rename(_) | Step::Delete(_) | Step::Spoil(_) | Step::Heal(_)
                )
        };
        let asks_herdr = |step: &Step| match step {
            Step::Herdr(_) | Step::Typed(_) => true,
            Step::Connect(connect) => connect.pane.is_some(),
            Step::Request(request) => request.query.contains_key("pane") || request.body.is_some(),
            _ => false,
        };
        let files = !vector.files.is_empty() || vector.steps.iter().any(writes);
        let panes = !vector.herdr.panes.is_empty() || vector.steps.iter().any(asks_herdr);
        let home = (files && self.home.is_none()).then_some("its files can be put nowhere: say --home DIR");
        let desk =
            (panes && self.desk.is_none()).then_some("its panes are not known to the server's herdr: say --desk FILE");
        let all: Vec<&str> = home.into_iter().chain(desk).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    pub(super) const fn address(&self) -> &Address {
        &self.address
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn home(&self) -> Option<PathBuf> {
        self.home.clone()
    }

    pub(super) fn desk(&self) -> Option<DeskFile> {
        self.desk.clone().map(DeskFile::at)
    }
}
