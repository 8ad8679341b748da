//! What the process finds around it: home, state, herdr, and the machine's own names.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use panewire_core::config::{Config, Demo, Herdr, Roots, Server};
use panewire_core::http::auth::TokenDigest;
use panewire_core::http::site::Asset;
use panewire_core::limits::Limits;

use crate::arguments::{Places, Serve};

/// Paths and names that were made out, before a token is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The directories of the agents.
    pub roots: Roots,
    /// Our own state.
    pub state_dir: PathBuf,
    /// How herdr is asked.
    pub herdr: Herdr,
    /// The machine's own names.
    pub own_names: Vec<String>,
}

/// Why the surroundings are of no use: one line for the person who started it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable(String);

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unusable {}

impl Surroundings {
    /// Looks at this process's environment.
    ///
    /// # Errors
    /// [`Unusable`] if there is no home, or it cannot be read, or a path is not UTF-8.
    pub fn find(places: &Places) -> Result<Self, Unusable> {
        Self::from_variables(places, &|name| env::var_os(name), own_names())
    }

    fn from_variables(
        places: &Places,
        variable: &dyn Fn(&str) -> Option<OsString>,
        own_names: Vec<String>,
    ) -> Result<Self, Unusable> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let user_home = variable("HOME");
        let home = places.home.clone().or_else(|| user_home.clone());
        let home = home.ok_or_else(|| Unusable("there is no HOME: say --home DIR".to_owned()))?;
        if let Err(error) = fs::read_dir(&home) {
            return Err(Unusable(format!(
                "cannot read the home directory {}: {error}; --home DIR names another",
                home.display()
            )));
        }
        // Who names a home wants that one, and not what the environment says about another.
        let mut roots = Roots::below(&text(&home)?);
        if places.home.is_none() {
            for (name, root) in [
                ("CLAUDE_CONFIG_DIR", &mut roots.claude),
                ("CODEX_HOME", &mut roots.codex),
                ("PI_CODING_AGENT_DIR", &mut roots.pi),
            ] {
                if let Some(configured) = variable(name) {
                    *root = text(&configured)?;
                }
            }
            if let Some(home) = variable("GEMINI_CLI_HOME") {
                roots.gemini = text(&home.join(".gemini"))?;
            }
            let below = |name: &str| variable(name).filter(|path| path.is_absolute()).map(|path| path.join("opencode"));
            if let Some(data) = variable("OPENCODE_DATA_DIR").or_else(|| below("XDG_DATA_HOME")) {
                roots.opencode = text(&data)?;
            }
            if let Some(state) = below("XDG_STATE_HOME") {
                roots.opencode_state = text(&state)?;
            }
        }
        let state_home = variable("XDG_STATE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| user_home.as_ref().map(|home| home.join(".local/state")));
        let state_dir = match (&places.state_dir, state_home) {
            (Some(state_dir), _) => state_dir.clone(),
            (None, Some(state_home)) => state_home.join("panewire"),
            (None, None) => return Err(Unusable("there is no HOME: say --state-dir DIR".to_owned())),
        };
        let base = herdr_base(&variable);
        let socket = places.herdr_socket.clone().or_else(|| herdr_socket(&variable, base.as_deref()));
        let program = match &places.herdr_bin {
            // A name alone is looked up in PATH.
            Some(program) if program.components().count() > 1 => text(program)?,
            Some(program) => program.to_str().map(str::to_owned).ok_or_else(|| not_utf8(program))?,
            None => "herdr".to_owned(),
        };
        let in_text = |path: Option<PathBuf>| path.map(|path| text(&path)).transpose();
        let (socket, sessions_dir) = (in_text(socket)?, in_text(base.map(|base| base.join("sessions")))?);
        let herdr = Herdr { mode: places.herdr, socket, sessions_dir, program };
        Ok(Self { roots, state_dir: text(&state_dir)?.into(), herdr, own_names })
    }

    /// What the core needs to know.
    ///
    /// # Errors
    /// Never after [`Surroundings::find`], which has looked at every path.
    pub fn config(&self, serve: &Serve, token: &str) -> Result<Config, Unusable> {
        Ok(Config {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            server: Server { name: self.name().to_owned(), ..Server::default() },
            own_names: self.own_names.clone(),
            allow_hosts: serve.allow_hosts.clone(),
            allow_origins: serve.allow_origins.clone(),
            tokens: vec![TokenDigest::of(token)],
            token_file: None,
            site: WEB_VIEW,
            roots: self.roots.clone(),
            state_dir: text(&self.state_dir)?,
            herdr: self.herdr.clone(),
            push: serve.push.clone(),
            demo: if serve.demo { Demo::Always } else { Demo::Auto },
            limits: Limits::default(),
        })
    }

    /// How people call this machine.
    fn name(&self) -> &str {
        let named = self.own_names.iter().find(|name| !name.ends_with(".local")).or_else(|| self.own_names.first());
        named.map_or("panewire", String::as_str)
    }
}

/// The directory in which herdr keeps its sockets.
fn herdr_base(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let config = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")))?;
    Some(config.join("herdr"))
}

/// The web view, if this daemon has one.
#[cfg(feature = "web")]
const WEB_VIEW: &[Asset] = panewire_web::SITE;
#[cfg(not(feature = "web"))]
const WEB_VIEW: &[Asset] = &[];

/// herdr's socket as herdr finds it: a path, a session's name, or the default.
fn herdr_socket(variable: &dyn Fn(&str) -> Option<PathBuf>, base: Option<&Path>) -> Option<PathBuf> {
    if let Some(path) = variable("HERDR_SOCKET_PATH") {
        return Some(path);
    }
    let base = base?;
    let name = variable("HERDR_SESSION").filter(|name| is_session_name(name) && name.as_os_str() != "default");
    Some(match name {
        Some(name) => base.join("sessions").join(name).join("herdr.sock"),
        None => base.join("herdr.sock"),
    })
}

/// ASCII letters, digits, `.`, `_`, `-`, at most 64, and nothing that is a way up.
fn is_session_name(name: &Path) -> bool {
    name.to_str().is_some_and(|name| {
        name.len() <= 64
            && !matches!(name, "." | "..")
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    })
}

/// The names by which others on the network call this machine.
fn own_names() -> Vec<String> {
    let uname = rustix::system::uname();
    let full = uname.nodename().to_string_lossy().to_lowercase();
    let short = full.split('.').next().unwrap_or_default().to_owned();
    if short.is_empty() {
        return Vec::new();
    }
    let mut names = vec![format!("{short}.local"), short];
    if !names.contains(&full) {
        names.push(full);
    }
    names
}

/// An absolute path in UTF-8, without a final `/`.
fn text(path: &Path) -> Result<String, Unusable> {
    let absolute =
        std::path::absolute(path).map_err(|error| Unusable(format!("cannot use {}: {error}", path.display())))?;
    let text = absolute.to_str().ok_or_else(|| not_utf8(path))?;
    let trimmed = text.trim_end_matches('/');
    Ok(if trimmed.is_empty() { "/".to_owned() } else { trimmed.to_owned() })
}

fn not_utf8(path: &Path) -> Unusable {
    Unusable(format!("the path {} is not UTF-8: name one that is", path.display()))
}

#[cfg(test)]
mod tests {
    use panewire_core::config::{HerdrMode, Push, PushDetail, PushTarget};

    use super::*;

    fn found(places: &Places, variables: &[(&str, &str)]) -> Result<Surroundings, Unusable> {
        let variable =
            |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| OsString::from(value));
        Surroundings::from_variables(places, &variable, vec!["box".into()])
    }

    fn home() -> (tempfile::TempDir, String) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap().to_owned();
        (directory, path)
    }

    #[test]
    fn everything_lies_in_the_home_directory_by_default() {
        let (_directory, home) = home();
        let surroundings = found(&Places::default(), &[("HOME", &home), ("CLAUDE_CONFIG_DIR", "")]).unwrap();
        let expected = Surroundings {
            roots: Roots::below(&home),
            state_dir: format!("{home}/.local/state/panewire").into(),
            herdr: Herdr {
                mode: HerdrMode::Auto,
                socket: Some(format!("{home}/.config/herdr/herdr.sock")),
                sessions_dir: Some(format!("{home}/.config/herdr/sessions")),
                program: "herdr".into(),
            },
            own_names: vec!["box".into()],
        };
        assert_eq!(surroundings, expected);
    }

    #[test]
    fn the_environment_moves_things() {
        let (_directory, home) = home();
        let variables =
            [("HOME", &home[..]), ("CLAUDE_CONFIG_DIR", "/c/"), ("XDG_STATE_HOME", "/s"), ("XDG_CONFIG_HOME", "/x")];
        let surroundings = found(&Places::default(), &variables).unwrap();
        assert_eq!(surroundings.roots.claude, "/c");
        assert_eq!(surroundings.state_dir, Path::new("/s/panewire"));
        assert_eq!(surroundings.herdr.socket.as_deref(), Some("/x/herdr/herdr.sock"));
        assert_eq!(surroundings.herdr.sessions_dir.as_deref(), Some("/x/herdr/sessions"));
        let relative = found(&Places::default(), &[("HOME", &home), ("XDG_STATE_HOME", "s")]).unwrap();
        assert_eq!(relative.state_dir, Path::new(&home).join(".local/state/panewire"));
    }

    #[test]
    fn a_named_home_switches_the_agents_variables_off_and_nothing_else() {
        let (_directory, home) = home();
        let (_named, named) = self::home();
        let places = Places { home: Some(format!("{named}/").into()), ..Places::default() };
        let surroundings = found(&places, &[("HOME", &home), ("CLAUDE_CONFIG_DIR", "/c")]).unwrap();
        assert_eq!(surroundings.roots, Roots::below(&named));
        assert_eq!(surroundings.state_dir, Path::new(&home).join(".local/state/panewire"));
        assert_eq!(surroundings.herdr.socket, Some(format!("{home}/.config/herdr/herdr.sock")));
    }

    #[test]
    fn herdrs_socket_is_found_as_herdr_finds_it() {
        let (_directory, home) = home();
        let socket = |variables: &[(&str, &str)]| {
            let all: Vec<_> = [("HOME", &home[..])].into_iter().chain(variables.iter().copied()).collect();
            found(&Places::default(), &all).unwrap().herdr.socket.unwrap()
        };
        let base = format!("{home}/.config/herdr");
        assert_eq!(socket(&[("HERDR_SESSION", "work")]), format!("{base}/sessions/work/herdr.sock"));
        assert_eq!(socket(&[("HERDR_SESSION", "default")]), format!("{base}/herdr.sock"));
        assert_eq!(socket(&[("HERDR_SESSION", "../up")]), format!("{base}/herdr.sock"));
        assert_eq!(socket(&[("HERDR_SESSION", "..")]), format!("{base}/herdr.sock"));
        assert_eq!(socket(&[("HERDR_SESSION", "work"), ("HERDR_SOCKET_PATH", "/run/h.sock")]), "/run/h.sock");
        let places = Places { herdr_socket: Some("/said".into()), ..Places::default() };
        let said = found(&places, &[("HOME", &home), ("HERDR_SOCKET_PATH", "/run/h.sock")]).unwrap();
        assert_eq!(said.herdr.socket.as_deref(), Some("/said"));
    }

    #[test]
    fn herdrs_program_is_a_name_or_a_path() {
        let (_directory, home) = home();
        let program = |program: &str| {
            let places = Places { herdr_bin: Some(program.into()), ..Places::default() };
            found(&places, &[("HOME", &home)]).unwrap().herdr.program
        };
        assert_eq!(program("herdr-dev"), "herdr-dev");
        assert_eq!(program("/opt/herdr"), "/opt/herdr");
        assert_eq!(program("bin/herdr"), std::path::absolute("bin/herdr").unwrap().to_str().unwrap());
    }

    #[test]
    fn a_home_that_cannot_be_read_is_said_at_once() {
        let (_directory, home) = home();
        let missing = format!("{home}/none");
        let places = Places { home: Some(missing.clone().into()), ..Places::default() };
        let error = found(&places, &[("HOME", &home)]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot read the home directory {missing}: ")), "{error}");
        assert!(error.ends_with("; --home DIR names another"), "{error}");
        assert_eq!(found(&Places::default(), &[]).unwrap_err().to_string(), "there is no HOME: say --home DIR");
        let places = Places { home: Some(home.into()), ..Places::default() };
        assert_eq!(found(&places, &[]).unwrap_err().to_string(), "there is no HOME: say --state-dir DIR");
    }

    #[test]
    fn the_core_is_told_what_was_found() {
        let (_directory, home) = home();
        let surroundings = found(&Places::default(), &[("HOME", &home)]).unwrap();
        let serve = Serve {
            listen: String::new(),
            places: Places::default(),
            allow_hosts: vec!["tail.net".into()],
            allow_origins: vec!["https://app.example".into()],
            log: panewire_core::io::Level::Info,
            demo: true,
            push_ca: None,
            push: Push { targets: vec![PushTarget::Ntfy("http://ntfy.example/t".into())], detail: PushDetail::Full },
        };
        let config = surroundings.config(&serve, "secret").unwrap();
        assert_eq!(config.roots.claude, format!("{home}/.claude"));
        assert_eq!(config.state_dir, format!("{home}/.local/state/panewire"));
        assert_eq!((config.demo, config.allow_hosts), (Demo::Always, vec!["tail.net".to_owned()]));
        assert_eq!(config.server, Server { id: String::new(), name: "box".into(), url: String::new() });
        assert_eq!(config.push, serve.push);
        assert!(!format!("{:?}", config.push).contains("/t"), "a topic is a secret");
        assert!(config.tokens.iter().any(|digest| digest.matches("secret")));
        assert!(!format!("{:?}", config.tokens).contains("secret"));
    }
}
