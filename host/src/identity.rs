//! Which server this is, for clients that know several.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::replace;
use crate::token::random;

/// Hexadecimal digits of an identity.
const DIGITS: usize = 16;

/// Where the identity of a state directory lies.
#[must_use]
pub fn file(state_dir: &Path) -> PathBuf {
    state_dir.join("server-id")
}

/// The identity of a state directory; a first one is made.
///
/// # Errors
/// What the system says, or that the file holds none.
pub fn load(state_dir: &Path) -> io::Result<String> {
    let path = file(state_dir);
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    match fs::read_to_string(&path) {
        Ok(text) if is_identity(text.trim()) => Ok(text.trim().to_owned()),
        Ok(_) => Err(named(io::Error::new(
            io::ErrorKind::InvalidData,
            "holds no identity: remove it, and one is made; clients will take this for another server then",
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let identity = random()?.chars().take(DIGITS).collect::<String>();
            replace(&path, format!("{identity}\n").as_bytes()).map_err(named)?;
            Ok(identity)
        }
        Err(error) => Err(named(error)),
    }
}

fn is_identity(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once_and_stays() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (directory.path().join("one"), directory.path().join("other"));
        let identity = load(&one).unwrap();
        assert!(is_identity(&identity), "{identity}");
        assert_eq!(load(&one).unwrap(), identity);
        assert_ne!(load(&other).unwrap(), identity);
    }

    #[test]
    fn what_is_none_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        for content in ["", "0123456789ABCDEF\n", "0123456789abcde\n", "0123456789abcdef0"] {
            fs::write(file(directory.path()), content).unwrap();
            let error = load(directory.path()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains("server-id: holds no identity: remove it"), "{error}");
            assert_eq!(fs::read_to_string(file(directory.path())).unwrap(), content);
        }
    }
}
