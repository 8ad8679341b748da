//! What every daemon must do, of this one: the list is shared by all runtimes.

#[path = "../../conformance/daemon/mod.rs"]
mod daemon;
#[cfg(feature = "tls")]
#[path = "serve/push_tls.rs"]
mod push_tls;

const PROGRAM: daemon::Program = daemon::Program {
    name: "panewire-server",
    path: env!("CARGO_BIN_EXE_panewire-server"),
    fake_herdr: "fake-herdr-of-server",
};
