//! The view of one HTTP request: routes, token, guards and error bodies.

pub mod answer;
pub mod auth;
pub mod devices;
pub mod guard;
pub mod info;
pub mod panes;
pub mod post;
pub mod route;
pub mod site;
pub mod target;

pub use answer::{Answer, Manner, Refusal};
pub use post::{ApproveCall, PairCall, Post, SendCall, Typed};
pub use route::{AttachCall, Call, EntryCall, Routed, TranscriptCall, needs_devices, route};

#[cfg(test)]
mod tests {
    //! What the tests of this folder share.

    use alloc::string::String;
    use alloc::vec;

    use super::auth::TokenDigest;
    use crate::config::{Config, Demo, Herdr, HerdrMode, Push, Roots, Server};
    use crate::io::Request;
    use crate::limits::Limits;

    pub(super) const TOKEN: &str = "sesame-opens";

    pub(super) fn config() -> Config {
        Config {
            version: "0.1.0".into(),
            own_names: vec![],
            allow_hosts: vec![],
            allow_origins: vec![],
            server: Server { id: "5e12e1d000000001".into(), name: "box".into(), url: "http://127.0.0.1:8787".into() },
            tokens: vec![TokenDigest::of(TOKEN)],
            token_file: None,
            site: &[],
            roots: Roots::below("/home/u"),
            state_dir: "/home/u/.local/state/panewire".into(),
            herdr: Herdr { mode: HerdrMode::Off, socket: None, sessions_dir: None, program: String::from("herdr") },
            push: Push::default(),
            demo: Demo::Auto,
            limits: Limits::default(),
        }
    }

    pub(super) fn request<'a>(method: &'a str, target: &'a str, headers: &'a [(&'a str, &'a [u8])]) -> Request<'a> {
        Request { method, target, headers, upgrade: false }
    }
}
