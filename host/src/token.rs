//! The token that opens the door.

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use panewire_core::http::auth::token_in;
use panewire_core::limits::MAX_TOKEN_BYTES;
use rustix::fs::{Mode, OFlags};

use crate::files::replace;

/// The environment variable that replaces the file.
pub const VARIABLE: &str = "PANEWIRE_TOKEN";

/// Where the token of a state directory lies.
#[must_use]
pub fn file(state_dir: &Path) -> PathBuf {
    state_dir.join("token")
}

/// The token of a state directory; a first one is made.
///
/// # Errors
/// What the system says, or that the file holds nothing that could be a token.
pub fn load(state_dir: &Path) -> io::Result<String> {
    find(state_dir)?.map_or_else(|| rotate(state_dir), Ok)
}

/// The token of a state directory, if there is one.
///
/// # Errors
/// As [`load`].
pub fn find(state_dir: &Path) -> io::Result<Option<String>> {
    let path = file(state_dir);
    match read(&path) {
        Ok(token) => Ok(Some(token)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    }
}

/// The token of the environment, if [`VARIABLE`] is set and not empty.
///
/// # Errors
/// That it holds nothing that could be a token.
pub fn from_environment() -> io::Result<Option<String>> {
    from_variable(env::var_os(VARIABLE))
}

/// Makes a new token and forgets the old one.
///
/// # Errors
/// What the system says; the old one stays then.
pub fn rotate(state_dir: &Path) -> io::Result<String> {
    let token = random()?;
    replace(&file(state_dir), format!("{token}\n").as_bytes())?;
    Ok(token)
}

/// 32 random bytes in hexadecimal.
///
/// # Errors
/// That the system has no random numbers.
pub fn random() -> io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let mut token = String::with_capacity(64);
    for byte in bytes {
        let _ = write!(token, "{byte:02x}");
    }
    Ok(token)
}

fn from_variable(value: Option<OsString>) -> io::Result<Option<String>> {
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let nothing = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{VARIABLE} holds no token: unset it, or set it to one word"),
        )
    };
    let token = token_in(value.as_encoded_bytes()).ok_or_else(nothing)?;
    Ok(Some(token.to_owned()))
}

fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    // NONBLOCK: a pipe without a writer must not hold us.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file: remove it, and one is made"));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        // Somebody copied it with other tools: others shall not go on reading it.
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
    }
    (&file).take(MAX_TOKEN_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    let held = Some(&*bytes).filter(|bytes| bytes.len() <= MAX_TOKEN_BYTES);
    let nothing = || io::Error::new(io::ErrorKind::InvalidData, "holds no token (panewire token --rotate makes one)");
    Ok(held.and_then(token_in).ok_or_else(nothing)?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_first_token_is_made_and_stays() {
        let directory = tempfile::tempdir().unwrap();
        let state_dir = directory.path().join("state");
        assert_eq!(find(&state_dir).unwrap(), None);
        let token = load(&state_dir).unwrap();
        assert_eq!(token.len(), 64);
        assert!(token.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)));
        assert_eq!((mode(&state_dir), mode(&file(&state_dir))), (0o700, 0o600));
        assert_eq!(load(&state_dir).unwrap(), token);
        let fresh = rotate(&state_dir).unwrap();
        assert_ne!(fresh, token);
        assert_eq!(load(&state_dir).unwrap(), fresh);
        assert_eq!(mode(&file(&state_dir)), 0o600);
    }

    #[test]
    fn a_token_that_others_can_read_is_made_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(directory.path());
        fs::write(&path, "  my-own-token\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(load(directory.path()).unwrap(), "my-own-token");
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_file_without_a_token_opens_no_door() {
        let directory = tempfile::tempdir().unwrap();
        for content in [&b""[..], b"\n", b"two words\n", b"\xff", &[b'x'; 4097]] {
            fs::write(file(directory.path()), content).unwrap();
            let error = load(directory.path()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().ends_with("token: holds no token (panewire token --rotate makes one)"));
        }
        fs::write(file(directory.path()), [b'x'; 4096]).unwrap();
        assert_eq!(load(directory.path()).unwrap().len(), 4096);
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, file(directory.path()), Mode::RUSR).unwrap();
        let error = load(directory.path()).unwrap_err();
        assert!(error.to_string().ends_with("token: not a regular file: remove it, and one is made"));
    }

    #[test]
    fn a_variable_is_held_to_the_rules_of_the_file() {
        let token = |text: &str| from_variable(Some(text.into())).map_err(|error| error.to_string());
        assert_eq!(from_variable(None).unwrap(), None);
        assert_eq!(token(""), Ok(None));
        assert_eq!(token(" my-own\n"), Ok(Some("my-own".into())));
        for nothing in [" ", "\n", "two words", "a\u{7}b"] {
            assert_eq!(
                token(nothing),
                Err("PANEWIRE_TOKEN holds no token: unset it, or set it to one word".into()),
                "{nothing:?}"
            );
        }
    }
}
