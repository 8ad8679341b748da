//! What every daemon must do, of this one: the list is shared by all runtimes.

#[path = "../../conformance/daemon/mod.rs"]
mod daemon;

const PROGRAM: daemon::Program =
    daemon::Program { name: "panewire", path: env!("CARGO_BIN_EXE_panewire"), fake_herdr: "fake-herdr" };
