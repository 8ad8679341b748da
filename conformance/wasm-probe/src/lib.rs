//! Keeps the whole core alive in a WebAssembly module, so that its import section tells what the core would need.

use panewire_core::Bridge;
use panewire_core::agent::claude::{ClaudeReader, Selection};
use panewire_core::agent::{Caps, Line, Reader as _};
use panewire_core::config::{Config, Demo, Herdr, HerdrMode, Push, Roots, Server};
use panewire_core::ids::ExId;
use panewire_core::io::{Input, Output, Request};
use panewire_core::limits::Limits;
use panewire_core::time::Now;

/// Reads a line and puts a request to the core; gives back how many entries and outputs that made.
#[unsafe(no_mangle)]
pub extern "C" fn probe(tick: u32) -> u32 {
    let line = format!(r#"{{"type":"user","uuid":"{tick}","message":{{"role":"user","content":"hello"}}}}"#);
    let mut made = 0;
    let reader = ClaudeReader { selection: Selection::Main };
    reader.read(&Line { offset: 0, bytes: line.as_bytes(), over_cap: None }, &Caps::WIRE, &mut |_| made += 1);
    let mut bridge = Bridge::new(Config {
        version: String::new(),
        server: Server::default(),
        own_names: Vec::new(),
        allow_hosts: Vec::new(),
        allow_origins: Vec::new(),
        tokens: Vec::new(),
        token_file: None,
        site: &[],
        roots: Roots::below("/c"),
        state_dir: "/s".into(),
        herdr: Herdr { mode: HerdrMode::Auto, socket: None, sessions_dir: None, program: "herdr".into() },
        push: Push::default(),
        demo: Demo::Always,
        limits: Limits::default(),
    });
    let target = format!("/agent-transcript?pane={tick}");
    let request = Request { method: "GET", target: &target, headers: &[("host", b"localhost")], upgrade: true };
    if bridge.handle_input(Now::default(), Input::Request(ExId(1), request)).is_ok() {
        while !matches!(bridge.poll_output(), Output::Wait { .. }) {
            made += 1;
        }
    }
    made
}
