//! What a program says to the person who started it, and how it ends.

use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::surroundings::Unusable;

/// Why a command did not do what it should: one line for the person who started it.
#[derive(Debug)]
pub struct Problem(String);

impl Problem {
    /// A problem in these words: what happened, and what to do.
    pub fn new(text: impl fmt::Display) -> Self {
        Self(text.to_string())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Problem {}

impl From<Unusable> for Problem {
    fn from(unusable: Unusable) -> Self {
        Self::new(unusable)
    }
}

/// The end of a program: 0, or 1 with the problem on standard error.
#[must_use]
pub fn end(program: &str, done: Result<(), Problem>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => fail(program, &problem, 1),
    }
}

/// Says on standard error what went wrong. 2 is for a command line that makes no sense.
#[must_use]
pub fn fail(program: &str, problem: &dyn fmt::Display, code: u8) -> ExitCode {
    // Who closed our standard error does not want to read it.
    let _ = writeln!(io::stderr(), "{program}: {problem}");
    ExitCode::from(code)
}

/// Prints a text; a reader that has had enough is no problem.
///
/// # Errors
/// That it cannot be written.
pub fn print(text: &str) -> Result<(), Problem> {
    quiet(io::stdout().write_all(text.as_bytes()))
}

/// Takes a closed pipe for what it is: a pager that was left.
///
/// # Errors
/// Every other failure to write.
pub fn quiet(written: io::Result<()>) -> Result<(), Problem> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Problem::new(format_args!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pager_that_was_left_is_no_problem() {
        assert!(quiet(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let said = format!("cannot write to standard output: {full}");
        assert_eq!(quiet(Err(full)).unwrap_err().to_string(), said);
    }
}
