//! What a server finds around it during one play: a home, a herdr, a token. All of it is gone afterwards.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::fake_herdr::{self, DeskFile, Server};
use crate::herdr::Desk;
use crate::vector::real::template::Filling;
use crate::vector::stage::Trouble;

/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// A directory of its own with everything in it.
#[derive(Debug)]
pub(super) struct Machine {
    /// Before the directory: a socket is closed before its name goes.
    _herdr: Server,
    desk: DeskFile,
    path: PathBuf,
    herdr_program: PathBuf,
    token: String,
    _directory: TempDir,
}

impl Machine {
    /// With an empty home, and what herdr knows there. `herdr` is a program that is the fake herdr when it is called so.
    pub(super) fn new(herdr: &Path, desk: impl FnOnce(&str) -> Desk) -> Result<Self, Trouble> {
        let told = |what: &str, error: std::io::Error| Trouble(format!("cannot make {what}: {error}"));
        let directory = tempfile::Builder::new().prefix("conformance-").tempdir();
        let directory = directory.map_err(|error| told("a directory for a play", error))?;
        // Where a directory is a link, servers that look behind links find it all the same.
        let path = directory.path().canonicalize().map_err(|error| told("a directory for a play", error))?;
        for below in ["home", "herdr", "log"] {
            std::fs::create_dir(path.join(below)).map_err(|error| told(below, error))?;
        }
        let (herdr_program, desk) =
            fake_herdr::install(&path.join("herdr"), herdr, &desk(&path.join("home").to_string_lossy()))
                .map_err(|error| told("the command herdr", error))?;
        let socket = path.join("herdr.sock");
        let server = Server::start(&socket, desk.clone()).map_err(|error| {
            Trouble(format!("cannot make the socket {}: {error}; a short TMPDIR may help", socket.display()))
        })?;
        let mut random = [0; TOKEN_BYTES];
        getrandom::fill(&mut random).map_err(|error| Trouble(format!("cannot make a token: {error}")))?;
        let token = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { _herdr: server, desk, path, herdr_program, token, _directory: directory })
    }

    pub(super) fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    /// Where what a server writes is kept.
    pub(super) fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// What herdr knows.
    pub(super) const fn desk(&self) -> &DeskFile {
        &self.desk
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// The directory in which the command `herdr` lies.
    pub(super) fn herdr_directory(&self) -> PathBuf {
        self.path.join("herdr")
    }

    pub(super) fn filling(&self, port: u16) -> Filling {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Filling {
            home: text(&self.home()),
            port,
            herdr: text(&self.herdr_program),
            herdr_socket: text(&self.path.join("herdr.sock")),
            token: self.token.clone(),
        }
    }
}
