//! The configuration that scenarios start from.

use panewire_core::Config;
use panewire_core::config::{Demo, Herdr, HerdrMode, Push, Roots, Server};
use panewire_core::http::auth::TokenDigest;
use panewire_core::limits::Limits;

/// The token that opens the door of the simulated bridge.
pub const TOKEN: &str = "t0ken";

/// The simulated home.
pub const HOME: &str = "/home/u";

/// Where Claude Code keeps its things in the simulated home.
pub const CLAUDE_ROOT: &str = "/home/u/.claude";

/// Where the bridge keeps its own state.
pub const STATE_DIR: &str = "/home/u/.local/state/panewire";

/// Where the token of the simulated bridge would be read again.
pub const TOKEN_FILE: &str = "/home/u/.local/state/panewire/token";

/// The simulated herdr's socket.
pub const HERDR_SOCKET: &str = "/home/u/.config/herdr/herdr.sock";

/// Where herdr keeps its named sessions.
pub const HERDR_SESSIONS: &str = "/home/u/.config/herdr/sessions";

/// The simulated herdr's program.
pub const HERDR_PROGRAM: &str = "herdr";

/// The version that the simulated bridge says it has.
pub const VERSION: &str = "0.0.0-sim";

/// The name of the simulated server for its clients.
pub const SERVER_ID: &str = "5e12e1d000000001";

/// A bridge with herdr on both ways, one token, and a home in which nothing lies yet.
#[must_use]
pub fn config() -> Config {
    Config {
        version: VERSION.into(),
        server: Server { id: SERVER_ID.into(), name: "workstation".into(), url: "http://127.0.0.1:8787".into() },
        own_names: vec!["workstation".into()],
        allow_hosts: Vec::new(),
        allow_origins: Vec::new(),
        tokens: vec![TokenDigest::of(TOKEN)],
        token_file: Some(TOKEN_FILE.into()),
        site: &[],
        roots: Roots::below(HOME),
        state_dir: STATE_DIR.into(),
        herdr: Herdr {
            mode: HerdrMode::Auto,
            socket: Some(HERDR_SOCKET.into()),
            sessions_dir: Some(HERDR_SESSIONS.into()),
            program: HERDR_PROGRAM.into(),
        },
        push: Push::default(),
        demo: Demo::Auto,
        limits: Limits::default(),
    }
}
