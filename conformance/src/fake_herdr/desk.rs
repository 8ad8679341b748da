//! The file in which a test says what herdr knows.

use std::io;
use std::path::{Path, PathBuf};

use crate::herdr::{Desk, Typed};

/// A [`Desk`] in a file. It is replaced as a whole, so whoever reads it sees one state or the other.
#[derive(Debug, Clone)]
pub struct DeskFile(PathBuf);

impl DeskFile {
    /// The file at this path.
    #[must_use]
    pub const fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// What it says now.
    ///
    /// # Errors
    /// If it cannot be read, or is no desk.
    pub fn read(&self) -> io::Result<Desk> {
        Ok(serde_json::from_slice(&std::fs::read(&self.0)?)?)
    }

    /// Says something else from now on.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, desk: &Desk) -> io::Result<()> {
        let beside = self.0.with_extension("json.new");
        std::fs::write(&beside, serde_json::to_vec_pretty(desk)?)?;
        std::fs::rename(beside, &self.0)
    }

    /// The program in a pane of this session reads what was typed.
    ///
    /// # Errors
    /// If it cannot be read or written.
    pub fn take(&self, session: Option<&str>, typed: Typed) -> io::Result<()> {
        self.change(|desk| {
            if let Some(desk) = desk.of_session(session) {
                desk.take(typed);
            }
        })
    }

    /// Changes what it says.
    ///
    /// # Errors
    /// If it cannot be read or written.
    pub fn change(&self, how: impl FnOnce(&mut Desk)) -> io::Result<()> {
        let mut desk = self.read()?;
        how(&mut desk);
        self.write(&desk)
    }
}
